package tape

import (
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
	Args  string   // signature: "x", "x, #axis=None, #keepdims=false", "*x"; what # marks takes no part in the arithmetic
	Doc   string   // one line for listings

	Grad   []string // elementwise: the partial for each argument, in x, y, … and out; "" is none
	Says   []string // elementwise: the partials for people, where they are not Grad
	Kernel          // elementwise: the numbers
	Twin   twin     // what is computed along with it, in tiles
	Gives  gives    // dtype of the result
	Kinks  []Kink   // where the derivative is a convention, infinite or undefined
	LastBy int      // the argument, from 1, that the last of Kinks is about the derivative by; 0 for any
	Joint  bool     // the last of Kinks is one only where both arguments are made of one value

	Seq bool // the first argument is a list of tensors that need not be of one shape
	// Tie marks where a structural operation stands at a kink; TieSay says in a warning what
	// the derivative there is.
	Tie    func(t *Tape, r Ref) Ref
	TieSay string

	Body  string // statements over Args; the last one is the value
	Joins bool   // the branches of Body meet, so that limits are taken on both

	Call    func(c *call) value                                          // checks and records a call of the operation
	Adj     func(t *Tape, r Ref, i int, ct Ref) Ref                      // cotangent of argument i, through which a derivative passes: never of factors, which stop it; for structural rows and where ct times the partial leaves the range
	Partial func(t *Tape, r Ref, i int) Ref                              // elementwise: a partial that text cannot say
	Run     func(c *run)                                                 // structural: computes one logical value
	Lead    bool                                                         // Run takes any axes in front, the same of all arguments, so that all points of a batch run at once
	Whole   func(c *run, b *batch, out []float64, data [][]float64) bool // structural: all points of a batch at once; false when it cannot

	// Zeros puts 0, after Run, where a zero of a cotangent met what is not finite: of operations that
	// cotangents go through as a factor or a right side (strong.go).
	Zeros  func(c *run)
	Linear []int // arguments of which one that is 0 makes the result 0

	Links func(k *link, p *sparsity.Pattern) *sparsity.Pattern // structural: the pattern of the result, given that of an argument; nil: all of it

	// Terms are those of the result, given those of its arguments (delta_rules.go); nil: they have no form.
	Terms func(f *factoring, r Ref) []*term

	Flops func(t *Tape, r Ref) float64 // structural: for --stats
	Room  func(t *Tape, r Ref) int64   // structural: bytes that it takes while it runs; nil: few

	Exponent float64   // of x, in rows of written powers
	Switches [2]string // what Flag and Flag2 of its Attr mean, where they are shown

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
	givesFloat64
	givesFloat32
)

// points are sets of test arguments, n numbers each, end to end.
type points struct {
	n   int
	all []float64
}

// at, at2 and at3 list the test points of an operation of one, two or three arguments:
// x, y, x, y, …
func at(xs ...float64) points { return points{1, xs} }

func at2(xy ...float64) points { return points{2, xy} }

func at3(xyz ...float64) points { return points{3, xyz} }

// d lists partial derivatives.
func d(partials ...string) []string { return partials }

// A param is a parameter of an operation, as Args names it.
type param struct {
	name     string
	def      expr.Expr // default; nil when required
	variadic bool
	counts   bool // it says how, or how many, and takes no part in the arithmetic
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

// signature reads Args: names, defaults, *name for any number of arguments, and #name for one that
// counts.
func (op *Op) signature() []param {
	op.once.Do(func() {
		for _, s := range expr.SplitList(op.Args) {
			p := param{}
			s, p.counts = strings.CutPrefix(s, "#")
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
func (op *Op) Signature() string { return op.Name + "(" + op.arguments() + ")" }

// arguments are Args without marks.
func (op *Op) arguments() string { return strings.ReplaceAll(op.Args, "#", "") }

// outDType is the dtype of an elementwise result.
func (t *Tape) outDType(op *Op, args []Ref) tensor.DType {
	switch op.Gives {
	case givesBool:
		return tensor.Bool
	case givesFloat64:
		return tensor.Float64
	case givesFloat32:
		return tensor.Float32
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
