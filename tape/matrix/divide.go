package matrix

import (
	"cmp"
	"math"
	"slices"

	"nabla/kernels"
)

// The eigenvalues of a tridiagonal matrix by divide and conquer (Cuppen 1981): it is two
// of half the size and a matrix of rank one, whose eigenvalues are the roots of a sum of
// poles. The vectors come from numbers for which the roots found are exact (Gu,
// Eisenstat 1994), so that they are orthogonal however close the roots are.

// leastDivided is the size below which iterations of QL do the work.
const leastDivided = 40

// conquer gives the eigenvalues of the tridiagonal matrix, ascending, and the eigenvectors
// as rows.
func (h *Solver) conquer(d, e []float64) (w []float64, q Dense) {
	n := len(d)
	if n <= leastDivided {
		return h.iterate(d, e)
	}
	k := n / 2
	rho := math.Abs(e[k-1])
	d = slices.Clone(d)
	d[k-1] -= rho
	d[k] -= rho
	w1, q1 := h.conquer(d[:k], e[:k-1])
	w2, q2 := h.conquer(d[k:], e[k:])
	x := &conquest{n: n, k: k, d: append(append(h.raw(1, n).Data[:0], w1...), w2...), q: h.New(n, n), z: h.raw(1, n).Data}
	sign := math.Copysign(math.Sqrt(0.5), e[k-1])
	for i := range k {
		copy(x.q.Row(i), q1.Row(i))
		x.z[i] = math.Sqrt(0.5) * q1.Row(i)[k-1]
	}
	for i := k; i < n; i++ {
		copy(x.q.Row(i)[k:], q2.Row(i-k))
		x.z[i] = sign * q2.Row(i - k)[0]
	}
	return x.merge(h, 2*rho)
}

// A conquest puts two halves together: the eigenvalues of diag(d) + rho z zᵀ, and its
// eigenvectors in the basis of the rows of q, of which some are 0 before column k, or from
// it on.
type conquest struct {
	n, k int
	d, z []float64
	q    Dense
}

// merge solves it for a z of length 1.
func (x *conquest) merge(h *Solver, rho float64) (w []float64, q Dense) {
	poles, whole := x.deflate(h, rho)
	roots, u := x.solve(h, poles, rho)
	q = h.raw(x.n, x.n)
	w = h.raw(1, x.n).Data
	// both lists ascend
	rows := x.vectors(h, poles, u)
	i, j := 0, 0
	for r := range w {
		if j == len(whole) || i < len(roots) && roots[i] <= x.d[whole[j]] {
			w[r] = roots[i]
			copy(q.Row(r), rows.Row(i))
			i++
		} else {
			w[r] = x.d[whole[j]]
			copy(q.Row(r), x.q.Row(whole[j]))
			j++
		}
	}
	return w, q
}

// deflate turns rows with all but equal d, so that one of them loses its part of z, and
// lists the rows that have one and those that, but for rounding, have none and are
// eigenvectors; both by ascending d.
func (x *conquest) deflate(h *Solver, rho float64) (poles, whole []int) {
	most := 0.0
	for i := range x.n {
		most = max(most, math.Abs(x.d[i]), math.Abs(x.z[i]))
	}
	tol := 8 * 0x1p-53 * most
	last := -1
	for _, i := range h.ascending(x.d) {
		if rho*math.Abs(x.z[i]) <= tol {
			whole = append(whole, i)
			continue
		}
		if last >= 0 {
			tau := kernels.HypotOf(x.z[i], x.z[last])
			gap, c, s := x.d[i]-x.d[last], x.z[i]/tau, -x.z[last]/tau
			if math.Abs(float64(float64(gap*c)*s)) <= tol {
				x.z[i], x.z[last] = tau, 0
				turn(x.q.Row(last), x.q.Row(i), c, s)
				x.d[last], x.d[i] = math.FMA(x.d[last], float64(c*c), float64(x.d[i]*float64(s*s))), math.FMA(x.d[last], float64(s*s), float64(x.d[i]*float64(c*c)))
				whole = append(whole, last)
				poles = poles[:len(poles)-1]
			}
		}
		last = i
		poles = append(poles, i)
	}
	slices.SortStableFunc(whole, func(i, j int) int { return cmp.Compare(x.d[i], x.d[j]) })
	return poles, whole
}

// turn is x = c x + s y, y = c y - s x.
func turn(x, y []float64, c, s float64) {
	for i, g := range x {
		h := y[i]
		x[i] = math.FMA(c, g, float64(s*h))
		y[i] = math.FMA(c, h, -float64(s*g))
	}
}

// solve finds the roots, ascending, and the eigenvectors in terms of the poles' rows.
func (x *conquest) solve(h *Solver, poles []int, rho float64) (roots []float64, u Dense) {
	k := len(poles)
	roots, u = h.raw(1, k).Data, h.New(k, k)
	if k == 0 {
		return roots, u
	}
	d, z2 := h.raw(1, k).Data, h.raw(1, k).Data
	for i, p := range poles {
		d[i], z2[i] = x.d[p], float64(x.z[p]*x.z[p])
	}
	scratch := h.raw(1, 2*k).Data
	for j := range roots {
		h.tick()
		roots[j] = secular(d, z2, 1/rho, j, u.Row(j), scratch) // row j is d - roots[j]
	}
	// the z for which these roots are exact (Löwner): of each the product of -u[i][i] and all
	// u[j][i] / (d[i] - d[j])
	z, t := h.raw(1, k).Data, h.raw(1, k).Data
	kernels.Fill(z, 1)
	for j := range k {
		kernels.AddScalar(t, d, -d[j])
		t[j] = -1
		kernels.Div(t, u.Row(j), t)
		kernels.Mul(z, z, t)
	}
	for i, v := range z {
		z[i] = math.Copysign(math.Sqrt(math.Abs(v)), x.z[poles[i]])
	}
	for j := range k {
		r := u.Row(j)
		kernels.Div(r, z, r)
		divide(r, kernels.Norm2(r))
	}
	return roots, u
}

// vectors is u times the poles' rows of q, each half from those that are not 0 there.
func (x *conquest) vectors(h *Solver, poles []int, u Dense) Dense {
	m, k := len(poles), x.k
	out := h.New(m, x.n)
	half := func(from, to int) {
		var in []int
		for i, p := range poles {
			if slices.ContainsFunc(x.q.Row(p)[from:to], func(v float64) bool { return v != 0 }) {
				in = append(in, i)
			}
		}
		if len(in) == 0 {
			return
		}
		coeff, rows := h.raw(m, len(in)), h.raw(len(in), to-from)
		for c, i := range in {
			copy(rows.Row(c), x.q.Row(poles[i])[from:to])
		}
		for j := range m {
			of, all := coeff.Row(j), u.Row(j)
			for c, i := range in {
				of[c] = all[i]
			}
		}
		h.product(out.all().at(0, from, m, to-from), coeff.all(), false, rows.all(), false, false)
	}
	half(0, k)
	half(k, x.n)
	return out
}

// secular finds root j of c + Σ z2[i] / (d[i] - x), which lies behind d[j] and before the
// next pole, or not farther than Σ z2 / c behind the last. It writes all d[i] - x, each as
// exact as a difference from the nearer pole.
//
// An iteration takes the sums before and behind the root as one pole each, with the value
// and slope they have (Li 1993, the middle way), and halves the bracket where that fails.
func secular(d, z2 []float64, c float64, j int, delta, scratch []float64) float64 {
	k := len(d)
	if k == 1 {
		mu := z2[0] / c
		delta[0] = -mu
		return d[0] + mu
	}
	last := j == k-1
	// the pole to count from, and the bracket around the root seen from it
	org, lo, hi := j, 0.0, 0.0
	if last {
		hi = kernels.Sum(z2) / c
	} else {
		gap := d[j+1] - d[j]
		kernels.AddScalar(delta, d, -d[j])
		f, _ := poleSum(z2, delta, gap/2, scratch) // halfway
		f += c
		if hi = gap / 2; f < 0 {
			org, lo, hi = j+1, -gap/2, 0
		}
	}
	kernels.AddScalar(delta, d, -d[org])
	p := j // the poles that an iteration takes for all: p and p + 1
	if last {
		p = k - 2
	}
	mu := lo + (hi-lo)/2
	for range 100 {
		psi, dpsi := poleSum(z2[:p+1], delta[:p+1], mu, scratch)
		phi, dphi := poleSum(z2[p+1:], delta[p+1:], mu, scratch)
		f := c + psi + phi
		if math.Abs(f) <= 0x1p-52*(c+math.Abs(psi)+math.Abs(phi)) {
			break
		}
		if f < 0 {
			lo = max(lo, mu)
		} else {
			hi = min(hi, mu)
		}
		x, y := delta[p]-mu, delta[p+1]-mu
		a := float64((x+y)*f) - float64(float64(x*y)*(dpsi+dphi))
		b := float64(float64(x*y) * f)
		q := f - float64(x*dpsi) - float64(y*dphi)
		if last {
			q = math.Abs(q)
		}
		root := math.Sqrt(math.Abs(float64(a*a) - float64(4*float64(b*q))))
		var step float64
		switch {
		case last && a >= 0 || !last && a <= 0:
			if last {
				root = -root
			}
			step = (a - root) / float64(2*q)
		case last:
			step = float64(2*b) / (a - root)
		default:
			step = float64(2*b) / (a + root)
		}
		next := mu + step
		if !(next > lo && next < hi) || float64(f*step) > 0 {
			next = lo + (hi-lo)/2
		}
		if next == mu || next == lo || next == hi {
			break
		}
		mu = next
	}
	kernels.AddScalar(delta, delta, -mu)
	return d[org] + mu
}

// poleSum is Σ z2[i] / (delta[i] - mu), and its slope; scratch has twice as many numbers.
func poleSum(z2, delta []float64, mu float64, scratch []float64) (sum, slope float64) {
	n := len(z2)
	r, t := scratch[:n], scratch[n:2*n]
	kernels.AddScalar(r, delta, -mu)
	kernels.Recip(r, r)
	kernels.Mul(t, z2, r)
	return kernels.Sum(t), kernels.Dot(t, r)
}

// iterate is conquer for few rows: QL with implicit shifts (Dubrulle, Martin, Wilkinson 1968),
// which keeps the digits of small numbers where these come first.
func (h *Solver) iterate(d, e []float64) (w []float64, q Dense) {
	n := len(d)
	d, e, v := append(h.raw(1, n).Data[:0], d...), append(append(h.raw(1, n).Data[:0], e...), 0), h.eye(n)
	if math.Abs(d[0]) > math.Abs(d[n-1]) {
		slices.Reverse(d)
		slices.Reverse(e[:n-1])
		for i := range n {
			slices.Reverse(v.Row(i))
		}
	}
	for l := range n {
		for range 60 {
			m := l // where the block that begins at l ends
			for m < n-1 && math.Abs(e[m]) > 0x1p-53*(math.Abs(d[m])+math.Abs(d[m+1])) {
				m++
			}
			if m == l {
				break
			}
			h.tick()
			zeta := (d[l+1] - d[l]) / float64(2*e[l])
			g := d[m] - d[l] + e[l]/(zeta+math.Copysign(kernels.HypotOf(zeta, 1), zeta))
			s, c, p := 1.0, 1.0, 0.0
			i := m - 1
			for ; i >= l; i-- {
				f, b := float64(s*e[i]), float64(c*e[i])
				r := math.Sqrt(math.FMA(f, f, float64(g*g)))
				if r < 0x1p-400 {
					r = kernels.HypotOf(f, g)
				}
				if e[i+1] = r; r == 0 {
					d[i+1] -= p
					e[m] = 0
					break
				}
				r = math.Copysign(r, g) // cosines that are positive
				e[i+1], s, c = r, f/r, g/r
				g = d[i+1] - p
				r = math.FMA(d[i]-g, s, float64(2*float64(c*b)))
				p = float64(s * r)
				d[i+1] = g + p
				g = math.FMA(c, r, -b)
				kernels.Rotate(v.Row(i), v.Row(i+1), c, s)
			}
			if i < l {
				d[l] -= p
				e[l], e[m] = g, 0
			}
		}
	}
	w, q = h.raw(1, n).Data, h.raw(n, n)
	for k, i := range h.ascending(d) {
		w[k] = d[i]
		copy(q.Row(k), v.Row(i))
	}
	return w, q
}
