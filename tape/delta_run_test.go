package tape

import (
	"math"
	"math/rand/v2"
	"testing"

	"nabla/tape/pool"
	"nabla/tape/tensor"
)

// TestTermsInBands holds matrices of terms, written in bands by several threads, to terms
// that are added number by number.
func TestTermsInBands(t *testing.T) {
	share := pool.LeastElements
	defer func() { pool.LeastElements = share }()
	pool.LeastElements = 1
	rng := rand.New(rand.NewPCG(3, 4))
	for seed := range rounds(200) {
		n := 20 + rng.IntN(180)
		x := n
		symmetric := seed%2 == 0
		if !symmetric {
			x = 1 + rng.IntN(300)
		}
		c := &run{t: New(), attr: &Attr{Flag: symmetric}, shape: tensor.Shape{n, x}}
		want := make([]float64, n*x)
		for range 1 + rng.IntN(5) {
			p := randomPlacing(rng, n, x)
			var factors [][]float64
			for k := range p.factors {
				size := 1
				for _, d := range p.paces {
					size += (d.n - 1) * d.from[k]
				}
				f := make([]float64, size)
				for i := range f {
					f[i] = rng.NormFloat64()
				}
				factors = append(factors, f)
			}
			for i := range p.paces {
				if !symmetric {
					p.paces[i].column = 0
				}
			}
			p.join()
			naiveTerm(want, &p, factors)
			c.attr.Places, c.args = append(c.attr.Places, p), append(c.args, factors...)
		}
		if symmetric {
			for i := range n {
				for j := range i {
					want[i*n+j] = want[j*n+i]
				}
			}
		}
		for threads := 1; threads <= 3; threads++ {
			c.threads, c.out = threads, make([]float64, n*x)
			for i := range c.out {
				c.out[i] = math.NaN() // whatever was there
			}
			runTerms(c)
			for i, v := range want {
				if math.Float64bits(c.out[i]) != math.Float64bits(v) {
					t.Fatalf("seed %d: [%d, %d] of %d×%d is %v on %d threads, want %v; symmetric %v, terms at %v", seed, i/x, i%x, n, x, c.out[i], threads, v, symmetric, c.attr.Places)
				}
			}
			if !c.t.sane[c.r] {
				t.Errorf("seed %d: no number was seen to be finite", seed)
			}
		}
	}
}

// randomPlacing is a term somewhere in a matrix: two labels for rows, two for columns and,
// at times, one for both.
func randomPlacing(rng *rand.Rand, rows, cols int) placing {
	p := placing{num: float64(1 + rng.IntN(3)), factors: rng.IntN(mostSpread + 1)}
	row, col := rng.IntN(rows), rng.IntN(cols)
	p.base = row*cols + col
	add := func(down, right int) {
		most := math.MaxInt
		if down > 0 {
			most = (rows - 1 - row) / down
		}
		if right > 0 {
			most = min(most, (cols-1-col)/right)
		}
		n := 1 + rng.IntN(min(most, 60)+1)
		row, col = row+(n-1)*down, col+(n-1)*right
		d := pace{n: n, to: down*cols + right, column: right}
		for k := range p.factors {
			d.from[k] = rng.IntN(3)
		}
		p.paces = append(p.paces, d)
	}
	if rng.IntN(2) == 0 {
		add(1+rng.IntN(2), 1+rng.IntN(2))
	}
	add(0, 1)
	add(0, 1+rng.IntN(40))
	add(1, 0)
	add(1+rng.IntN(40), 0)
	return p
}

// naiveTerm adds a term number by number.
func naiveTerm(out []float64, p *placing, factors [][]float64) {
	var visit func(to int, from [mostSpread]int, paces []pace)
	visit = func(to int, from [mostSpread]int, paces []pace) {
		if len(paces) > 0 {
			for range paces[0].n {
				visit(to, from, paces[1:])
				to += paces[0].to
				for k, st := range paces[0].from {
					from[k] += st
				}
			}
			return
		}
		y := 1.0
		for k, f := range factors {
			y = float64(y * f[from[k]])
		}
		out[to] = math.FMA(p.num, y, out[to])
	}
	visit(p.base, [mostSpread]int{}, p.paces)
}

// TestTermsThatCancel: what terms leave where they cancel is refused, in whichever band.
func TestTermsThatCancel(t *testing.T) {
	const n = 150
	for _, symmetric := range []bool{false, true} {
		for _, row := range []int{0, 77, 149} {
			x := make([]float64, n)
			c := &run{t: New(), attr: &Attr{Flag: symmetric}, shape: tensor.Shape{n, n}, out: make([]float64, n*n), args: [][]float64{x, {-1}}, threads: 2}
			x[row] = 1 + 1e-9
			diagonal := pace{n: n, to: n + 1, column: 1, from: [mostSpread]int{1}}
			one := placing{num: 1, base: row * (n + 1), factors: 1, checked: true}
			whole := placing{num: 1, factors: 1, paces: []pace{diagonal}}
			whole.join()
			c.attr.Places = []placing{whole, one}
			runTerms(c)
			if v := c.out[0]; v == v {
				t.Errorf("symmetric %v: 1 was left of 1e9 in row %d, and nobody noticed", symmetric, row)
			}
		}
	}
}
