package cmd

import (
	"cmp"
	"fmt"
	"slices"

	"nabla/output/plot"
	"nabla/tape"
	"nabla/tape/tensor"
)

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
		return nil, usage("--range NAME=LOW:HIGH draws a curve", "the target is a single number: %s", number(t.Data[0], 6))
	case kind == "line":
		names := make([]string, len(all))
		for i := range names {
			names[i] = cmp.Or(a.Targets[i].Name, title)
		}
		return o.vectors(all, names)
	case len(all) > 1:
		return nil, usage("--of names one", "%d targets: a heat map shows one", len(all))
	case rank > 4:
		return nil, usage("pick some axes by indexing, or reshape", "the target has %d axes: a picture has room for 4", rank)
	}
	return o.heat(t, title, kind)
}

// vectors draws the elements of vectors as curves over their indices.
func (o *plotOptions) vectors(all []*tensor.Tensor, names []string) (plot.Picture, error) {
	p := o.lines("index", nil)
	p.Indices = true
	for i, x := range all {
		if len(x.Shape) != 1 || len(x.Data) != len(all[0].Data) {
			return nil, usage("", "--kind line draws vectors of one length; the target is %v", x.Shape)
		}
		s := plot.Series{Name: names[i], Dashed: i > 0, Ink: i}
		for _, y := range x.Data {
			s.Y = append(s.Y, o.upward(y))
		}
		if i := slices.IndexFunc(x.Data, func(y float64) bool { return y <= 0 }); o.LogY && i >= 0 {
			o.note(o.Quiet, []string{fmt.Sprintf("%s is %.6g at %d: a logarithmic axis leaves out what is not positive", s.Name, x.Data[i], i)})
		} else if i := slices.IndexFunc(x.Data, func(y float64) bool { return y-y != 0 }); i >= 0 {
			o.note(o.Quiet, []string{fmt.Sprintf("%s is %s at %d: what is not finite is left out", s.Name, number(x.Data[i], 6), i)})
		}
		p.Series = append(p.Series, s)
	}
	for i := range all[0].Data {
		p.X = append(p.X, float64(i))
	}
	return p, nil
}

// heat draws the elements of an array of up to four axes in colours.
func (o *plotOptions) heat(t *tensor.Tensor, title, kind string) (plot.Picture, error) {
	if err := o.coloured(); err != nil {
		return nil, err
	}
	var h *plot.Heat
	rank := len(t.Shape)
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

// coloured refuses --log-y for what is drawn in colours.
func (o *plotOptions) coloured() error {
	if o.LogY {
		return usage("colours have 0 in the middle", "--log-y is for curves")
	}
	return nil
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
