package kernels

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRows holds the kernels of rows to what they say, one by one.
func TestRows(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 7))
		for _, n := range []int{0, 1, 2, 7, 255, 256, 257, 700} {
			x := make([]float64, n)
			for i := range x {
				x[i] = 5 * r.NormFloat64()
			}
			m := math.Inf(1)
			if n > 0 {
				x[r.IntN(n)] = x[0] // twice the same
				m = x[0]
			}
			want, rest := 0.0, slices.Clone(x)
			if n > 0 {
				rest[slices.Index(x, m)] = math.Inf(-1)
			}
			for from := 0; from < n; from += 256 {
				piece := rest[from:min(from+256, n)]
				for i, v := range piece {
					piece[i] = ExpOf(v - m)
				}
				want += Sum(piece)
			}
			if got := SumExpRest(x, m); got != want {
				t.Errorf("SumExpRest of %d numbers is %v, want %v", n, got, want)
			}
			if n > 0 {
				terms := slices.Clone(x)
				for i, v := range x {
					terms[i] = ExpOf(v - m)
				}
				before := slices.Clone(terms)
				if got := SumRest(terms, slices.Index(x, m)); got != want || !slices.Equal(terms, before) {
					t.Errorf("SumRest of %d numbers is %v, want %v", n, got, want)
				}
			}
			got := slices.Clone(x)
			DivScalar(got, got, 3)
			for i, v := range x {
				if got[i] != v/3 {
					t.Fatalf("DivScalar of %d numbers: element %d is %v, want %v", n, i, got[i], v/3)
				}
			}
		}
	})
}

// TestSumRows holds sums of rows to Sum.
func TestSumRows(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 8))
		for _, n := range slices.Concat(numbersTo(140), []int{1000, SumBlock - 1, SumBlock, SumBlock + 1, 2*SumBlock + 5}) {
			rows := 100
			if n > 140 {
				rows = 3
			}
			x := guard(rows*n, n%8)
			for i := range x.x {
				x.x[i] = []float64{r.NormFloat64(), math.Copysign(0, -1), 1e308, math.Inf(1), math.NaN(), 0}[max(0, r.IntN(20)-14)]
			}
			got := guard(rows, n%5)
			SumRows(got.x, x.x, n)
			got.check(t, "SumRows")
			for i, v := range got.x {
				if want := Sum(x.x[i*n : (i+1)*n]); !same(v, want) {
					t.Fatalf("the sum of %v is %v, want %v", x.x[i*n:(i+1)*n], v, want)
				}
			}
		}
	})
}

// TestAxpyRows: rows that are added times numbers have the bits of each number by itself, and nothing beside them changes.
func TestAxpyRows(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 9))
		for n := range 70 {
			rows, gap, lds, ldx := r.IntN(6), r.IntN(3), r.IntN(3), []int{0, n, n + 3}[r.IntN(3)]
			num := []float64{1, -1, 0.3}[r.IntN(3)]
			got, x, s := guard(rows*(n+gap), n%8), guard((rows+1)*(n+3), n%5), guard(lds*rows+1, 0)
			for _, y := range [][]float64{got.x, x.x, s.x} {
				for i := range y {
					y[i] = []float64{r.NormFloat64(), math.Copysign(0, -1), 1e308, math.Inf(1), math.NaN(), 0}[max(0, r.IntN(20)-14)]
				}
			}
			want := slices.Clone(got.x)
			for i := range rows {
				for j := range n {
					y := &want[i*(n+gap)+j]
					*y = math.FMA(num, float64(s.x[i*lds]*x.x[i*ldx+j]), *y)
				}
			}
			AxpyRows(got.x, n+gap, num, s.x, lds, x.x, ldx, n, rows)
			got.check(t, "AxpyRows")
			for i, v := range got.x {
				if !same(v, want[i]) {
					t.Fatalf("%d rows of %d: number %d is %v, want %v", rows, n, i, v, want[i])
				}
			}
		}
	})
}

// TestCountRows: numbers that equal one are counted in each row, zeros of both signs as one, NaN as none.
func TestCountRows(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 10))
		for n := range 70 {
			rows := r.IntN(6)
			got, x, v := guard(rows, n%8), guard(rows*n, n%5), guard(rows, 0)
			for _, y := range [][]float64{x.x, v.x} {
				for i := range y {
					y[i] = []float64{1, 2, 0, math.Copysign(0, -1), math.NaN(), math.Inf(1), 5e-324}[r.IntN(7)]
				}
			}
			CountRows(got.x, x.x, v.x, n)
			got.check(t, "CountRows")
			for i, hits := range got.x {
				want := 0.0
				for _, y := range x.x[i*n:][:n] {
					if y == v.x[i] {
						want++
					}
				}
				if hits != want {
					t.Fatalf("%d of row %d of %d numbers are %v, not %v", int(hits), i, n, v.x[i], want)
				}
			}
		}
	})
}

// numbersTo are 0 to n-1.
func numbersTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// TestFoldRows holds columns that are added up to Sum.
func TestFoldRows(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 10))
	for _, n := range []int{1, 2, 7, 31, 32, 33, 64, 65, 100, 257} {
		const m = 5
		x := make([]float64, n*m)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		want := make([]float64, m)
		for j := range want {
			column := make([]float64, n)
			for i := range column {
				column[i] = x[i*m+j]
			}
			want[j] = Sum(column)
		}
		if FoldRows(x, m); !slices.Equal(x[:m], want) {
			t.Errorf("columns of %d numbers add up to %v, want %v", n, x[:m], want)
		}
	}
}

// TestTallest holds what is largest of columns and of rows to what each one says.
func TestTallest(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 11))
		draw := func(x []float64, odd int) {
			for i := range x {
				x[i] = float64(r.IntN(7)) - 3 // ties, and zeros
				if r.IntN(8) == 0 {
					x[i] = []float64{math.Inf(-1), math.Copysign(0, -1), math.Inf(1), math.NaN()}[r.IntN(2+odd)]
				}
			}
		}
		// hold compares with row i, x as it lies by lie, what was found of it.
		hold := func(what string, row []float64, top float64, first int, less []float64) {
			t.Helper()
			m, k := math.Inf(-1), 0
			for j, v := range row {
				if v > m {
					m, k = v, j
				}
			}
			if top != m || first != k {
				t.Fatalf("%s: of %v the largest is %v at %d, want %v at %d", what, row, top, first, m, k)
			}
			for j, v := range less {
				if want := row[j] - m; v != want && (v == v || want == want) {
					t.Fatalf("%s: %v less its largest is %v", what, row, less)
				}
			}
		}
		for round := range 300 {
			n, w, odd := 1+r.IntN(40), r.IntN(40), max(0, round%6-3)
			if round%10 == 0 {
				n = 1 + r.IntN(300)
			}
			ld := w + r.IntN(3)
			x := guard(n*ld, round%8)
			draw(x.x, odd)
			top, less, first := guard(w, round%5), guard(n*w, round%7), make([]int, w+1)
			first[w] = -1
			without := less.x
			if round%4 == 0 {
				without = nil
			}
			column := make([]float64, n)
			hasNaN := false
			for j := range w {
				for i := range column {
					hasNaN = hasNaN || x.x[i*ld+j] != x.x[i*ld+j]
				}
			}
			if ordered := Tallest(top.x, first[:w], without, x.x, ld, n); ordered == hasNaN && w > 0 {
				t.Fatalf("%d×%d: a NaN is there: %t, but ordered is %t", n, w, hasNaN, ordered)
			}
			top.check(t, "Tallest")
			less.check(t, "Tallest")
			if first[w] != -1 {
				t.Fatalf("Tallest wrote behind the places of %d columns", w)
			}
			for j := 0; j < w && !hasNaN; j++ {
				var rest []float64
				for i := range column {
					column[i] = x.x[i*ld+j]
					if without != nil {
						rest = append(rest, without[i*w+j])
					}
				}
				hold("Tallest", column, top.x[j], first[j], rest)
			}

			rows := guard(w*n, round%8)
			draw(rows.x, odd)
			hasNaN = slices.ContainsFunc(rows.x, func(v float64) bool { return v != v })
			if ordered := TallestOfRows(top.x, first[:w], less.x, rows.x, n); ordered == hasNaN {
				t.Fatalf("%d rows of %d: a NaN is there: %t, but ordered is %t", w, n, hasNaN, ordered)
			}
			top.check(t, "TallestOfRows")
			less.check(t, "TallestOfRows")
			if first[w] != -1 {
				t.Fatalf("TallestOfRows wrote behind the places of %d rows", w)
			}
			for i := 0; i < w && !hasNaN; i++ {
				hold("TallestOfRows", rows.x[i*n:][:n], top.x[i], first[i], less.x[i*n:][:n])
			}
		}
	})
}

// TestUnits holds Unit and Turn to those of one pair, the first argument written over.
func TestUnits(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 9))
		x, y := make([]float64, 2*pieceLength+100), make([]float64, 2*pieceLength+100)
		for i := range x {
			x[i], y[i] = r.NormFloat64(), r.NormFloat64()
			if i >= pieceLength { // the others are all ordinary
				continue
			}
			x[i], y[i] = math.Ldexp(x[i], r.IntN(2100)-1075), math.Ldexp(y[i], r.IntN(2100)-1075)
			if i%3 == 0 {
				x[i], y[i] = edges[r.IntN(len(edges))], edges[r.IntN(len(edges))]
			}
		}
		unit, turn := slices.Clone(x), slices.Clone(x)
		Unit(unit, unit, y)
		Turn(turn, turn, y)
		for i := range x {
			if !same(unit[i], UnitOf(x[i], y[i])) || !same(turn[i], TurnOf(x[i], y[i])) {
				t.Fatalf("of (%v, %v): unit %v, turn %v, want %v and %v", x[i], y[i], unit[i], turn[i], UnitOf(x[i], y[i]), TurnOf(x[i], y[i]))
			}
		}
	})
}

// BenchmarkUnits are those of ordinary pairs.
func BenchmarkUnits(b *testing.B) {
	x, y, dst := make([]float64, 1024), make([]float64, 1024), make([]float64, 1024)
	for i := range x {
		x[i], y[i] = float64(i%7)-2.5, float64(i%11)-5.5
	}
	b.Run("Unit", func(b *testing.B) {
		for b.Loop() {
			Unit(dst, x, y)
		}
	})
	b.Run("Turn", func(b *testing.B) {
		for b.Loop() {
			Turn(dst, x, y)
		}
	})
}

// TestRotate holds Rotate to what it says, number by number.
func TestRotate(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(6, 1))
		for n := range lengths {
			x, y := guard(n, n%8), guard(n, n%5)
			for i := range n {
				x.x[i], y.x[i] = r.NormFloat64(), r.NormFloat64()
			}
			s, c := math.Sincos(r.Float64())
			tau := s / (1 + c)
			g0, h0 := slices.Clone(x.x), slices.Clone(y.x)
			Rotate(x.x, y.x, c, s)
			x.check(t, "Rotate")
			y.check(t, "Rotate")
			for i, g := range g0 {
				h := h0[i]
				if wx, wy := math.FMA(-s, math.FMA(g, tau, h), g), math.FMA(s, math.FMA(-h, tau, g), h); x.x[i] != wx || y.x[i] != wy {
					t.Fatalf("element %d of %d, (%v, %v): (%v, %v), want (%v, %v)", i, n, g, h, x.x[i], y.x[i], wx, wy)
				}
			}
		}
	})
}

// TestDiagonalize holds Diagonalize to DiagonalizeOf, and RotateApart to Rotate, number by number, on each tier.
func TestDiagonalize(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(6, 4))
		odd := []float64{0, math.Copysign(0, -1), 1e-300, 5e-324, 1e-160, 1, -1, 1e-17}
		for n := range lengths {
			much := []float64{128, math.Inf(1)}[n%2]
			var x [5]guarded
			for k := range x {
				x[k] = guard(n, (n+3*k)%8)
				for i := range n {
					if x[k].x[i] = r.NormFloat64(); r.IntN(4) == 0 {
						x[k].x[i] = odd[r.IntN(len(odd))]
					}
				}
			}
			p, q, off := slices.Clone(x[0].x), slices.Clone(x[1].x), slices.Clone(x[2].x)
			s, tau := x[3].x, x[4].x
			Diagonalize(x[0].x, x[1].x, x[2].x, s, tau, much)
			for i, o := range off {
				np, nq, ws, wt := DiagonalizeOf(p[i], q[i], o, much)
				for k, w := range []float64{np, nq, 0, ws, wt} {
					if got := x[k].x[i]; !same(got, w) {
						t.Fatalf("result %d of element %d of %d, [%v %v; %v], is %v, want %v", k, i, n, p[i], o, q[i], got, w)
					}
				}
			}
			m, ldx, ldy := r.IntN(5), n+r.IntN(3), n+r.IntN(3)
			u, v := guard(m*ldx, n%8), guard(m*ldy, n%5)
			for _, x := range [][]float64{u.x, v.x} {
				for i := range x {
					x[i] = math.Round(2*r.NormFloat64()) * []float64{1, 1.1}[r.IntN(2)]
				}
			}
			wu, wv := slices.Clone(u.x), slices.Clone(v.x)
			for k := range m {
				for j := range n {
					if s[j] != 0 {
						RotateBy(wu[k*ldx+j:][:1], wv[k*ldy+j:][:1], s[j], tau[j])
					}
				}
			}
			RotateApart(u.x, v.x, s, tau, ldx, ldy, m)
			for k, g := range append(x[:], u, v) {
				g.check(t, fmt.Sprint("argument ", k))
			}
			for i, w := range append(wu, wv...) {
				if got := append(slices.Clone(u.x), v.x...)[i]; !same(got, w) {
					t.Fatalf("number %d of %d rows of %d is %v, want %v", i, m, n, got, w)
				}
			}
		}
	})
}

// TestResiduals holds Residuals to sums of one element after the other in twice the digits,
// and these to exact ones.
func TestResiduals(t *testing.T) {
	residual := func(s float64, a, b []float64, ld int) float64 {
		low := 0.0
		for k, v := range a {
			p := float64(-v * b[k*ld])
			e := math.FMA(-v, b[k*ld], -p)
			t, f := twoSum(s, p)
			s, low = t, low+(e+f)
		}
		if r := s + low; r-r == 0 {
			return r
		}
		return s
	}
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(6, 2))
		for n := range lengths {
			k, ld := r.IntN(9), n+r.IntN(3)
			if n%40 == 7 {
				k = 100
			}
			dst, a, b := guard(n, n%8), guard(k, n%5), guard(k*ld, n%3)
			for _, x := range [][]float64{dst.x, a.x, b.x} {
				for i := range x {
					x[i] = math.Ldexp(r.NormFloat64(), r.IntN(80)-40)
				}
			}
			if n > 0 && k > 0 && n%6 == 0 {
				b.x[r.IntN(n)] = []float64{math.Inf(1), math.NaN(), 1e308}[r.IntN(3)]
				a.x[0] = 1e200
			}
			was := slices.Clone(dst.x)
			Residuals(dst.x, a.x, b.x, ld)
			dst.check(t, "Residuals")
			again, rest, left := slices.Clone(was), guard(n, n%7), make([]float64, n)
			ResidualsRest(again, rest.x, a.x, b.x, ld)
			rest.check(t, "ResidualsRest")
			residualsOf(slices.Clone(was), left, a.x, b.x, ld)
			for j, v := range again {
				if !same(v, dst.x[j]) || !same(rest.x[j], left[j]) {
					t.Fatalf("element %d of %d, %d products, with its rest: %v and %v, want %v and %v", j, n, k, v, rest.x[j], dst.x[j], left[j])
				}
			}
			for j, c := range was {
				want := c
				if k > 0 {
					want = residual(c, a.x, b.x[j:], ld)
				}
				if got := dst.x[j]; !same(got, want) {
					t.Fatalf("element %d of %d, %d products: %v, want %v", j, n, k, got, want)
				}
				sum, size := new(big.Float).SetPrec(2000), 0.0
				if want-want != 0 {
					continue
				}
				sum.SetFloat64(c)
				for i, v := range a.x {
					y := b.x[i*ld+j]
					sum.Sub(sum, new(big.Float).SetPrec(2000).Mul(big.NewFloat(v), big.NewFloat(y)))
					size += math.Abs(v * y)
				}
				exact, _ := sum.Float64()
				// an ulp of the result, and k 2^-53 of the sizes twice over
				if d := math.Abs(want - exact); !(d <= 0x1p-52*math.Abs(exact)+float64(k*k)*0x1p-104*(size+math.Abs(c))) {
					t.Fatalf("element %d of %d, %d products: %v, exactly %v", j, n, k, want, exact)
				}
			}
		}
	})
}

// TestAccumulateRows holds rows that are added to rows added one by one.
func TestAccumulateRows(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(6, 2))
		for n := range 70 {
			for m := range 10 {
				ldx := n + r.IntN(3)
				x, acc := guard(max(0, (m-1)*ldx+n), r.IntN(8)), guard(n, r.IntN(8))
				for i := range x.x {
					x.x[i] = []float64{r.NormFloat64(), math.Copysign(0, -1), 1e308, math.Inf(1), math.NaN()}[max(0, r.IntN(40)-35)]
				}
				for i := range acc.x {
					acc.x[i] = r.NormFloat64()
				}
				want := slices.Clone(acc.x)
				for i := range m {
					for j := range want {
						want[j] += x.x[i*ldx+j]
					}
				}
				AccumulateRows(acc.x, x.x, ldx, m)
				acc.check(t, "AccumulateRows")
				for j, v := range acc.x {
					if !same(v, want[j]) {
						t.Fatalf("%d rows of %d numbers: sum %d is %v, want %v", m, n, j, v, want[j])
					}
				}
			}
		}
	})
}

// TestNormRows holds norms of short rows to Norm2, where squares leave the range too.
func TestNormRows(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(6, 3))
		for n := range 36 {
			for _, odd := range []float64{1, 0, 1e-200, 1e200, math.Inf(-1), math.NaN()} {
				x, got := make([]float64, 300*n), make([]float64, 300)
				for i := range x {
					if x[i] = r.NormFloat64(); r.IntN(100*n) == 0 {
						x[i] *= odd
					}
				}
				NormRows(got, x, n)
				for i, v := range got {
					if want := Norm2(x[i*n : (i+1)*n]); !same(v, want) {
						t.Fatalf("the norm of %v is %v, want %v", x[i*n:(i+1)*n], v, want)
					}
				}
			}
		}
	})
}

// TestProdRows holds products of many rows to those of one after the other.
func TestProdRows(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 3))
	for n := range 36 {
		for rows := range 20 {
			x, got := make([]float64, rows*n), make([]float64, rows)
			for i := range x {
				x[i] = r.NormFloat64()
			}
			ProdRows(got, x, n)
			for i, v := range got {
				if want := Prod(x[i*n : (i+1)*n]); !same(v, want) {
					t.Fatalf("the product of %v is %v, want %v", x[i*n:(i+1)*n], v, want)
				}
			}
		}
	}
}

// TestResidualsApart holds ResidualsApart and ResidualsApartRest to those of one number after the other.
func TestResidualsApart(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(6, 3))
		for n := range lengths {
			k, lda, ldb := r.IntN(9), n+r.IntN(3), n+r.IntN(3)
			if n%40 == 7 {
				k = 100
			}
			dst, a, b := guard(n, n%8), guard(k*lda, n%5), guard(k*ldb, n%3)
			for _, x := range [][]float64{dst.x, a.x, b.x} {
				for i := range x {
					x[i] = math.Ldexp(r.NormFloat64(), r.IntN(80)-40)
				}
			}
			if n > 0 && k > 0 && n%6 == 0 {
				b.x[r.IntN(n)] = []float64{math.Inf(1), math.NaN(), 1e308}[r.IntN(3)]
				a.x[0] = 1e200
			}
			want, rest := slices.Clone(dst.x), guard(n, n%7)
			left := make([]float64, n)
			for j := range want {
				factors := make([]float64, k)
				for i := range factors {
					factors[i] = a.x[i*lda+j]
				}
				if k > 0 {
					ResidualsRest(want[j:j+1], left[j:j+1], factors, b.x[j:], ldb)
				}
			}
			again := guard(n, n%8)
			copy(again.x, dst.x)
			ResidualsApartRest(again.x, rest.x, a.x, b.x, lda, ldb, k)
			again.check(t, "ResidualsApartRest")
			rest.check(t, "what ResidualsApartRest leaves out")
			ResidualsApart(dst.x, a.x, b.x, lda, ldb, k)
			dst.check(t, "ResidualsApart")
			for j, w := range want {
				if got := dst.x[j]; !same(got, w) {
					t.Fatalf("element %d of %d, %d products: %v, want %v", j, n, k, got, w)
				}
				if got, gr := again.x[j], rest.x[j]; !same(got, w) || !same(gr, left[j]) {
					t.Fatalf("element %d of %d, %d products, and what is left out of it: %v and %v, want %v and %v", j, n, k, got, gr, w, left[j])
				}
			}
		}
	})
}
