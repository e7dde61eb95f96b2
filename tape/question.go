package tape

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nabla/expr"
	"nabla/kernels"
	"nabla/tape/tensor"
)

// An Input is a named value given from outside the program.
type Input struct {
	Name  string
	Value *tensor.Value
	Const bool // known, not watched
	From  string
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
	Seed        uint64
	Limit       int64
	Threads     int
	Deadline    time.Time
	Stop        <-chan struct{} // closed to interrupt
	Sparse      bool            // jacobian, hessian: their entries that are not 0 (tensor.Sparse)
	Stream      bool            // the one matrix of the answer may come row by row (Target.Rows)
}

// An Answer is the numbers, in the structures of the program.
type Answer struct {
	Targets  []Target
	Several  bool
	Warnings []Warning
	Watched  []string
	Stats    Stats
	Mode     string
}

// A Target is one value and its derivatives.
type Target struct {
	Name        string
	Value       *tensor.Value
	Payload     *tensor.Value
	Rows        *Rows    // in place of Payload, when the question allows it and it is large
	Unconnected []Reason // the nones of Payload, or of the value that is evaluated
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
type Error struct {
	At   *expr.Error
	Code int // exit code: 3 for the program, 4 data, 5 while running
}

func (e *Error) Error() string { return e.At.Error() }
func (e *Error) Unwrap() error { return e.At }

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
	a, err := (&Question{Prog: p, Op: "eval", DType: dt, Seed: seed, Limit: limit}).Answer()
	if err != nil {
		return nil, err
	}
	return a.Targets[0].Value, nil
}

// Answer records the program and what is asked, and computes it.
func (q *Question) Answer() (*Answer, error) { return (&session{q: q}).answered() }

func (s *session) answered() (a *Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = s.asError(p)
		}
	}()
	s.start()
	s.program()
	s.ask()
	return s.finish(), nil
}

// A session is one question being answered.
type session struct {
	q       *Question
	t       *Tape
	lo      *lowering
	targets []asked
	answer  Answer
	last    value // of the last statement
	leafOf  map[string]Ref

	// What a recording is made of, when there is a log.
	log    *log
	leaves []Ref       // the leaves of the inputs, None for a none
	plain  map[Ref]Ref // of matrices as terms, what they stand for
	x      *execution  // of the whole answer; nil when everything was known
	parts  bool        // large matrices run in parts
	wanted []Ref
	counts []Ref // of kinks
	said   int   // warnings that do not depend on the inputs' values
	stats  Stats // before anything special was looked at
	taken  []taken
}

type asked struct {
	name    string
	val     value
	payload value
	expr    expr.Expr
}

// asError turns a panic of the package into an error; anything else goes on.
func (s *session) asError(p any) error {
	m, ok := p.(*Misuse)
	if !ok {
		if _, split := p.(*diverged); split {
			m = &Misuse{Kind: "type", Msg: "points of a batch disagree about a condition here", Pos: s.t.pos, Hint: "where(c, a, b) chooses elementwise"}
		} else {
			panic(p)
		}
	}
	e := &expr.Error{Prog: s.q.Prog, Kind: m.Kind, Msg: m.Msg, Note: m.Note, Hint: m.Hint, Mark: expr.NoPos, Where: expr.Span{Start: expr.NoPos, End: expr.NoPos}}
	code := m.Code
	if code == 0 {
		code = 3
	}
	switch {
	case m.Pos >= 0:
		e.Mark = m.Pos
		e.Where = s.spanAt(m.Pos)
	case s.lo != nil && s.lo.cur != nil:
		e.Where, e.Mark = s.lo.cur.Where(), s.lo.cur.Mark()
	}
	if e.Where.Start < 0 {
		e.Prog = nil
	}
	return &Error{At: e, Code: code}
}

// spanAt is the innermost expression marked at a position.
func (s *session) spanAt(p expr.Pos) expr.Span {
	best := expr.Span{Start: p, End: p + 1}
	found := false
	expr.Walk(s.q.Prog, func(n any) bool {
		x, ok := n.(expr.Expr)
		if !ok {
			return true
		}
		if _, isStmt := n.(*expr.ExprStmt); isStmt {
			return true
		}
		w := x.Where()
		if x.Mark() == p && (!found || w.End-w.Start > best.End-best.Start) {
			if _, isName := n.(*expr.Name); !isName || !found {
				best, found = w, true
			}
		}
		return true
	})
	return best
}

func (s *session) start() {
	q := s.q
	s.t = New()
	s.t.Conventions = q.Conventions
	s.t.DType, s.t.Limit, s.t.Threads, s.t.log = q.DType, q.Limit, q.Threads, s.log
	s.lo = newLowering(s.t, q.Prog)
	s.lo.seed, s.lo.mode = q.Seed, q.Mode
	s.lo.check = s.checkTime
	s.t.check = s.checkTime
	s.t.kinksOn = q.Op != "eval"
	var seen map[string]bool
	s.lo.warn = func(w Warning) {
		if key := fmt.Sprint(w.Op, w.Msg, w.Pos); !seen[key] {
			if seen == nil {
				seen = map[string]bool{}
			}
			seen[key] = true
			s.answer.Warnings = append(s.answer.Warnings, w)
		}
	}
	for _, in := range q.Inputs {
		s.lo.inputs = append(s.lo.inputs, in.Name)
	}
	size := 0
	for _, in := range q.Inputs {
		s.input(in)
		in.Value.Leaves("", func(_ string, v *tensor.Value) {
			if v.Kind == tensor.KindTensor {
				size += len(v.Tensor.Data)
			}
		})
	}
	if size >= 1<<15 && s.t.threads() > 1 { // they wake while we record
		wakeWorkers(s.t.threads() - 1)
	}
}

func (s *session) checkTime() {
	if !s.q.Deadline.IsZero() && time.Now().After(s.q.Deadline) {
		panic(&Misuse{Kind: "timeout", Msg: "the time limit is reached", Hint: "--timeout raises it", Code: 5, Pos: expr.NoPos})
	}
	select {
	case <-s.q.Stop:
		panic(&Misuse{Kind: "interrupted", Msg: "interrupted", Code: 130, Pos: expr.NoPos})
	default:
	}
}

// input records one input: every tensor in it a leaf and a variable of its own.
func (s *session) input(in Input) {
	chosen := slices.Contains(s.q.Watch, in.Name)
	v := structured(in.Name, in.Value, func(path string, v *tensor.Value) value {
		if v.Kind == tensor.KindNone {
			s.leaves = append(s.leaves, None)
			return &none{why: v.Why}
		}
		x := v.Tensor
		why := v.Frozen
		if in.Const && why == "" {
			why = "given with --const"
		}
		if s.q.NoWatch && why == "" {
			why = "not watched (--no-watch)"
		}
		if chosen || slices.Contains(s.q.Watch, path) {
			why = ""
		}
		if s.q.DType == tensor.Float32 && x.DType == tensor.Float64 {
			y := *x
			y.DType, y.Data = tensor.Float32, slices.Clone(x.Data)
			kernelsFloat32(y.Data, y.Data)
			x = &y
		}
		r := s.t.Input(path, x, why == "")
		s.leaves = append(s.leaves, r)
		st := &slot{val: r, state: &state{name: path, versions: []Ref{r}, frozen: why}}
		if why == "" && x.DType.IsFloat() {
			s.answer.Watched = append(s.answer.Watched, path)
		}
		if why != "" {
			if s.t.frozen == nil {
				s.t.frozen = map[Ref]string{}
			}
			s.t.frozen[r] = path + " is not watched: " + why
			st.state.frozen = path + " is not watched: " + why
		}
		s.lo.leaves[r] = st
		s.t.name(r, path)
		return r
	})
	if r, ok := v.(Ref); ok {
		s.lo.top.names[in.Name] = s.lo.leaves[r]
		return
	}
	s.lo.top.names[in.Name] = &slot{val: v}
}

// program runs the statements.
func (s *session) program() {
	stmts := s.q.Prog.Stmts
	for i, st := range stmts {
		v, ok := s.lo.stmt(st)
		if !ok {
			continue
		}
		if i == len(stmts)-1 || v != nil {
			s.last = v
		}
	}
	s.lo.scope = s.lo.top
}

// target finds the targets: --of, or the program's own.
func (s *session) target() {
	if len(s.q.Of) > 0 {
		for _, name := range s.q.Of {
			v, e := s.named(name, "--of")
			s.targets = append(s.targets, asked{name: name, val: v, expr: e})
		}
		s.answer.Several = len(s.q.Of) > 1
		return
	}
	stmts := s.q.Prog.Stmts
	lastStmt := stmts[len(stmts)-1]
	if x, ok := lastStmt.(*expr.ExprStmt); ok {
		name := ""
		if n, ok := x.X.(*expr.Name); ok {
			name = n.Name
		}
		s.targets = []asked{{name: name, val: s.last, expr: x.X}}
		return
	}
	switch lastStmt.(type) {
	case *expr.While, *expr.For, *expr.NoGradient, *expr.Reset, *expr.Watch, *expr.FuncDef, *expr.GradDef:
		s.last = nil
	}
	if s.last == nil { // the last bound name is the target
		x := s.lo.top.find(s.lo.bound)
		if x == nil || x.val == nil {
			s.lo.cur = &expr.Name{Span: lastStmt.Where()}
			panic(&Misuse{Kind: "syntax", Msg: "the program computes nothing: it needs an expression as its target", Pos: expr.NoPos})
		}
		s.targets = []asked{{name: s.lo.bound, val: x.val, expr: &expr.Name{Span: lastStmt.Where()}}}
		return
	}
	t := asked{val: s.last, expr: &expr.Name{Span: lastStmt.Where()}}
	if b, ok := lastStmt.(*expr.Bind); ok {
		t.expr = b.Value
		if len(b.Targets) == 1 {
			t.name = b.Targets[0].Name
			t.val = s.lo.top.find(t.name).val
		} else {
			tup := &tuple{}
			for _, n := range b.Targets {
				tup.elems = append(tup.elems, s.lo.top.find(n.Name).val)
			}
			t.val = tup
		}
	}
	s.targets = []asked{t}
}

// named finds a name given on the command line, such as w, model.w or p[0].
func (s *session) named(path, flag string) (value, expr.Expr) {
	if e, _, err := expr.ParseExpr("", path); err == nil {
		if v, ok := s.lo.part(e); ok && v != nil {
			return v, &expr.Name{Span: expr.Span{Start: expr.NoPos, End: expr.NoPos}}
		}
	}
	var names []string
	for n, x := range s.lo.top.names {
		switch x.val.(type) {
		case Ref, *tuple, *record:
			names = append(names, n)
		}
	}
	slices.Sort(names)
	m := &Misuse{Kind: "name", Msg: flag + " " + path + ": the program has no " + path, Pos: expr.NoPos, Code: 3}
	if g := expr.Suggest(path, names); g != "" {
		m.Hint = "did you mean " + g + "?"
	} else if len(names) > 0 {
		m.Hint = "it has " + expr.Some(names)
	}
	s.lo.cur = nil
	panic(m)
}

// sources finds the sources, as a record by name.
func (s *session) sources() *record {
	out := &record{}
	seen := make(map[string]bool, len(s.q.Inputs))
	add := func(name string, tree value) {
		if !seen[name] {
			seen[name] = true
			out.names, out.elems = append(out.names, name), append(out.elems, tree)
		}
	}
	if s.q.Wrt == nil {
		for _, in := range s.q.Inputs {
			if in.Const && !slices.Contains(s.q.Watch, in.Name) {
				continue
			}
			if s.q.NoWatch && !slices.Contains(s.q.Watch, in.Name) {
				continue
			}
			if frozenAll(in.Value) && !slices.Contains(s.q.Watch, in.Name) {
				continue
			}
			add(in.Name, s.sourceTree(in))
		}
		if len(out.names) == 0 {
			s.lo.cur = nil
			panic(&Misuse{Kind: "usage", Code: 2, Pos: expr.NoPos, Msg: "nothing to differentiate by: the program has no variable",
				Hint: "--at x=… gives one, --wrt names others"})
		}
		return out
	}
	for _, w := range s.q.Wrt {
		if tree := s.inputTree(w); tree != nil {
			add(w, tree)
			continue
		}
		v, _ := s.named(w, "--wrt")
		add(w, s.lo.asSource(w, v))
	}
	return out
}

func frozenAll(v *tensor.Value) bool {
	all, any := true, false
	v.Leaves("", func(_ string, x *tensor.Value) {
		any = true
		all = all && x.Frozen != ""
	})
	return any && all
}

// inputTree is the tree of sources of an input: with respect to an input's name always
// means the input, whatever the program has bound the name to since.
func (s *session) inputTree(name string) value {
	for _, in := range s.q.Inputs {
		if in.Name == name {
			return s.sourceTree(in)
		}
	}
	return nil
}

func (s *session) sourceTree(in Input) value {
	return structured(in.Name, in.Value, func(path string, _ *tensor.Value) value { return s.leafSource(path) })
}

func (s *session) leafSource(path string) value {
	if s.leafOf == nil {
		s.leafOf = make(map[string]Ref, len(s.lo.leaves))
		for r, x := range s.lo.leaves {
			if first, ok := s.leafOf[x.state.name]; !ok || r < first {
				s.leafOf[x.state.name] = r
			}
		}
	}
	if r, ok := s.leafOf[path]; ok {
		// the versions belong to the variable even when its name is bound anew
		state := s.lo.leaves[r].state
		return s.lo.slotSource(path, &slot{val: state.current(r), state: state})
	}
	return &source{name: path, why: path + " has no value"}
}

// current is the current version of a variable, or its first.
func (st *state) current(first Ref) Ref {
	if n := len(st.versions); n > 0 {
		return st.versions[n-1]
	}
	return first
}

// ask appends what is asked.
func (s *session) ask() {
	q := s.q
	s.target()
	if q.Op == "eval" {
		return
	}
	tree := s.sources()
	for i := range s.targets {
		a := &s.targets[i]
		s.lo.cur = a.expr
		if a.expr.Where().Start < 0 {
			s.lo.cur = nil
		}
		s.t.pos = expr.NoPos
		if n, ok := a.val.(*none); ok {
			a.payload = mapLeaves(tree, func(value) value { return n })
			continue
		}
		a.payload = s.derive(a, tree)
	}
}

func (s *session) derive(a *asked, tree *record) value {
	q, lo := s.q, s.lo
	op := q.Op
	switch {
	case op == "grad" && q.Order > 1:
		return s.higher(a, tree)
	case op == "grad" && q.With != nil:
		op = "vjp"
	case op == "hessian" && q.Diagonal:
		return s.hessianDiagonal(a, tree)
	case q.Sparse && (op == "jacobian" || op == "hessian"):
		return s.sparse(a, tree)
	}
	var v value
	switch op {
	case "vjp":
		v = s.given(q.With)
		if v == nil {
			panic(&Misuse{Kind: "usage", Code: 2, Msg: "vjp needs the upstream gradient", Hint: "--with VALUE, in the shape of the target", Pos: expr.NoPos})
		}
	case "jvp", "hvp":
		v = s.tangentTree(tree)
	}
	return lo.derive(op, a.val, tree, v, a.expr)
}

// sparse is a Jacobian or a Hessian as matrices of their entries.
func (s *session) sparse(a *asked, tree *record) value {
	y, ok := a.val.(Ref)
	if !ok {
		return s.lo.derive(s.q.Op, a.val, tree, nil, a.expr) // which says what is wrong
	}
	if s.q.Op == "jacobian" {
		return s.sparseRow(y, tree, s.lo.mode, -1)
	}
	s.lo.scalarTarget(y, a.expr, "a Hessian")
	first := s.lo.perSource([]Ref{y}, tree, func(srcs []Ref) []Ref { return s.t.Gradient([]Ref{y}, srcs) })
	k := -1
	return mapLeaves(first, func(v value) value {
		k++
		g, ok := v.(Ref)
		if !ok {
			return v
		}
		return mapLeaves(s.sparseRow(g, tree, s.lo.hessianMode(), k), func(v value) value { return s.emptied(v, g) })
	})
}

// sparseRow is the Jacobian of one tensor by each source; y is the gradient by source
// number of, or none is.
func (s *session) sparseRow(y Ref, tree value, mode string, of int) value {
	k := -1
	return mapLeaves(tree, func(v value) value {
		k++
		src := v.(*source)
		if src.why != "" {
			return &none{why: src.why}
		}
		if m, ok := s.t.sparseJacobian(y, src.refs, mode, k == of); ok {
			if m == nil {
				return &none{why: s.lo.whyNone([]Ref{y}, src), of: src}
			}
			return m
		}
		v = s.lo.perSource([]Ref{y}, src, func(srcs []Ref) []Ref { return s.t.Jacobian(y, srcs, mode) })
		if r, ok := v.(Ref); ok {
			return &sparse{t: s.t, sums: r, y: s.t.Shape(y), x: s.t.Shape(src.current()), dtype: s.t.ins[r].dtype}
		}
		return v
	})
}

// emptied is a second derivative, 0 where only the first one exists.
func (s *session) emptied(v value, g Ref) value {
	n, ok := v.(*none)
	if !ok || n.of == nil {
		return v
	}
	y, x := s.t.Shape(g), s.t.Shape(n.of.current())
	return &sparse{t: s.t, y: y, x: x, got: &tensor.Sparse{Shape: append(slices.Clone(y), x...), Rows: y.Size(), Cols: x.Size(), Ptr: make([]int32, y.Size()+1)}}
}

// given records a value from outside as constants.
func (s *session) given(v *tensor.Value) value {
	if v == nil {
		return nil
	}
	return structured("", v, func(_ string, v *tensor.Value) value {
		if v.Kind == tensor.KindNone {
			return &none{why: v.Why}
		}
		return s.t.Tensor(v.Tensor)
	})
}

// structured gives a value from outside its form in a program: tuples and records of
// what leaf makes of each tensor or none, which it is told the path of.
func structured(path string, v *tensor.Value, leaf func(path string, v *tensor.Value) value) value {
	switch v.Kind {
	case tensor.KindList:
		out := &tuple{}
		for i, e := range v.List {
			out.elems = append(out.elems, structured(path+"["+itoa(i)+"]", e, leaf))
		}
		return out
	case tensor.KindRecord:
		out := &record{}
		for _, f := range v.Fields {
			out.names = append(out.names, f.Name)
			out.elems = append(out.elems, structured(tensor.Join(path, f.Name), f.Value, leaf))
		}
		return out
	}
	return leaf(path, v)
}

// tangentTree lines --with up with the sources; a bare value is for the only one.
func (s *session) tangentTree(tree *record) value {
	w := s.q.With
	if w == nil {
		panic(&Misuse{Kind: "usage", Code: 2, Msg: s.q.Op + " needs a tangent for each source", Hint: "--with NAME=VALUE, in the shape of NAME", Pos: expr.NoPos})
	}
	if w.Kind != tensor.KindRecord {
		return &tuple{elems: []value{s.given(w)}}
	}
	out := &tuple{}
	for _, f := range w.Fields {
		if !slices.Contains(tree.names, f.Name) {
			panic(&Misuse{Kind: "usage", Code: 2, Msg: "--with " + f.Name + ": it is not a source", Hint: "the sources are " + expr.Some(tree.names), Pos: expr.NoPos})
		}
	}
	for i, n := range tree.names {
		v := w.Get(n)
		if v == nil {
			// a source without a tangent stands still
			out.elems = append(out.elems, mapLeaves(tree.elems[i], func(x value) value {
				src := x.(*source)
				if src.why != "" {
					return s.t.Const(0)
				}
				return s.t.broadcastTo(s.t.Const(0), s.t.Shape(src.current()))
			}))
			continue
		}
		out.elems = append(out.elems, s.given(v))
	}
	return out
}

// higher is the n-th derivative of a scalar function of a scalar.
func (s *session) higher(a *asked, tree *record) value {
	y, ok := a.val.(Ref)
	if !ok || s.t.Shape(y).Size() != 1 {
		panic(&Misuse{Kind: "shape", Msg: "--order " + itoa(s.q.Order) + " needs a scalar target", Hint: "hessian has the second derivatives of tensors", Pos: expr.NoPos})
	}
	return mapLeaves(tree, func(x value) value {
		src := x.(*source)
		if src.why == "" && s.t.Shape(src.current()).Size() != 1 {
			panic(&Misuse{Kind: "shape", Msg: "--order " + itoa(s.q.Order) + " needs scalar sources, " + src.name + " has shape " + s.t.Shape(src.current()).String(), Hint: "hessian has the second derivatives of tensors", Pos: expr.NoPos})
		}
		var g value = y
		for k := range s.q.Order {
			r := g.(Ref)
			next := s.lo.perSource([]Ref{r}, src, func(srcs []Ref) []Ref { return s.t.Gradient([]Ref{r}, srcs) })
			if _, isNone := next.(*none); isNone {
				if k > 0 { // connected once: the derivative of a constant is 0
					return s.t.broadcastTo(s.t.Const(0), s.t.Shape(src.current()))
				}
				return next
			}
			g = next
		}
		return g
	})
}

// hessianDiagonal is the diagonal of each source's own block: v ∘ Hv summed over unit
// vectors, one row of the Hessian at a time along a batch axis.
func (s *session) hessianDiagonal(a *asked, tree *record) value {
	t := s.t
	y, ok := a.val.(Ref)
	if !ok {
		panic(&Misuse{Kind: "type", Msg: "a Hessian wants one tensor as its target, not " + describe(a.val), Pos: expr.NoPos})
	}
	s.lo.scalarTarget(y, a.expr, "a Hessian")
	return s.lo.perSource([]Ref{y}, tree, func(srcs []Ref) []Ref {
		gs := t.Gradient([]Ref{y}, srcs)
		for i, g := range gs {
			if g == None {
				continue
			}
			shape := t.Shape(srcs[i])
			if shape.Size() <= 1 {
				h := t.Gradient([]Ref{g}, srcs[i:i+1])[0]
				if h == None {
					h = t.broadcastTo(t.Const(0), shape)
				}
				gs[i] = h
				continue
			}
			axis := t.NewAxis(shape.Size())
			e := t.basis(axis, shape, t.ins[srcs[i]].dtype)
			h := t.VJP([]Ref{g}, []Ref{e}, srcs[i:i+1])[0]
			if h == None {
				gs[i] = t.broadcastTo(t.Const(0), shape)
				continue
			}
			gs[i] = t.sumBatch(t.full(t.Apply(opZMul, h, e), srcs[i]), axis)
		}
		return gs
	})
}

// finish computes everything that is wanted, at once, and takes it off the tape.
func (s *session) finish() *Answer {
	var want []Ref
	var matrices []*sparse
	collect := func(v value) {
		eachLeaf(v, func(x value) {
			switch x := x.(type) {
			case Ref:
				want = append(want, x)
			case *sparse:
				matrices = append(matrices, x)
				if r := x.wanted(); r != None {
					want = append(want, r)
				}
			}
		})
	}
	s.t.pos = expr.NoPos
	s.factor()
	for _, a := range s.targets {
		collect(a.val)
		if a.payload != nil {
			collect(a.payload)
		}
	}
	rows := s.stream(&want)
	n := len(want)
	if s.q.Op != "eval" && s.t.kinksOn {
		want = append(want, s.t.recordKinks(true)...)
	}
	s.wanted, s.counts = want[:n], want[n:]
	s.parts = s.compute(want) || rows != nil || len(matrices) > 0
	s.unfactor()
	s.said, s.t.log, s.t.passing = len(s.answer.Warnings), nil, s.log != nil
	finite := true
	for _, m := range matrices {
		finite = finiteNumbers(m.compute().Data) && finite
	}
	s.stats = s.t.Stats
	s.stats.Instructions = len(s.t.ins)
	if s.q.Op != "eval" {
		finite = s.finite(s.wanted) && finite
		if !finite {
			s.t.Values(s.t.recordKinks(false))
		}
		found := s.lo.kinkWarnings()
		if !finite && len(found) == 0 {
			if w, ok := s.lo.overflowWarning(s.tensors()); ok {
				found = append(found, w)
			}
		}
		s.answer.Warnings = append(s.answer.Warnings, found...)
	}
	for _, a := range s.targets {
		out := Target{Name: a.name, Value: s.take(a.val, "", nil)}
		switch {
		case s.q.Op == "eval":
			out.Value.Leaves("", func(path string, v *tensor.Value) {
				if v.Kind == tensor.KindNone && v.Why != "" {
					out.Unconnected = append(out.Unconnected, Reason{strings.TrimPrefix(path, "."), v.Why})
				}
			})
		case rows != nil:
			out.Rows = rows
		case a.payload != nil:
			out.Payload = s.take(a.payload, "", &out.Unconnected)
		}
		s.answer.Targets = append(s.answer.Targets, out)
	}
	if len(s.t.compressions) > 0 {
		s.answer.Mode = s.modeText()
	}
	s.answer.Stats = s.t.Stats
	s.answer.Stats.Instructions = len(s.t.ins)
	return &s.answer
}

// factor has the matrices of derivatives in the answer computed as terms, where that pays.
func (s *session) factor() {
	if s.plain != nil {
		return
	}
	s.plain = map[Ref]Ref{}
	seen := map[Ref]Ref{}
	s.replace(func(r Ref) Ref {
		m, ok := seen[r]
		if ok {
			return m
		}
		if o, ok := s.t.mirrors[r]; ok && o.of != r && s.plain[seen[o.of]] == o.of {
			m = s.t.rotate(seen[o.of], o.lead)
		} else {
			m = s.t.factored(r)
		}
		if m == None {
			m = r
		} else if _, ok := s.plain[m]; !ok {
			s.plain[m] = r
		}
		seen[r] = m
		return m
	})
}

// unfactor computes the matrices again, row by row, where not everything in the answer is
// finite: which zeros are between terms, and what one side of a Hessian has where the
// other is not finite, is then for the rows to say.
func (s *session) unfactor() {
	if len(s.plain) == 0 || s.finite(s.wanted) {
		return
	}
	var again []Ref
	for _, r := range s.plain {
		again = append(again, r)
	}
	slices.Sort(again)
	rows := func(m Ref) Ref {
		if r, ok := s.plain[m]; ok {
			return r
		}
		return m
	}
	s.replace(rows)
	for i, m := range s.wanted {
		s.wanted[i] = rows(m)
	}
	s.t.Compute(again)
	s.parts = true // whose recording is of no use
}

// replace puts other values in the place of those of the answer.
func (s *session) replace(f func(r Ref) Ref) {
	for i := range s.targets {
		a := &s.targets[i]
		a.val = mapRefs(a.val, f)
		if a.payload != nil {
			a.payload = mapRefs(a.payload, f)
		}
	}
}

// compute is Tape.Compute; it reports whether a matrix ran in parts.
func (s *session) compute(want []Ref) bool {
	runs, rest := s.t.rowRuns(want)
	s.x = s.t.values(rest)
	for _, x := range runs {
		x.all()
	}
	return len(runs) > 0
}

// tensors lists the tensors of the targets.
func (s *session) tensors() []Ref {
	var ys []Ref
	for _, a := range s.targets {
		eachLeaf(a.val, func(v value) {
			if r, ok := v.(Ref); ok {
				ys = append(ys, r)
			}
		})
	}
	return ys
}

// stream takes the one large matrix out of what is wanted, to be computed as it is
// read; nil when there is none.
func (s *session) stream(want *[]Ref) *Rows {
	if !s.q.Stream || len(s.targets) != 1 {
		return nil
	}
	r, path := None, ""
	single := true
	var walk func(v value, p string)
	walk = func(v value, p string) {
		switch v := v.(type) {
		case Ref:
			single = single && r == None
			r, path = v, p
		case *record:
			for i, e := range v.elems {
				walk(e, tensor.Join(p, v.names[i]))
			}
		default:
			single = false
		}
	}
	walk(s.targets[0].payload, "")
	if !single || r == None {
		return nil
	}
	each := func(emit func([]float64) error) error { return s.t.decompressed(r, emit) }
	if s.t.ins[r].Op == opDecompress {
		if s.t.size(r) < leastStreamed {
			return nil
		}
	} else {
		runs, _ := s.t.rowRuns([]Ref{r})
		if len(runs) != 1 || runs[0].outs[0].at != nil {
			return nil
		}
		each = runs[0].each
	}
	kept := (*want)[:0]
	for _, w := range *want {
		if w != r {
			kept = append(kept, w)
		}
	}
	*want = kept
	return &Rows{Path: path, DType: s.t.ins[r].dtype, Shape: s.t.Shape(r), Each: func(emit func([]float64) error) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = s.asError(p)
			}
		}()
		return each(emit)
	}}
}

// finite reports whether all numbers are.
func (s *session) finite(rs []Ref) bool {
	for _, r := range rs {
		if !s.t.sane[r] && !finiteNumbers(s.t.data(r)) {
			return false
		}
	}
	return true
}

func finiteNumbers(data []float64) bool {
	if v := kernels.Sum(data); v-v == 0 {
		return true // a NaN or an infinity would have stayed in the sum
	}
	for _, v := range data {
		if v-v != 0 {
			return false
		}
	}
	return true
}

// take turns a value of the program into one of the world.
func (s *session) take(v value, path string, missing *[]Reason) *tensor.Value {
	switch v := v.(type) {
	case Ref:
		x := &tensor.Tensor{DType: s.t.ins[v].dtype, Shape: s.t.Shape(v), Data: s.t.data(v)}
		s.taken = append(s.taken, taken{x, v})
		return tensor.Of(x)
	case *sparse:
		return &tensor.Value{Kind: tensor.KindSparse, Sparse: v.compute()}
	case *tuple:
		out := &tensor.Value{Kind: tensor.KindList}
		for i, e := range v.elems {
			out.List = append(out.List, s.take(e, path+"["+itoa(i)+"]", missing))
		}
		return out
	case *record:
		out := &tensor.Value{Kind: tensor.KindRecord}
		for i, e := range v.elems {
			p := v.names[i]
			if path != "" {
				p = path + "." + p
			}
			out.Fields = append(out.Fields, tensor.Field{Name: v.names[i], Value: s.take(e, p, missing)})
		}
		return out
	case *none:
		if s.q.Zero && missing != nil {
			if z := s.zeroFor(path); z != nil {
				return z
			}
		}
		if missing != nil {
			*missing = append(*missing, Reason{path, v.why})
		}
		if v.why == noneItself {
			return tensor.None("")
		}
		return tensor.None(v.why)
	}
	panic(&Misuse{Kind: "type", Msg: "the target is " + describe(v) + ", not a number", Pos: expr.NoPos})
}

// zeroFor is --unconnected zero: zeros in the shape of the source.
func (s *session) zeroFor(path string) *tensor.Value {
	e, _, err := expr.ParseExpr("", path)
	if err != nil {
		return nil
	}
	v, ok := s.lo.part(e)
	if !ok {
		return nil
	}
	r, ok := v.(Ref)
	if !ok {
		return nil
	}
	shape := s.t.Shape(r)
	return tensor.Of(&tensor.Tensor{Shape: shape, Data: make([]float64, shape.Size())})
}

// AsError finds the positioned error in an error chain.
func AsError(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}
