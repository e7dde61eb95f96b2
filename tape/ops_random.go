package tape

import (
	"math"
	"math/rand/v2"

	"nabla/kernels"
	"nabla/tape/tensor"
)

// A stream is nabla's random numbers: PCG-DXSM (math/rand/v2's PCG, O'Neill 2014) with
// the seed in both words; uniforms are the upper 53 bits, normals are the polar method
// of Marsaglia, drawn in pairs. The sequence belongs to the seed alone.
type stream struct {
	src   *rand.PCG
	spare float64
	has   bool
}

func newStream(seed uint64) *stream { return &stream{src: rand.NewPCG(seed, seed^0x9e3779b97f4a7c15)} }

func (s *stream) uniform() float64 { return float64(s.src.Uint64()>>11) * 0x1p-53 }

// normal draws from the normal distribution, by Marsaglia's polar method: two numbers at a time.
func (s *stream) normal() float64 {
	if s.has {
		s.has = false
		return s.spare
	}
	for {
		u, v := 2*s.uniform()-1, 2*s.uniform()-1
		q := float64(u*u) + float64(v*v)
		if q == 0 || q >= 1 {
			continue
		}
		// math.Log differs by platform in its last bit; the scalar kernel does not
		f := math.Sqrt(-2 * kernels.LogOf(q) / q)
		s.spare, s.has = v*f, true
		return u * f
	}
}

// rng is the program's stream, made on first use.
func (lo *lowering) rng() *stream {
	if lo.rolled {
		panic(&notRolled{"random numbers"})
	}
	lo.memo.forget()
	if lo.random == nil {
		lo.random = newStream(lo.seed)
	}
	return lo.random
}

// sampled fills a constant tensor of the shape of the arguments.
func (c *call) sampled(draw func(s *stream) float64) value {
	return c.t.Tensor(c.sample(c.shapeArgs(), draw))
}

// sample is a tensor of numbers that are drawn one after the other.
func (c *call) sample(s tensor.Shape, draw func(s *stream) float64) *tensor.Tensor {
	out := &tensor.Tensor{DType: c.t.DType, Shape: s, Data: make([]float64, s.Size())}
	for i := range out.Data {
		out.Data[i] = round(c.t.DType, draw(c.lo.rng()))
	}
	return out
}

var randomRows = []Op{
	{Name: "rand", Alias: []string{"uniform"}, Args: "*shape", Doc: "uniform in [0, 1), seeded by --seed (PCG-DXSM)", Call: func(c *call) value { return c.sampled((*stream).uniform) }},
	{Name: "randn", Alias: []string{"normal"}, Args: "*shape", Doc: "standard normal, seeded by --seed (PCG-DXSM, polar method)", Call: func(c *call) value { return c.sampled((*stream).normal) }},
	{Name: "randint", Args: "low, high, #shape=None", Doc: "whole numbers from low to high - 1, seeded", Call: func(c *call) value {
		lo, hi := c.num(0), c.num(1)
		if !(hi > lo) {
			c.fail("type", "randint needs low < high, not %v and %v", lo, hi)
		}
		var shape tensor.Shape
		if c.given(2) {
			shape = c.checkedShape(c.ints(2))
		}
		v := c.sample(shape, func(s *stream) float64 { return math.Floor(lo + s.uniform()*(hi-lo)) })
		v.DType = tensor.Int64
		return c.t.Tensor(v)
	}},
}
