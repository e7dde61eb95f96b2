package cmd

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"nabla/expr"
	"nabla/output/plot"
	"nabla/tape"
	"nabla/tape/tensor"
)

// points are the values of a range, both ends among them; evenly spaced, or their logarithms are.
func (r *span) points(n int, log bool) []float64 {
	if r.n > 0 {
		n = r.n
	}
	x := make([]float64, n)
	for i := range x {
		f := float64(i) / float64(n-1)
		if x[i] = r.low*(1-f) + r.high*f; log {
			x[i] = math.Pow(r.low, 1-f) * math.Pow(r.high, f)
		}
	}
	return x
}

// along is where x stands on the horizontal axis.
func (o *plotOptions) along(x float64) float64 {
	if o.LogX {
		return math.Log10(x)
	}
	return x
}

// upward is where y stands on the vertical axis; NaN if a logarithmic one has no place for it.
func (o *plotOptions) upward(y float64) float64 {
	switch {
	case !o.LogY:
		return y
	case y > 0:
		return math.Log10(y)
	}
	return math.NaN()
}

// lines is an empty picture of curves over these points.
func (o *plotOptions) lines(label string, xs []float64) *plot.Lines {
	p := &plot.Lines{XLabel: label, XLog: o.LogX, YLog: o.LogY, YLow: o.low, YHigh: o.high}
	if o.Limits != "" {
		p.YLow, p.YHigh = o.upward(o.low), o.upward(o.high)
	}
	for _, x := range xs {
		p.X = append(p.X, o.along(x))
	}
	return p
}

// at sets an input of a question.
func at(q *tape.Question, name string, x float64) {
	for i := range q.Inputs {
		if q.Inputs[i].Name == name {
			q.Inputs[i].Value = tensor.Of(tensor.Scalar(x))
		}
	}
}

// curves asks for the target, and its derivatives, at each point of a range.
func (o *plotOptions) curves(q *tape.Question, orders []int) (plot.Picture, error) {
	r := &o.ranges[0]
	xs := r.points(401, o.LogX)
	p := o.lines(r.name, xs)
	q.Wrt = []string{r.name}
	seen := map[string]bool{}
	var groups []*curveGroup
	for _, order := range orders {
		g, err := o.group(q, order, xs, p, seen)
		if err != nil {
			return nil, err
		}
		groups = append(groups, g)
	}
	for _, g := range groups {
		if err := o.jumps(g, p); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// A curveGroup is the curves of one order, and how to ask for more points of them.
type curveGroup struct {
	ask      tape.Question
	prepared *tape.Prepared
	order    int
	from, to int    // among the series
	why      string // where there first is none, and why; ""
	below    string // where one is first not positive, if the axis is logarithmic; ""
}

// group adds the curves of one order to a picture: what is asked for, at each of xs.
func (o *plotOptions) group(q *tape.Question, order int, xs []float64, p *plot.Lines, seen map[string]bool) (*curveGroup, error) {
	name := o.ranges[0].name
	g := &curveGroup{ask: o.of(q, order), order: order, from: len(p.Series)}
	g.prepared = g.ask.Prepare()
	for i, x := range xs {
		at(&g.ask, name, x)
		values, reason, err := o.ordinates(&g.ask, g.prepared, order, seen)
		if err != nil {
			return nil, err
		}
		if reason != "" && g.why == "" {
			g.why = fmt.Sprintf(" at %s = %.6g: %s", name, x, reason)
		}
		if i == 0 {
			if err := g.begin(values, name, len(xs), p); err != nil {
				return nil, err
			}
		}
		for k := range min(len(values), len(p.Series)-g.from) {
			s, v := &p.Series[g.from+k], values[k].v
			if s.Y[i] = o.upward(v); o.LogY && v <= 0 && g.below == "" {
				g.below = fmt.Sprintf("%s is %.6g at %s = %.6g", s.Name, v, name, x)
			}
		}
	}
	g.to = len(p.Series)
	if g.below != "" && !o.Quiet {
		fmt.Fprintf(o.err, "nabla: note: %s: a logarithmic axis leaves out what is not positive\n", g.below)
	}
	if g.why != "" && !o.Quiet {
		fmt.Fprintf(o.err, "nabla: note: %s is none%s\n", seriesName(&g.ask, order, name, "y"), g.why)
	}
	g.nameEmpty(p)
	return g, nil
}

// begin adds a curve of n points, none of which is known, for each of the values at the first.
func (g *curveGroup) begin(values []ordinate, name string, n int, p *plot.Lines) error {
	const most = 8 // curves of one order that can be told apart
	if len(values) > most {
		return usage("pick some by indexing", "the target has %d elements: %d curves are too many to tell apart", len(values), len(values))
	}
	for k := range values {
		s := plot.Series{Name: seriesName(&g.ask, g.order, name, values[k].name), Dashed: g.order > 0, Ink: g.from, Y: make([]float64, n)}
		if len(values) > 1 { // a curve and its derivatives have one colour
			s.Ink = k
		}
		for j := range s.Y {
			s.Y[j] = math.NaN()
		}
		p.Series = append(p.Series, s)
	}
	return nil
}

// nameEmpty says behind the names of curves without a point why they have none.
func (g *curveGroup) nameEmpty(p *plot.Lines) {
	for k := g.from; k < g.to; k++ {
		s := &p.Series[k]
		if slices.ContainsFunc(s.Y, finite) {
			continue
		}
		switch {
		case g.why != "":
			s.Name += " (none)"
		case g.below != "":
			s.Name += " (not positive)"
		default:
			s.Name += " (not finite)"
		}
	}
}

func finite(y float64) bool { return !math.IsNaN(y) && !math.IsInf(y, 0) }

// jumps finds where curves jump, or pass a pole, between two points: where the larger half
// of a large step is bisected and does not become small. No line is drawn across. Where a curve
// begins or ends between two points, it is drawn up to there.
func (o *plotOptions) jumps(g *curveGroup, p *plot.Lines) error {
	const most = 40 // steps to look at; a curve with more of them swings faster than it is sampled
	low, high := p.Limits()
	large := 0.05 * (high - low)
	for k := range g.to - g.from {
		s := &p.Series[g.from+k]
		wide := func(i int) bool { return math.Abs(s.Y[i+1]-s.Y[i]) > large }
		ends := func(i int) bool { return math.IsNaN(s.Y[i]) != math.IsNaN(s.Y[i+1]) }
		steps := 0
		for i := range len(s.Y) - 1 {
			if wide(i) {
				steps++
			}
		}
		y := func(x float64) (float64, error) { return o.one(g, k, x) }
		for i := range len(s.Y) - 1 {
			if !ends(i) && (!wide(i) || steps > most) {
				continue
			}
			j, found, err := plot.Jump{}, true, error(nil)
			switch from, to := s.Y[i], s.Y[i+1]; {
			case math.IsNaN(to):
				j, err = border(y, p.X[i], p.X[i+1], from)
			case math.IsNaN(from):
				j, err = border(y, p.X[i+1], p.X[i], to)
				j.From, j.To = j.To, j.From
			default:
				j, found, err = bisect(y, p.X[i], p.X[i+1], from, to, large)
			}
			j.Behind = i
			if err != nil {
				return err
			}
			if !found {
				continue
			}
			if j.From < low || j.From > high {
				j.Before, err = approach(y, p.X[i], j.X, low, high)
			}
			if err == nil && (j.To < low || j.To > high) {
				j.After, err = approach(y, p.X[i+1], j.X, low, high)
				slices.Reverse(j.After)
			}
			if err != nil {
				return err
			}
			s.Jumps = append(s.Jumps, j)
		}
	}
	return nil
}

// one is the height of curve k of a group at a place of the horizontal axis; NaN if there is none.
func (o *plotOptions) one(g *curveGroup, k int, x float64) (float64, error) {
	quiet := *o
	quiet.Quiet = true
	if o.LogX {
		x = math.Pow(10, x)
	}
	at(&g.ask, o.ranges[0].name, x)
	values, _, err := quiet.ordinates(&g.ask, g.prepared, g.order, nil)
	if err != nil || k >= len(values) {
		return math.NaN(), err
	}
	return o.upward(values[k].v), nil
}

// bisect looks for a jump of more than large between the points x and end, of heights from and to.
func bisect(height func(float64) (float64, error), x, end, from, to, large float64) (j plot.Jump, found bool, err error) {
	j = plot.Jump{X: x, From: from, To: to}
	for !(math.Abs(j.To-j.From) <= large) { // both may be the same infinity
		middle := j.X + (end-j.X)/2
		if middle <= j.X || middle >= end { // neighbours
			return j, true, nil
		}
		y, err := height(middle)
		if err != nil {
			return j, false, err
		}
		if math.Abs(y-j.From) >= math.Abs(j.To-y) || y != y {
			end, j.To = middle, y
		} else {
			j.X, j.From = middle, y
		}
	}
	return j, false, nil
}

// border looks for the place between x, of height y, and end, of none, where the heights end.
func border(height func(float64) (float64, error), x, end, y float64) (plot.Jump, error) {
	const halvings = 60 // of a number to its neighbour, unless both are near 0
	for range halvings {
		middle := x + (end-x)/2
		h, err := height(middle)
		if err != nil {
			return plot.Jump{}, err
		}
		if math.IsNaN(h) {
			end = middle
		} else {
			x, y = middle, h
		}
	}
	return plot.Jump{X: x, From: y, To: math.NaN()}, nil
}

// approach takes more and more points from x towards a pole until the curve has left the
// picture.
func approach(height func(float64) (float64, error), x, pole, low, high float64) (way []plot.Point, err error) {
	const halvings = 24
	for range halvings {
		x = pole + (x-pole)/2
		y, err := height(x)
		if err != nil || x == pole || math.IsNaN(y) || math.IsInf(y, 0) {
			return way, err
		}
		way = append(way, plot.Point{X: x, Y: y})
		if y < low || y > high {
			break
		}
	}
	return way, nil
}

// An ordinate is the height of one curve at one point.
type ordinate struct {
	name string
	v    float64
}

// of is the question for the target, or its derivative of an order, at any point.
func (o *plotOptions) of(q *tape.Question, order int) tape.Question {
	ask := *q
	ask.Inputs = slices.Clone(q.Inputs)
	switch {
	case order == 1: // along the variable, so that targets need not be scalars
		ask.Op = "jvp"
		ask.With = &tensor.Value{Kind: tensor.KindRecord, Fields: []tensor.Field{{Name: q.Wrt[0], Value: tensor.Of(tensor.Scalar(1))}}}
	case order > 1:
		ask.Op, ask.Order = "grad", order
	}
	return ask
}

// ordinates are the elements of the targets, or of their derivatives, at one point.
func (o *plotOptions) ordinates(q *tape.Question, p *tape.Prepared, order int, seen map[string]bool) (all []ordinate, why string, err error) {
	a, err := p.Answer(q.Inputs)
	if e, ok := tape.AsError(err); ok { // the derivative is a jvp, which nobody asked for
		e.At.Msg = strings.Replace(e.At.Msg, "a jvp wants one tensor as its target", "a curve needs one tensor", 1)
	}
	if err != nil {
		return nil, "", asData(err, q)
	}
	for i, w := range warnings(a.Warnings, q.Prog) {
		key := fmt.Sprint(w.Op, w.Line, w.Column)
		if !o.Quiet && !seen[key] {
			seen[key] = true
			x := q.Inputs[slices.IndexFunc(q.Inputs, func(in tape.Input) bool { return in.Name == q.Wrt[0] })].Value.Tensor.Data[0]
			fmt.Fprintf(o.err, "nabla: warning: at %s = %.6g: %s\n", q.Wrt[0], x, warningText(&w, a.Warnings[i].Hint))
		}
	}
	for i, t := range a.Targets {
		v := t.Value
		if order > 0 {
			if v = t.Payload; order > 1 && v.Kind == tensor.KindRecord {
				v = v.Fields[0].Value
			}
		}
		name := t.Name
		if name == "" {
			name = "y"
			if len(a.Targets) > 1 {
				name += strconv.Itoa(i + 1)
			}
		}
		if v.Kind == tensor.KindNone {
			why = o.reason(q, i)
			n := 1
			if t.Value.Kind == tensor.KindTensor {
				n = len(t.Value.Tensor.Data)
			}
			for k := range n {
				all = append(all, ordinate{element(name, k, n), math.NaN()})
			}
			continue
		}
		var leaves []*tensor.Value
		var paths []string
		v.Leaves(name, func(path string, v *tensor.Value) { leaves, paths = append(leaves, v), append(paths, path) })
		for l, leaf := range leaves {
			if leaf.Kind != tensor.KindTensor {
				continue
			}
			for k, x := range leaf.Tensor.Data {
				all = append(all, ordinate{element(paths[l], k, len(leaf.Tensor.Data)), x})
			}
		}
	}
	return all, why, nil
}

// reason says why the i-th target has no derivative: the gradient knows it best.
func (o *plotOptions) reason(q *tape.Question, i int) string {
	ask := *q
	ask.Op, ask.With, ask.Order = "grad", nil, 1
	a, err := ask.Answer()
	if err != nil || len(a.Targets[i].Unconnected) == 0 {
		return "the target does not depend on it"
	}
	return a.Targets[i].Unconnected[0].Why
}

func element(name string, k, n int) string {
	if n == 1 {
		return name
	}
	return name + "[" + strconv.Itoa(k) + "]"
}

// oneLine is the text of a program without its line ends.
func oneLine(p *expr.Program) string { return strings.Join(strings.Fields(p.Text), " ") }

// seriesName says what a curve is: y = sin(x), dy/dx, d²y/dx².
func seriesName(q *tape.Question, order int, x, y string) string {
	if order == 0 {
		if y == "y" && len(q.Prog.Stmts) == 1 {
			return "y = " + oneLine(q.Prog)
		}
		return y
	}
	power := ""
	if order > 1 {
		power = string([]rune("⁰¹²³⁴⁵⁶⁷⁸⁹")[order])
	}
	return "d" + power + y + "/d" + x + power
}

// surface asks for a scalar target at each point of two ranges.
func (o *plotOptions) surface(q *tape.Question) (plot.Picture, error) {
	if err := o.coloured(); err != nil {
		return nil, err
	}
	n := 101
	if o.Format == "text" {
		n = 35
	}
	xs, ys := o.ranges[0].points(n, false), o.ranges[1].points(n, false)
	h := &plot.Heat{Title: oneLine(q.Prog), Rows: len(ys), Columns: len(xs), Limit: o.high,
		XLabel: o.ranges[0].name, YLabel: o.ranges[1].name,
		XRange: [2]float64{xs[0], xs[len(xs)-1]}, YRange: [2]float64{ys[0], ys[len(ys)-1]}}
	if len(xs)*len(ys) > 1e7 {
		return nil, usage("", "%d × %d points are too many for a picture", len(xs), len(ys))
	}
	seen := map[string]bool{}
	q.Wrt = []string{o.ranges[0].name}
	ask := o.of(q, 0)
	prepared := ask.Prepare()
	for i := range ys {
		at(&ask, o.ranges[1].name, ys[len(ys)-1-i])
		for _, x := range xs {
			at(&ask, o.ranges[0].name, x)
			v, _, err := o.ordinates(&ask, prepared, 0, seen)
			if err != nil {
				return nil, err
			}
			if len(v) != 1 {
				return nil, usage("pick one by indexing", "the target has %d elements: over two ranges it is a scalar", len(v))
			}
			h.Data = append(h.Data, v[0].v)
		}
	}
	return h, nil
}
