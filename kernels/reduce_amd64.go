//go:build !purego

package kernels

import (
	"math"
	"unsafe"
)

type (
	reducer = func(x []float64) float64
	dotter  = func(x, y []float64) float64

	rowsAdding     = func(acc, x []float64, ldx, m int)
	rowsSumming    = func(dst, x []float64, n int)
	rowsCounting   = func(dst, x, v []float64, n int)
	rowsTopping    = func(top []float64, first []int, less, x []float64, n int) bool
	rowsScaling    = func(dst []float64, ldd int, num float64, s []float64, lds int, x []float64, ldx, n, rows int)
	columnsTopping = func(top []float64, first []int, less, x []float64, ld, n int) bool
)

func avx2Reduce() []override {
	return []override{
		&at[reducer]{&sumBlock, sumBlockAVX2},
		&at[dotter]{&dotBlock, dotBlockAVX2},
		&at[func(*Lanes, []float64)]{&SumLanes, sumLanesAVX2},
		&at[reducer]{&Max, signed(maxAVX2, 0)},
		&at[reducer]{&highest, maxAVX2},
		&at[rowsAdding]{&accumulateNarrow, held(accumulateNarrowAVX2, 16)},
		&at[rowsSumming]{&sumRows, addedBy(sumRowsAVX2, sumShortRowsAVX2, 4)},
		&at[columnsTopping]{&tallest, tops(tallestAVX2)},
		&at[rowsScaling]{&axpyRows, scaledBy(axpyRowsAVX2)},
		&at[rowsCounting]{&countRows, countedBy(countRowsAVX2)},
		&at[rowsTopping]{&tallestOfRows, topsOfRows(tallestOfRowsAVX2)},
		&at[reducer]{&Min, signed(minAVX2, 1<<63)},
		&at[reducer]{&lowest, minAVX2},
		&at[func(dst, a, b []float64, ld int)]{&residuals, residualsAVX2},
		&at[func(dst, rest, a, b []float64, ld int)]{&residualsRest, residualsRestAVX2},
		&at[func(dst, a, b []float64, lda, ldb, m int)]{&residualsApart, residualsApartAVX2},
		&at[func(dst, rest, a, b []float64, lda, ldb, m int)]{&residualsApartRest, residualsApartRestAVX2},
		&at[func(x, y, s, tau []float64, ldx, ldy, m int)]{&rotateApart, rotateApartAVX2},
	}
}

func avx512Reduce() []override {
	return []override{
		&at[reducer]{&sumBlock, sumBlockAVX512},
		&at[dotter]{&dotBlock, dotBlockAVX512},
		&at[func(*Lanes, []float64)]{&SumLanes, sumLanesAVX512},
		&at[reducer]{&Max, signed(maxAVX512, 0)},
		&at[reducer]{&highest, maxAVX512},
		&at[rowsAdding]{&accumulateNarrow, held(accumulateNarrowAVX512, 32)},
		&at[rowsSumming]{&sumRows, addedBy(sumRowsAVX512, sumShortRowsAVX512, 8)},
		&at[columnsTopping]{&tallest, tops(tallestAVX512)},
		&at[rowsScaling]{&axpyRows, scaledBy(axpyRowsAVX512)},
		&at[rowsCounting]{&countRows, countedBy(countRowsAVX512)},
		&at[rowsTopping]{&tallestOfRows, topsOfRows(tallestOfRowsAVX512)},
		&at[reducer]{&Min, signed(minAVX512, 1<<63)},
		&at[reducer]{&lowest, minAVX512},
		&at[func(dst, a, b []float64, ld int)]{&residuals, residualsAVX512},
		&at[func(dst, rest, a, b []float64, ld int)]{&residualsRest, residualsRestAVX512},
		&at[func(dst, a, b []float64, lda, ldb, m int)]{&residualsApart, residualsApartAVX512},
		&at[func(dst, rest, a, b []float64, lda, ldb, m int)]{&residualsApartRest, residualsApartRestAVX512},
		&at[func(x, y, s, tau []float64, ldx, ldy, m int)]{&rotateApart, rotateApartAVX512},
	}
}

// signed is a kernel of extremes with the sign of a 0, which the vector instructions leave
// open: it is the zero with these bits if x has it, else the other.
func signed(kernel reducer, bits uint64) reducer {
	return noted(kernel, func(x []float64) float64 {
		m := kernel(x)
		if m != 0 {
			return m
		}
		for _, v := range x {
			if math.Float64bits(v) == bits {
				return v
			}
		}
		return math.Float64frombits(bits ^ 1<<63)
	})
}

// held is accumulateNarrow by machine code, of so many columns at once.
func held(kernel func(acc, x *float64, ldx, m, n int), columns int) rowsAdding {
	return func(acc, x []float64, ldx, m int) {
		if len(acc) == 0 || m <= 0 {
			return
		}
		_ = x[(m-1)*ldx+len(acc)-1]
		for j := 0; j < len(acc); j += columns {
			kernel(&acc[j], &x[j], ldx, m, min(columns, len(acc)-j))
		}
	}
}

// addedBy is sumRows by machine code, where a row is a block at most: of short ones by so many at once.
func addedBy(kernel, short func(dst, x *float64, n, rows int), lanes int) rowsSumming {
	return func(dst, x []float64, n int) {
		if n == 0 || n > SumBlock {
			for i := range dst {
				dst[i] = Sum(x[i*n : (i+1)*n])
			}
			return
		}
		if len(dst) == 0 {
			return
		}
		_ = x[n*len(dst)-1]
		if groups := len(dst) / lanes; n <= len(Lanes{}) && groups > 0 {
			short(&dst[0], &x[0], n, groups)
			dst, x = dst[groups*lanes:], x[groups*lanes*n:]
		}
		if len(dst) > 0 {
			kernel(&dst[0], &x[0], n, len(dst))
		}
	}
}

// scaledBy is axpyRows by machine code.
func scaledBy(kernel func(dst *float64, ldd int, num float64, s *float64, lds int, x *float64, ldx, n, rows int)) rowsScaling {
	return func(dst []float64, ldd int, num float64, s []float64, lds int, x []float64, ldx, n, rows int) {
		_, _, _ = dst[(rows-1)*ldd+n-1], s[(rows-1)*lds], x[(rows-1)*ldx+n-1]
		kernel(&dst[0], ldd, num, &s[0], lds, &x[0], ldx, n, rows)
	}
}

// countedBy is countRows by machine code.
func countedBy(kernel func(dst, x, v *float64, n, rows int)) rowsCounting {
	return func(dst, x, v []float64, n int) {
		_, _ = x[n*len(dst)-1], v[len(dst)-1]
		kernel(&dst[0], &x[0], &v[0], n, len(dst))
	}
}

// tops is tallest by machine code.
func tops(kernel func(top *float64, first *int, less, x *float64, ld, n, w int) bool) columnsTopping {
	return func(top []float64, first []int, less, x []float64, ld, n int) bool {
		return kernel(&top[0], &first[0], unsafe.SliceData(less), &x[0], ld, n, len(top))
	}
}

// topsOfRows is tallestOfRows by machine code.
func topsOfRows(kernel func(top *float64, first *int, less, x *float64, n, rows int) bool) rowsTopping {
	return func(top []float64, first []int, less, x []float64, n int) bool {
		return kernel(&top[0], &first[0], &less[0], &x[0], n, len(top))
	}
}
