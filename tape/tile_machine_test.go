package tape

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"nabla/tape/pool"
	"nabla/tape/tensor"
)

// TestFusedTiles: the machine code of tile programs has the bits of their kernels, of
// tensors of all lengths, on one thread and on two.
func TestFusedTiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 3))
	term := func(names []string) string {
		x := func() string { return names[rng.IntN(len(names))] }
		forms := []string{"%s + %s", "%s - %s", "%s*%s", "%s/(1 + %s^2)", "max(%s, %s)", "min(%s, %s)", "where(%s > %s, x, k)", "abs(%s)*%s",
			"sqrt(abs(%s)) - %s", "floor(%s) + sign(%s)", "fma(%s, %s, x)", "sin(%s)*%s", "exp(-%s^2)*%s", "log1p(%s^2) + %s", "2*%s - 0.5*%s", "sigmoid(%s)*%s",
			"0.3*%s + log(1.1 + %s^2)", "asinh(%s)/(abs(%s) + 0.7)", "where(%s > 0.1, i, %s)", "i*%s - %s/3", "abs(%s)^2.5 - tanh(%s)"}
		return fmt.Sprintf(forms[rng.IntN(len(forms))], x(), x())
	}
	for range 80 {
		names := []string{"x", "y", "k", "x", "r", "i", "c"}
		var b strings.Builder
		for i := range 3 + rng.IntN(25) {
			name := fmt.Sprintf("t%d", i)
			fmt.Fprintf(&b, "%s = %s\n", name, term(names))
			names = append(names, name)
		}
		fmt.Fprintf(&b, "sum(%s)", strings.Join(names[len(names)-3:], " + "))
		rows, columns := 1+rng.IntN(40), 1+rng.IntN(60)
		if rng.IntN(3) == 0 {
			columns += tileSize + rng.IntN(500) // what has one number in a row of them is read as a number
		}
		x, y, r, c := tensor.New(rows, columns), tensor.New(rows, columns), tensor.New(columns), tensor.New(rows, 1)
		for _, v := range []*tensor.Tensor{x, y, r, c} {
			for i := range v.Data {
				v.Data[i] = 2 * rng.NormFloat64()
				if rng.IntN(20) == 0 {
					v.Data[i] = float64(rng.IntN(3) - 1)
				}
			}
		}
		whole := tensor.New(rows, columns)
		for i := range whole.Data {
			whole.Data[i] = float64(rng.IntN(7) - 3)
		}
		whole.DType = tensor.Int64
		singles := rng.IntN(5) // of what is float32: nothing, some, or all
		run := func(least int64, threads int) (out []float64) {
			saved, savedShare, savedAside := worthFusing, pool.LeastElements, worthAside
			worthFusing, pool.LeastElements, worthAside = least, 1, 1
			defer func() { worthFusing, pool.LeastElements, worthAside = saved, savedShare, savedAside }()
			q := question(t, "grad", b.String())
			q.Threads = threads
			q.Inputs = []Input{{Name: "x", Value: tensor.Of(x)}, {Name: "y", Value: tensor.Of(y)}, {Name: "r", Value: tensor.Of(r)}, {Name: "k", Value: tensor.Of(tensor.Scalar(1.25))},
				{Name: "i", Value: tensor.Of(whole)}, {Name: "c", Value: tensor.Of(c)}}
			for k, v := range []*tensor.Tensor{y, x, r, c} {
				if singles == 1 && k == 0 || singles > 1 {
					v.DType = tensor.Float32
					kernelsFloat32(v.Data, v.Data)
				}
			}
			if singles > 1 {
				q.DType = tensor.Float32
			}
			a, err := q.Answer()
			if err != nil {
				t.Fatalf("%s\n%v", b.String(), err)
			}
			for _, target := range a.Targets {
				out = append(append(out, numbers(target.Value)...), numbers(target.Payload)...)
			}
			return out
		}
		want := run(math.MaxInt64, 1)
		for _, threads := range []int{1, 2} {
			got := run(1, threads)
			for i, w := range want {
				if math.Float64bits(got[i]) != math.Float64bits(w) && (got[i] == got[i] || w == w) {
					t.Fatalf("%d×%d, %d threads: number %d is %v as machine code, else %v:\n%s", rows, columns, threads, i, got[i], w, b.String())
				}
			}
		}
	}
}
