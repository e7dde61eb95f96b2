package tape

import (
	"math/bits"
	"sort"

	"nabla/tape/order"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

// Functions of one number, given by their coefficients or by their values at some places.

var opSearch *Op

var curveRows = []Op{
	{Name: "polyval", Args: "p, x", Doc: "the polynomial with coefficients p, highest power first, at x", Body: "y = zeros_like(x); for c in p { y = y*x + c }; y"},
	{Name: "polyder", Args: "p", Doc: "coefficients of a polynomial's derivative", Body: "p[:-1] * arange(p.size - 1, 0, -1)"},
	{Name: "polyint", Args: "p", Doc: "coefficients of a polynomial's integral from 0", Body: "concat([p / arange(p.size, 0, -1), [0.]])"},
	{Name: "polymul", Args: "p, q", Doc: "coefficients of the product of two polynomials", Body: "convolve(p, q)"},
	{Name: "polyfit", Args: "x, y, #deg", Doc: "coefficients of the polynomial of degree deg that misses the points least, in squares", Body: "lstsq(vander(x, deg + 1), y)"},
	{Name: "convolve", Args: `x, y, mode="full"`, Doc: `convolution of two vectors; mode "full", "same" or "valid"`, Call: func(c *call) value { return c.convolution(true) }},
	{Name: "correlate", Args: `x, y, mode="valid"`, Doc: `sums of products of a vector and a shifted one; mode "full", "same" or "valid"`, Call: func(c *call) value { return c.convolution(false) }},
	{Name: "trapezoid", Alias: []string{"trapz"}, Args: "y, x=None, dx=1, #axis=-1", Doc: "integral along an axis by the trapezoidal rule", Call: trapezoidCall},
	{Name: "interp", Args: "x, xp, fp", Doc: "the line through the points (xp, fp) at x, constant outside; xp ascends", Call: interpCall,
		Body: `i = searchsorted(xp, x, "right"); k = maximum(i - 1, 0); slopes = concat([[0.], diff(fp) / diff(xp), [0.]])
			interp_line(x, x - take(xp, k), take(slopes, k), take(slopes, i), take(fp, k))`,
		Note: "at a knot: of the slopes on both sides the one of least size, 0 if their signs differ"},
	// The value is anchored at the knot before x, so that at a knot only the slope is chosen.
	{Name: "interp_line", Args: "x, d, before, behind, f", Hidden: true, Doc: "f at a knot and a line behind it, at a distance d",
		Body: `least = where(sign(before) == sign(behind), where(abs(before) < abs(behind), before, behind), 0)
			slope = where(d == 0, least, where(isnan(d), d, behind))
			f + where(slope == 0 && !isnan(d), 0, slope * d)`,
		Kinks: []Kink{{"d == 0 && before != behind", "a kink: the slope of least size, or 0 between two signs", true}}, LastBy: 2},
	{Name: "digitize", Args: "x, bins", Doc: "how many of the ascending bins are not above x", Body: `searchsorted(bins, x, "right")`},
	{As: &opSearch, Name: "searchsorted", Switches: [2]string{"right"}, Args: `a, v, side="left"`, Doc: `how many elements of the ascending vector a are below v; with side "right", not above it`, Stops: "searchsorted is not differentiable",
		Call: func(c *call) value {
			a, v := c.ref(0), c.ref(1)
			if s := c.t.Shape(a); len(s) != 1 {
				c.lo.fail(c.where(0), "shape", "searchsorted looks into a vector, this has shape %v", s)
			}
			c.ascends(0, "sort(a) ascends")
			side := c.str(2)
			if side != "left" && side != "right" {
				c.lo.fail(c.where(2), "type", `side is "left" or "right", not %q`, side)
			}
			return c.t.recordAs(opSearch, c.t.Shape(v), tensor.Int64, Attr{Flag: side == "right"}, a, v)
		},
		Run: func(c *run) {
			pool.Split(c.threads, 8*len(c.out), len(c.out), func(from, to int) {
				search(c.out[from:to], c.args[0], c.args[1][from:to], c.attr.Flag)
			})
		}},
}

// search counts for each v the elements of the ascending a that are below it, or not above it. NaN comes
// after all numbers.
func search(dst, a, v []float64, right bool) {
	all := len(a)
	a = a[:sort.Search(all, func(i int) bool { return a[i] != a[i] })]
	few := 8*len(v) < len(a) // then the keys of a take longer than what they save
	var numbers []uint64
	if !few {
		numbers = keysOf(a)
	}
	for len(v) > 0 {
		var keys [4]uint64
		n := min(len(v), len(keys))
		for i, x := range v[:n] {
			keys[i] = order.Key(x)
			if right && x == x {
				keys[i]++ // not above x is below what comes next
			}
		}
		var counts [4]int
		if few {
			for i, key := range keys[:n] {
				counts[i] = sort.Search(len(a), func(k int) bool { return order.NumberKey(a[k]) >= key })
			}
		} else {
			counts = below(numbers, &keys)
		}
		for i, x := range v[:n] {
			if right && x != x {
				counts[i] = all
			}
			dst[i] = float64(counts[i])
		}
		dst, v = dst[n:], v[n:]
	}
}

// keysOf are those of numbers.
func keysOf(a []float64) []uint64 {
	keys := make([]uint64, len(a))
	for i, x := range a {
		keys[i] = order.NumberKey(x)
	}
	return keys
}

// below counts the elements of an ascending vector that are less than each of four: four searches
// side by side, each of which would wait for what it reads, and without branches, of which every other
// one would be missed.
func below(a []uint64, keys *[4]uint64) [4]int {
	k0, k1, k2, k3 := keys[0], keys[1], keys[2], keys[3]
	var f0, f1, f2, f3 int
	for n := len(a); n > 0; {
		half := (n + 1) / 2
		b := a[half-1:]
		f0 += half & less(b[f0], k0)
		f1 += half & less(b[f1], k1)
		f2 += half & less(b[f2], k2)
		f3 += half & less(b[f3], k3)
		n -= half
	}
	return [4]int{f0, f1, f2, f3}
}

// less is -1 where x is less than y, 0 where it is not.
func less(x, y uint64) int {
	_, borrow := bits.Sub64(x, y, 0)
	return -int(borrow)
}

// trapezoidCall lowers trapezoid: over places, or at a distance.
func trapezoidCall(c *call) value {
	t, y := c.t, c.ref(0)
	s := t.Shape(y)
	if len(s) == 0 {
		c.fail("shape", "trapezoid needs an axis, this is a scalar")
	}
	axis := c.axis(c.int(3), len(s), 3)
	k := s[len(s)+axis]
	if k == 0 {
		c.fail("shape", "trapezoid of no elements: shape %v", s)
	}
	y = t.swap(y, axis, -1)
	mid := t.Apply(opMul, t.Const(0.5), t.Apply(opAdd, t.slice(y, -1, 1, k, 1), t.slice(y, -1, 0, k-1, 1)))
	h := c.ref(2)
	if c.given(1) {
		x := c.ref(1)
		xs := t.Shape(x)
		if len(xs) == len(s) && len(s) > 1 {
			x = t.swap(x, axis, -1)
		}
		if xs = t.Shape(x); len(xs) == 0 || last(xs) != k {
			c.lo.fail(c.where(1), "shape", "trapezoid needs a place for each value: y has shape %v, x %v", s, t.Shape(c.ref(1)))
		}
		h = t.Apply(opSub, t.slice(x, -1, 1, k, 1), t.slice(x, -1, 0, k-1, 1))
	}
	area := t.sumTo(t.Apply(opMul, mid, h), []int{-1}, true)
	return t.sumTo(t.swap(area, axis, -1), []int{axis}, false) // of one each
}

// interpCall checks the places and values of interp, whose body says the rest.
func interpCall(c *call) value {
	xp, fp := c.t.Shape(c.ref(1)), c.t.Shape(c.ref(2))
	if len(xp) != 1 || !xp.Equal(fp) || xp[0] == 0 {
		c.fail("shape", "interp needs as many places as values in two vectors: xp has shape %v, fp %v", xp, fp)
	}
	c.ascends(1, "i = argsort(xp); interp(x, xp[i], fp[i]) has both in order")
	return c.written()
}

// ascends demands that vector i does, if it is known by now: a search in another finds anything.
func (c *call) ascends(i int, hint string) {
	t, r := c.t, c.ref(i)
	if !t.known(r) || len(t.Axes(r)) > 0 {
		return
	}
	data := t.data(r)
	t.log.saw(t, r, nil, ascending)
	if k := descent(data); k > 0 {
		c.lo.advise(c.where(i), "type", hint, "%s needs a vector that ascends: element %d is %s, after %s", c.op.Name, k, formatFloat(data[k]), formatFloat(data[k-1]))
	}
}

// descent is where numbers, and NaN behind them, stop ascending; 0: nowhere.
func descent(x []float64) int {
	for k := 1; k < len(x); k++ {
		if x[k] < x[k-1] || x[k-1] != x[k-1] && x[k] == x[k] {
			return k
		}
	}
	return 0
}

// ascending reports whether numbers do.
func ascending(now, _ []float64) bool { return descent(now) == 0 }

// A short vector of at most mostTaps numbers slides over leastTapped places or more as a sum of slices,
// each times a number, which one tile program reads where they lie: windows that are written out for a
// product took ten times as long, and their gradient five times. Tests set leastTapped.
// Longer ones are opLagged where windows would be leastLagged numbers or more.
const mostTaps = 16

var leastTapped, leastLagged = 256, 1 << 14

// tapped is the sum of y[k] times what is k behind each place of x with so many zeros around it.
func (t *Tape) tapped(x, y Ref, zeros int) Ref {
	z := None
	x = t.zerosAround(x, zeros)
	m := last(t.Shape(y))
	n := last(t.Shape(x)) - m + 1
	for k := range m {
		term := t.Apply(opMul, t.slice(y, -1, k, k+1, 1), t.slice(x, -1, k, k+n, 1))
		if z == None {
			z = term
		} else {
			z = t.Apply(opAdd, z, term)
		}
	}
	return z
}

// convolution slides the shorter vector along the longer one, turned round or not.
func (c *call) convolution(turned bool) value {
	t := c.t
	vector := func(i int) Ref {
		x := t.asFloat(c.ref(i))
		s := t.Shape(x)
		if len(s) == 1 && s[0] == 0 {
			c.lo.fail(c.where(i), "shape", "%s takes vectors that have elements, this has shape %v", c.op.Name, s)
		}
		if len(s) > 1 {
			c.lo.fail(c.where(i), "shape", "%s takes vectors, this has shape %v", c.op.Name, s)
		}
		return t.reshape(x, tensor.Shape{1, 1, s.Size()})
	}
	x, y := vector(0), vector(1)
	swapped := last(t.Shape(x)) < last(t.Shape(y))
	if swapped {
		x, y = y, x
	}
	if turned {
		y = t.reverse(y)
	}
	n, m := last(t.Shape(x)), last(t.Shape(y))
	v := window{h: 1, w: n, kh: 1, kw: m, sh: 1, sw: 1, pw: m - 1, dh: 1, dw: 1, oh: 1, ow: n + m - 1}
	switch mode := c.str(2); mode {
	case "full", "same":
	case "valid":
		v.pw, v.ow = 0, n-m+1
	default:
		c.lo.fail(c.where(2), "type", `mode is "full", "same" or "valid", not %q`, mode)
	}
	var z Ref
	switch {
	case m <= mostTaps && v.ow >= leastTapped:
		z = t.tapped(t.reshape(x, tensor.Shape{n}), t.reshape(y, tensor.Shape{m}), v.pw)
	case m*v.ow >= leastLagged:
		z = t.lagged(t.zerosAround(t.reshape(x, tensor.Shape{n}), v.pw), t.reshape(y, tensor.Shape{m}))
	default:
		z = t.reshape(t.mm(t.reshape(y, tensor.Shape{1, m}), t.reshape(t.windows(x, v, 0), tensor.Shape{m, v.ow}), false, false), tensor.Shape{v.ow})
	}
	if c.str(2) == "same" {
		z = t.slice(z, -1, (m-1)/2, (m-1)/2+n, 1)
	}
	if swapped && !turned {
		z = t.reverse(z)
	}
	return z
}
