package kernels

// A Right is the right operand op(B) of products, k×n, packed once for many of them: in
// panels as the multiplication reads them.
type Right struct {
	panels []float64
	k, n   int
}

// PackedSize is how many numbers Pack needs for an operand k×n.
func PackedSize(k, n int) int { return (n + multiply.width - 1) / multiply.width * multiply.width * k }

// Pack takes the operand in, to panels; B is stored n×k where transB is set.
func (r *Right) Pack(panels, b []float64, ldb int, transB bool, k, n int) {
	g := &multiplied
	w := g.width
	wide := (n + w - 1) / w * w
	r.panels, r.k, r.n = panels[:wide*k], k, n
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
func (r *Right) Panels() []float64 { return r.panels }

// Multiply is Gemm of A, m×k, with the packed operand: the same bits.
func (r *Right) Multiply(c []float64, ldc int, a []float64, lda, m int) {
	r.MultiplyGroups(c, ldc, m, 0, a, lda, m, nil)
}

// MultiplyGroups is Multiply where the rows of C lie in groups of so many, from one to the
// next a distance of gap. Where by is given, rows of n numbers, those of each group are
// multiplied by it when they are done: 0 where either is 0.
func (r *Right) MultiplyGroups(c []float64, ldc, group, gap int, a []float64, lda, m int, by []float64) {
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
	g := &multiplied
	w := g.width
	wide := (r.n + w - 1) / w * w
	run, tile := group, 0 // what a panel multiplies at once, and where its tiles lie
	switch {
	case g.tall == 0:
	case group == g.tall:
		run, tile = m, gap
	case gap == group*ldc && group%g.tall == 0: // tiles and rows of by begin together
		run = m
	}
	rows := g.rows // at a time: whole groups, or of one group
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
			for j := 0; j < r.n; j += w {
				for i := ic; i < top; i += run {
					var times rowsOf[float64]
					if by != nil && pc+kc == r.k {
						times = rowsOf[float64]{by[j:], r.n, group, i % group}
					}
					g.panel(c[i/group*gap+i%group*ldc+j:], ldc, tile, a[i*lda+pc:], lda, 1, r.panels[pc*wide+j*kc:], w,
						min(run, top-i), min(w, r.n-j), kc, pc > 0, ahead[float64]{}, times)
				}
			}
		}
		ic = top
	}
}

// Row is the product of a column of A, m×1, with row q of the packed operand, and with by as
// in MultiplyGroups.
func (r *Right) Row(c []float64, ldc int, a []float64, lda, m, q int, by []float64) {
	if m <= 0 || r.n <= 0 {
		return
	}
	_, _ = c[(m-1)*ldc+r.n-1], a[(m-1)*lda]
	g := &multiplied
	w := g.width
	pc := q / g.depth * g.depth
	kc := min(g.depth, r.k-pc)
	b := r.panels[pc*((r.n+w-1)/w*w)+(q-pc)*w:]
	for j := 0; j < r.n; j += w {
		var times rowsOf[float64]
		if by != nil {
			times = rowsOf[float64]{by[j:], r.n, m, 0}
		}
		g.panel(c[j:], ldc, 0, a, lda, 1, b[j*kc:], w, m, min(w, r.n-j), 1, false, ahead[float64]{}, times)
	}
}
