//go:build !purego

package kernels

var neonArith = []override{
	&at[unary]{&Neg, negNEON},
	&at[unary]{&Abs, absNEON},
	&at[unary]{&Sqrt, sqrtNEON},
	&at[unary]{&Square, squareNEON},
	&at[unary]{&Floor, floorNEON},
	&at[unary]{&Ceil, ceilNEON},
	&at[unary]{&Trunc, truncNEON},
	&at[unary]{&Round, roundNEON},
	&at[binary]{&Add, addNEON},
	&at[binary]{&Sub, subNEON},
	&at[binary]{&Mul, mulNEON},
	&at[binary]{&Div, divNEON},
	&at[binary]{&Maximum, maximumNEON},
	&at[binary]{&Minimum, minimumNEON},
	&at[ternary]{&FMA, fmaNEON},
	&at[unary]{&Accumulate, accumulateNEON},
	&at[func(x []float64) float64]{&sumBlock, func(x []float64) float64 { var l Lanes; sumLanesNEON(&l, x); return l.Fold() }},
	&at[func(x, y []float64) float64]{&dotBlock, func(x, y []float64) float64 { var l Lanes; dotLanesNEON(&l, x, y); return l.Fold() }},
	&at[func(*Lanes, []float64)]{&SumLanes, sumLanesNEON},
	&at[func(l *Lanes, x, y []float64)]{&DotLanes, dotLanesNEON},
	&at[func(x []float64) float64]{&Max, maxNEON},
	&at[func(x []float64) float64]{&Min, minNEON},
	&at[multiplier]{&multiply, multiplier{tier: neon, width: portableWidth, pack: packRows}},
}
