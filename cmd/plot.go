package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"io"
	"slices"
	"strconv"
	"strings"

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
white is 0, red positive, blue negative, grey NaN; infinity is as strong as the
strongest. patches draws a four-dimensional tensor as blocks [:, i, :, j], so
that the diagonals of a batch show. Without --kind the target decides. The
picture is made of characters, or, with -o, a PNG, SVG or PDF.`

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
	q, err := o.asked()
	if err != nil {
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
	if o.Format == "png" || o.Format == "pdf" {
		if lacked := plot.Lacked(p); len(lacked) > 0 {
			o.note(o.Quiet, []string{"the font has no " + expr.Some(strings.Split(string(lacked), "")) + ": in SVG that of the viewer is used"})
		}
	}
	write := func(w io.Writer) error { return plot.Write(w, p, o.Format, o.width, o.height) }
	if o.Format == "text" {
		write = o.text(p)
	}
	if o.toFile() {
		return output.ToFile(o.Out, write)
	}
	return write(o.out)
}

// asked is the program with its data, and with the variables that have ranges at their beginnings.
func (o *plotOptions) asked() (*tape.Question, error) {
	prog, err := o.program(o.Args, o.streams, o.limit)
	if err != nil {
		return nil, err
	}
	if o.toFile() {
		if err := output.CheckWritable(o.Out); err != nil {
			return nil, err
		}
	}
	doc, _, err := o.load(o.streams, &o.engineOptions, nil, false, o.Quiet)
	if err != nil {
		return nil, err
	}
	o.findRange(prog, doc)
	if err := o.logarithms(); err != nil {
		return nil, err
	}
	for _, r := range o.ranges {
		v := input.Variable{Name: r.name, Value: tensor.Of(tensor.Scalar(r.low)), Trainable: true, From: "--range"}
		if i := slices.IndexFunc(doc.Vars, func(v input.Variable) bool { return v.Name == r.name }); i >= 0 {
			return nil, usage("", "--range %s: %s is given by %s already", r.name, r.name, doc.Vars[i].From)
		}
		doc.Vars = append(doc.Vars, v)
	}
	q, err := o.question("eval", prog, doc, &o.engineOptions, o.streams, new(needs))
	if e := (*tape.Error)(nil); errors.As(err, &e) && strings.HasPrefix(e.At.Hint, "--at ") {
		name, _, _ := strings.Cut(strings.TrimPrefix(e.At.Hint, "--at "), "=…")
		e.At.Hint += "; --range " + strings.TrimPrefix(name, "'") + "=LOW:HIGH draws over a range"
	}
	return q, err
}

// text writes a picture in characters, as wide as the terminal.
func (o *plotOptions) text(p plot.Picture) func(w io.Writer) error {
	to := (&outputOptions{Color: o.Color}).to(o.out)
	if o.toFile() {
		to.Color = o.Color == "always"
	}
	columns := cmp.Or(to.Width, 80)
	return func(w io.Writer) error {
		_, err := io.WriteString(w, plot.Text(p, columns, to.Color))
		return err
	}
}

func (o *plotOptions) toFile() bool { return o.Out != "" && o.Out != "-" }

// settle checks the flags; orders are those of the derivatives to show.
func (o *plotOptions) settle() (orders []int, err error) {
	if err := o.engineOptions.settle(o.streams, o.Quiet); err != nil {
		return nil, err
	}
	if err := oneOf("kind", o.Kind, "auto", "line", "heat", "patches"); err != nil {
		return nil, err
	}
	if err := oneOf("color", o.Color, "auto", "always", "never"); err != nil {
		return nil, err
	}
	if err := o.settleFormat(); err != nil {
		return nil, err
	}
	if orders, err = o.orders(); err != nil {
		return nil, err
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
	return orders, o.settleRanges()
}

// settleFormat finds the form of the picture, which the name of the file may tell.
func (o *plotOptions) settleFormat() error {
	name, ok := plot.FormatOf(o.Out)
	if ok && o.Format != "" && name != o.Format {
		return misnamed(o.Out, name, o.Format)
	}
	if o.Format == "" && o.toFile() {
		if !ok && !strings.HasSuffix(o.Out, ".txt") {
			hint := ""
			if _, numbers := output.FormatOf(o.Out); numbers {
				hint = "nabla eval writes numbers"
			}
			return usage(hint, "--out %s: a picture is .png, .svg, .pdf or .txt", o.Out)
		}
		o.Format = name
	}
	o.Format = cmp.Or(o.Format, "text")
	formats := []string{"text"}
	for _, f := range plot.Formats {
		if f.Name == o.Format && f.Binary && !o.toFile() && terminal(o.out) {
			return &output.FormatError{Format: o.Format, Why: "is binary and does not go to a terminal: name a file with -o, or pipe it"}
		}
		formats = append(formats, f.Name)
	}
	return oneOf("format", o.Format, formats...)
}

// orders are those of the derivatives to show.
func (o *plotOptions) orders() (orders []int, err error) {
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
	return orders, nil
}

// settleRanges reads the ranges, and refuses those that the kind of the picture has no room for.
func (o *plotOptions) settleRanges() error {
	for _, text := range o.At {
		if _, err := o.span(text); err == nil {
			return usage("write --range "+text, "--at %s: a range has a flag of its own", text)
		}
	}
	for _, text := range o.Range {
		r, err := o.span(text)
		if err != nil {
			return err
		}
		o.ranges = append(o.ranges, r)
	}
	if (o.Kind == "heat" || o.Kind == "patches" || len(o.ranges) == 2) && o.Limits != "" && o.low != -o.high {
		return usage(fmt.Sprintf("write --limits %g:%g", -max(o.high, -o.low), max(o.high, -o.low)), "--limits %s: colours have 0 in the middle", o.Limits)
	}
	switch {
	case len(o.ranges) > 2:
		return usage("", "%d ranges: a picture has one, for curves, or two, for a heat map", len(o.ranges))
	case len(o.ranges) == 2 && o.ranges[0].name == o.ranges[1].name:
		return usage("", "--range %s is given twice", o.ranges[0].name)
	case len(o.ranges) == 1 && o.Kind != "auto" && o.Kind != "line", len(o.ranges) == 2 && o.Kind != "auto" && o.Kind != "heat":
		return usage("one range gives curves, two give a heat map, none draws the target's elements", "--kind %s does not go with %d --range", o.Kind, len(o.ranges))
	}
	return nil
}
