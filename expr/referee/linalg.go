package referee

import (
	"math"
	"slices"
	"sync"

	"nabla/tape/tensor"
)

// matmul is NumPy's @: vectors are rows on the left and columns on the right, leading axes broadcast.
func matmul(x, y *tensor.Tensor) *tensor.Tensor {
	if len(x.Shape) == 0 || len(y.Shape) == 0 {
		fail("@ of a scalar: use *")
	}
	a, b := x, y
	if len(x.Shape) == 1 {
		a = expandDims(x, 0)
	}
	if len(y.Shape) == 1 {
		b = expandDims(y, 1)
	}
	na, nb := len(a.Shape), len(b.Shape)
	n, k, m := a.Shape[na-2], a.Shape[na-1], b.Shape[nb-1]
	if k != b.Shape[nb-2] {
		fail("shapes %v and %v do not multiply", x.Shape, y.Shape)
	}
	lead := broadcast(&tensor.Tensor{Shape: a.Shape[:na-2]}, &tensor.Tensor{Shape: b.Shape[:nb-2]})
	out := blank(tensor.Float64, append(append(tensor.Shape{}, lead...), n, m))
	terms := make([]float64, k)
	walk(out.Shape, func(i int, pos []int) {
		nl := len(lead)
		left := append(append([]int{}, pos[:nl]...), pos[nl], 0)
		right := append(append([]int{}, pos[:nl]...), 0, pos[nl+1])
		for j := range terms {
			left[nl+1], right[nl] = j, j
			terms[j] = a.Data[offset(a, left)] * b.Data[offset(b, right)]
		}
		out.Data[i] = plainSum(terms)
	})
	shape := append(tensor.Shape{}, lead...)
	if len(x.Shape) > 1 {
		shape = append(shape, n)
	}
	if len(y.Shape) > 1 {
		shape = append(shape, m)
	}
	return &tensor.Tensor{Shape: shape, Data: out.Data}
}

// A matrix is rows of numbers.
type matrix [][]float64

func zeros(n, m int) matrix {
	a := make(matrix, n)
	for i := range a {
		a[i] = make([]float64, m)
	}
	return a
}

func (a matrix) clone() matrix {
	b := make(matrix, len(a))
	for i, r := range a {
		b[i] = append([]float64{}, r...)
	}
	return b
}

func (a matrix) times(b matrix) matrix {
	out := zeros(len(a), len(b[0]))
	for i := range a {
		for j := range b[0] {
			terms := make([]float64, len(b))
			for k := range b {
				terms[k] = a[i][k] * b[k][j]
			}
			out[i][j] = plainSum(terms)
		}
	}
	return out
}

// matrices applies f to every matrix in the last two axes.
func matrices(t *tensor.Tensor, square bool, f func(a matrix) *tensor.Tensor) *tensor.Tensor {
	nd := len(t.Shape)
	if nd < 2 || square && t.Shape[nd-1] != t.Shape[nd-2] {
		fail("shape %v is not a square matrix", t.Shape)
	}
	n, m := t.Shape[nd-2], t.Shape[nd-1]
	lead := tensor.Shape(t.Shape[:nd-2])
	var parts []*tensor.Tensor
	for i := range lead.Size() {
		a := zeros(n, m)
		for r := range a {
			copy(a[r], t.Data[(i*n+r)*m:])
		}
		parts = append(parts, f(a))
	}
	if len(lead) == 0 {
		return parts[0]
	}
	out := stack(parts, 0)
	return reshape(out, append(append([]int{}, lead...), out.Shape[1:]...))
}

func fromMatrix(a matrix, m int) *tensor.Tensor {
	out := tensor.New(len(a), m)
	for i, r := range a {
		copy(out.Data[i*m:], r)
	}
	return out
}

// echelon makes a upper triangular by Gauss's elimination with partial pivoting, in place,
// and does to b what it does to a. It returns the sign of the exchanges of rows, or 0 where a
// is singular.
func echelon(a, b matrix) (sgn float64) {
	sgn = 1
	n := len(a)
	for k := range n {
		p := k
		for i := k + 1; i < n; i++ {
			if math.Abs(a[i][k]) > math.Abs(a[p][k]) {
				p = i
			}
		}
		if a[p][k] == 0 {
			return 0
		}
		if p != k {
			a[p], a[k] = a[k], a[p]
			b[p], b[k] = b[k], b[p]
			sgn = -sgn
		}
		for i := k + 1; i < n; i++ {
			f := a[i][k] / a[k][k]
			if f == 0 {
				continue
			}
			for j := k; j < n; j++ {
				a[i][j] = math.FMA(-f, a[k][j], a[i][j])
			}
			for j := range b[i] {
				b[i][j] = math.FMA(-f, b[k][j], b[i][j])
			}
		}
	}
	return sgn
}

// eliminate solves a x = b, in place, and gives the determinant of a: its sign and the
// logarithm of its size.
func eliminate(a, b matrix) (sgn, logAbs float64, ok bool) {
	if sgn = echelon(a, b); sgn == 0 {
		return 0, math.Inf(-1), false
	}
	n := len(a)
	for k := range n {
		sgn *= math.Copysign(1, a[k][k])
		logAbs += math.Log(math.Abs(a[k][k]))
	}
	for k := n - 1; k >= 0; k-- {
		for j := range b[k] {
			s := b[k][j]
			for i := k + 1; i < n; i++ {
				s = math.FMA(-a[k][i], b[i][j], s)
			}
			b[k][j] = s / a[k][k]
		}
	}
	return sgn, logAbs, true
}

// solve refines the solution once, which makes its error independent of the pivots' luck.
func solve(a, b matrix) matrix {
	x := b.clone()
	if _, _, ok := eliminate(a.clone(), x); !ok {
		fail("the matrix is singular")
	}
	r := b.clone()
	for i := range r {
		for j := range r[i] {
			terms := []float64{b[i][j]}
			for k := range a {
				p := a[i][k] * x[k][j]
				terms = append(terms, -p, -math.FMA(a[i][k], x[k][j], -p))
			}
			r[i][j] = plainSum(terms)
		}
	}
	if _, _, ok := eliminate(a.clone(), r); ok {
		for i := range x {
			for j := range x[i] {
				x[i][j] += r[i][j]
			}
		}
	}
	return x
}

func identity(n int) matrix {
	a := zeros(n, n)
	for i := range a {
		a[i][i] = 1
	}
	return a
}

func det(a matrix) float64 {
	u := a.clone()
	d := echelon(u, zeros(len(a), 0))
	if d == 0 {
		return 0
	}
	for k := range u {
		d *= u[k][k]
	}
	return d
}

// symmetric is the symmetric part of a, which is what cholesky and eigvalsh are about.
func symmetric(a matrix) matrix {
	s := zeros(len(a), len(a))
	for i := range a {
		for j := range a {
			s[i][j] = 0.5*a[i][j] + 0.5*a[j][i]
		}
	}
	return s
}

// cholesky gives the lower factor of the symmetric part of a.
func cholesky(a matrix) matrix {
	n := len(a)
	a = symmetric(a)
	l := zeros(n, n)
	for j := range n {
		for i := j; i < n; i++ {
			s := a[i][j]
			for k := range j {
				s = math.FMA(-l[i][k], l[j][k], s)
			}
			if i == j {
				if s <= 0 {
					fail("the matrix is not positive definite")
				}
				l[i][i] = math.Sqrt(s)
				continue
			}
			l[i][j] = s / l[j][j]
		}
	}
	return l
}

// rotation is the cosine and the sine of the smaller angle whose double has this cotangent.
func rotation(cotangent float64) (c, s float64) {
	t := 1 / (math.Abs(cotangent) + math.Hypot(cotangent, 1))
	if cotangent < 0 {
		t = -t
	}
	c = 1 / math.Hypot(t, 1)
	return c, t * c
}

// eigen diagonalises the symmetric part of a by Jacobi's rotations: eigenvalues in
// ascending order and the eigenvectors as columns.
func eigen(a matrix) ([]float64, matrix) {
	n := len(a)
	s := symmetric(a)
	v := identity(n)
	for range 100 {
		off := 0.0
		for i := range n {
			for j := range i {
				off += s[i][j] * s[i][j]
			}
		}
		if off == 0 || math.IsNaN(off) {
			break
		}
		for p := range n {
			for q := p + 1; q < n; q++ {
				if s[p][q] == 0 {
					continue
				}
				c, sn := rotation((s[q][q] - s[p][p]) / (2 * s[p][q]))
				for k := range n {
					x, y := s[k][p], s[k][q]
					s[k][p], s[k][q] = c*x-sn*y, sn*x+c*y
				}
				for k := range n {
					x, y := s[p][k], s[q][k]
					s[p][k], s[q][k] = c*x-sn*y, sn*x+c*y
				}
				s[p][q], s[q][p] = 0, 0
				for k := range n {
					x, y := v[k][p], v[k][q]
					v[k][p], v[k][q] = c*x-sn*y, sn*x+c*y
				}
			}
		}
	}
	w := make([]float64, n)
	for i := range w {
		w[i] = s[i][i]
	}
	idx := order(w)
	vals, vecs := make([]float64, n), zeros(n, n)
	for j, k := range idx {
		vals[j] = w[k]
		for i := range n {
			vecs[i][j] = v[i][k]
		}
	}
	return vals, vecs
}

// singular values by one-sided Jacobi rotations: columns are turned until they are orthogonal.
func singular(a matrix, m int) []float64 {
	if len(a) < m {
		t := zeros(m, len(a))
		for i := range a {
			for j := range a[i] {
				t[j][i] = a[i][j]
			}
		}
		a, m = t, len(a)
	}
	u := a.clone()
	for range 100 {
		turned := false
		for p := range m {
			for q := p + 1; q < m; q++ {
				var alpha, beta, gamma float64
				for k := range u {
					alpha += u[k][p] * u[k][p]
					beta += u[k][q] * u[k][q]
					gamma += u[k][p] * u[k][q]
				}
				if math.Abs(gamma) <= 1e-17*math.Sqrt(alpha*beta) || gamma == 0 {
					continue
				}
				turned = true
				c, s := rotation((beta - alpha) / (2 * gamma))
				for k := range u {
					x, y := u[k][p], u[k][q]
					u[k][p], u[k][q] = c*x-s*y, s*x+c*y
				}
			}
		}
		if !turned {
			break
		}
	}
	out := make([]float64, m)
	for j := range out {
		col := make([]float64, len(u))
		for k := range u {
			col[k] = u[k][j]
		}
		out[j] = -norm2(col)
	}
	out = sorted(out)
	for i := range out {
		out[i] = -out[i]
	}
	return out
}

// expm sums Taylor's series of a/2^s and squares s times.
func expm(a matrix) matrix {
	big := 0.0
	for _, r := range a {
		big = math.Max(big, norm(r, 1))
	}
	s := 0
	for ; big > 0.25 && s < 1100; s++ {
		big /= 2
	}
	b := a.clone()
	for i := range b {
		for j := range b[i] {
			b[i][j] = math.Ldexp(b[i][j], -s)
		}
	}
	sum, term := identity(len(a)), identity(len(a))
	for k := 1; k <= 20; k++ {
		term = term.times(b)
		for i := range term {
			for j := range term[i] {
				term[i][j] /= float64(k)
				sum[i][j] += term[i][j]
			}
		}
	}
	for range s {
		sum = sum.times(sum)
	}
	return sum
}

func square(f func(a matrix) *tensor.Tensor) func(*call) any {
	return func(c *call) any { return matrices(c.tensor(0, "a", "x", "A"), true, f) }
}

var linalgOps = sync.OnceValue(func() map[string]func(*call) any {
	return map[string]func(*call) any{
		"matmul": func(c *call) any { return matmul(c.tensor(0, "x", "a"), c.tensor(1, "y", "b")) },
		"dot": func(c *call) any {
			x, y := c.tensor(0, "x", "a"), c.tensor(1, "y", "b")
			if len(x.Shape) == 0 || len(y.Shape) == 0 {
				return map2(x, y, func(a, b float64) float64 { return a * b })
			}
			if len(x.Shape) > 2 || len(y.Shape) > 2 {
				unsupported("dot of more than two axes")
			}
			return matmul(x, y)
		},
		"multi_dot": func(c *call) any {
			ts := spread(c.need(0, "xs"))
			if len(ts) == 0 {
				fail("multi_dot of nothing")
			}
			out := ts[0]
			for _, t := range ts[1:] {
				out = matmul(out, t)
			}
			return out
		},
		"vdot": func(c *call) any {
			x, y := c.tensor(0, "x", "a"), c.tensor(1, "y", "b")
			return matmul(reshape(x, []int{-1}), reshape(y, []int{-1}))
		},
		"inner": func(c *call) any {
			x, y := c.tensor(0, "x", "a"), c.tensor(1, "y", "b")
			if len(x.Shape) == 0 || len(y.Shape) == 0 {
				return map2(x, y, func(a, b float64) float64 { return a * b })
			}
			kx, ky := x.Shape[len(x.Shape)-1], y.Shape[len(y.Shape)-1]
			xs, ys := x.Shape[:len(x.Shape)-1], y.Shape[:len(y.Shape)-1]
			out := matmul(reshape(x, []int{xs.Size(), kx}), lastTwo(reshape(y, []int{ys.Size(), ky})))
			return reshape(out, slices.Concat(xs, ys))
		},
		"outer": func(c *call) any {
			x, y := c.tensor(0, "x", "a"), c.tensor(1, "y", "b")
			return map2(reshape(x, []int{-1, 1}), reshape(y, []int{1, -1}), func(a, b float64) float64 { return a * b })
		},
		"tensordot": func(c *call) any {
			x, y := c.tensor(0, "x", "a"), c.tensor(1, "y", "b")
			v := c.arg(2, "axes")
			if _, ok := v.(float64); !ok && v != nil {
				unsupported("tensordot over named axes")
			}
			k := 2
			if v != nil {
				k = integer(v)
			}
			nx := len(x.Shape) - k
			if nx < 0 || k > len(y.Shape) {
				fail("tensordot over %d axes of %v and %v", k, x.Shape, y.Shape)
			}
			if k < 0 || !tensor.Shape(x.Shape[nx:]).Equal(y.Shape[:k]) {
				fail("tensordot over %d axes of %v and %v", k, x.Shape, y.Shape)
			}
			inner := tensor.Shape(x.Shape[nx:]).Size()
			out := matmul(reshape(x, []int{tensor.Shape(x.Shape[:nx]).Size(), inner}), reshape(y, []int{inner, tensor.Shape(y.Shape[k:]).Size()}))
			return reshape(out, append(append([]int{}, x.Shape[:nx]...), y.Shape[k:]...))
		},
		"kron": func(c *call) any {
			x, y := c.tensor(0, "x", "a"), c.tensor(1, "y", "b")
			for len(x.Shape) < len(y.Shape) {
				x = expandDims(x, 0)
			}
			for len(y.Shape) < len(x.Shape) {
				y = expandDims(y, 0)
			}
			shape := make(tensor.Shape, len(x.Shape))
			for k := range shape {
				shape[k] = x.Shape[k] * y.Shape[k]
			}
			out := blank(tensor.Float64, shape)
			walk(shape, func(i int, pos []int) {
				p, q := make([]int, len(pos)), make([]int, len(pos))
				for k := range pos {
					p[k], q[k] = pos[k]/y.Shape[k], pos[k]%y.Shape[k]
				}
				out.Data[i] = x.Data[offset(x, p)] * y.Data[offset(y, q)]
			})
			return out
		},
		"cross": func(c *call) any {
			x, y := c.tensor(0, "x", "a"), c.tensor(1, "y", "b")
			if !x.Shape.Equal(tensor.Shape{3}) || !y.Shape.Equal(tensor.Shape{3}) {
				unsupported("cross of more than two vectors")
			}
			a, b := x.Data, y.Data
			return tensor.From([]float64{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}, 3)
		},
		"einsum": func(c *call) any {
			spec, ok := c.need(0).(string)
			if !ok {
				fail("einsum starts with a string")
			}
			var ts []*tensor.Tensor
			for _, v := range c.rest(1) {
				ts = append(ts, toTensor(v))
			}
			return einsum(spec, ts)
		},
		"solve": func(c *call) any {
			a, b := c.tensor(0, "a", "A"), c.tensor(1, "b", "B")
			vector := len(b.Shape) == 1
			if vector {
				b = expandDims(b, 1)
			}
			na, nb := len(a.Shape), len(b.Shape)
			if na < 2 || nb < 2 || a.Shape[na-1] != a.Shape[na-2] || a.Shape[na-1] != b.Shape[nb-2] {
				fail("solve of shapes %v and %v", a.Shape, b.Shape)
			}
			n, m := a.Shape[na-1], b.Shape[nb-1]
			lead := broadcast(&tensor.Tensor{Shape: a.Shape[:na-2]}, &tensor.Tensor{Shape: b.Shape[:nb-2]})
			a = broadcastTo(a, append(append(tensor.Shape{}, lead...), n, n))
			b = broadcastTo(b, append(append(tensor.Shape{}, lead...), n, m))
			i := 0
			out := tensor.New(b.Shape...)
			matrices(a, true, func(am matrix) *tensor.Tensor {
				bm := zeros(n, m)
				for r := range bm {
					copy(bm[r], b.Data[(i*n+r)*m:])
				}
				x := solve(am, bm)
				for r := range x {
					copy(out.Data[(i*n+r)*m:], x[r])
				}
				i++
				return tensor.Scalar(0)
			})
			if vector {
				out.Shape = out.Shape[:len(out.Shape)-1]
			}
			return out
		},
		"inv": square(func(a matrix) *tensor.Tensor { return fromMatrix(solve(a, identity(len(a))), len(a)) }),
		"det": square(func(a matrix) *tensor.Tensor { return tensor.Scalar(det(a)) }),
		"logdet": square(func(a matrix) *tensor.Tensor {
			s, l, ok := eliminate(a.clone(), zeros(len(a), 0))
			if ok && s < 0 {
				l = math.NaN()
			}
			return tensor.Scalar(l)
		}),
		"slogdet": func(c *call) any {
			x := c.tensor(0, "a", "x")
			part := func(k int) any {
				return simple(matrices(x, true, func(a matrix) *tensor.Tensor {
					s, l, _ := eliminate(a.clone(), zeros(len(a), 0))
					return tensor.Scalar([]float64{s, l}[k])
				}))
			}
			return tuple{[]any{part(0), part(1)}}
		},
		"cholesky": square(func(a matrix) *tensor.Tensor { return fromMatrix(cholesky(a), len(a)) }),
		"eigvalsh": square(func(a matrix) *tensor.Tensor { w, _ := eigen(a); return tensor.From(w, len(w)) }),
		"svdvals": func(c *call) any {
			x := c.tensor(0, "a", "x", "A")
			return matrices(x, false, func(a matrix) *tensor.Tensor {
				w := singular(a, x.Shape[len(x.Shape)-1])
				return tensor.From(w, len(w))
			})
		},
		"expm": square(func(a matrix) *tensor.Tensor { return fromMatrix(expm(a), len(a)) }),
		"matrix_power": func(c *call) any {
			x, n := c.tensor(0, "a", "x"), c.integer(1, 1, "n")
			return matrices(x, true, func(a matrix) *tensor.Tensor {
				b := a
				if n < 0 {
					b = solve(a, identity(len(a)))
				}
				out := identity(len(a))
				for range max(n, -n) {
					out = out.times(b)
				}
				return fromMatrix(out, len(a))
			})
		},
		"solve_triangular": func(c *call) any { // SciPy's order
			return triangular(c, c.flag(3, false, "lower"), c.flag(2, false, "trans"))
		},
		"triangular_solve": func(c *call) any {
			return triangular(c, c.flag(2, true, "lower"), c.flag(3, false, "trans"))
		},
		"lstsq": func(c *call) any {
			a, b := c.tensor(0, "a"), c.tensor(1, "b")
			at, n := lastTwo(a), len(a.Shape)
			if n > 1 && a.Shape[n-2] < a.Shape[n-1] { // the shortest of many
				return matmul(at, toTensor((&call{name: "solve", pos: []any{matmul(a, at), b}}).do()))
			}
			return (&call{name: "solve", pos: []any{matmul(at, a), matmul(at, b)}}).do()
		},
	}
})

// triangular solves with one triangle of a matrix, or with that transposed.
func triangular(c *call, lower, trans bool) any {
	name := "triu"
	if lower {
		name = "tril"
	}
	a := (&call{name: name, pos: []any{c.need(0, "A", "L")}}).do()
	if trans {
		a = lastTwo(toTensor(a))
	}
	return (&call{name: "solve", pos: []any{a, c.need(1, "B")}}).do()
}
