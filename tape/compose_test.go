package tape

import (
	"math"
	"slices"
	"testing"
)

// composed are the operations whose doors are pieces of kernels.
var composed = []string{"xlogy", "xlog1py", "entr", "rel_entr", "kl_div", "log_ratio", "excess", "logaddexp", "logaddexp2", "share2",
	"share", "share_slope", "logcosh", "log1mexp", "expm1_inverse", "sec", "csc", "cot", "coth", "sech", "csch", "tanhshrink",
	"rsqrt", "copysign", "sign_of", "frac", "minimum_to_zero", "softsign", "atanh_slope", "acosh_slope", "cbrt_slope", "atan_slope", "one_minus_square", "betaln", "digamma_fall"}

// TestComposed: slices have the bits of single numbers, at lengths beside that of a piece, and where the
// result takes the place of an argument.
func TestComposed(t *testing.T) {
	odd := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 1, -1, 0.5, 1e-300, 1e300, 5e-324, 0.999, 700.5, -745}
	n := 3 * len(bench{}[0])
	x, y := normals(3, n).Tensor.Data, normals(3, n).Tensor.Data
	for i := range n {
		switch k := i % 5; {
		case i < len(bench{}[0]): // a piece that is all ordinary
			x[i], y[i] = math.Exp(x[i]), math.Exp(y[i]/float64(1+i%3*100))
		case k < 2:
			x[i], y[i] = math.Abs(x[i]), math.Abs(y[i])
		case k == 2:
			y[i] = x[i] * (1 + y[i]/50)
		case k == 3:
			x[i], y[i] = odd[i/5%len(odd)], odd[i/5/len(odd)%len(odd)]
		}
	}
	for _, name := range composed {
		op := table.find(name)
		if op.k1 == nil && op.k2 == nil {
			t.Errorf("%s has no door", name)
			continue
		}
		want := make([]float64, n)
		for i := range want {
			want[i] = op.one([3]float64{x[i], y[i]})
		}
		for _, m := range []int{0, 1, 255, 256, 257, n} {
			into := [][]float64{make([]float64, m), slices.Clone(x[:m]), slices.Clone(y[:m])}
			op.call(into[0], x[:m], y[:m], nil)
			op.call(into[1], into[1], y[:m], nil)
			op.call(into[2], x[:m], into[2], nil)
			for k, got := range into {
				if i := sameBits(got, want[:m]); i >= 0 {
					t.Errorf("%s of %v, %v = %v among %d into argument %d, %v alone", name, x[i], y[i], got[i], m, k, want[i])
				}
			}
		}
	}
}

func BenchmarkComposed(b *testing.B) {
	x, y := normals(1, 4096).Tensor.Data, normals(1, 4096).Tensor.Data
	for i := range x {
		x[i], y[i] = math.Abs(x[i])+0.1, math.Abs(y[i])+0.1
	}
	out := make([]float64, len(x))
	for _, name := range composed {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				table.find(name).call(out, x, y, nil)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x)), "ns/element")
		})
	}
}

// TestSincDerivativePiece: a slice of first derivatives has the bits of single numbers, as have others, and
// these are within 4 ulp of mpmath's.
func TestSincDerivativePiece(t *testing.T) {
	op := table.find("sinc_derivative")
	x := []float64{0, math.Copysign(0, -1), 1e-300, -0.2, 0.477, 0.478, 0.5, 1, -1.75, 2, 1e10, 1e300, math.Inf(-1), math.NaN()}
	for range 5 {
		x = append(x, x...)
	}
	for _, orders := range [][]float64{{1}, {2}, {1, 1, 1, 2}} {
		n := make([]float64, len(x))
		for i := range n {
			n[i] = orders[i%len(orders)]
		}
		got, want := make([]float64, len(x)), make([]float64, len(x))
		op.call(got, n, x, nil)
		for i := range want {
			want[i] = sincDerivativeOf(n[i], x[i])
		}
		if i := sameBits(got, want); i >= 0 {
			t.Errorf("sinc_derivative(%v, %v) = %v in a slice, %v alone", n[i], x[i], got[i], want[i])
		}
	}
	for x, want := range map[float64]float64{0.25: -0.77283813988223418062, -0.4375: 1.1851318078371703454, 0.477: -1.2439858972278533496, 1.5: 0.14147106052612918735} {
		if got := sincDerivativeOf(1, x); math.Abs(got-want) > 0x1p-50*math.Abs(want) {
			t.Errorf("sinc'(%v) = %v, want %v", x, got, want)
		}
	}
}
