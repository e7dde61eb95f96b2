//go:build !purego

package kernels

import "math"

type (
	reducer = func(x []float64) float64
	dotter  = func(x, y []float64) float64
)

func avx2Reduce() []override {
	return []override{
		&at[reducer]{&sumBlock, sumBlockAVX2},
		&at[dotter]{&dotBlock, dotBlockAVX2},
		&at[func(*Lanes, []float64)]{&SumLanes, sumLanesAVX2},
		&at[func(l *Lanes, x, y []float64)]{&DotLanes, dotLanesAVX2},
		&at[reducer]{&Max, func(x []float64) float64 { return signed(maxAVX2(x), x, 0) }},
		&at[reducer]{&Min, func(x []float64) float64 { return signed(minAVX2(x), x, 1<<63) }},
	}
}

func avx512Reduce() []override {
	return []override{
		&at[reducer]{&sumBlock, sumBlockAVX512},
		&at[dotter]{&dotBlock, dotBlockAVX512},
		&at[func(*Lanes, []float64)]{&SumLanes, sumLanesAVX512},
		&at[func(l *Lanes, x, y []float64)]{&DotLanes, dotLanesAVX512},
		&at[reducer]{&Max, func(x []float64) float64 { return signed(maxAVX512(x), x, 0) }},
		&at[reducer]{&Min, func(x []float64) float64 { return signed(minAVX512(x), x, 1<<63) }},
	}
}

// signed is the extreme m of x, which the vector instructions leave without a
// sign if it is 0: it is the zero with these bits if x has it, else the other.
func signed(m float64, x []float64, bits uint64) float64 {
	if m != 0 {
		return m
	}
	for _, v := range x {
		if math.Float64bits(v) == bits {
			return v
		}
	}
	return math.Float64frombits(bits ^ 1<<63)
}
