package cmd

import (
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nabla/cmd/input"
	"nabla/expr"
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
"rtol", "atol", "order"}; - is stdin.`

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
		f.IntVar(&o.Points, "points", 0, "`N` random points, in the shapes of --at")
		manyVar(f, &o.Domain, "domain", "", "`NAME=LO:HI` where they lie; without it -2:2")
		f.IntVar(&o.Directions, "directions", 0, "`N` random directions instead of elements")
		manyVar(f, &o.Claim, "claim", "", "`NAME=EXPR` a derivative to judge, with --order 2 the second by NAME")
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

// A checked is one case with its comparisons.
type checked struct {
	Name   string
	Expr   string
	Line   int    // where its case begins in a file, or 0
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
	line       int // where it begins in its file, or 0
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
	if err := o.settle(); err != nil {
		return err
	}
	cases, listed, err := o.cases()
	if err != nil {
		return err
	}
	said := newFindings(o)
	defer said.text.close()
	for i := range cases {
		if c := &cases[i]; c.err != nil {
			said.add(&checked{Name: c.name, Expr: c.text, Line: c.line, Err: c.err})
			continue
		}
		points, n, err := o.points(&cases[i])
		if err != nil {
			return err
		}
		first := true
		for p := range points {
			start := time.Now()
			r := o.check(p)
			r.Took = time.Since(start)
			if r.Err != nil && !listed && (n == 1 || first && reportOf(r.Err).code <= exitProgram) {
				return r.Err // of the command line or the expression, wherever it is looked at
			}
			if p := reportOf(orNil(r.Err)); p.code >= exitInterrupted || p.kind == "timeout" {
				return r.Err
			}
			said.add(&r)
			first = false
		}
	}
	if err := said.write(); err != nil {
		return err
	}
	o.tellStats(o.err, nil)
	if code := said.code; code != exitOK {
		return &failure{code: code} // the report has said it all
	}
	return nil
}

// settle checks the flags.
func (o *checkOptions) settle() error {
	if err := o.engineOptions.settle(o.streams, o.Quiet); err != nil {
		return err
	}
	if err := oneOf("report", o.Report, reportNames()...); err != nil {
		return err
	}
	if o.Order != 1 && o.Order != 2 {
		return usage("", "--order %d: it is 1 or 2", o.Order)
	}
	for _, tol := range []struct {
		flag string
		v    float64
	}{{"rtol", o.RTol}, {"atol", o.ATol}} {
		if !(tol.v >= 0) {
			return usage("", "--%s %v: it is at least 0", tol.flag, tol.v)
		}
	}
	for _, n := range []struct {
		flag string
		v    int
	}{{"points", o.Points}, {"directions", o.Directions}} {
		if n.v < 0 {
			return usage("", "--%s %d: it is at least 1", n.flag, n.v)
		}
	}
	return nil
}

// orNil is err, or a failure of no kind.
func orNil(err error) error {
	if err == nil {
		return &failure{}
	}
	return err
}

// cases are the cases that a file lists, or the one of the command line.
func (o *checkOptions) cases() (cases []checkCase, listed bool, err error) {
	if len(o.Args) == 1 && len(o.Expr)+len(o.Program) == 0 && (o.Args[0] == "-" || strings.HasSuffix(o.Args[0], ".json")) {
		for _, own := range []struct {
			flag, key string
			given     bool
		}{{"claim", "claim", len(o.Claim) > 0}, {"expect", "expect", o.Expect != ""}, {"in", "at", len(o.In) > 0}} {
			if own.given {
				return nil, false, usage(`each case has its own, as "`+own.key+`"`, "--%s does not go with a list of cases", own.flag)
			}
		}
		cases, err = o.readCases(o.Args[0])
		return cases, true, err
	}
	prog, err := o.program(o.Args, o.streams, o.limit)
	if err != nil {
		return nil, false, err
	}
	doc, _, err := o.load(o.streams, &o.engineOptions, nil, false, o.Quiet)
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

// points are a case at the points where it is looked at, and how many: where it stands, or random
// ones. Each is drawn when it is wanted, so that a million take no more memory than one.
func (o *checkOptions) points(c *checkCase) (iter.Seq[*checkCase], int, error) {
	n := o.Points
	if n == 0 && len(o.Domain) > 0 {
		n = 1
	}
	if n <= 0 {
		return func(yield func(*checkCase) bool) { yield(c) }, 1, nil
	}
	domain, err := o.domain()
	if err != nil {
		return nil, 0, err
	}
	doc := *c.doc
	doc.Vars = slices.Clone(doc.Vars)
	prog, err := programOf(c.prog, &doc)
	if err != nil {
		return nil, 0, err
	}
	if err := o.drawable(&doc, prog, domain); err != nil {
		return nil, 0, err
	}
	rng := rand.New(rand.NewPCG(o.Seed, 0x9e3779b97f4a7c15))
	return func(yield func(*checkCase) bool) {
		for range n {
			if !yield(drawnCase(c, doc, domain, rng)) {
				return
			}
		}
	}, n, nil
}

// drawnCase is a case at a random point of a domain.
func drawnCase(c *checkCase, doc input.Document, domain map[string][2]float64, rng *rand.Rand) *checkCase {
	p := *c
	doc.Vars = slices.Clone(doc.Vars)
	var at []string
	for i, v := range doc.Vars {
		r, drawn := domain[v.Name]
		if !drawn {
			continue
		}
		doc.Vars[i].Value = mapTensors(v.Value, func(x *tensor.Tensor) *tensor.Tensor { return drawnIn(r, x, rng) })
		if x := doc.Vars[i].Value; x.Kind == tensor.KindTensor && x.Tensor.Size() == 1 {
			at = append(at, v.Name+"="+output.Text(x.Tensor.Item(), x.Tensor.DType, 17))
		}
	}
	p.doc = &doc
	p.name = strings.TrimPrefix(c.name+": "+strings.Join(at, ", "), ": ")
	return &p
}

// drawable adds to doc the inputs that the program needs and nobody gives, and to domain the ranges of
// what is drawn though --domain does not name it. What it names has to be real numbers.
func (o *checkOptions) drawable(doc *input.Document, prog *expr.Program, domain map[string][2]float64) error {
	for _, name := range expr.Needed(prog) {
		if _, given := input.Resolve(doc.Vars, name); !given && !tape.Known(name) {
			doc.Vars = append(doc.Vars, input.Variable{Name: name, Value: tensor.Of(tensor.Scalar(0)), Trainable: true, From: "--points"})
			if _, named := domain[name]; !named {
				domain[name] = [2]float64{-2, 2}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(domain)) {
		i := slices.Index(inputNames(doc), name)
		if i < 0 {
			return usage(orAll(name, inputNames(doc)), "--domain %s: there is no such input", name)
		}
		real := false
		mapTensors(doc.Vars[i].Value, func(x *tensor.Tensor) *tensor.Tensor {
			real = true
			return x
		})
		if !real {
			return usage("give it as floats, or leave it out of --domain", "--domain %s: it has no real numbers to draw", name)
		}
	}
	if len(o.Domain) == 0 {
		for _, v := range doc.Vars {
			if v.Trainable {
				domain[v.Name] = [2]float64{-2, 2}
			}
		}
	}
	return nil
}

// domain is the range of each input that --domain names.
func (o *checkOptions) domain() (map[string][2]float64, error) {
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
			d := [2]float64{l.Tensor.Item(), h.Tensor.Item()}
			if !(d[0] <= d[1]) || math.IsInf(d[1]-d[0], 0) {
				return nil, usage("", "--domain: %s=%s: LO must be at most HI, and both finite", a.Name, a.Text)
			}
			domain[a.Name] = d
		}
	}
	return domain, nil
}

// drawnIn is a tensor like x of random numbers in a range.
func drawnIn(r [2]float64, x *tensor.Tensor, rng *rand.Rand) *tensor.Tensor {
	y := &tensor.Tensor{DType: x.DType, Shape: x.Shape, Data: make([]float64, len(x.Data))}
	for i := range y.Data {
		y.Data[i] = r[0] + rng.Float64()*(r[1]-r[0])
		if x.DType == tensor.Float32 { // or the referee's x is another than the tape's
			y.Data[i] = float64(float32(y.Data[i]))
		}
	}
	return y
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
	r.Name, r.Expr, r.Line = c.name, c.text, c.line
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
			r.Err = asData(err, q)
			return r
		}
	}
	if c.expect != nil {
		asked := *q
		if asked.Op = c.expectOp; c.order == 2 && asked.Op == "grad" {
			asked.Op = "hessian"
		}
		a, err := asked.Answer()
		if err != nil {
			r.Err = asData(err, q)
			return r
		}
		compareValues(&r, c, "expected", symbol(asked.Op), a.Targets[0].Payload, c.expect)
	}
	if len(c.claims) == 0 && c.expect == nil {
		r.Err = asData(o.referee(&r, q, c), q)
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

// claim compares the gradient by one source, or the Hessian by it, with an expression.
func (o *checkOptions) claim(r *checked, q *tape.Question, c *checkCase, claim input.Assignment) error {
	asked := *q
	asked.Wrt = []string{claim.Name}
	what := "d/d" + claim.Name
	if c.order == 2 {
		asked.Op, what = "hessian", "d²/d"+claim.Name+"²"
	}
	a, err := asked.Answer()
	if e, ok := tape.AsError(err); ok {
		if rest, named := strings.CutPrefix(e.At.Msg, "--wrt "); named {
			shown := *e.At // without the flag, which nobody wrote
			shown.Msg, shown.Prog = "claim "+rest, nil
			e.At = &shown
		}
	}
	if err != nil {
		return err
	}
	if strings.HasPrefix(claim.Text, "@") {
		return usage("--expect FILE compares with what a file has", "claim %s: %s is no expression", claim.Name, quoted(claim.Text))
	}
	prog, err := expr.Parse("claim "+claim.Name, claim.Text)
	if err != nil {
		return err
	}
	if last, ok := prog.Stmts[len(prog.Stmts)-1].(*expr.Bind); ok {
		return &expr.Error{Prog: prog, Kind: "syntax", Where: last.Where(), Mark: last.OpPos, Msg: "a claim ends in an expression", Hint: "several are separated by commas, or stand behind a --claim each"}
	}
	var need needs
	need.survey(prog)
	if err := need.missing(c.doc); err != nil {
		if name := need.inputs[slices.IndexFunc(need.inputs, func(n string) bool { return !c.doc.Has(n) })]; expr.Binds(q.Prog, name) {
			return noValue(prog, []string{name}, name+" has no value", "a claim reads the inputs, and no names that the program binds")
		}
		return err
	}
	said, err := (&tape.Question{Prog: prog, Inputs: q.Inputs, Op: "eval", DType: q.DType, Seed: q.Seed, Limit: q.Limit, Recorded: q.Recorded, Threads: q.Threads, Deadline: q.Deadline, Stop: q.Stop}).Answer()
	if err != nil {
		return err
	}
	tapes := a.Targets[0].Payload.Get(claim.Name)
	if c.order == 2 && tapes != nil && tapes.Kind == tensor.KindRecord {
		tapes = tapes.Get(claim.Name) // the block of NAME twice
	}
	compareValues(r, c, "claim", what, tapes, said.Targets[0].Value)
	return nil
}
