package difference

import (
	"math"
	"testing"

	"nabla/expr"
	"nabla/expr/referee"
	"nabla/tape/tensor"
)

// The whole way of a check: text, govaluate, differences, against derivatives done by hand.
func TestReferee(t *testing.T) {
	rows := []struct {
		text string
		x    []float64
		want func(x []float64) []float64
	}{
		{"x[0]^2 * sin(x[1])", []float64{3, 1}, func(x []float64) []float64 {
			return []float64{2 * x[0] * math.Sin(x[1]), x[0] * x[0] * math.Cos(x[1])}
		}},
		{"x @ x", []float64{1, -2, 0}, func(x []float64) []float64 { return []float64{2, -4, 0} }},
		{"logsumexp(x)", []float64{0, 0}, func([]float64) []float64 { return []float64{0.5, 0.5} }},
		{"norm(x)^2 / 2", []float64{3, 4}, func(x []float64) []float64 { return x }},
		{"prod(x)", []float64{2, 3, 0}, func([]float64) []float64 { return []float64{0, 0, 6} }},
		{"logdet(reshape(x, (2, 2)))", []float64{2, 1, 1, 3}, func([]float64) []float64 { return []float64{0.6, -0.2, -0.2, 0.4} }},
		{"h = stop_gradient(x); sum(h * x)", []float64{2, 5}, func(x []float64) []float64 { return x }},
		{"y = 1\nfor v in x { y = y * v^2 }\ny", []float64{2, 3}, func(x []float64) []float64 { return []float64{36, 24} }},
		{"eigvalsh(reshape(x, (2, 2)))[0]", []float64{2, 0, 0, 5}, func([]float64) []float64 { return []float64{1, 0, 0, 0} }},
		{"sum(softmax(x) * [1, 0])", []float64{1, 1}, func([]float64) []float64 { return []float64{0.25, -0.25} }},
	}
	for _, r := range rows {
		p, err := expr.Parse("", r.text)
		if err != nil {
			t.Fatal(err)
		}
		e, err := referee.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		vars := map[string]*tensor.Value{"x": tensor.Of(tensor.From(r.x, len(r.x)))}
		f, err := e.Freeze("", vars)
		if err != nil {
			t.Fatalf("%s: %v", r.text, err)
		}
		x, y, err := f.Source(vars, "x")
		if err != nil {
			t.Fatalf("%s: %v", r.text, err)
		}
		noise, err := e.Noise("", vars)
		if err != nil {
			t.Fatalf("%s: %v", r.text, err)
		}
		grad := Settings{Noise: noise.Tensor.Item()}.Gradient(func(x []float64) (float64, error) {
			v, err := y(x)
			if err != nil {
				return 0, err
			}
			return v[0], nil
		}, x.Data)
		for i, want := range r.want(r.x) {
			if g := grad[i]; !(math.Abs(g.Value-want) <= 1e-9*math.Max(1, math.Abs(want))) || !(math.Abs(g.Value-want) <= 10*g.Err) || g.Kink {
				t.Errorf("d/dx[%d] %s at %v = %v ± %.3g (kink %v), want %v", i, r.text, r.x, g.Value, g.Err, g.Kink, want)
			}
		}
	}
}
