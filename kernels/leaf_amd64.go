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
// X0 and X1 hold nothing. A leaf changes no other registers than AX, CX, DX, SI, DI, R8 to
// R11, R13, R15 and the first ones of vectors (leafVectors), of which it uses the low halves
// only; it uses no stack but its return address.
func leafOf(f unsafe.Pointer) uintptr {
	if tier < 2 {
		return 0
	}
	leavesOnce.Do(findLeaves)
	return leaves[f].code
}

// leafVectors is how many registers of vectors, from X0 on, the leaf of f may change.
func leafVectors(f unsafe.Pointer) int {
	leavesOnce.Do(findLeaves)
	return leaves[f].vectors
}

// The leaves by function value, found when first asked for.
var (
	leavesOnce sync.Once
	leaves     map[unsafe.Pointer]leaf
)

type leaf struct {
	code    uintptr
	vectors int
}

func findLeaves() {
	leaves = map[unsafe.Pointer]leaf{}
	for _, l := range []struct {
		twins   []any
		vectors []uint8
		first   func() *uintptr
	}{
		{arithLeafTwins, arithLeafVectors, arithLeafEntries},
		{expLeafTwins, expLeafVectors, expLeafEntries},
		{trigLeafTwins, trigLeafVectors, trigLeafEntries},
	} {
		for i, code := range unsafe.Slice(l.first(), len(l.twins)) {
			leaves[pointer(l.twins[i])] = leaf{code, int(l.vectors[i])}
		}
	}
}

// callLeaf calls a leaf, with arguments that have something else in their high lanes. It
// stops the program if the leaf does not leave alone what it must. The registers from X3 on
// are read from vectors before, and written there after, unless it is nil.
func callLeaf(code uintptr, x, y, z float64, vectors *[16]float64) (a, b float64, odd bool)
