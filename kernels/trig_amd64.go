//go:build !purego

package kernels

var avx2Trig = []override{
	&at[unary]{&Sin, patched(sinAVX2, SinOf)},
	&at[unary]{&Cos, patched(cosAVX2, CosOf)},
	&at[unary]{&Tan, patched(tanAVX2, TanOf)},
	&at[twin]{&SinCos, patchedTwin(sinCosAVX2, SinCosOf)},
	&at[unary]{&Atan, atanAVX2},
	&at[unary]{&Erf, erfAVX2},
	&at[unary]{&Erfc, erfcAVX2},
	&at[unary]{&NormCdf, normCdfAVX2},
	&at[unary]{&Gauss, gaussAVX2},
	&at[unary]{&NormPdf, normPdfAVX2},
	&at[unary]{&Asin, asinAVX2},
	&at[unary]{&Acos, acosAVX2},
	&at[unary]{&Cbrt, cbrtAVX2},
	&at[binary]{&Hypot, hypotAVX2},
}

var avx512Trig = []override{
	&at[unary]{&Sin, patched(sinAVX512, SinOf)},
	&at[unary]{&Cos, patched(cosAVX512, CosOf)},
	&at[unary]{&Tan, patched(tanAVX512, TanOf)},
	&at[twin]{&SinCos, patchedTwin(sinCosAVX512, SinCosOf)},
	&at[unary]{&Atan, atanAVX512},
	&at[unary]{&Erf, erfAVX512},
	&at[unary]{&Erfc, erfcAVX512},
	&at[unary]{&NormCdf, normCdfAVX512},
	&at[unary]{&Gauss, gaussAVX512},
	&at[unary]{&NormPdf, normPdfAVX512},
	&at[unary]{&Asin, asinAVX512},
	&at[unary]{&Acos, acosAVX512},
	&at[unary]{&Cbrt, cbrtAVX512},
	&at[binary]{&Hypot, hypotAVX512},
}

// step is how many elements are done one by one where a kernel stopped.
const step = 8

// patched is a kernel that returns how many elements it did before it met one that
// it cannot do; of does that one and those beside it.
func patched(kernel func(dst, x []float64) int, of func(float64) float64) unary {
	return func(dst, x []float64) {
		for i := kernel(dst, x); i < len(dst); i += kernel(dst[i:], x[i:]) {
			for end := min(i+step, len(dst)); i < end; i++ {
				dst[i] = of(x[i])
			}
		}
	}
}

// patchedTwin is patched for a kernel with two results.
func patchedTwin(kernel func(y, z, x []float64) int, of func(float64) (y, z float64)) twin {
	return func(y, z, x []float64) {
		for i := kernel(y, z, x); i < len(y); i += kernel(y[i:], z[i:], x[i:]) {
			for end := min(i+step, len(y)); i < end; i++ {
				y[i], z[i] = of(x[i])
			}
		}
	}
}
