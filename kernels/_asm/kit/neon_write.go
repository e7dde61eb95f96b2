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

// load is the instruction that loads a constant.
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
		if _, ok := p.Type.(*ast.ArrayType); ok {
			n = 24
		}
		for _, name := range p.Names {
			offset[name.Name] = size
			size += n
		}
	}
	return offset, size
}

// writeNeon is Write. As many vectors as registers allow, up to four, make a turn, step
// by step side by side; then come single ones, the last of them perhaps half.
func (m Map) writeNeon() {
	dst, args, scalars := names(m.Dst), names(m.Args), names(m.Scalars)
	all := slices.Clone(dst)
	for _, a := range args {
		if !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	offset, size := parameters(m.Sig)
	name := m.Name + Suffix
	fmt.Fprintf(&stubs, "\n// %s is\n//\n//%s\n//\n//go:noescape\nfunc %s%s\n", name, strings.ReplaceAll(m.Doc, "\n", "\n//"), name, m.Sig[4:])
	fmt.Fprintf(&text, "\n// func %s%s\nTEXT ·%s(SB), NOSPLIT, $0-%d\n", name, m.Sig[4:], name, size)
	p := func(format string, args ...any) { fmt.Fprintf(&text, "\t"+format+"\n", args...) }
	label := func(name string) { fmt.Fprintf(&text, "%s:\n", name) }

	quantities, known, now, tables = make([]quantity, 1), map[uint64]id{}, map[Op]id{}, nil
	if m.Setup != nil {
		m.Setup()
	}
	// body records u bodies.
	body := func(u int) (list []instruction, in, out []id) {
		return recordBodies(m, u, len(args), len(scalars))
	}
	top := 31 // registers from here down are held
	var u int
	var wide, single allocation
	held := map[id]int{}
	for u = 4; ; u-- {
		l, in, out := body(u)
		var ok bool
		if wide, ok = allocate(l, in, out, held); !ok {
			if u == 1 {
				log.Fatalf("%s needs more registers than there are", name)
			}
			continue
		}
		// Constants that are loaded in every turn stay in registers while there are some.
		for _, x := range slices.Sorted(maps.Keys(wide.loads)) {
			held[x] = top - len(scalars) - len(held)
			if a, ok := allocate(l, in, out, held); ok && len(a.lines) < len(wide.lines) {
				wide = a
			} else {
				delete(held, x)
			}
		}
		break
	}
	l, in, out := body(1)
	single, ok := allocate(l, in, out, held)
	if !ok {
		log.Fatalf("%s: no registers for one vector", name)
	}

	p("MOVD %s_len+%d(FP), R%d", dst[0], offset[dst[0]]+8, countR)
	for _, s := range all[1:] {
		p("MOVD %s_len+%d(FP), R8", s, offset[s]+8)
		p("CMP R%d, R8", countR)
		p("BLT short")
	}
	pointer := map[string]int{}
	for i, s := range all {
		pointer[s] = i
		p("MOVD %s_base+%d(FP), R%d", s, offset[s], i)
	}
	for i, s := range scalars {
		p("FMOVD %s+%d(FP), F%d", s, offset[s], top-i)
		p("VDUP V%d.D[0], V%d.D2", top-i, top-i)
	}
	if wide.constants || single.constants || len(held) > 0 {
		p("MOVD $constants<>+0(SB), R%d", constantsR)
	}
	for i, t := range tables {
		p("MOVD $%s, R%d", t, lastTable-i)
	}
	for _, x := range slices.Sorted(maps.Keys(held)) {
		p("%s", loadConstant(quantities[x].word, held[x]))
	}
	step := func(bytes int) {
		for i := range all {
			p("ADD $%d, R%d", bytes, i)
		}
	}
	if u > 1 {
		p("CMP $%d, R%d", 2*u, countR)
		p("BLT single")
		label("wide")
		for n, v := len(args), 0; v < u; v += 2 {
			for i, a := range args {
				if r := v*n + i; v+1 < u {
					p("FLDPQ %d(R%d), (F%d, F%d)", 16*v, pointer[a], r, r+n)
				} else {
					p("FMOVQ %d(R%d), F%d", 16*v, pointer[a], r)
				}
			}
		}
		for _, l := range wide.lines {
			p("%s", l)
		}
		n, r := len(dst), wide.results
		for v := 0; v < u; v += 2 {
			for i, d := range dst {
				if v+1 < u {
					p("FSTPQ (F%d, F%d), %d(R%d)", r[v*n+i], r[v*n+n+i], 16*v, pointer[d])
				} else {
					p("FMOVQ F%d, %d(R%d)", r[v*n+i], 16*v, pointer[d])
				}
			}
		}
		step(16 * u)
		p("SUB $%d, R%d", 2*u, countR)
		p("CMP $%d, R%d", 2*u, countR)
		p("BGE wide")
	}
	label("single")
	p("CBZ R%d, end", countR)
	if len(args) > 0 {
		p("CMP $1, R%d", countR)
		p("BEQ half")
		for i, a := range args {
			p("FMOVQ (R%d), F%d", pointer[a], i)
		}
		p("B compute")
		label("half")
		for i, a := range args {
			p("FMOVD (R%d), F%d", pointer[a], i)
		}
		label("compute")
	}
	for _, l := range single.lines {
		p("%s", l)
	}
	p("CMP $1, R%d", countR)
	p("BEQ last")
	for i, d := range dst {
		p("FMOVQ F%d, (R%d)", single.results[i], pointer[d])
	}
	step(16)
	p("SUB $2, R%d", countR)
	p("B single")
	label("last")
	for i, d := range dst {
		p("FMOVD F%d, (R%d)", single.results[i], pointer[d])
	}
	if m.Stop != nil {
		p("SUB $1, R%d", countR)
	}
	label("end")
	if m.Stop != nil {
		label("stop")
		p("MOVD %s_len+%d(FP), R8", dst[0], offset[dst[0]]+8)
		p("SUB R%d, R8", countR)
		p("MOVD R8, done+%d(FP)", offset["done"])
	}
	p("RET")
	if len(all) > 1 {
		label("short")
		p("B ·short(SB)")
	}
}

// recordBodies records n bodies, an instruction of each in turn, with their arguments
// and results, body by body.
func recordBodies(m Map, n, args, scalars int) (all []instruction, in, out []id) {
	var fixedArgs []id
	var constants []V
	for i := range scalars {
		fixedArgs = append(fixedArgs, fixed(31-i))
		constants = append(constants, become(New(), fixedArgs[i]))
	}
	lists := make([][]instruction, n)
	for u := range lists {
		list = nil
		var x []V
		for range args {
			a := vector()
			in = append(in, a)
			x = append(x, become(New(), a))
		}
		if m.Stop != nil {
			m.Stop(x)
		}
		for _, y := range m.Body(append(x, constants...)) {
			out = append(out, now[y])
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
	return list, append(in, fixedArgs...), out
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
