//go:build !purego

package kernels

var avx2Single = []override{
	&at[unary32]{&Single.Neg, neg32AVX2},
	&at[unary32]{&Single.Abs, abs32AVX2},
	&at[unary32]{&Single.Sign, sign32AVX2},
	&at[unary32]{&Single.Sqrt, sqrt32AVX2},
	&at[unary32]{&Single.Recip, recip32AVX2},
	&at[unary32]{&Single.Square, square32AVX2},
	&at[unary32]{&Single.Floor, floor32AVX2},
	&at[unary32]{&Single.Ceil, ceil32AVX2},
	&at[unary32]{&Single.Trunc, trunc32AVX2},
	&at[unary32]{&Single.Round, round32AVX2},
	&at[unary32]{&Single.Not, not32AVX2},
	&at[unary32]{&Single.IsNaN, isNaN32AVX2},
	&at[unary32]{&Single.IsInf, isInf32AVX2},
	&at[unary32]{&Single.IsFinite, isFinite32AVX2},
	&at[binary32]{&Single.Add, add32AVX2},
	&at[binary32]{&Single.Sub, sub32AVX2},
	&at[binary32]{&Single.Mul, mul32AVX2},
	&at[binary32]{&Single.Div, div32AVX2},
	&at[binary32]{&Single.ZMul, zMul32AVX2},
	&at[binary32]{&Single.Maximum, maximum32AVX2},
	&at[binary32]{&Single.Minimum, minimum32AVX2},
	&at[binary32]{&Single.Lt, lt32AVX2},
	&at[binary32]{&Single.Le, le32AVX2},
	&at[binary32]{&Single.Gt, gt32AVX2},
	&at[binary32]{&Single.Ge, ge32AVX2},
	&at[binary32]{&Single.Eq, eq32AVX2},
	&at[binary32]{&Single.Ne, ne32AVX2},
	&at[binary32]{&Single.And, and32AVX2},
	&at[binary32]{&Single.Or, or32AVX2},
	&at[ternary32]{&Single.FMA, fma32AVX2},
	&at[ternary32]{&Single.Where, where32AVX2},
	&at[filling32]{&Single.Fill, fill32AVX2},
	&at[widening]{&Widen, widen32AVX2},
	&at[narrowing]{&Narrow, narrow32AVX2},
	&at[unary32]{&Single.Exp, patched32(exp32AVX2, &Exp)},
	&at[unary32]{&Single.Expm1, patched32(expm132AVX2, &Expm1)},
	&at[unary32]{&Single.Log, patched32(log32AVX2, &Log)},
	&at[unary32]{&Single.Log1p, patched32(log1p32AVX2, &Log1p)},
	&at[unary32]{&Single.Sigmoid, patched32(sigmoid32AVX2, &Sigmoid)},
	&at[unary32]{&Single.SigmoidSlope, patched32(sigmoidSlope32AVX2, &SigmoidSlope)},
	&at[unary32]{&Single.Softplus, patched32(softplus32AVX2, &Softplus)},
	&at[unary32]{&Single.Tanh, patched32(tanh32AVX2, &Tanh)},
	&at[unary32]{&Single.Sech2, patched32(sech232AVX2, &Sech2)},
	&at[unary32]{&Single.Sin, patched32(sin32AVX2, &Sin)},
	&at[unary32]{&Single.Cos, patched32(cos32AVX2, &Cos)},
	&at[unary32]{&Single.Tan, patched32(tan32AVX2, &Tan)},
	&at[twin32]{&Single.Log1pSlope, patchedTwin32(log1pSlope32AVX2, &log1pSlope)},
	&at[twin32]{&Single.SigmoidTwin, patchedTwin32(sigmoidTwin32AVX2, &SigmoidTwin)},
	&at[twin32]{&Single.TanhSech2, patchedTwin32(tanhSech232AVX2, &TanhSech2)},
	&at[twin32]{&Single.SinCos, patchedTwin32(sinCos32AVX2, &SinCos)},
}

var avx512Single = []override{
	&at[unary32]{&Single.Neg, neg32AVX512},
	&at[unary32]{&Single.Abs, abs32AVX512},
	&at[unary32]{&Single.Sign, sign32AVX512},
	&at[unary32]{&Single.Sqrt, sqrt32AVX512},
	&at[unary32]{&Single.Recip, recip32AVX512},
	&at[unary32]{&Single.Square, square32AVX512},
	&at[unary32]{&Single.Floor, floor32AVX512},
	&at[unary32]{&Single.Ceil, ceil32AVX512},
	&at[unary32]{&Single.Trunc, trunc32AVX512},
	&at[unary32]{&Single.Round, round32AVX512},
	&at[unary32]{&Single.Not, not32AVX512},
	&at[unary32]{&Single.IsNaN, isNaN32AVX512},
	&at[unary32]{&Single.IsInf, isInf32AVX512},
	&at[unary32]{&Single.IsFinite, isFinite32AVX512},
	&at[binary32]{&Single.Add, add32AVX512},
	&at[binary32]{&Single.Sub, sub32AVX512},
	&at[binary32]{&Single.Mul, mul32AVX512},
	&at[binary32]{&Single.Div, div32AVX512},
	&at[binary32]{&Single.ZMul, zMul32AVX512},
	&at[binary32]{&Single.Maximum, maximum32AVX512},
	&at[binary32]{&Single.Minimum, minimum32AVX512},
	&at[binary32]{&Single.Lt, lt32AVX512},
	&at[binary32]{&Single.Le, le32AVX512},
	&at[binary32]{&Single.Gt, gt32AVX512},
	&at[binary32]{&Single.Ge, ge32AVX512},
	&at[binary32]{&Single.Eq, eq32AVX512},
	&at[binary32]{&Single.Ne, ne32AVX512},
	&at[binary32]{&Single.And, and32AVX512},
	&at[binary32]{&Single.Or, or32AVX512},
	&at[ternary32]{&Single.FMA, fma32AVX512},
	&at[ternary32]{&Single.Where, where32AVX512},
	&at[filling32]{&Single.Fill, fill32AVX512},
	&at[widening]{&Widen, widen32AVX512},
	&at[narrowing]{&Narrow, narrow32AVX512},
	&at[unary32]{&Single.Exp, patched32(exp32AVX512, &Exp)},
	&at[unary32]{&Single.Expm1, patched32(expm132AVX512, &Expm1)},
	&at[unary32]{&Single.Log, patched32(log32AVX512, &Log)},
	&at[unary32]{&Single.Log1p, patched32(log1p32AVX512, &Log1p)},
	&at[unary32]{&Single.Sigmoid, patched32(sigmoid32AVX512, &Sigmoid)},
	&at[unary32]{&Single.SigmoidSlope, patched32(sigmoidSlope32AVX512, &SigmoidSlope)},
	&at[unary32]{&Single.Softplus, patched32(softplus32AVX512, &Softplus)},
	&at[unary32]{&Single.Tanh, patched32(tanh32AVX512, &Tanh)},
	&at[unary32]{&Single.Sech2, patched32(sech232AVX512, &Sech2)},
	&at[unary32]{&Single.Sin, patched32(sin32AVX512, &Sin)},
	&at[unary32]{&Single.Cos, patched32(cos32AVX512, &Cos)},
	&at[unary32]{&Single.Tan, patched32(tan32AVX512, &Tan)},
	&at[twin32]{&Single.Log1pSlope, patchedTwin32(log1pSlope32AVX512, &log1pSlope)},
	&at[twin32]{&Single.SigmoidTwin, patchedTwin32(sigmoidTwin32AVX512, &SigmoidTwin)},
	&at[twin32]{&Single.TanhSech2, patchedTwin32(tanhSech232AVX512, &TanhSech2)},
	&at[twin32]{&Single.SinCos, patchedTwin32(sinCos32AVX512, &SinCos)},
}

type (
	filling32 = func(dst []float32, v float32)
	widening  = func(dst []float64, x []float32)
	narrowing = func(dst []float32, x []float64)
)

// step32 is how many elements a kernel of float64 does where one of float32 stopped.
const step32 = 32

// patched32 is patched for float32.
func patched32(kernel func(dst, x []float32) int, wide *unary) unary32 {
	of := Widened(wide)
	return func(dst, x []float32) {
		for i := kernel(dst, x); i < len(dst); i += kernel(dst[i:], x[i:]) {
			end := min(i+step32, len(dst))
			of(dst[i:end], x[i:end])
			i = end
		}
	}
}

// patchedTwin32 is patchedTwin for float32.
func patchedTwin32(kernel func(y, z, x []float32) int, wide *twin) twin32 {
	of := WidenedTwin(wide)
	return func(y, z, x []float32) {
		for i := kernel(y, z, x); i < len(y); i += kernel(y[i:], z[i:], x[i:]) {
			end := min(i+step32, len(y))
			of(y[i:end], z[i:end], x[i:end])
			i = end
		}
	}
}
