package tape

import (
	"math"

	"nabla/kernels"
	"nabla/tape/matrix"
	"nabla/tape/pool"
	"nabla/tape/sparsity"
	"nabla/tape/tensor"
)

// A long convolution of two vectors is a product of one with the matrix of the other's windows, whose rows
// begin one number apart: read where they lie they take no memory, where windows of 10⁵ numbers that are 31
// long take 25 MB and 10 times as long. Both adjoints are sums of the same kind.

var opLagged *Op

var laggedRows = []Op{
	{As: &opLagged, Name: "lagged", Args: "x, y", Hidden: true, Doc: "sums of products of y and as many numbers of x, from each place on", Linear: []int{0, 1},
		Run: func(c *run) {
			x, y := c.args[0], c.args[1]
			pool.Split(c.threads, len(y)*len(c.out), (len(c.out)+lagsAtOnce-1)/lagsAtOnce, func(from, to int) {
				out := c.out[from*lagsAtOnce : min(to*lagsAtOnce, len(c.out))]
				kernels.Gemm(out, len(out), y, len(y), false, x[from*lagsAtOnce:], 1, false, 1, len(out), len(y), false)
			})
		},
		Zeros: func(c *run) {
			c.zeros([]int{1, 1, 1}, func(dst []float64, arg []matrix.Dense) {
				x, y := arg[0].Data, arg[1].Data
				for i, v := range dst {
					if v == v {
						continue
					}
					dst[i] = 0
					for k, w := range y {
						if u := x[i+k]; u != 0 && w != 0 {
							dst[i] = math.FMA(u, w, dst[i])
						}
					}
				}
			})
		},
		Links: func(k *link, p *sparsity.Pattern) *sparsity.Pattern {
			n, m := last(k.in), last(k.out)
			if k.i == 1 || lead(k.in).Size() != lead(k.out).Size() {
				return nil
			}
			planes := lead(k.in).Size()
			v := window{kh: 1, kw: n - m + 1}
			return v.through(p, tensor.Shape{planes, n}, tensor.Shape{planes, m}, func(x *sparsity.Box, _, b int) sparsity.Fate { return x.Slice(1, b, m, 1) })
		},
		Flops: func(t *Tape, r Ref) float64 { return 2 * float64(t.size(r)) * float64(last(t.Shape(t.Args(r)[1]))) },
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			x, y := t.Args(r)[0], t.Args(r)[1]
			ct = t.full(ct, r)
			if i == 1 {
				return t.lagged(x, ct)
			}
			return t.lagged(t.zerosAround(ct, last(t.Shape(y))-1), t.reverse(y))
		}},
}

// lagsAtOnce is how many places in a row are computed together.
const lagsAtOnce = 1 << 10

// lagged is opLagged of two vectors, of which y is not the longer one.
func (t *Tape) lagged(x, y Ref) Ref {
	return t.record(opLagged, tensor.Shape{last(t.Shape(x)) - last(t.Shape(y)) + 1}, Attr{Strong: t.strongly()}, x, y)
}

// zerosAround is a vector with so many zeros on either side.
func (t *Tape) zerosAround(x Ref, zeros int) Ref {
	if zeros == 0 {
		return x
	}
	around := t.broadcastTo(t.cast(t.Const(0), t.ins[x].dtype), tensor.Shape{zeros})
	return t.concat([]Ref{around, x, around}, 0)
}
