package kernels

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestStretchFrom holds numbers that are repeated, from any of them on, to what is said of them.
func TestStretchFrom(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for n := 1; n < 40; n++ {
			for count := range 70 {
				skip := (count * 7) % n
				x, dst := guard((count+skip+n-1)/n, n%8), guard(count, count%8)
				for i := range x.x {
					x.x[i] = float64(i)
				}
				StretchFrom(dst.x, x.x, n, skip)
				dst.check(t, "StretchFrom")
				for i, v := range dst.x {
					if want := x.x[(i+skip)/n]; v != want {
						t.Fatalf("%d numbers, each %d times, from %d on: %v at %d, want %v", count, n, skip, v, i, want)
					}
				}
			}
		}
	})
}

// TestStretch holds Stretch to what it says.
func TestStretch(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for n := range 19 {
			for count := range 40 {
				x, dst := guard(count, n%8), guard(n*count, count%8)
				for i := range x.x {
					x.x[i] = float64(i) - 3
				}
				Stretch(dst.x, x.x, n)
				dst.check(t, "Stretch")
				for i, v := range dst.x {
					if v != x.x[i/n] {
						t.Fatalf("%d numbers %d times: element %d is %v", count, n, i, v)
					}
				}
			}
		}
	})
}

// TestReverse holds Reverse to what it says.
func TestReverse(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for count := range 150 {
			x, dst := guard(count, count%8), guard(count, (count+3)%8)
			for i := range x.x {
				x.x[i] = float64(i)
			}
			Reverse(dst.x, x.x)
			dst.check(t, "Reverse")
			for i, v := range dst.x {
				if v != float64(count-1-i) {
					t.Fatalf("%d numbers: element %d is %v", count, i, v)
				}
			}
		}
	})
}

// TestStrided holds Strided and ToStrided to what they say, to the last number that there is.
func TestStrided(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for stride := 1; stride <= 11; stride++ {
			for count := range 70 {
				wide, narrow := guard(max(0, (count-1)*stride+1), stride%8), guard(count, count%8)
				for i := range wide.x {
					wide.x[i] = float64(i)
				}
				Strided(narrow.x, wide.x, stride)
				narrow.check(t, "Strided")
				for i, v := range narrow.x {
					if v != float64(i*stride) {
						t.Fatalf("%d numbers %d apart: element %d is %v", count, stride, i, v)
					}
					narrow.x[i] = -v - 1
				}
				ToStrided(wide.x, stride, narrow.x)
				wide.check(t, "ToStrided")
				for i, v := range wide.x {
					want := float64(i)
					if i%stride == 0 {
						want = -want - 1
					}
					if v != want {
						t.Fatalf("%d numbers to %d apart: element %d is %v", count, stride, i, v)
					}
				}
			}
		}
	})
}

// TestCopyEvery holds CopyEvery to what it says: nothing between its numbers is written.
func TestCopyEvery(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for stride := 1; stride <= 11; stride++ {
			for count := range 70 {
				n := max(0, (count-1)*stride+1)
				x, dst := guard(n, stride%8), guard(n, count%8)
				for i := range x.x {
					x.x[i], dst.x[i] = float64(i), -1
				}
				CopyEvery(dst.x, x.x, stride, count)
				dst.check(t, "CopyEvery")
				for i, v := range dst.x {
					want := -1.0
					if i%stride == 0 {
						want = float64(i)
					}
					if v != want {
						t.Fatalf("%d numbers %d apart: element %d is %v", count, stride, i, v)
					}
				}
			}
		}
	})
}

// TestCopyRows holds CopyRows to what it says: nothing beside the rows is written.
func TestCopyRows(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for n := range 40 {
			for count := range 5 {
				ldd, ldx := n+count*3, n+(n*count)%7
				x, dst := guard(max(0, (count-1)*ldx+n), n%8), guard(max(0, (count-1)*ldd+n), count%8)
				for i := range x.x {
					x.x[i] = float64(i)
				}
				for i := range dst.x {
					dst.x[i] = -1
				}
				CopyRows(dst.x, ldd, x.x, ldx, n, count)
				dst.check(t, "CopyRows")
				for i, v := range dst.x {
					want := -1.0
					if ldd > 0 && i%ldd < n {
						want = float64(i/ldd*ldx + i%ldd)
					}
					if v != want {
						t.Fatalf("%d rows of %d, from %d apart to %d: element %d is %v, want %v", count, n, ldx, ldd, i, v, want)
					}
				}
			}
		}
	})
}

// TestPlaces holds Places to what it says, wherever the one is that is none.
func TestPlaces(t *testing.T) {
	const n = 1000
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		for count := range 40 {
			x, dst := guard(count, count%8), make([]int, count)
			for i := range x.x {
				x.x[i] = []float64{0, math.Copysign(0, -1), 1, n - 1, float64(r.IntN(n))}[r.IntN(5)]
			}
			if !Places(dst, x.x, n) {
				t.Fatalf("%v are none", x.x)
			}
			for i, k := range dst {
				if float64(k) != x.x[i] {
					t.Fatalf("%v is %d", x.x[i], k)
				}
			}
			for i := range x.x {
				was := x.x[i]
				for _, v := range []float64{-1, n, 0.5, n - 0.5, -1e-300, 5e-324, 1 << 52, 1<<53 + 2, -(1 << 52), 1 << 63, 1e300, math.Inf(1), math.Inf(-1), math.NaN(), math.Nextafter(7, 8)} {
					if x.x[i] = v; Places(dst, x.x, n) {
						t.Fatalf("%d of %d is %v and taken", i, count, v)
					}
				}
				x.x[i] = was
			}
		}
	})
}

// TestAtPlaces holds Pick and AddAt to what they say.
func TestAtPlaces(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		for count := range 40 {
			all, each, places := guard(1+r.IntN(20), count%8), guard(count, (count+3)%8), make([]int, count)
			for i := range all.x {
				all.x[i] = r.NormFloat64()
			}
			for i := range places {
				places[i] = r.IntN(len(all.x))
			}
			Pick(each.x, all.x, places)
			each.check(t, "Pick")
			want := slices.Clone(all.x)
			for i, k := range places {
				if each.x[i] != all.x[k] {
					t.Fatalf("%d of %d: number %d is %v, not %v", count, len(all.x), i, each.x[i], all.x[k])
				}
				each.x[i] = r.NormFloat64()
				want[k] += each.x[i]
			}
			AddAt(all.x, each.x, places)
			all.check(t, "AddAt")
			if !slices.Equal(all.x, want) {
				t.Fatalf("%d to %d: %v, not %v", count, len(all.x), all.x, want)
			}
		}
	})
}

// TestRowsAtPlaces holds PickRows and AddRowsAt to what they say, of rows that are short and long.
func TestRowsAtPlaces(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 8))
		for n := 1; n <= 70; n++ {
			count := r.IntN(12)
			rows := 1 + r.IntN(6)
			all, each, places := guard(rows*n, n%8), guard(count*n, (n+3)%8), make([]int, count)
			for i := range all.x {
				all.x[i] = r.NormFloat64()
			}
			for i := range places {
				places[i] = r.IntN(rows)
			}
			PickRows(each.x, all.x, places, n)
			each.check(t, "PickRows")
			want := slices.Clone(all.x)
			for i, k := range places {
				for j := range n {
					v := &each.x[i*n+j]
					if *v != all.x[k*n+j] {
						t.Fatalf("row %d of %d is row %d: number %d is %v, not %v", i, n, k, j, *v, all.x[k*n+j])
					}
					*v = r.NormFloat64()
					want[k*n+j] += *v
				}
			}
			AddRowsAt(all.x, each.x, places, n)
			all.check(t, "AddRowsAt")
			if !slices.Equal(all.x, want) {
				t.Fatalf("%d rows of %d to %d: %v, not %v", count, n, rows, all.x, want)
			}
		}
	})
}

// BenchmarkMove is what numbers cost that are put elsewhere.
func BenchmarkMove(b *testing.B) {
	const n = 256
	x, dst, ids := make([]float64, 8*n), make([]float64, 8*n), make([]int, n)
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i * 7 % 23
	}
	for _, r := range []struct {
		name string
		run  func()
	}{
		{"strided3", func() { Strided(dst[:n], x, 3) }},
		{"strided3/go", func() { strided(dst[:n], x, 3) }},
		{"toStrided3", func() { ToStrided(dst, 3, x[:n]) }},
		{"toStrided3/go", func() { toStrided(dst, 3, x[:n]) }},
		{"copyEvery3", func() { CopyEvery(dst, x, 3, n) }},
		{"copyEvery3/go", func() { copyEvery(dst, x, 3, n) }},
		{"rows4", func() { CopyRows(dst, 6, x, 5, 4, n/4) }},
		{"rows4/go", func() { copyRows(dst, 6, x, 5, 4, n/4) }},
		{"rows20", func() { CopyRows(dst, 22, x, 21, 20, n/20) }},
		{"rows20/go", func() { copyRows(dst, 22, x, 21, 20, n/20) }},
		{"rows100", func() { CopyRows(dst, 102, x, 101, 100, n/100) }},
		{"rows100/go", func() { copyRows(dst, 102, x, 101, 100, n/100) }},
		{"stretch2", func() { Stretch(dst[:n], x[:n/2], 2) }},
		{"stretch5", func() { Stretch(dst[:n/5*5], x[:n/5], 5) }},
		{"stretch10", func() { Stretch(dst[:n/10*10], x[:n/10], 10) }},
		{"stretch20", func() { Stretch(dst[:n/20*20], x[:n/20], 20) }},
		{"stretchFrom20", func() { StretchFrom(dst[:n], x, 20, 7) }},
		{"reverse", func() { Reverse(dst[:n], x[:n]) }},
		{"reverse/go", func() { reverse(dst[:n], x[:n]) }},
		{"places", func() { Places(ids, x[:n], n) }},
		{"places/go", func() { places(ids, x[:n], n) }},
		{"pick", func() { Pick(dst[:n], x, ids) }},
		{"pick/go", func() { pick(dst[:n], x, ids) }},
		{"addAt", func() { AddAt(dst, x[:n], ids) }},
		{"addAt/go", func() { addAt(dst, x[:n], ids) }},
		{"pickRows3", func() { PickRows(dst, x, rows[:n/3], 3) }},
		{"pickRows3/go", func() { pickRows(dst, x, rows[:n/3], 3) }},
		{"pickRows16", func() { PickRows(dst, x, rows[:n/16], 16) }},
		{"pickRows16/go", func() { pickRows(dst, x, rows[:n/16], 16) }},
		{"pickRows64", func() { PickRows(dst, x, rows[:n/64], 64) }},
		{"pickRows64/go", func() { pickRows(dst, x, rows[:n/64], 64) }},
		{"addRowsAt3", func() { AddRowsAt(dst, x, rows[:n/3], 3) }},
		{"addRowsAt3/go", func() { addRowsAt(dst, x, rows[:n/3], 3) }},
		{"addRowsAt16", func() { AddRowsAt(dst, x, rows[:n/16], 16) }},
		{"addRowsAt16/go", func() { addRowsAt(dst, x, rows[:n/16], 16) }},
		{"addRowsAt64", func() { AddRowsAt(dst, x, rows[:n/64], 64) }},
		{"addRowsAt64/go", func() { addRowsAt(dst, x, rows[:n/64], 64) }},
	} {
		b.Run(r.name, func(b *testing.B) {
			for b.Loop() {
				r.run()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/element")
		})
	}
}
