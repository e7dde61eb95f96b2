package cmd

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nabla/cmd/assert"
	"nabla/expr"
	"nabla/output"
	"nabla/tape"
	"nabla/tape/tensor"
)

// derivatives are the commands that ask the tape one thing each; they differ in data only.
var derivatives = []*command{
	{name: "eval", args: "EXPR", group: "derivatives", new: newDerive, doc: "the value of an expression", example: evalExample},
	{name: "grad", args: "EXPR", group: "derivatives", new: newDerive, doc: "the gradient, in the shape of each source", long: gradLong, example: gradExample},
	{name: "jacobian", args: "EXPR", group: "derivatives", new: newDerive, aliases: []string{"jac"}, doc: "every output by every input: target.shape + source.shape", example: jacobianExample},
	{name: "batch-jacobian", args: "EXPR", group: "derivatives", new: newDerive, aliases: []string{"bjac", "batch_jacobian"}, doc: "a Jacobian for each row of a batch", long: batchLong, example: batchExample},
	{name: "hessian", args: "EXPR", group: "derivatives", new: newDerive, aliases: []string{"hess"}, doc: "the second derivatives, a block a pair of sources", example: hessianExample},
	{name: "jvp", args: "EXPR", group: "derivatives", new: newDerive, doc: "the derivative along a direction: J v", long: withLong, example: jvpExample},
	{name: "vjp", args: "EXPR", group: "derivatives", new: newDerive, doc: "an upstream gradient pulled back: g J", long: withLong, example: vjpExample},
	{name: "hvp", args: "EXPR", group: "derivatives", new: newDerive, doc: "the Hessian times a vector: H v", long: withLong, example: hvpExample},
}

// deriveOptions are the flags of eval, grad and their kin.
type deriveOptions struct {
	streams
	inputOptions
	engineOptions
	outputOptions
	Op       string
	Args     []string
	With     []string
	Each     bool
	Order    int
	Diagonal bool
	Sparse   bool
}

func newDerive(s streams, row *command) *cobra.Command {
	o := &deriveOptions{streams: s, Op: strings.ReplaceAll(row.name, "-", "_")}
	c := base(row, func(args []string) error {
		o.Args = args
		return runDerive(o)
	})
	f := c.Flags()
	under(f, groupInput, func(f *pflag.FlagSet) {
		o.inputOptions.flagsOf(row)(f)
		switch o.Op {
		case "jvp", "hvp":
			manyVar(f, &o.With, "with", "", "`NAME=VALUE` the tangent of each source")
		case "vjp", "grad":
			manyVar(f, &o.With, "with", "", "`VALUE` the upstream gradient, in the shape of the target; NAME=VALUE of each of several")
		}
		switch o.Op {
		case "grad":
			f.IntVar(&o.Order, "order", 1, "`N` of the derivative of a scalar by a scalar; from 3 on by power series")
		case "hessian":
			f.BoolVar(&o.Diagonal, "diagonal", false, "the diagonal alone")
		}
		if o.Op == "jacobian" || o.Op == "hessian" {
			f.BoolVar(&o.Sparse, "sparse", false, "only what is not 0: row, column, value")
		}
		f.BoolVar(&o.Each, "each", false, "a document a line in, a result a line out")
	})
	under(f, groupEngine, o.engineOptions.bind)
	under(f, groupOutput, o.outputOptions.bind)
	return c
}

func runDerive(o *deriveOptions) error {
	if o.Each && o.Format == "" && !o.Raw {
		o.Format = "ndjson"
		if other, yes := output.Misnamed(o.Out, o.Format); yes {
			return notEach(other)
		}
	}
	if err := o.settle(); err != nil {
		return err
	}
	prog, err := o.program(o.Args, o.streams, o.limit)
	if err != nil {
		return err
	}
	if o.toFile() {
		if err := output.CheckWritable(o.Out); err != nil {
			return err
		}
	}
	if o.Each {
		return runEach(o, prog)
	}
	doc, _, err := o.load(o.streams, &o.engineOptions, o.With, false, o.Quiet)
	if err != nil {
		return err
	}
	q, err := o.question(o.Op, prog, doc, &o.engineOptions, o.streams, new(needs))
	if err != nil {
		return err
	}
	// Nothing but the file looks at the numbers: a large matrix is computed as it is written.
	// Standard output is all or nothing and cannot be taken back.
	q.Stream = o.toFile() && o.Format == "npy" && len(o.Assert) == 0 && !o.Strict && !o.Stats
	r, err := o.answer(q)
	if err != nil {
		return err
	}
	verdict := o.judge(r)
	if verdict != nil && !isAnswer(verdict) { // a condition that makes no sense
		return verdict
	}
	if err := o.print(r); err != nil {
		return err
	}
	return verdict
}

// settle checks the flags.
func (o *deriveOptions) settle() error {
	if err := o.outputOptions.settle(); err != nil {
		return err
	}
	if err := o.engineOptions.settle(o.streams, o.Quiet); err != nil {
		return err
	}
	for _, cond := range o.Assert {
		if _, _, err := expr.ParseExpr("", cond); err != nil {
			return wrongCondition(err)
		}
	}
	switch {
	case o.Sparse && o.Diagonal:
		return usage("", "--sparse and --diagonal do not go together")
	case o.Sparse && o.Format == "npy":
		return usage("-f npz and -f mtx hold a sparse matrix", "--sparse and --format npy do not go together")
	}
	if o.Op == "grad" && o.Order < 1 {
		return usage("", "--order %d: it is at least 1; nabla eval gives the value", o.Order)
	}
	if !o.toFile() && terminal(o.out) { // before the work, not after it
		for _, f := range output.Formats {
			if f.Name == o.Format && f.Binary {
				return &output.FormatError{Format: f.Name, Why: "is binary and does not go to a terminal: name a file with -o, or pipe it"}
			}
		}
	}
	return oneOf("unconnected", o.Unconnected, "none", "zero")
}

func (o *deriveOptions) toFile() bool { return o.Out != "" && o.Out != "-" }

// answer asks the tape.
func (o *deriveOptions) answer(q *tape.Question) (*output.Result, error) {
	q.Order, q.Diagonal = o.Order, o.Diagonal
	q.Sparse = o.Sparse || o.Format == "mtx" && !o.Diagonal && (o.Op == "jacobian" || o.Op == "hessian")
	a, err := q.Answer()
	if err != nil {
		return nil, asData(err, q)
	}
	o.tellWatched(o.err, a)
	r := result(o.Op, q, a)
	if !o.Quiet {
		warn(o.err, a, q.Prog)
	}
	o.tellStats(o.err, a)
	if o.Verbose {
		o.sayMore(q, a)
	}
	return r, nil
}

// sayMore is what -v adds.
func (o *deriveOptions) sayMore(q *tape.Question, a *tape.Answer) {
	if a.Mode != "" {
		fmt.Fprintln(o.err, "nabla: note: mode "+a.Mode)
	}
	read := expr.FreeNames(q.Prog)
	for _, in := range q.Inputs {
		root, _, _ := strings.Cut(in.Name, ".")
		used := false
		for _, n := range read {
			used = used || n == in.Name || n == root
		}
		if !used {
			fmt.Fprintln(o.err, "nabla: note: "+in.Name+" is given and not used")
		}
	}
}

// A dataError is an error of the program that the data have made.
type dataError struct{ error }

func (e *dataError) Unwrap() error { return e.error }
func (*dataError) ExitCode() int   { return exitData }

// asData turns the error of a record or a list where a tensor is needed into one of the
// data, which is where it came from.
func asData(err error, q *tape.Question) error {
	e, ok := tape.AsError(err)
	if !ok || e.ExitCode() != exitProgram || e.At.Kind != "type" {
		return err
	}
	for _, in := range q.Inputs {
		if in.Value.Kind == tensor.KindRecord && strings.Contains(e.At.Msg, "(an object") ||
			in.Value.Kind == tensor.KindList && strings.Contains(e.At.Msg, "this is a tuple") {
			return &dataError{e}
		}
	}
	return err
}

// result is an answer in the form that is printed.
func result(op string, q *tape.Question, a *tape.Answer) *output.Result {
	r := &output.Result{Op: op, Expr: q.Prog.Text, Several: a.Several, Warnings: warnings(a.Warnings, q.Prog)}
	for _, t := range a.Targets {
		to := output.Target{Name: t.Name, Value: t.Value, Payload: t.Payload}
		if t.Rows != nil {
			to.Stream = &output.Stream{Source: t.Rows.Path, DType: t.Rows.DType, Shape: t.Rows.Shape, Each: t.Rows.Each}
		}
		for _, why := range t.Unconnected {
			to.Unconnected = append(to.Unconnected, output.Reason(why))
		}
		r.Targets = append(r.Targets, to)
	}
	return r
}

// warnings are those of a tape with their places in the program.
func warnings(list []tape.Warning, p *expr.Program) (out []output.Warning) {
	for _, w := range list {
		line, col := place(p, w.Pos)
		out = append(out, output.Warning{Op: w.Op, Message: w.Msg, Line: line, Column: col, Element: w.Index, Value: w.Value, Known: w.Known})
	}
	return out
}

// place is a position as line and column, or zeros.
func place(p *expr.Program, at expr.Pos) (line, col int) {
	return (&expr.Error{Prog: p, Mark: at}).LineCol()
}

// warn prints the warnings of an answer.
func warn(w io.Writer, a *tape.Answer, p *expr.Program) {
	for i, found := range warnings(a.Warnings, p) {
		fmt.Fprintln(w, "nabla: warning: "+warningText(&found, a.Warnings[i].Hint))
	}
}

// warningText is a warning on one line.
func warningText(w *output.Warning, hint string) string {
	text := w.Message
	if w.Line > 0 {
		text += fmt.Sprintf(" (at %d:%d)", w.Line, w.Column)
	}
	if hint != "" {
		text += "; " + hint
	}
	return text
}

// longTable is how many numbers make a table that takes seconds: its columns are as wide as
// the widest of them, so that nothing is printed before all are text.
var longTable = 10_000_000

// print writes the result where it is wanted, and tells what had no place in it.
func (o *deriveOptions) print(r *output.Result) error {
	if n := r.Size(); n > longTable && o.Format == "table" && (o.toFile() || !terminal(o.out)) {
		o.note(o.Quiet, []string{fmt.Sprintf("a table of %.3g numbers takes long: -r and -o FILE.npy are faster", float64(n))})
	}
	if err := o.write(r); err != nil || o.Quiet {
		return err
	}
	if o.Format == "raw" || o.Format == "csv" { // of which nothing is to be seen
		for _, what := range r.Empty() {
			fmt.Fprintln(o.err, "nabla: note: "+what)
		}
	}
	if !slices.Contains([]string{"npy", "npz", "mtx"}, o.Format) {
		return nil
	}
	for _, t := range r.Targets {
		if list := leftOut(&t); len(list) > 0 {
			fmt.Fprintf(o.err, "nabla: note: none has no place in %s: left out%s: %s\n", o.Format, ofTarget(r, t), expr.Some(list))
		}
	}
	return nil
}

// write writes a result to standard output, or to a file, all of it or nothing.
func (o *deriveOptions) write(r *output.Result) error {
	if !o.toFile() {
		to := o.to(o.out)
		to.Threads = o.Threads
		return output.Write(o.out, r, to)
	}
	return output.ToFile(o.Out, func(w io.Writer) error {
		to := o.to(nil)
		to.Threads = o.Threads
		return output.Write(&stoppable{w, o.stop}, r, to)
	})
}

// leftOut are the sources of which an archive has nothing.
func leftOut(t *output.Target) (list []string) {
	for _, why := range t.Unconnected {
		list = append(list, strings.TrimPrefix(why.Path, "."))
	}
	return list
}

// A stoppable writer fails once the user has had enough, so that a temporary file goes.
type stoppable struct {
	io.Writer
	stop <-chan struct{}
}

func (w *stoppable) Write(p []byte) (int, error) {
	select {
	case <-w.stop:
		return 0, &failure{code: exitInterrupted}
	default:
	}
	return w.Writer.Write(p)
}

// judge is what --assert and --strict say about a result: an error of exit code 1, or nil.
func (o *deriveOptions) judge(r *output.Result) error {
	var no []string
	for _, t := range r.Targets {
		for _, cond := range o.Assert {
			facts := assert.Of(r.Op, t.Value, t.Payload)
			ok, err := assert.Eval(cond, facts)
			switch {
			case err != nil:
				return wrongCondition(err)
			case !ok:
				say := "assertion is false" + ofTarget(r, t) + ": " + cond
				if known := facts.Show(cond); known != "" {
					say += " (" + known + ")"
				}
				no = append(no, say)
			}
		}
		if o.Strict {
			if why := notStrict(t); why != "" {
				no = append(no, "--strict: "+why+ofTarget(r, t))
			}
		}
	}
	if o.Strict && len(r.Warnings) > 0 {
		no = append(no, "--strict: there was a warning: "+r.Warnings[0].Message)
	}
	if len(no) == 0 {
		return nil
	}
	return &failure{code: exitNo, kind: "assert", msg: strings.Join(no, severally)}
}

func ofTarget(r *output.Result, t output.Target) string {
	if len(r.Targets) > 1 {
		return " for " + t.Name
	}
	return ""
}

// wrongCondition is a mistake in a condition.
func wrongCondition(err error) error {
	var e *expr.Error
	if errors.As(err, &e) {
		return &conditionError{e}
	}
	return usage("", "--assert: %s", err.Error())
}

// notStrict is what --strict objects to in a target, or "".
func notStrict(t output.Target) (why string) {
	look := func(v *tensor.Value, what string) {
		if v == nil {
			return
		}
		v.Leaves("", func(path string, leaf *tensor.Value) {
			if why != "" {
				return
			}
			at := what + path
			if leaf.Kind == tensor.KindNone {
				why = at + " is none"
				return
			}
			var data []float64
			var dtype tensor.DType
			if leaf.Sparse != nil {
				data, dtype = leaf.Sparse.Data, leaf.Sparse.DType
			} else {
				data, dtype = leaf.Tensor.Data, leaf.Tensor.DType
			}
			for _, x := range data {
				if math.IsNaN(x) || math.IsInf(x, 0) {
					why = fmt.Sprintf("%s has %v", at, output.Text(x, dtype, 17))
					return
				}
			}
		})
	}
	look(t.Value, "the value")
	look(t.Payload, "the derivative ")
	return why
}
