//go:build amd64 && !purego

package kernels

import (
	"flag"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A leafTest is a function of single numbers that has a leaf.
type leafTest struct {
	name    string
	arity   int
	twin    bool
	code    uintptr
	vectors int
	f       any
	of      func(x, y, z float64) (a, b float64)
}

// allLeaves are the leaves of this tier.
func allLeaves(t testing.TB) (all []leafTest) {
	for _, l := range [][]any{arithLeafTwins, expLeafTwins, trigLeafTwins} {
		for _, f := range l {
			name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
			_, name, _ = strings.Cut(name, ".")
			r := leafTest{name: name, f: f, code: leafOf(pointer(f)), vectors: leafVectors(pointer(f))}
			switch f := f.(type) {
			case func(float64) float64:
				r.arity, r.of = 1, func(x, _, _ float64) (a, b float64) { return f(x), 0 }
			case func(x, y float64) float64:
				r.arity, r.of = 2, func(x, y, _ float64) (a, b float64) { return f(x, y), 0 }
			case func(x, y, z float64) float64:
				r.arity, r.of = 3, func(x, y, z float64) (a, b float64) { return f(x, y, z), 0 }
			case func(float64) (a, b float64):
				r.arity, r.twin, r.of = 1, true, func(x, _, _ float64) (a, b float64) { return f(x) }
			default:
				t.Fatalf("%s is a %T", name, f)
			}
			all = append(all, r)
		}
	}
	return all
}

// leafArguments are numbers of all kinds: the edges and near them, kinks, subnormals, all sizes
// alike, random bits.
func leafArguments(n int) []float64 {
	xs := spread(n / 2)
	r := rand.New(rand.NewPCG(5, 6))
	near := func(x float64) float64 {
		return math.Float64frombits(math.Float64bits(x) + r.Uint64N(9) - 4)
	}
	kinks := []float64{0.4375, 0.6875, 1.1875, 2.4375, 0x1p-30, 0x1p-28, 0x1p28, 0x1p19, 28, 39.6, 40, 5.96, 100, 27, 32, 60, 745.1332, 709.7827, 0x1p-51, 0x1p600, 0x1p-600, 0x1p500, 0x1p-450, 0x1p53}
	for len(xs) < n {
		u := r.Float64()
		x := kinks[r.IntN(len(kinks))]
		e := edges[r.IntN(len(edges))]
		xs = append(xs, near(x), -near(x), near(e), 100*u-50, math.Pi/16*float64(r.IntN(4000))*(1+0x1p-52*float64(r.IntN(3))),
			math.Ldexp(u+0.5, r.IntN(2098)-1074), float64(r.IntN(41)-20)/2, 1-u*0x1p-20, 0x1p19*(2*u-1))
	}
	return xs[:n]
}

var leafCount = flag.Int("leaves", 1<<15, "how many arguments leaves are tried with")

// TestLeaves holds leaves to the functions of Go.
func TestLeaves(t *testing.T) {
	n := *leafCount
	xs := leafArguments(n)
	eachTier(t, func(t *testing.T) {
		for _, l := range allLeaves(t) {
			if (l.code != 0) != (tier > 1) {
				t.Errorf("%s has a leaf at %x on %s", l.name, l.code, Tier())
			}
			if tier != 2 { // the same on others
				continue
			}
			r := rand.New(rand.NewPCG(7, 8))
			odd, bad := 0, 0
			for i, x := range xs {
				y, z := xs[r.IntN(n)], xs[r.IntN(n)]
				switch i % 4 { // arguments of about one size, and small ones
				case 0:
					y = x * (4*r.Float64() - 2)
				case 1:
					y = float64(r.IntN(41)-20) / 2
				}
				var vectors [16]float64
				for i := range vectors {
					vectors[i] = sentinel
				}
				a, b, o := callLeaf(l.code, x, y, z, &vectors)
				for _, v := range vectors[max(3, l.vectors):] {
					if v != sentinel {
						t.Fatalf("the leaf of %s changes more than %d registers: %x", l.name, l.vectors, vectors)
					}
				}
				if o {
					odd++
					continue
				}
				wantA, wantB := l.of(x, y, z)
				twin := l.twin && !same(b, wantB)
				if (!same(a, wantA) || twin) && bad < 5 {
					bad++
					t.Errorf("%s%x is %x, %x, its leaf gives %x, %x", l.name, []float64{x, y, z}[:l.arity], wantA, wantB, a, b)
				}
			}
			t.Logf("%s leaves %.2g%% to Go", l.name, 100*float64(odd)/float64(n))
		}
	})
}

// BenchmarkLeaf measures latencies, in chains in which every argument waits for the result
// before it: those of leaves and those of the functions of Go, both less what negation takes
// in the same chain.
func BenchmarkLeaf(b *testing.B) {
	if leafOf(pointer(NegOf)) == 0 {
		b.Skip("this tier has no leaves")
	}
	leaf := func(code uintptr, x, y float64, n int) float64 {
		v := x
		for range n {
			v, _, _ = callLeaf(code, v*0+x, y, y, nil)
		}
		return v
	}
	call := func(f any, x, y float64, n int) float64 {
		v := x
		switch f := f.(type) {
		case func(float64) float64:
			for range n {
				v = f(v*0 + x)
			}
		case func(x, y float64) float64:
			for range n {
				v = f(v*0+x, y)
			}
		case func(x, y, z float64) float64:
			for range n {
				v = f(v*0+x, y, y)
			}
		case func(float64) (a, b float64):
			for range n {
				v, _ = f(v*0 + x)
			}
		}
		return v
	}
	xs := []float64{0.3, 0.7, 1.2, 2.6, -0.8}
	for _, l := range allLeaves(b) {
		b.Run(strings.TrimSuffix(l.name, "Of"), func(b *testing.B) {
			const n = 1 << 9
			var least [5][4]float64
			for b.Loop() {
				for k, x := range xs {
					switch l.name {
					case "LogOf", "Log2Of", "Log10Of", "PowOf":
						x = math.Abs(x)
					case "AcoshOf":
						x = math.Abs(x) + 1
					case "AsinOf", "AcosOf", "AtanhOf":
						x /= 3
					}
					for i, f := range []func(x float64){
						func(x float64) { leaf(l.code, x, 0.7, n) },
						func(x float64) { call(l.f, x, 0.7, n) },
						func(x float64) { leaf(leafOf(pointer(NegOf)), x, 0.7, n) },
						func(x float64) { call(any(NegOf), x, 0.7, n) },
					} {
						start := time.Now()
						f(x)
						if s := float64(time.Since(start)) / n; s < least[k][i] || least[k][i] == 0 {
							least[k][i] = s
						}
					}
				}
			}
			var ours, theirs float64
			for _, l := range least {
				ours += (l[0] - l[2]) / float64(len(xs))
				theirs += (l[1] - l[3]) / float64(len(xs))
			}
			b.ReportMetric(ours, "ns/leaf")
			b.ReportMetric(theirs, "ns/go")
		})
	}
}
