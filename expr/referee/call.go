package referee

import (
	"maps"
	"math"
	"slices"
	"sync"

	"nabla/tape/tensor"
)

// A call is an operation and its arguments. The accessors note what was asked
// for, so that an argument that nothing reads is an error, not ignored.
type call struct {
	name string
	pos  []any
	kw   map[string]any
	seen int
	read map[string]bool
}

// ops are the operations that are more than a function of numbers, by name. Like all
// tables here they are made when first asked for: most runs of nabla never do.
var ops func() map[string]func(*call) any

func init() {
	ops = sync.OnceValue(func() map[string]func(*call) any {
		all := map[string]func(*call) any{}
		for _, table := range []map[string]func(*call) any{coreOps(), reduceOps(), shapeOps(), linalgOps(), nnOps()} {
			maps.Copy(all, table)
		}
		return all
	})
}

// aliases are other spellings.
var aliases = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"concatenate": "concat", "reduce_sum": "sum", "reduce_mean": "mean", "reduce_max": "amax",
		"reduce_min": "amin", "reduce_prod": "prod", "reduce_logsumexp": "logsumexp", "reduce_any": "any", "reduce_all": "all",
		"reduce_std": "std", "reduce_variance": "var", "permute": "transpose", "identity": "eye", "gather": "take",
		"log_det": "logdet", "inverse": "inv", "matrix_exp": "expm", "matrix_transpose": "mT", "len": "length",
		"logical_and": "and", "logical_or": "or", "logical_not": "not", "constant": "array", "tensor": "array",
		"negative": "neg", "positive": "pos", "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div",
		"lbeta": "betaln", "log_cosh": "logcosh", "norm_pdf": "normpdf", "cumlogsumexp": "cumulative_logsumexp",
	}
})

func canonical(name string) string {
	if a, ok := aliases()[name]; ok {
		return a
	}
	return name
}

// derivatives are what only a tape can do.
var derivatives = []string{"grad", "value_and_grad", "jacobian", "batch_jacobian", "hessian", "jvp", "vjp", "hvp"}

func known(name string) bool {
	name = canonical(name)
	return ops()[name] != nil || scalarOp(name, 1) != nil || scalarOp(name, 2) != nil || slices.Contains(derivatives, name)
}

// do runs the operation.
func (c *call) do() any {
	name := canonical(c.name)
	if f := ops()[name]; f != nil {
		out := f(c)
		for k := range c.kw {
			if !c.read[k] {
				unsupported("argument " + k + " of " + c.name)
			}
		}
		if c.seen < len(c.pos) {
			fail("%s takes %d arguments, not %d", c.name, c.seen, len(c.pos))
		}
		if t, ok := out.(*tensor.Tensor); ok {
			return simple(t)
		}
		return out
	}
	if len(c.kw) > 0 {
		for k := range c.kw {
			unsupported("argument " + k + " of " + c.name)
		}
	}
	f := scalarOp(name, len(c.pos))
	if f == nil {
		unsupported(c.name)
	}
	ts := make([]*tensor.Tensor, len(c.pos))
	for i, a := range c.pos {
		if _, left := a.(none); left {
			unsupported("None as an argument of " + c.name)
		}
		ts[i] = toTensor(a)
	}
	return simple(zip(tensor.Float64, f, ts...))
}

func function2(name string, a, b any) any { return (&call{name: name, pos: []any{a, b}}).do() }

// arg is the argument at place i or of one of the names, nil if it is not there.
func (c *call) arg(i int, names ...string) any {
	if c.read == nil {
		c.read = map[string]bool{}
	}
	var v any
	if i >= 0 && i < len(c.pos) {
		c.seen = max(c.seen, i+1)
		v = c.pos[i]
	}
	for _, n := range names {
		c.read[n] = true
		if k, ok := c.kw[n]; ok {
			v = k
		}
	}
	if _, left := v.(none); left {
		return nil // None stands for what is not given
	}
	return v
}

// rest is every argument from place i on.
func (c *call) rest(i int) []any {
	c.seen = len(c.pos)
	if i >= len(c.pos) {
		return nil
	}
	return c.pos[i:]
}

func (c *call) need(i int, names ...string) any {
	v := c.arg(i, names...)
	if v == nil {
		fail("%s has no argument %d", c.name, i+1)
	}
	return v
}

func (c *call) tensor(i int, names ...string) *tensor.Tensor { return toTensor(c.need(i, names...)) }

func (c *call) number(i int, def float64, names ...string) float64 {
	if v := c.arg(i, names...); v != nil {
		return number(v)
	}
	return def
}

func (c *call) integer(i int, def int, names ...string) int {
	if v := c.arg(i, names...); v != nil {
		return integer(v)
	}
	return def
}

func (c *call) flag(i int, def bool, names ...string) bool {
	if v := c.arg(i, names...); v != nil {
		return truth(v)
	}
	return def
}

// axis is one axis of nd, counted from either end.
func (c *call) axis(i, nd, def int) int {
	return wrap(c.integer(i, def, "axis", "dim"), nd)
}

func wrap(a, nd int) int {
	if a < -nd || a >= nd {
		fail("axis %d of a tensor with %d axes", a, nd)
	}
	if a < 0 {
		a += nd
	}
	return a
}

// given reports whether there is an argument at place i or of one of the names, None or another.
func (c *call) given(i int, names ...string) bool {
	return i < len(c.pos) || slices.ContainsFunc(names, func(n string) bool { _, ok := c.kw[n]; return ok })
}

// lines are the axes that an operation which keeps the shape runs over: the last if none is named, every
// axis for None.
func (c *call) lines(i, nd int) []bool {
	if nd > 0 && !c.given(i, "axis", "dim") {
		out := make([]bool, nd)
		out[nd-1] = true
		return out
	}
	return c.axes(i, nd)
}

// axes are the axes of a reduction: every axis if none is named.
func (c *call) axes(i, nd int) []bool {
	out := make([]bool, nd)
	v := c.arg(i, "axis", "dim")
	if v == nil {
		for k := range out {
			out[k] = true
		}
		return out
	}
	for _, a := range integers(v) {
		out[wrap(a, nd)] = true
	}
	return out
}

// broadcast is NumPy's joint shape.
func broadcast(ts ...*tensor.Tensor) tensor.Shape {
	nd := 0
	for _, t := range ts {
		nd = max(nd, len(t.Shape))
	}
	out := make(tensor.Shape, nd)
	for k := range out {
		out[k] = 1
		for _, t := range ts {
			i := k - nd + len(t.Shape)
			if i < 0 || t.Shape[i] == 1 {
				continue
			}
			if out[k] != 1 && out[k] != t.Shape[i] {
				fail("shapes %v and %v do not broadcast", ts[0].Shape, t.Shape)
			}
			out[k] = t.Shape[i]
		}
	}
	return out
}

// offset is where the element at pos of a broadcast shape lies in t.
func offset(t *tensor.Tensor, pos []int) int {
	o := 0
	shift := len(pos) - len(t.Shape)
	for i, d := range t.Shape {
		p := pos[i+shift]
		if d == 1 {
			p = 0
		}
		o = o*d + p
	}
	return o
}

// walk visits every position of a shape, the last axis fastest.
func walk(s tensor.Shape, visit func(i int, pos []int)) {
	pos := make([]int, len(s))
	for i, n := 0, s.Size(); i < n; i++ {
		visit(i, pos)
		for k := len(s) - 1; k >= 0; k-- {
			if pos[k]++; pos[k] < s[k] {
				break
			}
			pos[k] = 0
		}
	}
}

// The number of elements at which a tensor is refused: 1 GB.
const maxSize = 1 << 27

// blank makes a tensor of zeros, if there is room.
func blank(d tensor.DType, s tensor.Shape) *tensor.Tensor {
	if n, ok := s.CheckedSize(); !ok || n > maxSize {
		fail("the referee makes no tensor of shape %v", s)
	}
	return &tensor.Tensor{DType: d, Shape: s, Data: make([]float64, s.Size())}
}

// zip applies f to the elements of tensors broadcast against each other.
func zip(d tensor.DType, f func([]float64) float64, ts ...*tensor.Tensor) *tensor.Tensor {
	out := blank(d, broadcast(ts...))
	x := make([]float64, len(ts))
	walk(out.Shape, func(i int, pos []int) {
		for k, t := range ts {
			x[k] = t.Data[offset(t, pos)]
		}
		out.Data[i] = f(x)
	})
	return out
}

func map1(t *tensor.Tensor, f func(float64) float64) *tensor.Tensor {
	out := tensor.New(t.Shape...)
	for i, x := range t.Data {
		out.Data[i] = f(x)
	}
	return out
}

func map2(a, b *tensor.Tensor, f func(x, y float64) float64) *tensor.Tensor {
	return zip(tensor.Float64, func(x []float64) float64 { return f(x[0], x[1]) }, a, b)
}

func compare(f func(x, y float64) bool) func(*call) any {
	return func(c *call) any {
		return zip(tensor.Bool, func(x []float64) float64 { return b2f(f(x[0], x[1])) }, c.tensor(0, "x"), c.tensor(1, "y"))
	}
}

func test(f func(x float64) bool) func(*call) any {
	return func(c *call) any {
		return zip(tensor.Bool, func(x []float64) float64 { return b2f(f(x[0])) }, c.tensor(0, "x"))
	}
}

// lazy is && or ||: the second operand is evaluated unless a scalar first one decides.
func lazy(decides bool) func(*call) any {
	return func(c *call) any {
		x := c.need(0)
		if t, ok := x.(*tensor.Tensor); !ok || len(t.Data) == 1 {
			if truth(x) == decides && !ok {
				c.arg(1)
				return decides
			}
		}
		y := c.need(1)
		if t, ok := y.(thunk); ok {
			y = t.force()
		}
		return zip(tensor.Bool, func(v []float64) float64 {
			if decides {
				return b2f(v[0] != 0 || v[1] != 0)
			}
			return b2f(v[0] != 0 && v[1] != 0)
		}, toTensor(x), toTensor(y))
	}
}

var coreOps = sync.OnceValue(func() map[string]func(*call) any {
	return map[string]func(*call) any{
		"less":          compare(func(x, y float64) bool { return x < y }),
		"less_equal":    compare(func(x, y float64) bool { return x <= y }),
		"greater":       compare(func(x, y float64) bool { return x > y }),
		"greater_equal": compare(func(x, y float64) bool { return x >= y }),
		"equal":         compare(func(x, y float64) bool { return x == y }),
		"not_equal":     compare(func(x, y float64) bool { return x != y }),
		"isnan":         test(math.IsNaN),
		"isinf":         test(func(x float64) bool { return math.IsInf(x, 0) }),
		"isfinite":      test(func(x float64) bool { return !math.IsInf(x, 0) && !math.IsNaN(x) }),
		"not":           test(func(x float64) bool { return x == 0 }),
		"or":            lazy(true),
		"and":           lazy(false),
		"logical_xor":   compare(func(x, y float64) bool { return (x != 0) != (y != 0) }),
		"truth":         func(c *call) any { return truth(c.need(0)) },
		"named":         func(c *call) any { return keyword{c.need(0).(string), c.rest(1)[0]} },
		"nullary":       func(c *call) any { return (&call{name: c.need(0).(string)}).do() },
		"where": func(c *call) any {
			return zip(tensor.Float64, func(v []float64) float64 {
				if v[0] != 0 {
					return v[1]
				}
				return v[2]
			}, c.tensor(0, "c", "cond", "condition"), c.tensor(1, "a", "x"), c.tensor(2, "b", "y"))
		},
		"call": func(c *call) any {
			pos, kw := c.rest(1), c.kw
			c.kw = nil
			return apply(c.need(0), pos, kw)
		},
		"list": func(c *call) any {
			elems := listed(c)
			if len(elems) == 0 {
				return tensor.New(0)
			}
			for _, e := range elems[1:] {
				if a, b := shapeOf(elems[0]), shapeOf(e); a == nil || b == nil || !a.Equal(b) {
					return tuple{elems} // of different shapes: for concat, or an error where a tensor is wanted
				}
			}
			if shapeOf(elems[0]) == nil {
				return tuple{elems}
			}
			return toTensor(tuple{elems})
		},
		"tuple": func(c *call) any { return tuple{listed(c)} },
		"record": func(c *call) any {
			r := &record{}
			args := c.rest(0)
			for i := 0; i+1 < len(args); i += 2 {
				r.fields = append(r.fields, field{args[i].(string), args[i+1]})
			}
			return r
		},
		"field": func(c *call) any { return attribute(c.need(0), c.need(1).(string)) },
		"slice": func(c *call) any { return slice{c.need(0), c.need(1), c.need(2)} },
		"index": func(c *call) any { return index(c.need(0), c.rest(1)) },
		"vmap": func(c *call) any {
			f := c.need(0)
			return native(func(pos []any, kw map[string]any) any {
				if len(pos) == 0 {
					fail("vmap of a function without arguments")
				}
				cols := make([][]any, len(pos))
				for i, p := range pos {
					cols[i] = rows(p)
					if len(cols[i]) != len(cols[0]) {
						fail("vmap over axes of %d and %d", len(cols[0]), len(cols[i]))
					}
				}
				var out []any
				for i := range cols[0] {
					args := make([]any, len(pos))
					for k := range args {
						args[k] = cols[k][i]
					}
					out = append(out, apply(f, args, kw))
				}
				return stackValues(out)
			})
		},
		"scan": func(c *call) any {
			f, carry := c.need(0), c.need(1)
			var ys []any
			for _, x := range rows(c.need(2)) {
				v := apply(f, []any{carry, x}, nil)
				if t, ok := v.(tuple); ok && len(t.elems) == 2 {
					carry = t.elems[0]
					ys = append(ys, t.elems[1])
					continue
				}
				fail("the function of scan returns a pair, not %s", kindOf(v))
			}
			return tuple{[]any{carry, stackValues(ys)}}
		},
		"map": func(c *call) any {
			f := c.need(0)
			var out []any
			for _, x := range items(c.need(1)) {
				out = append(out, apply(f, []any{x}, nil))
			}
			return stackValues(out)
		},
	}
})

// rows walks the leading axis of every tensor in v at once.
func rows(v any) []any {
	t, ok := v.(tuple)
	if !ok {
		return items(v)
	}
	var out []any
	for k, e := range t.elems {
		col := rows(e)
		if k == 0 {
			for range col {
				out = append(out, tuple{make([]any, len(t.elems))})
			}
		}
		if len(col) != len(out) {
			fail("leading axes of %d and %d", len(out), len(col))
		}
		for i, x := range col {
			out[i].(tuple).elems[k] = x
		}
	}
	return out
}

// stackValues joins results along a new leading axis, part by part for tuples and records.
func stackValues(vs []any) any {
	if len(vs) == 0 {
		return tensor.New(0)
	}
	switch first := vs[0].(type) {
	case tuple:
		out := tuple{make([]any, len(first.elems))}
		for k := range first.elems {
			col := make([]any, len(vs))
			for i, v := range vs {
				col[i] = v.(tuple).elems[k]
			}
			out.elems[k] = stackValues(col)
		}
		return out
	case *record:
		out := &record{}
		for k, f := range first.fields {
			col := make([]any, len(vs))
			for i, v := range vs {
				col[i] = v.(*record).fields[k].value
			}
			out.fields = append(out.fields, field{f.name, stackValues(col)})
		}
		return out
	}
	return toTensor(tuple{vs})
}

// listed is the arguments of list or tuple; the empty string stands for no element.
func listed(c *call) []any {
	args := c.rest(0)
	if len(args) == 1 && args[0] == any("") {
		return nil
	}
	return args
}

func shapeOf(v any) tensor.Shape {
	switch v := v.(type) {
	case float64, bool:
		return tensor.Shape{}
	case *tensor.Tensor:
		return v.Shape
	}
	return nil
}

func attribute(v any, name string) any {
	if r, ok := v.(*record); ok {
		if f := r.get(name); f != nil {
			return f
		}
		fail("the record has no field %s", name)
	}
	t := toTensor(v)
	switch name {
	case "T":
		return simple(permute(t, reversed(len(t.Shape))))
	case "shape":
		return shapeTuple(t.Shape)
	case "size":
		return float64(t.Size())
	case "ndim":
		return float64(len(t.Shape))
	case "dtype":
		return t.DType.String()
	}
	unsupported("attribute " + name)
	return nil
}

func shapeTuple(s tensor.Shape) tuple {
	out := tuple{make([]any, len(s))}
	for i, d := range s {
		out.elems[i] = float64(d)
	}
	return out
}
