package kernels

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"
)

// runTest is a kernel called directly and by Run, with the number of its slices.
func runTest[E real64or32](t *testing.T, count int, c Call, direct func(a [4][]E)) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 7, 32, 33, 64, 255, 256} {
		for _, big := range []int{-1, 0, n / 3, n - 1} { // where an argument is that sin leaves to Go
			var a, b [4][]E
			var at [4]unsafe.Pointer
			for i := range count {
				a[i] = make([]E, n+1)
				for j := range a[i] {
					a[i][j] = E(rng.NormFloat64())
				}
				if n > 0 && big >= 0 {
					a[i][big] = 1e9
				}
				b[i] = slices.Clone(a[i])
				at[i] = unsafe.Pointer(&b[i][0])
				a[i] = a[i][:n]
			}
			direct(a)
			// twice, so that one must go on after the other
			ran, done := Run([]Call{c, c, {}}, &at[0], n)
			for ; ran < 2; ran++ {
				var rest [4][]E
				for i := range count {
					rest[i] = b[i][done:n]
				}
				direct(rest)
				done = 0
				if ran == 0 {
					ran, done = Run([]Call{c, {}}, &at[0], n)
				}
			}
			direct(a)
			for i := range count {
				for j, v := range a[i] {
					if !same(float64(v), float64(b[i][j])) {
						t.Fatalf("n=%d: element %d of slice %d is %v, directly %v", n, j, i, b[i][j], v)
					}
				}
			}
		}
	}
}

type real64or32 interface{ float32 | float64 }

// TestRun holds a run to direct calls of the same kernels.
func TestRun(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, table := range tables[:tier] {
			for _, o := range table.overrides {
				var c Call
				switch o := o.(type) {
				case *at[unary]:
					c = CallOf(*o.door, 0, 1)
					runTest(t, 2, c, func(a [4][]float64) { (*o.door)(a[0], a[1]) })
				case *at[binary]: // or a twin
					c = CallOf(*o.door, 0, 1, 2)
					runTest(t, 3, c, func(a [4][]float64) { (*o.door)(a[0], a[1], a[2]) })
				case *at[ternary]:
					c = CallOf(*o.door, 0, 1, 2, 3)
					runTest(t, 4, c, func(a [4][]float64) { (*o.door)(a[0], a[1], a[2], a[3]) })
				case *at[unary32]:
					c = CallOf(*o.door, 0, 1)
					runTest(t, 2, c, func(a [4][]float32) { (*o.door)(a[0], a[1]) })
				case *at[binary32]:
					c = CallOf(*o.door, 0, 1, 2)
					runTest(t, 3, c, func(a [4][]float32) { (*o.door)(a[0], a[1], a[2]) })
				case *at[ternary32]:
					c = CallOf(*o.door, 0, 1, 2, 3)
					runTest(t, 4, c, func(a [4][]float32) { (*o.door)(a[0], a[1], a[2], a[3]) })
				case *at[pairs]:
					for _, row := range o.door {
						for _, f := range row {
							runTest(t, 4, CallOf(f, 0, 1, 2, 3), func(a [4][]float64) { f(a[0], a[1], a[2], a[3]) })
						}
					}
					continue
				default:
					continue
				}
				if pow, ok := o.(*at[binary]); ok && pow.door == &Pow {
					continue // on AVX2 it is two kernels
				}
				if c.entry == 0 && tier > 1 && runtime.GOARCH == "amd64" {
					t.Errorf("%T of %s has no entry", o, table.name)
				}
			}
		}
	})
}

// TestRunSums holds sums in a run to SumLanes.
func TestRunSums(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		x := make([]float64, 256)
		for i := range x {
			x[i] = float64(i*i%31) / 7
		}
		y := make([]float64, len(x))
		var want, got Lanes
		Square(y, x)
		SumLanes(&want, y)
		SumLanes(&want, x)
		z := make([]float64, len(x))
		at := []unsafe.Pointer{unsafe.Pointer(&z[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&got)}
		calls := []Call{CallOf(Square, 0, 1), CallOf(SumLanes, 2, 0), CallOf(SumLanes, 2, 1)}
		if ran, _ := Run(calls, &at[0], len(x)); ran == 0 {
			t.Skip("portable")
		} else if ran != 3 || got != want {
			t.Errorf("%d of 3 calls, lanes %v, want %v", ran, got, want)
		}
	})
}

// TestRunTilesEach runs tiles of one element with a number of each, of which nothing behind the last is read.
func TestRunTilesEach(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		x, u, v, y := []float64{1, 2, 3, 4, 5}, []float64{10, 20, 30, 40, 50}, []float64{6, 7, 8, 9, 10}, make([]float64, 5)
		slots := []float64{u[0], v[0]}
		at := []unsafe.Pointer{unsafe.Pointer(&y[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&slots[0]), unsafe.Pointer(&slots[1])}
		each := []Each{{unsafe.Pointer(&u[0]), at[2]}, {unsafe.Pointer(&v[0]), at[3]}}
		ran, done, left := RunTiles([]Call{CallOf(Mul, 0, 1, 2), CallOf(Add, 0, 0, 3)}, &at[0], 1, len(x), at[:2], each)
		if left == len(x) {
			t.Skip("portable")
		}
		if ran != 2 || done != 0 || left != 0 || each[0].From != unsafe.Pointer(&u[4]) || each[1].From != unsafe.Pointer(&v[4]) {
			t.Errorf("%d calls of the last, %d elements, %d tiles left", ran, done, left)
		}
		for i := range x {
			if want := x[i]*u[i] + v[i]; y[i] != want {
				t.Errorf("element %d is %v, want %v", i, y[i], want)
			}
		}
	})
}

// TestRunTiles runs tiles of an argument in place, one of them with an element that sin
// leaves to Go.
func TestRunTiles(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		const n, tiles = 64, 5
		x := make([]float64, n*tiles)
		for i := range x {
			x[i] = float64(i) / 9
		}
		x[3*n+40] = 1e9
		y, slot := make([]float64, len(x)), make([]float64, n)
		at := []unsafe.Pointer{unsafe.Pointer(&y[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&slot[0])}
		calls := []Call{CallOf(Square, 2, 1), CallOf(Sin, 0, 1), CallOf(Add, 0, 0, 2)}
		ran, done, left := RunTiles(calls, &at[0], n, tiles, at[:2], nil)
		if ran == 0 && left == tiles {
			t.Skip("portable")
		}
		if ran != 1 || done < 32 || done > 40 || left != 2 {
			t.Fatalf("%d calls, %d elements, %d tiles left; want 1, 32 to 40, 2", ran, done, left)
		}
		for i := range (tiles-left)*n + done {
			want := SinOf(x[i])
			if i < (tiles-left)*n {
				want += x[i] * x[i]
			}
			if y[i] != want {
				t.Fatalf("element %d is %v, want %v", i, y[i], want)
			}
		}
	})
}
