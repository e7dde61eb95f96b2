package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"nabla/kernels/_asm/kit"
)

// residuals writes the kernel of residuals, or with Apart or Rest or both in its name: sums of some vectors of dst, and
// beside them what they lose, stay in registers while k runs.
func residuals(apart, rest bool) {
	name, slices, sizes, does, loses := "residuals", "dst, a, b", "ld", "dst[j] = residual(dst[j], a, b[j:], ld)", ""
	if apart {
		name, sizes, does = name+"Apart", "lda, ldb, m", "dst[j] = residual of a[j], a[j+lda], …, m of them, and b[j], b[j+ldb], …"
	}
	if rest {
		name, slices, loses = name+"Rest", "dst, rest, a, b", ", rest[j] what rounding left out of it"
	}
	name += kit.Suffix
	TEXT(name, NOSPLIT, "func("+slices+" []float64, "+sizes+" int)")
	kit.Equals(name, "\tfor j := range dst { "+does+loses+" }")
	Pragma("noescape")

	r := &residue{dst: GP64(), n: GP64(), b: GP64(), a: GP64(), k: GP64(), ld: GP64(), apart: apart}
	Load(Param("dst").Base(), r.dst)
	Load(Param("dst").Len(), r.n)
	if rest {
		r.rest = GP64()
		Load(Param("rest").Base(), r.rest)
	}
	Load(Param("a").Base(), r.a)
	Load(Param("b").Base(), r.b)
	if apart {
		r.lda = GP64()
		Load(Param("lda"), r.lda)
		SHLQ(Imm(3), r.lda)
		Load(Param("ldb"), r.ld)
		Load(Param("m"), r.k)
	} else {
		Load(Param("a").Len(), r.k)
		Load(Param("ld"), r.ld)
	}
	SHLQ(Imm(3), r.ld)
	r.one = kit.Const(1)
	for _, vectors := range []int{4, 2} {
		label, done := fmt.Sprintf("columns%d", vectors), fmt.Sprintf("done%d", vectors)
		size := uint64(vectors * kit.Lanes)
		SUBQ(Imm(size), r.n)
		JLT(LabelRef(done))
		Label(label)
		r.columns(label, vectors, nil)
		ADDQ(I32(int32(8*size)), r.dst)
		ADDQ(I32(int32(8*size)), r.b)
		if apart {
			ADDQ(I32(int32(8*size)), r.a)
		}
		if rest {
			ADDQ(I32(int32(8*size)), r.rest)
		}
		SUBQ(Imm(size), r.n)
		JGE(LabelRef(label))
		Label(done)
		ADDQ(Imm(size), r.n)
	}
	JZ(LabelRef("end"))
	CMPQ(r.n, Imm(uint64(kit.Lanes)))
	JLE(LabelRef("short"))
	SUBQ(Imm(uint64(kit.Lanes)), r.n)
	mask := kit.FirstLanes(r.n)
	r.columns("last2", 2, &mask)
	JMP(LabelRef("end"))
	Label("short")
	mask = kit.FirstLanes(r.n)
	r.columns("last", 1, &mask)
	Label("end")
	VZEROUPPER()
	RET()
}

// A residue is where the kernel is: at dst and b, with n columns to go.
type residue struct {
	dst, n, b, a, k, ld reg.GPVirtual
	one                 v // three of eight sums are multiply-adds by it, which other pipes do than sums: .7 of the time

	apart bool          // each column has factors of its own
	lda   reg.GPVirtual // from one to the next
	rest  reg.Register  // where what rounding leaves out goes; nil: nowhere
}

// columns does some vectors, of the last one what the mask has.
func (r *residue) columns(label string, vectors int, mask *kit.Mask) {
	masked := func(j int) bool { return mask != nil && j == vectors-1 }
	load := func(base reg.Register, j int) v {
		x := kit.New()
		if masked(j) {
			kit.LoadMasked(at(base, j), *mask, x)
		} else {
			VMOVUPD(at(base, j), x)
		}
		return x
	}
	var sum, low []v
	for j := range vectors {
		sum, low = append(sum, load(r.dst, j)), append(low, zero())
	}
	a, b, k := GP64(), GP64(), GP64()
	MOVQ(r.a, a)
	MOVQ(r.b, b)
	MOVQ(r.k, k)
	Label(label + "k")
	factor := kit.New()
	if !r.apart {
		VBROADCASTSD(Mem{Base: a}, factor)
	}
	for j := range vectors {
		if r.apart {
			factor = load(a, j)
		}
		x := load(b, j)
		p := kit.Mul(factor, x)
		e := kit.Nmadd(x, factor, p) // what the product loses
		t := kit.Sub(sum[j], p)
		u := kit.Sub(t, sum[j])
		was := kit.Sub(t, u)
		kit.NegSubMul(p, u, r.one)
		kit.Nmadd(was, r.one, sum[j])
		kit.Madd(e, r.one, kit.Add(was, p)) // and the sum
		VADDPD(e, low[j], low[j])
		VMOVAPD(t, sum[j])
	}
	if r.apart {
		ADDQ(r.lda, a)
	} else {
		ADDQ(Imm(8), a)
	}
	ADDQ(r.ld, b)
	DECQ(k)
	JNZ(LabelRef(label + "k"))
	for j, s := range sum {
		t := kit.Add(s, low[j])
		finite := kit.Compare(kit.Sub(t, t), kit.EQ, zero())
		t = kit.Choose(finite, t, s)
		store := func(x v, base reg.Register) {
			if masked(j) {
				kit.StoreMasked(x, *mask, at(base, j))
			} else {
				VMOVUPD(x, at(base, j))
			}
		}
		store(t, r.dst)
		if r.rest != nil {
			store(kit.Add(kit.Sub(s, t), low[j]), r.rest)
		}
	}
}

func zero() v {
	z := kit.New()
	kit.Zero(z)
	return z
}
