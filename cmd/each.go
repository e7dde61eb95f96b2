package cmd

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"nabla/cmd/input"
	"nabla/expr"
	"nabla/output"
	"nabla/tape"
)

// notEach refuses a format that has no lines.
func notEach(format string) error {
	return usage("it writes ndjson, or numbers with --raw", "--each does not write %s", format)
}

// runEach answers one question for each line of the input, in memory that does not grow
// with their number. A line that cannot be answered gives its error in its place.
func runEach(o *deriveOptions, prog *expr.Program) error {
	if !slices.Contains([]string{"ndjson", "json", "raw"}, o.Format) {
		return notEach(o.Format)
	}
	if o.Format == "json" {
		o.Format = "ndjson"
	}
	fixed, src, err := o.load(o.streams, &o.engineOptions, o.With, true, o.Quiet)
	if err != nil {
		return err
	}
	lines, err := src.Lines()
	if err != nil {
		return err
	}
	defer lines.Close()
	defer func() { o.tellStats(o.err, nil) }()
	if !o.toFile() {
		if to, ok := o.out.(*stdout); ok {
			to.each = true
		}
		return eachLine(o, prog, fixed, lines, o.out)
	}
	var answer error // bad lines leave the file in its place
	err = output.ToFile(o.Out, func(w io.Writer) error {
		answer = eachLine(o, prog, fixed, lines, w)
		if o.stopped() { // before the last line
			return &failure{code: exitInterrupted}
		}
		if answer != nil && !isAnswer(answer) {
			return answer
		}
		return nil
	})
	if err != nil {
		return err
	}
	return answer
}

// isAnswer reports whether an error comes with a complete output.
func isAnswer(err error) bool {
	var f *failure
	return errors.As(err, &f)
}

// A batch is some lines on their way from the input to the output.
type batch struct {
	lines         input.Block
	out           []byte
	bad, firstBad int    // lines that could not be answered
	no            int    // lines of which --assert or --strict say no
	why           string // what they say of the first
	fatal         error  // what ends it all
	done          chan struct{}
}

// A batch is as long as takes about batchTime to answer: long enough that handing it
// over costs nothing, short enough that its answers are there soon and every thread has
// work. The first ones have one line.
const (
	batchTime = 500 * time.Microsecond
	batchMost = 1 << 16
)

// eachLine reads lines, answers them on as many goroutines as there are threads and
// writes the answers in order. Only a few batches are under way at a time, and lines
// that are there are not kept waiting for others.
func eachLine(o *deriveOptions, prog *expr.Program, fixed *input.Document, lines *input.Lines, w io.Writer) error {
	var size atomic.Int64
	size.Store(1)
	sum := &eachSum{w: bufio.NewWriterSize(w, 1<<16)}
	if o.Threads == 1 {
		a := newAnswerer(o, prog, fixed)
		b := &batch{}
		for lines.Read(&b.lines, int(size.Load())) == nil && !o.stopped() {
			a.answer(b, &size)
			if err := sum.write(b, true); err != nil {
				return err
			}
		}
		return sum.verdict(o)
	}
	free, order, quit := make(chan *batch, 2*o.Threads), make(chan *batch, 2*o.Threads), make(chan struct{})
	defer close(quit)
	for range cap(free) {
		free <- &batch{done: make(chan struct{}, 1)}
	}
	todo := make(chan *batch, cap(free))
	for range o.Threads {
		go func() {
			debug.SetPanicOnFault(true)
			a := newAnswerer(o, prog, fixed)
			for b := range todo {
				a.answer(b, &size)
				b.done <- struct{}{}
			}
		}()
	}
	go o.readBatches(lines, &size, free, todo, order, quit)
	for b := range order {
		<-b.done
		if err := sum.write(b, len(order) == 0); err != nil {
			return err
		}
		free <- b
	}
	return sum.verdict(o)
}

// readBatches fills batches that are free with lines, for whoever has nothing to do and for the
// writer, which keeps their order, until there are no more lines or nobody wants them.
func (o *deriveOptions) readBatches(lines *input.Lines, size *atomic.Int64, free <-chan *batch, todo, order chan<- *batch, quit <-chan struct{}) {
	defer close(todo)
	defer close(order)
	for {
		var b *batch
		select {
		case <-quit:
			return
		case <-o.stop:
			return
		case b = <-free:
		}
		if lines.Read(&b.lines, int(size.Load())) != nil {
			return
		}
		order <- b
		todo <- b
	}
}

// An eachSum writes batches and sums up what they came to.
type eachSum struct {
	w             *bufio.Writer
	bad, firstBad int
	no            int
	why           string

	empty, firstEmpty int
}

// write writes a batch, through to the reader if none follows at once. What reaches the
// reader in one piece ends with a line.
func (s *eachSum) write(b *batch, through bool) error {
	if len(b.out) > s.w.Available() {
		if err := s.w.Flush(); err != nil {
			return err
		}
	}
	if _, err := s.w.Write(b.out); err != nil {
		return err
	}
	if b.fatal != nil {
		if err := s.w.Flush(); err != nil {
			return err
		}
		return b.fatal
	}
	if s.bad == 0 {
		s.firstBad = b.firstBad
	}
	s.bad += b.bad
	if s.empty == 0 {
		s.firstEmpty = b.lines.FirstEmpty
	}
	s.empty += b.lines.Empty
	if s.no == 0 {
		s.why = b.why
	}
	s.no += b.no
	if through {
		return s.w.Flush()
	}
	return nil
}

// verdict ends it all: what there is to note, and the error that the lines come to.
func (s *eachSum) verdict(o *deriveOptions) error {
	if err := s.w.Flush(); err != nil {
		return err
	}
	if s.empty > 0 { // answers and lines are no longer side by side
		o.note(o.Quiet, []string{fmt.Sprintf("%s without an answer, the first is line %d", expr.Plural(s.empty, "empty line"), s.firstEmpty)})
	}
	var all []string
	answer := &failure{code: exitNo, kind: "assert"}
	if s.bad > 0 {
		answer = &failure{code: exitData, kind: "data"}
		all = append(all, fmt.Sprintf("%s could not be answered, the first is line %d", expr.Plural(s.bad, "line"), s.firstBad))
	}
	if s.no > 0 {
		all = append(all, s.why)
	}
	if s.no > 1 {
		all = append(all, fmt.Sprintf("%d lines fail --assert or --strict, this is the first", s.no))
	}
	if len(all) == 0 {
		return nil
	}
	answer.msg = strings.Join(all, "\nnabla: ")
	return answer
}

// stopped reports whether the user has had enough.
func (o *deriveOptions) stopped() bool {
	select {
	case <-o.stop:
		return true
	default:
		return false
	}
}

// An answerer answers one line at a time.
type answerer struct {
	*deriveOptions
	prog   *expr.Program
	fixed  *input.Document
	docs   input.Documents
	need   needs
	forms  []*lineForm // the one used last comes first
	buffer bytes.Buffer
	to     *bufio.Writer // large enough for package output to use as it is
}

// A lineForm is what lines of the same names ask: a question prepared once.
type lineForm struct {
	expr    string // the line's own, if it has one
	has     bool
	wrt, of []string
	names   []string // of the line's values, in order
	q       *tape.Question
	p       *tape.Prepared
	inputs  []tape.Input // those of all lines, then those of this one
	answer  *tape.Answer
	result  *output.Result // of answer
}

// formsMost is how many forms of lines are kept.
const formsMost = 8

func newAnswerer(o *deriveOptions, prog *expr.Program, fixed *input.Document) *answerer {
	a := &answerer{deriveOptions: o, prog: prog, fixed: fixed}
	a.to = bufio.NewWriterSize(&a.buffer, 1<<16)
	return a
}

// answer answers the lines of a batch, and finds out how long the next ones should be.
func (a *answerer) answer(b *batch, size *atomic.Int64) {
	start, bytes := time.Now(), int64(b.lines.Len())
	b.out, b.bad, b.no, b.why, b.fatal = b.out[:0], 0, 0, "", nil
	for b.fatal == nil && a.next(b) {
	}
	switch took, now := time.Since(start), size.Load(); {
	case took > 2*batchTime:
		size.CompareAndSwap(now, max(1, now/2))
	case took < batchTime/2 && bytes >= now/2:
		size.CompareAndSwap(now, min(batchMost, 4*now))
	}
}

// next answers the next line of a batch; false when there is none.
func (a *answerer) next(b *batch) bool {
	line, err, mark := 0, error(nil), len(b.out)
	func() {
		defer func() {
			if p := recover(); p != nil {
				err = panicked(p)
			}
		}()
		var doc *input.Document
		if line, doc, err = a.docs.Next(&b.lines); err == nil {
			err = ofLine(a.line(b, doc, line), doc, line)
		}
	}()
	switch {
	case err == nil:
		return true
	case err == io.EOF:
		return false
	}
	if fatal(err) {
		b.out, b.fatal = b.out[:mark], err
		return true
	}
	if b.bad++; b.bad == 1 {
		b.firstBad = line
	}
	b.out = append(b.out[:mark], lineError(line, err)...)
	return true
}

// line appends the answer to one line, which is the n-th.
func (a *answerer) line(b *batch, doc *input.Document, n int) error {
	f := a.form(doc)
	if f == nil {
		if n > 1 && a.prog == nil && !doc.HasExpr {
			return &input.Error{Msg: "there is no expr in this line", Hint: `a line without a program beside it is {"expr": …, "values": {…}}`}
		}
		var err error
		if f, err = a.newForm(doc); err != nil {
			return err
		}
	}
	var answer *tape.Answer
	var err error
	if f.p != nil {
		answer, err = f.p.Answer(f.inputs)
	} else {
		answer, err = f.q.Answer()
	}
	if err != nil {
		f.q.Inputs = f.inputs
		return asData(err, f.q)
	}
	if answer != f.answer {
		f.answer, f.result = answer, result(a.Op, f.q, answer)
		f.result.Several = f.result.Several || len(f.result.Targets) > 1
	}
	verdict := a.judge(f.result)
	if verdict != nil && !isAnswer(verdict) {
		return verdict
	}
	if a.Format == "ndjson" {
		b.out = output.AppendNDJSON(b.out, f.result)
	} else {
		a.buffer.Reset()
		a.to.Reset(&a.buffer)
		if err := output.Write(a.to, f.result, output.Options{Format: a.Format}); err != nil {
			return err
		}
		b.out = append(b.out, a.buffer.Bytes()...)
	}
	if verdict == nil {
		return nil
	}
	if b.no++; b.no == 1 {
		b.why = fmt.Sprintf("line %d: ", n) + strings.ReplaceAll(verdict.Error(), "\nnabla: ", fmt.Sprintf("\nnabla: line %d: ", n))
	}
	return nil
}

// form finds the form of a line among those that are prepared, and takes its values.
func (a *answerer) form(doc *input.Document) *lineForm {
	for i, f := range a.forms {
		if !f.fits(doc) {
			continue
		}
		copy(a.forms[1:i+1], a.forms[:i])
		a.forms[0] = f
		own := f.inputs[len(f.inputs)-len(doc.Vars):]
		for i := range doc.Vars {
			own[i] = asInput(&doc.Vars[i])
		}
		return f
	}
	return nil
}

// fits reports whether a line asks the same, of inputs of the same names.
func (f *lineForm) fits(doc *input.Document) bool {
	if doc.With != nil || len(doc.Vars) != len(f.names) || doc.Expr != f.expr || doc.HasExpr != f.has || !sameNames(doc.Wrt, f.wrt) || !sameNames(doc.Of, f.of) {
		return false
	}
	for i, name := range f.names {
		if doc.Vars[i].Name != name {
			return false
		}
	}
	return true
}

// sameNames compares lists, of which an empty one is not the same as none.
func sameNames(a, b []string) bool { return (a == nil) == (b == nil) && slices.Equal(a, b) }

// newForm asks the question of a line from the beginning, and prepares it when nothing
// but the values tells it from other lines of these names.
func (a *answerer) newForm(doc *input.Document) (*lineForm, error) {
	all, err := a.fixed.Merge(doc)
	if err != nil {
		return nil, err
	}
	q, err := a.question(a.Op, a.prog, all, &a.engineOptions, a.streams, &a.need)
	if err != nil {
		return nil, err
	}
	q.Order, q.Diagonal, q.Sparse = a.Order, a.Diagonal, a.Sparse
	if a.Threads > 1 {
		q.Threads = 1 // the lines are what is parallel
	}
	f := &lineForm{expr: doc.Expr, has: doc.HasExpr, wrt: doc.Wrt, of: doc.Of, q: q, inputs: q.Inputs}
	if doc.With != nil || len(a.Watch) > 0 || len(all.Vars) != len(a.fixed.Vars)+len(doc.Vars) {
		return f, nil // a value that is joined from both, or a path into one
	}
	f.names, f.p = inputNames(doc), q.Prepare()
	a.forms = slices.Insert(a.forms, 0, f)
	a.forms = a.forms[:min(len(a.forms), formsMost)]
	return f, nil
}

// ofLine makes a mistake of usage one of the n-th line: a program or a product that it asks for, a
// value that it freezes. In a first line of nothing but values it is a mistake of the command.
func ofLine(err error, doc *input.Document, n int) error {
	frozen := func(v input.Variable) bool { return !v.Trainable }
	if err == nil || n == 1 && !doc.HasExpr && doc.With == nil && !slices.ContainsFunc(doc.Vars, frozen) {
		return err
	}
	if p := reportOf(err); p.code == exitUsage {
		return &input.Error{Msg: p.msg, Hint: p.hint}
	}
	return err
}

// fatal reports whether an error is about all lines: the flags, the time, the interrupt.
func fatal(err error) bool {
	p := reportOf(err)
	return p.code == exitUsage || p.code == exitOutput || p.code >= exitInterrupted || p.kind == "timeout"
}

// lineError is {"line":7,"error":{…}}.
func lineError(line int, err error) []byte {
	p := reportOf(err)
	b := strconv.AppendInt([]byte(`{"line":`), int64(line), 10)
	b = append(b, `,"error":`...)
	b = output.AppendError(b, p.code, p.kind, p.msg, p.line, p.col, p.hint)
	return append(b, '}', '\n')
}
