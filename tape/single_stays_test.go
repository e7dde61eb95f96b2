package tape

import (
	"maps"
	"math"
	"slices"
	"testing"

	"nabla/tape/tensor"
)

// TestFloat32Stays: what an operation of float32 gives is float32, and so is all that is computed on the
// way to it, to its gradient and to its Hessian: the numbers that the operation is made of are no
// reason to go over to float64.
func TestFloat32Stays(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(structural)) {
		if name == "float64" || name == "cast" {
			continue
		}
		for _, text := range structural[name] {
			f := newFunction(t, text)
			for _, op := range []string{"eval", "grad", "hessian"} {
				formula := "%s"
				if op == "hessian" {
					formula = "sum((%s)^2)"
				}
				q := f.q(op, target(text, formula), slices.Clone(f.x))
				double, first, err := recorded(q)
				if err != nil {
					t.Fatalf("%s of %s: %v", op, text, err)
				}
				right, err := double.run(first, false, 1)
				if err != nil {
					t.Fatalf("%s of %s: %v", op, text, err)
				}
				s, want, err := recordedIn(singles32(q), tensor.Float32)
				if err != nil {
					t.Fatalf("%s of %s: %v", op, text, err)
				}
				if why := s.t.float64In(want); why != "" {
					t.Errorf("%s of %s: %s", op, text, why)
				}
				got, err := s.run(want, false, 1)
				if err != nil {
					t.Fatalf("%s of %s of float32: %v", op, text, err)
				}
				for k, x := range right {
					most := 1.
					for _, v := range x {
						most = max(most, math.Abs(v))
					}
					for i, v := range x {
						if w := got[k][i]; !(math.Abs(w-v) <= 1e-5*most) && (v == v || w == w) {
							t.Errorf("%s of %s: value %d, element %d is %v in float32, %v in float64", op, text, k, i, w, v)
						}
					}
				}
			}
		}
	}
	for _, op := range tableRows(isElementwise) {
		for _, p := range pointsOf(op) {
			tp := New()
			var xs []Ref
			for i, x := range p {
				xs = append(xs, tp.Input("x"+itoa(i), &tensor.Tensor{DType: tensor.Float32, Data: []float64{float64(float32(x))}}, true))
			}
			want := []Ref{tp.Apply(op, xs...)}
			if op.Gives == givesFloat64 {
				continue
			}
			if differentiable(op) {
				orders := 2
				if refusesMore(op) {
					orders = 1
				}
				for range orders {
					for _, g := range tp.Gradient(want, xs) {
						if g != None {
							want = append(want, g)
						}
					}
				}
			}
			if why := tp.float64In(want); why != "" {
				t.Errorf("%s at %v: %s", op.Name, p, why)
			}
		}
	}
	for _, text := range []string{"sqrt(x)^2", "norm(x)^2", "abs(x)^2", "std(x)^2", "zeros_like(x)", "ones_like(x)", "count(x)", "jvp(2, x, 1.5)", "grad(stop_gradient(x)*x, x)"} {
		s, want, err := recorded(singles32(question(t, "eval", text, "x=[1, 2]")))
		if err != nil {
			t.Fatal(err)
		}
		if why := s.t.float64In(want); why != "" {
			t.Errorf("%s: %s", text, why)
		}
	}
}

// singles32 makes the inputs of a question float32.
func singles32(q *Question) *Question {
	for i, in := range q.Inputs {
		x := *in.Value.Tensor
		x.DType, x.Data = tensor.Float32, slices.Clone(x.Data)
		kernelsFloat32(x.Data, x.Data)
		q.Inputs[i].Value = tensor.Of(&x)
	}
	return q
}

// float64In says which value on the way to others is float64, of those that are neither numbers nor places.
func (t *Tape) float64In(want []Ref) string {
	live, places := t.live(want), t.places()
	for r, in := range t.ins {
		_, number := t.constant(Ref(r))
		if in.dtype == tensor.Float64 && !number && in.Op() != opConst && r < len(live) && live[r] && !places[Ref(r)] {
			return in.Op().Name + " of shape " + t.Shape(Ref(r)).String() + " is float64"
		}
	}
	for _, r := range want {
		if t.ins[r].dtype == tensor.Float64 {
			return "the result is float64"
		}
	}
	return ""
}

// places are the values that say where others are taken from or put.
func (t *Tape) places() map[Ref]bool {
	out := map[Ref]bool{}
	for r := Ref(len(t.ins)) - 1; r >= 0; r-- {
		op := t.ins[r].Op()
		for i, a := range t.Args(r) {
			if out[r] || i == 1 && (op == opTake || op == opPut) {
				out[a] = true
			}
		}
	}
	return out
}
