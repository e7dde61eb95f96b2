package cmd

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"nabla/cmd/input"
	"nabla/expr"
	"nabla/tape/tensor"
)

// A span is what --range says: the values of a variable, n of them, from low to high.
type span struct {
	name      string
	low, high float64
	n         int // 0: as many as the picture shows
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
			return r, usage(hint, "--range %s: N is a whole number from 2 to %d", text, int(most))
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

// findRange gives the one name without a value a range, if there is none.
func (o *plotOptions) findRange(prog *expr.Program, doc *input.Document) {
	if len(o.ranges) > 0 || prog == nil || o.Kind == "heat" || o.Kind == "patches" {
		return
	}
	need := new(needs)
	need.survey(prog)
	var free []string
	for _, name := range need.inputs {
		if !doc.Has(name) {
			free = append(free, name)
		}
	}
	if len(free) != 1 || slices.Contains(expr.Callees(prog), free[0]) {
		return
	}
	r := span{name: free[0], low: -5, high: 5}
	if o.LogX {
		r.low, r.high = 0.01, 100
	}
	o.ranges = []span{r}
	if !o.Quiet {
		fmt.Fprintf(o.err, "nabla: note: %s from %g to %g; --range %s=LOW:HIGH sets it\n", r.name, r.low, r.high, r.name)
	}
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
