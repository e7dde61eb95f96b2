//go:build !purego

package kernels

import (
	"sync"
	"unsafe"
)

// leafOf finds the leaf of a function of single numbers, which is given as a function value
// (SinOf, PowOf, SinCosOf); 0 if it has none, or this tier has not.
//
// A leaf is the same arithmetic, and has the same bits, for machine code that is made at run
// time and cannot call Go. Its arguments are the low lanes of X0, X1 and X2, its results
// those of X0 and X1. The carry flag is set where it cannot do these arguments: Go must, and
// X0 and X1 hold nothing. A leaf changes no other registers than those of vectors, of which
// it uses the low halves only, and AX, CX, DX, SI, DI, R8 to R11, R13 and R15; it uses no
// stack but its return address.
func leafOf(f unsafe.Pointer) uintptr {
	if tier < 2 {
		return 0
	}
	leavesOnce.Do(findLeaves)
	return leaves[f]
}

// The leaves by function value, found when first asked for.
var (
	leavesOnce sync.Once
	leaves     map[unsafe.Pointer]uintptr
)

func findLeaves() {
	leaves = map[unsafe.Pointer]uintptr{}
	for _, l := range []struct {
		twins []any
		first func() *uintptr
	}{
		{arithLeafTwins, arithLeafEntries}, {expLeafTwins, expLeafEntries}, {trigLeafTwins, trigLeafEntries},
	} {
		for i, code := range unsafe.Slice(l.first(), len(l.twins)) {
			leaves[pointer(l.twins[i])] = code
		}
	}
}

// callLeaf calls a leaf, with arguments that have something else in their high lanes. It
// stops the program if the leaf does not leave alone what it must.
func callLeaf(code uintptr, x, y, z float64) (a, b float64, odd bool)
