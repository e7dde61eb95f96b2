package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// sumLoop is the order of Sum as doc.go states it.
func sumLoop(n int, add func(i int, l float64) float64) float64 {
	total := 0.0
	for b := 0; b < n; b += SumBlock {
		var l [32]float64
		for i := b; i < min(n, b+SumBlock); i++ {
			l[i%32] = add(i, l[i%32])
		}
		for h := 16; h > 0; h /= 2 {
			for i := range h {
				l[i] += l[i+h]
			}
		}
		if b == 0 {
			total = l[0]
		} else {
			total += l[0]
		}
	}
	return total
}

func TestSum(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	lengths := []int{SumBlock - 1, SumBlock, SumBlock + 1, SumBlock + 37, 2 * SumBlock, 3*SumBlock + 5}
	for n := range 258 {
		lengths = append(lengths, n)
	}
	eachTier(t, func(t *testing.T) {
		for _, n := range lengths {
			for off := range 8 {
				gx, gy := guard(n, off), guard(n, (off+3)%8)
				x, y := gx.x, gy.x
				for i := range x {
					x[i], y[i] = r.NormFloat64()*math.Exp(r.NormFloat64()*9), r.NormFloat64()
				}
				sum := sumLoop(n, func(i int, l float64) float64 { return l + x[i] })
				dot := sumLoop(n, func(i int, l float64) float64 { return math.FMA(x[i], y[i], l) })
				last := max(0, n-1) / SumBlock * SumBlock
				var sums Lanes // of the last block, in pieces
				for i := last; i < n; i += 256 {
					e := min(n, i+256)
					SumLanes(&sums, x[i:e])
				}
				for _, c := range []struct {
					what      string
					got, want float64
				}{
					{"Sum", Sum(x), sum},
					{"Dot", Dot(x, y), dot},
					{"SumLanes", sums.Fold(), Sum(x[last:])},
				} {
					if !same(c.got, c.want) {
						t.Fatalf("%s of %d, offset %d = %v, want %v", c.what, n, off, c.got, c.want)
					}
				}
			}
		}
	})
}

func TestSumEdges(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, c := range []struct {
			x    []float64
			want float64
		}{
			{[]float64{negZero}, 0},
			{[]float64{1, nan}, nan},
			{[]float64{inf, 1}, inf},
			{[]float64{inf, -inf}, nan},
			{[]float64{5e-324, 5e-324}, 1e-323},
		} {
			if got := Sum(c.x); !same(got, c.want) {
				t.Errorf("Sum(%v) = %v, want %v", c.x, got, c.want)
			}
		}
	})
}

func TestMaxMin(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for n := range 258 {
			for off := range 8 {
				g := guard(n, off)
				for at := -1; at < n; at += 1 + n/9 { // where the extreme, or the NaN, stands
					for _, v := range []float64{nan, inf, -inf, 0, negZero, 99, -99} {
						zero := negZero
						if v == 0 && math.Signbit(v) {
							zero = 0
						}
						for i := range g.x {
							g.x[i] = zero
							if v != 0 && i%3 == 1 {
								g.x[i] = float64(i%5) - 2
							}
						}
						if at >= 0 {
							g.x[at] = v
						}
						hi, lo := -inf, inf
						for _, v := range g.x {
							hi, lo = max(hi, v), min(lo, v)
						}
						if got := Max(g.x); !same(got, hi) {
							t.Fatalf("Max of %v = %v, want %v", g.x, got, hi)
						}
						if got := Min(g.x); !same(got, lo) {
							t.Fatalf("Min of %v = %v, want %v", g.x, got, lo)
						}
						if got, want := MaxAbs(g.x), max(hi, -lo); !same(got, want) {
							t.Fatalf("MaxAbs of %v = %v, want %v", g.x, got, want)
						}
					}
				}
			}
		}
	})
}

func BenchmarkReduce(b *testing.B) {
	for _, k := range []struct {
		name string
		f    func(x []float64) float64
	}{
		{"Sum", Sum}, {"Max", Max}, {"Prod", Prod}, {"Dot", func(x []float64) float64 { return Dot(x, x) }},
	} {
		for _, n := range []int{4, 32, 256, 4096, 1 << 17} {
			b.Run(fmt.Sprintf("%s/%d", k.name, n), func(b *testing.B) {
				x := make([]float64, n)
				s := 0.0
				for b.Loop() {
					s += k.f(x)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/elem")
			})
		}
	}
}

// BenchmarkSumRows adds up rows.
func BenchmarkSumRows(b *testing.B) {
	for _, n := range []int{2, 3, 4, 5, 8, 10, 16, 20, 31, 40, 64, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			rows := 4000 / n
			x, dst := make([]float64, n*rows), make([]float64, rows)
			for b.Loop() {
				SumRows(dst, x, n)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x)), "ns/elem")
		})
	}
}

// BenchmarkTallest finds the largest of columns.
func BenchmarkTallest(b *testing.B) {
	for _, n := range []int{5, 10, 20, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			const w = 128
			x, less, top, first := make([]float64, n*w), make([]float64, n*w), make([]float64, w), make([]int, w)
			for i := range x {
				x[i] = math.Sin(float64(i * i))
			}
			for b.Loop() {
				Tallest(top, first, less, x, w, n)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x)), "ns/elem")
		})
	}
}

// BenchmarkAccumulateRows adds up columns.
func BenchmarkAccumulateRows(b *testing.B) {
	for _, n := range []int{3, 16, 20, 32, 33, 50, 64, 65, 100, 128} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			const m = 128
			x, acc := make([]float64, n*m), make([]float64, n)
			for b.Loop() {
				AccumulateRows(acc, x, n, m)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x)), "ns/elem")
		})
	}
}
