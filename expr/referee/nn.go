package referee

import (
	"math"
	"sync"

	"nabla/tape/tensor"
)

// pair reads a size, at least so large, given as one number or as several.
func pair(v any, def, least, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = def
	}
	if v == nil {
		return out
	}
	got := integers(v)
	for i := range out {
		if len(got) == 0 || got[i%len(got)] < least {
			fail("a size of %v", got)
		}
		out[i] = got[i%len(got)]
	}
	return out
}

// conv slides w [out, in, …] over x [batch, in, …], as networks do: a correlation.
func conv(n int) func(*call) any {
	return func(c *call) any {
		x, w := c.tensor(0, "x", "input"), c.tensor(1, "w", "weight", "kernel")
		stride := pair(c.arg(2, "stride", "strides"), 1, 1, n)
		pad := pair(c.arg(3, "padding", "pad"), 0, 0, n)
		dil := pair(c.arg(4, "dilation"), 1, 1, n)
		if len(x.Shape) != n+2 || len(w.Shape) != n+2 || x.Shape[1] != w.Shape[1] {
			fail("%s of shapes %v and %v", c.name, x.Shape, w.Shape)
		}
		shape := tensor.Shape{x.Shape[0], w.Shape[0]}
		for k := range n {
			shape = append(shape, (x.Shape[k+2]+2*pad[k]-dil[k]*(w.Shape[k+2]-1)-1)/stride[k]+1)
		}
		out := blank(tensor.Float64, shape)
		window := append(tensor.Shape{}, w.Shape[1:]...)
		walk(shape, func(i int, pos []int) {
			var terms []float64
			walk(window, func(_ int, q []int) {
				from := []int{pos[0], q[0]}
				for k := range n {
					p := pos[k+2]*stride[k] - pad[k] + q[k+1]*dil[k]
					if p < 0 || p >= x.Shape[k+2] {
						return
					}
					from = append(from, p)
				}
				terms = append(terms, x.Data[offset(x, from)]*w.Data[offset(w, append([]int{pos[1]}, q...))])
			})
			out.Data[i] = plainSum(terms)
		})
		return out
	}
}

// pool slides a window over the last n axes; the stride is the window unless given.
func pool(n int, f func([]float64, int) float64) func(*call) any {
	return func(c *call) any {
		x := c.tensor(0, "x", "input")
		size := pair(c.need(1, "size", "window", "kernel_size", "k"), 1, 1, n)
		stride := append([]int{}, size...)
		if v := c.arg(2, "stride", "strides"); v != nil {
			stride = pair(v, 1, 1, n)
		}
		pad := pair(c.arg(3, "padding", "pad"), 0, 0, n)
		lead := len(x.Shape) - n
		if lead < 0 {
			fail("%s of shape %v", c.name, x.Shape)
		}
		shape := append(tensor.Shape{}, x.Shape[:lead]...)
		for k := range n {
			shape = append(shape, (x.Shape[lead+k]+2*pad[k]-size[k])/stride[k]+1)
		}
		out := blank(tensor.Float64, shape)
		walk(shape, func(i int, pos []int) {
			var v []float64
			walk(tensor.Shape(size), func(_ int, q []int) {
				from := append([]int{}, pos[:lead]...)
				for k := range n {
					p := pos[lead+k]*stride[k] - pad[k] + q[k]
					if p < 0 || p >= x.Shape[lead+k] {
						return
					}
					from = append(from, p)
				}
				v = append(v, x.Data[offset(x, from)])
			})
			out.Data[i] = f(v, tensor.Shape(size).Size())
		})
		return out
	}
}

func meanPool(v []float64, n int) float64 { return plainSum(v) / float64(n) }
func maxPool(v []float64, _ int) float64  { return extreme(v, maximum) }

// with makes an elementwise operation that has a parameter.
func with(def float64, names []string, f func(x, p float64) float64) func(*call) any {
	return func(c *call) any {
		x, p := c.tensor(0, "x"), c.arg(1, names...)
		if p == nil {
			p = def
		}
		return map2(x, toTensor(p), f)
	}
}

var alpha = []string{"alpha", "negative_slope", "slope"}

var nnOps = sync.OnceValue(func() map[string]func(*call) any {
	return map[string]func(*call) any{
		"conv1d": conv(1), "conv2d": conv(2), "conv3d": conv(3),
		"avg_pool1d": pool(1, meanPool), "avg_pool2d": pool(2, meanPool),
		"max_pool1d": pool(1, maxPool), "max_pool2d": pool(2, maxPool),

		"elu": with(1, alpha, elu), "leaky_relu": with(0.01, alpha, leaky), "prelu": with(0.25, alpha, leaky),
		"celu": with(1, alpha, func(x, a float64) float64 { return maximum(x, 0) + minimum(0, a*math.Expm1(x/a)) }),
		"round": func(c *call) any {
			x, d := c.tensor(0, "x"), c.integer(1, 0, "decimals")
			p := math.Pow(10, float64(d))
			return map1(x, func(v float64) float64 { return math.RoundToEven(v*p) / p })
		},
		"adjust_contrast": func(c *call) any {
			// TensorFlow's: the distance from each channel's mean over height and width, scaled.
			x, delta := c.tensor(0, "image", "images"), c.tensor(1, "delta", "contrast_factor")
			m := toTensor((&call{name: "mean", pos: []any{x}, kw: map[string]any{
				"axis": tuple{[]any{-3.0, -2.0}}, "keepdims": true}}).do())
			return zip(tensor.Float64, func(v []float64) float64 { return (v[0]-v[1])*v[2] + v[1] }, x, m, delta)
		},
		"layer_norm": standardize, "standardize": standardize,
		"glu": func(c *call) any {
			x := c.tensor(0, "x")
			axis := c.axis(1, len(x.Shape), -1)
			return along(x, axis, func(n int) int { return n / 2 }, func(dst, src []float64) {
				for i := range dst {
					dst[i] = src[i] * sigmoid(src[i+len(dst)])
				}
			})
		},
		"mse": func(c *call) any {
			d := map2(c.tensor(0, "x"), c.tensor(1, "y"), func(x, y float64) float64 { return (x - y) * (x - y) })
			return mean(d.Data)
		},
		"huber": with(1, []string{"delta"}, func(x, d float64) float64 {
			if math.Abs(x) <= d {
				return 0.5 * x * x
			}
			return d * (math.Abs(x) - 0.5*d)
		}),
		"softmax_cross_entropy": func(c *call) any {
			z, p := c.tensor(0, "logits"), c.tensor(1, "labels")
			axis := c.axis(2, len(z.Shape), -1)
			l := (&call{name: "log_softmax", pos: []any{z, float64(axis)}}).do()
			terms := map2(toTensor(l), p, func(l, p float64) float64 { return -l * p })
			return (&call{name: "sum", pos: []any{terms, float64(axis)}}).do()
		},
		"sigmoid_cross_entropy": func(c *call) any {
			return map2(c.tensor(0, "logits"), c.tensor(1, "labels"), func(x, y float64) float64 { return softplus(x) - x*y })
		},
	}
})

func standardize(c *call) any {
	return over(func(c *call, dst, src []float64) {
		m := mean(src)
		s := math.Sqrt(variance(&call{}, src) + c.number(2, 1e-5, "eps"))
		for i, v := range src {
			dst[i] = (v - m) / s
		}
	})(c)
}
