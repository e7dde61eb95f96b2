package matrix

import (
	"cmp"
	"math"
	"slices"

	"nabla/kernels"
)

// LanedEigh reports whether symmetric matrices of n rows are diagonalised side by side.
func LanedEigh(n int) bool { return n >= leastLaned && n < leastTridiagonal }

// Eighs writes the eigenvalues of the symmetric parts of g matrices of n rows, and below them the eigenvectors as columns, as
// Eigh has them.
func (h *Solver) Eighs(dst, a []float64, n, g int) {
	x, v := h.lanes(a, n, g), h.zeros(n, n, g)
	down, up := h.raw(1, g).Data, h.raw(1, g).Data
	if !x.tameSymmetric(down, up) {
		h.eighEach(dst, a, n, g)
		return
	}
	for i := range n {
		kernels.Fill(v.at(i, i), 1)
		for j := i; j < n; j++ {
			kernels.Mul(x.at(i, j), x.at(i, j), down)
		}
	}
	var whole laned
	if turnsAndCorrects(n) { // with a row below
		whole = h.laned(n+1, n, g)
		for i := range n {
			for j := range n {
				copy(whole.at(i, j), x.at(min(i, j), max(i, j)))
			}
		}
	}
	pairs := n * (n - 1) / 2
	sines, tau := h.laned(pairs, 1, g), h.raw(1, g).Data
	for sweep := range mostSweeps {
		h.tick()
		much, k := negligible(sweep), 0
		for p := range n {
			for q := p + 1; q < n; q++ {
				s := sines.at(k, 0)
				kernels.Diagonalize(x.at(p, p), x.at(q, q), x.at(p, q), s, tau, much)
				kernels.RotateApart(x.from(0, p), x.from(0, q), s, tau, n*g, n*g, p)
				kernels.RotateApart(x.from(p, p+1), x.from(p+1, q), s, tau, g, n*g, q-p-1)
				kernels.RotateApart(x.from(p, q+1), x.from(q, q+1), s, tau, g, g, n-1-q)
				kernels.RotateApart(v.from(p, 0), v.from(q, 0), s, tau, g, g, n)
				k++
			}
		}
		if kernels.MaxAbs(sines.d) == 0 {
			break
		}
	}
	values := h.laned(1, n, g)
	for i := range n {
		copy(values.at(0, i), x.at(i, i))
	}
	if turnsAndCorrects(n) {
		h.correctEigen(whole, v, values)
	}
	for i := range n {
		kernels.Mul(values.at(0, i), values.at(0, i), up)
	}
	w, vectors := h.raw(g, n), h.raw(g, n*n)
	values.apart(w.Data, n)
	v.apart(vectors.Data, n*n)
	for l := range g {
		writeEigen(dst[l*(n*n+n):][:n*n+n], w.Row(l), Of(vectors.Row(l), n, n))
	}
}

// correctEigen is correct of eigenvalues s of matrices, with room for a row below, and their vectors, of few rows.
func (h *Solver) correctEigen(b, v, s laned) {
	n, g := v.n, v.g
	most, sizes, factors, rest := h.New(1, g).Data, h.raw(1, g).Data, h.laned(n+1, 1, g), h.laned(fewRows, 1, g)
	for i := range n {
		kernels.Abs(sizes, s.at(0, i))
		kernels.Maximum(most, most, sizes)
	}
	for i := range n {
		h.tick()
		copy(b.from(n, 0), v.from(i, 0)[:n*g])
		copy(factors.d, v.from(i, 0)[:n*g])
		kernels.Neg(factors.at(n, 0), s.at(0, i))
		clear(rest.d)
		for j := range n {
			kernels.ResidualsApart(rest.at(j, 0), factors.d, b.from(0, j), g, n*g, n+1)
		}
		kernels.Mul(rest.d[:n*g], rest.d[:n*g], factors.d[:n*g])
		for m := fewRows / 2; m > 0; m /= 2 { // as a sum of products is folded
			kernels.Add(rest.d[:m*g], rest.d[:m*g], rest.d[m*g:2*m*g])
		}
		value := s.at(0, i)
		for l, wrong := range rest.d[:g] {
			if !(math.Abs(value[l]) < 0x1p-50*most[l]) {
				value[l] -= wrong
			}
		}
	}
}

// writeEigen writes few eigenvalues, ascending, and below them the eigenvectors, rows of v of any sign, as columns.
func writeEigen(dst, w []float64, v Dense) {
	var places [leastTridiagonal]int
	n := len(w)
	order := places[:n]
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(w[i], w[j]) })
	for k, i := range order {
		dst[k] = w[i]
		row := v.Row(i)
		if leading(row) < 0 {
			negate(row)
		}
		for c, x := range row {
			dst[n+c*n+k] = x
		}
	}
}

// eighEach is Eighs of matrices one after the other.
func (h *Solver) eighEach(dst, a []float64, n, g int) {
	used := h.used
	for l := range g {
		one := dst[l*(n*n+n):][:n*n+n]
		w, v := h.Eigh(h.Symmetric(Of(a[l*n*n:][:n*n], n, n)))
		copy(one, w)
		kernels.TransposeLarge(one[n:], n, v.Data, n, n, n)
		h.free(used)
	}
}

// tameSymmetric makes the upper triangles those of the symmetric parts, and writes the powers of two by which each becomes a matrix
// of numbers up to 1, and the other way. It reports whether there are such: where numbers are finite and not too far from 1.
func (x laned) tameSymmetric(down, up []float64) bool {
	n := x.n
	clear(up) // at first the largest number of each
	for i := range n {
		for j := i; j < n; j++ {
			lower := x.at(j, i)
			for l, u := range x.at(i, j) {
				u = middle(u, lower[l])
				x.at(i, j)[l] = u
				if u = math.Abs(u); u > up[l] || u != u {
					up[l] = u
				}
			}
		}
	}
	for l, most := range up {
		e := exponent(up[l : l+1])
		if most-most != 0 || e < -1000 || e > 1000 {
			return false
		}
		down[l], up[l] = math.Ldexp(1, -e), math.Ldexp(1, e)
	}
	return true
}
