package kernels

import (
	"fmt"
	"math"
	"os"
	"testing"
	"unsafe"
)

func init() { Choose() } // for all tests

// TestTier fails unless the tier that NABLA_TEST_TIER demands is really there,
// so that a CI machine cannot pass by falling back.
func TestTier(t *testing.T) {
	t.Logf("tier %s", Tier())
	if want := os.Getenv("NABLA_TEST_TIER"); want != "" && Tier() != want {
		t.Errorf("tier = %s, want %s", Tier(), want)
	}
}

// eachTier runs f once on every tier that this CPU has.
func eachTier(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	was := tier
	defer use(was)
	for n := range best("") {
		use(n + 1)
		t.Run(Tier(), f)
	}
}

// same reports whether x and y have the same bits; all NaNs are one.
func same(x, y float64) bool {
	return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y
}

const sentinel = -0x1.badbadbadbadp+99

// A guarded slice x has sentinels on both sides: it starts at all[lo].
type guarded struct {
	all, x []float64
	lo     int
}

// guard returns n elements that begin at an offset of off elements modulo eight.
func guard(n, off int) guarded {
	all := make([]float64, n+32)
	for i := range all {
		all[i] = sentinel
	}
	lo := 8 + off
	return guarded{all, all[lo : lo+n : lo+n], lo}
}

// check fails if anything was written outside x.
func (g guarded) check(t *testing.T, what string) {
	t.Helper()
	for i, v := range g.all {
		if (i < g.lo || i >= g.lo+len(g.x)) && v != sentinel {
			t.Fatalf("%s wrote %v at element %d of %d", what, v, i-g.lo, len(g.x))
		}
	}
}

// fill sets x to values drawn from vs in an order that depends on seed.
func fill(x, vs []float64, seed int) {
	for i := range x {
		x[i] = vs[(i*7+i/len(vs)+seed*13)%len(vs)]
	}
}

// checkUnary compares a kernel with its scalar twin on every tier, at all
// lengths, eight alignments, and with dst being the argument; xs are the
// values to use.
func checkUnary(t *testing.T, name string, kernel *unary, of func(float64) float64, xs []float64) {
	t.Helper()
	check(t, name, unsafe.Pointer(kernel), 1, func(dst []float64, a [][]float64) { (*kernel)(dst, a[0]) },
		func(a []float64) float64 { return of(a[0]) }, xs)
}

func checkBinary(t *testing.T, name string, kernel *binary, of func(x, y float64) float64, xs []float64) {
	t.Helper()
	check(t, name, unsafe.Pointer(kernel), 2, func(dst []float64, a [][]float64) { (*kernel)(dst, a[0], a[1]) },
		func(a []float64) float64 { return of(a[0], a[1]) }, xs)
}

func checkTernary(t *testing.T, name string, kernel *ternary, of func(x, y, z float64) float64, xs []float64) {
	t.Helper()
	check(t, name, unsafe.Pointer(kernel), 3, func(dst []float64, a [][]float64) { (*kernel)(dst, a[0], a[1], a[2]) },
		func(a []float64) float64 { return of(a[0], a[1], a[2]) }, xs)
}

// lengths are 0..257, or with -short those about a vector of every tier and a few beyond.
func lengths(yield func(n int) bool) {
	for n := 0; n < 258; n++ {
		if n == 41 && testing.Short() {
			n = 250
		}
		if !yield(n) {
			return
		}
	}
}

// check tries a kernel on every tier that has one of its own behind the door.
func check(t *testing.T, name string, door unsafe.Pointer, arity int, kernel func(dst []float64, args [][]float64), of func([]float64) float64, xs []float64) {
	t.Helper()
	var last uintptr
	eachTier(t, func(t *testing.T) {
		f := *(*uintptr)(door)
		if f == last {
			return
		}
		last = f
		for n := range lengths {
			for off := range 8 {
				checkAt(t, name, arity, kernel, of, xs, n, off)
			}
		}
	})
}

// checkAt tries one length and alignment: into a slice of its own, then into
// each argument.
func checkAt(t *testing.T, name string, arity int, kernel func([]float64, [][]float64), of func([]float64) float64, xs []float64, n, off int) {
	t.Helper()
	for alias := -1; alias < arity; alias++ {
		all := make([]guarded, arity+1)
		args := make([][]float64, arity)
		before := make([][]float64, arity)
		for i := range args {
			all[i] = guard(n, (off+3*i)%8)
			args[i] = all[i].x
			fill(args[i], xs, n+off+5*i)
			before[i] = append([]float64(nil), args[i]...)
		}
		all[arity] = guard(n, (off+5)%8)
		dst := all[arity].x
		if alias >= 0 {
			dst = args[alias]
		}
		kernel(dst, args)
		what := fmt.Sprintf("%s, n = %d, offset %d, dst aliasing %d,", name, n, off, alias)
		for _, g := range all {
			g.check(t, what)
		}
		point := make([]float64, arity)
		for i := range n {
			for j := range point {
				point[j] = before[j][i]
			}
			if want := of(point); !same(dst[i], want) {
				t.Fatalf("%s element %d: %s%v = %v, want %v", what, i, name, point, dst[i], want)
			}
		}
		for j := range args {
			if j == alias {
				continue
			}
			for i := range n {
				if !same(args[j][i], before[j][i]) {
					t.Fatalf("%s changed argument %d at element %d", what, j, i)
				}
			}
		}
	}
}

// edges are the values at which kernels go wrong.
var edges = []float64{
	0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3, -3, 0.1, -0.7,
	math.NaN(), math.Inf(1), math.Inf(-1),
	5e-324, -5e-324, 0x1p-1022, -0x1p-1022, 0x1.fffffffffffffp-1023,
	math.MaxFloat64, -math.MaxFloat64, 0x1p52, 0x1p52 + 1, -0x1p52 - 0.5, 0x1p53, -0x1p63, 0x1p63,
	0.49999999999999994, -0.49999999999999994, 4503599627370495.5, 1e-300, 1e300, 3.1, 7, -7, 2,
}
