package kit

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"log"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	. "github.com/mmcloughlin/avo/operand"
)

// What is written: the functions, the data by name in order, the stubs.
var (
	text, stubs, sections bytes.Buffer
	dataWritten           = map[string]bool{}
	literals              []uint64 // constants, in the order of their place in memory
)

func dataNeon(name string, words []uint64) {
	if dataWritten[name] {
		return
	}
	dataWritten[name] = true
	fmt.Fprintln(&sections)
	for i, w := range words {
		fmt.Fprintf(&sections, "DATA %s<>+%d(SB)/8, $0x%016x\n", name, 8*i, w)
	}
	fmt.Fprintf(&sections, "GLOBL %s<>(SB), RODATA|NOPTR, $%d\n", name, 8*len(words))
}

// loadConstant is the instruction that loads a constant into a register.
func loadConstant(w uint64, d int) string {
	i := slices.Index(literals, w)
	if i < 0 {
		i = len(literals)
		literals = append(literals, w)
	}
	return fmt.Sprintf("FMOVQ %d(R%d), F%d // %s", 16*i, constantsR, d, describe(w))
}

func describe(w uint64) string {
	if x := math.Float64frombits(w); math.Abs(x) > 1e-300 && math.Abs(x) < 1e300 {
		return fmt.Sprint(x)
	}
	return fmt.Sprintf("%#x", w)
}

// parameters are the offsets of the parameters and results of a signature, and the size
// of all.
func parameters(sig string) (offset map[string]int, size int) {
	e, err := parser.ParseExpr(sig)
	if err != nil {
		log.Fatalf("%s: %v", sig, err)
	}
	offset = map[string]int{}
	f := e.(*ast.FuncType)
	fields := f.Params.List
	if f.Results != nil {
		fields = append(slices.Clone(fields), f.Results.List...)
	}
	for _, p := range fields {
		n := 8
		switch t := p.Type.(type) {
		case *ast.ArrayType:
			n = 24
		case *ast.Ident:
			if t.Name == "float32" {
				n = 4
			}
		}
		size = (size + min(n, 8) - 1) &^ (min(n, 8) - 1)
		for _, name := range p.Names {
			offset[name.Name] = size
			size += n
		}
	}
	return offset, size
}

// A neonKernel is a kernel that is being written for NEON.
type neonKernel struct {
	Map
	dst, args    []string
	pointer      map[string]int // the register that points into each slice
	lanes        int            // of a vector of its elements
	unroll       int            // vectors a turn
	wide, single *allocation    // the body of a turn and that of one vector, or number
}

// writeNeon is Write. As many vectors as registers allow, up to four, make a turn, step
// by step side by side; then come single ones, then numbers.
func (m Map) writeNeon() {
	k := &neonKernel{Map: m, dst: names(m.Dst), args: names(m.Args), pointer: map[string]int{}, lanes: 2}
	if m.Packed {
		k.lanes = 4
	}
	offset, size := parameters(m.Sig)
	name := m.Name + Suffix
	fmt.Fprintf(&stubs, "\n// %s is\n//\n//%s\n//\n//go:noescape\nfunc %s%s\n", name, strings.ReplaceAll(m.Doc, "\n", "\n//"), name, m.Sig[4:])
	fmt.Fprintf(&text, "\n// func %s%s\nTEXT ·%s(SB), NOSPLIT, $0-%d\n", name, m.Sig[4:], name, size)

	quantities, known, now = make([]quantity, 1), map[uint64]id{}, map[Op]id{}
	tables, places = nil, map[place][2]id{}
	if m.Setup != nil {
		m.Setup()
	}
	var held map[id]int
	k.unroll, k.wide, k.single, held = m.allocate()

	k.begin(offset, held)
	if k.unroll > 1 {
		k.turns()
	}
	k.singles()
	label("end")
	if m.Stop != nil {
		label("stop")
		p("MOVD %s_len+%d(FP), R8", k.dst[0], offset[k.dst[0]]+8)
		p("SUB R%d, R8", countR)
		p("MOVD R8, done+%d(FP)", offset["done"])
	}
	p("RET")
	if len(m.slices()) > 1 {
		label("short")
		p("B ·short(SB)")
	}
}

// p writes an instruction, label a label.
func p(format string, args ...any) { fmt.Fprintf(&text, "\t"+format+"\n", args...) }
func label(name string)            { fmt.Fprintf(&text, "%s:\n", name) }

// begin checks the lengths and fills the registers that the body finds things in.
func (k *neonKernel) begin(offset map[string]int, held map[id]int) {
	all := k.slices()
	p("MOVD %s_len+%d(FP), R%d", k.dst[0], offset[k.dst[0]]+8, countR)
	for _, s := range all[1:] {
		p("MOVD %s_len+%d(FP), R8", s, offset[s]+8)
		p("CMP R%d, R8", countR)
		p("BLT short")
	}
	for i, s := range all {
		k.pointer[s] = i
		p("MOVD %s_base+%d(FP), R%d", s, offset[s], i)
	}
	for i, s := range names(k.Scalars) {
		r := scalarR - i
		if k.Packed {
			p("FMOVS %s+%d(FP), F%d", s, offset[s], r)
			p("VDUP V%d.S[0], V%d.S4", r, r)
		} else {
			p("FMOVD %s+%d(FP), F%d", s, offset[s], r)
			p("VDUP V%d.D[0], V%d.D2", r, r)
		}
	}
	if k.wide.constants || k.single.constants || len(held) > 0 {
		p("MOVD $constants<>+0(SB), R%d", constantsR)
	}
	for i, t := range tables {
		p("MOVD $%s, R%d", t, lastTable-i)
	}
	for _, x := range slices.Sorted(maps.Keys(held)) {
		p("%s", loadConstant(quantities[x].word, held[x]))
	}
}

// turns writes the loop of several vectors a turn, which are loaded and stored in pairs.
func (k *neonKernel) turns() {
	p("CMP $%d, R%d", k.lanes*k.unroll, countR)
	p("BLT single")
	label("wide")
	for n, v := len(k.args), 0; v < k.unroll; v += 2 {
		for i, a := range k.args {
			size, r := k.lanes*k.bytes(a), v*n+i
			if v+1 < k.unroll {
				p("%s %d(R%d), (F%d, F%d)", map[int]string{8: "FLDPD", 16: "FLDPQ"}[size], size*v, k.pointer[a], r, r+n)
			} else {
				p("%s %d(R%d), F%d", move[size], size*v, k.pointer[a], r)
			}
		}
	}
	for _, l := range k.wide.lines {
		p("%s", l)
	}
	for n, v := len(k.dst), 0; v < k.unroll; v += 2 {
		for i, d := range k.dst {
			size, r := k.lanes*k.bytes(d), k.wide.results[v*n+i]
			if v+1 < k.unroll {
				p("%s (F%d, F%d), %d(R%d)", map[int]string{8: "FSTPD", 16: "FSTPQ"}[size], r, k.wide.results[v*n+n+i], size*v, k.pointer[d])
			} else {
				p("%s F%d, %d(R%d)", move[size], r, size*v, k.pointer[d])
			}
		}
	}
	k.step(k.lanes * k.unroll)
	p("CMP $%d, R%d", k.lanes*k.unroll, countR)
	p("BGE wide")
}

// singles writes the loop of one vector a turn and, when less is left, of one number: the
// body is the same, what is loaded and stored is not.
func (k *neonKernel) singles() {
	label("single")
	p("CBZ R%d, end", countR)
	if len(k.args) > 0 {
		p("CMP $%d, R%d", k.lanes, countR)
		p("BLT number")
		k.load(k.lanes)
		p("B compute")
		label("number")
		k.load(1)
		label("compute")
	}
	for _, l := range k.single.lines {
		p("%s", l)
	}
	p("CMP $%d, R%d", k.lanes, countR)
	p("BLT last")
	k.store(k.lanes)
	k.step(k.lanes)
	p("B single")
	label("last")
	k.store(1)
	k.step(1)
	p("B single")
}

// move is the instruction that loads or stores so many bytes of a vector.
var move = map[int]string{4: "FMOVS", 8: "FMOVD", 16: "FMOVQ"}

// bytes is the size of an element of a slice.
func (k *neonKernel) bytes(slice string) int {
	if k.Packed || slices.Contains(names(k.Narrow), slice) {
		return 4
	}
	return 8
}

// load and store move n numbers of each slice; step goes on by them.
func (k *neonKernel) load(n int) {
	for i, a := range k.args {
		p("%s (R%d), F%d", move[n*k.bytes(a)], k.pointer[a], i)
	}
}

func (k *neonKernel) store(n int) {
	for i, d := range k.dst {
		p("%s F%d, (R%d)", move[n*k.bytes(d)], k.single.results[i], k.pointer[d])
	}
}

func (k *neonKernel) step(n int) {
	for i, s := range k.slices() {
		p("ADD $%d, R%d", n*k.bytes(s), i)
	}
	p("SUB $%d, R%d", n, countR)
}

// scalarR is the register of the first scalar parameter; others, and the constants held,
// are in those below.
const scalarR = 31

// allocate gives registers to u bodies and to one, and to the constants that stay in
// them while there are some.
func (m Map) allocate() (u int, wide, single *allocation, held map[id]int) {
	held = map[id]int{}
	for u = 4; ; u-- {
		l, in, out := m.record(u)
		var ok bool
		if wide, ok = allocate(l, in, out, held); !ok {
			if u == 1 {
				log.Fatalf("%s needs more registers than there are", m.Name)
			}
			continue
		}
		for _, x := range slices.Sorted(maps.Keys(wide.shared)) {
			held[x] = scalarR - len(names(m.Scalars)) - len(held)
			if a, ok := allocate(l, in, out, held); ok && len(a.lines) < len(wide.lines) {
				wide = a
			} else {
				delete(held, x)
			}
		}
		break
	}
	l, in, out := m.record(1)
	single, ok := allocate(l, in, out, held)
	if !ok {
		log.Fatalf("%s: no registers for one vector", m.Name)
	}
	return u, wide, single, held
}

// record records n bodies, an instruction of each in turn, with their arguments and
// results, body by body.
func (m Map) record(n int) (all []instruction, in, out []id) {
	var scalars []id
	var constants []V
	for i := range names(m.Scalars) {
		scalars = append(scalars, fixed(scalarR-i))
		constants = append(constants, become(New(), scalars[i]))
	}
	narrow := func(slice string) bool { return slices.Contains(names(m.Narrow), slice) }
	lists := make([][]instruction, n)
	for u := range lists {
		list = nil
		var x []V
		for _, a := range names(m.Args) {
			z := vector()
			in = append(in, z)
			if narrow(a) {
				z = record(fcvtl, z)
			}
			x = append(x, become(New(), z))
		}
		if m.Stop != nil {
			m.Stop(x)
		}
		for i, y := range m.Body(append(x, constants...)) {
			z := now[y]
			if narrow(names(m.Dst)[i]) {
				z = record(fcvtn, z)
			}
			out = append(out, z)
		}
		lists[u] = list
	}
	list = nil
	for i := range lists[0] {
		if lists[0][i].stop != nil {
			var stops []instruction
			for _, l := range lists {
				stops = append(stops, l[i])
			}
			recordStops(stops)
			continue
		}
		for _, l := range lists {
			list = append(list, l[i])
		}
	}
	return list, append(in, scalars...), out
}

// generateNeon writes the files that the flags name.
func generateNeon() {
	var words []uint64
	for _, w := range literals {
		words = append(words, w, w)
	}
	if words != nil {
		dataNeon("constants", words)
	}
	header := "// Code generated by command: go run main.go " + strings.Join(os.Args[1:], " ") + ". DO NOT EDIT.\n\n//go:build !purego\n\n"
	declarations, err := format.Source([]byte(header + "package kernels\n" + stubs.String()))
	if err != nil {
		log.Fatal(err)
	}
	assembly := header + "#include \"textflag.h\"\n" + text.String() + sections.String()
	for name, b := range map[string][]byte{"out": []byte(assembly), "stubs": declarations} {
		if err := os.WriteFile(flag.Lookup(name).Value.String(), b, 0o666); err != nil {
			log.Fatal(err)
		}
	}
}
