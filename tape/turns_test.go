package tape

import (
	"fmt"
	"testing"

	"nabla/tape/tensor"
)

// TestTurns: a row over all rows, what repeats within rows, and rows and numbers repeated are at every number those
// of its place, in programs with a sum and without, of both kinds of numbers. All are whole: nothing is rounded.
func TestTurns(t *testing.T) {
	for i, p := range []int{2, 6, 40, 64, 256, 300, 2046, 2050} {
		for _, d := range []tensor.DType{tensor.Float64, tensor.Float32} {
			rows, h := 6000/p+30, p/2
			x, row, half := integers(d, rows, p), integers(d, p), integers(d, 1, 2, h)
			col, pair := integers(d, rows, 1), integers(d, rows, 1, h)
			at := func(v *tensor.Value, k int) float64 { return v.Tensor.Data[k] }
			for _, r := range []struct {
				text string
				want func(i, j int) float64
			}{
				{"x*2 - row", func(i, j int) float64 { return at(x, i*p+j)*2 - at(row, j) }},
				{fmt.Sprintf("reshape(x, (%d, 2, %d))*2 - half", rows, h), func(i, j int) float64 { return at(x, i*p+j)*2 - at(half, j) }},
				{fmt.Sprintf("reshape(x, (%d, 2, %d))*2 - half[:, ::-1]", rows, h), func(i, j int) float64 { return at(x, i*p+j)*2 - at(half, (j+h)%p) }},
				{fmt.Sprintf("reshape(x, (%d, %d, 2))*2 - reshape(half[0, 0], (%d, 1))", rows, h, h), func(i, j int) float64 { return at(x, i*p+j)*2 - at(half, j/2) }},
				{fmt.Sprintf("reshape(x, (%d, 2, %d))*2 - pair", rows, h), func(i, j int) float64 { return at(x, i*p+j)*2 - at(pair, i*h+j%h) }},
				{"x*2 - col", func(i, j int) float64 { return at(x, i*p+j)*2 - at(col, i) }},
			} {
				q := &Question{Op: "eval"}
				q.Threads, q.DType = 1+i%2, d
				for name, v := range map[string]*tensor.Value{"x": x, "row": row, "half": half, "col": col, "pair": pair} {
					q.Inputs = append(q.Inputs, Input{Name: name, Value: v})
				}
				answer := func(text string) []float64 {
					q.Prog = question(t, "eval", text).Prog
					a, err := q.Answer()
					if err != nil {
						t.Fatalf("%s: %v", text, err)
					}
					return a.Targets[0].Value.Tensor.Data
				}
				got, total := answer(r.text), 0.0
				for k, v := range got {
					want := r.want(k/p, k%p)
					if v != want {
						t.Fatalf("%v, rows of %d: element %d of %s is %v, want %v", d, p, k, r.text, v, want)
					}
					total += want
				}
				if sum := answer("sum(" + r.text + ")")[0]; sum != total {
					t.Errorf("%v, rows of %d: the sum of %s is %v, want %v", d, p, r.text, sum, total)
				}
			}
		}
	}
}

// integers are small whole numbers.
func integers(d tensor.DType, shape ...int) *tensor.Value {
	x := tensor.New(shape...)
	x.DType = d
	for i := range x.Data {
		x.Data[i] = float64((i*i+i/7)%19 - 9)
	}
	return tensor.Of(x)
}
