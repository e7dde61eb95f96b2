//go:build !purego

package kernels

import "unsafe"

//go:noescape
func repeat(calls *RepeatedCall, count, first int, at *unsafe.Pointer, moves *Move, movers, left int, room *call64) (call, done, rest int)

// inPanel marks a panel of a product.
const inPanel = -2

// panelEntries is where the panels of gemm begin: of one, two and three vectors, of AVX2, then
// of AVX-512.
func panelEntries() *[2][3]uintptr

// Repeated appends the calls that do Multiply, of the m rows at place a, to place c, which
// lie without gaps; or one that is left to Go.
func (r *Right[T]) Repeated(calls []RepeatedCall, c, a, m int) []RepeatedCall {
	x, ok := any(r).(*Right[float64])
	if !ok || multiply.tier == 0 || x.k == 0 || x.k > gemmDepth {
		return append(calls, RepeatedCall{})
	}
	const size = 8
	g := &multiplied
	lanes := g.width / 3
	for j := 0; j < x.n; j += g.width {
		n := min(g.width, x.n-j)
		b := &x.panels[j*x.k]
		calls = append(calls, RepeatedCall{
			Call: Call{entry: panelEntries()[multiply.tier-1][(n-1)/lanes], done: inPanel, at: [4]int32{int32(c), int32(a), int32(size * j)}},
			panel: &call64{ldc: size * x.n, aRow: size * x.k, aCol: size, b: b, bRow: size * g.width, m: m, n: n, k: x.k,
				aTile: size * g.tall * x.k, cTile: size * g.tall * x.n, next: b},
		})
	}
	return calls
}
