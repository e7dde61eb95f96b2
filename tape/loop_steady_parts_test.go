package tape

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMovedParts: parts of what moves are, number by number, what they are parts of, and as few
// as there are places where neighbours part.
func TestMovedParts(t *testing.T) {
	tp := New()
	args := []Ref{tp.Tensor(normals(1, 7).Tensor), tp.Const(2), tp.Tensor(normals(1, 5).Tensor)}
	y := &steadyRun{steadyStep: &steadyStep{p: &Plan{t: tp}}}
	for _, r := range []struct {
		from  []int
		parts int
	}{
		{[]int{1, 2, 3, 4, 5, 6, 7}, 1},
		{[]int{2, 3, 4, 5, 6, 7, 1}, 2},       // a roll
		{[]int{7, 8, 9}, 3},                   // neighbours that are not one's
		{[]int{3, 3, 3, 3}, 1},                // a number, repeated
		{[]int{3, 3, 4, 5}, 2},                // and then others
		{[]int{0, 0, 1, 2, 0, 0, 0}, 3},       // among zeros
		{[]int{7, 6, 5}, 3},                   // backwards
		{[]int{1, 3, 5}, 3},                   // every other
		{[]int{9, 10, 11, 8, 8, 1, 2, 0}, 4},  // of all
		{[]int{1, 2, 3, 5, 6, 6, 6, 7, 7}, 4}, // a part begins where it is seen
		{nil, 0},
	} {
		checkMovedParts(t, y, args, r.from)
		if n := len(y.movedParts(r.from, args)); n != r.parts {
			t.Errorf("%v: %d parts, want %d", r.from, n, r.parts)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var from []int
		for k := 0; len(from) < 20; k = max(0, k+[]int{0, 1, 1, rng.IntN(9) - 4}[rng.IntN(4)]) {
			from = append(from, k%14)
		}
		checkMovedParts(t, y, args, from)
	}
}

// checkMovedParts puts parts together again.
func checkMovedParts(t *testing.T, y *steadyRun, args []Ref, from []int) {
	t.Helper()
	starts, n := []int{}, 0
	for _, a := range args {
		starts = append(starts, n+1)
		n += y.p.t.size(a)
	}
	var got []int
	for _, p := range y.movedParts(from, args) {
		if p.to != len(got) {
			t.Fatalf("%v: a part begins at %d, want %d", from, p.to, len(got))
		}
		for i := range p.n {
			if p.arg < 0 {
				got = append(got, 0)
			} else {
				got = append(got, starts[p.arg]+p.off+i*p.by)
			}
		}
	}
	if !slices.Equal(got, from) {
		t.Fatalf("%v: its parts are %v", from, got)
	}
}
