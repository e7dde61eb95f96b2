//go:build !purego

package kernels

func neonTrig() []override {
	return []override{
		&at[unary]{&Sin, patched(sinNEON, SinOf)},
		&at[unary]{&Cos, patched(cosNEON, CosOf)},
		&at[unary]{&Tan, patched(tanNEON, TanOf)},
		&at[twin]{&SinCos, patchedTwin(sinCosNEON, SinCosOf)},
		&at[unary]{&CosPi, cosPiNEON},
		&at[unary]{&Sinc, sincNEON},
		&at[unary]{&Atan, atanNEON},
		&at[binary]{&Atan2, patchedBinary(atan2NEON, Atan2Of)},
		&at[unary]{&Erf, erfNEON},
		&at[unary]{&Erfc, erfcNEON},
		&at[ternary]{&erfinvBy, erfinvByNEON},
		&at[ternary]{&quantileBy, quantileByNEON},
		&at[ternary]{&erfinvSlopeBy, erfinvSlopeByNEON},
		&at[unary]{&Erfcx, patched(erfcxNEON, ErfcxOf)},
		&at[ternary]{&logNormCdfBy, logNormCdfByNEON},
		&at[ternary]{&hazardBy, hazardByNEON},
		&at[ternary]{&lgammaBy, patchedTernary(lgammaByNEON, lgammaEither)},
		&at[ternary]{&digammaBy, patchedTernary(digammaByNEON, digammaEither)},
		&at[twin]{&lgammaPairBy, patchedTwin(lgammaPairByNEON, LgammaPairOf)},
		&at[twin]{&digammaPairBy, patchedTwin(digammaPairByNEON, DigammaPairOf)},
		&at[unary]{&NormCdf, normCdfNEON},
		&at[unary]{&Gauss, gaussNEON},
		&at[unary]{&NormPdf, normPdfNEON},
		&at[unary]{&Asin, asinNEON},
		&at[unary]{&Acos, acosNEON},
		&at[unary]{&Cbrt, cbrtNEON},
		&at[binary]{&Hypot, hypotNEON},
	}
}
