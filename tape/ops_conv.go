package tape

import (
	"math"

	"nabla/expr"
	"nabla/kernels"
	"nabla/tape/tensor"
)

// Convolution and pooling look at their argument through windows. windows copies them
// out side by side and unwindows adds them up again; each is the other's transpose,
// so that a convolution is a matrix product between shape operations, and every
// derivative of it, to every order, is made of the same two and matrix products.

var opWindows, opUnwindows *Op

// A window says how the last two axes, of sizes h and w, are looked at: windows of
// kh×kw elements, dilation apart, placed oh×ow times, a stride apart, from before the
// first element on. One axis is two with the first of size 1.
type window struct{ h, w, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow int }

func (v window) ints() []int {
	return []int{v.h, v.w, v.kh, v.kw, v.sh, v.sw, v.ph, v.pw, v.dh, v.dw, v.oh, v.ow}
}

func windowOf(i []int) window {
	return window{i[0], i[1], i[2], i[3], i[4], i[5], i[6], i[7], i[8], i[9], i[10], i[11]}
}

// each calls f for every run of a window element: n places of the result from to on,
// that read from every step-th element of x from from on; the others are padding.
func (v window) each(f func(to, from, step, n int)) {
	for a := range v.kh {
		for b := range v.kw {
			for i := range v.oh {
				y := i*v.sh - v.ph + a*v.dh
				if y < 0 || y >= v.h {
					continue
				}
				// columns j with 0 <= j*sw + x0 < w
				x0 := b*v.dw - v.pw
				lo, hi := 0, v.ow
				if x0 < 0 {
					lo = (-x0 + v.sw - 1) / v.sw
				}
				if x0 >= v.w {
					hi = 0
				} else {
					hi = min(hi, (v.w-1-x0)/v.sw+1)
				}
				if lo < hi {
					f(((a*v.kw+b)*v.oh+i)*v.ow+lo, y*v.w+lo*v.sw+x0, v.sw, hi-lo)
				}
			}
		}
	}
}

// inside reports whether no window looks at padding.
func (v window) inside() bool {
	return v.ph == 0 && v.pw == 0 && (v.oh-1)*v.sh+(v.kh-1)*v.dh < v.h && (v.ow-1)*v.sw+(v.kw-1)*v.dw < v.w
}

const (
	convArgs = "x, w, stride=1, padding=0, dilation=1, groups=1"
	backArgs = "x, w, stride=1, padding=0, dilation=1"
	poolArgs = "x, size, stride=None, padding=0"
)

var convRows = []Op{
	{Name: "conv1d", Args: convArgs, Doc: "correlation of x (batch, channels, length) with kernels w (out, channels, size)", Call: func(c *call) value { return c.conv(1) },
		Note: `padding is a number or "same"; x may lack the batch axis`},
	{Name: "conv2d", Args: convArgs, Doc: "correlation of x (batch, channels, height, width) with kernels w (out, channels, height, width)", Call: func(c *call) value { return c.conv(2) },
		Note: `stride, padding and dilation are numbers or pairs, padding also "same"; x may lack the batch axis`},
	{Name: "conv_transpose1d", Args: backArgs, Doc: "transpose of conv1d, for x (batch, channels, length) and w (channels, out, size)", Call: func(c *call) value { return c.convBack(1) }},
	{Name: "conv_transpose2d", Args: backArgs, Doc: "transpose of conv2d, for x (batch, channels, height, width) and w (channels, out, height, width)", Call: func(c *call) value { return c.convBack(2) }},
	{Name: "avg_pool1d", Args: poolArgs, Doc: "means of windows along the last axis; padding counts as 0", Call: func(c *call) value { return c.pool(1, averagePool) }},
	{Name: "avg_pool2d", Args: poolArgs, Doc: "means of windows along the last two axes; padding counts as 0", Call: func(c *call) value { return c.pool(2, averagePool) }},
	{Name: "max_pool1d", Args: poolArgs, Doc: "the largest of windows along the last axis", Call: func(c *call) value { return c.pool(1, maxPool) }, Note: "a k-fold tie gives 1/k to each"},
	{Name: "max_pool2d", Args: poolArgs, Doc: "the largest of windows along the last two axes", Call: func(c *call) value { return c.pool(2, maxPool) }, Note: "a k-fold tie gives 1/k to each"},
	// opWindows gives, for each plane of h×w elements (the last axis), the elements at
	// each place of the window: kh·kw rows of oh·ow. Padding reads as Attr.Num.
	{As: &opWindows, Name: "windows", Args: "x", Hidden: true, Doc: "what windows sliding over the last axes see", Lead: true, Links: linkWindows,
		Run: func(c *run) {
			v := windowOf(c.attr.Ints)
			in, out := v.h*v.w, v.kh*v.kw*v.oh*v.ow
			if !v.inside() {
				kernels.Fill(c.out, c.attr.Num)
			}
			for p := 0; p*out < len(c.out); p++ {
				x, y := c.args[0][p*in:(p+1)*in], c.out[p*out:(p+1)*out]
				v.each(func(to, from, step, n int) {
					if step == 1 {
						copy(y[to:to+n], x[from:])
						return
					}
					kernels.Strided(y[to:to+n], x[from:], step)
				})
			}
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			return t.unwindows(t.full(ct, r), windowOf(t.Attr(r).Ints))
		}},
	{As: &opUnwindows, Name: "unwindows", Args: "x", Hidden: true, Doc: "what windows saw, added up in place", Lead: true, Links: linkUnwindows,
		Run: func(c *run) {
			v := windowOf(c.attr.Ints)
			out, in := v.h*v.w, v.kh*v.kw*v.oh*v.ow
			clear(c.out)
			for p := 0; p*out < len(c.out); p++ {
				x, y := c.args[0][p*in:(p+1)*in], c.out[p*out:(p+1)*out]
				v.each(func(to, from, step, n int) {
					if step == 1 {
						kernels.Accumulate(y[from:from+n], x[to:to+n])
						return
					}
					for j := range n {
						y[from+j*step] += x[to+j]
					}
				})
			}
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			return t.windows(t.full(ct, r), windowOf(t.Attr(r).Ints), 0)
		}},
}

// windows looks at planes, one in each row of the last axis.
func (t *Tape) windows(x Ref, v window, padding float64) Ref {
	s := append(append(tensor.Shape{}, lead(t.Shape(x))...), v.kh*v.kw, v.oh*v.ow)
	return t.record(opWindows, s, Attr{Ints: v.ints(), Num: padding}, x)
}

func (t *Tape) unwindows(x Ref, v window) Ref {
	s := t.Shape(x)
	return t.record(opUnwindows, append(append(tensor.Shape{}, s[:len(s)-2]...), v.h*v.w), Attr{Ints: v.ints()}, x)
}

// planes joins the last n axes.
func (t *Tape) planes(x Ref, n int) Ref {
	s := t.Shape(x)
	k := len(s) - n
	return t.reshape(x, append(append(tensor.Shape{}, s[:k]...), s[k:].Size()))
}

// pair reads argument i as one number for each of n axes.
func (c *call) pair(i, n, least int) [2]int {
	v := c.ints(i)
	if len(v) == 1 {
		v = []int{v[0], v[0]}
	} else if len(v) != n {
		few := "one number"
		if n > 1 {
			few += " or " + itoa(n)
		}
		c.lo.fail(c.where(i), "shape", "%s needs %s here, not %d", c.op.Name, few, len(v))
	}
	for _, k := range v {
		if k < least {
			c.lo.fail(c.where(i), "shape", "%s: %s is at least %d, not %d", c.op.Name, c.op.signature()[i].name, least, k)
		}
	}
	if n == 1 {
		return [2]int{0, v[0]}
	}
	return [2]int{v[0], v[1]}
}

// sliding fits windows of the given size over the last n axes of shape s; what is
// missing of the padding on one side, where the two differ, stands at the end.
func (c *call) sliding(n int, s tensor.Shape, size, stride, before, after, dilation [2]int) window {
	v := window{h: 1, w: last(s), kh: 1, kw: size[1], sh: 1, sw: stride[1], pw: before[1], dh: 1, dw: dilation[1], oh: 1}
	if n == 2 {
		v.h, v.kh, v.sh, v.ph, v.dh = s[len(s)-2], size[0], stride[0], before[0], dilation[0]
		v.oh = placed(v.h+before[0]+after[0], v.kh, v.sh, v.dh)
	}
	v.ow = placed(v.w+before[1]+after[1], v.kw, v.sw, v.dw)
	if v.oh <= 0 || v.ow <= 0 {
		c.fail("shape", "%s: a window of %v does not fit into %v with this padding", c.op.Name, v.sizes(n), s[len(s)-n:])
	}
	return v
}

// placed counts the places of a window of k elements, d apart, on n elements.
func placed(n, k, stride, d int) int {
	if free := n - (k-1)*d - 1; free >= 0 {
		return free/stride + 1
	}
	return 0
}

func (v window) sizes(n int) tensor.Shape { return tensor.Shape{v.kh, v.kw}[2-n:] }
func (v window) places(n int) []int       { return []int{v.oh, v.ow}[2-n:] }

// image is argument i with n axes of its own, channels and a batch; one without a batch
// is made a batch of one.
func (c *call) image(i, n int) (x Ref, single bool) {
	x = c.t.asFloat(c.ref(i))
	s := c.t.Shape(x)
	switch len(s) {
	case n + 2:
		return x, false
	case n + 1:
		return c.t.reshape(x, append(tensor.Shape{1}, s...)), true
	}
	c.fail("shape", "%s needs x with %d axes (batch, channels and %d more), not shape %v", c.op.Name, n+2, n, s)
	return None, false
}

// kernel is argument i, the kernels of a convolution over n axes.
func (c *call) kernel(i, n int) Ref {
	w := c.t.asFloat(c.ref(i))
	if s := c.t.Shape(w); len(s) != n+2 || s.Size() == 0 {
		c.fail("shape", "%s needs w with %d axes, not shape %v", c.op.Name, n+2, s)
	}
	return w
}

// channelsLast is what to do about the shapes of other languages, whose channels stand last, or "".
func channelsLast(xs, ws tensor.Shape) string {
	n := len(xs) - 2
	if last(xs) != ws[n] {
		return ""
	}
	if n == 1 {
		return "channels stand before the length: transpose(x, (0, 2, 1)), and transpose(w, (2, 1, 0)) is (out, channels, size)"
	}
	return "channels stand before the height: transpose(x, (0, 3, 1, 2)), and transpose(w, (3, 2, 0, 1)) is (out, channels, height, width)"
}

// conv lowers a convolution over n axes.
func (c *call) conv(n int) value {
	t := c.t
	x, single := c.image(0, n)
	w := c.kernel(1, n)
	xs, ws := t.Shape(x), t.Shape(w)
	groups := c.int(5)
	if groups < 1 || xs[1]%groups != 0 || ws[0]%groups != 0 || xs[1]/groups != ws[1] {
		c.advise("shape", channelsLast(xs, ws), "%s: x of shape %v has %s, w of shape %v wants %d", c.op.Name, t.Shape(c.ref(0)), expr.Plural(xs[1], "channel"), ws, ws[1]*max(groups, 1))
	}
	stride, dilation := c.pair(2, n, 1), c.pair(4, n, 1)
	size := [2]int{1, last(ws)}
	if n == 2 {
		size[0] = ws[2]
	}
	var before, after [2]int
	if text, ok := c.vals[3].(string); ok {
		switch text {
		case "same": // as many places as elements, divided by the stride
			for a := range 2 {
				k := 2 - a
				if k > n {
					continue
				}
				d := xs[len(xs)-k]
				total := max(0, ((d+stride[a]-1)/stride[a]-1)*stride[a]+(size[a]-1)*dilation[a]+1-d)
				before[a], after[a] = total/2, total-total/2
			}
		case "valid":
		default:
			c.lo.fail(c.where(3), "type", `%s: padding is a number, "same" or "valid", not %q`, c.op.Name, text)
		}
	} else {
		before = c.pair(3, n, 0)
		after = before
	}
	v := c.sliding(n, xs, size, stride, before, after, dilation)
	// rows: each channel's each place of the window; columns: where the window stands
	rows := xs[1] / groups * v.kh * v.kw
	cols := v.oh * v.ow
	seen := t.windows(t.planes(x, n), v, 0)
	out := append(tensor.Shape{xs[0], ws[0]}, v.places(n)...)
	var y Ref
	if groups == 1 {
		y = t.mm(t.reshape(w, tensor.Shape{ws[0], rows}), t.reshape(seen, tensor.Shape{xs[0], rows, cols}), false, false)
	} else {
		y = t.mm(t.reshape(w, tensor.Shape{groups, ws[0] / groups, rows}), t.reshape(seen, tensor.Shape{xs[0], groups, rows, cols}), false, false)
	}
	if single {
		out = out[1:]
	}
	return t.reshape(y, out)
}

// convBack is the adjoint of conv in x: the result is what a convolution with
// these options maps to the shape of x.
func (c *call) convBack(n int) value {
	t := c.t
	x, single := c.image(0, n)
	w := c.kernel(1, n)
	xs, ws := t.Shape(x), t.Shape(w)
	if xs[1] != ws[0] {
		c.fail("shape", "%s: x of shape %v has %s, w of shape %v wants %d", c.op.Name, t.Shape(c.ref(0)), expr.Plural(xs[1], "channel"), ws, ws[0])
	}
	stride, pad, dilation := c.pair(2, n, 1), c.pair(3, n, 0), c.pair(4, n, 1)
	v := window{h: 1, kh: 1, sh: 1, dh: 1, oh: 1, kw: last(ws), sw: stride[1], pw: pad[1], dw: dilation[1], ow: last(xs)}
	v.w = (v.ow-1)*v.sw - 2*v.pw + (v.kw-1)*v.dw + 1
	if n == 2 {
		v.kh, v.sh, v.ph, v.dh, v.oh = ws[2], stride[0], pad[0], dilation[0], xs[2]
		v.h = (v.oh-1)*v.sh - 2*v.ph + (v.kh-1)*v.dh + 1
	}
	if v.h <= 0 || v.w <= 0 {
		c.fail("shape", "%s: nothing is left of %v after the padding", c.op.Name, xs[2:])
	}
	seen := t.mm(t.reshape(w, tensor.Shape{ws[0], ws[1:].Size()}), t.planes(x, n), true, false)
	seen = t.reshape(seen, tensor.Shape{xs[0], ws[1], v.kh * v.kw, v.oh * v.ow})
	out := append(tensor.Shape{xs[0], ws[1]}, []int{v.h, v.w}[2-n:]...)
	if single {
		out = out[1:]
	}
	return t.reshape(t.unwindows(seen, v), out)
}

// pool joins the elements of each window; any axes may stand before the n own ones.
func (c *call) pool(n int, f func(t *Tape, x Ref, v window) Ref) value {
	t := c.t
	x := t.asFloat(c.ref(0))
	s := t.Shape(x)
	if len(s) < n {
		c.fail("shape", "%s needs %s, x has shape %v", c.op.Name, axes(n), s)
	}
	size := c.pair(1, n, 1)
	stride := size
	if c.given(2) {
		stride = c.pair(2, n, 1)
	}
	pad := c.pair(3, n, 0)
	for a := range 2 {
		if 2*pad[a] > max(size[a], 1) {
			c.lo.fail(c.where(3), "shape", "%s: padding of %d is more than half of the window's %d", c.op.Name, pad[a], size[a])
		}
	}
	v := c.sliding(n, s, size, stride, pad, pad, [2]int{1, 1})
	y := f(t, t.planes(x, n), v)
	return t.reshape(y, append(append(tensor.Shape{}, s[:len(s)-n]...), v.places(n)...))
}

func averagePool(t *Tape, x Ref, v window) Ref {
	return t.Apply(opDiv, t.sumTo(t.windows(x, v, 0), []int{-2}, false), t.Const(float64(v.kh*v.kw)))
}

func maxPool(t *Tape, x Ref, v window) Ref {
	seen := t.swap(t.windows(x, v, math.Inf(-1)), -1, -2)
	return t.record(opMaxOf, lead(t.Shape(seen)), Attr{Flag: t.Conventions != ""}, seen)
}
