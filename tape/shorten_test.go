package tape

import (
	"math"
	"testing"

	"nabla/tape/tensor"
)

// TestShorten: how many kernels a tile runs, and that they give the bits of one
// instruction at a time, for numbers near both ends of the exponents too.
func TestShorten(t *testing.T) {
	x := tensor.New(300)
	for i := range x.Data {
		x.Data[i] = math.Ldexp(1+float64(i)/300, i*7-1050) * float64(1-i%2*2)
	}
	for _, r := range []struct {
		text    string
		kernels int
	}{
		{"-x^2/2", 1},                       // (x*x)*-0.5
		{"-(-(x/4))", 1},                    // x*0.25
		{"x/3 - x", 2},                      // a quotient by 3 is no product
		{"x*3*5", 1},                        // two roundings, in one kernel
		{"x*2^600*2^500", 1},                // the numbers are not merged: x may be tiny
		{"1 - x*x", 1},                      // z - xy
		{"x*x - x*x*x", 2},                  // x*x is read twice: (xx)x subtracted
		{"(x + 1)*(x + 2)*(x + 3)", 3},      // a sum, and twice a sum with its product
		{"y = x*x; y*sin(y) + y*cos(y)", 4}, // square, the twins, and two of them joined
	} {
		q := func() *Question {
			q := question(t, "eval", r.text)
			q.Inputs = []Input{{Name: "x", Value: tensor.Of(x)}}
			return q
		}
		s, want, err := recorded(q())
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, st := range s.t.plan(want).steps {
			if st.tile != nil {
				n += len(st.tile.code)
			}
		}
		if n != r.kernels {
			t.Errorf("%s runs %d kernels, want %d", r.text, n, r.kernels)
		}
		comparePlan(t, q)
	}
}
