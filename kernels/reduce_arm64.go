//go:build !purego

package kernels

func neonReduce() []override {
	return []override{
		&at[func(x []float64) float64]{&sumBlock, func(x []float64) float64 { var l Lanes; sumLanesNEON(&l, x); return l.Fold() }},
		&at[func(x, y []float64) float64]{&dotBlock, func(x, y []float64) float64 { var l Lanes; dotLanesNEON(&l, x, y); return l.Fold() }},
		&at[func(*Lanes, []float64)]{&SumLanes, sumLanesNEON},
		&at[func(x []float64) float64]{&Max, maxNEON},
		&at[func(x []float64) float64]{&highest, maxNEON},
		&at[func(x []float64) float64]{&Min, minNEON},
		&at[func(x []float64) float64]{&lowest, minNEON},
		&at[multiplier[float64]]{&multiply, multiplier[float64]{tier: neon, width: portableWidth, pack: packRows}},
		&at[multiplier[float32]]{&multiply32, multiplier[float32]{tier: neon, width: portableWidth32, pack: packRows32}},
	}
}
