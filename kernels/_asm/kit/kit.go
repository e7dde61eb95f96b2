// Package kit writes the loops around vector kernels, so that a generator holds
// only the arithmetic.
//
// A generator describes a kernel as a Map (map.go): its slices, and a body that computes
// vectors from vectors with the operations of ops.go and the constants and tables of
// constants.go and table.go. From the one description come
//
//	AVX2, AVX-512   an unrolled loop, a loop of single vectors, a masked tail (map.go), by avo
//	NEON            the same, with the registers given and the instructions encoded here,
//	                since avo knows amd64 alone (neon.go, neon_registers.go, neon_write.go)
//	leaves          a function of single numbers that machine code calls (leaf.go)
//
// Which of them a run of a generator writes its flags say. What is being written is kept in
// variables of the package, since a generator writes one kernel after the other.
package kit

import (
	"flag"
	"go/types"
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
