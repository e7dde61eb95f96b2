//go:build !purego && (linux || darwin)

package kernels

import (
	"fmt"
	"slices"
	"testing"
)

// TestMadeBefore: the same lines are the same machine, others are others, and so are the
// same lines on columns that lie elsewhere.
func TestMadeBefore(t *testing.T) {
	lines := func(do Do, keep bool) []Line {
		return []Line{{Do: do, Dst: 1, Arg: [3]int32{0, 0}}, {Do: DoNeg, Dst: 2, Arg: [3]int32{1}, Keep: keep}}
	}
	fused := func(stride int, one int32, lies Column) func([]Line) *Machine {
		return func(l []Line) *Machine {
			m, call := Fuse(l, stride, func(p int32) Column {
				if p == one {
					return lies
				}
				return InLine
			})
			if m != nil && call.entry != m.entry {
				t.Error("a call that is not of the machine")
			}
			return m
		}
	}
	makers := []func([]Line) *Machine{MakeSteps, MakeLanes, fused(8, 0, Apart), fused(16, 0, Apart), fused(8, 1, Apart), fused(8, 9, Apart), fused(8, 0, Number)}
	if MakeSteps(lines(DoAdd, true)) == nil {
		t.Skip("no machine code on this tier")
	}
	seen := map[*Machine]string{}
	for i, f := range makers {
		for _, l := range [][]Line{lines(DoAdd, true), lines(DoMul, true), lines(DoAdd, false)} {
			m := f(l)
			if f(slices.Clone(l)) != m {
				t.Errorf("maker %d made %s twice", i, printed(l))
			}
			who := fmt.Sprintf("maker %d: %s", i, printed(l))
			if seen[m] != "" {
				t.Errorf("%s is the machine of %s", who, seen[m])
			}
			seen[m] = who
		}
	}
	for i := range 3 * mostKept { // others take its place
		MakeSteps([]Line{{Do: DoNeg, Dst: int32(8 * i), Keep: true}})
	}
	if len(kept.list) != mostKept {
		t.Errorf("%d machines are kept, want %d", len(kept.list), mostKept)
	}
}
