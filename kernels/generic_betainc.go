package kernels

import "math"

// The regularised incomplete beta function I_x(a,b) is, with t = x exp(-w) and y = 1-x, x^a y^b/B(a,b) times the integral
// from 0 to infinity of
//
//	exp(-a w) ((1-t)/y)^(b-1) / y
//
// which is taken where I is the small side of I and 1-I = I_y(b,a), by the quadrature of the incomplete gamma function, or
// as a power series with terms of one sign (DLMF 8.17.8). Derivatives by a and b are integrals of what is multiplied by
// polynomials in log(t) and log(1-t), as for the incomplete gamma function.

// A betaPoint is where I is asked for; x and y are in two parts, for of one of them the other is rounded.
type betaPoint struct{ a, b, x, xl, y, yl float64 }

func betaAt(a, b, x float64) *betaPoint {
	y, yl := twoSum(1, -x)
	return &betaPoint{a, b, x, 0, y, yl}
}

// turned is the point from the other side.
func (p *betaPoint) turned() *betaPoint { return &betaPoint{p.b, p.a, p.y, p.yl, p.x, p.xl} }

// A betaBy names I or a derivative of it.
type betaBy int

const (
	betaValue betaBy = iota
	betaByA
	betaByB
	betaByAA
	betaByAB
	betaByBB
)

// turned is what it is from the other side.
func (k betaBy) turned() betaBy {
	switch k {
	case betaByA, betaByB:
		return betaByA + betaByB - k
	case betaByAA, betaByBB:
		return betaByAA + betaByBB - k
	}
	return k
}

// BetaincOf is I_x(a,b).
func BetaincOf(a, b, x float64) float64 {
	switch {
	case !(a >= 0 && b >= 0 && x >= 0 && x <= 1) || a == 0 && b == 0 || a > math.MaxFloat64 && b > math.MaxFloat64:
		return math.NaN()
	case x == 0:
		return 0
	case x == 1 || a == 0 || b > math.MaxFloat64:
		return 1
	case b == 0 || a > math.MaxFloat64:
		return 0
	}
	p := betaAt(a, b, x)
	switch q := p.turned(); {
	case p.isNear():
		return p.near(betaValue)
	case q.isNear():
		h, l, n, s := q.nearParts()
		return byUnit(h, l, n, 1, 1+s[betaValue])
	default:
		if c, _ := p.slack(); c < 0 {
			return 1 - q.small(betaValue)
		}
		return p.small(betaValue)
	}
}

// The derivatives of I_x(a,b) by its parameters.
func BetaincByAOf(a, b, x float64) float64  { return betaDerivative(a, b, x, betaByA) }
func BetaincByBOf(a, b, x float64) float64  { return betaDerivative(a, b, x, betaByB) }
func BetaincByAAOf(a, b, x float64) float64 { return betaDerivative(a, b, x, betaByAA) }
func BetaincByABOf(a, b, x float64) float64 { return betaDerivative(a, b, x, betaByAB) }
func BetaincByBBOf(a, b, x float64) float64 { return betaDerivative(a, b, x, betaByBB) }

func betaDerivative(a, b, x float64, by betaBy) float64 {
	switch {
	case !(a >= 0 && b >= 0 && x >= 0 && x <= 1) || a == 0 && b == 0 || a > math.MaxFloat64 && b > math.MaxFloat64:
		return math.NaN()
	case x == 0 || x == 1 || a > math.MaxFloat64 || b > math.MaxFloat64:
		return 0
	case a == 0 && (by == betaByB || by == betaByBB) || b == 0 && (by == betaByA || by == betaByAA):
		return 0
	}
	const least = 1e-300 // as at 0, where ψ is infinite
	p := betaAt(max(a, least), max(b, least), x)
	// the side on which what the density is multiplied by is of one sign
	other := p.riseOfX() > 0
	if by == betaByB || by == betaByBB {
		other = p.turned().riseOfX() < 0
	}
	if other {
		return -p.turned().small(by.turned())
	}
	return p.small(by)
}

// BetaDensityOf is x^(a-1) (1-x)^(b-1)/B(a,b), the slope of I_x(a,b) in x. Its own slope at an end is a+b-1 times that of
// a-1 and b less that of a and b-1: there one of them may be anything, elsewhere it is 0.
func BetaDensityOf(a, b, x float64) float64 {
	switch {
	case !(x >= 0 && x <= 1) || a != a || b != b || a > math.MaxFloat64 && b > math.MaxFloat64:
		return math.NaN()
	case x == 0 || x == 1:
		if x == 1 {
			a, b = b, a
		}
		switch {
		case a == 1:
			return b
		case a > 1 || a <= 0 && a == math.Floor(a) || b <= 0:
			return 0
		}
		return math.Inf(1) * GammaOf(a)
	case a <= 0 || b <= 0 || a > math.MaxFloat64 || b > math.MaxFloat64:
		return 0
	}
	p := betaAt(a, b, x)
	h, l, n := p.factor(-1600) // of which x and y may be 2^-1127
	if x < 0x1p-500 {          // and so 1/x infinite
		p.x, n = float64(x*0x1p600), n+600
	}
	h, l = divPair(h, l, p.x, p.xl)
	h, l = divPair(h, l, p.y, p.yl)
	h, l = mulPair(h, l, min(a, b), 0)
	return scale(h+l, max(n, -2000))
}

// LogOverBetaOf is log(x) - ψ(a) + ψ(a+b): the derivative of the logarithm of the density by a.
func LogOverBetaOf(a, b, x float64) float64 {
	if !(a > 0 && b > 0 && x > 0 && x < 1 && a <= math.MaxFloat64 && b <= math.MaxFloat64) {
		return LogOf(x) - DigammaOf(a) + DigammaOf(a+b)
	}
	return betaAt(a, b, x).riseOfX()
}

// Log1mOverBetaOf is log(1-x) - ψ(b) + ψ(a+b).
func Log1mOverBetaOf(a, b, x float64) float64 {
	if !(a > 0 && b > 0 && x > 0 && x < 1 && a <= math.MaxFloat64 && b <= math.MaxFloat64) {
		return Log1pOf(-x) - DigammaOf(b) + DigammaOf(a+b)
	}
	return betaAt(a, b, x).turned().riseOfX()
}

// slack is a y - b x, positive left of the mean.
func (p *betaPoint) slack() (h, l float64) {
	ah, al := mulPair(p.y, p.yl, p.a, 0)
	bh, bl := mulPair(p.x, p.xl, p.b, 0)
	return addPair(ah, al, -bh, -bl)
}

// factor is x^a y^b/B(a,b) over the lesser of a and b, as 2^n (h+l); 0 where its logarithm is below floor, or it is below
// 2^-1400. With both large, and c the slack, it is by Stirling's series exp(-a φ(-c/a) - b φ(c/b)), where φ(m) is
// m - log(1+m), and a root.
func (p *betaPoint) factor(floor float64) (h, l float64, n int64) {
	least, most := p.a, p.b
	if least > most {
		least, most = most, least
	}
	if least < powersBelow {
		xh, xl := logOfPart(p.x, p.xl, p.y, p.yl)
		yh, yl := logOfPart(p.y, p.yl, p.x, p.xl)
		if float64(p.a*xh)+float64(p.b*yh) < -1e5 {
			return 0, 0, 0
		}
		xh, xl = mulPair(xh, xl, p.a, 0)
		yh, yl = mulPair(yh, yl, p.b, 0)
		h, l = addPair(xh, xl, yh, yl)
		gh, gl := lgammaRise(most, least)
		h, l = addPair(h, l, gh, gl)
		gh, gl = lgammaAbove(least)
		h, l = addPair(h, l, -gh, -gl)
		if h < floor {
			return 0, 0, 0
		}
		return expPair(h, l)
	}
	ch, cl := p.slack()
	fh, fl := ratioExcess(-ch, -cl, p.a, p.b, p.x, p.xl)
	gh, gl := ratioExcess(ch, cl, p.b, p.a, p.y, p.yl)
	if !(float64(p.a*fh)+float64(p.b*gh) < 1000) {
		return 0, 0, 0
	}
	fh, fl = mulPair(fh, fl, p.a, 0)
	gh, gl = mulPair(gh, gl, p.b, 0)
	h, l = addPair(-fh, -fl, -gh, -gl)
	h, l = addPair(h, l, stirlingRest(p.a+p.b)-stirlingRest(p.a)-stirlingRest(p.b), 0)
	if h < floor {
		return 0, 0, 0
	}
	h, l, n = expPair(h, l)
	// the root of ab/(2 pi (a+b)), over the least
	dh, dl := divPair(least, 0, most, 0)
	dh, dl = addPair(1, 0, dh, dl)
	dh, dl = mulPair(dh, dl, least, 0)
	h, l = overRoot(h, l, dh)
	return h, l - float64(float64(0.5*h)*(dl/dh)), n
}

// ratioExcess is φ(m) for m = (mh+ml)/a where 1+m is x (1+b/a).
func ratioExcess(mh, ml, a, b, x, xl float64) (h, l float64) {
	mh, ml = divPair(mh, ml, a, 0)
	if math.Abs(mh) <= 0.3 {
		return log1pExcess(mh, ml)
	}
	if q := x * (1 + b/a); !(q > 0x1p-1000 && q < 0x1p900) {
		return math.Inf(1), 0
	}
	rh, rl := divPair(b, 0, a, 0)
	rh, rl = addPair(1, 0, rh, rl)
	rh, rl = mulPair(rh, rl, x, xl)
	rh, rl = logPairOf(rh, rl)
	return addPair(mh, ml, -rh, -rl)
}

// logOfPart is log(x), of which 1-x is y.
func logOfPart(x, xl, y, yl float64) (h, l float64) {
	if y <= 0.3 {
		return log1pPair(-y, -yl)
	}
	return logPairOf(x, xl)
}

// log1pPair is log(1+m) to 2^-65 of itself, for m > -0.3.
func log1pPair(mh, ml float64) (h, l float64) {
	if mh > 0.3 {
		h, l = addPair(1, 0, mh, ml)
		return logPairOf(h, l)
	}
	h, l = log1pExcess(mh, ml)
	return addPair(mh, ml, -h, -l)
}

// lgammaRise is log(Γ(a+b)/Γ(a)) to about 2^-60 of itself, for b < powersBelow, b <= a.
func lgammaRise(a, b float64) (h, l float64) {
	sh, sl := a, 0.0 // a raised
	for sh < 8 {
		mh, ml := divPair(b, 0, sh, sl)
		mh, ml = log1pPair(mh, ml)
		h, l = addPair(h, l, -mh, -ml)
		sh, sl = addPair(sh, sl, 1, 0)
	}
	// (a-1/2) log(1+b/a) + b log(a+b) - b, and what is left of Stirling's series
	mh, ml := divPair(b, 0, sh, sl)
	mh, ml = log1pPair(mh, ml)
	ah, al := addPair(sh, sl, -0.5, 0)
	mh, ml = mulPair(mh, ml, ah, al)
	h, l = addPair(h, l, mh, ml)
	ah, al = addPair(sh, sl, b, 0)
	mh, ml = logPairOf(ah, al)
	mh, ml = addPair(mh, ml, -1, 0)
	mh, ml = mulPair(mh, ml, b, 0)
	h, l = addPair(h, l, mh, ml)
	return addPair(h, l, fallOfPowers(stirling[:10], 1, sh, b), 0)
}

// fallOfPowers is the sum of c_k ((a+b)^-m - a^-m) for m = first, first+2, …
func fallOfPowers(c []float64, first int, a, b float64) float64 {
	u, v := 1/(a+b), 1/a
	sum := 0.0
	m := first
	mixed, un := 0.0, 1.0 // the sum of u^i v^(m-1-i)
	for range first {
		mixed = float64(mixed*v) + un
		un *= u
	}
	for _, c := range c {
		sum += float64(c * mixed)
		for range 2 {
			mixed = float64(mixed*v) + un
			un *= u
		}
		m += 2
	}
	return -sum * (b * u) * v
}

// digammaRise is ψ(a+b) - ψ(a).
func digammaRise(a, b float64) float64 {
	sum := 0.0
	for ; a < 8; a++ {
		sum += b / a / (a + b)
	}
	return sum + (Log1pOf(b/a) + digammaRest(a, b))
}

// digammaRest is ψ(a+b) - ψ(a) - log(1+b/a), for a >= 8: of 1/2a + 1/12a^2 - …
func digammaRest(a, b float64) float64 {
	return 0.5*(b/(a+b))/a - fallOfPowers(digammaSeries[:10], 2, a, b)
}

// trigammaFall is ψ'(a) - ψ'(a+b).
func trigammaFall(a, b float64) float64 {
	sum := 0.0
	for ; a < 10; a++ {
		u, v := 1/a, 1/(a+b)
		sum += float64(float64(float64(b*u)*v) * (u + v))
	}
	u, v := 1/a, 1/(a+b)
	return sum + (float64(float64(float64(b*u)*v)*(1+float64(0.5*(u+v)))) - fallOfPowers(bernoulli[:10], 3, a, b))
}

// riseOfX is log(x) - ψ(a) + ψ(a+b).
func (p *betaPoint) riseOfX() float64 {
	if p.a >= 8 {
		c, _ := p.slack()
		if m := c / p.a; math.Abs(m) < 0.5 {
			return Log1pOf(-m) + digammaRest(p.a, p.b)
		}
	}
	h, l := logOfPart(p.x, p.xl, p.y, p.yl)
	return h + (l + digammaRise(p.a, p.b))
}

// A betaShape is what the density is multiplied by in a derivative: with λ and κ what log(t) and log(1-t) are above their
// means, λ, κ, λ² less a variance, and so on. For small b, ψ is about -1/b: there it is b times that, of κ-1/b.
type betaShape struct {
	by             betaBy
	x, y           float64 // λ and κ at x
	curve          float64 // less a variance, or a covariance
	small          bool
	b              float64
	needsX, needsY bool
}

// shape is that at p, or for raised of x^a y^b/(a B(a,b)), of which the mean of λ is that of a+1.
func (p *betaPoint) shape(by betaBy, raised bool) *betaShape {
	f := &betaShape{by: by, b: p.b, needsX: by != betaValue && by != betaByB && by != betaByBB, needsY: by != betaValue && by != betaByA && by != betaByAA}
	f.small = f.needsY && p.b < 0.5 && p.b < p.a
	s := p.a + p.b
	if f.needsX {
		if raised {
			h, l := logOfPart(p.x, p.xl, p.y, p.yl)
			f.x = h + (l + (DigammaOf(s) - DigammaOf(1+p.a)))
		} else {
			f.x = p.riseOfX()
		}
	}
	switch {
	case f.small:
		h, l := logOfPart(p.y, p.yl, p.x, p.xl)
		f.y = h + (l + (DigammaOf(s) - DigammaOf(1+p.b)))
	case f.needsY:
		f.y = p.turned().riseOfX()
	}
	switch {
	case by == betaByAA && raised:
		f.curve = trigamma(s) - trigamma(1+p.a)
	case by == betaByAA:
		f.curve = -trigammaFall(p.a, p.b)
	case by == betaByAB:
		f.curve = trigamma(s)
	case by == betaByBB && f.small:
		f.curve = trigamma(s) - trigamma(1+p.b)
	case by == betaByBB:
		f.curve = -trigammaFall(p.b, p.a)
	}
	return f
}

// of is that where log(t) is w below log(x), and log(1-t) z above log(y).
func (f *betaShape) of(w, z float64) float64 {
	w, z = f.x-w, f.y+z
	switch f.by {
	case betaByA:
		return w
	case betaByAA:
		return float64(w*w) + f.curve
	case betaByB:
		if f.small {
			return 1 + float64(f.b*z)
		}
		return z
	case betaByAB:
		if f.small {
			return float64(f.b*(float64(w*z)+f.curve)) + w
		}
		return float64(w*z) + f.curve
	case betaByBB:
		if f.small {
			return float64(f.b*(float64(z*z)+f.curve)) + 2*z
		}
		return float64(z*z) + f.curve
	}
	return 1
}

// small is I or a derivative, the integral from 0 to x.
func (p *betaPoint) small(by betaBy) float64 {
	if p.isNear() {
		return p.near(by)
	}
	if q := p.turned(); q.isNear() {
		return -q.near(by.turned())
	}
	h, l, n := p.factor(-780)
	if h == 0 {
		return 0
	}
	least := min(p.a, p.b)
	if by == betaValue {
		if sum, ok := p.series(); ok {
			return byUnit(h, l, n, least/p.a, sum)
		}
	}
	f := p.shape(by, p.a < 1)
	if p.a >= 1 {
		if f.small {
			least /= p.b
		}
		return byUnit(h, l, n, least, p.integral(f))
	}
	// I_x(a,b) is I_x(a+1,b) and x^a y^b/(a B(a,b)); the first one's factor is x (a+b) times that
	q := *p
	q.a++
	g := q.shape(by, false)
	v := p.x * (p.a + p.b) * q.integral(g)
	if g.small && !f.small {
		v /= p.b
	}
	if f.small {
		least /= p.b
	}
	return byUnit(h, l, n, least/p.a, f.of(0, 0)+v)
}

// mostBetaTerms is up to how many terms the power series is summed: the quadrature takes longer.
const mostBetaTerms = 200

// series is 1 + x (a+b)/(a+1) (1 + x (a+b+1)/(a+2) (1 + …)), by which x^a y^b/(a B(a,b)) is multiplied; false where it has
// too many terms.
func (p *betaPoint) series() (sum float64, ok bool) {
	s, t := p.a+p.b, p.a+1
	if p.x > 0.9 || p.x*s > 0.9*t {
		return 0, false
	}
	terms, least := 0.0, 1.0
	for ; least > 0x1p-56; terms++ {
		if terms == mostBetaTerms {
			return 0, false
		}
		least *= p.x * ((s + terms) / (t + terms))
	}
	sum, slope := 1.0, 0.0 // and its derivative by log(x)
	for k := terms; k >= 0; k-- {
		r := p.x * ((s + k) / (t + k))
		slope = r * (sum + slope)
		sum = math.FMA(r, sum, 1)
	}
	return sum + float64(slope*(p.xl/p.x)), true
}

// integral is that of exp(-a w) ((1-t)/y)^(b-1)/y, t = x exp(-w), and of a shape, for a >= 1. The exponent is
// -(ay-bx+x)/y w - (b-1) (x/y (exp(-w)-1+w) + φ(q)) with 1+q = (1-t)/y: for b > 1 a sum of numbers of one sign.
func (p *betaPoint) integral(f *betaShape) float64 {
	c, _ := p.slack()
	fall, bend, r := (c+p.x)/p.y, p.b-1, p.x/p.y
	unit := 1 / p.a
	if bend > 0 {
		unit = 2 * p.y / ((c + p.x) + math.Sqrt(float64((c+p.x)*(c+p.x))+float64(2*bend*p.x)))
	}
	sum, low := 0.0, 0.0
	for i := range &halfLine {
		w := float64(halfLine[i][0] * unit)
		excess := expm1Excess(-w)
		q := w - excess
		if w > 0.6 {
			q = -Expm1Of(-w)
		}
		q *= r
		var v float64
		if bend > 0 {
			v = ExpOf(-float64(fall*w) - float64(bend*(float64(r*excess)+log1pExcessOf(q))))
		} else {
			v = ExpOf(float64(bend*Log1pOf(q)) - halfLine[i][0])
		}
		v *= halfLine[i][1]
		switch {
		case f.needsY:
			v *= f.of(w, Log1pOf(q))
		case f.needsX:
			v *= f.of(w, 0)
		}
		s, e := twoSum(sum, v)
		sum, low = s, low+e
	}
	return (sum + low) * (unit / p.y)
}

// isNear reports whether I is 1 less a power series that falls at once.
func (p *betaPoint) isNear() bool { return p.b < 1 && p.y*max(p.a, 1) < 0.1 }

// nearLog is the logarithm of E = y^b/(b B(a,b)).
func (p *betaPoint) nearLog() (h, l float64) {
	a, b := p.a, p.b
	h, l = logOfPart(p.y, p.yl, p.x, p.xl)
	h, l = mulPair(h, l, b, 0)
	var rh, rl float64
	if b <= a {
		rh, rl = lgammaRise(a, b)
		fh, fl := lgammaAbove(b)
		rh, rl = addPair(rh, rl, -fh, -fl)
	} else { // Γ(a+b)/(Γ(a) Γ(b+1)) is a/b Γ(a+b)/(Γ(b) Γ(a+1))
		rh, rl = lgammaRise(b, a)
		fh, fl := lgammaAbove(a)
		rh, rl = addPair(rh, rl, -fh, -fl)
		qh, ql := divPair(a, 0, b, 0)
		qh, ql = logPairOf(qh, ql)
		rh, rl = addPair(rh, rl, qh, ql)
	}
	h, l = addPair(h, l, rh, rl)
	if h < -780 {
		return -780, 0
	}
	return h, l
}

// nearSeries is b Σ (1-a)_n y^n/(n! (b+n)) and its derivatives.
func (p *betaPoint) nearSeries() (s [betaByBB + 1]float64) {
	a, b := p.a, p.b
	c, ca, caa := 1.0, 0.0, 0.0
	for n := 1.0; n < 20; n++ {
		caa = float64(caa*(n-a)) - 2*ca
		ca = float64(ca*(n-a)) - c
		c *= n - a
		t := p.y / n
		c, ca, caa = c*t, ca*t, caa*t
		d := 1 / (b + n)
		u := float64(n*d) * d
		s[betaValue] += float64(c * b * d)
		s[betaByA] += float64(ca * b * d)
		s[betaByAA] += float64(caa * b * d)
		s[betaByB] += float64(c * u)
		s[betaByAB] += float64(ca * u)
		s[betaByBB] -= 2 * float64(c*u*d)
	}
	return s
}

// nearParts is E = 2^n (h+l) and the series.
func (p *betaPoint) nearParts() (h, l float64, n int64, s [betaByBB + 1]float64) {
	h, l, n = expPair(p.nearLog())
	return h, l, n, p.nearSeries()
}

// near is 1-ES or a derivative, where E is near 1 for small b, and S = 1 + b Σ (1-a)_n y^n/(n! (b+n)).
func (p *betaPoint) near(by betaBy) float64 {
	a, b := p.a, p.b
	if by == betaValue {
		s := p.nearSeries()
		uh, ul := expm1Pair(p.nearLog())
		vh, vl := addPair(1, 0, uh, ul)
		vh, vl = mulPair(vh, vl, s[betaValue], 0)
		uh, ul = addPair(-uh, -ul, -vh, -vl)
		return uh + ul
	}
	h, l, n, s := p.nearParts()
	all := 1 + s[betaValue]
	yh, yl := logOfPart(p.y, p.yl, p.x, p.xl)
	gb := yh + (yl + (DigammaOf(a+b) - DigammaOf(1+b)))
	var ga, gaa float64
	small := a < 0.5 && a < b // of E/a and Γ(a+1), for there 1/a² would cancel
	if small {
		ga, gaa = DigammaOf(a+b)-DigammaOf(1+a), trigamma(a+b)-trigamma(1+a)
	} else {
		ga, gaa = digammaRise(a, b), -trigammaFall(a, b)
	}
	var v, more float64
	switch by {
	case betaByA:
		v, more = float64(ga*all)+s[by], all
	case betaByB:
		v = float64(gb*all) + s[by]
	case betaByAA:
		v, more = float64((float64(ga*ga)+gaa)*all)+2*float64(ga*s[betaByA])+s[by], 2*(float64(ga*all)+s[betaByA])
	case betaByAB:
		v, more = float64((float64(ga*gb)+trigamma(a+b))*all)+(float64(ga*s[betaByB])+float64(gb*s[betaByA]))+s[by], float64(gb*all)+s[betaByB]
	default:
		v = float64((float64(gb*gb)+(trigamma(a+b)-trigamma(1+b)))*all) + 2*float64(gb*s[betaByB]) + s[by]
	}
	if small {
		return byUnit(h, l, n, -1/a, float64(a*v)+more)
	}
	return byUnit(h, l, n, -1, v)
}
