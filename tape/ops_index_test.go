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

// TestTake holds what indices pick, and where its cotangents go, to loops: few of them and more than are
// read at once, counted from both ends.
func TestTake(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for _, m := range []int{1, fewPlaces, fewPlaces + 1, placesAtOnce, placesAtOnce + 1, 2*placesAtOnce + 6} {
		for _, s := range [][3]int{{1, 7, 1}, {3, 5, 1}, {1, 4, 3}, {2, 6, 9}} { // around the axis
			outer, n, inner := s[0], s[1], s[2]
			for _, each := range []bool{false, true} { // each row its own
				if each && inner > 1 {
					continue
				}
				x, idx := tensor.New(outer, n, inner), tensor.New(m)
				if each {
					idx = tensor.New(outer, m, 1)
				}
				weights := tensor.New(outer, m, inner)
				for _, v := range []*tensor.Tensor{x, weights} {
					for i := range v.Data {
						v.Data[i] = rng.NormFloat64()
					}
				}
				idx.DType = tensor.Int64
				for i := range idx.Data {
					idx.Data[i] = float64(rng.IntN(n))
					if m%2 == 1 && rng.IntN(3) == 0 {
						idx.Data[i] -= float64(n)
					}
				}
				want, back := tensor.New(outer, m, inner), tensor.New(outer, n, inner)
				for o := range outer {
					for i := range m {
						k := i
						if each {
							k += o * m
						}
						at := (int(idx.Data[k]) + n) % n
						for j := range inner {
							want.Data[(o*m+i)*inner+j] = x.Data[(o*n+at)*inner+j]
							back.Data[(o*n+at)*inner+j] += weights.Data[(o*m+i)*inner+j]
						}
					}
				}
				matrix := tensor.New(len(want.Data), len(x.Data)) // of the weighted ones, for few of them
				for o := range want.Data {
					if m > fewPlaces+1 {
						break
					}
					for q, v := range x.Data {
						if want.Data[o] == v {
							matrix.Data[o*len(x.Data)+q] = weights.Data[o]
						}
					}
				}
				text := "take(x, i, 1)"
				if each {
					text = "take_along_axis(x, i, 1)"
				}
				ask := func(op, mode, text string, want *tensor.Tensor) {
					q := question(t, op, text)
					q.Mode = mode
					q.Inputs = []Input{{Name: "x", Value: tensor.Of(x)}, {Name: "i", Value: tensor.Of(idx)}, {Name: "w", Value: tensor.Of(weights)}}
					q.Wrt = []string{"x"}
					a, err := q.Answer()
					if err != nil {
						t.Fatalf("%s: %v", text, err)
					}
					got := a.Targets[0].Value
					if op != "eval" {
						got = a.Targets[0].Payload
					}
					if !slices.Equal(numbersOf(got), want.Data) {
						t.Fatalf("%s of %s, %d places, %v, each %t: %v, want %v", op, text, m, s, each, numbersOf(got), want.Data)
					}
				}
				ask("eval", "", text, want)
				ask("grad", "", "sum("+text+"*w)", back)
				if !each {
					ask("eval", "", "f(x) = take(x, i, 0); vmap(f)(x)", want)
					ask("grad", "", "f(x, w) = take(x, i, 0)*w; sum(vmap(f)(x, w))", back)
				}
				if m <= fewPlaces+1 {
					ask("jacobian", "reverse", text+"*w", matrix)
					ask("jacobian", "forward", text+"*w", matrix)
				}
			}
		}
	}
}

// numbersOf are the numbers of the one tensor that is in v.
func numbersOf(v *tensor.Value) []float64 {
	for v.Tensor == nil {
		v = v.Fields[0].Value
	}
	return v.Tensor.Data
}

// TestTakeOutside: of many indices the one that is none is named.
func TestTakeOutside(t *testing.T) {
	for _, bad := range []float64{5, -6, 2.5} {
		idx := tensor.New(2, 700)
		idx.Data[1234] = bad
		for text, want := range map[string]string{
			"sum(x[i])":                         fmt.Sprintf("index %v is out of range for an axis of size 5", bad),
			"f(i) = sum(x[i]); sum(vmap(f)(i))": fmt.Sprintf("index %v is out of range for an axis of size 5", bad),
		} {
			if bad != math.Trunc(bad) && text == "sum(x[i])" {
				want = "an index is a whole number, not 2.5"
			}
			q := question(t, "grad", text, "x=[1, 2, 3, 4, 5]")
			q.Inputs = append(q.Inputs, Input{Name: "i", Value: tensor.Of(idx)})
			if _, err := q.Answer(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", text, err, want)
			}
		}
	}
}

// TestSearch holds the places of numbers among others to a count.
func TestSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	value := func() float64 {
		return []float64{math.Inf(-1), math.Copysign(0, -1), 0, 1, math.Inf(1), math.NaN(), float64(rng.IntN(9)), rng.NormFloat64()}[rng.IntN(8)]
	}
	for n := range 40 {
		a, v := make([]float64, n), make([]float64, 50)
		for i := range a {
			a[i] = value()
		}
		slices.SortFunc(a, func(x, y float64) int { // NaN last
			switch {
			case x < y || x == x && y != y:
				return -1
			case x > y || x != x && y == y:
				return 1
			}
			return 0
		})
		for i := range v {
			v[i] = value()
		}
		for _, right := range []bool{false, true} {
			got := make([]float64, len(v))
			search(got, a, v, right)
			one := make([]float64, 1) // few, searched one by one where a is long
			if search(one, a, v[:1], right); one[0] != got[0] {
				t.Fatalf("right %t: %v is at %v of %v by itself, at %v among others", right, v[0], one[0], a, got[0])
			}
			for i, v := range v {
				want := 0
				for _, x := range a {
					if x < v || x == x && v != v || right && (x == v || v != v) {
						want++
					}
				}
				if got[i] != float64(want) {
					t.Fatalf("right %t: %v is at %v of %v, want %d", right, v, got[i], a, want)
				}
			}
		}
	}
}
