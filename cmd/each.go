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

	"nabla/cmd/input"
	"nabla/expr"
	"nabla/output"
)

// runEach answers one question for each line of the input, in memory that does not grow
// with their number. A line that cannot be answered gives its error in its place.
func runEach(o *deriveOptions, prog *expr.Program) error {
	if !slices.Contains([]string{"ndjson", "json", "raw"}, o.Format) {
		return usage("it writes ndjson, or numbers with --raw", "--each does not write %s", o.Format)
	}
	if o.Format == "json" {
		o.Format = "ndjson"
	}
	fixed, src, err := o.load(o.streams, &o.engineOptions, o.With, true)
	if err != nil {
		return err
	}
	o.note(fixed.Notes)
	lines, err := src.Lines()
	if err != nil {
		return err
	}
	defer lines.Close()
	if !o.toFile() {
		return eachLine(o, prog, fixed, lines, o.out)
	}
	var answer error // bad lines leave the file in its place
	err = output.ToFile(o.Out, func(w io.Writer) error {
		answer = eachLine(o, prog, fixed, lines, w)
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

// A job is a line on its way from the input to the output.
type job struct {
	line int
	doc  *input.Document
	err  error // why there is no answer
	no   error // what --assert or --strict say
	out  bytes.Buffer
	done chan struct{}
}

// eachLine reads lines here, answers them on as many goroutines as there are threads and
// writes the answers in order. Only a few lines are under way at a time.
func eachLine(o *deriveOptions, prog *expr.Program, fixed *input.Document, lines *input.Lines, w io.Writer) error {
	n := o.Threads
	todo, order, quit := make(chan *job, n), make(chan *job, 2*n), make(chan struct{})
	defer close(quit)
	for range n {
		go func() {
			a := answerer{deriveOptions: o, prog: prog, fixed: fixed}
			a.to = bufio.NewWriterSize(&a.buffer, 1<<16)
			for j := range todo {
				a.answer(j)
				close(j.done)
			}
		}()
	}
	go func() {
		defer close(todo)
		defer close(order)
		for {
			line, doc, err := lines.Next()
			if err == io.EOF {
				return
			}
			j := &job{line: line, doc: doc, err: err, done: make(chan struct{})}
			select {
			case <-quit:
				return
			case <-o.stop:
				return
			case order <- j:
			}
			todo <- j
		}
	}()

	b := bufio.NewWriterSize(w, 1<<16)
	bad, firstBad, no := 0, 0, error(nil)
	for j := range order {
		<-j.done
		if j.err != nil {
			if fatal(j.err) {
				return j.err
			}
			if bad++; bad == 1 {
				firstBad = j.line
			}
			j.out.Reset()
			j.out.Write(lineError(j.line, j.err))
		}
		if no == nil {
			no = j.no
		}
		if _, err := b.Write(j.out.Bytes()); err != nil {
			return err
		}
		if len(order) == 0 { // someone may wait for this line before writing the next
			if err := b.Flush(); err != nil {
				return err
			}
		}
	}
	if err := b.Flush(); err != nil {
		return err
	}
	if bad > 0 {
		what := "1 line"
		if bad > 1 {
			what = fmt.Sprintf("%d lines", bad)
		}
		return &failure{code: exitData, kind: "data", msg: fmt.Sprintf("%s could not be answered, the first is line %d", what, firstBad)}
	}
	return no
}

// An answerer answers one line at a time.
type answerer struct {
	*deriveOptions
	prog   *expr.Program
	fixed  *input.Document
	need   needs
	buffer bytes.Buffer
	to     *bufio.Writer // large enough for package output to use as it is
}

func (a *answerer) answer(j *job) {
	defer func() {
		if p := recover(); p != nil {
			j.err = &internalError{p, debug.Stack()}
		}
	}()
	if j.err == nil {
		j.err = a.line(j)
	}
}

func (a *answerer) line(j *job) error {
	doc, err := a.fixed.Merge(j.doc)
	if err != nil {
		return err
	}
	q, err := a.question(a.Op, a.prog, doc, &a.engineOptions, a.streams, &a.need)
	if err != nil {
		return err
	}
	q.Order, q.Diagonal = a.Order, a.Diagonal
	if a.Threads > 1 {
		q.Threads = 1 // the lines are what is parallel
	}
	answer, err := q.Answer()
	if err != nil {
		return asData(err, q)
	}
	r := result(a.Op, q, answer)
	verdict := a.judge(r)
	if verdict != nil && !isAnswer(verdict) {
		return verdict
	}
	a.buffer.Reset()
	a.to.Reset(&a.buffer)
	if err := output.Write(a.to, r, output.Options{Format: a.Format, Compact: true}); err != nil {
		return err
	}
	j.no = verdict
	j.out.Write(a.buffer.Bytes())
	return nil
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
