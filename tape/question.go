package tape

import (
	"slices"
	"time"

	"nabla/expr"
	"nabla/tape/tensor"
)

// An Input is a named value given from outside the program.
type Input struct {
	Name  string
	Value *tensor.Value
	Const bool   // known, not watched
	From  string // where it came from, as a message says it: "--at x=3"
}

// A Question is a program with its data and what is asked of it.
type Question struct {
	Prog   *expr.Program
	Inputs []Input

	Op    string   // eval, grad, jacobian, batch_jacobian, hessian, jvp, vjp, hvp
	Wrt   []string // sources; nil for every trainable input
	Of    []string // targets; nil for the program's own
	Order int      // grad: the order of the derivative, 1 by default

	Diagonal bool          // hessian: the diagonal alone
	With     *tensor.Value // jvp, hvp: tangents by source; vjp, grad: the upstream gradient
	Mode     string        // "", forward, reverse
	// Conventions are those at points without a derivative: "", tf, jax, torch.
	Conventions string
	Zero        bool         // unconnected sources give zeros
	NoWatch     bool         // watch nothing but Watch
	Watch       []string     // watch these too
	DType       tensor.DType // of numbers and inputs that do not say
	Seed        uint64       // of random numbers
	Limit       int64        // bytes for numbers; 0 is no limit
	Recorded    int64        // bytes that what is recorded may take, if that is less than Limit; 0 is as much
	Threads     int
	Deadline    time.Time       // after which it is given up; zero: never
	Stop        <-chan struct{} // closed to interrupt
	Sparse      bool            // jacobian, hessian: their entries that are not 0 (tensor.Sparse)
	Stream      bool            // the one matrix of the answer may come row by row (Target.Rows)
}

// An Answer is the numbers, in the structures of the program.
type Answer struct {
	Targets  []Target
	Several  bool // more than one target was asked for by name
	Warnings []Warning
	Watched  []string // the sources
	Stats    Stats
	Mode     string // how derivatives were taken, and why

	memory [][]float64 // of its numbers, that nobody else has
}

// Release gives the memory of an answer's numbers back, for answers to come: fresh memory costs more than
// what is computed in it. It is for who asks again and again and is done with each answer in turn. The tensors of
// the answer are without data afterwards, and must not have been kept elsewhere, nor may its Rows be read. Answers of a
// Prepared question need no release: the next one is in the same memory.
func (a *Answer) Release() {
	if a.memory == nil {
		return
	}
	for _, m := range a.memory {
		poison(m)
		arena64.give(m)
	}
	a.memory = nil
	for _, x := range a.Targets {
		for _, v := range []*tensor.Value{x.Value, x.Payload} {
			if v != nil {
				v.Leaves("", func(_ string, v *tensor.Value) {
					if v.Tensor != nil {
						v.Tensor.Data = nil
					}
				})
			}
		}
	}
}

// A Target is one value and its derivatives.
type Target struct {
	Name        string
	Value       *tensor.Value
	Payload     *tensor.Value // the derivatives; nil where none were asked for
	Rows        *Rows         // in place of Payload, when the question allows it and it is large
	Unconnected []Reason      // the nones of Payload, or of the value that is evaluated
}

// Rows is a large matrix of derivatives that is computed while it is read: Each hands
// out its elements in order, some rows at a time.
type Rows struct {
	Path  string // the source, dotted
	DType tensor.DType
	Shape tensor.Shape
	Each  func(emit func(part []float64) error) error
}

// A Reason says why a source has no derivative.
type Reason struct{ Path, Why string }

// An Error is what Answer returns: a mistake in the program with its place, or one of
// data or resources.
type Error struct{ At *expr.Error }

func (e *Error) Error() string { return e.At.Error() }

func (e *Error) Unwrap() error { return e.At }

// ExitCode is that of the command line.
func (e *Error) ExitCode() int { return exitCode(e.At.Kind) }

// exitCode is that of errors of a kind.
func exitCode(kind string) int {
	switch kind {
	case "usage":
		return 2
	case "data":
		return 4
	case "memory", "run", "timeout":
		return 5
	case "interrupted":
		return 130
	}
	return 3 // a mistake of the program
}

// Answer records the program and what is asked, and computes it.
func (q *Question) Answer() (*Answer, error) {
	d := desks.Get().(*desk)
	s := &d.session
	s.q, s.desk = q, d
	a, err := s.answered()
	if err != nil || slices.ContainsFunc(a.Targets, func(x Target) bool { return x.Rows != nil }) {
		return a, err
	}
	own := *a // alone, without what it was worked out on
	d.clear()
	desks.Put(d)
	return &own, nil
}

// Eval computes a constant expression, such as the value of --at.
func Eval(text string, dt tensor.DType, seed uint64, limit int64) (*tensor.Value, error) {
	p, err := expr.Parse("", text)
	if err != nil {
		return nil, err
	}
	for _, s := range p.Stmts {
		if _, ok := s.(*expr.ExprStmt); !ok || len(p.Stmts) > 1 {
			return nil, &expr.Error{Prog: p, Kind: "syntax", Where: s.Where(), Mark: s.Where().Start, Msg: "a value is one expression, not a program"}
		}
	}
	if v := written(p.Stmts[0].(*expr.ExprStmt).X); v != nil && dt == tensor.Float64 {
		return tensor.Of(v), nil // without a tape
	}
	a, err := (&Question{Prog: p, Op: "eval", DType: dt, Seed: seed, Limit: limit}).Answer()
	if err != nil {
		return nil, err
	}
	a.Targets[0].Value.Leaves("", func(_ string, v *tensor.Value) {
		if v.Kind != tensor.KindTensor {
			return
		}
		v.Said = v.Tensor.DType != dt
		if v.Tensor.DType == tensor.Float32 {
			kernelsFloat32(v.Tensor.Data, v.Tensor.Data) // a written number is rounded by what is done with it
		}
	})
	return a.Targets[0].Value, nil
}

// written is the tensor that an expression is, if that is a number or a list of numbers and no
// more, or nil: so are most values of --at.
func written(e expr.Expr) *tensor.Tensor {
	t := &tensor.Tensor{}
	first := e
	for l, ok := first.(*expr.List); ok && len(l.Elems) > 0; l, ok = first.(*expr.List) {
		t.Shape = append(t.Shape, len(l.Elems))
		first = l.Elems[0]
	}
	var read func(e expr.Expr, shape tensor.Shape) bool
	read = func(e expr.Expr, shape tensor.Shape) bool {
		if len(shape) == 0 {
			v, ok := writtenNumber(e)
			t.Data = append(t.Data, v)
			return ok
		}
		l, ok := e.(*expr.List)
		return ok && len(l.Elems) == shape[0] &&
			!slices.ContainsFunc(l.Elems, func(e expr.Expr) bool { return !read(e, shape[1:]) })
	}
	if !read(e, t.Shape) {
		return nil
	}
	return t
}

// writtenNumber is the number that an expression is, if it is one, perhaps behind a minus.
func writtenNumber(e expr.Expr) (v float64, ok bool) {
	switch e := e.(type) {
	case *expr.Num:
		return e.Value, true
	case *expr.Unary:
		if e.Op == expr.Minus {
			v, ok = writtenNumber(e.X)
		}
	}
	return -v, ok
}
