package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nabla/cmd/input"
	"nabla/expr"
	"nabla/output"
	"nabla/output/plot"
	"nabla/tape"
	"nabla/tape/tensor"
)

const plotLong = `
line draws y and dy/dx over a range of one variable, point by point; or, without
a range, the elements of a vector. --log-x and --log-y make its axes
logarithmic. heat draws a matrix, or a scalar over the ranges of two variables:
white is 0, red positive, blue negative, grey NaN.
patches draws a four-dimensional tensor as blocks [:, i, :, j], so that the
diagonals of a batch show. Without --kind the target decides. The picture is
made of characters, or, with -o, a PNG, SVG or PDF.`

const plotExample = `
  $ nabla plot 'x*sin(x)' --range x=-6:6
  $ nabla plot 'a*x^2' --range x=0:1 -a a=3 --show y,dy,d2y -o y.svg
  $ nabla plot 'x^2 - y^2' --range x=-1:1 --range y=-1:1
  $ nabla plot 'hessian(sum(tanh(w @ w)), w)' -a 'w=randn(3,3)' -o h.png
  $ nabla plot 'jacobian(x @ a, x)' -a 'x=ones(3,2), a=eye(2)' --kind patches`

// plotOptions are the flags of plot.
type plotOptions struct {
	streams
	inputOptions
	engineOptions
	Args          []string
	Kind, Show    string
	Range         []string
	Limits        string
	LogX, LogY    bool
	Size          string
	Format, Out   string
	Color         string
	Quiet         bool
	width, height int
	ranges        []span
	low, high     float64
}

// A span is what --range says: the values of a variable, n of them, from low to high.
type span struct {
	name      string
	low, high float64
	n         int // 0: as many as the picture shows
}

func newPlot(s streams, row *command) *cobra.Command {
	o := &plotOptions{streams: s}
	c := base(row, func(args []string) error {
		o.Args = args
		return runPlot(o)
	})
	f := c.Flags()
	under(f, groupInput, func(f *pflag.FlagSet) {
		f.StringArrayVar(&o.Range, "range", nil, "`NAME=LOW:HIGH[:N]` of a variable, in N points")
	})
	under(f, groupInput, o.inputOptions.flagsOf(row))
	under(f, groupEngine, o.engineOptions.bind)
	under(f, groupOutput, func(f *pflag.FlagSet) {
		f.StringVar(&o.Kind, "kind", "auto", "`line|heat|patches` what to draw")
		f.StringVar(&o.Show, "show", "y,dy", "`LIST` of the curves: y, dy, d2y, d3y, …")
		f.StringVar(&o.Limits, "limits", "", "`LOW:HIGH` of the vertical axis, or -LIMIT:LIMIT of colours")
		f.BoolVar(&o.LogX, "log-x", false, "a logarithmic range")
		f.BoolVar(&o.LogY, "log-y", false, "a logarithmic vertical axis")
		f.StringVar(&o.Size, "size", "640x400", "`WIDTHxHEIGHT` of a file, in pixels")
		f.StringVarP(&o.Format, "format", "f", "", "`text|png|svg|pdf` without it, what -o names")
		f.StringVarP(&o.Out, "out", "o", "", "`FILE` write it, all or nothing")
		f.BoolVarP(&o.Quiet, "quiet", "q", false, "no warnings")
		f.StringVar(&o.Color, "color", "auto", "`auto|always|never` NO_COLOR is never")
	})
	return c
}

func runPlot(o *plotOptions) error {
	orders, err := o.settle()
	if err != nil {
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
	doc, _, err := o.load(o.streams, &o.engineOptions, nil, false, o.Quiet)
	if err != nil {
		return err
	}
	if err := o.variable(prog, doc); err != nil {
		return err
	}
	if err := o.logarithms(); err != nil {
		return err
	}
	for _, r := range o.ranges {
		v := input.Variable{Name: r.name, Value: tensor.Of(tensor.Scalar(r.low)), Trainable: true, From: "--range"}
		if i := slices.IndexFunc(doc.Vars, func(v input.Variable) bool { return v.Name == r.name }); i >= 0 {
			return usage("", "--range %s: %s is given by %s already", r.name, r.name, doc.Vars[i].From)
		}
		doc.Vars = append(doc.Vars, v)
	}
	q, err := o.question("eval", prog, doc, &o.engineOptions, o.streams, new(needs))
	if err != nil {
		if e := (*tape.Error)(nil); errors.As(err, &e) && strings.HasPrefix(e.At.Hint, "--at ") {
			e.At.Hint += "; --range NAME=LOW:HIGH draws over a range"
		}
		return err
	}
	var p plot.Picture
	switch {
	case len(o.ranges) == 1:
		p, err = o.curves(q, orders)
	case len(o.ranges) == 2:
		p, err = o.surface(q)
	default:
		p, err = o.elements(q)
	}
	if err != nil {
		return err
	}
	o.tellStats(o.err, nil)
	write := func(w io.Writer) error { return plot.Write(w, p, o.Format, o.width, o.height) }
	if o.Format == "text" {
		tty := (&outputOptions{Color: o.Color}).to(o.out)
		if o.toFile() {
			tty.Color = o.Color == "always"
		}
		columns := tty.Width
		if columns == 0 {
			columns = 80
		}
		write = func(w io.Writer) error {
			_, err := io.WriteString(w, plot.Text(p, columns, tty.Color))
			return err
		}
	}
	if o.toFile() {
		return output.ToFile(o.Out, write)
	}
	return write(o.out)
}

func (o *plotOptions) toFile() bool { return o.Out != "" && o.Out != "-" }

// settle checks the flags; orders are those of the derivatives to show.
func (o *plotOptions) settle() (orders []int, err error) {
	if err := o.engineOptions.settle(o.streams); err != nil {
		return nil, err
	}
	if err := oneOf("kind", o.Kind, "auto", "line", "heat", "patches"); err != nil {
		return nil, err
	}
	if err := oneOf("color", o.Color, "auto", "always", "never"); err != nil {
		return nil, err
	}
	if name, ok := plot.FormatOf(o.Out); ok && o.Format != "" && name != o.Format {
		return nil, misnamed(o.Out, name, o.Format)
	}
	if o.Format == "" && o.toFile() {
		name, ok := plot.FormatOf(o.Out)
		if !ok && !strings.HasSuffix(o.Out, ".txt") {
			hint := ""
			if _, numbers := output.FormatOf(o.Out); numbers {
				hint = "nabla eval writes numbers"
			}
			return nil, usage(hint, "--out %s: a picture is .png, .svg, .pdf or .txt", o.Out)
		}
		o.Format = name
	}
	if o.Format == "" {
		o.Format = "text"
	}
	if err := oneOf("format", o.Format, "text", "png", "svg", "pdf"); err != nil {
		return nil, err
	}
	if (o.Format == "png" || o.Format == "pdf") && !o.toFile() && terminal(o.out) {
		return nil, &output.FormatError{Format: o.Format, Why: "is binary and does not go to a terminal: name a file with -o, or pipe it"}
	}
	for _, s := range strings.Split(o.Show, ",") {
		n, err := 0, error(nil)
		switch s = strings.TrimSpace(s); {
		case s == "y":
		case s == "dy":
			n = 1
		case strings.HasPrefix(s, "d") && strings.HasSuffix(s, "y"):
			n, err = strconv.Atoi(s[1 : len(s)-1])
		default:
			n = -1
		}
		if err != nil || n < 0 || n > 9 {
			return nil, usage("", "--show %s: curves are y, dy, d2y, d3y, … to d9y", o.Show)
		}
		orders = append(orders, n)
	}
	width, height, ok := strings.Cut(o.Size, "x")
	o.width, err = strconv.Atoi(width)
	if err == nil {
		o.height, err = strconv.Atoi(height)
	}
	if !ok || err != nil || min(o.width, o.height) < 100 || max(o.width, o.height) > 8192 {
		return nil, usage("", "--size %s: write WIDTHxHEIGHT in pixels, each from 100 to 8192", o.Size)
	}
	if o.Limits != "" {
		if o.low, o.high, err = o.bounds("--limits", o.Limits); err != nil {
			return nil, err
		}
	}
	for _, text := range o.At {
		if _, err := o.span(text); err == nil {
			return nil, usage("write --range "+text, "--at %s: a range has a flag of its own", text)
		}
	}
	for _, text := range o.Range {
		r, err := o.span(text)
		if err != nil {
			return nil, err
		}
		o.ranges = append(o.ranges, r)
	}
	if (o.Kind == "heat" || o.Kind == "patches" || len(o.ranges) == 2) && o.Limits != "" && o.low != -o.high {
		return nil, usage(fmt.Sprintf("write --limits %g:%g", -max(o.high, -o.low), max(o.high, -o.low)), "--limits %s: colours have 0 in the middle", o.Limits)
	}
	switch {
	case len(o.ranges) > 2:
		return nil, usage("", "%d ranges: a picture has one, for curves, or two, for a heat map", len(o.ranges))
	case len(o.ranges) == 2 && o.ranges[0].name == o.ranges[1].name:
		return nil, usage("", "--range %s is given twice", o.ranges[0].name)
	case len(o.ranges) == 1 && o.Kind != "auto" && o.Kind != "line", len(o.ranges) == 2 && o.Kind != "auto" && o.Kind != "heat":
		return nil, usage("one range gives curves, two give a heat map, none draws the target's elements", "--kind %s does not go with %d --range", o.Kind, len(o.ranges))
	}
	return orders, nil
}

// span reads NAME=LOW:HIGH[:N].
func (o *plotOptions) span(text string) (r span, err error) {
	name, rest, ok := strings.Cut(text, "=")
	r.name = strings.TrimSpace(name)
	if e, _, err := expr.ParseExpr("", r.name); err == nil {
		_, isName := e.(*expr.Name)
		ok = ok && isName
	} else {
		ok = false
	}
	if !ok {
		hint := ""
		if _, _, err := o.bounds("", text); err == nil {
			hint = "write --range x=" + text
		}
		return r, usage(hint, "--range %s: write NAME=LOW:HIGH or NAME=LOW:HIGH:N", text)
	}
	if strings.Contains(rest, "=") {
		return r, usage("write --range "+strings.Join(expr.SplitList(text), " --range "), "--range %s: each range has a flag of its own", text)
	}
	parts := strings.Split(rest, ":")
	if len(parts) == 3 {
		v, err := o.number("--range "+text, parts[2])
		most := 1_000_000.0
		if err != nil {
			return r, err
		}
		if v < 2 || v > most || v != math.Trunc(v) {
			hint := ""
			if low, high, err := o.bounds("", strings.Join(parts[:2], ":")); err == nil && v > 0 && v < 2 {
				if n := math.Round((high-low)/v) + 1; n >= 2 && n <= most {
					hint = fmt.Sprintf("N counts points: %s=%s:%s:%g takes steps of about %g", r.name, parts[0], parts[1], n, v)
				}
			}
			return r, usage(hint, "--range %s: N is a whole number from 2 to %g", text, most)
		}
		r.n, parts = int(v), parts[:2]
	}
	r.low, r.high, err = o.bounds("--range "+text, strings.Join(parts, ":"))
	return r, err
}

// bounds reads LOW:HIGH.
func (o *plotOptions) bounds(flag, text string) (low, high float64, err error) {
	a, b, ok := strings.Cut(text, ":")
	if !ok || strings.Contains(b, ":") {
		hint := ""
		for _, sign := range []string{"..", ",", " to "} { // as others write it
			if low, high, ok := strings.Cut(strings.Trim(text, "[]() "), sign); ok && !strings.Contains(high, sign) {
				hint = "write " + strings.TrimSpace(low) + ":" + strings.TrimSpace(high)
			}
		}
		return 0, 0, usage(hint, "%s: write LOW:HIGH, such as -pi:pi", flag)
	}
	if low, err = o.number(flag, a); err != nil {
		return 0, 0, err
	}
	if high, err = o.number(flag, b); err != nil {
		return 0, 0, err
	}
	if !(low < high) || math.IsInf(low, 0) || math.IsInf(high, 0) {
		return 0, 0, usage("", "%s: LOW must be less than HIGH, and both finite", flag)
	}
	return low, high, nil
}

// number is the value of a constant expression.
func (o *plotOptions) number(flag, text string) (float64, error) {
	v, err := o.constant(text, flag)
	if err != nil {
		return 0, usage("it is a constant expression, such as 3, -pi/2 or 1e-3", "%s: %s is no number", flag, strconv.Quote(text))
	}
	if v.Kind != tensor.KindTensor || len(v.Tensor.Data) != 1 {
		return 0, usage("", "%s: %s is not a single number", flag, text)
	}
	return v.Tensor.Data[0], nil
}

// variable gives the one name without a value a range, if there is none.
func (o *plotOptions) variable(prog *expr.Program, doc *input.Document) error {
	if len(o.ranges) > 0 || prog == nil || o.Kind == "heat" || o.Kind == "patches" {
		return nil
	}
	need := new(needs)
	need.survey(prog)
	var free []string
	for _, name := range need.inputs {
		if !doc.Has(name) {
			free = append(free, name)
		}
	}
	if len(free) != 1 {
		return nil
	}
	if slices.Contains(expr.Callees(prog), free[0]) {
		return nil
	}
	r := span{name: free[0], low: -5, high: 5}
	if o.LogX {
		r.low, r.high = 0.01, 100
	}
	o.ranges = []span{r}
	if !o.Quiet {
		fmt.Fprintf(o.err, "nabla: note: %s from %g to %g; --range %s=LOW:HIGH sets it\n", r.name, r.low, r.high, r.name)
	}
	return nil
}

// logarithms checks what --log-x and --log-y are given for.
func (o *plotOptions) logarithms() error {
	switch {
	case o.LogX && len(o.ranges) != 1:
		return usage("one --range NAME=LOW:HIGH gives curves", "--log-x is for curves over a range")
	case o.LogX && o.ranges[0].low <= 0:
		return usage(fmt.Sprintf("write a range such as --range %s=1e-3:%g", o.ranges[0].name, max(o.ranges[0].high, 1)), "--log-x: the range begins at %g, and only positive numbers have a logarithm", o.ranges[0].low)
	case o.LogY && o.Limits != "" && o.low <= 0:
		return usage(fmt.Sprintf("write --limits 1e-3:%g", max(o.high, 1)), "--limits %s: with --log-y both are positive", o.Limits)
	}
	return nil
}

// coloured refuses --log-y for what is drawn in colours.
func (o *plotOptions) coloured() error {
	if o.LogY {
		return usage("colours have 0 in the middle", "--log-y is for curves")
	}
	return nil
}

// elements draws the elements of the target itself.
func (o *plotOptions) elements(q *tape.Question) (plot.Picture, error) {
	a, err := q.Answer()
	if err != nil {
		return nil, asData(err, q)
	}
	if !o.Quiet {
		warn(o.err, a, q.Prog)
	}
	title := oneLine(q.Prog)
	all := make([]*tensor.Tensor, len(a.Targets))
	for i, to := range a.Targets {
		if all[i], err = drawn(to.Value); err != nil {
			return nil, err
		}
	}
	t := all[0]
	rank := len(t.Shape)
	kind := o.Kind
	if kind == "auto" {
		if kind = "heat"; rank == 1 {
			kind = "line"
		}
	}
	switch {
	case len(t.Data) == 0:
		return nil, usage("", "the target is empty: shape %v has no element to draw", t.Shape)
	case len(t.Data) > 64<<20:
		return nil, usage("", "the target has %d elements: too many for a picture", len(t.Data))
	case rank == 0:
		return nil, usage("--range NAME=LOW:HIGH draws a curve", "the target is a single number: %v", t.Data[0])
	case kind == "line":
		p := o.lines("index", nil)
		p.Indices = true
		for i, x := range all {
			if len(x.Shape) != 1 || len(x.Data) != len(t.Data) {
				return nil, usage("", "--kind line draws vectors of one length; the target is %v", x.Shape)
			}
			s := plot.Series{Name: cmp.Or(a.Targets[i].Name, title), Dashed: i > 0, Ink: i}
			for _, y := range x.Data {
				s.Y = append(s.Y, o.upward(y))
			}
			if i := slices.IndexFunc(x.Data, func(y float64) bool { return y <= 0 }); o.LogY && i >= 0 && !o.Quiet {
				fmt.Fprintf(o.err, "nabla: note: %s is %.6g at %d: a logarithmic axis leaves out what is not positive\n", s.Name, x.Data[i], i)
			}
			p.Series = append(p.Series, s)
		}
		for i := range t.Data {
			p.X = append(p.X, float64(i))
		}
		return p, nil
	case len(all) > 1:
		return nil, usage("--of names one", "%d targets: a heat map shows one", len(all))
	case rank > 4:
		return nil, usage("pick some axes by indexing, or reshape", "the target has %d axes: a picture has room for 4", rank)
	}
	if err := o.coloured(); err != nil {
		return nil, err
	}
	var h *plot.Heat
	switch shape := t.Shape; {
	case kind == "patches" && rank == 4:
		h = plot.Patches(title, [4]int(shape), t.Data)
	case kind == "patches" && rank == 3: // the blocks of a batch, below one another
		h = plot.Patches(title, [4]int{shape[1], shape[0], shape[2], 1}, swapped(t.Data, shape[0], shape[1], shape[2]))
	case kind == "patches":
		return nil, usage("--kind heat draws it", "--kind patches draws three or four axes; the target is %v", shape)
	case rank == 4: // as a matrix: the leading pair of axes down, the other pair across
		h = &plot.Heat{Title: title, Rows: shape[0] * shape[1], Columns: shape[2] * shape[3], Data: t.Data}
	default:
		h = &plot.Heat{Title: title, Rows: len(t.Data) / shape[rank-1], Columns: shape[rank-1], Data: t.Data}
	}
	if o.Limits != "" {
		h.Limit = o.high
	}
	return h, nil
}

// drawn is the tensor that a target is; a record of one field stands for that.
func drawn(v *tensor.Value) (*tensor.Tensor, error) {
	if v.Kind == tensor.KindRecord && len(v.Fields) == 1 {
		v = v.Fields[0].Value
	}
	switch v.Kind {
	case tensor.KindTensor:
		return v.Tensor, nil
	case tensor.KindNone:
		return nil, usage("nabla eval tells what it is", "the target is none: %s", cmp.Or(v.Why, "there is nothing to draw"))
	}
	return nil, usage("--of names a tensor, or the program ends in one", "the target is not one tensor: there is nothing to draw")
}

// swapped is an array [a, m, n] with its leading axes changed over.
func swapped(data []float64, a, m, n int) []float64 {
	out := make([]float64, 0, len(data))
	for j := range m {
		for i := range a {
			out = append(out, data[(i*m+j)*n:(i*m+j+1)*n]...)
		}
	}
	return out
}
