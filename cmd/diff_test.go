package cmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nabla/cmd/input"
	"nabla/tape/tensor"
)

// What was done to an array is recognised, and nothing is said of unrelated ones.
func TestLooks(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	random := func(shape ...int) *tensor.Tensor {
		a := tensor.New(shape...)
		for i := range a.Data {
			a.Data[i] = rng.NormFloat64()
		}
		return a
	}
	of := func(a *tensor.Tensor, f func(i int, x float64) float64) *tensor.Tensor {
		b := tensor.New(a.Shape...)
		for i, x := range a.Data {
			b.Data[i] = f(i, x)
		}
		return b
	}
	flip := func(a *tensor.Tensor) *tensor.Tensor {
		r, c := a.Shape[0], a.Shape[1]
		b := tensor.New(c, r)
		for i := range r {
			for j := range c {
				b.Data[j*r+i] = a.Data[i*c+j]
			}
		}
		return b
	}
	o := &diffOptions{RTol: 1e-9, ATol: 1e-12, Top: 3}
	for range 20 {
		a := random(4, 4)
		v := random(5)
		wide := random(3, 7)
		for _, r := range []struct {
			a, b *tensor.Tensor
			want string
		}{
			{a, flip(a), "B is A transposed"},
			{wide, flip(wide), "B is A transposed"},
			{a, of(flip(a), func(_ int, x float64) float64 { return -x }), "B is -A transposed: the sign"},
			{a, of(a, func(_ int, x float64) float64 { return -x }), "B is -A: the sign"},
			{a, of(a, func(_ int, x float64) float64 { return x / 16 }), "B is A / 16 (the number of elements: a sum against a mean?)"},
			{wide, of(wide, func(_ int, x float64) float64 { return 7 * x }), "B is 7 × A (the size of axis 1: a sum against a mean?)"},
			{v, of(v, func(_ int, x float64) float64 { return x * math.Pi }), "B is 3.14159265 × A"},
			{v, of(v, func(_ int, x float64) float64 { return x + 2.5 }), "B is A plus 2.5"},
			{v, of(v, func(_ int, x float64) float64 { return float64(float32(x)) }), "B is A rounded to float32"},
			{v, of(v, func(i int, _ float64) float64 { return v.Data[4-i] }), "the same numbers in another order"},
			{a, of(a, func(i int, x float64) float64 {
				if i%5 == 0 {
					return x + 1 + float64(i)
				}
				return x
			}), "all that differ lie on the diagonal"},
			{wide, of(wide, func(i int, x float64) float64 {
				if i/7 == 2 {
					return rng.NormFloat64()
				}
				return x
			}), "all that differ have index 2 on axis 0"},
			{a, random(4, 4), ""},
			{v, &tensor.Tensor{Shape: tensor.Shape{}, Data: []float64{total(v.Data)}}, "B is the sum of A's elements"},
		} {
			if got := strings.Join(o.looks(r.a, r.b), "; "); got != r.want {
				t.Errorf("%v against %v looks like %q, want %q", r.a.Data, r.b.Data, got, r.want)
			}
		}
	}
}

const single = tensor.Float32

func TestULPs(t *testing.T) {
	for _, r := range []struct {
		x, y float64
		d    tensor.DType
		want float64
	}{
		{1, math.Nextafter(1, 2), 0, 1}, {0, math.Copysign(0, -1), 0, 0}, {5e-324, -5e-324, 0, 2}, {1, 1, 0, 0},
		{math.MaxFloat64, math.Inf(1), 0, 1}, {1, math.NaN(), 0, math.NaN()},
		{2, 2 + 0x1p-22, single, 1}, {0, math.Copysign(0, -1), single, 0}, {0x1p-149, -0x1p-149, single, 2}, {-2, -2 - 0x1p-22, single, 1},
		{math.MaxFloat32, math.Inf(1), single, 1}, {1, math.NaN(), single, math.NaN()},
	} {
		if got := ulps(r.x, r.y, r.d); got != r.want && !(math.IsNaN(got) && math.IsNaN(r.want)) {
			t.Errorf("from %v to %v there are %v numbers of %v, want %v", r.x, r.y, got, r.d, r.want)
		}
	}
}

// Two arrays of float32 differ by numbers of float32, and are written as such; beside a float64 one is one.
func TestDiffFloat32(t *testing.T) {
	x := &tensor.Tensor{Shape: tensor.Shape{}, Data: []float64{float64(float32(0.1))}, DType: single}
	y := &tensor.Tensor{Shape: tensor.Shape{}, Data: []float64{float64(math.Nextafter32(0.1, 1))}, DType: single}
	for _, r := range []struct {
		d    tensor.DType
		want string
	}{{single, "0.1 0.10000001"}, {tensor.Float64, "0.10000000149011612 0.10000000894069672"}} {
		y.DType = r.d
		o := &diffOptions{Exact: true, Top: 1}
		p := o.compare(couple{"", tensor.Of(x), tensor.Of(y)})
		var b strings.Builder
		diffJSON(&b, o, []pair{p})
		if text := strings.Fields(r.want); !strings.Contains(b.String(), `"a":`+text[0]+`,"b":`+text[1]+`,`) || (p.MaxULP == 1) != (r.d == single) {
			t.Errorf("float32 and %v: %v ulp, %s", r.d, p.MaxULP, b.String())
		}
	}
}

// However many of the worst are asked for, they are the first of all: the worst first, of equals
// the first.
func TestWorst(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const n = 300
	a, b := tensor.New(n), tensor.New(n)
	for i := range b.Data {
		b.Data[i] = float64(rng.IntN(n)) // some alike
	}
	want := make([]int, 0, n)
	for i, y := range b.Data {
		if y != 0 {
			want = append(want, i)
		}
	}
	slices.SortStableFunc(want, func(i, j int) int { return cmp.Compare(b.Data[j], b.Data[i]) })
	for _, top := range []int{0, 1, 2, 7, len(want) - 1, len(want), n, math.MaxInt} {
		o := &diffOptions{ATol: 1e-3, Top: top}
		p := o.compare(couple{"", tensor.Of(a), tensor.Of(b)})
		var got []int
		for _, e := range p.Worst {
			got = append(got, e.Index[0])
		}
		if w := want[:min(top, len(want))]; !slices.Equal(got, w) || p.Differ != len(want) {
			t.Errorf("the worst %d are %v, want %v; %d differ", top, got, w, p.Differ)
		}
	}
}

// TestTreeEqualsJSON: a result read in one pass is what package json makes of it.
func TestTreeEqualsJSON(t *testing.T) {
	texts := []string{
		`1`, `[]`, `[[], []]`, `[[1, 2], [3, 4]]`, `{"x": 1e300, "y": {"z": [1]}}`, `{"x": [1, "NaN", "-Infinity"]}`, `"Infinity"`,
		`{"layers": [{"w": [1, 2]}, {"w": [3, 4]}]}`, `[{"a": [[1]]}, {"a": [[2]]}]`, `[[{"a": 1}], []]`, `{"op": "grad", "grad": {"x": null}, "value": 3}`,
		`{"x": [true, false], "y": true}`, `{"data": [1, 2], "shape": [2]}`, `[{"a": "NaN"}, [1, 2], 3]`, `{"ü\u00e9": 1}`,
	}
	leaves := func(v any) string {
		x, err := fromJSON(v)
		if err != nil {
			return err.Error()
		}
		var b strings.Builder
		x.Leaves("", func(path string, leaf *tensor.Value) {
			if fmt.Fprintf(&b, "%s: ", path); leaf.Kind == tensor.KindTensor {
				fmt.Fprintln(&b, leaf.Tensor.Shape, leaf.Tensor.Data)
			} else {
				fmt.Fprintln(&b, leaf.Kind)
			}
		})
		return b.String()
	}
	for _, text := range texts {
		got, ok := input.Tree([]byte(text))
		var want any
		if err := json.Unmarshal([]byte(text), &want); err != nil || !ok {
			t.Fatalf("%s: %v, read in one pass: %v", text, err, ok)
		}
		if leaves(got) != leaves(want) {
			t.Errorf("%s is read as\n%s\nwant\n%s", text, leaves(got), leaves(want))
		}
	}
	// what package json says more of, or reads otherwise
	for _, text := range []string{``, `{`, `[1,]`, `{"x": 1, "x": 2}`, `[1, [2]]`, `[1, null]`, `[1, true]`, `nul`, `nullx`, `1 2`, `{"x": 1e999}`, `[0x1]`, strings.Repeat("[", 2000)} {
		if v, ok := input.Tree([]byte(text)); ok {
			t.Errorf("%s is read as %v", text, v)
		}
	}
	if v, ok := input.Tree([]byte(`{"x": NaN, "y": [-Infinity]}`)); !ok {
		t.Errorf("bare words are read as %v", v)
	}
}
