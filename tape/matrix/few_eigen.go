package matrix

import "nabla/kernels"

// A fewSquare is a matrix of few rows.
type fewSquare [fewRows * fewRows]float64

// at is where number (i, j) is.
func (*fewSquare) at(i, j int) int { return (i*fewRows + j) & (fewRows*fewRows - 1) }

// set copies a.
func (x *fewSquare) set(a Dense) {
	for i := range a.M {
		copy(x[i*fewRows:][:a.N], a.Row(i))
	}
}

// jacobiFew is jacobiSweeps of few rows, in loops over numbers: of 7 rows it takes half of the time. Of a only what is above
// the diagonal is turned.
func (h *Solver) jacobiFew(a, v Dense) {
	var x, y fewSquare
	n := a.N
	x.set(a)
	y.set(v)
	h.tick()
	for sweep := range mostSweeps {
		done, much := true, negligible(sweep)
		for p := range n {
			for q := p + 1; q < n; q++ {
				done = !x.turn(&y, n, p, q, much) && done
			}
		}
		if done {
			break
		}
	}
	for i := range n {
		a.Data[i*n+i] = x[x.at(i, i)]
		copy(v.Row(i), y[i*fewRows:])
	}
}

// turn makes x[p][q] zero, as jacobi does, and reports whether that took a rotation.
func (x *fewSquare) turn(v *fewSquare, n, p, q int, much float64) bool {
	pp, qq, pq := x.at(p, p), x.at(q, q), x.at(p, q)
	if x[pq] == 0 {
		return false
	}
	var s, tau float64
	x[pp], x[qq], s, tau = kernels.DiagonalizeOf(x[pp], x[qq], x[pq], much)
	x[pq] = 0
	if s == 0 {
		return false
	}
	for k := 0; k < p; k++ {
		i, j := x.at(k, p), x.at(k, q)
		x[i], x[j] = kernels.Turned(x[i], x[j], s, tau)
	}
	for k := p + 1; k < q; k++ {
		i, j := x.at(p, k), x.at(k, q)
		x[i], x[j] = kernels.Turned(x[i], x[j], s, tau)
	}
	for k := q + 1; k < n; k++ {
		i, j := x.at(p, k), x.at(q, k)
		x[i], x[j] = kernels.Turned(x[i], x[j], s, tau)
	}
	for k := range n {
		i, j := x.at(p, k), x.at(q, k)
		v[i], v[j] = kernels.Turned(v[i], v[j], s, tau)
	}
	return true
}
