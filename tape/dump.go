package tape

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"nabla/expr"
	"nabla/tape/tensor"
)

// Dump writes the tape, one instruction a line: its printed form, which golden files
// hold against changes.
//
//	%3 = multiply %1 %2 : float64 (2, 3) along a0  # y, 1:5
func (t *Tape) Dump(prog *expr.Program) string {
	var b strings.Builder
	for i := range t.ins {
		t.dumpOne(&b, Ref(i), prog)
	}
	return b.String()
}

// dumpOne writes one line of the dump.
func (t *Tape) dumpOne(b *strings.Builder, r Ref, prog *expr.Program) {
	in := &t.ins[r]
	fmt.Fprintf(b, "%%%d = %s", r, in.Op().Name)
	for _, a := range t.Args(r) {
		fmt.Fprintf(b, " %%%d", a)
	}
	if s := t.attrText(r); s != "" {
		b.WriteString(" " + s)
	}
	fmt.Fprintf(b, " : %v", in.dtype)
	if in.shape != 0 {
		fmt.Fprintf(b, " %v", t.Shape(r))
	}
	for _, a := range t.Axes(r) {
		fmt.Fprintf(b, " along a%d", a)
	}
	var notes []string
	if n := t.names[r]; n != "" {
		notes = append(notes, n)
	}
	if in.Pos >= 0 && prog != nil {
		notes = append(notes, placeIn(prog, in.Pos))
	}
	if len(notes) > 0 {
		b.WriteString("  # " + strings.Join(notes, ", "))
	}
	b.WriteByte('\n')
}

func placeIn(prog *expr.Program, p expr.Pos) string {
	e := &expr.Error{Prog: prog, Mark: p, Where: expr.Span{Start: p, End: p}}
	line, col := e.LineCol()
	return fmt.Sprintf("%d:%d", line, col)
}

// attrText writes what an instruction knows beside its arguments.
func (t *Tape) attrText(r Ref) string {
	in := &t.ins[r]
	if in.Op() == opConst {
		if t.single(r) {
			return formatFloat(t.num[r])
		}
		return "tensor"
	}
	if in.Op() == opBlock {
		return "[" + itoa(int(in.args[1])) + "]"
	}
	if in.attr == 0 {
		return ""
	}
	a := &t.attrs[in.attr]
	if a.Loop != nil {
		return a.Loop.String()
	}
	var parts []string
	if a.Text != "" {
		parts = append(parts, a.Text)
	}
	if a.Axes != nil {
		parts = append(parts, fmt.Sprintf("axes=%v", a.Axes))
	}
	if a.Ints != nil {
		parts = append(parts, fmt.Sprint(a.Ints))
	}
	for _, p := range a.Places {
		parts = append(parts, p.String())
	}
	for i, on := range [2]bool{a.Flag, a.Flag2} {
		if on {
			parts = append(parts, cmp.Or(in.Op().Switches[i], "flag"))
		}
	}
	if a.Upper {
		parts = append(parts, "upper")
	}
	if in.Op() == opBasis || in.Op() == opUnbatch || in.Op() == opRebatch || in.Op() == opSumBatch {
		parts = append(parts, fmt.Sprintf("a%d", a.Axis))
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// Dump writes the plan, one step a line.
func (p *Plan) Dump() string {
	var b strings.Builder
	t := p.t
	for i := range p.steps {
		s := &p.steps[i]
		kind := [...]string{"numbers", "tile", "one", "chain"}[s.kind]
		fmt.Fprintf(&b, "step %d %s:", i, kind)
		for _, r := range s.refs {
			fmt.Fprintf(&b, " %%%d=%s", r, t.ins[r].Op().Name)
		}
		for _, r := range s.again {
			fmt.Fprintf(&b, " again %%%d=%s", r, t.ins[r].Op().Name)
		}
		if s.tile != nil {
			fmt.Fprintf(&b, " (%d elements, %d slots, %d in memory)", s.tile.n, s.tile.slots, len(s.tile.direct))
			for _, m := range s.tile.moved {
				fmt.Fprintf(&b, " %%%d from", m.ref)
				for _, a := range p.readFrom(m.ref) {
					fmt.Fprintf(&b, " %%%d", a)
				}
			}
			for k, a := range s.tile.over {
				if a != None {
					fmt.Fprintf(&b, " %%%d over %%%d", s.tile.direct[k], a)
				}
			}
		}
		if x := s.slide; x != nil {
			fmt.Fprintf(&b, " beside %d", x.first)
		}
		if s.tile != nil {
			for _, r := range s.tile.windows {
				fmt.Fprintf(&b, " %%%d in a window", r)
			}
		}
		if len(s.free) > 0 {
			b.WriteString(" free")
			for _, r := range s.free {
				fmt.Fprintf(&b, " %%%d", r)
			}
		}
		b.WriteByte('\n')
		if c := s.chain; c != nil {
			n := c.strips[0].n
			fmt.Fprintf(&b, "  %d rows, %d at a time:\n", c.rows, n)
			for line := range strings.Lines(c.strips[0].plan.t.Dump(nil) + c.strips[0].plan.Dump()) {
				b.WriteString("    " + line)
			}
		}
	}
	fmt.Fprintf(&b, "peak %d bytes\n", p.peak)
	return b.String()
}

// An Explanation is a program's tape with its numbers: what was recorded, what flows
// back, and why some sources get nothing.
type Explanation struct {
	Rows    []ExplainRow // in the order they were recorded
	Mode    string       // how the derivative is taken, and why
	Reasons []Reason     // of the sources without a derivative
	Zero    []Reason     // of those whose derivative is 0 everywhere
	NaN     []Reason     // of those whose derivative has a NaN
	Answer  *Answer
	Stages  []Stage // printed, for those who look inside and asked for them
}

// An ExplainRow is one instruction of the program.
type ExplainRow struct {
	Ref          int
	Name         string // what the program calls it
	Op           string
	Args         []int
	Attr         string
	Shape        tensor.Shape
	DType        string
	Value        string // the value, shortened
	Adjoint      string // the derivative of the target's sum by it; "" when none
	Line, Column int
	Text         string // the piece of the program that asked for it
}

// A Stage is one printed form on the way from text to numbers.
type Stage struct{ Name, Text string }

// maxExplain bounds the rows of an explanation.
const maxExplain = 5000

// Explain answers the question and shows its tape; with stages what was on the way to it, which may be
// much longer than the program is: its blocks are indented.
func Explain(q *Question, stages bool) (x *Explanation, err error) {
	s := &session{q: q}
	defer s.rescue(&err)
	s.start()
	s.program()
	top := Ref(s.t.Len()) // what the program itself recorded
	s.ask()
	s.factor()
	x = &Explanation{Mode: s.modeText()}
	ys := s.tensors()
	if stages {
		x.Stages = s.stages(ys)
	}
	rows := s.explained(ys, top)
	bars := slices.Repeat([]Ref{None}, len(rows)) // their adjoints
	if s.q.Op != "eval" {
		float := slices.DeleteFunc(slices.Clone(ys), func(y Ref) bool { return !s.t.ins[y].dtype.IsFloat() })
		bars = s.t.VJP(float, slices.Repeat([]Ref{s.t.Const(1)}, len(float)), rows)
	}
	x.Answer = s.finish()
	adjoints := make([][]float64, len(rows))
	marks := make([]expr.Pos, len(rows))
	for i, r := range rows {
		marks[i] = s.t.ins[r].Pos
	}
	spans := s.spansAt(marks)
	for i, r := range rows {
		row := s.explain(r, spans)
		if bars[i] != None && s.t.ins[r].dtype.IsFloat() {
			b := s.t.full(bars[i], r)
			s.t.force(b)
			adjoints[i] = s.t.data(b)
			row.Adjoint = short(adjoints[i])
		}
		x.Rows = append(x.Rows, row)
	}
	for _, t := range x.Answer.Targets {
		x.Reasons = append(x.Reasons, t.Unconnected...)
	}
	x.Zero = x.since(adjoints, allZero, "%s passes nothing on", "the parts from %s add up to 0")
	x.NaN = x.since(adjoints, anyNaN, "it comes from %s", "it comes from %s")
	return x, nil
}

// stages prints the program, its tape, and the plan of what is still to be computed.
func (s *session) stages(ys []Ref) []Stage {
	list := []Stage{{"tree", expr.Print(s.q.Prog)}, {"tape", s.t.Dump(s.q.Prog)}}
	open := slices.Clone(ys)
	for _, a := range s.targets {
		if a.payload != nil {
			open = append(open, refsOf(a.payload)...)
		}
	}
	if open = slices.DeleteFunc(open, s.t.known); len(open) > 0 {
		list = append(list, Stage{"plan", s.t.plan(open).Dump()})
	}
	return list
}

// explained lists the last of what ys are made of among the first instructions.
func (s *session) explained(ys []Ref, top Ref) (rows []Ref) {
	live := make([]bool, top)
	for _, y := range ys {
		for r, on := range s.t.liveAll(y) {
			if on && r < len(live) {
				live[r] = true
			}
		}
	}
	for r, on := range live {
		if on {
			rows = append(rows, Ref(r))
		}
	}
	return rows[max(0, len(rows)-maxExplain):]
}

// explain is the row of an instruction without its adjoint; spans are the pieces of the program by their marks.
func (s *session) explain(r Ref, spans map[expr.Pos]expr.Span) ExplainRow {
	s.t.force(r)
	in := &s.t.ins[r]
	row := ExplainRow{Ref: int(r), Name: s.t.names[r], Op: in.Op().Name, Shape: s.t.Shape(r), DType: in.dtype.String(),
		Attr: s.t.attrText(r), Value: short(s.t.data(r))}
	if op := in.Op(); op.Hidden && op.Exponent != 0 { // cube and the like: as people may write it
		row.Op, row.Attr = "power", formatDigits(op.Exponent, 6)
	}
	for _, a := range s.t.Args(r) {
		row.Args = append(row.Args, int(a))
	}
	if in.Pos >= 0 {
		e := &expr.Error{Prog: s.q.Prog, Mark: in.Pos, Where: expr.Span{Start: in.Pos, End: in.Pos}}
		row.Line, row.Column = e.LineCol()
		w := spans[in.Pos]
		row.Text = s.q.Prog.Text[w.Start:w.End]
	}
	return row
}

// short writes numbers for a table's cell.
func short(v []float64) string {
	if len(v) == 1 {
		return formatDigits(v[0], 6)
	}
	var parts []string
	for i, x := range v {
		if i == 3 && len(v) > 4 {
			parts = append(parts, "…", formatDigits(v[len(v)-1], 4))
			break
		}
		parts = append(parts, formatDigits(x, 4))
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// modeText says how the derivative is taken and why.
func (s *session) modeText() string {
	q := s.q
	if len(s.t.compressions) > 0 {
		var parts []string
		for _, c := range s.t.compressions {
			parts = append(parts, c.String())
		}
		return strings.Join(slices.Compact(parts), "; ")
	}
	rows, cols := 0, 0
	for _, a := range s.targets {
		for _, r := range refsOf(a.val) {
			rows += s.t.Shape(r).Size()
		}
		if _, ok := a.payload.(*record); ok {
			eachLeaf(s.sources(), func(v value) {
				if src, ok := v.(*source); ok && src.why == "" {
					cols += s.t.Shape(src.current()).Size()
				}
			})
		}
	}
	why := ""
	if s.t.filled {
		why = "; no rows or columns to compute together"
	}
	if len(s.plain) > 0 {
		why += "; as sums of products, without the zeros of the seeds"
	}
	switch q.Op {
	case "eval":
		return "no derivative is asked for"
	case "jacobian":
		switch {
		case q.Mode != "":
			return q.Mode + ", as asked"
		case cols < rows:
			return fmt.Sprintf("forward: %d inputs are fewer than %d outputs (the VJP transposed)%s", cols, rows, why)
		}
		return fmt.Sprintf("reverse: a row for each of %d outputs, %d inputs%s", rows, cols, why)
	case "hessian":
		return "reverse over reverse: a row for each input" + why
	case "jvp":
		return "forward: the VJP transposed"
	case "hvp":
		return "reverse over reverse, one product"
	}
	return "reverse: one sweep for all sources"
}
