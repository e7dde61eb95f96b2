package kit

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

var data = map[string]Mem{}

// Words is static data, written once however often it is asked for.
func Words(name string, words ...uint64) Mem {
	if m, ok := data[name]; ok {
		return m
	}
	// Data may be asked for in the midst of a function; avo keeps sections apart.
	m := GLOBL(name, RODATA|NOPTR)
	for i, w := range words {
		DATA(8*i, U64(w))
	}
	data[name] = m
	return m
}

// Floats is static data.
func Floats(name string, xs ...float64) Mem {
	words := make([]uint64, len(xs))
	for i, x := range xs {
		words[i] = math.Float64bits(x)
	}
	return Words(name, words...)
}

// Bits is a vector in memory with the word w in every lane: an operand of an
// instruction, or, on AVX-512, of one that ends in _BCST.
func Bits(w uint64) Mem {
	switch {
	case Leaf:
		return leafConstant(w)
	case Wide && base != nil:
		return constantAt(w)
	}
	return Words(fmt.Sprintf("w%016x", w), w, w, w, w, w, w, w, w)
}

// Float is Bits of x.
func Float(x float64) Mem { return Bits(math.Float64bits(x)) }

// Float32 is a vector in memory with x in every lane.
func Float32(x float32) Mem { return Bits32(math.Float32bits(x)) }

// Bits32 is Bits of a half word.
func Bits32(w uint32) Mem { return Bits(uint64(w)<<32 | uint64(w)) }

// Const is a register with x in every lane.
func Const(x float64) V { return ConstBits(math.Float64bits(x)) }

// ConstBits is a register with the word w in every lane.
func ConstBits(w uint64) V {
	if Neon {
		return Copy(literal(w))
	}
	if Leaf {
		return Copy(Bits(w))
	}
	v := New()
	VBROADCASTSD(Bits(w), v)
	return v
}
