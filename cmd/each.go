package cmd

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
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

func eachLine(o *deriveOptions, prog *expr.Program, fixed *input.Document, lines *input.Lines, w io.Writer) error {
	b := bufio.NewWriterSize(w, 1<<16)
	live := !isRegular(o.in) || !slices.Equal(o.In, []string{"-"}) // someone may wait for each line
	live = live && slices.Equal(o.In, []string{"-"})
	var one bytes.Buffer
	bad, firstBad, no := 0, 0, error(nil)
	for {
		select {
		case <-o.stop:
			return b.Flush()
		default:
		}
		line, doc, err := lines.Next()
		if err == io.EOF {
			break
		}
		one.Reset()
		if err == nil {
			err = o.line(&one, prog, fixed, doc, &no)
		}
		if err != nil {
			if fatal(err) {
				return err
			}
			if bad++; bad == 1 {
				firstBad = line
			}
			one.Reset()
			one.Write(lineError(line, err))
		}
		if _, err := b.Write(one.Bytes()); err != nil {
			return err
		}
		if live {
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

// line answers one line.
func (o *deriveOptions) line(w io.Writer, prog *expr.Program, fixed, doc *input.Document, no *error) error {
	doc, err := fixed.Merge(doc)
	if err != nil {
		return err
	}
	q, err := o.question(o.Op, prog, doc, &o.engineOptions, o.streams)
	if err != nil {
		return err
	}
	q.Order, q.Diagonal = o.Order, o.Diagonal
	a, err := q.Answer()
	if err != nil {
		return asData(err, q)
	}
	r := result(o.Op, q, a)
	if err := output.Write(w, r, output.Options{Format: o.Format, Compact: true}); err != nil {
		return err
	}
	if err := o.judge(r); err != nil && *no == nil {
		*no = err
	}
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

func isRegular(stream any) bool {
	f := file(stream)
	if f == nil {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}
