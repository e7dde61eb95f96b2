package kernels

import "math"

// What rows of softmax and of matrices that are turned need: kernels beside a number, a piece of
// the row at a time.

// pieces are the memory that rows pass through; the kernels' doors would move it from the stack.
var pieces spares[[256]float64]

// SumExpRest is the sum of exp(x-m) over x, in the order of Sum for every 256 elements, without
// the first of them that is m.
func SumExpRest(x []float64, m float64) float64 {
	piece := pieces.take()
	defer pieces.give(piece)
	sum, whole := 0.0, true
	for len(x) > 0 {
		t := piece[:min(len(x), len(piece))]
		AddScalar(t, x, -m)
		if whole {
			for i, v := range x[:len(t)] {
				if v == m {
					t[i], whole = math.Inf(-1), false
					break
				}
			}
		}
		Exp(t, t)
		sum += Sum(t)
		x = x[len(t):]
	}
	return sum
}

// DivScalar is x/s of every element.
func DivScalar(dst, x []float64, s float64) {
	piece := pieces.take()
	defer pieces.give(piece)
	Fill(piece[:min(len(x), len(piece))], s)
	for len(x) > 0 {
		n := min(len(x), len(piece))
		Div(dst[:n], x, piece[:n])
		dst, x = dst[n:], x[n:]
	}
}

// Rotate turns two rows, x = c x - s y and y = s x + c y, in the form that keeps the errors of
// small angles small.
func Rotate(x, y []float64, c, s float64) {
	xs, ys := pieces.take(), pieces.take()
	defer pieces.give(xs)
	defer pieces.give(ys)
	tau := s / (1 + c)
	for len(x) > 0 {
		n := min(len(x), len(xs))
		g, h := x[:n], y[:n]
		Axpy(ys[:copy(ys[:], h)], tau, g)
		Axpy(xs[:copy(xs[:], g)], -tau, h)
		Axpy(g, -s, ys[:n])
		Axpy(h, s, xs[:n])
		x, y = x[n:], y[n:]
	}
}
