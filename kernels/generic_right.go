package kernels

import "sync/atomic"

// A Right is the right operand op(B) of products, k×n, packed once for many of them: in
// panels as the multiplication reads them.
type Right[T float32 | float64] struct {
	panels []T
	k, n   int
	norm   atomic.Uint64 // the bits of that of the longest column, or 0
}

// PackedSize is how many numbers Pack needs for an operand k×n.
func PackedSize[T float32 | float64](k, n int) int {
	g := blockingOf[T]()
	return g.panels(n) * g.width * k
}

// blockingOf is the blocking of a type.
func blockingOf[T float32 | float64]() *blocking[T] {
	if g, ok := any(&multiplied).(*blocking[T]); ok {
		return g
	}
	return any(&multiplied32).(*blocking[T])
}

// Pack takes the operand in, to panels; B is stored n×k where transB is set.
func (r *Right[T]) Pack(panels, b []T, ldb int, transB bool, k, n int) {
	g := blockingOf[T]()
	w := g.width
	wide := g.panels(n) * w
	r.panels, r.k, r.n = panels[:wide*k], k, n
	r.norm.Store(0)
	bRow, bCol := ldb, 1
	if transB {
		bRow, bCol = 1, ldb
	}
	for pc := 0; pc < k; pc += g.depth {
		kc := min(g.depth, k-pc)
		for j := 0; j < n; j += w {
			g.packPanel(r.panels[pc*wide+j*kc:], b[pc*bRow+j*bCol:], bRow, bCol, kc, min(w, n-j))
		}
	}
}

// Panels is the memory that the operand was packed to.
func (r *Right[T]) Panels() []T { return r.panels }

// Multiply is Gemm, or Gemm32, of A, m×k, with the packed operand: the same bits.
func (r *Right[T]) Multiply(c []T, ldc int, a []T, lda, m int) {
	if !r.faint(c, ldc, a, lda, m, 0, blockingOf[T]().panels(r.n)) {
		r.MultiplyGroups(c, ldc, m, 0, a, lda, m, nil)
	}
}

// Part does, of Multiply to rows of C that lie without gaps, what call i of so many does that Repeated
// has for it.
func (r *Right[T]) Part(i, calls int, c, a []T, m int) {
	if calls == 1 {
		r.Multiply(c, r.n, a, r.k, m)
		return
	}
	if !r.faint(c, r.n, a, r.k, m, i, i+1) {
		r.multiplyCalls(c, r.n, a, r.k, m, i, i+1, false)
	}
}

// multiplyCalls makes calls from to to-1 of those that multiply by all columns.
func (r *Right[T]) multiplyCalls(c []T, ldc int, a []T, lda, m, from, to int, add bool) {
	g := blockingOf[T]()
	w := g.width
	wide := g.panels(r.n) * w
	for pc := 0; pc < r.k; pc += g.depth {
		kc := min(g.depth, r.k-pc)
		for call := from; call < to; call++ {
			j := g.starts(call, r.n)
			at, gap := g.place(j, kc)
			g.panel(c[j:], ldc, a[pc:], lda, 1, r.panels[pc*wide+at:], w, gap, tiles{}, m, g.starts(call+1, r.n)-j, kc, add || pc > 0, ahead[T]{}, rowsOf[T]{})
		}
	}
}

// worthLooking is how often factors are met at least where they are looked at before.
const worthLooking = 8

// MultiplyGroups is Multiply where the rows of C lie in groups of so many, from one to the
// next a distance of gap. Where by is given, rows of n numbers, those of each group are
// multiplied by it when they are done: 0 where either is 0. Rows of A that come from memory are
// asked for one tile before: 4096 of 64 numbers by 64 columns ran at 0.75 of the peak without and
// 0.97 with that, of 64 by 128 at 0.86 and 0.99, of 128 by 64 at 0.80 and 0.99. Groups of 8 rows that AVX2
// multiplies in one call, and eight columns of them as twice 4, not 6 and 2, took a batch's Jacobian through
// a network to .92 of its time on a Zen 3. As many numbers of A at a time as a band of the whole depth has: with 64 rows
// of 128 the calls took a fiftieth of W4.
func (r *Right[T]) MultiplyGroups(c []T, ldc, group, gap int, a []T, lda, m int, by []T) {
	if m <= 0 || r.n <= 0 {
		return
	}
	_ = c[(m-1)/group*gap+(m-1)%group*ldc+r.n-1]
	if m >= group {
		_ = c[(m/group-1)*gap+(group-1)*ldc+r.n-1]
	}
	if r.k <= 0 {
		for i := range m {
			clear(c[i/group*gap+i%group*ldc:][:r.n])
		}
		return
	}
	_ = a[(m-1)*lda+r.k-1]
	g := blockingOf[T]()
	w, calls := g.width, g.panels(r.n)
	plain := m >= worthLooking*group && g.arePlain(by)
	run, apart := group, tiles{} // what a panel multiplies at once, and how its tiles lie
	switch {
	case group <= g.rows && g.inTiles(group):
		run, apart = m, tiles{group, group * lda, 0, gap}
	case g.tall == 0:
	case gap == group*ldc && group%g.tall == 0: // tiles and rows of by begin together
		run = m
	}
	rows := g.rows * g.depth / min(r.k, g.depth) &^ 7 // at a time: whole groups, or of one group
	if group < rows {
		rows = rows / group * group
	}
	for ic := 0; ic < m; {
		top := min(ic+rows, m)
		if run > rows {
			top = min(top, (ic/run+1)*run)
		}
		for pc := 0; pc < r.k; pc += g.depth {
			kc := min(g.depth, r.k-pc)
			for call := range calls {
				j, end := g.starts(call, r.n), g.starts(call+1, r.n)
				at, gapB := g.place(j, kc)
				b := r.panels[pc*calls*w+at:]
				for i := ic; i < top; {
					some := min(run, top-i)
					if some > group && g.groups {
						some -= some % group
					}
					var times rowsOf[T]
					if by != nil && pc+kc == r.k {
						times = rowsOf[T]{by[j:], r.n, group, i % group, plain}
					}
					var next ahead[T]
					if j == 0 {
						next = below(a[i*lda+pc:], lda, 1, g.tall, m-i)
					}
					g.panel(c[i/group*gap+i%group*ldc+j:], ldc, a[i*lda+pc:], lda, 1, b, w, gapB, apart,
						some, end-j, kc, pc > 0, next, times)
					i += some
				}
			}
		}
		ic = top
	}
}

// Rows are count products of a column of A, m×1, with a row of the packed operand, and with by
// as in MultiplyGroups: of the column at a with row q, of that a distance of step further with
// the next, and so on. Where by is given it has the m rows of each, or the same for all; AVX-512 then writes them
// without the sums of a panel, in half of the time.
func (r *Right[T]) Rows(c []T, ldc int, a []T, lda, step, m, q, count int, by []T) {
	if m <= 0 || r.n <= 0 || count <= 0 {
		return
	}
	_, _, _ = c[(count*m-1)*ldc+r.n-1], a[(count-1)*step+(m-1)*lda], r.panels[:r.k][q+count-1]
	g := blockingOf[T]()
	w := g.width
	wide := g.panels(r.n) * w
	same := len(by) <= m*r.n
	plain := same && count >= worthLooking && g.arePlain(by)
	for p := 0; p < count; {
		pc := (q + p) / g.depth * g.depth
		kc := min(g.depth, r.k-pc)
		b := r.panels[pc*wide+(q+p-pc)*w:]
		if g.columnRow != nil && by != nil {
			factors := by
			if !same {
				factors = by[p*m*r.n:]
			}
			g.columnRow(c[p*m*ldc:], ldc, a[p*step:], lda, b, kc*w, factors, r.n, m, r.n, plain)
			p++
			continue
		}
		points, height, apart := 1, m, tiles{}
		switch most := min(count-p, pc+kc-q-p); {
		case g.groups:
			points, apart = most, tiles{m, step, w, m * ldc}
		case g.tall > 0 && m%g.tall == 0 && (same || m == g.tall): // a tile of each
			points, height, apart = most, g.tall, tiles{g.tall, step, w, m * ldc}
		}
		for top := 0; top < m; top += height {
			for j := 0; j < r.n; j += w {
				var times rowsOf[T]
				switch {
				case by == nil:
				case same:
					times = rowsOf[T]{by[top*r.n+j:], r.n, height, 0, plain}
				default:
					times = rowsOf[T]{by[p*m*r.n+j:], r.n, points * m, 0, plain}
				}
				g.panel(c[(p*m+top)*ldc+j:], ldc, a[p*step+top*lda:], lda, 1, b[j*kc:], w, 0, apart,
					points*height, min(w, r.n-j), 1, false, ahead[T]{}, times)
			}
		}
		p += points
	}
}
