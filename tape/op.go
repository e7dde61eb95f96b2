package tape

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"nabla/expr"
	"nabla/kernels"
	"nabla/tape/sparsity"
	"nabla/tape/tensor"
)

// An Op is a row of the operation table: everything that nabla knows about one
// operation. Lookup, arity errors, did-you-mean, nabla ops, the fuzz grammar and
// the tests are views of the rows; adding an operation is adding a row.
//
// A row is one of three kinds. An elementwise row has a Kernel and, in Grad, its
// partial derivatives as text. A structural row has Call, which checks arguments
// and records, Run, which computes, and Adj, its cotangents. A row with a Body is
// a function written in nabla's own language and needs nothing else; with Call too, that
// looks at the arguments first.
type Op struct {
	As    **Op     // the variable that Go code knows the row by
	Name  string   // as programs write it
	Alias []string // other spellings
	Args  string   // signature: "x", "x, axis=None, keepdims=false", "*x"
	Doc   string   // one line for listings

	Grad   []string // elementwise: the partial for each argument, in x, y, … and out; "" is none
	Says   []string // elementwise: the partials for people, where they are not Grad
	Kernel          // elementwise: the numbers
	Twin   twin     // what is computed along with it, in tiles
	Gives  gives    // dtype of the result
	Kinks  []Kink   // where the derivative is a convention, infinite or undefined
	LastBy int      // the argument, from 1, that the last of Kinks is about the derivative by; 0 for any

	Seq bool // the first argument is a list of tensors that need not be of one shape
	// Tie marks where a structural operation stands at a kink; TieSay says in a warning what
	// the derivative there is.
	Tie    func(t *Tape, r Ref) Ref
	TieSay string

	Body  string // statements over Args; the last one is the value
	Joins bool   // the branches of Body meet, so that limits are taken on both

	Call    func(c *call) value                                          // checks and records a call of the operation
	Adj     func(t *Tape, r Ref, i int, ct Ref) Ref                      // cotangent of argument i, for structural rows and where ct times the partial leaves the range
	Partial func(t *Tape, r Ref, i int) Ref                              // elementwise: a partial that text cannot say
	Run     func(c *run)                                                 // structural: computes one logical value
	Lead    bool                                                         // Run takes any axes in front, the same of all arguments, so that all points of a batch run at once
	Whole   func(c *run, b *batch, out []float64, data [][]float64) bool // structural: all points of a batch at once; false when it cannot

	Links func(k *link, p *sparsity.Pattern) *sparsity.Pattern // structural: the pattern of the result, given that of an argument; nil: all of it

	// Terms are those of the result, given those of its arguments (delta_rules.go); nil: they have no form.
	Terms func(f *factoring, r Ref) []*term

	Flops func(t *Tape, r Ref) float64 // structural: for --stats
	Room  func(t *Tape, r Ref) int64   // structural: bytes that it takes while it runs; nil: few

	Stops    string // why no gradient passes, for rows that are registered so: "floor is not differentiable"
	NoRule   bool   // known, but no derivative registered: a gradient through it is an error
	Hidden   bool   // internal: not in listings, not callable
	Matrices uint8  // factorisations: its room, in matrices as large as the largest at hand
	Note     string // behaviour at kinks, for nabla ops
	Try      points // arguments for the tests that run over all rows

	strong int // Theirs.Strong

	no     atomic.Uint32 // its number, once it was asked for
	once   sync.Once
	params []param
	rules  []*rule
	prog   *expr.Program
}

// A Kernel computes an elementwise operation: a function of single numbers, and the same
// for slices, which is named by its door (package kernels) because what is behind it is
// chosen when the program starts. Without one the function runs number by number.
type Kernel struct {
	k1 *func(dst, x []float64)
	k2 *func(dst, x, y []float64)
	k3 *func(dst, x, y, z []float64)
	f1 func(x float64) float64
	f2 func(x, y float64) float64
	f3 func(x, y, z float64) float64
}

func unary(door *func(dst, x []float64), one func(x float64) float64) Kernel {
	return Kernel{k1: door, f1: one}
}

func binary(door *func(dst, x, y []float64), one func(x, y float64) float64) Kernel {
	return Kernel{k2: door, f2: one}
}

func ternary(door *func(dst, x, y, z []float64), one func(x, y, z float64) float64) Kernel {
	return Kernel{k3: door, f3: one}
}

// arity is the number of arguments; 0 of a row that is not elementwise.
func (k *Kernel) arity() int {
	switch {
	case k.f1 != nil:
		return 1
	case k.f2 != nil:
		return 2
	case k.f3 != nil:
		return 3
	}
	return 0
}

// call computes slices of one length; y and z are read if there are such arguments.
func (k *Kernel) call(dst, x, y, z []float64) {
	switch {
	case k.k2 != nil:
		(*k.k2)(dst, x, y)
	case k.k1 != nil:
		(*k.k1)(dst, x)
	case k.k3 != nil:
		(*k.k3)(dst, x, y, z)
	case k.f1 != nil:
		for i := range dst {
			dst[i] = k.f1(x[i])
		}
	case k.f2 != nil:
		for i := range dst {
			dst[i] = k.f2(x[i], y[i])
		}
	default:
		for i := range dst {
			dst[i] = k.f3(x[i], y[i], z[i])
		}
	}
}

// one computes single numbers.
func (k *Kernel) one(v [3]float64) float64 {
	switch {
	case k.f1 != nil:
		return k.f1(v[0])
	case k.f2 != nil:
		return k.f2(v[0], v[1])
	}
	return k.f3(v[0], v[1], v[2])
}

// A twin computes two operations of one argument together, with the bits of each: a
// function and its partial share most of the work.
type twin struct {
	with  string // the other operation
	first bool   // this one is the first result of both
	both  *func(y, d, x []float64)
}

// A Kink is a condition on an elementwise operation's arguments under which its
// derivative needs a word of explanation.
type Kink struct {
	When   string // nabla text over the arguments and out
	Say    string // what to tell, after "abs of 0: "
	Finite bool   // the derivative taken there is finite, so nothing else tells
}

// gives says which dtype an elementwise operation returns.
type gives uint8

const (
	givesFloat gives = iota // a float, whatever comes in
	givesSame               // the joined type of the arguments; bool counts as int64
	givesBool
	givesFirst     // the type of the arguments after a condition
	givesSameExact // the type of the argument, bool too
)

// points are sets of test arguments, n numbers each, end to end.
type points struct {
	n   int
	all []float64
}

// at, at2 and at3 list the test points of an operation of one, two or three arguments:
// x, y, x, y, …
func at(xs ...float64) points   { return points{1, xs} }
func at2(xy ...float64) points  { return points{2, xy} }
func at3(xyz ...float64) points { return points{3, xyz} }

// d lists partial derivatives.
func d(partials ...string) []string { return partials }

type param struct {
	name     string
	def      expr.Expr // default; nil when required
	variadic bool
}

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
	{"constructors", constructorRows},
	{"shape", indexRows},
	{"polynomials and curves", curveRows},
	{"special functions", specialRows},
	{"linear algebra", spectralRows},
	{"batch", sparseRows},
	{"batch", deltaRows},
}

// The rows are static data, which costs a start nothing: nothing in them may have to be
// computed, not even a closure over a number, for which the page around it is copied; and
// signatures, rules and bodies are parsed on first use. They know functions that know them,
// so the list cannot be its own initialiser; nor can those of forms and of passes, and one
// function for all is one page to read instead of three.
func init() {
	groups, forms, passes = groupRows, formRows, passRows
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
var rows [1 << 9]*Op

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

func (op *Op) elementwise() bool { return op.arity() > 0 }

// passes reports whether a derivative flows from the result to argument i.
func (op *Op) passes(i int) bool {
	if op.Stops != "" {
		return false
	}
	if op.Grad != nil {
		return i < len(op.Grad) && op.Grad[i] != ""
	}
	return true // Partial, Adj and NoRule decide when asked
}

// signature reads Args: names, defaults, and *name for any number of arguments.
func (op *Op) signature() []param {
	op.once.Do(func() {
		for _, s := range expr.SplitList(op.Args) {
			p := param{}
			if name, def, ok := strings.Cut(s, "="); ok {
				p.name, p.def = strings.TrimSpace(name), defaultOf(op, strings.TrimSpace(def))
			} else {
				p.name = s
			}
			if strings.HasPrefix(p.name, "*") {
				p.name, p.variadic = p.name[1:], true
			}
			op.params = append(op.params, p)
		}
	})
	return op.params
}

// takes reports whether the operation can be called with n arguments.
func (op *Op) takes(n int) bool {
	p := op.signature()
	if n > len(p) {
		return len(p) > 0 && p[len(p)-1].variadic
	}
	return n == len(p) || p[n].def != nil || p[n].variadic
}

// defaultOf parses a default; a string, which stands alone nowhere else, is read as it is.
func defaultOf(op *Op, text string) expr.Expr {
	if s, ok := strings.CutPrefix(text, `"`); ok {
		return &expr.Str{Value: strings.TrimSuffix(s, `"`)}
	}
	e, _, err := expr.ParseExpr("", text)
	if err != nil {
		panic("row " + op.Name + ": " + err.Error())
	}
	return e
}

// Signature writes the operation as it is called: sum(x, axis=None, keepdims=false).
func (op *Op) Signature() string { return op.Name + "(" + op.Args + ")" }

// A rule is a compiled partial derivative: steps over the arguments and the result.
type rule struct {
	steps []ruleStep
	last  int16
}

// A ruleStep applies op to earlier steps (≥ 0), arguments (-1-i) or constants.
type ruleStep struct {
	op   *Op // nil: a constant
	num  float64
	args [3]int16
	n    int8
}

const ruleOut = -100 // names the operation's own result in a rule

// partialRule compiles Grad[i] on first use.
func (op *Op) partialRule(i int) *rule { return op.rule(i, op.Grad[i]) }

// kinkRule is the condition of a kink.
func (op *Op) kinkRule(i int) *rule { return op.rule(len(op.Grad)+i, op.Kinks[i].When) }

// rule compiles a text on first use, and keeps it at i.
func (op *Op) rule(i int, text string) *rule {
	rulesMu.Lock()
	defer rulesMu.Unlock()
	if op.rules == nil {
		op.rules = make([]*rule, len(op.Grad)+len(op.Kinks))
	}
	if op.rules[i] == nil {
		op.rules[i] = compileRule(op, text)
	}
	return op.rules[i]
}

var rulesMu sync.Mutex

// compileRule turns a text over an operation's arguments and out into steps.
func compileRule(op *Op, text string) *rule {
	e, _, err := expr.ParseExpr(op.Name, text)
	if err != nil {
		panic("rule of " + op.Name + ": " + text + ": " + err.Error())
	}
	ru := &rule{}
	names := op.signature()
	var walk func(e expr.Expr) int16
	step := func(s ruleStep) int16 {
		ru.steps = append(ru.steps, s)
		return int16(len(ru.steps) - 1)
	}
	apply := func(name string, xs ...expr.Expr) int16 {
		o := table.find(name)
		if o == nil || !o.elementwise() || len(xs) != o.arity() {
			panic("rule of " + op.Name + ": no elementwise operation " + name + " of " + text)
		}
		s := ruleStep{op: o, n: int8(len(xs))}
		for i, x := range xs {
			s.args[i] = walk(x)
		}
		return step(s)
	}
	walk = func(e expr.Expr) int16 {
		switch e := e.(type) {
		case *expr.Num:
			return step(ruleStep{num: e.Value})
		case *expr.Name:
			if e.Name == "out" {
				return ruleOut
			}
			for i, p := range names {
				if p.name == e.Name {
					return int16(-1 - i)
				}
			}
			if v, ok := namedConstant(e.Name); ok {
				return step(ruleStep{num: v})
			}
		case *expr.Unary:
			switch e.Op {
			case expr.Minus:
				if n, ok := e.X.(*expr.Num); ok {
					return step(ruleStep{num: -n.Value})
				}
				return apply("neg", e.X)
			case expr.Not:
				return apply("not", e.X)
			}
		case *expr.Binary:
			return apply(binaryOps[e.Op], e.X, e.Y)
		case *expr.Call:
			if n, ok := e.Fun.(*expr.Name); ok {
				var xs []expr.Expr
				for _, a := range e.Args {
					xs = append(xs, a.Value)
				}
				return apply(n.Name, xs...)
			}
		}
		panic("rule of " + op.Name + ": cannot use " + text)
	}
	ru.last = walk(e)
	return ru
}

// binaryOps names the row of each infix operator.
var binaryOps = [1 << 8]string{
	expr.Plus: "add", expr.Minus: "subtract", expr.Times: "multiply", expr.Divide: "divide",
	expr.FloorDiv: "floor_divide", expr.Mod: "mod", expr.Pow: "power", expr.MatMul: "matmul",
	expr.Lt: "less", expr.Le: "less_equal", expr.Gt: "greater", expr.Ge: "greater_equal",
	expr.Eq: "equal", expr.Ne: "not_equal", expr.And: "logical_and", expr.Or: "logical_or",
}

// record replays a rule on the tape for instruction r.
func (ru *rule) record(t *Tape, r Ref) Ref { return ru.of(t, nil, r) }

// of appends the rule for the result r of args; nil: of those of its instruction.
func (ru *rule) of(t *Tape, args []Ref, r Ref) Ref {
	var local [16]Ref
	vals := local[:0]
	get := func(i int16) Ref {
		switch {
		case i >= 0:
			return vals[i]
		case i == ruleOut:
			return r
		case args != nil:
			return args[-1-i]
		}
		return t.Args(r)[-1-i]
	}
	for i := range ru.steps {
		s := &ru.steps[i]
		if s.op == nil {
			vals = append(vals, t.Const(s.num))
			continue
		}
		switch s.n {
		case 1:
			vals = append(vals, t.Apply(s.op, get(s.args[0])))
		case 2:
			vals = append(vals, t.Apply(s.op, get(s.args[0]), get(s.args[1])))
		default:
			vals = append(vals, t.Apply(s.op, get(s.args[0]), get(s.args[1]), get(s.args[2])))
		}
	}
	return get(ru.last)
}

// outDType is the dtype of an elementwise result.
func (t *Tape) outDType(op *Op, args []Ref) tensor.DType {
	if op.Gives == givesBool {
		return tensor.Bool
	}
	from := args
	if op.Gives == givesFirst {
		from = args[1:]
	}
	dt := t.ins[from[0]].dtype
	for _, a := range from[1:] {
		dt = promote(dt, t.ins[a].dtype)
	}
	switch {
	case op.Gives == givesFloat && !dt.IsFloat():
		return t.DType
	case op.Gives == givesSame && dt == tensor.Bool:
		return tensor.Int64
	}
	return dt
}

// Ulp is the largest error of the operation's kernel that was measured against
// high-precision values, in units in the last place; false where none was. Arithmetic,
// sqrt and what is composed of them need no table.
func (op *Op) Ulp() (float64, bool) {
	name := map[string]string{"power": "pow", "log_ndtr": "lognormcdf", "ndtri": "normquantile", "sigmoid_slope": "sigmoidslope"}[op.Name]
	if name == "" {
		name = op.Name
	}
	if !op.elementwise() {
		return 0, false
	}
	return kernels.Accuracy(name)
}

// Terms explains the internal operations that the text of a partial names.
func Terms(partial string) []string {
	e, _, err := expr.ParseExpr("", partial)
	if err != nil {
		return nil
	}
	var out []string
	expr.Walk(e, func(n any) bool {
		if c, ok := n.(*expr.Call); ok {
			if f, ok := c.Fun.(*expr.Name); ok {
				if op := table.find(f.Name); op != nil && op.Hidden {
					if s := op.Name + "(" + op.Args + ") is " + op.Doc; !slices.Contains(out, s) {
						out = append(out, s)
					}
				}
			}
		}
		return true
	})
	return out
}
