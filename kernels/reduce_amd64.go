//go:build !purego

package kernels

import "math"

type (
	reducer = func(x []float64) float64
	dotter  = func(x, y []float64) float64

	rowsAdding = func(acc, x []float64, ldx, m int)
)

func avx2Reduce() []override {
	return []override{
		&at[reducer]{&sumBlock, sumBlockAVX2},
		&at[dotter]{&dotBlock, dotBlockAVX2},
		&at[func(*Lanes, []float64)]{&SumLanes, sumLanesAVX2},
		&at[func(l *Lanes, x, y []float64)]{&DotLanes, dotLanesAVX2},
		&at[reducer]{&Max, signed(maxAVX2, 0)},
		&at[rowsAdding]{&accumulateNarrow, held(accumulateNarrowAVX2)},
		&at[reducer]{&Min, signed(minAVX2, 1<<63)},
		&at[func(dst, a, b []float64, ld int)]{&residuals, residualsAVX2},
		&at[func(dst, a, b []float64, lda, ldb, m int)]{&residualsApart, residualsApartAVX2},
	}
}

func avx512Reduce() []override {
	return []override{
		&at[reducer]{&sumBlock, sumBlockAVX512},
		&at[dotter]{&dotBlock, dotBlockAVX512},
		&at[func(*Lanes, []float64)]{&SumLanes, sumLanesAVX512},
		&at[func(l *Lanes, x, y []float64)]{&DotLanes, dotLanesAVX512},
		&at[reducer]{&Max, signed(maxAVX512, 0)},
		&at[rowsAdding]{&accumulateNarrow, held(accumulateNarrowAVX512)},
		&at[reducer]{&Min, signed(minAVX512, 1<<63)},
		&at[func(dst, a, b []float64, ld int)]{&residuals, residualsAVX512},
		&at[func(dst, a, b []float64, lda, ldb, m int)]{&residualsApart, residualsApartAVX512},
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

// held is accumulateNarrow by machine code.
func held(kernel func(acc, x *float64, ldx, m, n int)) rowsAdding {
	return func(acc, x []float64, ldx, m int) {
		if len(acc) == 0 || m <= 0 {
			return
		}
		_ = x[(m-1)*ldx+len(acc)-1]
		kernel(&acc[0], &x[0], ldx, m, len(acc))
	}
}
