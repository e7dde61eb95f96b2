package tape

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"nabla/expr"
	"nabla/kernels"
	"nabla/tape/tensor"
)

// The command keeps no account of what it allocates: the linker finds that nothing reads one.
func init() { runtime.MemProfileRate = 0 }

// normals is a tensor of random numbers of a fixed seed.
func normals(scale float64, shape ...int) *tensor.Value {
	rng := rand.New(rand.NewPCG(1, 1))
	x := tensor.New(shape...)
	for i := range x.Data {
		x.Data[i] = scale * rng.NormFloat64()
	}
	return tensor.Of(x)
}

// answer answers a question b.N times: parsing, recording, planning and running.
func answer(b *testing.B, q *Question) (a *Answer) {
	b.Helper()
	b.ReportAllocs()
	defer debug.SetGCPercent(debug.SetGCPercent(200)) // as the command does
	once := func() {
		var err error
		p, err := expr.Parse("", q.Prog.Text)
		if err != nil {
			b.Fatal(err)
		}
		q.Prog = p
		if a, err = q.Answer(); err != nil {
			b.Fatal(err)
		}
	}
	for i, begin := 0, time.Now(); time.Since(begin) < warming || i < 8 && time.Since(begin) < 5*warming; i++ {
		once()
	}
	for b.Loop() {
		a.Release() // the one before
		once()
	}
	return a
}

// warming is how long answers are given before the clock starts, eight of them if that takes no five times as long: until
// the heap has the size that it keeps. Of the first hundred answers of W4, seven had memory from the host, for 45 ms each
// in place of 15.
const warming = 400 * time.Millisecond

// per reports nanoseconds per one of n things.
func per(b *testing.B, n float64, what string) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/"+what)
}

// flops reports the time of n floating-point operations over what they take at the
// peak, measured here and now on so many threads.
func flops(b *testing.B, n float64, threads int) {
	took := b.Elapsed().Seconds() / float64(b.N)
	b.ReportMetric(took*kernels.Peak(threads)/n, "×peak")
}

// eachThreads runs a benchmark on one and on two threads.
func eachThreads(b *testing.B, f func(b *testing.B, threads int)) {
	for _, n := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", n), func(b *testing.B) { f(b, n) })
	}
}

// BenchmarkRecord is the price of one recorded instruction; at most 200 ns.
func BenchmarkRecord(b *testing.B) {
	const n = 100_000
	for b.Loop() {
		t := New()
		x := t.Input("x", tensor.Scalar(1.5), true)
		y := x
		for range n / 2 {
			y = t.Apply(opMul, t.Apply(opAdd, y, x), x)
		}
	}
	per(b, n, "instruction")
}

// BenchmarkPrograms are programs that strain one part each.
func BenchmarkPrograms(b *testing.B) {
	sines := "y = x"
	for range 60 {
		sines += "\ny = sin(y*y)"
	}
	for _, r := range []struct {
		name, op, text string
		order          int
		n              float64
		x              *tensor.Value
	}{
		{"5000Statements", "grad", "y = x" + strings.Repeat("\ny = y + y", 5000) + "\ny*0", 1, 5000, tensor.Of(tensor.Scalar(1))},
		{"5000OfTensors", "grad", "y = x" + strings.Repeat("\ny = sin(y)*x", 5000) + "\nsum(y)", 1, 5000, tensor.Of(ones(8))},
		{"LoopOf4000", "grad", "y = x\nfor i in range(100) {" + strings.Repeat("\ny = sin(y)*x", 4000) + "\n}\ny", 1, 4000, tensor.Of(tensor.Scalar(0.9))},
		{"60Sines2nd", "grad", sines, 2, 60, tensor.Of(tensor.Scalar(0.9))},
		{"Loop1e5", "grad", "y = x\nfor i in range(100000) { y = y + sin(y)*1e-5 }\ny", 1, 1e5, tensor.Of(tensor.Scalar(1))},
		{"Pendulum1e4", "grad", "f(s) = [s[1], -sin(s[0])]\ns = x\nfor i in range(10000) { k = f(s); l = f(s + 0.005*k); m = f(s + 0.005*l); s = s + 0.01/6*(k + 2*l + 2*m + f(s + 0.01*m)) }\nsum(s)", 1, 1e4, tensor.Of(ones(2))},
		{"Recurrent1e4", "grad", "s = x\na = x[:4, :1]*x[:1, :4]\nfor i in range(10000) { s = tanh(a @ s + 0.1) }\nsum(s)", 1, 1e4, normals(0.5, 4, 4)},
		{"Descent1e4", "grad", "s = x\nfor i in range(10000) { s = s - 0.01*grad(s^4/4 - x*s, s) }\ns", 1, 1e4, tensor.Of(tensor.Scalar(1))},
		{"Steps1e4Of200", "grad", "w = x\nfor i in range(10000) { w = w - 0.01*(2*w*mean(w*x) - x) }\nsum(w)", 1, 1e4, normals(1, 200)},
		{"Steps100Of1e5", "grad", "w = x\nfor i in range(100) { w = w - 0.01*(2*w*mean(w*x) - x) }\nsum(w)", 1, 100, normals(1, 1e5)},
		{"Training1e3", "grad", "w = x\nv = x[0]\na = x @ x.T\nfor i in range(1000) { g = grad(mean((tanh(a @ w) @ v - 1)^2), [w, v]); w = w - 0.1*g[0]; v = v - 0.1*g[1] }\nsum(w)", 1, 1e3, normals(0.1, 32, 32)},
		{"Cumprod1e6", "grad", "sum(cumprod(x))", 1, 1e6, tensor.Of(ones(1e6))},
	} {
		b.Run(r.name, func(b *testing.B) {
			q := question(b, r.op, r.text)
			q.Order = r.order
			q.Inputs = []Input{{Name: "x", Value: r.x}}
			answer(b, q)
			per(b, r.n, "item")
		})
	}
}

// BenchmarkModels are gradients of what people fit, on one thread.
func BenchmarkModels(b *testing.B) {
	for _, r := range []struct {
		name, text string
		in         map[string]*tensor.Value // the first letters of the alphabet are data
	}{
		{"logistic", "mean(log1p(exp(-b*(a @ x))))", map[string]*tensor.Value{"a": normals(1, 10_000, 50), "b": normals(1, 10_000), "x": normals(1, 50)}},
		{"softmax", "z = a @ x; mean(logsumexp(z, axis=1) - sum(z*b, axis=1))", map[string]*tensor.Value{"a": normals(1, 10_000, 50), "b": normals(1, 10_000, 10), "x": normals(1, 50, 10)}},
		{"mixture", "l = -0.5*((a[:, newaxis] - x)/exp(y))^2 - y + z - logsumexp(z); -mean(logsumexp(l, axis=1))", map[string]*tensor.Value{"a": normals(1, 5000), "x": normals(1, 20), "y": normals(0.25, 20), "z": normals(1, 20)}},
		{"batchnorm", "h = a @ x; h = h - mean(h, axis=0); mean(relu(h/sqrt(mean(h^2, axis=0) + 1e-5)*y + z)^2)", map[string]*tensor.Value{"a": normals(1, 5000, 20), "x": normals(1, 20, 40), "y": normals(1, 40), "z": normals(1, 40)}},
		{"layernorm", "h = tanh(a @ x); h = h - mean(h, axis=1, keepdims=true); mean((h/sqrt(mean(h^2, axis=1, keepdims=true) + 1e-5)*y + z)^2)", map[string]*tensor.Value{"a": normals(1, 1000, 64), "x": normals(1./8, 64, 128), "y": normals(1, 128), "z": normals(1, 128)}},
		{"attention", "sum((softmax(x @ y.T/8, axis=1) @ z)^2)", map[string]*tensor.Value{"x": normals(1, 512, 64), "y": normals(2, 512, 64), "z": normals(1, 512, 64)}},
		{"distances", "sum(sqrt(sum((x[:, newaxis, :] - y[newaxis, :, :])^2, axis=2) + 1e-9))", map[string]*tensor.Value{"x": normals(1, 400, 8), "y": normals(2, 300, 8)}},
		{"variation", "d = x[1:, :-1] - x[:-1, :-1]; e = x[:-1, 1:] - x[:-1, :-1]; sum(sqrt(d^2 + e^2 + 1e-6))", map[string]*tensor.Value{"x": normals(1, 500, 500)}},
	} {
		b.Run(r.name, func(b *testing.B) {
			q := question(b, "grad", r.text)
			q.Threads = 1
			for _, name := range slices.Sorted(maps.Keys(r.in)) {
				q.Inputs = append(q.Inputs, Input{Name: name, Value: r.in[name], Const: name < "x"})
			}
			answer(b, q)
		})
	}
}

func ones(n int) *tensor.Tensor {
	x := tensor.New(n)
	for i := range x.Data {
		x.Data[i] = 1
	}
	return x
}

const waves = "sum(sin(x)*exp(-x^2/2) + log1p(x^2))"

// BenchmarkW2 is the gradient of a sum of an elementwise expression: from the text to
// the numbers, beside a copy of as many, and prepared, which leaves the run.
func BenchmarkW2(b *testing.B) {
	for _, n := range []int{1e3, 1e5, 1e7} {
		x := normals(1, n)
		b.Run(fmt.Sprintf("n=%.0e", float64(n)), func(b *testing.B) {
			eachThreads(b, func(b *testing.B, threads int) {
				q := question(b, "grad", waves)
				q.Threads = threads
				q.Inputs = []Input{{Name: "x", Value: x}}
				answer(b, q)
				per(b, float64(n), "element")
				to := make([]float64, n)
				copy(to, x.Tensor.Data)
				start := time.Now()
				copy(to, x.Tensor.Data)
				b.ReportMetric(float64(time.Since(start).Nanoseconds())/float64(n), "ns/copied")
			})
		})
		b.Run(fmt.Sprintf("n=%.0e/prepared", float64(n)), func(b *testing.B) {
			eachThreads(b, func(b *testing.B, threads int) {
				q := question(b, "grad", waves)
				q.Threads = threads
				in := []Input{{Name: "x", Value: x}}
				p := q.Prepare()
				b.ReportAllocs()
				for b.Loop() {
					if _, err := p.Answer(in); err != nil {
						b.Fatal(err)
					}
				}
				per(b, float64(n), "element")
			})
		})
	}
}

// BenchmarkTiles are gradients of other elementwise sums, prepared, on one thread.
func BenchmarkTiles(b *testing.B) {
	for _, r := range []struct{ name, text string }{
		{"logistic", "sum(sigmoid(x)*softplus(x))"},
		{"gelu", "sum(0.5*x*(1 + erf(x/sqrt(2))))"},
		{"geluTanh", "sum(0.5*x*(1 + tanh(0.79788456*(x + 0.044715*x^3))))"},
		{"polynomial", "sum((((x + 1.5)*x - 2)*x + 0.5)*x - 3)"},
		{"logRoot", "sum(log(x^2 + 1)/sqrt(x^2 + 3))"},
	} {
		b.Run(r.name, func(b *testing.B) {
			q := question(b, "grad", r.text)
			q.Threads = 1
			in := []Input{{Name: "x", Value: normals(1, 1e5)}}
			p := q.Prepare()
			for b.Loop() {
				if _, err := p.Answer(in); err != nil {
					b.Fatal(err)
				}
			}
			per(b, 1e5, "element")
		})
	}
}

const network = "mean((tanh(tanh(x @ w1 + b1) @ w2 + b2) @ w3 + b3 - t)^2)"

// networkInputs are the data of network: a batch of 512, 256→512→512→10.
func networkInputs() []Input {
	return []Input{
		{Name: "x", Value: normals(1, 512, 256), Const: true}, {Name: "t", Value: normals(1, 512, 10), Const: true},
		{Name: "w1", Value: normals(1./16, 256, 512)}, {Name: "b1", Value: normals(0.04, 512)},
		{Name: "w2", Value: normals(0.04, 512, 512)}, {Name: "b2", Value: normals(0.04, 512)},
		{Name: "w3", Value: normals(0.04, 512, 10)}, {Name: "b3", Value: normals(0.3, 10)},
	}
}

// BenchmarkW3 is the gradient of a network of three layers at a batch of 512.
func BenchmarkW3(b *testing.B) {
	eachThreads(b, func(b *testing.B, threads int) {
		q := question(b, "grad", network)
		q.Threads, q.Inputs = threads, networkInputs()
		answer(b, q)
		flops(b, 2*512*(2*256*512+3*512*512+3*512*10), threads)
	})
}

// BenchmarkW4 is the Jacobian of each of 1024 rows of a network, 64→128→128→32.
func BenchmarkW4(b *testing.B) {
	eachThreads(b, func(b *testing.B, threads int) {
		q := question(b, "batch_jacobian", "tanh(tanh(tanh(x @ w1) @ w2) @ w3)")
		q.Threads = threads
		q.Inputs = []Input{{Name: "x", Value: normals(1, 1024, 64)}, {Name: "w1", Value: normals(1./8, 64, 128), Const: true},
			{Name: "w2", Value: normals(0.09, 128, 128), Const: true}, {Name: "w3", Value: normals(0.09, 128, 32), Const: true}}
		answer(b, q)
		const forward = 64*128 + 128*128 + 128*32
		flops(b, 2*1024*(forward+32*(128*128+128*64)), threads)
	})
}

const smallLoss = "w1 = reshape(p[:400], (10, 40)); b1 = p[400:440]; w2 = reshape(p[440:], (40, 4)); " +
	"mean((tanh(x @ w1 + b1) @ w2 - t)^2)"

// BenchmarkW5 is the Hessian of a small network's loss by its 600 parameters.
func BenchmarkW5(b *testing.B) {
	eachThreads(b, func(b *testing.B, threads int) {
		q := question(b, "hessian", smallLoss)
		q.Threads = threads
		q.Inputs = []Input{{Name: "p", Value: normals(0.04, 600)}, {Name: "x", Value: normals(1, 64, 10), Const: true}, {Name: "t", Value: normals(1, 64, 4), Const: true}}
		a := answer(b, q)
		flops(b, a.Stats.Flops, threads)
	})
}

// BenchmarkW9 is what a gradient costs, over what its function costs: at most 3.
func BenchmarkW9(b *testing.B) {
	for _, r := range []struct {
		name, text string
		inputs     []Input
	}{
		{"waves1e5", waves, []Input{{Name: "x", Value: normals(1, 1e5)}}},
		{"network", network, networkInputs()},
	} {
		b.Run(r.name, func(b *testing.B) {
			eachThreads(b, func(b *testing.B, threads int) {
				f, g := question(b, "eval", r.text), question(b, "grad", r.text)
				f.Inputs, g.Inputs, f.Threads, g.Threads = r.inputs, r.inputs, threads, threads
				var took [2]time.Duration
				for b.Loop() {
					for i, q := range []*Question{f, g} {
						start := time.Now()
						if _, err := q.Answer(); err != nil {
							b.Fatal(err)
						}
						took[i] += time.Since(start)
					}
				}
				b.ReportMetric(float64(took[1])/float64(took[0]), "grad/eval")
			})
		})
	}
}

// BenchmarkW6 are loops over single numbers: recording, forward and reverse, in
// nanoseconds and bytes an operation of the formula as it is written. A term of
// Rosenbrock's function has nine operations and a step of the other loop nineteen, as
// the peers count. Beside each stands the same derivative as a Go loop by hand.
func BenchmarkW6(b *testing.B) {
	type row struct {
		name, text string
		n          int
		operations float64
		hand       func(x, g []float64) float64
	}
	rows := []row{
		{"Rosenbrock1e6", "s = 0\nfor i in range(999999) { s = s + 100*(x[i + 1] - x[i]^2)^2 + (1 - x[i])^2 }\ns", 1e6, 9 * 999999, rosenbrock},
	}
	for _, n := range []int{1e3, 1e4, 1e5} {
		rows = append(rows, row{fmt.Sprintf("Steps%.0e", float64(n)), fmt.Sprintf(`a = x[0]
b = x[1]
for i in range(%d) {
    c = a*b + sin(a)
    d = exp(-a*a) - b/3
    a = a + 1e-5*(c*d - tanh(b))
    b = b + 1e-5*(cos(c) + d*d - a*c)
}
a + b`, n), 2, 19 * float64(n), func(x, g []float64) float64 { return steps(n, x, g) }})
	}
	for _, r := range rows {
		x := normals(1, r.n)
		for _, order := range []string{"grad", "hvp"} {
			b.Run(r.name+"/"+order, func(b *testing.B) {
				q := question(b, order, r.text)
				q.Inputs = []Input{{Name: "x", Value: x}}
				if order == "hvp" {
					q.With = normals(1, r.n)
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				answer(b, q)
				runtime.ReadMemStats(&after)
				per(b, r.operations, "operation")
				b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/r.operations, "B/operation")
			})
		}
		b.Run(r.name+"/hand", func(b *testing.B) {
			g := make([]float64, r.n)
			for b.Loop() {
				clear(g)
				r.hand(x.Tensor.Data, g)
			}
			per(b, r.operations, "operation")
		})
	}
}

// rosenbrock is Rosenbrock's function; g becomes its gradient.
func rosenbrock(x, g []float64) float64 {
	s := 0.0
	for i, v := range x[:len(x)-1] {
		u, w := x[i+1]-v*v, 1-v
		s = s + 100*u*u + w*w
		g[i+1] += 200 * u
		g[i] += -400*u*v - 2*w
	}
	return s
}

// steps is the other loop of BenchmarkW6, of n steps, with what its way back needs kept.
func steps(n int, x, g []float64) float64 {
	type step struct{ a, b, c, d, e, cosA, sinC, tanhB float64 }
	kept := make([]step, n)
	a, b := x[0], x[1]
	for i := range kept {
		s := &kept[i]
		s.a, s.b, s.cosA, s.tanhB = a, b, kernels.CosOf(a), kernels.TanhOf(b)
		s.c, s.e = a*b+kernels.SinOf(a), kernels.ExpOf(-a*a)
		s.d, s.sinC = s.e-b/3, kernels.SinOf(s.c)
		a += 1e-5 * (s.c*s.d - s.tanhB)
		b += 1e-5 * (kernels.CosOf(s.c) + s.d*s.d - a*s.c)
	}
	ga, gb := 1.0, 1.0
	for i := n - 1; i >= 0; i-- {
		s := &kept[i]
		t := 1e-5 * gb
		next := a
		if i+1 < n {
			next = kept[i+1].a
		}
		ga -= t * s.c
		u := 1e-5 * ga
		gc, gd := -t*(s.sinC+next)+u*s.d, 2*t*s.d+u*s.c
		gb += -u*(1-s.tanhB*s.tanhB) - gd/3 + gc*s.a
		ga += gc*(s.b+s.cosA) - 2*gd*s.e*s.a
	}
	g[0], g[1] = ga, gb
	return a + b
}

// TestByHand holds the loops by hand to what they stand beside.
func TestByHand(t *testing.T) {
	x := normals(1, 1000)
	a, err := (&Question{Prog: question(t, "grad", "s = 0\nfor i in range(999) { s = s + 100*(x[i + 1] - x[i]^2)^2 + (1 - x[i])^2 }\ns").Prog, Op: "grad", Inputs: []Input{{Name: "x", Value: x}}}).Answer()
	if err != nil {
		t.Fatal(err)
	}
	g := make([]float64, 1000)
	rosenbrock(x.Tensor.Data, g)
	for i, v := range numbers(a.Targets[0].Payload) {
		if !near(v, g[i], 1e4) {
			t.Fatalf("element %d: %v, by hand %v", i, v, g[i])
		}
	}
}

// BenchmarkRecurrent are gradients through loops over layers by their weights: in nanoseconds
// a step and, of the four products with the weights of a step there and back, over the time
// that these take at the peak.
func BenchmarkRecurrent(b *testing.B) {
	const steps = 500
	const layer = "h = x[0]\nfor i in range(500) { h = tanh(h @ w + x[i]) }\nsum(h)"
	for _, r := range []struct {
		name, text   string
		n, rows, out int // of a state; columns of the weights
	}{
		{"Layer8", layer, 8, 1, 8},
		{"Layer16", layer, 16, 1, 16},
		{"Layer32", layer, 32, 1, 32},
		{"Layer64", layer, 64, 1, 64},
		{"Layer128", layer, 128, 1, 128},
		{"Layer512", layer, 512, 1, 512},
		{"Column128", "h = x[0]\nfor i in range(500) { h = tanh(w @ h + x[i]) }\nsum(h)", 128, 1, 128},
		{"Rows16", layer, 16, 4, 16},
		{"Rows128", layer, 128, 16, 128},
		{"LSTM128", `h = x[0][:128]
c = h
for i in range(500) {
    g = h @ w + x[i]
    c = sigmoid(g[:128])*c + sigmoid(g[128:256])*tanh(g[256:384])
    h = sigmoid(g[384:])*tanh(c)
}
sum(h)`, 128, 1, 512},
	} {
		x := normals(1, steps, r.rows, r.out)
		if r.rows == 1 {
			x = normals(1, steps, r.out)
		}
		b.Run(r.name, func(b *testing.B) {
			q := question(b, "grad", r.text)
			q.Wrt, q.Threads = []string{"w"}, 1
			q.Inputs = []Input{{Name: "x", Value: x}, {Name: "w", Value: normals(1/math.Sqrt(float64(r.n)), r.n, r.out)}}
			answer(b, q)
			per(b, steps, "step")
			flops(b, 8*steps*float64(r.rows)*float64(r.n)*float64(r.out), 1)
		})
	}
}

// BenchmarkHeat are gradients through steps of the heat equation on a ring of 100 points.
func BenchmarkHeat(b *testing.B) {
	for _, steps := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(steps), func(b *testing.B) {
			q := question(b, "grad", fmt.Sprintf("u = x\nfor i in range(%d) { u = u + 0.2*(roll(u, 1) - 2*u + roll(u, -1)) }\nsum(u^2)", steps))
			q.Inputs = []Input{{Name: "x", Value: normals(1, 100)}}
			answer(b, q)
			per(b, float64(steps), "step")
		})
	}
}

// BenchmarkW7 is the sparse Jacobian of a stencil, and beside it a loop over the numbers
// of its three diagonals.
func BenchmarkW7(b *testing.B) {
	for _, n := range []int{1e5, 1e6} {
		x := normals(1, n)
		b.Run(fmt.Sprintf("nabla/n=%.0e", float64(n)), func(b *testing.B) {
			q := question(b, "jacobian", "x[:-2] - 2*x[1:-1] + x[2:] + exp(x[1:-1])")
			q.Threads, q.Sparse = 2, true
			q.Inputs = []Input{{Name: "x", Value: x}}
			a := answer(b, q)
			if j := numbers(a.Targets[0].Payload); len(j) != 3*(n-2) {
				b.Fatalf("%d entries, want %d", len(j), 3*(n-2))
			}
			per(b, float64(n), "row")
		})
		b.Run(fmt.Sprintf("loop/n=%.0e", float64(n)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				v := x.Tensor.Data
				y := make([]float64, n-2)
				j := &tensor.Sparse{Ptr: make([]int32, n-1), Col: make([]int32, 3*(n-2)), Data: make([]float64, 3*(n-2))}
				for i := range y {
					e := kernels.ExpOf(v[i+1])
					y[i] = v[i] - 2*v[i+1] + v[i+2] + e
					k := 3 * i
					j.Ptr[i+1] = int32(k + 3)
					j.Col[k], j.Col[k+1], j.Col[k+2] = int32(i), int32(i+1), int32(i+2)
					j.Data[k], j.Data[k+1], j.Data[k+2] = 1, e-2, 1
				}
			}
			per(b, float64(n), "row")
		})
	}
}
