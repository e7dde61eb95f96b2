//go:build !purego

package kernels

func neonExp() []override {
	return []override{
		&at[unary]{&Exp, expNEON},
		&at[unary]{&Exp2, exp2NEON},
		&at[unary]{&Expm1, expm1NEON},
		&at[unary]{&Log, logNEON},
		&at[unary]{&Log1p, log1pNEON},
		&at[unary]{&Log2, log2NEON},
		&at[unary]{&Log10, log10NEON},
		&at[unary]{&Sigmoid, sigmoidNEON},
		&at[unary]{&Softplus, softplusNEON},
		&at[unary]{&Sinh, sinhNEON},
		&at[unary]{&Cosh, coshNEON},
		&at[unary]{&Tanh, tanhNEON},
		&at[unary]{&Sech2, sech2NEON},
		&at[unary]{&Asinh, asinhNEON},
		&at[unary]{&Acosh, acoshNEON},
		&at[unary]{&Atanh, atanhNEON},
		&at[unary]{&SigmoidSlope, sigmoidSlopeNEON},
		&at[twin]{&Log1pTwin, log1pTwinNEON},
		&at[twin]{&logTwin, logTwinNEON},
		&at[twin]{&TanhSech2, tanhSech2NEON},
		&at[twin]{&SigmoidTwin, sigmoidTwinNEON},
		&at[binary]{&Pow, patchedBinary(powNEON, PowOf)},
	}
}
