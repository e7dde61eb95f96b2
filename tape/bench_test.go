package tape

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"nabla/expr"
	"nabla/tape/tensor"
)

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
	for b.Loop() {
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
	return a
}

// per reports nanoseconds per one of n things.
func per(b *testing.B, n float64, what string) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/"+what)
}

// flops reports n floating-point operations as GFLOP/s.
func flops(b *testing.B, n float64) {
	b.ReportMetric(n*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
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
		{"60Sines2nd", "grad", sines, 2, 60, tensor.Of(tensor.Scalar(0.9))},
		{"Loop1e5", "grad", "y = x\nfor i in range(100000) { y = y + sin(y)*1e-5 }\ny", 1, 1e5, tensor.Of(tensor.Scalar(1))},
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

func ones(n int) *tensor.Tensor {
	x := tensor.New(n)
	for i := range x.Data {
		x.Data[i] = 1
	}
	return x
}

// BenchmarkW2 is the gradient of a sum of an elementwise expression: from the text to
// the numbers, and prepared, which leaves the run.
func BenchmarkW2(b *testing.B) {
	for _, n := range []int{1e3, 1e5, 1e7} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("n=%.0e/threads=%d", float64(n), threads), func(b *testing.B) {
				q := question(b, "grad", "sum(sin(x)*exp(-x^2/2) + log1p(x^2))")
				q.Threads = threads
				q.Inputs = []Input{{Name: "x", Value: normals(1, n)}}
				answer(b, q)
				per(b, float64(n), "element")
			})
			b.Run(fmt.Sprintf("n=%.0e/threads=%d/prepared", float64(n), threads), func(b *testing.B) {
				q := question(b, "grad", "sum(sin(x)*exp(-x^2/2) + log1p(x^2))")
				q.Threads = threads
				in := []Input{{Name: "x", Value: normals(1, n)}}
				p := q.Prepare()
				b.ReportAllocs()
				for b.Loop() {
					if _, err := p.Answer(in); err != nil {
						b.Fatal(err)
					}
				}
				per(b, float64(n), "element")
			})
		}
	}
}

// BenchmarkW3 is the gradient of a network of three layers at a batch of 512.
func BenchmarkW3(b *testing.B) {
	q := question(b, "grad", "h = relu(x @ w1 + b1)\nh = relu(h @ w2 + b2)\nmean(softmax_cross_entropy(h @ w3 + b3, t))")
	q.Threads = 2
	q.Inputs = append(q.Inputs, []Input{
		{Name: "x", Value: normals(1, 512, 256), Const: true}, {Name: "t", Value: normals(0.1, 512, 10), Const: true},
		{Name: "w1", Value: normals(0.06, 256, 512)}, {Name: "b1", Value: normals(0.1, 512)},
		{Name: "w2", Value: normals(0.04, 512, 512)}, {Name: "b2", Value: normals(0.1, 512)},
		{Name: "w3", Value: normals(0.04, 512, 10)}, {Name: "b3", Value: normals(0.1, 10)},
	}...)
	a := answer(b, q)
	flops(b, a.Stats.Flops)
}

// BenchmarkW4 is the Jacobian of each of 1024 rows.
func BenchmarkW4(b *testing.B) {
	q := question(b, "batch_jacobian", "tanh(tanh(x @ w1) @ w2)")
	q.Inputs = []Input{{Name: "x", Value: normals(1, 1024, 64)}, {Name: "w1", Value: normals(0.1, 64, 64), Const: true}, {Name: "w2", Value: normals(0.1, 64, 32), Const: true}}
	a := answer(b, q)
	flops(b, a.Stats.Flops)
}

// BenchmarkW5 is a dense Hessian of 600 variables.
func BenchmarkW5(b *testing.B) {
	q := question(b, "hessian", "sum(log1p(exp(a @ x))) + sum(x^2)/2")
	q.Inputs = []Input{{Name: "x", Value: normals(1, 600)}, {Name: "a", Value: normals(0.05, 1000, 600), Const: true}}
	a := answer(b, q)
	flops(b, a.Stats.Flops)
}

// BenchmarkW6 are tapes of single numbers.
func BenchmarkW6(b *testing.B) {
	for _, r := range []struct {
		name, text string
		n          int
		steps      float64
	}{
		{"Rosenbrock1e6", "s = 0\nfor i in range(999999) { s = s + 100*(x[i + 1] - x[i]^2)^2 + (1 - x[i])^2 }\ns", 1e6, 1e6},
		{"Steps1e5", `a = x[0]
b = x[1]
for i in range(100000) {
    c = a*b + sin(a)
    d = exp(-a*a) - b/3
    a = a + 1e-5*(c*d - tanh(b))
    b = b + 1e-5*(cos(c) + d*d - a*c)
}
a + b`, 2, 1.9e6},
	} {
		b.Run(r.name, func(b *testing.B) {
			q := question(b, "grad", r.text)
			q.Inputs = []Input{{Name: "x", Value: normals(1, r.n)}}
			answer(b, q)
			per(b, r.steps, "operation")
		})
	}
}
