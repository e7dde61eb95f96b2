package tape

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"nabla/expr"
	"nabla/tape/tensor"
)

// argumentHint is which argument of an operation was meant by a name: one of these, perhaps
// by PyTorch's or TensorFlow's word for it.
func argumentHint(name string, have []string) string {
	theirs := map[string]string{"dim": "axis", "dims": "axis", "reduction_indices": "axis", "keepdim": "keepdims", "keep_dims": "keepdims", "correction": "ddof", "epsilon": "eps", "negative_slope": "alpha", "values": "xs", "input": "x", "a": "x", "a_min": "lo", "min": "lo", "clip_value_min": "lo", "a_max": "hi", "max": "hi", "clip_value_max": "hi", "offset": "k", "constant_values": "value", "padding_value": "value", "pad_width": "width", "paddings": "width", "steps": "num", "delta": "dx", "p": "ord", "num_segments": "n", "segment_ids": "ids", "data": "x",
		"depth": "n", "num_classes": "n", "clip_norm": "limit", "max_norm": "limit", "perm": "axes", "multiples": "reps", "num_or_size_splits": "parts", "params": "x", "input_tensor": "x", "tensor": "x", "shifts": "shift"}
	if ours := theirs[name]; ours != "" && slices.Contains(have, ours) {
		return "did you mean " + ours + "?"
	}
	switch name {
	case "transpose_a", "transpose_b", "adjoint_a", "adjoint_b":
		return "a transpose is written x.T"
	case "name", "out", "inplace", "requires_grad", "device":
		return "leave it out"
	case "dtype":
		return "convert the result, as float32(…) and int64(…) do"
	}
	return expr.DidYouMean(name, have)
}

// A call gives an operation's Call its arguments by position in the signature.
type call struct {
	lo   *lowering
	t    *Tape
	op   *Op
	at   *expr.Call
	vals []value // nil where left out
	rest []value // of a variadic parameter
}

// applyOp calls an operation of the table.
func (lo *lowering) applyOp(op *Op, args []value, names []string, at *expr.Call) value {
	params := op.signature()
	if op.elementwise() && names == nil || op.elementwise() && len(args) == op.arity() && allEmpty(names) {
		if len(args) != op.arity() {
			lo.arity(at, op.Name, op.arity(), len(args))
		}
		var r [3]Ref
		for i, a := range args {
			r[i] = lo.ref(a, lo.argExpr(at, i))
		}
		lo.mark(at, at.Mark())
		return lo.t.Apply(op, r[:len(args)]...)
	}
	c := &call{lo: lo, t: lo.t, op: op, at: at, vals: make([]value, len(params))}
	c.place(params, args, names)
	if d := c.numbers(params); d != lo.t.DType {
		was := lo.t.among(d)
		defer func() { lo.t.DType = was }()
	}
	c.complete(params, len(args))
	if op.Seq {
		c.oneList(args, names)
	} else {
		c.ofShape(params)
	}
	lo.mark(at, at.Mark())
	variant := lo.t.variant(op)
	switch {
	case op.Call != nil && op.Body != "":
		return op.Call(c)
	case variant != nil && variant.Body != "":
		return lo.runBody(variant, c)
	case op.elementwise():
		var r [3]Ref
		for i := range c.vals {
			r[i] = c.ref(i)
		}
		return lo.t.Apply(op, r[:len(c.vals)]...)
	case op.Call == nil:
		return lo.runBody(op, c)
	}
	return op.Call(c)
}

// place puts arguments where their names or their positions say.
func (c *call) place(params []param, args []value, names []string) {
	lo, at := c.lo, c.at
	next := 0
	for i, a := range args {
		switch {
		case names != nil && names[i] != "":
			k := slices.IndexFunc(params, func(p param) bool { return p.name == names[i] })
			if k < 0 {
				var have []string
				for _, p := range params {
					have = append(have, p.name)
				}
				m := &Misuse{Kind: "type", Msg: c.op.Name + " has no argument " + names[i], Hint: argumentHint(names[i], have), Note: c.op.Signature(), Pos: expr.NoPos}
				lo.failWith(spanOf(at.Args[i].NamePos, len(names[i])), m)
			}
			if c.vals[k] != nil || params[k].variadic && c.rest != nil {
				lo.advise(spanOf(at.Args[i].NamePos, len(names[i])), "type", "leave one of them out", "%s is given twice", names[i])
			}
			if params[k].variadic { // zeros(shape=(3, 4))
				c.rest = append(c.rest, a)
			} else {
				c.vals[k] = a
			}
		case next < len(params) && params[next].variadic:
			c.rest = append(c.rest, a)
		case next < len(params):
			c.vals[next] = a
			next++
		case slices.ContainsFunc(params, func(p param) bool { return p.def != nil }):
			end := lo.argExpr(at, len(params)-1).Where().End
			lo.fail(&expr.Name{Span: expr.Span{Start: end, End: at.Where().End - 1}}, "type", "%s takes at most %d arguments, %d were given: %s", c.op.Name, len(params), len(args), c.op.Signature())
		default:
			lo.arity(at, c.op.Name, len(params), len(args))
		}
	}
}

// numbers is the dtype of the numbers that the operation adds to its arguments: that of these,
// float64 if one of them is; what it was where none is a float.
func (c *call) numbers(params []param) tensor.DType {
	t, d, some := c.t, tensor.Float32, false
	look := func(v value) {
		if r, ok := v.(Ref); ok && t.ins[r].dtype.IsFloat() {
			d, some = min(d, t.ins[r].dtype), true
		}
	}
	for i, v := range c.vals {
		if params[i].counts {
			continue
		}
		if list, ok := v.(*tuple); ok {
			for _, x := range list.elems {
				look(x)
			}
		}
		look(v)
	}
	for _, v := range c.rest {
		look(v)
	}
	if !some {
		return t.DType
	}
	if d == tensor.Float32 {
		for i, v := range c.vals {
			if r, ok := v.(Ref); ok && t.ins[r].dtype == tensor.Float64 {
				if n, ok := t.constant(r); ok {
					c.vals[i] = t.constOf(n, d)
				}
			}
		}
	}
	return d
}

// complete gives the parameters that are left out, where given arguments stand, their defaults.
func (c *call) complete(params []param, given int) {
	lo := c.lo
	for i, p := range params {
		if c.vals[i] != nil || p.variadic {
			continue
		}
		if p.def == nil {
			if !slices.ContainsFunc(params, func(p param) bool { return p.def != nil || p.variadic }) {
				lo.arity(c.at, c.op.Name, len(params), given)
			}
			lo.fail(c.at, "type", "%s needs %s: %s", c.op.Name, p.name, c.op.Signature())
		}
		lo.body++
		c.vals[i] = lo.eval(p.def)
		lo.body--
	}
}

// allEmpty reports whether no argument has a name.
func allEmpty(names []string) bool {
	for _, n := range names {
		if n != "" {
			return false
		}
	}
	return true
}

// written runs the body of an operation whose arguments its Call has looked at, or that of
// the conventions.
func (c *call) written() value {
	op := c.op
	if v := c.t.variant(op); v != nil && v.Body != "" {
		op = v
	}
	return c.lo.runBody(op, c)
}

// runBody calls an operation that is written in nabla's own language.
func (lo *lowering) runBody(op *Op, c *call) value {
	saved := lo.scope
	lo.scope = &scope{names: map[string]*slot{}}
	for i, p := range op.signature() {
		lo.scope.names[p.name] = &slot{val: c.vals[i]}
	}
	if lo.body == 0 {
		defer func() { // what is wrong inside is told of what the user called
			p := recover()
			if m, ok := p.(*Misuse); ok && !strings.Contains(m.Msg, op.Name) {
				if shapes, _, ok := strings.Cut(m.Msg, apart); ok {
					m.Msg = shapes + apart + op.Name
				} else {
					m.Msg = op.Name + ": " + m.Msg
				}
			}
			if p != nil {
				panic(p)
			}
		}()
	}
	lo.body++
	off := lo.off
	lo.off = nil
	from := len(lo.t.ins)
	v := lo.block(op.body().Stmts)
	if op.Joins {
		for i := range lo.t.ins[from:] {
			lo.t.ins[from+i].flags |= flagJoined
		}
	}
	lo.off = off
	lo.body--
	lo.scope = saved
	if r, ok := v.(Ref); ok && op.Kinks != nil {
		var args []Ref
		for i := range c.vals {
			args = append(args, c.ref(i))
		}
		lo.t.watchBody(r, op, args)
	}
	return v
}

// body parses Body on first use.
func (op *Op) body() *expr.Program {
	rulesMu.Lock()
	defer rulesMu.Unlock()
	if op.prog == nil {
		p, err := expr.Parse(op.Name, op.Body)
		if err != nil {
			panic("body of " + op.Name + ": " + err.Error())
		}
		op.prog = p
	}
	return op.prog
}

// argExpr is where argument i of a call stands, or else the call itself, for errors.
func (lo *lowering) argExpr(at *expr.Call, i int) expr.Expr {
	if at != nil && i < len(at.Args) {
		return at.Args[i].Value
	}
	if at != nil {
		return at
	}
	return &expr.Name{}
}

// given reports whether argument i was given and is not None.
func (c *call) given(i int) bool {
	_, isNone := c.vals[i].(*none)
	return c.vals[i] != nil && !isNone
}

// where is the text of argument i, or the call.
func (c *call) where(i int) expr.Expr {
	params := c.op.signature()
	name, pos := params[i].name, 0
	if slices.ContainsFunc(params[:i], func(p param) bool { return p.variadic }) {
		pos = i + 1 // by name alone
	}
	for _, a := range c.at.Args {
		if a.Name == name || a.Name == "" && pos == i {
			return a.Value
		}
		if a.Name == "" {
			pos++
		}
	}
	return c.at
}

func (c *call) ref(i int) Ref {
	r := c.lo.ref(c.vals[i], c.where(i))
	c.lo.mark(c.at, c.at.Mark())
	return r
}

// one is an argument of one number, without axes.
func (c *call) one(i int) Ref {
	r := c.ref(i)
	c.lo.isOne(r, c.where(i))
	return c.t.reshape(r, tensor.Shape{})
}

// number is an argument whose products and sums are numbers: bools are 0 and 1.
func (c *call) number(i int) Ref { return c.t.asNumber(c.ref(i)) }

// ofShape makes a tensor of a shape where the operation is one of a tensor: prod(x.shape).
func (c *call) ofShape(params []param) {
	list, ok := c.first(params).(*tuple)
	if !ok || len(list.elems) == 0 {
		return
	}
	sizes := make([]Ref, len(list.elems))
	for i, v := range list.elems {
		r, ok := v.(Ref)
		if !ok || c.t.ins[r].dtype != tensor.Int64 {
			return
		}
		if _, known := c.t.constant(r); !known {
			return
		}
		sizes[i] = r
	}
	c.vals[0] = c.t.stack(sizes, 0)
}

// first is the tensor x that an operation is of, where it begins with one.
func (c *call) first(params []param) value {
	if len(params) == 0 || params[0].name != "x" || params[0].variadic {
		return nil
	}
	return c.vals[0]
}

// oneList refuses concat(a, b), where tensors stand one by one instead of in a list.
func (c *call) oneList(args []value, names []string) {
	if len(args) < 2 || !allEmpty(names) {
		return
	}
	x, ok1 := args[0].(Ref)
	y, ok2 := args[1].(Ref)
	if ok1 && ok2 && (len(c.t.Shape(x)) == 0 || len(c.t.Shape(y)) > 0) {
		c.advise("type", "write "+c.op.Name+"([a, b])", "%s takes its tensors in a list", c.op.Name)
	}
}

// refs takes a tuple, a list or the arguments themselves: concat([a, b]), concat((a, b)).
func (c *call) refs(v value, e expr.Expr) []Ref {
	switch v := v.(type) {
	case *tuple:
		out := make([]Ref, len(v.elems))
		for i, x := range v.elems {
			out[i] = c.lo.ref(x, e)
		}
		return out
	case Ref:
		if s := c.t.Shape(v); len(s) > 0 {
			var out []Ref
			for i := range s[0] {
				out = append(out, c.t.pick(v, i))
			}
			return out
		}
	}
	c.lo.fail(e, "type", "a list of tensors is needed here, this is %s", describe(v))
	return nil
}

// num is a known number.
func (c *call) num(i int) float64 { return c.lo.number(c.vals[i], c.where(i)) }

// int is a known whole number.
func (c *call) int(i int) int { return c.whole(c.num(i), c.where(i)) }

// whole demands that v, which stands at e, is a whole number.
func (c *call) whole(v float64, e expr.Expr) int {
	switch {
	case v != math.Trunc(v) || math.IsInf(v, 0):
		m := &Misuse{Kind: "type", Msg: fmt.Sprintf("%s needs a whole number here, not %s", c.op.Name, formatFloat(v)), Pos: expr.NoPos}
		if c.op.Name == "diff" { // a derivative to SymPy, MATLAB and R
			m.Hint = "write grad(y, x) for a derivative; diff takes differences of neighbours"
		}
		c.lo.failWith(e, m)
	case math.Abs(v) > 1<<53:
		c.lo.fail(e, "type", "%s is too large for %s", formatFloat(v), c.op.Name)
	}
	return int(min(max(v, math.MinInt), math.MaxInt)) // where an int has 32 bits, the largest is too large for any memory
}

func (c *call) bool(i int) bool { return c.num(i) != 0 }

// str is argument i, which has to be a string.
func (c *call) str(i int) string {
	s, ok := c.vals[i].(string)
	if !ok {
		m := &Misuse{Kind: "type", Msg: c.op.Name + " needs a string here", Pos: expr.NoPos}
		if n, named := c.where(i).(*expr.Name); named {
			m.Hint = `write "` + n.Name + `"`
		}
		c.lo.failWith(c.where(i), m)
	}
	return s
}

// dtype is the dtype that a string names, or that is named as the operation that converts to it.
func (c *call) dtype(i int) tensor.DType {
	name := ""
	if f, ok := c.vals[i].(*builtin); ok {
		name = f.name
	} else {
		name = c.str(i)
	}
	d, ok := tensor.ParseDType(map[string]string{"float": "float64", "int": "int64"}[name])
	if !ok {
		d, ok = tensor.ParseDType(name)
	}
	if !ok {
		m := &Misuse{Kind: "type", Msg: fmt.Sprintf("there is no dtype %q: float64, float32, int64, bool", name), Hint: expr.Foreign(name), Pos: expr.NoPos}
		c.lo.failWith(c.where(i), m)
	}
	return d
}

// ints is a known list of whole numbers: 3, (3, 4) or [3, 4].
func (c *call) ints(i int) []int { return c.intsOf(c.vals[i], c.where(i)) }

// intsOf is v as a list of whole numbers: a tuple, a tensor of one axis, or one number.
func (c *call) intsOf(v value, e expr.Expr) []int {
	switch v := v.(type) {
	case *tuple:
		out := []int{}
		for _, x := range v.elems {
			out = append(out, c.whole(c.lo.number(x, e), e))
		}
		return out
	case Ref:
		if len(c.t.Shape(v)) > 1 || len(c.t.Axes(v)) > 0 {
			break
		}
		out := []int{}
		for _, x := range c.t.read(v) {
			out = append(out, c.whole(x, e))
		}
		return out
	}
	hint := ""
	if _, ok := v.(string); ok {
		hint = "axes have numbers: 0 is the first, -1 the last"
	}
	c.lo.advise(e, "type", hint, "%s needs whole numbers here, this is %s", c.op.Name, describe(v))
	return nil
}

// axes is the axis argument of a reduction, from the right; all axes when left out.
func (c *call) axes(i int, s tensor.Shape) []int {
	if !c.given(i) {
		var all []int
		for a := range s {
			all = append(all, a-len(s))
		}
		return all
	}
	out := c.distinct(c.ints(i), len(s), i)
	slices.Sort(out)
	return out
}

// distinct counts axes from the right, none of them twice.
func (c *call) distinct(axes []int, rank, i int) (out []int) {
	for _, a := range axes {
		x := c.axis(a, rank, i)
		if slices.Contains(out, x) {
			c.lo.advise(c.where(i), "shape", "leave one of them out", "axis %d is given twice", a)
		}
		out = append(out, x)
	}
	return out
}

// axis is axis a of so many, counted from the right; argument i names it.
func (c *call) axis(a, rank, i int) int {
	if a < -rank || a >= rank {
		m := &Misuse{Kind: "shape", Msg: fmt.Sprintf("axis %d is out of range for %s", a, axes(rank)), Pos: expr.NoPos}
		switch {
		case rank == 0:
			m.Hint = "a number has no axes: leave it out"
		case rank == 1:
			m.Hint = "the axis is 0, or -1"
		default:
			m.Hint = fmt.Sprintf("axes are 0 to %d, or -1 to %d from the last", rank-1, -rank)
		}
		c.lo.failWith(c.where(i), m)
	}
	if a >= 0 {
		a -= rank
	}
	return a
}

// fail reports a misuse of the operation at the call.
func (c *call) fail(kind, format string, args ...any) { c.lo.fail(c.at, kind, format, args...) }

func (c *call) advise(kind, hint, format string, args ...any) {
	c.lo.advise(c.at, kind, hint, format, args...)
}
