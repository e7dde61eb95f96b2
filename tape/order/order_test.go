package order

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
)

// TestSorter compares with a stable sort by comparisons, at lengths on both sides of
// leastRadix.
func TestSorter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	odd := []float64{0, math.Copysign(0, -1), math.NaN(), -math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, 5e-324, -5e-324, 1, -1}
	var s Sorter
	for _, n := range []int{0, 1, 2, 3, 7, 8, 9, 16, 20, 100, leastRadix - 1, leastRadix, leastRadix + 1, 1000, 5000, 300} {
		for _, form := range []func() float64{
			r.NormFloat64,
			func() float64 { return odd[r.IntN(len(odd))] },
			func() float64 { return float64(r.IntN(10) - 5) },
			func() float64 { return math.Float64frombits(r.Uint64()) },
			func() float64 { return 1 + float64(r.IntN(40))*0x1p-52 },                 // all bits above are shared
			func() float64 { return float64(r.IntN(5)) + float64(r.IntN(9))*0x1p-49 }, // many that differ in the last ones only
		} {
			x := make([]float64, n)
			want := make([]int, n)
			for i := range x {
				x[i], want[i] = form(), i
			}
			sort.SliceStable(want, func(i, j int) bool { return compareNaN(x[want[i]], x[want[j]]) < 0 })
			for i, p := range s.Ranks(x) {
				if s.Place(p) != want[i] {
					t.Fatalf("place %d of %d numbers is %d (%v), want %d (%v)", i, n, s.Place(p), x[s.Place(p)], want[i], x[want[i]])
				}
			}
			for range min(n, 9) {
				k := r.IntN(n)
				if got, want := s.Nth(x, k), x[want[k]]; math.Float64bits(got) != math.Float64bits(want) && (got == got || want == want) {
					t.Fatalf("at place %d of %d numbers stands %v, want %v", k, n, got, want)
				}
			}
			sorted := make([]float64, n)
			s.Sort(sorted, x)
			for i, v := range sorted {
				if math.Float64bits(v) != math.Float64bits(x[want[i]]) {
					t.Fatalf("sorted number %d of %d is %v, want %v", i, n, v, x[want[i]])
				}
			}
			turned := make([]float64, n)
			for i, v := range x {
				turned[i] = -orInf(v)
			}
			sort.Ints(want)
			sort.SliceStable(want, func(i, j int) bool { return turned[want[i]] < turned[want[j]] })
			for _, k := range []int{0, min(n, 1), min(n, mostInserted), min(n, mostInserted+1), n} {
				if got := s.Top(x, k); !slices.Equal(got, want[:k]) {
					t.Fatalf("the largest %d of %d numbers are %v, want %v", k, n, got, want[:k])
				}
			}
		}
	}
}

// compareNaN is the order of numbers, NaN last.
func compareNaN(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	case a != a && b != b:
		return 0
	case a != a:
		return 1 // NaN last, as NumPy
	}
	return -1
}

func BenchmarkSorter(b *testing.B) {
	for _, n := range []int{10, 100, 200, 399, 400, 1000, 3000, 9000, 11000, 100000, 1000000} {
		x := make([]float64, n)
		r := rand.New(rand.NewPCG(1, 2))
		for i := range x {
			x[i] = r.NormFloat64()
		}
		var s Sorter
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				s.Ranks(x)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/element")
		})
		b.Run(fmt.Sprint("nth/", n), func(b *testing.B) {
			for b.Loop() {
				s.Nth(x, n/2)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/element")
		})
	}
}
