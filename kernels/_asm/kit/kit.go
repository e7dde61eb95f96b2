// Package kit writes the loops around vector kernels, so that a generator holds
// only the arithmetic: one body, turned into full vectors, an unrolled loop and
// a masked tail, on AVX2, AVX-512 or NEON.
package kit

import (
	"flag"
	"fmt"
	"go/types"
	"math"
	"slices"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A V is a vector: four float64 on AVX2, eight on AVX-512, two on NEON.
type V = reg.VecVirtual

// Wide is whether the tier is AVX-512, Neon whether it is NEON. Suffix and Lanes go
// with them. Single is whether the kernels are those of float32, Leaf whether they are
// leaves, of two lanes.
var (
	Wide, Neon, Single, Leaf bool
	Suffix                   = "AVX2"
	Lanes                    = 4
)

// Start reads the flags; a generator calls it first and Finish last.
func Start() {
	tier := flag.String("tier", "avx2", "avx2, avx512, neon or leaf")
	flag.BoolVar(&Single, "single", false, "write the kernels of float32")
	flag.Parse()
	switch *tier {
	case "avx512":
		Wide, Suffix, Lanes = true, "AVX512", 8
	case "neon":
		Neon, Suffix, Lanes = true, "NEON", 2
	case "leaf":
		Leaf, Suffix, Lanes = true, "Leaf", 2
	}
	if Single {
		Suffix = "32" + Suffix
	}
	ConstraintExpr("!purego")
}

// Finish writes the files.
func Finish() {
	if Neon {
		generateNeon()
		return
	}
	if Leaf {
		writeLeaves()
		Generate()
		listLeaves()
		return
	}
	if constants != nil {
		writeConstants()
	}
	if entries != nil {
		writeEntries()
		defer listEntries()
	}
	Generate()
}

// Declare makes the name of a type of package kernels known to signatures.
func Declare(name string) {
	t := types.NewTypeName(0, nil, name, nil)
	types.NewNamed(t, types.NewStruct(nil, nil), nil)
	types.Universe.Insert(t)
}

// New is a fresh vector.
func New() V {
	switch {
	case Wide:
		return ZMM()
	case Leaf:
		return XMM()
	}
	return YMM()
}

// A Map is an elementwise kernel: for every i, (Dst[i], …) = Body(Args[i], …).
type Map struct {
	Name    string // without the tier: "add" makes addAVX512
	Doc     string // the Go loop it equals
	Of      string // the Go function of single numbers, where the kernel has a leaf
	Dst     string // names of the results; "dst" if empty
	Args    string // names of the slices it reads: "x, y"; dst may be among them
	Scalars string // names of float64 parameters; Body finds them after Args, in every lane
	Narrow  string // names of the slices of float32; Body has their elements as float64
	Packed  bool   // all is float32, and Body has twice as many lanes of it
	Sig     string // the signature, where it is not Dst, Args, Scalars in this order
	Unroll  int    // vectors a turn; 1 if 0
	Setup   func() // loads constants, once
	Body    func(x []V) []V

	// Lag, if not 0, has Unroll bodies stagger on AVX-512; there is one on AVX2.
	Lag float64

	// Together, if there, is Body of all the vectors of an unrolled turn at once. On
	// NEON Unroll, Lag, Together and Turn do not matter: bodies always go side by side.
	Together func(x [][]V) [][]V

	// Turn, if there, is an unrolled turn with its loads and stores, of argument or
	// result i of vector u.
	Turn func(load, store func(u, i int, v V))

	// Stop, if there, jumps to the label "stop" where Body cannot do a vector. The
	// kernel then returns how many elements it has done; Unroll needs Together.
	Stop func(x []V)

	// Cases are arguments for which a leaf has a Body of its own, in which Case tells it
	// so: each checks with Within and WithinAbs that its case is there.
	Cases []func(x []V)
}

func names(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ", ")
}

// Write emits the kernel. Results may alias arguments exactly, since each turn
// reads its vectors before it writes them.
func (m Map) Write() {
	if m.Dst == "" {
		m.Dst = "dst"
	}
	dst, args, scalars := names(m.Dst), names(m.Args), names(m.Scalars)
	all := append([]string{}, dst...)
	for _, a := range args {
		if !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	number := "float64"
	if m.Packed || m.Narrow != "" {
		number = "float32"
	}
	if m.Lag > 0 && !Wide {
		m.Unroll = 1
	}
	if m.Sig == "" {
		m.Sig = "func(" + strings.Join(all, ", ") + " []" + number
		if m.Scalars != "" {
			m.Sig += ", " + m.Scalars + " " + number
		}
		m.Sig += ")"
		if m.Stop != nil {
			m.Sig += " (done int)"
		}
	}
	held, base, packedNow = map[uint64]V{}, nil, m.Packed
	if Leaf {
		m.writeLeaf()
		return
	}
	if Neon {
		m.writeNeon()
		return
	}
	if m.Scalars == "" {
		Entry(m.Name + Suffix)
	}
	TEXT(m.Name+Suffix, NOSPLIT, m.Sig)
	Equals(m.Name+Suffix, m.Doc)
	Pragma("noescape")

	n := GP64()
	Load(Param(dst[0]).Len(), n)
	CheckLengths(n, all[1:]...)
	ptr := map[string]reg.Register{}
	for _, s := range all {
		ptr[s] = Load(Param(s).Base(), GP64())
	}
	var fixed []V
	for _, s := range scalars {
		v := New()
		if m.Packed {
			VBROADCASTSS(Addr(s), v)
		} else {
			VBROADCASTSD(Addr(s), v)
		}
		fixed = append(fixed, v)
	}
	if m.Setup != nil {
		m.Setup()
	}

	i := GP64()
	XORQ(i, i)
	lanes := Lanes
	if m.Packed {
		lanes *= 2
	}
	element := func(s string) *element {
		switch {
		case m.Packed:
			return packed
		case slices.Contains(names(m.Narrow), s):
			return narrow
		}
		return double
	}
	at := func(s string, u int) Mem {
		size := element(s).size
		return Mem{Base: ptr[s], Index: i, Scale: uint8(size), Disp: size * lanes * u}
	}
	load := func(s string, u int, v V) { element(s).load(at(s, u), v) }
	store := func(s string, u int, v V) { element(s).store(v, at(s, u)) }
	turn := func(unroll int) {
		if m.Lag > 0 && unroll > 1 {
			for u := range unroll {
				if m.Stop != nil {
					var x []V
					for _, a := range args {
						v := New()
						load(a, u, v)
						x = append(x, v)
					}
					m.Stop(x)
				}
			}
			Stagger(unroll, m.Lag, func(u int) {
				x := slices.Clone(fixed)
				for i := range args {
					v := New()
					Do(func() { load(args[i], u, v) }, v)
					x = slices.Insert(x, i, v)
				}
				for i, y := range m.Body(x) {
					Do(func() { store(dst[i], u, y) }, y)
				}
			})
			return
		}
		if m.Turn != nil && unroll > 1 {
			m.Turn(
				func(u, i int, v V) { load(args[i], u, v) },
				func(u, i int, v V) { store(dst[i], u, v) })
			return
		}
		if m.Together != nil && unroll > 1 {
			xs := make([][]V, unroll)
			for u := range xs {
				for _, a := range args {
					v := New()
					load(a, u, v)
					xs[u] = append(xs[u], v)
				}
				xs[u] = append(xs[u], fixed...)
				if m.Stop != nil {
					m.Stop(xs[u])
				}
			}
			for u, y := range m.Together(xs) {
				for d, v := range y {
					store(dst[d], u, v)
				}
			}
			return
		}
		for u := range unroll {
			var x []V
			for _, a := range args {
				v := New()
				load(a, u, v)
				x = append(x, v)
			}
			if m.Stop != nil {
				m.Stop(x)
			}
			for d, v := range m.Body(append(x, fixed...)) {
				store(dst[d], u, v)
			}
		}
	}
	loop := func(label string, unroll int) {
		size := lanes * unroll
		SUBQ(Imm(uint64(size)), n)
		JLT(LabelRef(label + "done"))
		Label(label)
		turn(unroll)
		ADDQ(Imm(uint64(size)), i)
		SUBQ(Imm(uint64(size)), n)
		JGE(LabelRef(label))
		Label(label + "done")
		ADDQ(Imm(uint64(size)), n)
	}
	if m.Unroll > 1 {
		loop("wide", m.Unroll)
	}
	loop("vector", 1)

	JZ(LabelRef("end"))
	mask := FirstLanes(n)
	if Single {
		mask = FirstLanes32(n)
	}
	var x []V
	for _, a := range args {
		v := New()
		element(a).loadMasked(at(a, 0), mask, v)
		x = append(x, v)
	}
	if m.Stop != nil {
		m.Stop(x)
	}
	for d, v := range m.Body(append(x, fixed...)) {
		element(dst[d]).storeMasked(v, mask, at(dst[d], 0))
	}
	Label("end")
	if m.Stop != nil {
		Load(Param(dst[0]).Len(), i)
		Label("stop")
		Store(i, ReturnIndex(0))
	}
	VZEROUPPER()
	RET()
	if len(all) > 1 {
		Short()
	}
}

// An element is how numbers of a slice come into a vector and leave it.
type element struct {
	size        int
	load        func(m Mem, v V)
	store       func(v V, m Mem)
	loadMasked  func(m Mem, mask Mask, v V)
	storeMasked func(v V, mask Mask, m Mem)
}

var (
	double = &element{8, func(m Mem, v V) { VMOVUPD(m, v) }, func(v V, m Mem) { VMOVUPD(v, m) },
		func(m Mem, mask Mask, v V) {
			if Single && !Wide {
				mask = widened(mask)
			}
			LoadMasked(m, mask, v)
		},
		func(v V, mask Mask, m Mem) {
			if Single && !Wide {
				mask = widened(mask)
			}
			StoreMasked(v, mask, m)
		}}
	packed = &element{4, func(m Mem, v V) { VMOVUPS(m, v) }, func(v V, m Mem) { VMOVUPS(v, m) },
		LoadMasked32, StoreMasked32}
	narrow = &element{4, func(m Mem, v V) { VCVTPS2PD(m, v) }, func(v V, m Mem) { VMOVUPS(Narrowed(v), m) },
		func(m Mem, mask Mask, v V) {
			if Wide {
				VCVTPS2PD_Z(m, mask.k, v)
				return
			}
			t := XMM()
			VMASKMOVPS(m, mask.v.AsX(), t)
			VCVTPS2PD(t, v)
		},
		func(v V, mask Mask, m Mem) {
			if Wide {
				VMOVUPS(Narrowed(v), mask.k, m)
			} else {
				VMASKMOVPS(Narrowed(v), mask.v.AsX(), m)
			}
		}}
)

// Narrowed is v rounded to float32, in half a vector.
func Narrowed(v V) reg.VecVirtual {
	if Wide {
		t := YMM()
		VCVTPD2PS(v, t)
		return t
	}
	t := XMM()
	VCVTPD2PSY(v, t)
	return t
}

// widened is a mask of float32 for the first lanes of float64.
func widened(mask Mask) Mask {
	t := YMM()
	VPMOVSXDQ(mask.v.AsX(), t)
	return Mask{v: t}
}

// FirstLanes32 is FirstLanes of float32.
func FirstLanes32(n reg.GPVirtual) Mask {
	if Wide {
		return FirstLanes(n)
	}
	table := Words("tail32", ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), 0, 0, 0, 0)
	p, j, v := GP64(), GP64(), YMM()
	LEAQ(table, p)
	MOVQ(n, j)
	NEGQ(j)
	VMOVUPD(Mem{Base: p, Index: j, Scale: 4, Disp: 32}, v)
	return Mask{v: v}
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

// Addr is where a parameter is.
func Addr(param string) Mem {
	a, err := Param(param).Resolve()
	if err != nil {
		panic(err)
	}
	return a.Addr
}

// Equals makes the Go loop that a kernel equals the comment of its declaration.
func Equals(name, text string) {
	if text != "" {
		Doc(strings.Split(name+" is\n\n"+text, "\n")...)
	}
}

// CheckLengths jumps to Short if a slice is shorter than n.
func CheckLengths(n reg.Register, slices ...string) {
	for _, s := range slices {
		a, err := Param(s).Len().Resolve()
		if err != nil {
			panic(err)
		}
		CMPQ(a.Addr, n)
		JLT(LabelRef("short"))
	}
}

// Short is where CheckLengths goes: the Go function of that name panics. The
// frame is empty, so a jump is a call in the caller's name.
func Short() {
	Label("short")
	Instruction(&ir.Instruction{Opcode: "JMP", Operands: []Op{LabelRef("·short(SB)")}, IsTerminal: true})
}

// Zero sets v to 0. It is spelt out so that avo knows that it reads nothing.
func Zero(v V) {
	if Neon {
		become(v, constantID(0))
		return
	}
	op := "VXORPD"
	if Wide {
		op = "VPXORQ"
	}
	Do(func() { Instruction(&ir.Instruction{Opcode: op, Operands: []Op{v, v, v}, Outputs: []Op{v}}) }, v)
}

// A Mask selects the first lanes of a vector: a mask register on AVX-512, a
// vector of sign bits on AVX2.
type Mask struct {
	k reg.Register
	v V
}

// K is the AVX-512 mask register.
func (m Mask) K() reg.Register { return m.k }

// FirstLanes selects the first n lanes, 0 <= n <= Lanes.
func FirstLanes(n reg.GPVirtual) Mask {
	if Wide {
		bits, k := GP64(), K()
		MOVQ(I64(-1), bits)
		BZHIQ(n, bits, bits)
		KMOVW(bits.As32(), k)
		return Mask{k: k}
	}
	table := Words("tail", ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), 0, 0, 0, 0)
	p, j, v := GP64(), GP64(), YMM()
	LEAQ(table, p)
	MOVQ(n, j)
	NEGQ(j)
	VMOVUPD(Mem{Base: p, Index: j, Scale: 8, Disp: 32}, v)
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
	if Leaf {
		return leafConstant(w)
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
