package tape

import (
	"testing"

	"nabla/tape/tensor"
)

// TestAssemble: pieces of a cotangent that lie over one another are added, whether they are many
// or few, in a short or in a long tensor.
func TestAssemble(t *testing.T) {
	for _, n := range []int{12, 4095, 4097, 20_000} {
		for _, count := range []int{1, 3, 70} {
			want := make([]float64, n)
			text := "0"
			for k := range count {
				from, to := (k*37)%(n/2), n-(k*101)%(n/3)
				text += " + " + itoa(k+1) + "*sum(x[" + itoa(from) + ":" + itoa(to) + "]^2)"
				for i := from; i < to; i++ {
					want[i] += float64(2 * (k + 1))
				}
			}
			q := question(t, "grad", text)
			x := tensor.New(n)
			for i := range x.Data {
				x.Data[i] = 1
			}
			q.Inputs = []Input{{Name: "x", Value: tensor.Of(x)}}
			a, err := q.Answer()
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range numbers(a.Targets[0].Payload) {
				if v != want[i] {
					t.Fatalf("%d pieces of %d numbers: element %d is %v, want %v", count, n, i, v, want[i])
				}
			}
		}
	}
}
