package kernels

import (
	"math"
	"sync"
)

// Pow is x to the power y for every pair of elements.
var Pow = func(dst, x, y []float64) { eachPair(dst, x, y, PowOf) }

// PowOf is Pow of one pair. Where the power is a float64 it is exact.
func PowOf(x, y float64) float64 {
	if logOrdinary(x) && y-y == 0 {
		return powPositive(x, y)
	}
	return powSpecial(x, y)
}

// powPositive is x^y for positive finite x and finite y.
func powPositive(x, y float64) float64 {
	h, l := logLong(x)
	p := float64(y * h)
	pl := math.FMA(y, l, math.FMA(y, h, -p))
	if !(math.Abs(p) < 800) { // 0 or infinite
		p, pl = math.Copysign(800, p), 0
	}
	e, _, n := expPair(p, pl)
	return scale(e, n)
}

// PowFar is x^y = z * 2^n for positive finite x, wherever the power leaves the range; false: that far
// nothing of n is left.
func PowFar(x, y float64) (z float64, n int64, ok bool) {
	h, l := logLong(x)
	p := float64(y * h)
	if !(math.Abs(p) < 0x1p56) {
		return 0, 0, false
	}
	z, n = ExpFar(p, math.FMA(y, l, math.FMA(y, h, -p)))
	return z, n, true
}

// powSpecial is x^y where x is negative, zero, infinite or NaN, or y is not finite.
func powSpecial(x, y float64) float64 {
	switch {
	case x == 1 || y == 0:
		return 1
	case x != x || y != y:
		return math.NaN()
	case math.IsInf(y, 0):
		switch ax := math.Abs(x); {
		case ax == 1:
			return 1
		case ax > 1 == (y > 0):
			return math.Inf(1)
		}
		return 0
	}
	whole := math.Floor(y) == y
	odd := whole && math.Floor(y/2) != y/2
	var p float64
	switch ax := math.Abs(x); {
	case ax == 0 == (y > 0) && (ax == 0 || ax > math.MaxFloat64):
		p = 0
	case ax == 0 || ax > math.MaxFloat64:
		p = math.Inf(1)
	case !whole:
		return math.NaN()
	default:
		p = powPositive(ax, y)
	}
	if odd && math.Signbit(x) {
		p = -p
	}
	return p
}

// PowDerivative is PowDerivativeOf for every triple of elements.
var PowDerivative = func(dst, order, x, y []float64) {
	r := powRooms.Get().(*powRoom)
	for i := 0; i < len(dst); i += len(r.e) {
		j := min(i+len(r.e), len(dst))
		r.run(dst[i:j], order[i:j], x[i:j], y[i:j])
	}
	powRooms.Put(r)
}

// powOrder is what an order by y counts in the orders of PowDerivativeOf.
const powOrder = 1 << 12

// PowDerivativeOf is the derivative of x^y of order n by x and m by y, with order n + 4096 m:
// x^(y-n) Σ_j m!/(m-j)! c_j log(x)^(m-j), where c_j are the Taylor coefficients of
// y(y-1)…(y-n+1) at y. What would leave the range on the way is multiplied in halves, and what
// y-n loses in rounding comes back as a factor. At (0, 0), where x^y has no limit, every
// derivative is 0.
func PowDerivativeOf(order, x, y float64) float64 {
	if order != math.Trunc(order) || !(order >= 0 && order < powOrder*powOrder) {
		return math.NaN()
	}
	n, m := int(order)%powOrder, int(order)/powOrder
	e, rest := PowExponent(y, n)
	log := 0.0
	if m > 0 || rest != 0 {
		log = LogOf(math.Abs(x))
	}
	switch {
	case order == 0:
		return PowOf(x, y)
	case m == 0 && powFactor(n, 0, y, 0) == 0:
		return 0
	case x < 0 && m > 0:
		return math.NaN()
	case x == 0 && (y == 0 || e > 0):
		return 0
	case x == 0 || math.IsInf(x, 1): // the highest power of the logarithm rules
		p := PowOf(x, e)
		if p == 0 {
			return 0
		}
		var room [8]float64
		c := powTaylor(&room, n, m, y)
		for j, c := range c {
			if c == 0 {
				continue
			}
			for range m - j {
				c *= log
			}
			return c * p
		}
		return 0
	case math.IsInf(y, 0):
		return farDerivative(n, m, x, y, log)
	}
	a := restored(powFactor(n, m, y, log), rest, log)
	if x < 0 && y-y == 0 { // e may have lost that it is odd
		if math.Floor(y) != y {
			return math.NaN()
		}
		if x = -x; math.Floor(y/2) != y/2 != (n%2 == 1) {
			a = -a
		}
	}
	return scaledPower(a, x, e)
}

// farDerivative is what PowDerivativeOf tends to as y grows without end: as the power does, or, at 1, as
// what y comes to in the sum.
func farDerivative(n, m int, x, y, log float64) float64 {
	if p := PowOf(x, y); p == 0 {
		return 0
	} else if p == p && (log != 0 || m == 0) && math.Abs(x) != 1 {
		return math.Pow(y, float64(n)) * math.Pow(log, float64(m)) * p
	}
	switch {
	case x != x:
		return x
	case n > m:
		return math.Pow(y, float64(n-m))
	case n < m:
		return 0
	}
	f := 1.0 // n!
	for k := range n {
		f *= float64(k + 1)
	}
	return f
}

// PowExponent is y - n, and what it loses in rounding.
func PowExponent(y float64, n int) (e, rest float64) {
	e, rest = twoSum(y, -float64(n))
	if rest-rest != 0 {
		rest = 0
	}
	return e, rest
}

// powTaylor is the Taylor coefficients of y(y-1)…(y-n+1) at y, as far as of order m, in
// room where there is enough.
func powTaylor(room *[8]float64, n, m int, y float64) []float64 {
	c := room[:]
	if m >= len(room) {
		c = make([]float64, m+1)
	}
	c = c[:m+1]
	c[0] = 1
	for i := range n {
		f := y - float64(i)
		for j := m; j > 0; j-- {
			c[j] = float64(c[j]*f) + c[j-1]
		}
		c[0] *= f
	}
	return c
}

// powFactor is the sum in the derivative of x^y.
func powFactor(n, m int, y, log float64) float64 {
	if n == 1 && m == 0 {
		return y
	}
	var room [8]float64
	c := powTaylor(&room, n, m, y)
	sum, falling := 0.0, 1.0
	for j := range c { // falling is m!/(m-j)!
		sum = float64(sum*log) + float64(falling*c[j])
		falling *= float64(m - j)
	}
	return sum
}

// restored is a x^rest, for a power that is a number; others are 0 or infinite with any rest.
func restored(a, rest, log float64) float64 {
	if r := float64(rest * log); math.Abs(r) < 0x1p-30 {
		return math.FMA(a, r, a)
	}
	return a
}

// ordinaryPower reports whether a power multiplies without loss.
func ordinaryPower(p float64) bool { p = math.Abs(p); return p > 0x1p-960 && p <= math.MaxFloat64 }

// scaledPower is a x^y.
func scaledPower(a, x, y float64) float64 {
	p := PowOf(x, y)
	if ordinaryPower(p) || p != p || a == 0 {
		return a * p
	}
	half := PowOf(math.Abs(x), y/2)
	if half == 0 && math.IsInf(a, 0) { // of y^n, which vanishes beside x^y
		a = math.Copysign(1, a)
	}
	return math.Copysign(1, p) * (a * half * half)
}

// A powRoom holds the exponents of a tile and what they lost in rounding, the powers and logarithms.
type powRoom struct{ e, rest, p, log [256]float64 }

var powRooms = sync.Pool{New: func() any { return new(powRoom) }}

// run is PowDerivativeOf with the powers and logarithms of all elements at once, where
// they are of one order.
func (r *powRoom) run(dst, order, x, y []float64) {
	k, lost := order[0], false
	n, m := 0, 0
	if k > 0 && k < powOrder*powOrder {
		n, m = int(k)%powOrder, int(k)/powOrder
	}
	for i, y := range y {
		e, rest := PowExponent(y, n)
		r.e[i], r.rest[i] = e, rest
		lost = lost || rest != 0
	}
	Pow(r.p[:len(x)], x, r.e[:len(x)])
	if m > 0 || lost {
		Log(r.log[:len(x)], x)
	}
	byX, byY := k == 1, k == powOrder
	for i := range dst {
		x, y := x[i], y[i]
		if (byX || byY) && order[i] == k && logOrdinary(x) && y-y == 0 && ordinaryPower(r.p[i]) {
			// The gradients of x^y, whose factors are y and log(x), took half as long again without this.
			switch l := r.log[i]; {
			case byX && y != 0:
				dst[i] = restored(y, r.rest[i], l) * r.p[i] // of a rest of 0 whatever l is
				continue
			case byY && l != 0:
				dst[i] = l * r.p[i]
				continue
			}
		}
		if order[i] == k && k == float64(n+powOrder*m) && k > 0 && logOrdinary(x) && y-y == 0 && ordinaryPower(r.p[i]) {
			log := 0.0
			if m > 0 || r.rest[i] != 0 {
				log = r.log[i]
			}
			if a := powFactor(n, m, y, log); a != 0 {
				dst[i] = restored(a, r.rest[i], log) * r.p[i]
				continue
			}
		}
		if nan := r.p[i]; nan != nan && x == x && y == y && order[i] == k && k == float64(n+powOrder*m) && k > 0 && m == 0 && powFactor(n, 0, y, 0) != 0 {
			dst[i] = nan // of a negative number to a fractional power
			continue
		}
		dst[i] = PowDerivativeOf(order[i], x, y)
	}
}

// logLong is log(x) = h + l to about 2^-68 of itself. After split's table a
// second one, of steps of 1/128, leaves |f| < 1/224.
func logLong(x float64) (h, l float64) {
	m, e, j := split(x)
	f := math.FMA(m, logRecip[j], -1) // exact
	id := math.FMA(f, 128, magic)
	i := math.Float64bits(id) & 15
	g := powRecip[i]
	p := float64(f * g)
	fl := math.FMA(f, g, -p)
	f = p + (g - 1)
	fl += p - (f - (g - 1)) // f + fl is (1+f)*g - 1
	s := math.FMA(e, ln2Hi, logHi[j]) + powHi[i]
	l = math.FMA(e, ln2Lo, logLo[j]) + powLo[i]
	f2 := float64(f * f)
	f2l := math.FMA(f, f, -f2)
	q := float64(f2 * f)
	l = math.FMA(q, powTail(f, f2), l)
	l = math.FMA(-0.5, f2l, l) + math.FMA(-fl, f, fl)
	t := s + f
	l += f - (t - s)
	h = math.FMA(-0.5, f2, t)
	l += math.FMA(-0.5, f2, t-h) // exact
	f = h + l
	return f, l - (f - h)
}

// powTail is (log1p(f)-f+f^2/2)/f^3.
func powTail(f, f2 float64) float64 {
	even := math.FMA(math.FMA(powPoly[4], f2, powPoly[2]), f2, powPoly[0])
	odd := math.FMA(math.FMA(powPoly[5], f2, powPoly[3]), f2, powPoly[1])
	return math.FMA(odd, f, even)
}
