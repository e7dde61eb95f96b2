//go:build !purego

package kernels

var neonSingle = []override{
	&at[unary32]{&Single.Neg, neg32NEON},
	&at[unary32]{&Single.Abs, abs32NEON},
	&at[unary32]{&Single.Sign, sign32NEON},
	&at[unary32]{&Single.Sqrt, sqrt32NEON},
	&at[unary32]{&Single.Recip, recip32NEON},
	&at[unary32]{&Single.Square, square32NEON},
	&at[unary32]{&Single.Floor, floor32NEON},
	&at[unary32]{&Single.Ceil, ceil32NEON},
	&at[unary32]{&Single.Trunc, trunc32NEON},
	&at[unary32]{&Single.Round, round32NEON},
	&at[unary32]{&Single.Not, not32NEON},
	&at[unary32]{&Single.IsNaN, isNaN32NEON},
	&at[unary32]{&Single.IsInf, isInf32NEON},
	&at[unary32]{&Single.IsFinite, isFinite32NEON},
	&at[binary32]{&Single.Add, add32NEON},
	&at[binary32]{&Single.Sub, sub32NEON},
	&at[binary32]{&Single.Mul, mul32NEON},
	&at[binary32]{&Single.Div, div32NEON},
	&at[binary32]{&Single.ZMul, zMul32NEON},
	&at[binary32]{&Single.Maximum, maximum32NEON},
	&at[binary32]{&Single.Minimum, minimum32NEON},
	&at[binary32]{&Single.Lt, lt32NEON},
	&at[binary32]{&Single.Le, le32NEON},
	&at[binary32]{&Single.Gt, gt32NEON},
	&at[binary32]{&Single.Ge, ge32NEON},
	&at[binary32]{&Single.Eq, eq32NEON},
	&at[binary32]{&Single.Ne, ne32NEON},
	&at[binary32]{&Single.And, and32NEON},
	&at[binary32]{&Single.Or, or32NEON},
	&at[ternary32]{&Single.FMA, fma32NEON},
	&at[ternary32]{&Single.Where, where32NEON},
	&at[filling32]{&Single.Fill, fill32NEON},
	&at[widening]{&Widen, widen32NEON},
	&at[narrowing]{&Narrow, narrow32NEON},
}

type (
	filling32 = func(dst []float32, v float32)
	widening  = func(dst []float64, x []float32)
	narrowing = func(dst []float32, x []float64)
)
