package cmd

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nabla/cmd/difference"
	"nabla/cmd/input"
	"nabla/expr"
	"nabla/expr/referee"
	"nabla/output"
	"nabla/tape"
	"nabla/tape/tensor"
)

const checkLong = `
The tape's derivatives are compared with differences (gonum's, extrapolated by
Ridders' method) of values that govaluate computes, which shares no code with
the tape. A comparison holds if

  |tape - referee| <= atol + rtol max(|tape|, |referee|) + 10 estimated error

Verdicts: ok, mismatch (exit 1), kink (the derivatives from left and right
differ), inconclusive (the estimate is not good enough to tell).

CASES.json is a list of {"name", "expr", "at", "wrt", "claim" or "expect",
"rtol", "atol", "order"}.`

const checkExample = `
  $ nabla check 'x^2 * sin(x)' --at x=3
  $ nabla check 'x^2 * sin(x)' --at x=3 --claim 'x=2*x*sin(x) + x^2*cos(x)'
  $ nabla check 'sqrt(x) * y' --points 20 --domain 'x=0.1:9, y=-1:1'
  $ nabla check cases.json --report junit`

// checkOptions are the flags of check.
type checkOptions struct {
	streams
	inputOptions
	engineOptions
	Args               []string
	RTol, ATol         float64
	Order              int
	Points, Directions int
	Domain, Claim      []string
	Expect, Report     string
	Strict             bool
	Quiet, Verbose     bool
}

func newCheck(s streams, row *command) *cobra.Command {
	o := &checkOptions{streams: s}
	c := base(row, func(args []string) error {
		o.Args = args
		return runCheck(o)
	})
	f := c.Flags()
	under(f, "Check", func(f *pflag.FlagSet) {
		f.Float64Var(&o.RTol, "rtol", 1e-6, "`X` relative tolerance")
		f.Float64Var(&o.ATol, "atol", 1e-9, "`X` absolute tolerance")
		f.IntVar(&o.Order, "order", 1, "`1|2` of the derivative")
		f.IntVar(&o.Points, "points", 0, "`N` random points")
		manyVar(f, &o.Domain, "domain", "", "`NAME=LO:HI` where they lie; without it -2:2")
		f.IntVar(&o.Directions, "directions", 0, "`N` random directions instead of elements")
		manyVar(f, &o.Claim, "claim", "", "`NAME=EXPR` a derivative to judge")
		f.StringVar(&o.Expect, "expect", "", "`FILE` results to judge: a JSON result, NPY or NPZ")
		f.StringVarP(&o.Report, "report", "f", "text", "`"+strings.Join(reportNames(), "|")+"` for people or machines")
		f.BoolVar(&o.Strict, "strict", false, "exit 1 for a kink and the inconclusive, too")
		f.BoolVarP(&o.Quiet, "quiet", "q", false, "print what fails only")
		f.BoolVarP(&o.Verbose, "verbose", "v", false, "show every element, and what govaluate was given")
	})
	under(f, groupInput, o.inputOptions.flagsOf(row))
	under(f, groupEngine, o.engineOptions.bind)
	return c
}

// A verdict is what a comparison came to.
type verdict string

const (
	ok           verdict = "ok"
	mismatch     verdict = "mismatch"
	kink         verdict = "kink"
	inconclusive verdict = "inconclusive"
)

// A comparison is one number of the tape beside what it should be.
type comparison struct {
	What     string // "value", "d/dx[1]"
	Against  string // referee, claim, expected
	Tape     float64
	Other    float64
	Err      float64 // of the estimate
	Tol      float64
	Verdict  verdict
	Why      string
	Source   string // groups the comparisons of one source
	OneSided [2]float64
}

func (c *comparison) diff() float64 { return math.Abs(c.Tape - c.Other) }

// A checked is one case with its comparisons.
type checked struct {
	Name   string
	Expr   string
	Point  string // the values, where they were drawn
	Notes  []string
	Tokens string // what govaluate was given
	Own    string // why the tape's own values stand in for the referee's
	List   []comparison
	Err    error // the case could not be run
	Took   time.Duration
}

// A checkCase is what one case asks.
type checkCase struct {
	name, text string
	prog       *expr.Program
	doc        *input.Document
	of         []string
	claims     []input.Assignment
	expect     *tensor.Value
	expectOp   string
	rtol, atol float64
	order      int
	err        error // the case cannot be asked
}

func runCheck(o *checkOptions) error {
	if err := o.engineOptions.settle(o.streams); err != nil {
		return err
	}
	if err := oneOf("report", o.Report, reportNames()...); err != nil {
		return err
	}
	if o.Order != 1 && o.Order != 2 {
		return usage("", "--order %d: it is 1 or 2", o.Order)
	}
	if !(o.RTol >= 0) || !(o.ATol >= 0) {
		return usage("", "a tolerance is at least 0")
	}
	if o.Points < 0 || o.Directions < 0 {
		return usage("", "--points and --directions are at least 1")
	}
	cases, listed, err := o.cases()
	if err != nil {
		return err
	}
	var all []checked
	for i := range cases {
		if c := &cases[i]; c.err != nil {
			all = append(all, checked{Name: c.name, Expr: c.text, Err: c.err})
			continue
		}
		points, err := o.points(&cases[i])
		if err != nil {
			return err
		}
		for _, p := range points {
			start := time.Now()
			r := o.check(p)
			r.Took = time.Since(start)
			if r.Err != nil && !listed && len(points) == 1 {
				return r.Err
			}
			if p := reportOf(orNil(r.Err)); p.code >= exitInterrupted || p.kind == "timeout" {
				return r.Err
			}
			all = append(all, r)
		}
	}
	if err := writeReport(o, all); err != nil {
		return err
	}
	code := exitOK
	for _, r := range all {
		for _, c := range r.List {
			if c.Verdict == mismatch || o.Strict && c.Verdict != ok {
				code = exitNo
			}
		}
	}
	for _, r := range all {
		if r.Err != nil && code == exitOK {
			code = reportOf(r.Err).code
		}
	}
	if code != exitOK {
		return &failure{code: code} // the report has said it all
	}
	return nil
}

func orNil(err error) error {
	if err == nil {
		return &failure{}
	}
	return err
}

// cases are the cases that a file lists, or the one of the command line.
func (o *checkOptions) cases() (cases []checkCase, listed bool, err error) {
	if len(o.Args) == 1 && len(o.Expr)+len(o.Program) == 0 && strings.HasSuffix(o.Args[0], ".json") {
		cases, err = o.readCases(o.Args[0])
		return cases, true, err
	}
	prog, err := o.program(o.Args)
	if err != nil {
		return nil, false, err
	}
	doc, _, err := o.load(o.streams, &o.engineOptions, nil, false)
	if err != nil {
		return nil, false, err
	}
	c := checkCase{prog: prog, doc: doc, rtol: o.RTol, atol: o.ATol, order: o.Order}
	for _, text := range o.Claim {
		list, err := input.SplitAssignments(text)
		if err != nil {
			return nil, false, usage("write NAME=EXPR, such as 'x=2*x'", "--claim: %s", err.Error())
		}
		c.claims = append(c.claims, list...)
	}
	if o.Expect != "" {
		if c.expect, c.expectOp, err = readExpected(o, o.Expect); err != nil {
			return nil, false, err
		}
	}
	return []checkCase{c}, false, nil
}

// points are a case at the points where it is looked at: where it stands, or random ones.
func (o *checkOptions) points(c *checkCase) ([]*checkCase, error) {
	n := o.Points
	if n == 0 && len(o.Domain) > 0 {
		n = 1
	}
	if n <= 0 {
		return []*checkCase{c}, nil
	}
	domain := map[string][2]float64{}
	for _, d := range o.Domain {
		list, err := input.SplitAssignments(d)
		if err != nil {
			return nil, usage("write --domain 'x=-2:2'", "--domain: %s", err.Error())
		}
		for _, a := range list {
			lo, hi, cut := strings.Cut(a.Text, ":")
			l, err1 := o.constant(lo, "--domain "+a.Name)
			h, err2 := o.constant(hi, "--domain "+a.Name)
			if !cut || err1 != nil || err2 != nil || l.Kind != tensor.KindTensor || h.Kind != tensor.KindTensor || l.Tensor.Size() != 1 || h.Tensor.Size() != 1 {
				return nil, usage("write --domain 'x=-2:2'", "--domain: %s=%s is no range", a.Name, a.Text)
			}
			domain[a.Name] = [2]float64{l.Tensor.Item(), h.Tensor.Item()}
		}
	}
	doc := *c.doc
	doc.Vars = slices.Clone(doc.Vars)
	prog, err := programOf(c.prog, &doc)
	if err != nil {
		return nil, err
	}
	for _, name := range expr.FreeNames(prog) {
		if _, given := input.Resolve(doc.Vars, name); !given && !tape.Known(name) {
			doc.Vars = append(doc.Vars, input.Variable{Name: name, Value: tensor.Of(tensor.Scalar(0)), Trainable: true, From: "--points"})
			if _, named := domain[name]; !named {
				domain[name] = [2]float64{-2, 2}
			}
		}
	}
	for name := range domain {
		if !slices.Contains(inputNames(&doc), name) {
			return nil, usage(expr.DidYouMean(name, inputNames(&doc)), "--domain %s: there is no such input", name)
		}
	}
	if len(o.Domain) == 0 {
		for _, v := range doc.Vars {
			if v.Trainable {
				domain[v.Name] = [2]float64{-2, 2}
			}
		}
	}
	rng := rand.New(rand.NewPCG(o.Seed, 0x9e3779b97f4a7c15))
	var list []*checkCase
	for range n {
		p := *c
		d := doc
		d.Vars = slices.Clone(doc.Vars)
		var at []string
		for i, v := range d.Vars {
			r, drawn := domain[v.Name]
			if !drawn {
				continue
			}
			d.Vars[i].Value = mapTensors(v.Value, func(x *tensor.Tensor) *tensor.Tensor {
				y := &tensor.Tensor{DType: x.DType, Shape: x.Shape, Data: make([]float64, len(x.Data))}
				for i := range y.Data {
					y.Data[i] = r[0] + rng.Float64()*(r[1]-r[0])
				}
				return y
			})
			if x := d.Vars[i].Value; x.Kind == tensor.KindTensor && x.Tensor.Size() == 1 {
				at = append(at, v.Name+"="+output.Text(x.Tensor.Item(), x.Tensor.DType, 17))
			}
		}
		p.doc = &d
		p.name = strings.Join(at, ", ")
		list = append(list, &p)
	}
	return list, nil
}

// programOf is the program of the command line, or of the document.
func programOf(p *expr.Program, doc *input.Document) (*expr.Program, error) {
	if p != nil || !doc.HasExpr {
		if p == nil {
			return nil, usage("", "no expression")
		}
		return p, nil
	}
	return expr.Parse("", doc.Expr)
}

// mapTensors replaces the real tensors of a value.
func mapTensors(v *tensor.Value, f func(*tensor.Tensor) *tensor.Tensor) *tensor.Value {
	out := *v
	switch v.Kind {
	case tensor.KindTensor:
		if v.Tensor.DType.IsFloat() && v.Frozen == "" {
			out.Tensor = f(v.Tensor)
		}
	case tensor.KindList:
		out.List = nil
		for _, e := range v.List {
			out.List = append(out.List, mapTensors(e, f))
		}
	case tensor.KindRecord:
		out.Fields = nil
		for _, e := range v.Fields {
			out.Fields = append(out.Fields, tensor.Field{Name: e.Name, Value: mapTensors(e.Value, f)})
		}
	}
	return &out
}

// check runs one case at one point.
func (o *checkOptions) check(c *checkCase) (r checked) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *stopped:
			r.Err = p.err
		default:
			panic(p)
		}
	}()
	r.Name = c.name
	q, err := o.question("grad", c.prog, c.doc, &o.engineOptions, o.streams, new(needs))
	if err != nil {
		r.Err = err
		return r
	}
	if len(c.of) > 0 {
		q.Of = c.of
	}
	r.Expr = q.Prog.Text
	for _, claim := range c.claims {
		if err := o.claim(&r, q, c, claim); err != nil {
			r.Err = err
			return r
		}
	}
	if c.expect != nil {
		asked := *q
		asked.Op = c.expectOp
		a, err := asked.Answer()
		if err != nil {
			r.Err = err
			return r
		}
		compareValues(&r, c, "expected", symbol(c.expectOp), a.Targets[0].Payload, c.expect)
	}
	if len(c.claims) == 0 && c.expect == nil {
		r.Err = o.referee(&r, q, c)
	}
	return r
}

// symbol is what a derivative is called in a report.
func symbol(op string) string {
	if op == "grad" {
		return "d/d"
	}
	return op + " "
}

// claim compares the gradient by one source with an expression.
func (o *checkOptions) claim(r *checked, q *tape.Question, c *checkCase, claim input.Assignment) error {
	asked := *q
	asked.Wrt = []string{claim.Name}
	a, err := asked.Answer()
	if e, ok := tape.AsError(err); ok {
		if rest, named := strings.CutPrefix(e.At.Msg, "--wrt "); named {
			e.At.Msg = "claim " + rest
		}
	}
	if err != nil {
		return err
	}
	prog, err := expr.Parse("claim "+claim.Name, claim.Text)
	if err != nil {
		return err
	}
	var need needs
	need.survey(prog)
	if err := need.missing(c.doc); err != nil {
		return err
	}
	said, err := (&tape.Question{Prog: prog, Inputs: q.Inputs, Op: "eval", DType: q.DType, Seed: q.Seed, Limit: q.Limit, Threads: q.Threads, Deadline: q.Deadline, Stop: q.Stop}).Answer()
	if err != nil {
		return err
	}
	compareValues(r, c, "claim", "d/d"+claim.Name, a.Targets[0].Payload.Get(claim.Name), said.Targets[0].Value)
	return nil
}

// compareValues compares what the tape says with what someone else does, leaf by leaf.
func compareValues(r *checked, c *checkCase, against, what string, tapes, other *tensor.Value) {
	bad := func(why string) {
		r.List = append(r.List, comparison{What: strings.TrimSpace(what), Source: what, Against: against, Verdict: mismatch, Why: why, Tape: math.NaN(), Other: math.NaN()})
	}
	switch {
	case tapes == nil:
		bad("the tape has no such source")
		return
	case tapes.Kind == tensor.KindRecord && other.Kind == tensor.KindRecord:
		for _, f := range other.Fields {
			compareValues(r, c, against, dotted(what, f.Name), tapes.Get(f.Name), f.Value)
		}
		return
	case tapes.Kind == tensor.KindList && other.Kind == tensor.KindList && len(tapes.List) == len(other.List):
		for i := range other.List {
			compareValues(r, c, against, fmt.Sprintf("%s[%d]", what, i), tapes.List[i], other.List[i])
		}
		return
	case tapes.Kind == tensor.KindRecord && len(tapes.Fields) == 1 && other.Kind == tensor.KindTensor:
		compareValues(r, c, against, dotted(what, tapes.Fields[0].Name), tapes.Fields[0].Value, other)
		return
	case tapes.Kind == tensor.KindNone && other.Kind == tensor.KindNone:
		r.List = append(r.List, comparison{What: strings.TrimSpace(what), Source: what, Against: against, Verdict: ok, Why: "none, both"})
		return
	case tapes.Kind == tensor.KindNone && other.Kind == tensor.KindTensor:
		tapes = tensor.Of(&tensor.Tensor{Shape: other.Tensor.Shape, Data: make([]float64, other.Tensor.Size())})
	case tapes.Kind != tensor.KindTensor || other.Kind != tensor.KindTensor:
		bad("the structures differ")
		return
	}
	x, y := tapes.Tensor, other.Tensor
	if !x.Shape.Equal(y.Shape) && y.Size() != 1 {
		bad(fmt.Sprintf("the tape has shape %v, the %s %v", x.Shape, against, y.Shape))
		return
	}
	for i, v := range x.Data {
		w := y.Data[i%len(y.Data)]
		n := comparison{What: strings.TrimSpace(what + index(x.Shape, i)), Source: what, Against: against, Tape: v, Other: w}
		n.Tol = c.atol + c.rtol*max(math.Abs(v), math.Abs(w))
		n.Verdict = mismatch
		if v == w || math.IsNaN(v) && math.IsNaN(w) || n.diff() <= n.Tol {
			n.Verdict = ok
		}
		r.List = append(r.List, n)
	}
}

func dotted(what, name string) string {
	if strings.HasSuffix(what, " ") || what == "" || what == "d/d" {
		return what + name
	}
	return what + "." + name
}

// index is the subscript of an element: "" of a scalar, [1,2].
func index(s tensor.Shape, i int) string {
	if len(s) == 0 {
		return ""
	}
	at := make([]string, len(s))
	for k := len(s) - 1; k >= 0; k-- {
		at[k] = strconv.Itoa(i % s[k])
		i /= s[k]
	}
	return "[" + strings.Join(at, ",") + "]"
}

// How much the referee is asked for: what is larger is looked at in random directions.
const (
	maxElements = 400
	maxOutputs  = 100
)

// referee compares value and derivatives with govaluate and differences.
func (o *checkOptions) referee(r *checked, q *tape.Question, c *checkCase) error {
	ev, err := referee.Compile(q.Prog)
	if err != nil {
		return o.unjudged(r, q, c, err)
	}
	if custom := ev.Custom(); len(custom) > 0 {
		r.Notes = append(r.Notes, "a difference cannot know the gradient that the program defines for "+strings.Join(custom, ", "))
	}
	vars := map[string]*tensor.Value{}
	for _, in := range q.Inputs {
		vars[in.Name] = in.Value
	}
	of := q.Of
	if len(of) == 0 {
		of = []string{""}
	}
	for _, name := range of {
		asked := *q
		if name != "" {
			asked.Of = []string{name}
		}
		if err := o.judge(r, &asked, c, ev, name, vars); err != nil {
			return o.unjudged(r, q, c, err)
		}
	}
	r.Tokens = ev.Text()
	return nil
}

// unjudged is for a program that the referee cannot evaluate: the tape's own values are
// differenced instead, which says less, and the report says so.
func (o *checkOptions) unjudged(r *checked, q *tape.Question, c *checkCase, err error) error {
	var un *referee.Unsupported
	if !errors.As(err, &un) {
		return err
	}
	r.List = nil
	r.Own = "govaluate does not know " + un.What
	if barrier(q.Prog) {
		r.List = []comparison{{What: "all", Source: "all", Against: "referee", Verdict: inconclusive, Why: r.Own, Tape: math.NaN(), Other: math.NaN()}}
		r.Own = ""
		return nil
	}
	a, err := q.Answer()
	if err != nil {
		return err
	}
	for _, target := range a.Targets {
		prefix := ""
		if len(q.Of) > 0 {
			prefix = target.Name
		}
		asked := *q
		if prefix != "" {
			asked.Of = []string{prefix}
		}
		target.Payload.Leaves("", func(path string, leaf *tensor.Value) {
			path = strings.TrimPrefix(path, ".")
			x, f, ok := ownValues(&asked, path)
			if !ok || err != nil {
				return
			}
			err = o.source(r, &asked, c, x, f, prefix, path, leaf, target.Value, 0)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// barrier reports whether a program has something that a derivative stops at and a
// difference does not.
func barrier(p *expr.Program) (found bool) {
	expr.Walk(p, func(n any) bool {
		switch n := n.(type) {
		case *expr.NoGradient, *expr.Reset, *expr.Watch:
			found = true
		case *expr.Bind:
			found = found || n.Var || n.Op != expr.Assign
		case *expr.Name:
			found = found || n.Name == "stop_gradient"
		case *expr.Call:
			f, ok := n.Fun.(*expr.Name)
			found = found || ok && f.Name == "stop_gradient"
		}
		return !found
	})
	return found
}

// ownValues is the target as a function of one input, computed by the tape.
func ownValues(q *tape.Question, path string) (x []float64, f func([]float64) ([]float64, error), ok bool) {
	at := -1
	for i, in := range q.Inputs {
		in.Value.Leaves(in.Name, func(p string, leaf *tensor.Value) {
			if p == path && leaf.Kind == tensor.KindTensor && leaf.Tensor.DType.IsFloat() {
				at, x = i, leaf.Tensor.Data
			}
		})
	}
	if at < 0 {
		return nil, nil, false
	}
	asked := *q
	asked.Op, asked.Wrt, asked.With = "eval", nil, nil
	prepared, inputs := asked.Prepare(), slices.Clone(q.Inputs)
	return x, func(y []float64) ([]float64, error) {
		inputs[at].Value = replaced(q.Inputs[at].Value, q.Inputs[at].Name, path, y)
		a, err := prepared.Answer(inputs)
		if err != nil {
			return nil, err
		}
		var out []float64
		a.Targets[0].Value.Leaves("", func(_ string, leaf *tensor.Value) {
			if leaf.Kind == tensor.KindTensor {
				out = append(out, leaf.Tensor.Data...)
			}
		})
		return out, nil
	}, true
}

// replaced is a value with other numbers at a path.
func replaced(v *tensor.Value, at, path string, data []float64) *tensor.Value {
	out := *v
	switch v.Kind {
	case tensor.KindTensor:
		if at == path {
			out.Tensor = &tensor.Tensor{DType: v.Tensor.DType, Shape: v.Tensor.Shape, Data: slices.Clone(data)}
		}
	case tensor.KindList:
		out.List = slices.Clone(v.List)
		for i, e := range v.List {
			out.List[i] = replaced(e, fmt.Sprintf("%s[%d]", at, i), path, data)
		}
	case tensor.KindRecord:
		out.Fields = slices.Clone(v.Fields)
		for i, e := range v.Fields {
			out.Fields[i].Value = replaced(e.Value, at+"."+e.Name, path, data)
		}
	}
	return &out
}

// judge compares one target.
func (o *checkOptions) judge(r *checked, q *tape.Question, c *checkCase, ev *referee.Evaluator, name string, vars map[string]*tensor.Value) error {
	a, err := q.Answer()
	if err != nil {
		return err
	}
	target := a.Targets[0]
	prefix := ""
	if name != "" && len(q.Of) > 0 {
		prefix = name
	}
	frozen, err := ev.Freeze(name, vars)
	if err != nil {
		return err
	}
	value, err := frozen.Eval(vars)
	if err != nil {
		return err
	}
	noise := 0.0
	if n, err := ev.Noise(name, vars); err == nil {
		n.Leaves("", func(_ string, leaf *tensor.Value) {
			if leaf.Kind == tensor.KindTensor {
				for _, x := range leaf.Tensor.Data {
					noise = max(noise, x)
				}
			}
		})
	}
	compareTarget(r, orElse(prefix, "value"), target.Value, value, noise)
	var paths []string
	var leaves []*tensor.Value
	target.Payload.Leaves("", func(path string, leaf *tensor.Value) {
		path = strings.TrimPrefix(path, ".")
		if leaf.Kind == tensor.KindNone && !slices.Contains(a.Watched, path) {
			return // an integer or a constant: it has no derivative to compare
		}
		paths = append(paths, path)
		leaves = append(leaves, leaf)
	})
	for i, path := range paths {
		x, f, err := frozen.Source(vars, path)
		if err != nil {
			return err
		}
		if err := o.source(r, q, c, x, f, prefix, path, leaves[i], target.Value, noise); err != nil {
			return err
		}
	}
	return nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// compareTarget compares the values themselves, which have no reason to differ by more
// than rounding.
func compareTarget(r *checked, what string, tapes, other *tensor.Value, noise float64) {
	var mine, theirs []float64
	var shape tensor.Shape
	gather := func(v *tensor.Value, to *[]float64) {
		v.Leaves("", func(_ string, leaf *tensor.Value) {
			if leaf.Kind == tensor.KindTensor {
				*to = append(*to, leaf.Tensor.Data...)
				shape = leaf.Tensor.Shape
			}
		})
	}
	gather(other, &theirs)
	gather(tapes, &mine)
	if len(mine) != len(theirs) {
		r.List = append(r.List, comparison{What: what, Source: what, Against: "referee", Verdict: mismatch, Tape: math.NaN(), Other: math.NaN(), Why: fmt.Sprintf("the tape has %d numbers, the referee %d", len(mine), len(theirs))})
		return
	}
	scale := 0.0
	for _, x := range theirs {
		if a := math.Abs(x); a > scale && !math.IsInf(a, 0) {
			scale = a
		}
	}
	for i, x := range mine {
		y := theirs[i]
		n := comparison{What: what, Source: what, Against: "referee", Tape: x, Other: y, Tol: 1e-12*max(scale, math.Abs(y)) + 64*noise, Verdict: mismatch}
		if tapes.Kind == tensor.KindTensor {
			n.What += index(shape, i)
		}
		if tapes.Kind == tensor.KindTensor && tapes.Tensor.DType == tensor.Float32 {
			n.Tol += 1e-5 * scale
		}
		if x == y || math.IsNaN(x) && math.IsNaN(y) || n.diff() <= n.Tol {
			n.Verdict = ok
		}
		r.List = append(r.List, n)
	}
}

// source compares the derivative by one source.
func (o *checkOptions) source(r *checked, q *tape.Question, c *checkCase, x []float64, f func([]float64) ([]float64, error), prefix, path string, grad, value *tensor.Value, noise float64) error {
	f = o.watched(f)
	of := "d"
	if prefix != "" {
		of += prefix
	}
	of += "/d" + path
	none := grad.Kind == tensor.KindNone
	var shape tensor.Shape
	if !none {
		shape = grad.Tensor.Shape
	} else {
		shape = tensor.Shape{len(x)}
		if len(x) == 1 {
			shape = nil
		}
	}
	add := func(what string, ad float64, e difference.Estimate) {
		n := judged(ad, e, c)
		n.What, n.Source = what, of
		if none && n.Why == "" {
			n.Why = "none: " + grad.Why
		}
		r.List = append(r.List, n)
	}
	outputs := 1
	if value.Kind == tensor.KindTensor {
		outputs = value.Tensor.Size()
	}
	sum := func(x []float64) (float64, error) {
		y, err := f(x)
		total := 0.0
		for _, v := range y {
			total += v
		}
		return total, err
	}
	set := difference.Settings{Noise: noise * float64(outputs)}
	at := func(i int) float64 {
		if none {
			return 0
		}
		return grad.Tensor.Data[i]
	}
	switch {
	case len(x) == 0:
		return nil
	case c.order == 2:
		return o.second(r, q, c, sum, set, x, path, shape)
	case outputs > 1 && outputs <= maxOutputs && len(x)*outputs <= maxElements*4 && o.Directions == 0 && value.Kind == tensor.KindTensor:
		asked := *q
		asked.Op, asked.Wrt = "jacobian", []string{path}
		a, err := asked.Answer()
		if err != nil {
			return err
		}
		var jac *tensor.Tensor
		a.Targets[0].Payload.Leaves("", func(_ string, leaf *tensor.Value) {
			if leaf.Kind == tensor.KindTensor {
				jac = leaf.Tensor
			}
		})
		rows, err := difference.Settings{}.Jacobian(f, x)
		if err != nil {
			return err
		}
		for i, row := range rows {
			for j, e := range row {
				ad := 0.0
				if jac != nil {
					ad = jac.Data[i*len(row)+j]
				}
				add(orElse(prefix, "d")+index(value.Tensor.Shape, i)+"/d"+path+index(shape, j), ad, e)
			}
		}
	case len(x) <= maxElements && o.Directions == 0:
		for i, e := range set.Gradient(sum, x) {
			add(of+index(shape, i), at(i), e)
		}
	default:
		n := o.Directions
		if n == 0 {
			n = 8
		}
		rng := rand.New(rand.NewPCG(o.Seed, uint64(len(x))))
		for k := range n {
			v := direction(rng, len(x))
			ad := 0.0
			for i := range v {
				ad = math.FMA(v[i], at(i), ad)
			}
			add(fmt.Sprintf("%s·v%d", of, k+1), ad, set.Along(sum, x, v))
		}
	}
	return nil
}

// second compares second derivatives: the curvature along every axis and pair of axes of
// a small source, along random directions of a large one.
func (o *checkOptions) second(r *checked, q *tape.Question, c *checkCase, f func([]float64) (float64, error), set difference.Settings, x []float64, path string, shape tensor.Shape) error {
	const small = 6
	n := len(x)
	curve := func(v []float64) difference.Estimate {
		y := make([]float64, n)
		return set.Derivative(func(t float64) (float64, error) {
			for i := range y {
				y[i] = x[i] + t*v[i]
			}
			return f(y)
		}, 0, 2)
	}
	var list [][]float64
	var names []string
	unit := func(i, j int) []float64 {
		v := make([]float64, n)
		v[i]++
		if j != i {
			v[j]++
		}
		return v
	}
	if n <= small && o.Directions == 0 {
		for i := range n {
			for j := i; j < n; j++ {
				list = append(list, unit(i, j))
				name := "d²/d" + path + index(shape, i) + "²"
				if j != i {
					name = "along " + path + index(shape, i) + "+" + path + index(shape, j)
				}
				names = append(names, name)
			}
		}
	} else {
		k := o.Directions
		if k == 0 {
			k = 8
		}
		rng := rand.New(rand.NewPCG(o.Seed, uint64(n)))
		for i := range k {
			list = append(list, direction(rng, n))
			names = append(names, fmt.Sprintf("v%d·H·v%d by %s", i+1, i+1, path))
		}
	}
	for i, v := range list {
		asked := *q
		asked.Op, asked.Wrt = "hvp", []string{path}
		asked.With = tensor.Of(&tensor.Tensor{Shape: shape, Data: v})
		a, err := asked.Answer()
		if err != nil {
			return err
		}
		ad := 0.0
		a.Targets[0].Payload.Leaves("", func(_ string, leaf *tensor.Value) {
			if leaf.Kind == tensor.KindTensor {
				for i, h := range leaf.Tensor.Data {
					ad = math.FMA(h, v[i], ad)
				}
			}
		})
		e := judged(ad, curve(v), c)
		e.What, e.Source = names[i], "d²/d"+path+"²"
		r.List = append(r.List, e)
	}
	return nil
}

// direction is a random vector of length about 1.
func direction(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64() / math.Sqrt(float64(n))
	}
	return v
}

// judged compares a derivative with an estimate.
func judged(ad float64, e difference.Estimate, c *checkCase) comparison {
	n := comparison{Against: "referee", Tape: ad, Other: e.Value, Err: e.Err, OneSided: e.OneSided}
	allowed := c.atol + c.rtol*max(math.Abs(ad), math.Abs(e.Value))
	n.Tol = allowed + 10*e.Err
	switch {
	case e.Kink:
		n.Verdict = kink
		n.Why = fmt.Sprintf("from the left %.6g, from the right %.6g", e.OneSided[0], e.OneSided[1])
	case math.IsNaN(e.Value) || math.IsInf(e.Err, 0) || math.IsNaN(e.Err):
		n.Verdict, n.Why = inconclusive, "no difference could be taken"
	case !(n.diff() <= n.Tol):
		n.Verdict = mismatch
	case 10*e.Err > allowed && n.diff() > allowed:
		n.Verdict, n.Why = inconclusive, "the estimate is off by up to "+output.Text(e.Err, tensor.Float64, 2)
	default:
		n.Verdict = ok
	}
	return n
}

// watched stops differences when the time is over.
func (o *checkOptions) watched(f func([]float64) ([]float64, error)) func([]float64) ([]float64, error) {
	return func(x []float64) ([]float64, error) {
		select {
		case <-o.stop:
			panic(&stopped{&failure{code: exitInterrupted}})
		default:
		}
		if !o.deadline.IsZero() && time.Now().After(o.deadline) {
			panic(&stopped{&failure{code: exitRun, kind: "timeout", msg: "the time limit is reached", hint: "--timeout raises it"}})
		}
		return f(x)
	}
}

// stopped carries an error through code that does not expect one.
type stopped struct{ err error }
