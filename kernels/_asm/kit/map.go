package kit

import (
	"slices"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

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

	// Parts, if not 0, is into how many parts AVX2 cuts Body (parts.go).
	Parts int

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

// slices are the names of all slices of the kernel, the results first.
func (m Map) slices() []string {
	all := names(m.Dst)
	for _, a := range names(m.Args) {
		if !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	return all
}

// signature is Sig, or where there is none the slices and then the scalars.
func (m Map) signature() string {
	if m.Sig != "" {
		return m.Sig
	}
	number := "float64"
	if m.Packed || m.Narrow != "" {
		number = "float32"
	}
	sig := "func(" + strings.Join(m.slices(), ", ") + " []" + number
	if m.Scalars != "" {
		sig += ", " + m.Scalars + " " + number
	}
	sig += ")"
	if m.Stop != nil {
		sig += " (done int)"
	}
	return sig
}

// Write emits the kernel. Results may alias arguments exactly, since each turn
// reads its vectors before it writes them.
func (m Map) Write() {
	if m.Dst == "" {
		m.Dst = "dst"
	}
	if m.Lag > 0 && !Wide {
		m.Unroll = 1
	}
	m.Sig = m.signature()
	held, base, packedNow = map[uint64]V{}, nil, m.Packed
	switch {
	case Leaf:
		m.writeLeaf()
	case Neon:
		m.writeNeon()
	default:
		m.writeLoops()
	}
}

// loops is a kernel that is being written for AVX2 or AVX-512.
type loops struct {
	Map
	dst, args []string
	lanes     int                     // of a vector of its elements
	ptr       map[string]reg.Register // where each slice begins
	i         reg.GPVirtual           // the element at hand
	n         reg.GPVirtual           // how many are left
	fixed     []V                     // the scalars, in every lane
}

// writeLoops writes the kernel for AVX2 or AVX-512.
func (m Map) writeLoops() {
	all := m.slices()
	if m.Scalars == "" {
		Entry(m.Name + Suffix)
	}
	TEXT(m.Name+Suffix, NOSPLIT, m.Sig)
	Equals(m.Name+Suffix, m.Doc)
	Pragma("noescape")

	l := &loops{Map: m, dst: names(m.Dst), args: names(m.Args), lanes: Lanes, ptr: map[string]reg.Register{}}
	if m.Packed {
		l.lanes *= 2
	}
	l.n = GP64()
	Load(Param(l.dst[0]).Len(), l.n)
	CheckLengths(l.n, all[1:]...)
	for _, s := range all {
		l.ptr[s] = Load(Param(s).Base(), GP64())
	}
	for _, s := range names(m.Scalars) {
		v := New()
		of(VBROADCASTSD, VBROADCASTSS)(Addr(s), v)
		l.fixed = append(l.fixed, v)
	}
	if m.Setup != nil {
		m.Setup()
	}
	l.i = GP64()
	XORQ(l.i, l.i)
	if m.Unroll > 1 {
		l.loop("wide", m.Unroll)
	}
	if m.Parts > 1 && !Wide {
		l.blocks()
	}
	l.loop("vector", 1)
	JZ(LabelRef("end"))
	l.tail()
	Label("end")
	if m.Stop != nil {
		Load(Param(l.dst[0]).Len(), l.i)
		Label("stop")
		Store(l.i, ReturnIndex(0))
	}
	VZEROUPPER()
	RET()
	if len(all) > 1 {
		Short()
	}
}

// loop writes a loop whose turns do that many vectors, as long as there are so many.
func (l *loops) loop(label string, vectors int) {
	size := l.lanes * vectors
	SUBQ(Imm(uint64(size)), l.n)
	JLT(LabelRef(label + "done"))
	Label(label)
	switch {
	case vectors > 1 && l.Lag > 0:
		l.staggered(vectors)
	case vectors > 1 && l.Turn != nil:
		l.Turn(
			func(u, i int, v V) { l.load(l.args[i], u, v) },
			func(u, i int, v V) { l.store(l.dst[i], u, v) })
	case vectors > 1 && l.Together != nil:
		l.together(vectors)
	default:
		for u := range vectors {
			x := l.arguments(u)
			if l.Stop != nil {
				l.Stop(x)
			}
			for d, v := range l.Body(append(x, l.fixed...)) {
				l.store(l.dst[d], u, v)
			}
		}
	}
	ADDQ(Imm(uint64(size)), l.i)
	SUBQ(Imm(uint64(size)), l.n)
	JGE(LabelRef(label))
	Label(label + "done")
	ADDQ(Imm(uint64(size)), l.n)
}

// staggered is a turn of bodies that run one behind the other. All vectors are looked at
// first, since a stop leaves none of a turn done.
func (l *loops) staggered(vectors int) {
	if l.Stop != nil {
		for u := range vectors {
			l.Stop(l.arguments(u))
		}
	}
	Stagger(vectors, l.Lag, func(u int) {
		x := slices.Clone(l.fixed)
		for i, a := range l.args {
			v := New()
			Do(func() { l.load(a, u, v) }, v)
			x = slices.Insert(x, i, v)
		}
		for i, y := range l.Body(x) {
			Do(func() { l.store(l.dst[i], u, y) }, y)
		}
	})
}

// together is a turn of Together.
func (l *loops) together(vectors int) {
	xs := make([][]V, vectors)
	for u := range xs {
		xs[u] = append(l.arguments(u), l.fixed...)
		if l.Stop != nil {
			l.Stop(xs[u])
		}
	}
	for u, y := range l.Together(xs) {
		for d, v := range y {
			l.store(l.dst[d], u, v)
		}
	}
}

// tail does what is left, less than a vector.
func (l *loops) tail() {
	mask := FirstLanes(l.n)
	if Single {
		mask = FirstLanes32(l.n)
	}
	var x []V
	for _, a := range l.args {
		v := New()
		l.element(a).loadMasked(l.at(a, 0), mask, v)
		x = append(x, v)
	}
	if l.Stop != nil {
		l.Stop(x)
	}
	for d, v := range l.Body(append(x, l.fixed...)) {
		l.element(l.dst[d]).storeMasked(v, mask, l.at(l.dst[d], 0))
	}
}

// arguments loads vector u of every argument.
func (l *loops) arguments(u int) (x []V) {
	for _, a := range l.args {
		v := New()
		l.load(a, u, v)
		x = append(x, v)
	}
	return x
}

// at is where vector u of a slice is.
func (l *loops) at(slice string, u int) Mem {
	size := l.element(slice).size
	return Mem{Base: l.ptr[slice], Index: l.i, Scale: uint8(size), Disp: size * l.lanes * u}
}

func (l *loops) load(slice string, u int, v V)  { l.element(slice).load(l.at(slice, u), v) }
func (l *loops) store(slice string, u int, v V) { l.element(slice).store(v, l.at(slice, u)) }

func (l *loops) element(slice string) *element {
	switch {
	case l.Packed:
		return packed
	case slices.Contains(names(l.Narrow), slice):
		return narrow
	}
	return double
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
