//go:build !purego

package kernels

func avx2Exp() []override {
	return []override{
		&at[unary]{&Exp, expAVX2},
		&at[unary]{&Exp2, exp2AVX2},
		&at[unary]{&Expm1, expm1AVX2},
		&at[unary]{&Log, logAVX2},
		&at[unary]{&Log1p, log1pAVX2},
		&at[unary]{&Log2, log2AVX2},
		&at[unary]{&Log10, log10AVX2},
		&at[unary]{&Sigmoid, sigmoidAVX2},
		&at[unary]{&Softplus, softplusAVX2},
		&at[unary]{&Sinh, sinhAVX2},
		&at[unary]{&Cosh, coshAVX2},
		&at[unary]{&Tanh, tanhAVX2},
		&at[unary]{&Sech2, sech2AVX2},
		&at[unary]{&Asinh, asinhAVX2},
		&at[unary]{&Acosh, acoshAVX2},
		&at[unary]{&Atanh, atanhAVX2},
		&at[unary]{&SigmoidSlope, sigmoidSlopeAVX2},
		&at[twin]{&Log1pTwin, log1pTwinAVX2},
		&at[twin]{&logTwin, logTwinAVX2},
		&at[twin]{&TanhSech2, tanhSech2AVX2},
		&at[twin]{&SigmoidTwin, sigmoidTwinAVX2},
		&at[binary]{&Pow, powAVX2},
	}
}

func avx512Exp() []override {
	return []override{
		&at[unary]{&Exp, expAVX512},
		&at[unary]{&Exp2, exp2AVX512},
		&at[unary]{&Expm1, expm1AVX512},
		&at[unary]{&Log, logAVX512},
		&at[unary]{&Log1p, log1pAVX512},
		&at[unary]{&Log2, log2AVX512},
		&at[unary]{&Log10, log10AVX512},
		&at[unary]{&Sigmoid, sigmoidAVX512},
		&at[unary]{&Softplus, softplusAVX512},
		&at[unary]{&Sinh, sinhAVX512},
		&at[unary]{&Cosh, coshAVX512},
		&at[unary]{&Tanh, tanhAVX512},
		&at[unary]{&Sech2, sech2AVX512},
		&at[unary]{&Asinh, asinhAVX512},
		&at[unary]{&Acosh, acoshAVX512},
		&at[unary]{&Atanh, atanhAVX512},
		&at[unary]{&SigmoidSlope, sigmoidSlopeAVX512},
		&at[twin]{&Log1pTwin, log1pTwinAVX512},
		&at[twin]{&logTwin, logTwinAVX512},
		&at[twin]{&TanhSech2, tanhSech2AVX512},
		&at[twin]{&SigmoidTwin, sigmoidTwinAVX512},
		&at[binary]{&Pow, patchedBinary(powAVX512, PowOf)},
	}
}

// powAVX2 is Pow a piece at a time: the logarithms, then the exponentials.
func powAVX2(dst, x, y []float64) {
	r := powRooms.Get().(*powRoom)
	for len(dst) > 0 {
		n := min(len(dst), len(r.p))
		done := powLogAVX2(r.p[:n], r.log[:n], x, y)
		powExpAVX2(dst[:done], r.p[:], r.log[:], x, y)
		if done < n { // where it stopped, and beside it
			n = min(done+step, n)
			for i := done; i < n; i++ {
				dst[i] = PowOf(x[i], y[i])
			}
		}
		dst, x, y = dst[n:], x[n:], y[n:]
	}
	powRooms.Put(r)
}
