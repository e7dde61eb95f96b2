package tape

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nabla/expr"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

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
	inputOf map[string]*Input

	// What a recording is made of, when there is a log.
	log             *log
	leaves          []Ref       // the leaves of the inputs, None for a none
	plain           map[Ref]Ref // of matrices as terms, what they stand for
	x               *execution  // of the whole answer; nil when everything was known
	terms           []Ref       // what was wanted, with matrices as terms, before rows took their place; nil where they did not
	rows            *execution  // of those
	parts           bool        // large matrices run in parts
	nested          bool        // derivatives of high order are those of derivatives
	taylors         []Ref       // those that come from power series
	noSeries        string      // why one does not
	unrolled        bool        // no loop is one instruction
	apart           bool        // lines of sparse matrices are computed one by one
	strong          bool        // zeros of cotangents are strong in all operations
	whole           bool        // sparse matrices are computed with their zeros, so that limits are looked for
	odd             bool        // not all of the answer is finite
	wanted          []Ref
	counts          []Ref // of kinks
	said            int   // warnings that do not depend on the inputs' values
	stats           Stats // before anything special was looked at
	taken           []taken
	sides           []Ref             // blocks of Hessians that have a mirror image in the answer
	slopes, exposed []Ref             // what regain looks at
	vast            bool              // there are too many numbers for that
	settled         bool              // whether what bends on the way is no kink of the targets
	many            bool              // they are many numbers
	mended          map[Ref][]float64 // what the mirror image completed, or regain
	looked          map[Ref]bool      // many numbers, all of them finite
	regained        bool              // regain has computed the derivatives
	bySteps         bool              // loops are to be recorded step by step
	doubtful        bool              // there may be no limit, or it is not known
	bodies          struct {          // what loops would be unrolled, when the tape had so many instructions
		of, size int
		extremes bool
	}
}

// An asked is a target with what is asked of it.
type asked struct {
	name    string
	val     value
	payload value
	expr    expr.Expr
}

// others are the ways to an answer that a first try may ask for, each with the flag of a session
// that goes it.
var others = []struct {
	wanted func(s *session) bool
	flag   func(s *session) *bool
}{
	{(*session).tainted, func(s *session) *bool { return &s.strong }},
	{(*session).cramped, func(s *session) *bool { return &s.unrolled }},
	{(*session).veiled, func(s *session) *bool { return &s.whole }},
	{(*session).blurred, func(s *session) *bool { return &s.apart }},
}

// answered works the answer out: again without series, or another way, where the first try asks
// for that.
func (s *session) answered() (*Answer, error) {
	a, err := s.try()
	switch {
	case s.bySteps:
		return (&session{q: s.q, strong: s.strong, unrolled: true}).answered()
	case err != nil:
		return s.forgiven(err)
	}
	if !s.expanded() {
		return (&session{q: s.q, strong: s.strong, nested: true, noSeries: "a kink, or what is not finite"}).answered()
	}
	for _, o := range others {
		if *o.flag(s) || !o.wanted(s) {
			continue
		}
		again := session{q: s.q, strong: s.strong, unrolled: s.unrolled, whole: s.whole, apart: s.apart}
		*o.flag(&again) = true
		if b, err := again.answered(); err == nil {
			return b, nil
		}
	}
	return a, nil
}

// try works it out as the flags say.
func (s *session) try() (a *Answer, err error) {
	defer s.rescue(&err)
	s.start()
	s.program()
	s.ask()
	return s.finish(), nil
}

// rescue, deferred, turns a panic of the package into an error; anything else goes on.
func (s *session) rescue(err *error) {
	p := recover()
	if p == nil {
		return
	}
	if _, s.bySteps = p.(stepByStep); s.bySteps {
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
	switch {
	case m.Flag != nil:
		e.Prog, e.Mark = m.Flag, m.Pos
		e.Where = expr.Span{Start: m.Pos, End: expr.Pos(len(m.Flag.Text))}
	case m.Pos >= 0:
		e.Mark = m.Pos
		e.Where = s.spanAt(m.Pos)
	case s.t != nil && s.t.busy: // what was lowered last has nothing to do with it
		if s.t.at >= 0 {
			e.Where, e.Mark = s.spanAt(s.t.at), s.t.at
		}
	case s.lo != nil && s.lo.cur != nil:
		e.Where, e.Mark = s.lo.cur.Where(), s.lo.cur.Mark()
	}
	if e.Where.Start < 0 {
		e.Prog = nil
	}
	*err = &Error{At: e}
}

// spanAt is the innermost expression marked at a position.
func (s *session) spanAt(p expr.Pos) expr.Span { return s.spansAt([]expr.Pos{p})[p] }

// spansAt are those of several positions, of one walk: each by its own, 5000 of a long program took 7 s.
func (s *session) spansAt(ps []expr.Pos) map[expr.Pos]expr.Span {
	best, found := make(map[expr.Pos]expr.Span, len(ps)), map[expr.Pos]bool{}
	for _, p := range ps {
		best[p] = expr.Span{Start: p, End: p + 1}
	}
	expr.Walk(s.q.Prog, func(n any) bool {
		x, ok := n.(expr.Expr)
		if !ok {
			return true
		}
		if _, isStmt := n.(*expr.ExprStmt); isStmt {
			return true
		}
		p, w := x.Mark(), x.Where()
		if b, asked := best[p]; asked && (!found[p] || w.End-w.Start > b.End-b.Start) {
			if _, isName := n.(*expr.Name); !isName || !found[p] {
				best[p], found[p] = w, true
			}
		}
		return true
	})
	return best
}

// start opens a tape and records the inputs.
func (s *session) start() {
	q := s.q
	if s.desk == nil {
		s.desk = new(desk)
	}
	s.t = s.desk.open()
	s.t.Conventions, s.t.apart, s.t.strong = q.Conventions, s.apart, s.strong
	s.t.DType, s.t.Limit, s.t.Threads, s.t.log = q.DType, q.Limit, q.Threads, s.log
	s.t.Recorded = q.Recorded
	s.lo = s.desk.lower(q.Prog)
	for _, w := range q.Wrt {
		if s.inputNamed(w) == nil {
			s.lo.wrt = append(s.lo.wrt, w)
		}
	}
	s.lo.seed, s.lo.mode, s.lo.zero, s.lo.unrolled = q.Seed, q.Mode, q.Zero, s.unrolled
	s.lo.rows = q.Order > 1 || slices.Contains(rowNames, q.Op)
	check := s.checkTime
	s.lo.check, s.t.check, s.t.timed = check, check, !s.q.Deadline.IsZero()
	s.t.kinksOn, s.lo.notes = true, q.Op == "eval"
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
	s.readWarily()
	s.inputs()
}

// readWarily warns of what the program's text is not likely to mean.
func (s *session) readWarily() {
	p := s.q.Prog
	if x := expr.DecimalComma(p); x != nil {
		s.lo.warn(Warning{Op: "program", Msg: "a comma between two numbers makes two values", Pos: x.Where().Start,
			Hint: "the decimal sign is a point, digits are grouped with _; (1, 5) says that two are meant"})
	}
	for _, x := range expr.Idle(p) {
		w := Warning{Op: "program", Msg: "nothing uses this value", Pos: x.Where().Start}
		if c := p.Text[w.Pos]; c == '+' || c == '-' {
			w.Hint = "to go on with the line above, end that one with the operator"
		} else if signFollows(p.Text[x.Where().End:]) {
			w.Hint = "to go on with the line below, end this one with the operator"
		} else if isArrow(p, x) {
			w.Hint = "<- compares with a negative number; a name is bound by ="
		}
		s.lo.warn(w)
	}
	if x, ok := p.Stmts[len(p.Stmts)-1].(*expr.ExprStmt); ok && isArrow(p, x.X) && p.Text[x.X.Mark()+2] == ' ' {
		s.lo.warn(Warning{Op: "program", Msg: "<- compares with a negative number", Pos: x.X.Mark(), Hint: "a name is bound by ="})
	}
}

// signFollows reports whether a text goes on with a line that begins with a sign.
func signFollows(rest string) bool {
	next := strings.TrimLeft(rest, ") \t\r\n")
	gap := rest[:len(rest)-len(next)]
	return strings.Contains(gap, "\n") && next != "" && (next[0] == '+' || next[0] == '-')
}

// isArrow reports whether an expression is x <- 3, which binds a name in R.
func isArrow(p *expr.Program, x expr.Expr) bool {
	b, ok := x.(*expr.Binary)
	return ok && b.Op == expr.Lt && p.Text[b.OpPos+1] == '-'
}

// inputs records the inputs.
func (s *session) inputs() {
	list := s.q.Inputs
	s.lo.inputs, s.leaves = make([]string, 0, len(list)), make([]Ref, 0, len(list))
	for _, in := range list {
		s.lo.inputs = append(s.lo.inputs, in.Name)
	}
	size := 0
	for _, in := range list {
		s.input(in)
		in.Value.Leaves("", func(_ string, v *tensor.Value) {
			if v.Kind == tensor.KindTensor {
				size += len(v.Tensor.Data)
			}
		})
	}
	if size >= 1<<15 && s.t.threads() > 1 { // they wake while we record
		s.t.helpers = s.t.threads() - 1
		pool.Wake(s.t.helpers)
	}
}

// input records one input: every tensor in it a leaf and a variable of its own.
func (s *session) input(in Input) {
	v := structured(in.Name, in.Value, func(path string, v *tensor.Value) value {
		if v.Kind == tensor.KindNone {
			s.leaves = append(s.leaves, None)
			return &none{why: v.Why}
		}
		return s.inputLeaf(path, v, s.unwatched(in, path, v))
	})
	if r, ok := v.(Ref); ok {
		s.lo.top.names[in.Name] = s.lo.leaves[r]
		return
	}
	s.lo.top.names[in.Name] = &slot{val: v}
}

// notWatched stands between the name of an input and why it is no source.
const notWatched = " is not watched: "

// unwatched is why nobody watches the tensor v of an input, or "".
func (s *session) unwatched(in Input, path string, v *tensor.Value) string {
	switch {
	case slices.Contains(s.q.Watch, in.Name) || slices.Contains(s.q.Watch, path):
		return ""
	case v.Frozen != "":
		return v.Frozen
	case in.Const:
		return "given with --const"
	case s.q.NoWatch:
		return "--no-watch"
	}
	return ""
}

// inputLeaf records a tensor of an input, which is not watched if there is a reason why.
func (s *session) inputLeaf(path string, v *tensor.Value, why string) Ref {
	x := v.Tensor
	if s.q.DType == tensor.Float32 && x.DType == tensor.Float64 && !v.Said {
		y := *x
		y.DType, y.Data = tensor.Float32, slices.Clone(x.Data)
		kernelsFloat32(y.Data, y.Data)
		x = &y
	}
	r := s.t.Input(path, x, why == "")
	s.leaves = append(s.leaves, r)
	own := s.desk.leaves.one()
	own.first[0] = r
	own.state = state{name: path, versions: own.first[:], input: true}
	own.slot.val, own.slot.state = r, &own.state
	switch {
	case why != "":
		if s.t.frozen == nil {
			s.t.frozen = map[Ref]string{}
		}
		own.state.frozen = path + notWatched + why
		s.t.frozen[r] = own.state.frozen
	case x.DType.IsFloat():
		s.answer.Watched = append(s.answer.Watched, path)
	}
	s.lo.leaves[r] = &own.slot
	s.t.name(r, path)
	return r
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

// checkTime panics when the time is up or the user has had enough.
func (s *session) checkTime() {
	if !s.q.Deadline.IsZero() && time.Now().After(s.q.Deadline) {
		panic(&Misuse{Kind: "timeout", Msg: "the time limit is reached", Hint: "--timeout raises it", Pos: expr.NoPos})
	}
	select {
	case <-s.q.Stop:
		panic(&Misuse{Kind: "interrupted", Msg: "interrupted", Pos: expr.NoPos})
	default:
	}
}
