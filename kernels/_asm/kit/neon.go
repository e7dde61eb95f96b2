package kit

import (
	"fmt"
	"log"
	"math"
	"math/bits"
	"slices"
	"strings"

	. "github.com/mmcloughlin/avo/operand"
)

// NEON, which avo does not know: the operations are recorded, then given registers and
// written as Go's assembly, instructions of vectors as words, since its assembler has few.
// A vector has two lanes. FMLA and the selections write over an operand; constants are
// loaded where they are used.

// A literal is a constant in every lane.
type literal uint64

func (l literal) Asm() string { return fmt.Sprintf("$%#x", uint64(l)) }

// A code is an instruction: its name and the forms in which it can be written.
type code struct {
	name  string
	forms []form
}

// packed is the instruction on four float32 instead of two float64.
func (c code) packed() code {
	if strings.HasPrefix(c.name, "f") {
		c.forms = slices.Clone(c.forms)
		for i := range c.forms {
			c.forms[i].word &^= 1 << 22
		}
	}
	return c
}

// A form is a word to which the registers of the destination and of the operands n and m
// are added; tied is the operand that the destination must hold before, or -1.
type form struct {
	word       uint32
	tied, n, m int
}

func unary(name string, word uint32) code  { return code{name, []form{{word, -1, 0, -1}}} }
func binary(name string, word uint32) code { return code{name, []form{{word, -1, 0, 1}}} }

var (
	fadd   = binary("fadd", 0x4e60d400)
	fsub   = binary("fsub", 0x4ee0d400)
	fmul   = binary("fmul", 0x6e60dc00)
	fdiv   = binary("fdiv", 0x6e60fc00)
	fmax   = binary("fmax", 0x4e60f400) // NaN wins
	fmin   = binary("fmin", 0x4ee0f400)
	fcmeq  = binary("fcmeq", 0x4e60e400)
	fcmge  = binary("fcmge", 0x6e60e400)
	fcmgt  = binary("fcmgt", 0x6ee0e400)
	add    = binary("add", 0x4ee08400)
	sub    = binary("sub", 0x6ee08400)
	smin   = binary("smin", 0x4ea06c00) // of four int32
	and    = binary("and", 0x4e201c00)
	bic    = binary("bic", 0x4e601c00) // x and not y
	orr    = binary("orr", 0x4ea01c00)
	eor    = binary("eor", 0x6e201c00)
	zip1   = binary("zip1", 0x4ec03800)
	zip2   = binary("zip2", 0x4ec07800)
	fneg   = unary("fneg", 0x6ee0f800)
	fabs   = unary("fabs", 0x4ee0f800)
	fsqrt  = unary("fsqrt", 0x6ee1f800)
	frintm = unary("frintm", 0x4e619800)
	frintz = unary("frintz", 0x4ee19800)
	frintn = unary("frintn", 0x4e618800)
	frintp = unary("frintp", 0x4ee18800)
	fcvtn  = unary("fcvtn", 0x0e616800)  // to two float32
	fcvtl  = unary("fcvtl", 0x0e617800)  // and from them
	cmtst  = binary("cmtst", 0x4ee08c00) // whether a bit of both is set
	cmlt   = unary("cmlt", 0x4ee0a800)   // below 0, of integers
	not    = unary("not", 0x6e205800)
	addp   = unary("addp", 0x5ef1b800) // the sum of both lanes, in the first

	// Operands z, x, y: z + x*y and z - x*y.
	fmla = code{"fmla", []form{{0x4e60cc00, 0, 1, 2}}}
	fmls = code{"fmls", []form{{0x4ee0cc00, 0, 1, 2}}}

	// Operands m, x, y: x where m is set, else y; as bsl, bit and bif.
	sel = code{"select", []form{{0x6e601c00, 0, 1, 2}, {0x6ea01c00, 2, 1, 0}, {0x6ee01c00, 1, 2, 0}}}
)

func shl(n uint8) code  { return unary(fmt.Sprintf("shl %d", n), 0x4f005400|uint32(64+int(n))<<16) }
func ushr(n uint8) code { return unary(fmt.Sprintf("ushr %d", n), 0x6f000400|uint32(128-int(n))<<16) }
func sshr(n uint8) code { return unary(fmt.Sprintf("sshr %d", n), 0x4f000400|uint32(128-int(n))<<16) }

// An id names the value of a constant, an argument or an instruction.
type id int

// A quantity is what is known of a value.
type quantity struct {
	word     uint64
	constant bool
	general  bool // in a general register
	fixed    int  // its register, throughout, where it is not negative
}

// An instruction makes out, unless that is 0.
type instruction struct {
	out  id
	in   []id
	code code
	text func(d int, in []int) string // what it is where there is no code; given registers
	stop []bool                       // goes to "stop" if a lane of a condition in holds; which are contraries
}

// The kernel being written: its values and instructions, and what each variable of the
// description is now.
var (
	quantities []quantity
	known      map[uint64]id
	list       []instruction
	now        map[Op]id
	tables     []string // whose addresses it needs, each in a register from firstTable on
)

func newID(q quantity) id {
	quantities = append(quantities, q)
	return id(len(quantities) - 1)
}

func fixed(register int) id { return newID(quantity{fixed: register}) }
func vector() id            { return newID(quantity{fixed: -1}) }
func general() id           { return newID(quantity{fixed: -1, general: true}) }

func constantID(w uint64) id {
	if _, ok := known[w]; !ok {
		known[w] = newID(quantity{word: w, constant: true, fixed: -1})
	}
	return known[w]
}

// value is what an operand is now.
func value(x Op) id {
	switch x := x.(type) {
	case literal:
		return constantID(uint64(x))
	case id:
		return x
	}
	v, ok := now[x]
	if !ok {
		log.Panicf("%v has no value", x)
	}
	return v
}

// Asm makes an id an operand.
func (i id) Asm() string { return fmt.Sprint("value ", int(i)) }

func become(x V, i id) V {
	now[x] = i
	return x
}

func record(c code, operands ...Op) id {
	if packedNow {
		c = c.packed()
	}
	in := make([]id, len(operands))
	for i, x := range operands {
		in[i] = value(x)
	}
	out := vector()
	list = append(list, instruction{out: out, in: in, code: c})
	return out
}

// recordText records an instruction that is not of vectors alone.
func recordText(out id, text func(d int, in []int) string, in ...id) id {
	list = append(list, instruction{out: out, in: in, text: text})
	return out
}

// minus is -x.
func minus(x Op) Op {
	i := value(x)
	if q := quantities[i]; q.constant {
		return constantID(q.word ^ SignBit)
	}
	return record(fneg, i)
}

func compareNeon(x V, how uint8, y Op) Bool {
	m := New()
	switch how {
	case EQ, NE:
		become(m, record(fcmeq, x, y))
	case LT, NLT:
		become(m, record(fcmgt, y, x))
	case LE, NLE:
		become(m, record(fcmge, y, x))
	case GT:
		become(m, record(fcmgt, x, y))
	case GE:
		become(m, record(fcmge, x, y))
	case UN:
		become(m, record(fcmeq, x, x))
		if value(x) != value(y) {
			become(m, record(and, m, record(fcmeq, y, y)))
		}
	}
	return Bool{m, how == NE || how == NLT || how == NLE || how == UN}
}

// recordStop records that the kernel goes to "stop" where a condition holds in a lane.
func recordStop(conditions ...Bool) {
	var i instruction
	for _, m := range conditions {
		i.in, i.stop = append(i.in, value(m.Register)), append(i.stop, m.not)
	}
	list = append(list, i)
}

// recordStops records one branch for several stops.
func recordStops(stops []instruction) {
	var in []id
	var contrary []bool
	for _, s := range stops {
		in, contrary = append(in, s.in...), append(contrary, s.stop...)
	}
	join, all := orr, !slices.Contains(contrary, false)
	if all { // not a or not b is not (a and b)
		join = and
	}
	var z id
	for i, x := range in {
		if contrary[i] && !all {
			x = record(not, x)
		}
		if i == 0 {
			z = x
		} else {
			z = record(join, z, x)
		}
	}
	if all {
		z = record(not, z)
	}
	bits := recordText(general(), func(d int, in []int) string { return fmt.Sprintf("FMOVD F%d, R%d", in[0], d) }, record(addp, z))
	recordText(0, func(_ int, in []int) string { return fmt.Sprintf("CBNZ R%d, stop", in[0]) }, bits)
}

var places map[place][2]id

// The registers of a kernel: pointers to the slices from R0 on, then these.
const (
	countR     = 6 // how many elements are left
	constantsR = 7
	firstTable = 19 // downwards from R26
	lastTable  = 26
)

// rowsNeon is LookupRows.
func rowsNeon(name string, columns [][]float64) Rows {
	n := 1 << bits.Len(uint(len(columns)-1))
	words := make([]uint64, 16*n)
	for j, c := range columns {
		for i, x := range c {
			words[i*n+j] = math.Float64bits(x)
		}
	}
	dataNeon(name, words)
	t := Rows{columns: n, first: len(tables)}
	// A few pairs of columns have an address each, so that a row's offset can be added to it.
	for i := range 2 {
		if i == 0 || n == 4 {
			tables = append(tables, fmt.Sprintf("%s<>+%d(SB)", name, 16*i))
		}
	}
	return t
}

// atNeon is At.
func (t Rows) atNeon(k V) func(column int) V {
	row := t.place(value(k))
	have := map[int]V{}
	return func(i int) V {
		if have[i] == nil {
			j := i &^ 1
			var pair [2]id
			for lane := range pair {
				pair[lane] = recordText(vector(), func(d int, in []int) string {
					table := lastTable - t.first - j/2
					switch {
					case t.columns == 1:
						return fmt.Sprintf("WORD $0x%08x // ldr d%d, [x%d, x%d]", 0xfc606800|in[0]<<16|table<<5|d, d, table, in[0])
					case t.columns <= 4:
						return fmt.Sprintf("WORD $0x%08x // ldr q%d, [x%d, x%d]", 0x3ce06800|in[0]<<16|table<<5|d, d, table, in[0])
					}
					return fmt.Sprintf("FMOVQ %d(R%d), F%d", 8*j, in[0], d)
				}, row[lane])
			}
			have[j] = become(New(), record(zip1, pair[0], pair[1]))
			have[j+1] = become(New(), record(zip2, pair[0], pair[1]))
		}
		return have[i]
	}
}

// A place is where a row is: its offset in tables of a few columns, its address in one
// of more.
type place struct {
	k       id
	columns int
	table   int
}

// place records the places of the rows of both lanes of k; tables of as many columns
// share them.
func (t Rows) place(k id) (row [2]id) {
	key := place{k: k, columns: t.columns}
	if t.columns > 4 {
		key.table = t.first
	}
	if row, ok := places[key]; ok {
		return row
	}
	for i := range row {
		move := func(d int, in []int) string { return fmt.Sprintf("VMOV V%d.D[%d], R%d", in[0], i, d) }
		if i == 0 {
			move = func(d int, in []int) string { return fmt.Sprintf("FMOVD F%d, R%d", in[0], d) }
		}
		lane := recordText(general(), move, k)
		row[i] = recordText(general(), func(d int, in []int) string {
			return fmt.Sprintf("UBFIZ $%d, R%d, $4, R%d", bits.Len(uint(4*t.columns)), in[0], d)
		}, lane)
		if t.columns > 4 {
			row[i] = recordText(general(), func(d int, in []int) string {
				return fmt.Sprintf("ADD R%d, R%d, R%d", lastTable-t.first, in[0], d)
			}, row[i])
		}
	}
	places[key] = row
	return row
}
