package kernels

import "cmp"

// Steps say how many numbers apart the matrices of several products lie; 0 is one for all.
type Steps struct{ C, A, B int }

// GemmBatch is Gemm, or Gemm32, of so many C, A and B, without add; each has the bits of a call of
// its own. Of the time of such calls, 3×3, 4×4 and 8×8 numbers: 0.6, 0.6 and 0.8.
func GemmBatch[T float32 | float64](count int, by Steps, c []T, ldc int, a []T, lda int, transA bool, b []T, ldb int, transB bool, m, n, k int) {
	if count <= 0 {
		return
	}
	p, ok := productOf(c, ldc, a, lda, transA, b, ldb, transB, m, n, k, false)
	if !ok { // it has written zeros where there is something to write
		for i := 1; i < count; i++ {
			productOf(c[i*by.C:], ldc, a, lda, transA, b, ldb, transB, m, n, k, false)
		}
		return
	}
	_ = c[(count-1)*by.C:][(m-1)*ldc+n-1]
	if p.swapped {
		by.A, by.B = by.B, by.A
	}
	g, ok := any(&multiplied).(*blocking[T])
	if !ok {
		g = any(&multiplied32).(*blocking[T])
	}
	g.each(count, by, p)
}

// alone multiplies in the caller.
func (g *blocking[T]) alone(p product[T]) { g.each(1, Steps{}, p) }

// each multiplies so many products. Small ones are not cut: their panels are multiplied one after the
// other, packed here where that has to be. To see that there is nothing to cut takes 120 ns, three
// times as long as 4×4 numbers, and of 64×64 in a hundredth of their time. Loops in Go over the terms
// of the smallest took 1.7 times as long at 3×3, 0.8 at 4×4.
func (g *blocking[T]) each(count int, by Steps, p product[T]) {
	if p.swapped && p.bRow == 1 && p.bCol != 1 && (p.n < 8 || p.k < 8) && p.k <= g.depth && g.ragged == 0 { // one lane of each vector is faster than to pack
		q := p
		q.a, q.aRow, q.aCol, q.b, q.bRow, q.bCol, q.m, q.n, q.ldc = p.b, p.bCol, p.bRow, p.a, p.aCol, p.aRow, p.n, 1, 1
		if g.several(count, Steps{by.C, by.B, by.A}, q) {
			return
		}
	}
	if g.vectors != nil && p.isColumn() {
		c, a, b := p.c, p.a, p.b
		for i := range count {
			p.c, p.a, p.b = c[i*by.C:], a[i*by.A:], b[i*by.B:]
			g.vectors(Alone, p)
		}
		return
	}
	if !g.isSmall(p) {
		q := p
		for i := range count {
			q.c, q.a, q.b = p.c[i*by.C:], p.a[i*by.A:], p.b[i*by.B:]
			g.large(Alone, q)
		}
		return
	}
	if p.bCol == 1 && p.n&g.ragged == 0 && g.several(count, by, p) {
		return
	}
	var room *[]T
	if p.bCol != 1 || p.n&g.ragged != 0 {
		room = g.bands.take()
		defer g.bands.give(room)
		grow(room, p.k*g.width)
	}
	tall, panels := cmp.Or(g.tall, 4), g.panels(p.n)
	ask := (g.width*tall + p.m - 1) / p.m // rows of B with each tile
	for i := range count {
		c, a, b := p.c[i*by.C:], p.a[i*by.A:], p.b[i*by.B:]
		_, _ = a[(p.m-1)*p.aRow+(p.k-1)*p.aCol], b[(p.k-1)*p.bRow+(p.n-1)*p.bCol]
		for j, call := 0, 1; call <= panels; call++ {
			end := g.starts(call, p.n)
			n, right, bRow := end-j, b[j*p.bCol:], p.bRow
			var next ahead[T]
			if end < p.n {
				next = aheadOf(right[n*p.bCol:], p.bCol, p.bRow, ask)
			}
			if room != nil {
				if i == 0 || by.B != 0 || panels > 1 {
					g.packPanel(*room, right, p.bRow, p.bCol, p.k, n)
				}
				right, bRow = *room, g.width
			}
			g.panel(c[j:], p.ldc, a, p.aRow, p.aCol, right, bRow, 0, tiles{}, p.m, n, p.k, p.add, next, rowsOf[T]{})
			j = end
		}
	}
}

// isSmall reports whether a product is multiplied without being cut: its operands stay in the second
// cache, there is no vector among them, and they are not turned round.
func (g *blocking[T]) isSmall(p product[T]) bool {
	const most, panels = 160, 7
	const fewResults = 1500 // whatever their depth: of the time when cut, 10×30 with a depth of 1, 2 and 3 .36, .4 and .43, 2×50 .31, 3×30 with 10 .43
	if p.m > most || p.k > most || g.narrows(p) || g.flattens(p) {
		return false
	}
	return p.n <= g.width || p.n <= panels*g.width && (p.m >= 4 && p.k >= 4 && p.m*p.k <= g.small && p.n*p.k <= g.small || p.m*p.n <= fewResults)
}
