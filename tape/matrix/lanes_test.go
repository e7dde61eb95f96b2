package matrix

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// equals reports whether two lists have the same bits, or both NaN.
func equals(x, y []float64) bool {
	return slices.EqualFunc(x, y, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y })
}

// lanedSizes are numbers of rows whose factors are found side by side.
func lanedSizes() (all []int) {
	for n := leastLaned; n <= mostLaned+1; n++ {
		all = append(all, n)
	}
	return append(all, 24, 25, mostLanedFactors)
}

// TestLanes holds what is worked on side by side to what is alone, bit for bit: among matrices that are
// singular, and that have zeros, infinities and NaN.
func TestLanes(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 10))
	h := new(Solver)
	for _, n := range lanedSizes() {
		for _, g := range []int{1, 3, 8, 31, LanesAtOnce, LanesAtOnce + 7} {
			for _, odd := range []bool{false, true} {
				a := drawn(rng, g*n, n)
				for l := range g {
					m := Of(a.Data[l*n*n:(l+1)*n*n], n, n)
					for range n { // zeros, and numbers of different sizes
						m.Data[rng.IntN(n*n)] *= []float64{0, math.Copysign(0, -1), 1e-200, 1e20}[rng.IntN(4)]
					}
					switch {
					case odd && l%6 == 0:
						clear(m.Row(rng.IntN(n)))
					case odd && l%3 == 0:
						copy(m.Row(rng.IntN(n)), m.Row(rng.IntN(n)))
					case odd && l%3 == 1:
						m.Data[rng.IntN(n*n)] = []float64{math.Inf(1), math.NaN(), 1e308, math.Copysign(0, -1)}[rng.IntN(4)]
					}
				}
				factors := New(g*(n+1), n)
				if !LanedFactors(n, LanesAtOnce) {
					t.Fatalf("%d rows are not worked on side by side", n)
				}
				h.LUs(factors.Data, a.Data, n, g, false)
				more := New(g*(2*n+1), n)
				if KeepsRest(n) {
					h.LUs(more.Data, a.Data, n, g, true)
				}
				regular := true
				for l := range g {
					lu, perm := h.LU(Of(a.Data[l*n*n:(l+1)*n*n], n, n))
					got := factors.Data[l*(n*n+n):][:n*n+n]
					for i, p := range perm {
						if int(got[n*n+i]) != p {
							t.Fatalf("matrix %d of %d with %d rows: row %d of the factors is %v, want %d", l, g, n, i, got[n*n+i], p)
						}
					}
					if !equals(got[:n*n], lu.Data) {
						t.Fatalf("factors of matrix %d of %d with %d rows are %v, alone %v", l, g, n, got[:n*n], lu.Data)
					}
					regular = regular && ZeroPivot(lu) < 0
					if KeepsRest(n) {
						rest := New(n, n)
						h.LUAndRest(Of(a.Data[l*n*n:(l+1)*n*n], n, n), rest)
						more := more.Data[l*(2*n*n+n):][:2*n*n+n]
						if !equals(more[:n*n+n], got) || !equals(more[n*n+n:], rest.Data) {
							t.Fatalf("what factors of matrix %d of %d with %d rows leave is %v, alone %v", l, g, n, more[n*n+n:], rest.Data)
						}
					}
				}
				if odd && g > 8 && regular {
					t.Errorf("none of %d matrices is singular", g)
				}
				if !LanedDeterminant(n) {
					continue
				}
				var dets []float64
				h.Dets(a.Data, factors.Data, n, g, func(l int, f float64, e int) {
					m := Of(a.Data[l*n*n:(l+1)*n*n], n, n)
					lu, perm := h.LU(m)
					if want, we := h.DetBy(m, lu, perm, nil, Dense{}); !equals([]float64{f}, []float64{want}) || e != we {
						t.Errorf("determinant of matrix %d of %d with %d rows is %v 2^%d, alone %v 2^%d", l, g, n, f, e, want, we)
					}
					dets = append(dets, f, float64(e))
				})
				if len(dets) != 2*g {
					t.Errorf("%d determinants of %d", len(dets)/2, g)
				}
				if !LanedInverse(n) {
					t.Errorf("no inverses of %d rows", n)
				}
				if n > Expanded { // fewer rows need no factors
					cofactors := New(g*n, n)
					h.CofactorsBy(cofactors.Data, a.Data, factors.Data, dets, n, g)
					for l := range g {
						m, want := Of(a.Data[l*n*n:(l+1)*n*n], n, n), New(n, n)
						lu, perm := h.LU(m)
						f, e := h.DetBy(m, lu, perm, nil, Dense{})
						h.Cofactors(want.Data, m, lu, perm, f, e, nil)
						if got := cofactors.Data[l*n*n:][:n*n]; !equals(got, want.Data) {
							t.Fatalf("cofactors of matrix %d of %d with %d rows are %v, alone %v", l, g, n, got, want.Data)
						}
					}
				}
				inverses := New(g*n, n)
				h.Inverses(inverses.Data, a.Data, factors.Data, n, g)
				for l := range g {
					m, want := Of(a.Data[l*n*n:(l+1)*n*n], n, n), New(n, n)
					lu, perm := h.LU(m)
					if ZeroPivot(lu) >= 0 {
						continue // refused
					}
					h.Inverse(want.Data, m, lu, perm, nil)
					if got := inverses.Data[l*n*n:][:n*n]; !equals(got, want.Data) {
						t.Fatalf("inverse of matrix %d of %d with %d rows is %v, alone %v", l, g, n, got, want.Data)
					}
				}
			}
		}
	}
}

// TestLanedExpansions holds determinants and cofactors of few rows side by side to those alone, bit for bit: of
// numbers far apart, with zeros of both signs, or not finite.
func TestLanedExpansions(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 12))
	h := new(Solver)
	for n := leastLaned; LanedExpansion(n); n++ {
		for _, g := range []int{1, 3, 8, 31, LanesAtOnce, LanesAtOnce + 7} {
			for odd := range 6 {
				a := drawn(rng, g*n, n)
				for range g {
					a.Data[rng.IntN(len(a.Data))] *= []float64{1, 1e80, 0, math.Copysign(0, -1), 1e-200, math.Inf(1)}[rng.IntN(odd+1)]
				}
				if odd == 1 {
					copy(a.Row(1), a.Row(0))
				}
				cofactors, dets := New(g*n, n), 0
				h.ExpandedCofactors(cofactors.Data, a.Data, n, g)
				h.ExpandedDets(a.Data, n, g, func(l int, f float64, e int) {
					m, c := Of(a.Data[l*n*n:][:n*n], n, n), New(n, n)
					if want, we := h.Det(m); !equals([]float64{f}, []float64{want}) || e != we {
						t.Errorf("determinant of matrix %d of %d, %v, is %v 2^%d, alone %v 2^%d", l, g, m, f, e, want, we)
					}
					h.Cofactors(c.Data, m, Dense{}, nil, 0, 0, nil)
					if got := cofactors.Data[l*n*n:][:n*n]; !equals(got, c.Data) {
						t.Errorf("cofactors of matrix %d of %d, %v, are %v, alone %v", l, g, m, got, c.Data)
					}
					dets++
				})
				if dets != g {
					t.Errorf("%d determinants of %d", dets, g)
				}
			}
		}
	}
}

// TestLanedSolutions holds solutions side by side to those alone, bit for bit, of systems that may have
// numbers far apart, or one that is not finite.
func TestLanedSolutions(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 11))
	h := new(Solver)
	for _, n := range lanedSizes() {
		for _, g := range []int{1, 3, 8, 31, LanesAtOnce, LanesAtOnce + 7} {
			k := 1
			if n <= mostLaned {
				k += rng.IntN(fewSides)
			}
			if !LanedSolutions(n, k, LanesAtOnce) {
				t.Fatalf("systems of %d rows are not solved side by side", n)
			}
			a, b := drawn(rng, g*n, n), drawn(rng, g, n*k)
			for range g {
				a.Data[rng.IntN(len(a.Data))] *= []float64{0, math.Copysign(0, -1), 1e-200, 1e20, math.Inf(1)}[rng.IntN(5)]
				b.Data[rng.IntN(len(b.Data))] *= []float64{0, math.Copysign(0, -1), 1e-300, 1e300, math.NaN()}[rng.IntN(5)]
			}
			factors := New(g*(n+1), n)
			for l := range g {
				one := factors.Data[l*(n*n+n):]
				lu, perm := h.LU(Of(a.Data[l*n*n:(l+1)*n*n], n, n))
				copy(one, lu.Data)
				for i, p := range perm {
					one[n*n+i] = float64(p)
				}
			}
			for _, trans := range []bool{false, true} {
				got := New(g, n*k)
				h.Solutions(got.Data, a.Data, factors.Data, b.Data, n, k, g, trans)
				for l := range g {
					m := Of(a.Data[l*n*n:(l+1)*n*n], n, n)
					lu, perm := h.LU(m)
					want := h.Refined(m, lu, perm, Of(b.Row(l), n, k), trans)
					if !equals(got.Row(l), want.Data) {
						t.Fatalf("solution %d of %d with %d rows, transposed %t, is %v, alone %v", l, g, n, trans, got.Row(l), want.Data)
					}
				}
			}
		}
	}
}

// TestLanedTriangles holds Cholesky factors, and solutions by triangles, side by side to those alone, bit for bit.
func TestLanedTriangles(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 12))
	h := new(Solver)
	for n := leastLaned; n <= mostLaned; n++ {
		for _, g := range []int{1, 3, 8, 31, LanesAtOnce, LanesAtOnce + 7} {
			a, m := New(g*n, n), New(n, n)
			at := func(x Dense, l int) Dense { return Of(x.Data[l*n*x.N:(l+1)*n*x.N], n, x.N) }
			for l := range g {
				x := drawn(rng, n, n)
				h.Product(m, x, false, x, true)
				for i := range n {
					m.Data[i*n+i] += 1e-3
				}
				m.Data[rng.IntN(n*n)] *= 1 + 0x1p-40 // not quite symmetric
				copy(at(a, l).Data, m.Data)
			}
			got := New(g*n, n)
			if !h.Choleskys(got.Data, a.Data, n, g) {
				t.Fatalf("%d matrices of %d rows are said not to be positive definite", g, n)
			}
			for l := range g {
				if want, _, _ := h.Cholesky(h.Symmetric(at(a, l))); !equals(at(got, l).Data, want.Data) {
					t.Fatalf("factor %d of %d with %d rows is %v, alone %v", l, g, n, at(got, l).Data, want.Data)
				}
			}
			for _, k := range []int{1, 2, 5, n, shortRows} {
				if !LanedTriangle(n, k) {
					continue
				}
				b, x := drawn(rng, g*n, k), New(g*n, k)
				for range g {
					b.Data[rng.IntN(len(b.Data))] = []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1)}[rng.IntN(4)]
				}
				for way := range 4 {
					upper, trans := way&1 != 0, way&2 != 0
					h.TriSolves(x.Data, a.Data, b.Data, n, k, g, upper, trans) // one triangle of a, or the other
					for l := range g {
						want := h.clone(at(b, l))
						h.TriSolve(at(a, l), want, upper, trans)
						if !equals(at(x, l).Data, want.Data) {
							t.Fatalf("solution %d of %d with %d rows and %d right sides, upper %t, transposed %t, is %v, alone %v", l, g, n, k, upper, trans, at(x, l).Data, want.Data)
						}
					}
				}
			}
			copy(at(a, g-1).Data, make([]float64, n))
			if h.Choleskys(got.Data, a.Data, n, g) {
				t.Errorf("%d matrices of %d rows, the last with a row of zeros, are said to be positive definite", g, n)
			}
		}
	}
}

// TestLanedEigen holds eigenvalues and eigenvectors side by side to those alone, bit for bit: of matrices with zeros, with equal
// eigenvalues, with numbers far apart and, now and then, some that are not finite.
func TestLanedEigen(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 13))
	h := new(Solver)
	for n := leastLaned; LanedEigh(n); n++ {
		for _, g := range []int{1, 3, 8, 31, LanesAtOnce, LanesAtOnce + 7} {
			for odd := range 7 {
				a := drawn(rng, g*n, n)
				for l := range g {
					m := Of(a.Data[l*n*n:][:n*n], n, n)
					switch l % 5 {
					case 1:
						copy(m.Data, h.eye(n).Data)
						h.Begin()
					case 2: // whole numbers
						for i := range m.Data {
							m.Data[i] = math.Round(m.Data[i])
						}
					case 3:
						for i := range n {
							m.Data[rng.IntN(n*n)] *= []float64{0, math.Copysign(0, -1), 1e-20, 1e-300, 1e10}[rng.IntN(5)]
							m.Data[i*n+i] = math.Ldexp(m.Data[i*n+i], -i*rng.IntN(200))
						}
					}
				}
				if odd > 2 {
					a.Data[rng.IntN(len(a.Data))] = []float64{math.Inf(1), math.NaN(), 1e307, 5e-324}[odd-3]
				}
				got, want := New(g*(n+1), n), New(n+1, n)
				h.Eighs(got.Data, a.Data, n, g)
				for l := range g {
					m := Of(a.Data[l*n*n:][:n*n], n, n)
					w, v := h.Eigh(h.Symmetric(m))
					copy(want.Data, w)
					copy(want.Data[n:], v.T().Data)
					if got := got.Data[l*(n*n+n):][:n*n+n]; !equals(got, want.Data) {
						t.Fatalf("eigenvalues and eigenvectors of matrix %d of %d, %v, are %v, alone %v", l, g, m, got, want.Data)
					}
				}
				h.Begin()
			}
		}
	}
}
