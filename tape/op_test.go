package tape

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nabla/tape/tensor"
)

// The tests in this file are views of the table: adding a row adds its tests.

// tableRows lists every row once, hidden ones too, in a fixed order.
func tableRows(keep func(op *Op) bool) []*Op {
	var out []*Op
	for _, g := range groups {
		for i := range g.rows {
			if op := &g.rows[i]; keep(op) {
				out = append(out, op)
			}
		}
	}
	slices.SortFunc(out, func(a, b *Op) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return out
}

func isElementwise(op *Op) bool { return op.elementwise() }

// differentiable rows are elementwise and pass a derivative to some argument. The
// derivative of minimum_to_zero is its caller's where.
func differentiable(op *Op) bool {
	return op.elementwise() && op.Name != "minimum_to_zero" && op.Stops == "" && op.Gives != givesBool && (op.Grad != nil || op.Partial != nil)
}

// A point is one set of test arguments.
type point []float64

// pointsOf are a row's test points, or some for rows that need none of their own.
func pointsOf(op *Op) []point {
	try := op.Try
	switch {
	case try.n > 0:
	case op.Name == "where":
		try = at3(1, 2, 3, 0, 2, 3)
	case op.arity() == 1:
		try = at(-1.5, 0.5, 2)
	case op.arity() == 2:
		try = at2(-1.5, 0.5, 2, 3, 1, 1)
	default:
		try = at3(1, 2, 3, -0.5, 1.5, -2)
	}
	return slices.Collect(slices.Chunk(point(try.all), try.n))
}

func TestRowsAreComplete(t *testing.T) {
	for _, op := range tableRows(func(*Op) bool { return true }) {
		for _, p := range op.signature() {
			if how := slices.Contains([]string{"axis", "axes", "keepdims", "ddof"}, p.name); how && !p.counts {
				t.Errorf("%s does not mark %s: a written number would make it float64", op.Name, p.name)
			}
		}
		for i, g := range op.Grad {
			if g != "" {
				op.partialRule(i)
			}
		}
		if op.Body != "" {
			op.body()
		}
		if op.Doc == "" {
			t.Errorf("%s has no doc", op.Name)
		}
		if op.Group() == "" {
			t.Errorf("%s has no group", op.Name)
		}
		if !op.Hidden && !op.elementwise() && op.Call == nil && op.Body == "" {
			t.Errorf("%s cannot be called: no kernel, call or body", op.Name)
		}
		if op.elementwise() && len(op.signature()) != op.arity() {
			t.Errorf("%s has %d arguments, its kernel takes %d", op.Name, len(op.signature()), op.arity())
		}
		if op.Grad != nil && len(op.Grad) != op.arity() {
			t.Errorf("%s has %d partials for %d arguments", op.Name, len(op.Grad), op.arity())
		}
		if op.k1 != nil && op.f1 == nil || op.k2 != nil && op.f2 == nil || op.k3 != nil && op.f3 == nil {
			t.Errorf("%s has a kernel and no function of single numbers", op.Name)
		}
		if differentiable(op) && op.Try.n == 0 && !slices.Contains([]string{"where", "name", "zmul", "power_zero", "choose", "gate"}, op.Name) {
			t.Errorf("%s is differentiable and has nothing to try", op.Name)
		}
		if op.elementwise() && op.Gives != givesBool && op.Stops == "" && op.Grad == nil && op.Partial == nil && !op.NoRule {
			t.Errorf("%s says nothing about its derivative", op.Name)
		}
		if !op.elementwise() && op.Run != nil && op.Adj == nil && op.Stops == "" && !op.NoRule && op.Name != "input" && op.Name != "seed" {
			t.Errorf("%s says nothing about its derivative", op.Name)
		}
	}
}

// TestNames holds that no spelling means two rows.
func TestNames(t *testing.T) {
	seen := map[string]string{}
	for _, op := range tableRows(func(*Op) bool { return true }) {
		for _, n := range append([]string{op.Name}, op.Alias...) {
			if was, ok := seen[n]; ok {
				t.Errorf("%s is both %s and %s", n, was, op.Name)
			}
			seen[n] = op.Name
		}
	}
	for _, f := range forms {
		n := f.Name
		if was, ok := seen[n]; ok {
			t.Errorf("%s is both a form and %s", n, was)
		}
	}
}

// grid is where values of kernels are compared: ordinary numbers and the edges.
var grid = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 2, 3, -3, 0.1, 7.25, 30, -30, 1e-9, 1e-300, 5e-324, 1e8, 1e300, -1e300, 709.5, -745, math.Inf(1), math.Inf(-1), math.NaN()}

// TestKernelIsOne holds each kernel to its function of single numbers, bit for bit.
func TestKernelIsOne(t *testing.T) {
	for _, op := range tableRows(isElementwise) {
		var xs, ys, zs []float64
		for _, x := range grid {
			if op.arity() == 1 {
				xs, ys, zs = append(xs, x), append(ys, 0), append(zs, 0)
				continue
			}
			for _, y := range grid {
				if op.signature()[0].name == "n" && math.Abs(x) > 200 {
					continue // an order
				}
				xs, ys, zs = append(xs, x), append(ys, y), append(zs, 0.75)
			}
		}
		got := make([]float64, len(xs))
		op.call(got, xs, ys, zs)
		want := make([]float64, len(xs))
		for i := range xs {
			want[i] = op.one([3]float64{xs[i], ys[i], zs[i]})
		}
		if i := sameBits(got, want); i >= 0 {
			t.Errorf("%s at %v, %v: the kernel gives %v, the function of one number %v", op.Name, xs[i], ys[i], got[i], want[i])
		}
	}
}

// bodies are rows written in nabla's language, in plain Go.
var bodies = map[string]func(x, y float64) float64{
	"positive":    func(x, _ float64) float64 { return x },
	"fmod":        math.Mod,
	"clip":        func(x, _ float64) float64 { return min(max(x, -0.5), 0.75) },
	"degrees":     func(x, _ float64) float64 { return x * 180 / math.Pi },
	"radians":     func(x, _ float64) float64 { return x * math.Pi / 180 },
	"log_sigmoid": func(x, _ float64) float64 { return -math.Log1p(math.Exp(-x)) },
	"relu":        func(x, _ float64) float64 { return max(x, 0) },
	"relu6":       func(x, _ float64) float64 { return min(max(x, 0), 6) },
	"leaky_relu":  func(x, _ float64) float64 { return max(x, 0.01*x) },
	"elu":         func(x, _ float64) float64 { return max(x, math.Expm1(x)*step01(x)) },
	"selu": func(x, _ float64) float64 {
		return 1.0507009873554805 * (max(x, 0) + 1.6732632423543772*math.Expm1(min(x, 0)))
	},
	"celu":         func(x, _ float64) float64 { return max(x, 0) + math.Expm1(min(x, 0)) },
	"gelu":         func(x, _ float64) float64 { return x * 0.5 * math.Erfc(-x/math.Sqrt2) },
	"silu":         func(x, _ float64) float64 { return x / (1 + math.Exp(-x)) },
	"mish":         func(x, _ float64) float64 { return x * math.Tanh(math.Log1p(math.Exp(x))) },
	"hard_sigmoid": func(x, _ float64) float64 { return min(max(x+3, 0), 6) / 6 },
	"hard_tanh":    func(x, _ float64) float64 { return min(max(x, -1), 1) },
	"hard_swish":   func(x, _ float64) float64 { return x * min(max(x+3, 0), 6) / 6 },
	"huber": func(x, _ float64) float64 {
		if math.Abs(x) <= 1 {
			return x * x / 2
		}
		return math.Abs(x) - 0.5
	},
	"logical_xor": func(x, y float64) float64 { return truth((x != 0) != (y != 0)) },
}

func step01(x float64) float64 { return truth(x < 0) }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func TestBodies(t *testing.T) {
	for name, f := range bodies {
		op := table.find(name)
		if op == nil || op.Body == "" {
			t.Errorf("%s is no row with a body", name)
			continue
		}
		call := name + "(x)"
		switch {
		case name == "clip":
			call = "clip(x, -0.5, 0.75)"
		case len(op.signature()) > 1 && op.signature()[1].def == nil:
			call = name + "(x, y)"
		}
		for _, x := range []float64{-4.5, -1.25, -0.3, 0, 0.2, 1.7, 5} {
			for _, y := range []float64{-1.5, 2} {
				a := ask(t, "eval", call, fmt.Sprint("x=", x), fmt.Sprint("y=", y))
				got, want := a.Targets[0].Value.Tensor.Data[0], f(x, y)
				if !(math.Abs(got-want) <= 1e-15*(math.Abs(want)+math.Abs(x))) { // a few roundings each
					t.Errorf("%s at x = %v, y = %v is %v, want %v", call, x, y, got, want)
				}
			}
		}
	}
}

// apply records op on inputs of the given values.
func apply(op *Op, shapes []tensor.Shape, data [][]float64) (t *Tape, xs []Ref, y Ref) {
	t = New()
	for i, d := range data {
		var s tensor.Shape
		if shapes != nil {
			s = shapes[i]
		}
		xs = append(xs, t.Input("x"+itoa(i), &tensor.Tensor{Shape: s, Data: d}, true))
	}
	return t, xs, t.Apply(op, xs...)
}

func split(p point) [][]float64 {
	out := make([][]float64, len(p))
	for i := range p {
		out[i] = p[i : i+1]
	}
	return out
}

// gradientAt is the gradient of op at p; what is not connected is 0.
func gradientAt(op *Op, p point) []float64 {
	t, xs, y := apply(op, nil, split(slices.Clone(p)))
	out := make([]float64, len(p))
	for i, g := range t.Gradient([]Ref{y}, xs) {
		if g != None {
			out[i] = t.Force(g).Data[0]
		}
	}
	return out
}

// hessianAt is the VJP of each component of the VJP.
func hessianAt(op *Op, p point) [][]float64 {
	t, xs, y := apply(op, nil, split(slices.Clone(p)))
	out := make([][]float64, len(p))
	for i, g := range t.Gradient([]Ref{y}, xs) {
		out[i] = make([]float64, len(p))
		if g == None {
			continue
		}
		for j, h := range t.Gradient([]Ref{g}, xs) {
			if h != None {
				out[i][j] = t.Force(h).Data[0]
			}
		}
	}
	return out
}

// with is p with argument i replaced, for differences.
func with(p point, i int, x float64) point {
	q := slices.Clone(p)
	q[i] = x
	return q
}

func TestFirstDerivatives(t *testing.T) {
	for _, op := range tableRows(differentiable) {
		for _, p := range pointsOf(op) {
			got := gradientAt(op, p)
			for i := range p {
				if !op.passes(i) {
					continue
				}
				f := func(x float64) float64 {
					var v [3]float64
					copy(v[:], with(p, i, x))
					return op.one(v)
				}
				if want := slope(f, p[i]); !near(got[i], want, f(p[i])) {
					t.Errorf("d%s/d%s at %v = %v, differences say %v", op.Name, op.signature()[i].name, p, got[i], want)
				}
			}
		}
	}
}

// refusesMore reports whether a partial of op is an operation of which there is no derivative.
func refusesMore(op *Op) bool {
	for i, g := range op.Grad {
		if g != "" && slices.ContainsFunc(op.partialRule(i).steps, func(s ruleStep) bool { return s.op != nil && s.op.NoRule }) {
			return true
		}
	}
	return false
}

func TestSecondDerivatives(t *testing.T) {
	for _, op := range tableRows(func(op *Op) bool { return differentiable(op) && !refusesMore(op) }) {
		for _, p := range pointsOf(op) {
			got := hessianAt(op, p)
			for i := range p {
				if !op.passes(i) {
					continue
				}
				for j := range p {
					if !op.passes(j) {
						continue
					}
					f := func(x float64) float64 { return gradientAt(op, with(p, j, x))[i] }
					if want := slope(f, p[j]); !near(got[i][j], want, f(p[j])) {
						t.Errorf("d²%s/d%s d%s at %v = %v, differences of the gradient say %v", op.Name, op.signature()[i].name, op.signature()[j].name, p, got[i][j], want)
					}
				}
			}
		}
	}
}

// columns are the test points of op, argument by argument, repeated to n points.
func columns(op *Op, n int) [][]float64 {
	ps := pointsOf(op)
	out := make([][]float64, op.arity())
	for i := range n {
		for k, x := range ps[i%len(ps)] {
			out[k] = append(out[k], x)
		}
	}
	return out
}

// TestForwardEqualsReverse: <ct, J v> = <Jᵀ ct, v>.
func TestForwardEqualsReverse(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, op := range tableRows(differentiable) {
		if op.Gives == givesFloat32 { // rounds tangents, and not cotangents
			continue
		}
		const n = 4
		shapes := []tensor.Shape{{n}, {n}, {n}}
		tp, xs, y := apply(op, shapes, columns(op, n))
		random := func() Ref {
			v := tensor.New(n)
			for i := range v.Data {
				v.Data[i] = rng.NormFloat64()
			}
			return tp.Tensor(v)
		}
		ct := random()
		vs := make([]Ref, len(xs))
		for i := range vs {
			vs[i] = random()
		}
		jv := tp.JVP([]Ref{y}, xs, vs)[0]
		gs := tp.VJP([]Ref{y}, []Ref{ct}, xs)
		left, right, size := 0.0, 0.0, 0.0
		if jv != None {
			left, size = dotOf(tp, ct, jv, n)
		}
		for i, g := range gs {
			if g != None {
				d, terms := dotOf(tp, g, vs[i], n)
				right, size = right+d, size+terms
			}
		}
		if !(math.Abs(left-right) <= 1e-14*size) { // a dozen roundings of the terms
			t.Errorf("%s: <ct, Jv> = %v, <Jᵀct, v> = %v", op.Name, left, right)
		}
	}
}

// dotOf is a dot product, and the sum of its terms' sizes.
func dotOf(t *Tape, x, y Ref, n int) (s, size float64) {
	a, b := t.Force(t.broadcastTo(x, tensor.Shape{n})).Data, t.Force(t.broadcastTo(y, tensor.Shape{n})).Data
	for i := range a {
		s += a[i] * b[i]
		size += math.Abs(a[i] * b[i])
	}
	return s, size
}

// TestBatchedRows: a row mapped over points is the row at each point, bit for bit, and
// so are its gradient and its Jacobian.
func TestBatchedRows(t *testing.T) {
	for _, op := range tableRows(isElementwise) {
		n := len(pointsOf(op))
		data := columns(op, n)
		shapes := []tensor.Shape{{n}, {n}, {n}}
		tp, xs, _ := apply(op, shapes, data)
		axis := tp.NewAxis(n)
		in := make([]Ref, len(xs))
		for i, x := range xs {
			in[i] = tp.rebatch(x, axis, 1)
		}
		y := tp.Apply(op, in...)
		got := tp.Force(y).Data
		var gs []Ref
		if differentiable(op) {
			gs = tp.Gradient([]Ref{y}, in)
		}
		for k, p := range pointsOf(op) {
			var v [3]float64
			copy(v[:], p)
			if i := sameBits(got[k:k+1], []float64{op.one(v)}); i >= 0 {
				t.Errorf("%s at %v: mapped %v, alone %v", op.Name, p, got[k], op.one(v))
			}
			if gs == nil {
				continue
			}
			want := gradientAt(op, p)
			for i, g := range gs {
				if g == None {
					continue
				}
				d := tp.Force(g).Data
				if len(d) == 1 { // the same at every point
					d = slices.Repeat(d, n)
				}
				if sameBits(d[k:k+1], want[i:i+1]) >= 0 {
					t.Errorf("gradient %d of %s at %v: mapped %v, alone %v", i, op.Name, p, d[k], want[i])
				}
			}
		}
		if gs == nil {
			continue
		}
		// the Jacobian of the vector is the diagonal of the gradients
		whole := tp.Apply(op, xs...)
		for _, mode := range []string{"reverse", "forward"} {
			for i, j := range tp.Jacobian(whole, xs, mode) {
				if j == None {
					continue
				}
				m := tp.Force(j).Data
				for k, p := range pointsOf(op) {
					want := make([]float64, n)
					want[k] = gradientAt(op, p)[i]
					for c := range want {
						if m[k*n+c] != want[c] && (want[c] == want[c] || m[k*n+c] == m[k*n+c]) {
							t.Errorf("%s Jacobian of %s by argument %d, row %d = %v, want %v", mode, op.Name, i, k, m[k*n:(k+1)*n], want)
							break
						}
					}
				}
			}
		}
	}
}

// broadcasts are pairs of shapes that join, and what they give.
var broadcasts = []struct{ x, y, out tensor.Shape }{
	{nil, nil, nil},
	{nil, tensor.Shape{3}, tensor.Shape{3}},
	{tensor.Shape{3}, nil, tensor.Shape{3}},
	{tensor.Shape{3}, tensor.Shape{3}, tensor.Shape{3}},
	{tensor.Shape{1}, tensor.Shape{3}, tensor.Shape{3}},
	{tensor.Shape{3}, tensor.Shape{2, 1}, tensor.Shape{2, 3}},
	{tensor.Shape{2, 1}, tensor.Shape{1, 3}, tensor.Shape{2, 3}},
	{tensor.Shape{2, 3}, tensor.Shape{3}, tensor.Shape{2, 3}},
	{nil, tensor.Shape{2, 3}, tensor.Shape{2, 3}},
	{tensor.Shape{2, 3}, tensor.Shape{2, 1}, tensor.Shape{2, 3}},
	{tensor.Shape{1, 1}, tensor.Shape{3}, tensor.Shape{1, 3}},
	{tensor.Shape{2, 1, 3}, tensor.Shape{4, 1}, tensor.Shape{2, 4, 3}},
	{tensor.Shape{0}, tensor.Shape{1}, tensor.Shape{0}},
	{tensor.Shape{2, 0}, nil, tensor.Shape{2, 0}},
}

// at(i) of a shape that broadcasts to out: where element i of out comes from.
func cameFrom(s, out tensor.Shape, i int) int {
	from, stride := 0, 1
	for a := 1; a <= len(out); a++ {
		d := out[len(out)-a]
		if a <= len(s) {
			if n := s[len(s)-a]; n != 1 {
				from += i % d * stride
				stride *= n
			}
		}
		i /= d
	}
	return from
}

func TestBroadcastPairs(t *testing.T) {
	for _, op := range tableRows(func(op *Op) bool { return op.elementwise() && op.arity() == 2 }) {
		ps := pointsOf(op)
		for _, b := range broadcasts {
			x, y := make([]float64, b.x.Size()), make([]float64, b.y.Size())
			for i := range x {
				x[i] = ps[i%len(ps)][0]
			}
			for i := range y {
				y[i] = ps[i%len(ps)][1]
			}
			tp, xs, r := apply(op, []tensor.Shape{b.x, b.y}, [][]float64{x, y})
			if !tp.Shape(r).Equal(b.out) {
				t.Errorf("%s of %v and %v has shape %v, want %v", op.Name, b.x, b.y, tp.Shape(r), b.out)
				continue
			}
			want := make([]float64, b.out.Size())
			sums := [2][]float64{make([]float64, len(x)), make([]float64, len(y))}
			for i := range want {
				p, q := cameFrom(b.x, b.out, i), cameFrom(b.y, b.out, i)
				want[i] = op.one([3]float64{x[p], y[q]})
				if differentiable(op) {
					g := gradientAt(op, point{x[p], y[q]})
					sums[0][p] += g[0]
					sums[1][q] += g[1]
				}
			}
			if i := sameBits(tp.Force(r).Data, want); i >= 0 {
				t.Errorf("%s of %v and %v: element %d differs from %v", op.Name, b.x, b.y, i, want)
			}
			if !differentiable(op) {
				continue
			}
			for k, g := range tp.Gradient([]Ref{r}, xs) {
				if g == None {
					continue
				}
				if !tp.Shape(g).Equal(tp.Shape(xs[k])) {
					t.Errorf("gradient %d of %s of %v and %v has shape %v", k, op.Name, b.x, b.y, tp.Shape(g))
					continue
				}
				for i, v := range tp.Force(g).Data {
					if w := sums[k][i]; !(math.Abs(v-w) <= 1e-14*(math.Abs(w)+1)) && (v == v || w == w) { // a dozen summands of order 1
						t.Errorf("gradient %d of %s of %v and %v, element %d = %v, want %v", k, op.Name, b.x, b.y, i, v, w)
					}
				}
			}
		}
	}
}

// TestFloat32 holds that results of a float32 row, and its gradients, are float32 numbers.
func TestFloat32(t *testing.T) {
	for _, op := range tableRows(isElementwise) {
		for _, p := range pointsOf(op) {
			tp := New()
			tp.DType = tensor.Float32
			var xs []Ref
			for i, x := range p {
				xs = append(xs, tp.Input("x"+itoa(i), &tensor.Tensor{DType: tensor.Float32, Data: []float64{float64(float32(x))}}, true))
			}
			y := tp.Apply(op, xs...)
			outs := []Ref{y}
			if differentiable(op) {
				outs = append(outs, tp.Gradient([]Ref{y}, xs)...)
			}
			for _, r := range outs {
				if r == None {
					continue
				}
				v := tp.Force(r)
				if v.DType == tensor.Float64 && op.Gives != givesFloat64 {
					t.Errorf("%s of float32 gives float64", op.Name)
				}
				if x := v.Data[0]; x == x && float64(float32(x)) != x {
					t.Errorf("%s at %v gives %v, which is no float32", op.Name, p, x)
				}
			}
		}
	}
}

// TestKnown compares with what a program that is the name alone does.
func TestKnown(t *testing.T) {
	names := []string{"pi", "π", "e", "inf", "nan", "true", "false", "None", "none", "newaxis", "x", "grad1", "zmul", "sin", "grad", "range", "int64"}
	for _, name := range names {
		_, err := Eval(name, tensor.Float64, 0, 1<<30)
		want := err == nil || !strings.Contains(err.Error(), "unknown name")
		if got := Known(name); got != want {
			t.Errorf("Known(%q) = %v, want %v: as a program it gives %v", name, got, want, err)
		}
	}
}

// Reductions have the same bits on every number of threads.
func TestSharedReductions(t *testing.T) {
	x := normals(1, 300, 301)
	for _, text := range []string{
		"sum(x, 0)", "sum(x, 1)", "sum(reshape(x, (3, 100, 301)), 1)", // 3 columns' blocks, the last short
		"logsumexp(x, 1)", "softmax(x)", "log_softmax(x)", "cumsum(x, 1)", "cumprod(x, 0)", "take(x, -arange(1200) % 301, 1)", "concat([x, x[:, :7]], 1)", "reshape(x, (90300,))[::-2]", "concat([x, x])[::-2]", "reshape(x, (90300,))[7:]", "x.T", "permute(reshape(x, (3, 100, 301)), (1, 2, 0))", "repeat(x, 3, 1)", "tile(x, (2, 2))", "concat([x, x[:7], x], 0)", "take(x, arange(90000) % 300, 0)[:, 0]", "take_along_axis(x, argsort(x), 1)", "grad(sum(take(x, arange(2000) % 301, 1)^2), x)", "grad(sum(cumsum(reshape(x, (90300,))[::-2])), x)", "grad(sum(cumsum(x[7:], 1)), x)", "grad(sum(cumsum(x[::-3], 1)), x)", "max(x, axis=0)", "norm(x, 2, 1)",
	} {
		var want []float64
		for _, threads := range []int{1, 2, 3} {
			q := question(t, "eval", text)
			q.Threads, q.Inputs = threads, []Input{{Name: "x", Value: x}}
			a, err := q.Answer()
			if err != nil {
				t.Fatal(err)
			}
			got := numbers(a.Targets[0].Value)
			if want == nil {
				want = got
			}
			for i, v := range want {
				if math.Float64bits(got[i]) != math.Float64bits(v) {
					t.Fatalf("%s on %d threads: element %d = %v, on one %v", text, threads, i, got[i], v)
				}
			}
		}
	}
}
