package tape

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"nabla/expr"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

// TestTransposeAxes holds transpositions of any axes to picking the numbers one by one.
func TestTransposeAxes(t *testing.T) {
	least, turned := pool.LeastElements, leastTurn
	defer func() { pool.LeastElements, leastTurn = least, turned }()
	pool.LeastElements, leastTurn = 1, 1
	rng := rand.New(rand.NewPCG(3, 5))
	sizes := []int{1, 2, 3, 5, 8, 9, 17, 70}
	for range 300 {
		axes, size := rng.Perm(2+rng.IntN(5)), 1
		s := make(tensor.Shape, len(axes))
		for i := range s {
			if s[i] = sizes[rng.IntN(len(sizes))]; size*s[i] > 1<<17 {
				s[i] = 1
			}
			size *= s[i]
		}
		x := tensor.New(s...)
		for i := range x.Data {
			x.Data[i] = float64(i)
		}
		p, err := expr.Parse("", fmt.Sprint("transpose(x, ", tensor.Shape(axes), ")"))
		if err != nil {
			t.Fatal(err)
		}
		a, err := (&Question{Prog: p, Op: "eval", Threads: 2, Inputs: []Input{{Name: "x", Value: tensor.Of(x)}}}).Answer()
		if err != nil {
			t.Fatal(err)
		}
		got, strides := numbers(a.Targets[0].Value), s.Strides()
		index := make([]int, len(s))
		for i, v := range got {
			from := 0
			for k, axis := range axes {
				from += index[k] * strides[axis]
			}
			if v != float64(from) {
				t.Fatalf("shape %v by %v: number %d is number %v, want %d", s, axes, i, v, from)
			}
			for k := len(index) - 1; k >= 0; k-- {
				if index[k]++; index[k] < s[axes[k]] {
					break
				}
				index[k] = 0
			}
		}
	}
}
