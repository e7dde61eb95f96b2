package kernels

// Loops of the portable kernels, over what they do to one number. They are inlined, and with them the
// function they are given, where it is small.

// each is of(x) of every element.
func each(dst, x []float64, of func(x float64) float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = of(x)
	}
}

// eachPair is of(x, y) of every pair of elements.
func eachPair(dst, x, y []float64, of func(x, y float64) float64) {
	y = y[:len(dst)]
	for i, x := range x[:len(dst)] {
		dst[i] = of(x, y[i])
	}
}

// eachTriple is of(x, y, z) of every triple of elements.
func eachTriple(dst, x, y, z []float64, of func(x, y, z float64) float64) {
	y, z = y[:len(dst)], z[:len(dst)]
	for i, x := range x[:len(dst)] {
		dst[i] = of(x, y[i], z[i])
	}
}

// eachTwin is both results of of(x), of every element.
func eachTwin(y, z, x []float64, of func(x float64) (y, z float64)) {
	z = z[:len(y)]
	for i, x := range x[:len(y)] {
		y[i], z[i] = of(x)
	}
}
