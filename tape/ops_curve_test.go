package tape

import (
	"fmt"
	"math"
	"testing"

	"nabla/tape/tensor"
)

// TestConvolutionWays holds the convolution with a short vector, a sum of slices, and with a long one, sums of products
// at each lag, to the product with windows that are written out.
func TestConvolutionWays(t *testing.T) {
	defer func(n, m int) { leastTapped, leastLagged = n, m }(leastTapped, leastLagged)
	const never = 1 << 30
	answer := func(op, program string, dt tensor.DType, n, m, tapped, lagged int) []float64 {
		leastTapped, leastLagged = tapped, lagged
		q := question(t, op, program)
		q.DType = dt
		for i, size := range []int{n, m} {
			v := normals(1, size)
			v.Tensor.DType = dt
			if dt == tensor.Float32 {
				kernelsFloat32(v.Tensor.Data, v.Tensor.Data)
			}
			q.Inputs = append(q.Inputs, Input{Name: []string{"x", "y"}[i], Value: v})
		}
		a, err := q.Answer()
		if err != nil {
			t.Fatalf("%s of %s: %v", op, program, err)
		}
		if op == "eval" {
			return numbers(a.Targets[0].Value)
		}
		return numbers(a.Targets[0].Payload)
	}
	for _, n := range []int{6, 7, 40} {
		for m := 1; m <= 6; m++ {
			for _, text := range []string{`convolve(x, y, "%s")`, `convolve(y, x, "%s")`, `correlate(x, y, "%s")`, `correlate(y, x, "%s")`} {
				for _, mode := range []string{"full", "same", "valid"} {
					for _, op := range []string{"eval", "grad", "jacobian", "hessian"} {
						for dt, tol := range map[tensor.DType]float64{tensor.Float64: 1e-14, tensor.Float32: 2e-6} { // a rounding or two more
							program := fmt.Sprintf(text, mode)
							if op == "grad" || op == "hessian" {
								program = "sum(sin(" + program + "))"
							}
							want := answer(op, program, dt, n, m, never, never)
							for name, got := range map[string][]float64{"slices": answer(op, program, dt, n, m, 1, never), "lags": answer(op, program, dt, n, m, never, 1)} {
								if len(got) != len(want) {
									t.Fatalf("%s of %s by %s, %d and %d numbers: %d numbers, want %d", op, program, name, n, m, len(got), len(want))
								}
								for i, v := range got {
									if math.Abs(v-want[i]) > tol*(1+math.Abs(want[i])) {
										t.Fatalf("%s of %s by %s, %d and %d numbers, %v: element %d is %v, want %v", op, program, name, n, m, dt, i, v, want[i])
									}
								}
							}
						}
					}
				}
			}
		}
	}
}

// TestLagged are sums of products at lags where the way they are computed shows: for many points, in a loop, to a third
// order, where zeros meet what is infinite, and as entries of a band.
func TestLagged(t *testing.T) {
	defer func(n, m int) { leastTapped, leastLagged = n, m }(leastTapped, leastLagged)
	const never = 1 << 30
	leastTapped = never
	for _, r := range []struct{ op, text string }{
		{"grad", "sum(vmap(a -> sum(convolve(a*x, y)^3))(y))"},
		{"jacobian", "vmap(a -> convolve(x, a*y))(x)"},
		{"grad", "s = x; for i in range(5) { s = tanh(convolve(s, y, \"same\")) }; sum(s)"},
		{"grad", "sum(hvp(sum(convolve(x, y)^4), x, x))"},
		{"grad", "sum(hessian(sum(convolve(x, y)^3), y))"},
		{"grad", "z = convolve(x, where(y > 0, inf, y), \"same\"); sum(where(isfinite(z), z, 0)) + sum(y)"},
		{"grad", "sum(convolve(where(x > 1, inf, x), y)[3:9]*[0, 0, 1, 0, 0, 0])"},
		{"hessian", "sum(sin(convolve(x, y)))"},
	} {
		for _, sparse := range []bool{false, true} {
			if sparse && r.op == "grad" {
				continue
			}
			var all [2][]float64
			for i, least := range []int{never, 1} {
				leastLagged = least
				q := question(t, r.op, r.text, "x=sin(arange(30)*1.3)*2", "y=cos(arange(5)*0.7)")
				q.Sparse = sparse
				if r.op == "hessian" {
					q.Wrt = []string{"x"}
				}
				a, err := q.Answer()
				if err != nil {
					t.Fatalf("%s: %v", r.text, err)
				}
				all[i] = numbers(a.Targets[0].Payload)
			}
			if len(all[0]) != len(all[1]) {
				t.Fatalf("%s of %s: %d entries, of windows %d", r.op, r.text, len(all[1]), len(all[0]))
			}
			for i, v := range all[1] {
				if w := all[0][i]; !(math.Abs(v-w) <= 1e-12*(1+math.Abs(w))) && v != w && (v == v || w == w) {
					t.Errorf("%s of %s: element %d is %v, of windows %v", r.op, r.text, i, v, w)
				}
			}
		}
	}
}
