//go:build !purego

package kernels

import "unsafe"

//go:noescape
func repeat(calls *RepeatedCall, count, first int, at *unsafe.Pointer, moves *Move, movers, left int, room *call64) (call, done, rest int)

// repeats reports whether there is machine code for what Repeat does besides kernels.
func repeats() bool { return multiply.tier != 0 }

// panelEntries is where the panels of gemm begin: of one, two and three vectors, and of rows;
// of AVX2, then of AVX-512.
func panelEntries() *[2][4]uintptr

// Repeated are the calls that do Multiply, of the m rows at place a, to place c, which lie
// without gaps, or leave it to Go where A is next to nothing; or one that is always left to it.
func (r *Right[T]) Repeated(c, a, m int) []RepeatedCall {
	x, ok := any(r).(*Right[float64])
	if !ok || !repeats() || x.k == 0 || x.k > gemmDepth {
		return []RepeatedCall{{}}
	}
	const size = 8
	w, entries := multiply.width, &panelEntries()[multiply.tier-1]
	call := Call{done: inPanel, at: [4]int32{int32(c), int32(a)}}
	if m == 1 {
		call.entry = entries[3]
		return []RepeatedCall{{Call: call, told: unsafe.Pointer(&call64{b: &x.panels[0], bTile: size * w * x.k, n: x.n, k: x.k})}}
	}
	var calls []RepeatedCall
	for p := range multiply.panels(x.n) {
		j := multiply.starts(p, x.n)
		n := multiply.starts(p+1, x.n) - j
		at, gap := multiply.place(j, x.k)
		b := &x.panels[at]
		call.entry, call.at[2] = entries[(n-1)/(w/3)], int32(size*j)
		calls = append(calls, RepeatedCall{Call: call, told: unsafe.Pointer(&call64{ldc: size * x.n, aRow: size * x.k, aCol: size, b: b, bRow: size * w,
			m: m, n: n, k: x.k, aTile: size * multiply.tall * x.k, cTile: size * multiply.tall * x.n, tall: taller(m), second: 64 + size*gap, next: b})})
	}
	return calls
}
