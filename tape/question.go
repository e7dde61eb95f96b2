package tape

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"nabla/expr"
	"nabla/tape/pool"
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
type Error struct {
	At   *expr.Error
	Code int // exit code: 3 for the program, 4 data, 5 while running
}

func (e *Error) Error() string { return e.At.Error() }
func (e *Error) Unwrap() error { return e.At }

// ExitCode is that of the command line.
func (e *Error) ExitCode() int { return e.Code }

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
		if v.Kind == tensor.KindTensor && v.Tensor.DType == tensor.Float32 {
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

func (s *session) answered() (a *Answer, err error) {
	defer s.rescue(&err)
	s.start()
	s.program()
	s.ask()
	a = s.finish()
	if !s.expanded() {
		return (&session{q: s.q, nested: true, noSeries: "a kink, or what is not finite"}).answered()
	}
	if s.cramped() {
		if b, err := (&session{q: s.q, unrolled: true}).answered(); err == nil {
			return b, nil
		}
	}
	if s.blurred() {
		if b, err := (&session{q: s.q, apart: true}).answered(); err == nil {
			return b, nil
		}
	}
	return a, nil
}

// A session is one question being answered.
type session struct {
	q       *Question
	desk    *desk
	t       *Tape
	lo      *lowering
	targets []asked
	answer  Answer
	last    value // of the last statement
	leafOf  map[string]Ref

	// What a recording is made of, when there is a log.
	log             *log
	leaves          []Ref       // the leaves of the inputs, None for a none
	plain           map[Ref]Ref // of matrices as terms, what they stand for
	x               *execution  // of the whole answer; nil when everything was known
	parts           bool        // large matrices run in parts
	nested          bool        // derivatives of high order are those of derivatives
	taylors         []Ref       // those that come from power series
	noSeries        string      // why one does not
	unrolled        bool        // no loop is one instruction
	apart           bool        // lines of sparse matrices are computed one by one
	odd             bool        // not all of the answer is finite
	wanted          []Ref
	counts          []Ref // of kinks
	said            int   // warnings that do not depend on the inputs' values
	stats           Stats // before anything special was looked at
	taken           []taken
	sides           []Ref             // blocks of Hessians that have a mirror image in the answer
	slopes, exposed []Ref             // what regain looks at
	many            bool              // they are many numbers
	mended          map[Ref][]float64 // what the mirror image completed, or regain
	regained        bool              // regain has computed the derivatives
}

type asked struct {
	name    string
	val     value
	payload value
	expr    expr.Expr
}

// rescue, deferred, turns a panic of the package into an error; anything else goes on.
func (s *session) rescue(err *error) {
	p := recover()
	if p == nil {
		return
	}
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
	case m.Flag != nil:
		e.Prog, e.Mark = m.Flag, m.Pos
		e.Where = expr.Span{Start: m.Pos, End: expr.Pos(len(m.Flag.Text))}
	case m.Pos >= 0:
		e.Mark = m.Pos
		e.Where = s.spanAt(m.Pos)
	case s.lo != nil && s.lo.cur != nil:
		e.Where, e.Mark = s.lo.cur.Where(), s.lo.cur.Mark()
	}
	if e.Where.Start < 0 {
		e.Prog = nil
	}
	*err = &Error{At: e, Code: code}
}

// isArrow reports whether an expression is x <- 3, which binds a name in R.
func isArrow(p *expr.Program, x expr.Expr) bool {
	b, ok := x.(*expr.Binary)
	return ok && b.Op == expr.Lt && p.Text[b.OpPos+1] == '-'
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
	if s.desk == nil {
		s.desk = new(desk)
	}
	s.t = s.desk.open()
	s.t.Conventions, s.t.apart = q.Conventions, s.apart
	s.t.DType, s.t.Limit, s.t.Threads, s.t.log = q.DType, q.Limit, q.Threads, s.log
	s.lo = s.desk.lower(q.Prog)
	for _, w := range q.Wrt {
		if !slices.ContainsFunc(q.Inputs, func(in Input) bool { return in.Name == w }) {
			s.lo.wrt = append(s.lo.wrt, w)
		}
	}
	s.lo.seed, s.lo.mode, s.lo.unrolled = q.Seed, q.Mode, s.unrolled
	s.lo.rows = q.Order > 1 || slices.Contains(rowNames, q.Op)
	check := s.checkTime
	s.lo.check, s.t.check = check, check
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
	if x := expr.DecimalComma(q.Prog); x != nil {
		s.lo.warn(Warning{Op: "program", Msg: "a comma between two numbers makes two values", Pos: x.Where().Start,
			Hint: "the decimal sign is a point, digits are grouped with _; (1, 5) says that two are meant"})
	}
	for _, x := range expr.Idle(q.Prog) {
		w := Warning{Op: "program", Msg: "nothing uses this value", Pos: x.Where().Start}
		if c := q.Prog.Text[w.Pos]; c == '+' || c == '-' {
			w.Hint = "to go on with the line above, end that one with the operator"
		} else if isArrow(q.Prog, x) {
			w.Hint = "<- compares with a negative number; a name is bound by ="
		}
		s.lo.warn(w)
	}
	if x, ok := q.Prog.Stmts[len(q.Prog.Stmts)-1].(*expr.ExprStmt); ok && isArrow(q.Prog, x.X) && q.Prog.Text[x.X.Mark()+2] == ' ' {
		s.lo.warn(Warning{Op: "program", Msg: "<- compares with a negative number", Pos: x.X.Mark(), Hint: "a name is bound by ="})
	}
	s.lo.inputs, s.leaves = make([]string, 0, len(q.Inputs)), make([]Ref, 0, len(q.Inputs))
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
		pool.Wake(s.t.threads() - 1)
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
			why = "--no-watch"
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
		own := s.desk.leaves.one()
		own.first[0] = r
		st := &own.slot
		own.state = state{name: path, versions: own.first[:], frozen: why}
		st.val, st.state = r, &own.state
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
	m := &Misuse{Kind: "name", Msg: flag + " " + path + ": the program has no " + path, Code: 3}
	m.Flag, m.Pos = &expr.Program{Text: flag + " " + path}, expr.Pos(len(flag)+1)
	root, _, _ := strings.Cut(path, "[")
	element := false
	if x := s.lo.top.names[root]; x != nil && root != path {
		_, element = x.val.(Ref)
	}
	if element {
		m.Hint = "an element has no name: " + flag + " " + root + ", or a name for it in the program"
	} else if list := strings.FieldsFunc(path, func(c rune) bool { return strings.ContainsRune(" ,()[]{}", c) }); len(list) > 1 {
		m.Hint = "names are separated by commas: " + flag + " " + strings.Join(list, ",")
	} else if g := expr.Suggest(path, names); g != "" {
		m.Hint = "did you mean " + g + "?"
	} else if len(names) > 0 {
		m.Hint = "it has " + expr.Some(names)
	}
	panic(m)
}

// sources finds the sources, as a record by name.
func (s *session) sources() *record {
	n := max(len(s.q.Wrt), len(s.q.Inputs))
	out := &record{names: make([]string, 0, n), elems: make([]value, 0, n)}
	var seen map[string]bool
	if n > few {
		seen = make(map[string]bool, n)
	}
	add := func(name string, tree value) {
		if seen[name] || seen == nil && slices.Contains(out.names, name) {
			return
		}
		if seen != nil {
			seen[name] = true
		}
		out.names, out.elems = append(out.names, name), append(out.elems, tree)
	}
	if s.q.Wrt == nil {
		for _, in := range s.q.Inputs {
			if s.frozenAll(in) {
				continue
			}
			add(in.Name, s.sourceTree(in))
		}
		if len(out.names) == 0 {
			s.lo.cur = nil
			panic(&Misuse{Kind: "usage", Code: 2, Pos: expr.NoPos, Msg: "nothing to differentiate by: the program has no variable", Hint: s.noVariable()})
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

// noVariable is how a program without a variable gets one.
func (s *session) noVariable() string {
	if len(s.q.Inputs) > 0 {
		return s.q.Inputs[0].Name + " is a constant: --watch " + s.q.Inputs[0].Name + " makes it a variable"
	}
	for _, n := range slices.Sorted(maps.Keys(s.lo.top.names)) {
		if r, ok := s.lo.top.names[n].val.(Ref); ok && s.t.Active(r) {
			return "--wrt " + n + " takes it by what the program watches"
		}
		if r, ok := s.lo.top.names[n].val.(Ref); ok && s.t.ins[r].Op() == opConst {
			return "the program itself gives " + n + " its value: leave that to --at " + n + "=…; nabla eval gives the value alone"
		}
	}
	return "--at x=… gives one; nabla eval gives the value alone"
}

// frozenAll reports whether nobody watches any part of an input: not the question, nor the
// program.
func (s *session) frozenAll(in Input) bool {
	any, all := false, true
	in.Value.Leaves(in.Name, func(path string, _ *tensor.Value) {
		if r, ok := s.leaf(path); ok {
			any = true
			all = all && s.lo.leaves[r].state.frozen != ""
		}
	})
	if !any { // a tensor that is none
		return in.Const || s.q.NoWatch
	}
	return all
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
	if r, ok := s.leaf(path); ok {
		// the versions belong to the variable even when its name is bound anew
		state := s.lo.leaves[r].state
		return s.lo.slotSource(path, &slot{val: state.current(r), state: state})
	}
	return &source{name: path, why: path + " has no value"}
}

// leaf is the first leaf of that name. Few are looked at one by one.
func (s *session) leaf(path string) (Ref, bool) {
	if len(s.leaves) <= few {
		for _, r := range s.leaves {
			if r != None && s.lo.leaves[r].state.name == path {
				return r, true
			}
		}
		return None, false
	}
	if s.leafOf == nil {
		s.leafOf = make(map[string]Ref, len(s.leaves))
		for _, r := range slices.Backward(s.leaves) {
			if r != None {
				s.leafOf[s.lo.leaves[r].state.name] = r
			}
		}
	}
	r, ok := s.leafOf[path]
	return r, ok
}

// current is the current version of a variable, or its first.
func (st *state) current(first Ref) Ref {
	if n := len(st.versions); n > 0 {
		return st.versions[n-1]
	}
	return first
}
