package main

import "nabla/kernels/_asm/kit"

// farTable gives the i-th column for every k.
var farTable func(k []v) func(i int) []v

// erfinv writes what is the last part of the inverses of erf, and of their slopes.
func erfinv() {
	for _, f := range []struct{ name, near, far, last string }{
		{"erfinvBy", "erfinvNear", "erfinvFar", "more"},
		{"quantileBy", "quantileNear", "quantileFar", "more"},
		{"erfinvSlopeBy", "erfinvSlopeNear", "erfinvSlopeFar", "s"},
	} {
		inPairs(kit.Map{
			Name: f.name, Doc: "\tfor i, a := range a[:len(dst)] { dst[i] = " + f.name + "Of(a, log[i], " + f.last + "[i]) }", Args: "a, log, " + f.last,
			Setup: func() {
				setup(nil, nil)
				farTable = tableOf(f.far, columnsOf(f.far)...)
			},
		}, func(x [][]v) []v { return inverseOf(f.near, f.far, f.last == "s", x) })
	}
}

// inverseOf is inverseOf of generic_erfinv.go, of vectors {a, log, more}, or erfinvSlopeByOf of {a, log, s}.
func inverseOf(near, far string, slopes bool, x [][]v) []v {
	var t, w, k []v
	for _, x := range x {
		t = append(t, xor(x[1], bits(signBit)))
	}
	w = each(t, func(_ int, t v) v { return sqrt(t) })
	k = each(w, func(_ int, w v) v { return shiftRight(w, 51) })
	column := farTable(k)
	d := column(0)
	d = each(w, func(i int, w v) v { return sub(w, d[i]) })
	h, slope := column(1), column(2)
	l := each(d, func(i int, d v) v {
		at := h[i]
		h[i] = madd(mov(d), slope[i], at)
		return madd(slope[i], d, sub(at, h[i]))
	})
	u, more := column(3), column(4)
	for i := range u {
		addMul(u[i], d[i], more[i])
		less := subMul(t[i], w[i], w[i])
		if !slopes {
			less = sub(less, x[i][2])
		}
		addMul(l[i], less, u[i])
	}
	d2 := squares(d)
	p := evenOdd(func(i int) []v { return column(5 + i) }, len(num[far])/16-5, d, d2)
	return each(h, func(i int, h v) v {
		a := x[i][0]
		y := add(h, addMul(l[i], d2[i], p[i]))
		if slopes {
			y = div(y, x[i][2])
		}
		y = set(y, cmp(w[i], gt, c(0x1.fffffffffffffp1023)), w[i])
		z := mul(a, a)
		q := evenOdd(func(i int) []v { return []v{load(c(num[near][1+i]))} }, len(num[near])-1, []v{z}, []v{mul(z, z)})[0]
		if !slopes {
			q = madd(load(c(num[near][0])), a, mul(q, a))
		} else {
			q = add(q, c(num[near][0]))
		}
		y = set(y, cmp(abs(a), lt, c(0.5)), q)
		if !slopes {
			y = withSign(y, a)
		}
		return y
	})
}
