package main

import . "nabla/kernels/_asm/kit"

// farTable gives the i-th column for every k.
var farTable func(k []V) func(i int) []V

// erfinv writes what is the last part of the inverses of erf, and of their slopes.
func erfinv() {
	for _, f := range []struct{ name, near, far, last string }{
		{"erfinvBy", "erfinvNear", "erfinvFar", "more"},
		{"quantileBy", "quantileNear", "quantileFar", "more"},
		{"erfinvSlopeBy", "erfinvSlopeNear", "erfinvSlopeFar", "s"},
	} {
		inPairs(Map{
			Name: f.name, Doc: "\tfor i, a := range a[:len(dst)] { dst[i] = " + f.name + "Of(a, log[i], " + f.last + "[i]) }", Args: "a, log, " + f.last,
			Setup: func() {
				setup(nil, nil)
				farTable = tableOf(f.far, columnsOf(f.far)...)
			},
		}, func(x [][]V) []V { return inverseOf(f.near, f.far, f.last == "s", x) })
	}
}

// inverseOf is inverseOf of generic_erfinv.go, of vectors {a, log, more}, or erfinvSlopeByOf of {a, log, s}.
func inverseOf(near, far string, slopes bool, x [][]V) []V {
	var t, w, k []V
	for _, x := range x {
		t = append(t, Xor(x[1], Word(SignBit)))
	}
	w = each(t, func(_ int, t V) V { return Sqrt(t) })
	k = each(w, func(_ int, w V) V { return ShiftRight(w, 51) })
	column := farTable(k)
	d := column(0)
	d = each(w, func(i int, w V) V { return Sub(w, d[i]) })
	h, slope := column(1), column(2)
	l := each(d, func(i int, d V) V {
		at := h[i]
		h[i] = Madd(Copy(d), slope[i], at)
		return Madd(slope[i], d, Sub(at, h[i]))
	})
	u, more := column(3), column(4)
	for i := range u {
		AddMul(u[i], d[i], more[i])
		less := SubMul(t[i], w[i], w[i])
		if !slopes {
			less = Sub(less, x[i][2])
		}
		AddMul(l[i], less, u[i])
	}
	d2 := squares(d)
	p := evenOdd(func(i int) []V { return column(5 + i) }, len(num[far])/16-5, d, d2)
	return each(h, func(i int, h V) V {
		a := x[i][0]
		y := Add(h, AddMul(l[i], d2[i], p[i]))
		if slopes {
			y = Div(y, x[i][2])
		}
		y = Set(y, Compare(w[i], GT, c(0x1.fffffffffffffp1023)), w[i])
		z := Mul(a, a)
		q := evenOdd(func(i int) []V { return []V{Copy(c(num[near][1+i]))} }, len(num[near])-1, []V{z}, []V{Mul(z, z)})[0]
		if !slopes {
			q = Madd(Copy(c(num[near][0])), a, Mul(q, a))
		} else {
			q = Add(q, c(num[near][0]))
		}
		y = Set(y, Compare(Abs(a), LT, c(0.5)), q)
		if !slopes {
			y = WithSign(y, a)
		}
		return y
	})
}
