package kit

import (
	"math"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// held is the constants that the kernel being written keeps in registers.
var held map[uint64]V

// Number is a constant in every lane, in a register or in memory; Word is the same of
// its bits.
func Number(x float64) Op { return Word(math.Float64bits(x)) }

func Word(w uint64) Op {
	switch {
	case Neon:
		return literal(w)
	case held[w] != nil:
		return held[w]
	case base != nil:
		return constantAt(w)
	}
	return Bits(w)
}

// Hold keeps constants in registers from here on, on AVX-512.
func Hold(xs ...float64) {
	if !Wide {
		return
	}
	for _, x := range xs {
		if w := math.Float64bits(x); held[w] == nil {
			held[w] = Copy(Word(w))
		}
	}
}

// The constants stand sixteen times each, so that from the right offset on, a
// multiple of 64, eight of them are a vector that does not cross a cache line: the
// linker aligns data to 32 bytes only, and a split load costs two.
var (
	constants []uint64
	base      reg.GPVirtual
)

const stride = 128

func constantAt(w uint64) Mem {
	i := slices.Index(constants, w)
	if i < 0 {
		i = len(constants)
		constants = append(constants, w)
	}
	return Mem{Base: base, Disp: stride * i}
}

// FindConstants points base to the constants, for the kernel being written.
func FindConstants() {
	if Neon || Leaf {
		return
	}
	base = GP64()
	LEAQ(NewDataAddr(Symbol{Name: "constants", Static: true}, 0), base)
	ADDQ(Imm(63), base)
	ANDQ(I8(-64), base)
}

func writeConstants() {
	var words []uint64
	for _, w := range constants {
		words = append(words, slices.Repeat([]uint64{w}, stride/8)...)
	}
	Words("constants", words...)
}
