package kit

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A Mask selects the first lanes of a vector: a mask register on AVX-512, a
// vector of sign bits on AVX2.
type Mask struct {
	k reg.Register
	v V
}

// K is the AVX-512 mask register.
func (m Mask) K() reg.Register { return m.k }

// V is the vector of sign bits of AVX2.
func (m Mask) V() V { return m.v }

// FirstLanes selects the first n lanes of float64, 0 <= n <= Lanes.
func FirstLanes(n reg.GPVirtual) Mask { return firstLanes(n, "tail", 8) }

// FirstLanes32 selects the first n lanes of float32, 0 <= n <= 2 Lanes.
func FirstLanes32(n reg.GPVirtual) Mask { return firstLanes(n, "tail32", 4) }

// firstLanes selects the first n lanes of so many bytes. AVX2 reads the mask from a table
// of ones and then zeros, of that name.
func firstLanes(n reg.GPVirtual, table string, size uint8) Mask {
	if Wide {
		bits, k := GP64(), K()
		MOVQ(I64(-1), bits)
		BZHIQ(n, bits, bits)
		KMOVW(bits.As32(), k)
		return Mask{k: k}
	}
	ones := Words(table, ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), 0, 0, 0, 0)
	p, j, v := GP64(), GP64(), YMM()
	LEAQ(ones, p)
	MOVQ(n, j)
	NEGQ(j)
	VMOVUPD(Mem{Base: p, Index: j, Scale: size, Disp: 32}, v)
	return Mask{v: v}
}

// LoadMasked reads the lanes of the mask and sets the others to 0; it does not
// touch memory outside them.
func LoadMasked(m Mem, mask Mask, v V) {
	if Wide {
		VMOVUPD_Z(m, mask.k, v)
	} else {
		VMASKMOVPD(m, mask.v, v)
	}
}

// MergeMasked reads the lanes of the mask and leaves the others of v.
func MergeMasked(m Mem, mask Mask, v V) {
	if Wide {
		VMOVUPD(m, mask.k, v)
		return
	}
	t := New()
	VMASKMOVPD(m, mask.v, t)
	VBLENDVPD(mask.v, t, v, v)
}

// FMAMasked is acc = fma(x, y, acc) in the lanes of the mask.
func FMAMasked(x, y V, mask Mask, acc V) {
	if Wide {
		VFMADD231PD(x, y, mask.k, acc)
		return
	}
	t := New()
	VMOVAPD(acc, t)
	VFMADD231PD(x, y, t)
	VBLENDVPD(mask.v, t, acc, acc)
}

// StoreMasked writes the lanes of the mask.
func StoreMasked(v V, mask Mask, m Mem) {
	if Wide {
		VMOVUPD(v, mask.k, m)
	} else {
		VMASKMOVPD(v, mask.v, m)
	}
}

// LoadMasked32 is LoadMasked of float32.
func LoadMasked32(m Mem, mask Mask, v V) {
	if Wide {
		VMOVUPS_Z(m, mask.k, v)
	} else {
		VMASKMOVPS(m, mask.v, v)
	}
}

// StoreMasked32 is StoreMasked of float32.
func StoreMasked32(v V, mask Mask, m Mem) {
	if Wide {
		VMOVUPS(v, mask.k, m)
	} else {
		VMASKMOVPS(v, mask.v, m)
	}
}
