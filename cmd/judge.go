package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"nabla/cmd/difference"
	"nabla/expr"
	"nabla/expr/referee"
	"nabla/output"
	"nabla/tape"
	"nabla/tape/tensor"
)

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
	r.Own = "govaluate has no " + un.What
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
			err = o.source(&subject{r, &asked, c, prefix, path, x.Data, x.Shape, o.watched(f), leaf, target.Value, 0})
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
	plain := map[string]bool{} // bound by =
	expr.Walk(p, func(n any) bool {
		switch n := n.(type) {
		case *expr.NoGradient, *expr.Reset, *expr.Watch:
			found = true
		case *expr.Bind:
			found = found || n.Var || n.Op != expr.Assign && !plain[n.Targets[0].Name]
			for _, t := range n.Targets {
				plain[t.Name] = true
			}
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
func ownValues(q *tape.Question, path string) (x *tensor.Tensor, f func([]float64) ([]float64, error), ok bool) {
	at := -1
	for i, in := range q.Inputs {
		in.Value.Leaves(in.Name, func(p string, leaf *tensor.Value) {
			if p == path && leaf.Kind == tensor.KindTensor && leaf.Tensor.DType.IsFloat() {
				at, x = i, leaf.Tensor
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
	single := false // operations of float32 round to it, also on the way to a float64
	for _, v := range vars {
		single = single || isSingle(v)
	}
	compareTarget(r, cmp.Or(prefix, "value"), target.Value, value, noise, single)
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
		if err := o.source(&subject{r, q, c, prefix, path, x.Data, x.Shape, o.watched(f), leaves[i], target.Value, noise}); err != nil {
			return err
		}
	}
	return nil
}

// A subject is one target as a function of one source, and what the tape says of it.
type subject struct {
	r            *checked // takes the comparisons
	q            *tape.Question
	c            *checkCase
	prefix, path string // the target, where several are asked for, and the source
	x            []float64
	shape        tensor.Shape // of the source
	f            func([]float64) ([]float64, error)
	grad, value  *tensor.Value
	noise        float64 // of a value that f computes
}

// none reports whether the tape has no derivative.
func (s *subject) none() bool { return s.grad.Kind == tensor.KindNone }

// at is element i of the derivative.
func (s *subject) at(i int) float64 {
	if s.none() {
		return 0
	}
	return s.grad.Tensor.Data[i]
}

// outputs is how many elements the target has.
func (s *subject) outputs() int {
	if s.value.Kind == tensor.KindTensor {
		return s.value.Tensor.Size()
	}
	return 1
}

// sum is the function whose derivative is compared where the target has elements.
func (s *subject) sum(x []float64) (float64, error) {
	y, err := s.f(x)
	total := 0.0
	for _, v := range y {
		total += v
	}
	return total, err
}

// by is what the derivative by the source is called.
func (s *subject) by() string { return "d" + s.prefix + "/d" + s.path }

// add compares a derivative, ad, with an estimate.
func (s *subject) add(what string, ad float64, e difference.Estimate) {
	n := judged(ad, e, s.c)
	n.What, n.Source = what, s.by()
	if s.none() && n.Why == "" {
		n.Why = strings.TrimSuffix("none: "+s.grad.Why, ": ")
	}
	s.r.List = append(s.r.List, n)
}

// source compares the derivative by one source.
func (o *checkOptions) source(s *subject) error {
	if !s.none() && s.grad.Tensor.DType == tensor.Float32 { // the tape's derivatives are rounded to float32
		c := *s.c
		c.rtol = max(c.rtol, 0x1p-22)
		s.c = &c
	}
	n, outputs := len(s.x), s.outputs()
	set := difference.Settings{Noise: s.noise * float64(outputs)}
	switch {
	case n == 0:
		return nil
	case s.c.order == 2:
		return o.second(s, set)
	case outputs > 1 && outputs <= maxOutputs && n*outputs <= maxElements*4 && o.Directions == 0 && s.value.Kind == tensor.KindTensor:
		return o.elements(s)
	case n <= maxElements && o.Directions == 0:
		for i, e := range set.Gradient(s.sum, s.x) {
			s.add(s.by()+subscript(unravel(i, s.shape)), s.at(i), e)
		}
	default:
		rng := rand.New(rand.NewPCG(o.Seed, uint64(n)))
		for k := range o.directions() {
			v := direction(rng, n)
			ad := 0.0
			for i := range v {
				ad = math.FMA(v[i], s.at(i), ad)
			}
			s.add(fmt.Sprintf("%s·v%d", s.by(), k+1), ad, set.Along(s.sum, s.x, v))
		}
	}
	return nil
}

// elements compares every element of the target by every element of the source.
func (o *checkOptions) elements(s *subject) error {
	asked := *s.q
	asked.Op, asked.Wrt = "jacobian", []string{s.path}
	a, err := asked.Answer()
	if err != nil {
		return err
	}
	var jac *tensor.Tensor // nil: it does not depend on the source
	a.Targets[0].Payload.Leaves("", func(_ string, leaf *tensor.Value) {
		if leaf.Kind == tensor.KindTensor {
			jac = leaf.Tensor
		}
	})
	rows, err := difference.Settings{}.Jacobian(s.f, s.x)
	if err != nil {
		return err
	}
	for i, row := range rows {
		for j, e := range row {
			ad := 0.0
			if jac != nil {
				ad = jac.Data[i*len(row)+j]
			}
			s.add(cmp.Or(s.prefix, "d")+subscript(unravel(i, s.value.Tensor.Shape))+"/d"+s.path+subscript(unravel(j, s.shape)), ad, e)
		}
	}
	return nil
}

// directions is how many random directions a large source is compared along.
func (o *checkOptions) directions() int { return cmp.Or(o.Directions, 8) }

// second compares second derivatives: the curvature along every axis and pair of axes of
// a small source, along random directions of a large one.
func (o *checkOptions) second(s *subject, set difference.Settings) error {
	const small = 6
	shape, path, n := s.shape, s.path, len(s.x)
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
				name := "d²/d" + path + subscript(unravel(i, shape)) + "²"
				if j != i {
					name = "along " + path + subscript(unravel(i, shape)) + "+" + path + subscript(unravel(j, shape))
				}
				names = append(names, name)
			}
		}
	} else {
		rng := rand.New(rand.NewPCG(o.Seed, uint64(n)))
		for i := range o.directions() {
			list = append(list, direction(rng, n))
			names = append(names, fmt.Sprintf("v%d·H·v%d by %s", i+1, i+1, path))
		}
	}
	for i, v := range list {
		asked := *s.q
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
		e := judged(ad, set.Curvature(s.sum, s.x, v), s.c)
		e.What, e.Source = names[i], "d²/d"+path+"²"
		s.r.List = append(s.r.List, e)
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
	allowed := c.atol + c.rtol*largest(ad, e.Value)
	n.Tol = allowed + 10*e.Err
	switch {
	case e.Kink:
		n.Verdict = kink
		n.Why = fmt.Sprintf("from the left %.6g, from the right %.6g", e.OneSided[0], e.OneSided[1])
	case math.IsNaN(e.Value) || math.IsInf(e.Err, 0) || math.IsNaN(e.Err):
		n.Verdict, n.Why = inconclusive, "no difference could be taken"
		if !math.IsNaN(e.Value) {
			n.Why = "the differences do not settle: a jump, or a pole?"
		}
	case math.IsInf(ad, 0) && 10*e.Err > c.atol+c.rtol*math.Abs(e.Value):
		n.Verdict, n.Why = inconclusive, "the differences do not settle: a vertical tangent?"
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
