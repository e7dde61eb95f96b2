package tape

import (
	"fmt"
	"slices"
	"testing"

	"nabla/tape/tensor"
)

// TestFloat32Places: float32 has no place beyond 2^24, and what is there is taken all the same.
func TestFloat32Places(t *testing.T) {
	for _, dtype := range []tensor.DType{tensor.Float64, tensor.Float32, tensor.Int64} {
		tp := New()
		tp.DType = tensor.Float32
		at := func(v float64) Ref {
			return tp.Tensor(&tensor.Tensor{DType: dtype, Shape: tensor.Shape{1}, Data: []float64{v}})
		}
		joint := tp.behindPlace(tp.behindPlace(tp.constOf(0, tensor.Float64), at(-1), 5000), at(4997), 5000)
		if got := tp.Force(joint).Data[0]; got != 24999997 {
			t.Errorf("indices of %v: row 4999 of 5000, column 4997 is place %v", dtype, got)
		}
	}
}

// BenchmarkSingle is W2, W3 and other gradients in float32 beside float64, prepared.
func BenchmarkSingle(b *testing.B) {
	for _, r := range []struct {
		name, text string
		inputs     []Input
	}{
		{"W2/n=1e3", "sum(sin(x)*exp(-x^2/2) + log1p(x^2))", []Input{{Name: "x", Value: normals(1, 1e3)}}},
		{"W2/n=1e5", "sum(sin(x)*exp(-x^2/2) + log1p(x^2))", []Input{{Name: "x", Value: normals(1, 1e5)}}},
		{"W2/n=1e7", "sum(sin(x)*exp(-x^2/2) + log1p(x^2))", []Input{{Name: "x", Value: normals(1, 1e7)}}},
		{"polynomial", "sum((((x + 1.5)*x - 2)*x + 0.5)*x - 3)", []Input{{Name: "x", Value: normals(1, 1e5)}}},
		{"trig", "sum(tan(x) + atan(x) + asinh(x))", []Input{{Name: "x", Value: normals(1, 1e5)}}},
		{"W3", "mean((tanh(tanh(x @ w1 + b1) @ w2 + b2) @ w3 + b3 - t)^2)", []Input{
			{Name: "x", Value: normals(1, 512, 256), Const: true}, {Name: "t", Value: normals(1, 512, 10), Const: true},
			{Name: "w1", Value: normals(1./16, 256, 512)}, {Name: "b1", Value: normals(0.04, 512)},
			{Name: "w2", Value: normals(0.04, 512, 512)}, {Name: "b2", Value: normals(0.04, 512)},
			{Name: "w3", Value: normals(0.04, 512, 10)}, {Name: "b3", Value: normals(0.3, 10)},
		}},
	} {
		for _, threads := range []int{1, 2} {
			for _, d := range []tensor.DType{tensor.Float64, tensor.Float32} {
				b.Run(fmt.Sprintf("%s/%v/threads=%d", r.name, d, threads), func(b *testing.B) {
					q := question(b, "grad", r.text)
					q.Threads, q.DType = threads, d
					for _, in := range r.inputs {
						x := *in.Value.Tensor
						x.DType = d
						if d == tensor.Float32 {
							x.Data = slices.Clone(x.Data)
							kernelsFloat32(x.Data, x.Data)
						}
						in.Value = tensor.Of(&x)
						q.Inputs = append(q.Inputs, in)
					}
					p := q.Prepare()
					b.ReportAllocs()
					for b.Loop() {
						if _, err := p.Answer(q.Inputs); err != nil {
							b.Fatal(err)
						}
					}
					per(b, float64(r.inputs[0].Value.Tensor.Shape.Size()), "element")
				})
			}
		}
	}
}
