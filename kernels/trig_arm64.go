//go:build !purego

package kernels

var neonTrig = []override{
	&at[unary]{&Sin, patched(sinNEON, SinOf)},
	&at[unary]{&Cos, patched(cosNEON, CosOf)},
	&at[unary]{&Tan, patched(tanNEON, TanOf)},
	&at[twin]{&SinCos, patchedTwin(sinCosNEON, SinCosOf)},
	&at[unary]{&Atan, atanNEON},
	&at[unary]{&Erf, erfNEON},
	&at[unary]{&Erfc, erfcNEON},
	&at[unary]{&NormCdf, normCdfNEON},
	&at[unary]{&Gauss, gaussNEON},
	&at[unary]{&NormPdf, normPdfNEON},
	&at[unary]{&Asin, asinNEON},
	&at[unary]{&Acos, acosNEON},
	&at[unary]{&Cbrt, cbrtNEON},
	&at[binary]{&Hypot, hypotNEON},
}
