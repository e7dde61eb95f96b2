package double

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestArithmetic: arithmetic in twice the precision agrees with exact arithmetic to 2^-100.
func TestArithmetic(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	number := func() Number {
		x := Of(r.NormFloat64() * math.Ldexp(1, r.IntN(40)-20)).Add(Number{Hi: r.NormFloat64() * 0x1p-70})
		if r.IntN(2) == 0 { // beyond the range, or near the bounds of what is within
			f := math.Ldexp(1, r.IntN(step))
			x = Number{x.Hi * f, x.Lo * f, r.IntN(8) - 4}.bounded()
		}
		return x
	}
	exact := func(x Number) *big.Float {
		z := new(big.Float).SetPrec(5000).Add(big.NewFloat(x.Hi), big.NewFloat(x.Lo))
		return z.SetMantExp(z, step*x.Up)
	}
	size := func(x Number) *big.Float { return new(big.Float).Abs(exact(x)) }
	for range 10000 {
		x, y := number(), number()
		for _, c := range []struct {
			name  string
			got   Number
			want  *big.Float
			scale *big.Float
		}{
			{"x + y", x.Add(y), new(big.Float).Add(exact(x), exact(y)), new(big.Float).Add(size(x), size(y))},
			{"x * y", x.Mul(y), new(big.Float).Mul(exact(x), exact(y)), new(big.Float).Mul(size(x), size(y))},
			{"x / y", x.Over(y), new(big.Float).Quo(exact(x), exact(y)), new(big.Float).Quo(size(x), size(y))},
		} {
			off := new(big.Float).Sub(exact(c.got), c.want)
			if v, _ := off.Quo(off, c.scale).Float64(); !(math.Abs(v) <= 0x1p-100) {
				t.Fatalf("%s of %v and %v = %v, off by %v", c.name, x, y, c.got, v)
			}
			if h := math.Abs(c.got.Hi); h != 0 && !(h >= 1/top && h < top) || h == 0 && c.got.Up != 0 {
				t.Fatalf("%s of %v and %v = %v, which is not between the bounds", c.name, x, y, c.got)
			}
		}
	}
	for _, v := range []Number{Of(math.Inf(1)).Add(Number{1, 0x1p-60, 0}), Of(math.Inf(1)).Mul(Of(2)), Of(1).Over(Number{})} {
		if v != Of(math.Inf(1)) {
			t.Errorf("%v, want an infinity without a rest", v)
		}
	}
}
