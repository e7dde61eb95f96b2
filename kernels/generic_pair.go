package kernels

import "math"

// mulPair is (ah+al)*(bh+bl) to about 2^-104.
func mulPair(ah, al, bh, bl float64) (h, l float64) {
	p := float64(ah * bh)
	l = math.FMA(ah, bh, -p) + math.FMA(ah, bl, float64(al*bh))
	h = p + l
	return h, l - (h - p)
}

// addPair is (ah+al)+(bh+bl).
func addPair(ah, al, bh, bl float64) (h, l float64) {
	s, e := twoSum(ah, bh)
	e += al + bl
	h = s + e
	return h, e - (h - s)
}

// divPair is (ah+al)/(bh+bl).
func divPair(ah, al, bh, bl float64) (h, l float64) {
	q, r := ratio(ah, al, bh, bl)
	h = q + r
	return h, r - (h - q)
}

// poly is p[0] + p[1] x + …
func poly(p []float64, x float64) float64 {
	y := p[len(p)-1]
	for i := len(p) - 2; i >= 0; i-- {
		y = math.FMA(y, x, p[i])
	}
	return y
}

// evenOdd is poly(p, x), the even and the odd powers side by side; x2 is x*x.
func evenOdd(p []float64, x, x2 float64) float64 {
	n := len(p) - 1
	y, z := p[n], p[n-1]
	for i := n - 2; i > 0; i -= 2 {
		y = math.FMA(y, x2, p[i])
		z = math.FMA(z, x2, p[i-1])
	}
	if n%2 == 0 { // p[0] is left, and belongs to y
		return math.FMA(z, x, math.FMA(y, x2, p[0]))
	}
	return math.FMA(y, x, z)
}

// rowAt evaluates a row {value in two parts, polynomial of the divided difference}
// at distance d.
func rowAt(row []float64, d float64) (h, l float64) {
	h = row[0]
	l = math.FMA(d, poly(row[2:], d), row[1])
	s := h + l
	return s, l - (s - h)
}
