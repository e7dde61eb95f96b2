package tape

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nabla/tape/tensor"
)

// sliced lists the elements that lo:hi:step takes of n, by Python's rules; nil is left out.
func sliced(n int, lo, hi, step *int) (taken []int) {
	by := 1
	if step != nil {
		by = *step
	}
	first, end := 0, n // of the elements that there are, in the direction of the step
	if by < 0 {
		first, end = n-1, -1
	}
	bound := func(p *int, def int) int {
		if p == nil {
			return def
		}
		k := *p
		if k < 0 {
			k += n
		}
		return max(min(first, end), min(k, max(first, end)))
	}
	from, to := bound(lo, first), bound(hi, end)
	for i := from; by > 0 && i < to || by < 0 && i > to; i += by {
		taken = append(taken, i)
		if by > n || by < -n {
			break
		}
	}
	return taken
}

func TestSlices(t *testing.T) {
	const far = math.MaxInt &^ 1023 // a whole number that is a float64 and an int: on 64 bits the largest
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		n := rng.IntN(7)
		var v [3]*int
		var words [3]string
		for i := range v {
			switch k := rng.IntN(14) - 6; {
			case k == 7:
				k = [...]int{far, -far, math.MinInt}[rng.IntN(3)]
				fallthrough
			case k < 6 && (i < 2 || k != 0):
				v[i], words[i] = &k, fmt.Sprint(k)
			}
		}
		want := sliced(n, v[0], v[1], v[2])
		var tuple, list []string
		for i := range n {
			tuple = append(tuple, fmt.Sprint(i))
		}
		for _, i := range want {
			list = append(list, fmt.Sprint(i))
		}
		s, all := strings.Join(words[:], ":"), strings.Join(list, ", ")
		for text, want := range map[string]string{
			fmt.Sprintf("arange(%d)[%s]", n, s):                                             "[" + all + "]",
			fmt.Sprintf("t = (%s,); t[:-1][%s]", strings.Join(append(tuple, "7"), ", "), s): "(" + all + ")",
		} {
			if got := write(ask(t, "eval", text).Targets[0].Value); got != want {
				t.Errorf("%s = %s, want %s", text, got, want)
			}
		}
	}
}

// TestIndexTensors picks by several tensors of numbers and compares with the rule of
// NumPy, element by element: they broadcast, and their axes stand where the first of them
// stood if they were side by side, and first if not.
func TestIndexTensors(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 600 {
		var shape, joint, places []int
		for range 1 + rng.IntN(5) {
			shape = append(shape, 1+rng.IntN(4))
		}
		for range 1 + rng.IntN(2) {
			joint = append(joint, 1+rng.IntN(3))
		}
		index := map[int]*tensor.Tensor{} // by the axis
		items := make([]string, len(shape))
		inputs := xs(fmt.Sprintf("x=reshape(arange(%d), %v)", tensor.Shape(shape).Size(), tensor.Shape(shape)))
		for axis := range shape {
			items[axis] = ":"
			if rng.IntN(3) == 0 && (len(shape) > 1+axis || len(places) > 0) {
				continue
			}
			s := slices.Clone(joint[rng.IntN(len(joint)):]) // fewer axes, or axes of 1, broadcast
			if k := rng.IntN(len(s)); rng.IntN(3) == 0 && len(places) > 0 {
				s[k] = 1
			}
			if len(places) == 0 {
				s = joint
			}
			x := tensor.New(s...)
			for i := range x.Data {
				x.Data[i] = float64(rng.IntN(2*shape[axis]) - shape[axis])
			}
			index[axis], places = x, append(places, axis)
			items[axis] = fmt.Sprintf("i%d", axis)
			inputs = append(inputs, fmt.Sprintf("i%d=%s", axis, writeTensor(tensor.Int64, x.Shape, x.Data)))
		}
		at := 0 // where the joint axes stand
		if places[len(places)-1]-places[0] == len(places)-1 {
			at = places[0]
		}
		var out tensor.Shape
		for axis, n := range shape {
			if index[axis] == nil {
				out = append(out, n)
			}
		}
		out = slices.Insert(out, at, joint...)
		var want []float64
		for k := range out.Size() {
			point := make([]int, len(out))
			for i := len(out) - 1; i >= 0; i-- {
				point[i], k = k%out[i], k/out[i]
			}
			rest := slices.Delete(slices.Clone(point), at, at+len(joint))
			flat := 0
			for axis, n := range shape {
				var i int
				if x := index[axis]; x == nil {
					i, rest = rest[0], rest[1:]
				} else {
					o := 0
					for j, d := range x.Shape {
						o *= d
						if d > 1 {
							o += point[at+len(joint)-len(x.Shape)+j]
						}
					}
					i = (int(x.Data[o]) + n) % n
				}
				flat = flat*n + i
			}
			want = append(want, float64(flat))
		}
		text := "x[" + strings.Join(items, ", ") + "]"
		if got, want := write(ask(t, "eval", text, inputs...).Targets[0].Value), writeTensor(tensor.Int64, out, want); got != want {
			t.Errorf("%s with %s = %s, want %s", text, strings.Join(inputs, ", "), got, want)
		}
	}
}
