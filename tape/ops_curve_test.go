package tape

import (
	"fmt"
	"math"
	"testing"

	"nabla/tape/tensor"
)

// TestTapped holds the convolution with a short vector, a sum of slices, to the product that it is with a long one.
func TestTapped(t *testing.T) {
	defer func(n int) { leastTapped = n }(leastTapped)
	const tol = 1e-14 // sums of at most six products of numbers around 1, in the same order with one more rounding each
	for _, n := range []int{6, 7, 40} {
		for m := 1; m <= 6; m++ {
			for _, text := range []string{`convolve(x, y, "%s")`, `convolve(y, x, "%s")`, `correlate(x, y, "%s")`, `correlate(y, x, "%s")`} {
				for _, mode := range []string{"full", "same", "valid"} {
					for _, op := range []string{"eval", "grad", "hessian"} {
						for _, dt := range []tensor.DType{tensor.Float64, tensor.Float32} {
							program := fmt.Sprintf(text, mode)
							if op != "eval" {
								program = "sum(sin(" + program + "))"
							}
							answer := func(least int) (all []float64) {
								leastTapped = least
								q := question(t, op, program)
								q.DType = dt
								for i, size := range []int{n, m} {
									v := normals(1, size)
									v.Tensor.DType = dt
									kernelsFloat32(v.Tensor.Data, v.Tensor.Data)
									q.Inputs = append(q.Inputs, Input{Name: []string{"x", "y"}[i], Value: v})
								}
								a, err := q.Answer()
								if err != nil {
									t.Fatal(err)
								}
								if op == "eval" {
									return numbers(a.Targets[0].Value)
								}
								return numbers(a.Targets[0].Payload)
							}
							got, want := answer(1), answer(1<<30)
							within := tol
							if dt == tensor.Float32 {
								within = 2e-6
							}
							if len(got) != len(want) {
								t.Fatalf("%s of %s, %d and %d numbers: %d numbers, want %d", op, program, n, m, len(got), len(want))
							}
							for i, v := range got {
								if math.Abs(v-want[i]) > within*(1+math.Abs(want[i])) {
									t.Fatalf("%s of %s, %d and %d numbers, %v: element %d is %v, want %v", op, program, n, m, dt, i, v, want[i])
								}
							}
						}
					}
				}
			}
		}
	}
}
