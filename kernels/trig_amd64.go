//go:build !purego

package kernels

func avx2Trig() []override {
	return []override{
		&at[unary]{&Sin, patched(sinAVX2, SinOf)},
		&at[unary]{&Cos, patched(cosAVX2, CosOf)},
		&at[unary]{&Tan, patched(tanAVX2, TanOf)},
		&at[twin]{&SinCos, patchedTwin(sinCosAVX2, SinCosOf)},
		&at[unary]{&CosPi, cosPiAVX2},
		&at[unary]{&Sinc, sincAVX2},
		&at[unary]{&Atan, atanAVX2},
		&at[binary]{&Atan2, patchedBinary(atan2AVX2, Atan2Of)},
		&at[unary]{&Erf, erfAVX2},
		&at[unary]{&Erfc, erfcAVX2},
		&at[ternary]{&erfinvBy, erfinvByAVX2},
		&at[ternary]{&quantileBy, quantileByAVX2},
		&at[ternary]{&erfinvSlopeBy, erfinvSlopeByAVX2},
		&at[unary]{&Erfcx, patched(erfcxAVX2, ErfcxOf)},
		&at[ternary]{&logNormCdfBy, logNormCdfByAVX2},
		&at[ternary]{&hazardBy, hazardByAVX2},
		&at[ternary]{&lgammaBy, patchedTernary(lgammaByAVX2, lgammaEither)},
		&at[ternary]{&digammaBy, patchedTernary(digammaByAVX2, digammaEither)},
		&at[twin]{&lgammaPairBy, patchedTwin(lgammaPairByAVX2, LgammaPairOf)},
		&at[twin]{&digammaPairBy, patchedTwin(digammaPairByAVX2, DigammaPairOf)},
		&at[unary]{&NormCdf, normCdfAVX2},
		&at[unary]{&Gauss, gaussAVX2},
		&at[unary]{&NormPdf, normPdfAVX2},
		&at[unary]{&Asin, asinAVX2},
		&at[unary]{&Acos, acosAVX2},
		&at[unary]{&Cbrt, cbrtAVX2},
		&at[binary]{&Hypot, hypotAVX2},
	}
}

func avx512Trig() []override {
	return []override{
		&at[unary]{&Sin, patched(sinAVX512, SinOf)},
		&at[unary]{&Cos, patched(cosAVX512, CosOf)},
		&at[unary]{&Tan, patched(tanAVX512, TanOf)},
		&at[twin]{&SinCos, patchedTwin(sinCosAVX512, SinCosOf)},
		&at[unary]{&CosPi, cosPiAVX512},
		&at[unary]{&Sinc, sincAVX512},
		&at[unary]{&Atan, atanAVX512},
		&at[binary]{&Atan2, patchedBinary(atan2AVX512, Atan2Of)},
		&at[unary]{&Erf, erfAVX512},
		&at[unary]{&Erfc, erfcAVX512},
		&at[ternary]{&erfinvBy, erfinvByAVX512},
		&at[ternary]{&quantileBy, quantileByAVX512},
		&at[ternary]{&erfinvSlopeBy, erfinvSlopeByAVX512},
		&at[unary]{&Erfcx, patched(erfcxAVX512, ErfcxOf)},
		&at[ternary]{&logNormCdfBy, logNormCdfByAVX512},
		&at[ternary]{&hazardBy, hazardByAVX512},
		&at[ternary]{&lgammaBy, patchedTernary(lgammaByAVX512, lgammaEither)},
		&at[ternary]{&digammaBy, patchedTernary(digammaByAVX512, digammaEither)},
		&at[twin]{&lgammaPairBy, patchedTwin(lgammaPairByAVX512, LgammaPairOf)},
		&at[twin]{&digammaPairBy, patchedTwin(digammaPairByAVX512, DigammaPairOf)},
		&at[unary]{&NormCdf, normCdfAVX512},
		&at[unary]{&Gauss, gaussAVX512},
		&at[unary]{&NormPdf, normPdfAVX512},
		&at[unary]{&Asin, asinAVX512},
		&at[unary]{&Acos, acosAVX512},
		&at[unary]{&Cbrt, cbrtAVX512},
		&at[binary]{&Hypot, hypotAVX512},
	}
}
