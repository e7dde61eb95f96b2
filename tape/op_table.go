package tape

import (
	"slices"

	"nabla/expr"
)

// A group is rows that belong together, under a heading of listings.
type group struct {
	name string
	rows []Op
}

// groups are all rows, in the order of listings.
var groups []group

var groupRows = []group{
	{"batch", batchRows},
	{"shape", blockRows},
	{"control", loopRows},
	{"control", forkRows},
	{"control", controlRows},
	{"control", seriesRows},
	{"leaves", leafRows},
	{"arithmetic", arithRows},
	{"arithmetic", powerRows},
	{"neural networks", convRows},
	{"linear algebra", linalgRows},
	{"linear algebra", determinantRows},
	{"linear algebra", systemRows},
	{"linear algebra", qrRows},
	{"comparisons and logic", logicRows},
	{"exponentials, logarithms, trigonometry", mathRows},
	{"linear algebra", matmulRows},
	{"neural networks", nnRows},
	{"random numbers", randomRows},
	{"reductions", reduceRows},
	{"reductions", extremeRows},
	{"reductions", normRows},
	{"reductions", sampleRows},
	{"reductions", softmaxRows},
	{"reductions", runningRows},
	{"shape", shapeRows},
	{"shape", joinRows},
	{"shape", diagonalRows},
	{"constructors", constructorRows},
	{"shape", indexRows},
	{"shape", segmentRows},
	{"polynomials and curves", curveRows},
	{"polynomials and curves", laggedRows},
	{"special functions", specialRows},
	{"linear algebra", spectralRows},
	{"linear algebra", besideRows},
	{"linear algebra", equalRows},
	{"linear algebra", spacedRows},
	{"linear algebra", spreadRows},
	{"batch", sparseRows},
	{"batch", deltaRows},
}

// The rows are static data, which costs a start nothing: nothing in them may have to be
// computed, not even a closure over a number, for which the page around it is copied; and
// signatures, rules and bodies are parsed on first use. They know functions that know them,
// so the list cannot be its own initialiser; nor can those of forms and of passes, and one
// function for all is one page to read instead of three.
func init() {
	groups, forms, passes, powers = groupRows, formRows, passRows, powerRows
	last := opID(0)
	for _, g := range groups {
		for i := range g.rows {
			op := &g.rows[i]
			last++
			rows[last] = op
			if op.As != nil {
				*op.As = op
			}
			table.put(op.Name, last)
			for _, a := range op.Alias {
				table.put(a, last)
			}
		}
	}
}

// An opID is the number of a row in the order of groups, counted from 1.
type opID uint16

// rows finds rows by their numbers.
var rows [1 << 10]*Op

// id is the number of the row. It is noted when it is first asked for: a start that wrote it
// into every row would copy the pages of them all.
func (op *Op) id() opID {
	if n := op.no.Load(); n != 0 {
		return opID(n)
	}
	n := table.id(op.Name)
	op.no.Store(uint32(n))
	return n
}

// table finds rows by name. It is a hash table with open addressing, half empty: a map
// of so many names takes a twentieth of a millisecond to fill, each time nabla starts.
var table index

type index [1 << 11]opID

// put enters a name, which is new.
func (t *index) put(name string, n opID) {
	h := hash(name)
	for ; t[h%uint64(len(t))] != 0; h++ {
	}
	t[h%uint64(len(t))] = n
}

// id is the number of the row of a name, or 0.
func (t *index) id(name string) opID {
	for h := hash(name); ; h++ {
		n := t[h%uint64(len(t))]
		if op := rows[n]; op == nil || op.Name == name || slices.Contains(op.Alias, name) {
			return n
		}
	}
}

// find is the row of a name, hidden ones too, or nil.
func (t *index) find(name string) *Op { return rows[t.id(name)] }

// hash mixes eight bytes of a name at a time: byte by byte it would take a start 10 µs more.
func hash(name string) uint64 {
	h := uint64(len(name))
	for len(name) > 0 {
		n, word := min(len(name), 8), uint64(0)
		for i := range n {
			word = word<<8 | uint64(name[i])
		}
		h = (h ^ word) * 0x9e3779b97f4a7c15 // 2^64 by the golden ratio
		h ^= h >> 32
		name = name[n:]
	}
	return h
}

// Lookup finds the row of an operation by its name or another spelling of it.
func Lookup(name string) (*Op, bool) {
	op := table.find(name)
	if op == nil || op.Hidden {
		return nil, false
	}
	return op, true
}

// Operator finds the operation that an operator stands for, such as ^, or ! in front of a value.
func Operator(sign string) (*Op, bool) {
	if sign == "!" {
		return Lookup("logical_not")
	}
	e, _, err := expr.ParseExpr("", "x "+sign+" y")
	b, ok := e.(*expr.Binary)
	if err != nil || !ok {
		return nil, false
	}
	_, x := b.X.(*expr.Name)
	_, y := b.Y.(*expr.Name)
	if !x || !y {
		return nil, false
	}
	return Lookup(binaryOps[b.Op])
}

// Inner finds the row of an operation that stands on the tape, where explain shows it, but that
// programs cannot name.
func Inner(name string) (*Op, bool) {
	op := table.find(name)
	return op, op != nil && op.Hidden
}

// All lists the operations that a program can name, in the order of the table.
func All() (ops []*Op) {
	for _, g := range groups {
		for i := range g.rows {
			if op := &g.rows[i]; !op.Hidden {
				ops = append(ops, op)
			}
		}
	}
	return ops
}

// Group is the heading under which listings show the operation.
func (op *Op) Group() string {
	for _, g := range groups {
		for i := range g.rows {
			if op == &g.rows[i] {
				return g.name
			}
		}
	}
	return ""
}
