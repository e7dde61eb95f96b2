package kernels

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

var powers = []struct {
	exponent float64
	kernel   *unary
	of       func(x float64) float64
}{
	{5, &Power5, Power5Of},
	{6, &Power6, Power6Of},
	{7, &Power7, Power7Of},
	{8, &Power8, Power8Of},
	{9, &Power9, Power9Of},
	{10, &Power10, Power10Of},
	{11, &Power11, Power11Of},
	{12, &Power12, Power12Of},
	{13, &Power13, Power13Of},
	{14, &Power14, Power14Of},
	{15, &Power15, Power15Of},
	{16, &Power16, Power16Of},
	{-2, &PowerMinus2, PowerMinus2Of},
	{-3, &PowerMinus3, PowerMinus3Of},
	{-4, &PowerMinus4, PowerMinus4Of},
	{-5, &PowerMinus5, PowerMinus5Of},
	{-6, &PowerMinus6, PowerMinus6Of},
	{-7, &PowerMinus7, PowerMinus7Of},
	{-8, &PowerMinus8, PowerMinus8Of},
	{-9, &PowerMinus9, PowerMinus9Of},
	{-10, &PowerMinus10, PowerMinus10Of},
	{0.5, &PowerHalf, PowerHalfOf},
	{1.5, &Power3Halves, Power3HalvesOf},
	{2.5, &Power5Halves, Power5HalvesOf},
	{3.5, &Power7Halves, Power7HalvesOf},
	{-0.5, &PowerMinusHalf, PowerMinusHalfOf},
	{-1.5, &PowerMinus3Halves, PowerMinus3HalvesOf},
	{-2.5, &PowerMinus5Halves, PowerMinus5HalvesOf},
	{-3.5, &PowerMinus7Halves, PowerMinus7HalvesOf},
}

func TestPowerKernels(t *testing.T) {
	for _, p := range powers {
		t.Run(fmt.Sprint(p.exponent), func(t *testing.T) { checkUnary(t, fmt.Sprint("x^", p.exponent), p.kernel, p.of, edges) })
	}
}

// TestPowers: a power is within 0.500001 ulp of its exact value, or within 1 where it, or x, is tiny; what is
// not ordinary is as Pow has it.
func TestPowers(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, p := range powers {
		spread := int(2000 / math.Max(1, math.Abs(p.exponent)))
		x := append([]float64(nil), edges...)
		for range 500 {
			x = append(x, math.Ldexp(r.Float64()*2-1, r.IntN(spread)-spread/2), r.Float64()*3)
		}
		for _, x := range x {
			got, want := p.of(x), PowOf(x, p.exponent)
			if x-x != 0 || x == 0 || want != want {
				if !same(got, want) {
					t.Errorf("x^%v at %v = %v, want %v", p.exponent, x, got, want)
				}
				continue
			}
			exact := exactPower(x, p.exponent)
			want, _ = exact.Float64()
			if same(got, want) || math.Nextafter(got, want) == want && (math.Abs(want) < 0x1p-960 || math.Abs(x) < 0x1p-960) {
				continue
			}
			off := new(big.Float).Sub(exact, big.NewFloat(got))
			ulps, _ := off.Quo(off, big.NewFloat(math.Nextafter(math.Abs(want), math.Inf(1))-math.Abs(want))).Float64()
			if !(math.Abs(ulps) < 0.500001) {
				t.Errorf("x^%v at %v = %v, want %v", p.exponent, x, got, want)
			}
		}
	}
}

// exactPower is x^p of a number that is finite and not 0, for twice a whole p.
func exactPower(x, p float64) *big.Float {
	const digits = 1000 // bits
	base, n := big.NewFloat(x).SetPrec(digits), int(p)
	if p != math.Floor(p) {
		base, n = new(big.Float).SetPrec(digits).Sqrt(base), int(2*p)
	}
	y := big.NewFloat(1).SetPrec(digits)
	for range max(n, -n) {
		y.Mul(y, base)
	}
	if n < 0 {
		y.Quo(big.NewFloat(1).SetPrec(digits), y)
	}
	return y
}

func BenchmarkPower(b *testing.B) {
	x, dst := make([]float64, 256), make([]float64, 256)
	for i := range x {
		x[i] = 0.5 + float64(i)/200
	}
	Choose()
	for _, p := range []float64{5, 8, 16, -2, -8, 0.5, 1.5, -0.5, -2.5} {
		b.Run(fmt.Sprint(p), func(b *testing.B) {
			for i := range powers {
				if powers[i].exponent == p {
					for b.Loop() {
						(*powers[i].kernel)(dst, x)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/elt")
		})
	}
}
