package tape

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nabla/tape/pool"
	"nabla/tape/tensor"
)

// TestSquare: the product of a matrix and its own transpose has the bits of that of two
// matrices.
func TestSquare(t *testing.T) {
	share := pool.LeastFlops
	defer func() { pool.LeastFlops = share }()
	pool.LeastFlops = 1
	testSquare[float64](t)
	testSquare[float32](t)
}

func testSquare[T real](t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{95, 96, 97, 130, 257} {
		for _, k := range []int{1, 2, 63, 300} {
			x := make([]T, n*k)
			for i := range x {
				x[i] = T(rng.NormFloat64())
			}
			for _, ta := range []bool{false, true} {
				p := product{m: n, n: n, k: k, lda: k, ldb: k, ldc: n, tb: true}
				if ta {
					p = product{m: n, n: n, k: k, lda: n, ldb: n, ldc: n, ta: true}
				}
				want, got := make([]T, n*n), make([]T, n*n)
				multiply(p, want, x, slices.Clone(x), 1)
				for threads := 1; threads <= 3; threads++ {
					multiply(p, got, x, x, threads)
					if !slices.Equal(got, want) {
						t.Errorf("%d×%d, transposed %v, on %d threads: not the product of two", n, k, ta, threads)
					}
				}
			}
		}
	}
}

// TestProducts: products at every point of broadcast axes have the bits of those of two matrices
// each, on every number of threads.
func TestProducts(t *testing.T) {
	share := pool.LeastFlops
	defer func() { pool.LeastFlops = share }()
	rng := rand.New(rand.NewPCG(3, 4))
	lead := tensor.Shape{3, 4, 5}
	for round := range rounds(300) {
		pool.LeastFlops = []int{1, 1 << 20, math.MaxInt}[round%3] // each product is shared, the points are, nothing is
		ol := lead[rng.IntN(3):]
		p := product{m: 1 + rng.IntN(9), n: 1 + rng.IntN(9), k: rng.IntN(9), ta: rng.IntN(2) == 0, tb: rng.IntN(2) == 0}
		p.lda, p.ldb, p.ldc = p.k, p.n, p.n
		if p.ta {
			p.lda = p.m
		}
		if p.tb {
			p.ldb = p.k
		}
		operand := func(size int) ([]float64, tensor.Shape) {
			from := slices.Clone(ol)
			for i := range from {
				from[i] = []int{1, from[i]}[min(1, rng.IntN(3))]
			}
			x := make([]float64, from.Size()*size)
			for i := range x {
				x[i] = rng.NormFloat64()
			}
			return x, from
		}
		x, xl := operand(p.m * p.k)
		y, yl := operand(p.k * p.n)
		indices := make([]int, ol.Size())
		for i := range indices {
			indices[i] = i
		}
		of := func(from tensor.Shape) []int { return spreadOver(indices[:from.Size()], from, ol) }
		want := make([]float64, ol.Size()*p.m*p.n)
		xs, ys := of(xl), of(yl)
		for i := range ol.Size() {
			multiply(p, want[i*p.m*p.n:(i+1)*p.m*p.n], x[xs[i]*p.m*p.k:(xs[i]+1)*p.m*p.k], y[ys[i]*p.k*p.n:(ys[i]+1)*p.k*p.n], 1)
		}
		for threads := 1; threads <= 3; threads++ {
			got := make([]float64, len(want))
			loopMatmul(got, x, y, xl, yl, ol, p, threads)
			if !slices.Equal(got, want) {
				t.Fatalf("%+v of %v and %v in %v, on %d threads: not the products of each two", p, xl, yl, ol, threads)
			}
		}
	}
}

// TestSeedsAreRows: a matrix times the vectors of a batch has the bits of the products with
// each of them, however the matrix and the vectors lie.
func TestSeedsAreRows(t *testing.T) {
	for _, f := range []string{"a @ v", "transpose(b) @ v", "v @ b", "v @ transpose(a)", "reshape(v, (1, 9)) @ b", "a @ reshape(v, (9, 1))",
		"grad(sum((a @ p)^2*u), p)*sum(v)", "hvp(sum(sin(a @ p)), p, v)", "grad(sum(sin(p @ b)*p[:7]), p) * v"} {
		for _, dtype := range []string{"float64", "float32"} {
			const given = "u = arange(7.); w = ones(7); "
			program := given + "f(v) = " + f + "; "
			inputs := []string{"a=" + dtype + "(randn(7, 9))", "b=" + dtype + "(randn(9, 7))", "s=" + dtype + "(randn(12, 9))", "p=linspace(0, 1, 9)"}
			value := func(text string) []float64 {
				a, err := question(t, "eval", text, inputs...).Answer()
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				return numbers(a.Targets[0].Value)
			}
			got := value(program + "vmap(f)(s)")
			for i := range 12 {
				want := value(program + fmt.Sprintf("f(s[%d])", i))
				if k := len(want); !slices.Equal(got[i*k:(i+1)*k], want) {
					t.Errorf("%s of %s, vector %d: %v in a batch, %v alone", f, dtype, i, got[i*k:(i+1)*k], want)
				}
			}
		}
	}
}

// TestBoundedProduct holds what is said of a product without reading it to its numbers.
func TestBoundedProduct(t *testing.T) {
	for _, c := range []struct {
		x, y []float64
		want bool
	}{
		{[]float64{1, -3}, []float64{2, 5}, true},
		{[]float64{1e200, 1}, []float64{-1e107, 0}, true},
		{[]float64{1e200, 1}, []float64{0, -1e109}, false},
		{[]float64{1, 2}, []float64{math.NaN(), 1}, false},
		{[]float64{math.Inf(-1), 2}, []float64{0, 0}, false}, // inf times 0
		{[]float64{math.MaxFloat64, 1}, []float64{0.5}, true},
		{[]float64{math.MaxFloat64, 1}, []float64{0.6}, false}, // finite, but not for its bound
		{nil, nil, false},
	} {
		if got := boundedProduct(c.x, c.y); got != c.want {
			t.Errorf("products of %v and %v are said to be finite: %t, want %t", c.x, c.y, got, c.want)
		}
	}
	for _, size := range []string{"1", "1e30", "1e200"} { // 1e60 is no float32
		q := func() *Question {
			return question(t, "eval", "reshape(x @ y, 1600)", "x=linspace(1, "+size+", 40)[:, newaxis]", "y=linspace(1, "+size+", 40)[newaxis, :]")
		}
		if !comparePlan(t, q) {
			t.Errorf("the product of numbers up to %s could not be compared", size)
		}
		s, want, err := recorded(q())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.run(want, false, 1); err != nil || s.t.sane[want[0]] != (size != "1e200") {
			t.Errorf("the product of numbers up to %s is said to be finite: %t, %v", size, s.t.sane[want[0]], err)
		}
	}
}

// TestProductsOfTransposed: products of transposed matrices, which read what was transposed, have the derivatives of those of
// a transposed value with a name, and no transposition of their own. A name stays a source.
func TestProductsOfTransposed(t *testing.T) {
	inputs := []string{"x=reshape(sin(arange(24)), (4, 6))", "const y=reshape(cos(arange(24)), (4, 6))", "const v=[1, -2, 0.5, 3]", "const u=[1, 2, -1, 0.5, 0.25, -3]",
		"z=reshape(sin(3*arange(48)), (2, 4, 6))", "const s=reshape(cos(arange(16)), (4, 4))"}
	for _, r := range []struct{ text, named string }{
		{"sum((transpose(x) @ v)^3)", "t = transpose(x); sum((t @ v)^3)"},
		{"sum((v @ transpose(x.T))^3)", "t = transpose(x.T); sum((v @ t)^3)"},
		{"sum((u @ x.T)^3)", "t = x.T; sum((u @ t)^3)"},
		{"sum((x.T @ y)^3)", "t = x.T; sum((t @ y)^3)"},
		{"sum((y @ x.T)^3)", "t = x.T; sum((y @ t)^3)"},
		{"sum((x.T @ x)^2)", "t = x.T; sum((t @ x)^2)"},
		{"sum((x.T @ tanh(s @ (x @ x.T)))^2)", "t = x.T; sum((t @ tanh(s @ (x @ t)))^2)"},
		{"sum((y.T @ x @ x.T @ v)^2)", "t = x.T; p = y.T; sum((p @ x @ t @ v)^2)"},
		{"sum((swapaxes(z, 1, 2) @ y)^2)", "t = swapaxes(z, 1, 2); sum((t @ y)^2)"},
		{"sum((y @ swapaxes(z, 1, 2))^2)", "t = swapaxes(z, 1, 2); sum((y @ t)^2)"},
		{"sum((z @ x.T)^2)", "t = x.T; sum((z @ t)^2)"},
		{"sum((transpose(z, (0, 2, 1)) @ z)^2)", "t = transpose(z, (0, 2, 1)); sum((t @ z)^2)"},
		{"sum((transpose(z, (1, 2, 0)) @ ones((2, 3)))^2)", "t = transpose(z, (1, 2, 0)); sum((t @ ones((2, 3)))^2)"},
	} {
		for _, op := range []string{"grad", "hessian"} {
			var got [2][]float64
			for i, text := range []string{r.text, r.named} {
				var used []string
				for _, in := range inputs {
					if name, _, _ := strings.Cut(strings.TrimPrefix(in, "const "), "="); strings.Contains(strings.NewReplacer("transpose", "", "swapaxes", "", "sum", "", "ones", "", "tanh", "").Replace(text), name) {
						used = append(used, in)
					}
				}
				a, err := question(t, op, text, used...).Answer()
				if err != nil {
					t.Fatalf("%s of %q: %v", op, text, err)
				}
				got[i] = numbersOf(a.Targets[0].Payload)
			}
			for k, v := range got[1] {
				if !(math.Abs(got[0][k]-v) <= 1e-12*(1+math.Abs(v))) {
					t.Fatalf("%s of %q: number %d is %v, %v with a name", op, r.text, k, got[0][k], v)
				}
			}
		}
	}
	q := question(t, "grad", "sum((x.T @ v)^2)", inputs[0], inputs[2])
	s, want, err := recorded(q)
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range s.t.plan(want).steps {
		if slices.ContainsFunc(st.refs, func(r Ref) bool { return s.t.ins[r].Op() == opTranspose }) {
			t.Error("a product of a transposed matrix transposes it")
		}
	}
	q = question(t, "grad", "t = x.T; sum((t @ v)^2)", inputs[0], inputs[2])
	q.Wrt = []string{"t"}
	a, err := q.Answer()
	if err != nil || a.Targets[0].Payload == nil || len(a.Targets[0].Unconnected) > 0 {
		t.Errorf("by a name of what is transposed: %v, %+v", err, a)
	}
}

// TestUnitProducts: products with matrices of one number are columns or rows of the other operand, times that number; 0
// where it is 0, and never -0.
func TestUnitProducts(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 3))
		right := seed%2 == 0 // the matrices of one number
		few := func(n int, are bool) int {
			if are {
				return 1 + r.IntN(2)
			}
			return 1 + r.IntN(n)
		}
		p := product{m: few(20, !right), k: 1 + r.IntN(12), n: few(20, right), ta: r.IntN(2) == 0, tb: r.IntN(2) == 0}
		xs, ys := tensor.Shape{p.m, p.k}, tensor.Shape{p.k, p.n}
		if p.ta {
			xs = tensor.Shape{p.k, p.m}
		}
		if p.tb {
			ys = tensor.Shape{p.n, p.k}
		}
		p.lda, p.ldb = xs[1], ys[1]
		dense, s := noise(r, xs), ys
		if !right {
			dense, s = noise(r, ys), xs
		}
		for i := range dense.Data {
			switch r.IntN(9) {
			case 0:
				dense.Data[i] = math.Copysign(0, -1)
			case 1:
				dense.Data[i] = math.NaN()
			}
		}
		from, count := r.IntN(s.Size()+2)-1, 1+r.IntN(s.Size()+1)
		units := make([]float64, count*s.Size())
		for k := range count {
			if q := from + k; q >= 0 && q < s.Size() {
				units[k*s.Size()+q] = []float64{0, 1, 1, -2, 0.5}[r.IntN(5)]
			}
		}
		got := make([]float64, count*p.m*p.n)
		for i := range got {
			got[i] = 7
		}
		if right {
			unitRight(p, from, s, got, dense.Data, units)
		} else {
			unitLeft(p, from, s, got, units, dense.Data)
		}
		at := func(x []float64, ld int, turned bool, i, j int) float64 {
			if turned {
				i, j = j, i
			}
			return x[i*ld+j]
		}
		for k := range count {
			x, y := dense.Data, units[k*s.Size():]
			if !right {
				x, y = y, x
			}
			for i := range p.m {
				for j := range p.n {
					want := 0.0
					for l := range p.k {
						a, b := at(x, p.lda, p.ta, i, l), at(y, p.ldb, p.tb, l, j)
						if right && b != 0 || !right && a != 0 {
							want += a * b
						}
					}
					if g := got[(k*p.m+i)*p.n+j]; math.Float64bits(g) != math.Float64bits(want) && g == g || (g == g) != (want == want) {
						t.Fatalf("%+v from %d: product %d, element %d, %d is %v, want %v", p, from, k, i, j, g, want)
					}
				}
			}
		}
	}
}
