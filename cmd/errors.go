package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"nabla/cmd/input"
	"nabla/expr"
	"nabla/kernels/pages"
	"nabla/output"
	"nabla/tape"
)

// The exit codes, as help exit-codes tells them.
const (
	exitOK          = 0
	exitNo          = 1 // the answer is no; the output is complete
	exitUsage       = 2
	exitProgram     = 3
	exitData        = 4
	exitRun         = 5
	exitOutput      = 6
	exitHungUp      = 129
	exitInterrupted = 130
	exitQuit        = 131
	exitPipe        = 141
	exitTerminated  = 143
)

// A failure is an error of this package. Without a message it only carries its code.
type failure struct {
	code            int
	kind, msg, hint string
}

// severally separates the messages of a failure that has several.
const severally = "\nnabla: "

func (e *failure) Error() string { return e.msg }
func (e *failure) ExitCode() int { return e.code }

// usage is a wrong command line.
func usage(hint, format string, args ...any) error {
	return &input.UsageError{Msg: fmt.Sprintf(format, args...), Hint: hint}
}

// A conditionError is a mistake in the text of a condition: of usage, not of the program.
type conditionError struct{ at *expr.Error }

func (e *conditionError) Error() string { return "--assert: " + e.at.Error() }
func (*conditionError) ExitCode() int   { return exitUsage }

// A reporter turns the error of a command into a message and an exit code.
type reporter struct {
	w    io.Writer
	json atomic.Bool // also as JSON, for a program that reads along
}

// A report is an error in all its parts.
type report struct {
	code      int
	kind      string
	msg       string // one line
	text      string // as people read it, without "nabla: "
	line, col int
	hint      string
}

// report writes the message of an error and returns its exit code.
func (r *reporter) report(err error) int {
	if err == nil {
		return exitOK
	}
	p := reportOf(err)
	if p.msg == "" || p.code == exitPipe {
		return p.code
	}
	text := visible(p.text)
	if columns := width(r.w); columns > 0 {
		text = narrowed(text, columns)
	}
	fmt.Fprintln(r.w, "nabla: "+text)
	if r.json.Load() {
		output.WriteError(r.w, p.code, p.kind, p.msg, p.line, p.col, p.hint)
	}
	if e := (*internalError)(nil); errors.As(err, &e) && os.Getenv("NABLA_DEBUG") != "" {
		r.w.Write(e.stack)
	}
	return p.code
}

// reportOf takes an error apart: the one place where an error becomes a text and a code.
func reportOf(err error) (p report) {
	p = report{code: exitRun, kind: "run", msg: err.Error()}
	p.text = p.msg
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		p.code = coded.ExitCode()
	}
	var (
		program  *expr.Error
		asked    *tape.Error
		data     *input.Error
		usage    *input.UsageError
		assert   *conditionError
		format   *output.FormatError
		own      *failure
		internal *internalError
		changed  *pages.ChangedError
	)
	switch {
	case errors.As(err, &changed):
		p.code, p.kind, p.msg = exitData, "data", changed.Error()
		p.text, p.hint = p.msg, "a new file is written under another name, and then given this one"
	case errors.As(err, &data):
		p.kind, p.line, p.col, p.hint = "data", data.Line, data.Col, data.Hint
		if errors.As(err, &asked) && p.code == exitRun {
			p.kind = asked.At.Kind
		}
		if errors.As(err, &program) && p.hint == "" {
			p.hint = program.Hint
		}
		p.text = dataText(data)
	case errors.As(err, &asked):
		p.kind, p.hint = asked.At.Kind, asked.At.Hint
		p.line, p.col = asked.At.LineCol()
		p.text = asked.At.Render()
	case errors.As(err, &program):
		p.code = exitProgram
		p.kind, p.hint = program.Kind, program.Hint
		p.line, p.col = program.LineCol()
		p.text = program.Render()
	case errors.As(err, &usage):
		p.kind, p.hint = "usage", usage.Hint
	case errors.As(err, &assert):
		p.kind, p.hint = "usage", assert.at.Hint
		p.text = "--assert: " + assert.at.Render()
	case errors.As(err, &format):
		p.kind = "usage"
	case errors.As(err, &own):
		p.kind, p.hint = own.kind, own.hint
		p.msg = strings.ReplaceAll(p.msg, severally, "; ")
	case errors.As(err, &internal):
		p.kind = "internal"
		p.hint = "this is a mistake in nabla: please report it, with the command line"
	case p.code == exitOutput:
		p.kind = "output"
	}
	if p.hint != "" && !strings.Contains(p.text, "\n    hint: ") {
		p.text += "\n    hint: " + p.hint
	}
	p.msg, p.text = clipped(p.msg), clipped(p.text)
	return p
}

// clipped shortens what quotes a name or a text of any length, line by line.
func clipped(text string) string {
	const most = 600
	if len(text) <= most {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if r := []rune(line); len(r) > most {
			lines[i] = string(r[:most/2]) + "…" + string(r[len(r)-most/2:])
		}
	}
	return strings.Join(lines, "\n")
}

// dataText is an error in the data with the place in the file, or in the value that
// was typed.
func dataText(e *input.Error) string {
	text := e.Error()
	var program *expr.Error
	if errors.As(e.Err, &program) {
		if e.Hint != "" {
			shown := *program
			shown.Hint = e.Hint
			program = &shown
		}
		if _, picture, ok := strings.Cut(program.Render(), "\n"); ok {
			text += "\n" + picture
		}
		return text
	}
	if e.Excerpt != "" {
		text += "\n    " + e.Excerpt + "\n    " + strings.Repeat(" ", e.Mark) + "^"
	}
	return text
}
