//go:build linux

package kernels

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"
	"unsafe"
)

// A page is memory between two pages that must not be touched.
type page []float64

func newPage(t *testing.T) page {
	t.Helper()
	size := syscall.Getpagesize()
	all, err := syscall.Mmap(-1, 0, 3*size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { syscall.Munmap(all) })
	for _, outside := range [][]byte{all[:size], all[2*size:]} {
		if err := syscall.Mprotect(outside, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	p := unsafe.Slice((*float64)(unsafe.Pointer(&all[size])), size/8)
	for i := range p {
		p[i] = 0.1 + float64(i%7)/8
	}
	return p
}

func (p page) first(n int) []float64 { return p[:n:n] }
func (p page) last(n int) []float64  { return p[len(p)-n:] }

// TestReads runs every kernel that some tier overrides on slices that begin and
// end at pages without access: nothing is read beyond them either.
func TestReads(t *testing.T) {
	d, x, y, z := newPage(t), newPage(t), newPage(t), newPage(t)
	eachTier(t, func(t *testing.T) {
		debug.SetPanicOnFault(true) // for this goroutine
		for n := range 70 {
			for _, at := range []func(p page, n int) []float64{page.first, page.last} {
				d, x, y, z := at(d, n), at(x, n), at(y, n), at(z, n)
				for i := range tables {
					for _, o := range tables[i].overrides {
						untouched(t, o, n, func() { runOverride(o, d, x, y, z) })
					}
				}
			}
		}
		for m := range 19 {
			for n := range 27 {
				for k := range 7 {
					for bits := range 4 {
						transA, transB := bits&1 != 0, bits&2 != 0
						lda, ldb := k, n
						if transA {
							lda = m
						}
						if transB {
							ldb = k
						}
						untouched(t, "Gemm", n, func() {
							Gemm(d.last(m*n), n, x.last(m*k), lda, transA, y.last(k*n), ldb, transB, m, n, k, true)
						})
						untouched(t, "Transpose", n, func() { Transpose(d.last(m*n), m, x.last(m*n), n, m, n) })
						last := func(p page, n int) []float32 { x := singles(p); return x[len(x)-n:] }
						untouched(t, "Gemm32", n, func() {
							Gemm32(last(d, m*n), n, last(x, m*k), lda, transA, last(y, k*n), ldb, transB, m, n, k, true)
						})
						untouched(t, "Transpose32", n, func() { Transpose32(last(d, m*n), m, last(x, m*n), n, m, n) })
					}
				}
			}
		}
	})
}

// TestMachineReads runs machine code of random lines on columns that begin and end at pages
// without access: nothing is read beyond them, and what a shorter vector leaves out stays.
// A fault in such code ends the process.
func TestMachineReads(t *testing.T) {
	pages := make([]page, 40)
	for i := range pages {
		pages[i] = newPage(t)
	}
	eachTier(t, func(t *testing.T) {
		if MakeSteps([]Line{{Do: DoNeg, Keep: true}}) == nil {
			t.Skip("no machine code on this tier")
		}
		rng := rand.New(rand.NewPCG(5, 1))
		for n := range 70 {
			columns := 1 + rng.IntN(12)
			lines, places := someLines(rng, 1+rng.IntN(25), columns, true)
			for i := range lines {
				lines[i].Keep = true
			}
			for _, last := range []bool{true, false} {
				kind, number := make([]Column, places), rng.IntN(2*columns) // numbers lie in line, so there is one at most
				column, want, at := make([][]float64, places), make([][]float64, places), make([]unsafe.Pointer, places)
				for p := range column {
					m := n
					if kind[p] = Apart; p < columns && p == number {
						kind[p], m = Number, 1
					}
					if column[p] = pages[p].first(m); last {
						column[p] = pages[p].last(m)
					}
					for i := range column[p] {
						column[p][i] = odd(rng)
					}
					want[p] = slices.Clone(column[p])
					for kind[p] == Number && len(want[p]) < n {
						want[p] = append(want[p], want[p][0])
					}
					at[p] = unsafe.Pointer(unsafe.SliceData(column[p]))
				}
				m, call := Fuse(lines, 288, func(p int32) Column { return kind[p] })
				if m == nil {
					t.Fatal("no code")
				}
				if ran, _ := Run([]Call{call}, &at[0], n); ran != 1 {
					t.Fatal("the call did not run")
				}
				runtime.KeepAlive(m)
				for i := range lines {
					out := make([]float64, n)
					for j := range out {
						var v [3]float64
						for k := range lines[i].args() {
							v[k] = want[lines[i].Arg[k]][j]
						}
						out[j] = lineOf(&lines[i], v)
					}
					copy(want[lines[i].Dst], out)
				}
				for p := range column {
					for i, v := range column[p] {
						if !same(v, want[p][i]) {
							t.Fatalf("n = %d: column %d, element %d: %v, want %v\n%v", n, p, i, v, want[p][i], printed(lines))
						}
					}
				}
			}
			// Steps: all columns in one page, the last one to its end
			const batch = 12
			apart := func(by int32) {
				for i := range lines {
					l := &lines[i]
					l.Dst, l.Keep = by*l.Dst, true
					for k := range l.Arg {
						l.Arg[k] *= by
					}
				}
			}
			lines, places = someLines(rng, 1+rng.IntN(20), 1+rng.IntN(5), false)
			apart(batch)
			mem := pages[0].last(places * batch)
			for i := range mem {
				mem[i] = odd(rng)
			}
			arrays := [][]float64{pages[1].last(1 + rng.IntN(3)), pages[2].first(1)}
			lines[0] = Line{Do: DoLoad, Dst: lines[0].Dst, Keep: true, Array: int32(rng.IntN(2))}
			for i := range batch {
				mem[i] = float64(rng.IntN(9) - 4)
			}
			MakeSteps(lines).Steps(mem, arrays, 0, batch)
			const few = 4
			lines, places = someLines(rng, 1+rng.IntN(10), 1+rng.IntN(5), false)
			apart(few)
			MakeLanes(lines).Steps(pages[0].last(places*few*StepLanes()), nil, 0, few)
		}
	})
}

// runOverride calls what is behind the door of o.
func runOverride(o override, d, x, y, z []float64) {
	switch o := o.(type) {
	case *at[unary]:
		(*o.door)(d, x)
	case *at[binary]:
		(*o.door)(d, x, y)
	case *at[ternary]:
		(*o.door)(d, x, y, z)
	case *at[func([]float64) float64]:
		(*o.door)(x)
	case *at[func(x, y []float64) float64]:
		(*o.door)(x, y)
	case *at[func(*Lanes, []float64)]:
		(*o.door)(new(Lanes), x)
	case *at[func(l *Lanes, x, y []float64)]:
		(*o.door)(new(Lanes), x, y)
	case *at[func(dst, x []float64, s float64)]:
		(*o.door)(d, x, 0.5)
	case *at[func(dst []float64, v float64)]:
		(*o.door)(d, 0.5)
	case *at[func(dst []float64, a float64, x []float64)]:
		(*o.door)(d, 0.5, x)
	case *at[func(x, y []float64, s, tau float64)]:
		(*o.door)(d, x, 0.5, 0.25)
	case *at[func(dst, a, b []float64, ld int)]:
		if o.door == &countRows { // from the first rows, and to the last
			for n := 1; n <= 13; n++ {
				if rows := len(x) / n; rows > 0 {
					(*o.door)(d[:rows], x[:rows*n], y[:rows], n)
					(*o.door)(d[len(d)-rows:], x[len(x)-rows*n:], y[len(y)-rows:], n)
				}
			}
			return
		}
		if len(x) > 0 {
			(*o.door)(d, x, y, 0)
		}
	case *at[func(dst, rest, a, b []float64, ld int)]:
		if half := len(d) / 2; len(x) > 0 {
			(*o.door)(d[:half], d[len(d)-half:], x, y, 0)
			(*o.door)(d[len(d)-half:], d[:half], x, y[len(y)-half:], 0)
		}
	case *at[func(dst []float64, ldd int, num float64, s []float64, lds int, x []float64, ldx, n, rows int)]:
		if n := len(d); n > 0 {
			(*o.door)(d, 0, 0.5, x, 1, y, 0, n, min(3, n))
			(*o.door)(d, n/3, 0.5, x[n-1:], 0, y, n/3, n-2*(n/3), 3)
		}
	case *at[func(dst, a, b []float64, lda, ldb, m int)]:
		(*o.door)(d, x, y, 0, 0, 3)
	case *at[func(x, y, s, tau []float64, ldx, ldy, m int)]:
		(*o.door)(d, x, y, z, 0, 0, 3)
	case *at[func(p, q, off, s, tau []float64, much float64)]:
		half := len(d) / 2
		(*o.door)(d[:half], d[len(d)-half:], x[:half], y[:half], z[:half], 128)
		(*o.door)(x[len(x)-half:], y[len(y)-half:], d[:half], d[len(d)-half:], z[len(z)-half:], 128)
	case *at[func(dst []float64, a, b, c, d float64, x, y, z, w []float64)]:
		(*o.door)(d, 0.5, 0.25, 3, -1, x, y, z, x)
	case *at[func(dst, x, y, z, w []float64)]:
		(*o.door)(d, x, y, z, x)
	case *at[func(acc, x []float64, ldx, m int)]:
		if o.door == &stretchFrom {
			for n := 1; n <= len(d); n++ {
				for skip := 0; skip < n; skip += 1 + n/3 {
					few := (len(d)-1+skip)/n + 1
					(*o.door)(d, x[:few], n, skip)
					(*o.door)(d, x[len(x)-few:], n, skip)
				}
			}
			return
		}
		if o.door == &CopyEvery { // from the first number, and to the last
			for n := 1; n <= mostStretched; n++ {
				few := (len(x) + n - 1) / n
				(*o.door)(d, x, n, few)
				(*o.door)(d[len(d)-max(0, (few-1)*n+1):], x[len(x)-max(0, (few-1)*n+1):], n, few)
			}
			return
		}
		for m := range min(4, len(x)+1) { // rows that end where x does
			n := min(len(d), mostHeld, len(x)-max(0, m-1))
			(*o.door)(d[:n], x[len(x)-n-max(0, m-1):], 1, m)
		}
	case *at[func(dst, x []float64, n int)]:
		for n := 1; n <= mostStretched; n++ {
			if o.door == &sumRows {
				rows := len(x) / n
				(*o.door)(d[:rows], x[:rows*n], n)
				(*o.door)(d[len(d)-rows:], x[len(x)-rows*n:], n)
				continue
			}
			if o.door == &Strided { // from the first number, and to the last
				few := (len(x) + n - 1) / n
				(*o.door)(d[:few], x, n)
				(*o.door)(d[len(d)-few:], x[len(x)-max(0, (few-1)*n+1):][:max(0, (few-1)*n+1)], n)
				continue
			}
			(*o.door)(d[:len(d)/n*n], x[:len(d)/n], n)
			(*o.door)(d[len(d)%n:], x[len(x)-len(d)/n:], n)
		}
	case *at[func(dst []float64, stride int, x []float64)]:
		for n := 1; n <= mostStretched; n++ {
			few := (len(d) + n - 1) / n
			(*o.door)(d, n, x[len(x)-few:])
			(*o.door)(d[len(d)-max(0, (few-1)*n+1):], n, x[:few])
		}
	case *at[func(dst, x []float64, places []int)]: // the first and the last number, and one for each place
		if ids := make([]int, len(d)); len(x) > 0 {
			for i := range ids {
				ids[i] = i % 2 * (min(len(d), len(x)) - 1)
			}
			(*o.door)(d, x, ids[:min(len(d), len(x))])
		}
	case *at[placedRows]: // the first and the last row
		for n := 1; n <= 13; n++ {
			ids := make([]int, min(len(d), len(x))/n)
			for i := range ids {
				ids[i] = i % 2 * (len(ids) - 1)
			}
			if rows := len(ids) * n; rows > 0 {
				(*o.door)(d[:rows], x[:rows], ids, n)
				(*o.door)(d[len(d)-rows:], x[len(x)-rows:], ids, n)
			}
		}
	case *at[func(dst []int, x []float64, n int) bool]:
		ints := unsafe.Slice((*int)(unsafe.Pointer(unsafe.SliceData(d))), len(d)*8/int(unsafe.Sizeof(0)))
		(*o.door)(ints[:len(x)], x, 3)
		(*o.door)(ints[len(ints)-len(x):], x, 3)
	case *at[func(top []float64, first []int, less, x []float64, n int) bool]:
		someRows(d, x, y, z, func(top []float64, first []int, less, x []float64, n int) { (*o.door)(top, first, less, x, n) })
	case *at[func(top []float64, first []int, less, x []float64, ld, n int) bool]:
		someRows(d, x, y, z, func(top []float64, first []int, less, x []float64, n int) {
			(*o.door)(top, first, less, x, len(top), n)
		})
	case *at[columnar]: // eight rows, from the first numbers and to the last
		k := len(x) / 8
		(*o.door)(d[:min(8, len(d))], x, k, y, min(8, len(d)), k)
		(*o.door)(d[max(0, len(d)-8):], x[len(x)-8*k:], k, y[len(y)-k:], min(8, len(d)), k)
	case *at[reversing]:
		(*o.door)(d[:len(x)], x)
		(*o.door)(d[len(d)-len(x):], x)
	case *at[liner]: // columns of every number of vectors, beside numbers that are not there
		some := min(o.door.most, len(d), len(x)) // 0 without machine code
		if some == 0 {
			break
		}
		o.door.times(d[len(d)-some:], y, x, 0, 0, false)
		o.door.times(d[len(d)-some:], y, x, len(x)-some, 0, true)
	case *at[func(dst []float64, ldd int, x []float64, ldx, m, n int)]:
		if o.door == &CopyRows {
			for n := 1; n <= 13; n++ { // from the first rows, and to the last
				rows := len(x) / n
				(*o.door)(d, n, x, n, n, rows)
				(*o.door)(d[len(d)-rows*n:], n, x[len(x)-rows*n:], n, n, rows)
			}
			return
		}
		(*o.door)(d, 1, x, len(x), min(1, len(x)), len(x))
	case *at[pairs]:
		for _, f := range *o.door {
			for _, g := range f {
				g(d, x, y, z)
			}
		}
	case *at[func(int) float64]:
		(*o.door)(1)
	case *at[multiplier[float64]], *at[multiplier[float32]], *at[func(dst []float32, ldd int, x []float32, ldx, m, n int)]: // in TestReads
	default:
		// Of float32 there are twice as many, and one less at either end.
		d32, x32, y32, z32 := singles(d), singles(x), singles(y), singles(z)
		runOverride32(o, d32, x32, y32, z32, d, x)
		if len(d) > 0 {
			runOverride32(o, d32[1:], x32[1:], y32[1:], z32[1:], d[1:], x[1:])
			n := len(d32) - 1
			runOverride32(o, d32[:n], x32[:n], y32[:n], z32[:n], d[:n/2], x[:n/2])
		}
	}
}

// someRows runs what finds the largest of rows or columns of n numbers, from the first numbers and to the last.
func someRows(d, x, y, z []float64, f func(top []float64, first []int, less, x []float64, n int)) {
	ints := unsafe.Slice((*int)(unsafe.Pointer(unsafe.SliceData(d))), len(d)*8/int(unsafe.Sizeof(0)))
	for _, n := range []int{1, 3, 8, 13} {
		if m := len(x) / n; m > 0 {
			f(y[:m], ints[:m], z[:m*n], x[:m*n], n)
			f(y[len(y)-m:], ints[len(ints)-m:], z[len(z)-m*n:], x[len(x)-m*n:], n)
		}
	}
}

// singles is the memory of x.
func singles(x []float64) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}

func runOverride32(o override, d, x, y, z []float32, d64, x64 []float64) {
	switch o := o.(type) {
	case *at[unary32]:
		(*o.door)(d, x)
	case *at[binary32]:
		(*o.door)(d, x, y)
	case *at[ternary32]:
		(*o.door)(d, x, y, z)
	case *at[func(dst []float32, v float32)]:
		(*o.door)(d, 0.5)
	case *at[func(dst []float64, x []float32)]:
		(*o.door)(d64, x)
		(*o.door)(d64, x[len(x)-len(d64):])
	case *at[func(dst []float32, x []float64)]:
		(*o.door)(d[:len(x64)], x64)
		(*o.door)(d[len(d)-len(x64):], x64)
	default:
		panic(fmt.Sprintf("%T is of a kind that TestReads does not know", o))
	}
}

func untouched(t *testing.T, what any, n int, f func()) {
	t.Helper()
	defer func() {
		if err := recover(); err != nil {
			t.Fatalf("%T %v, n = %d: %v", what, what, n, err)
		}
	}()
	f()
}
