//go:build !purego

package kernels

func neonArith() []override {
	return []override{
		&at[unary]{&Copy, copyNEON},
		&at[unary]{&Neg, negNEON},
		&at[unary]{&Abs, absNEON},
		&at[unary]{&Sign, signNEON},
		&at[unary]{&Sqrt, sqrtNEON},
		&at[unary]{&Recip, recipNEON},
		&at[unary]{&LogSlope, logSlopeNEON},
		&at[unary]{&Log1pSlope, log1pSlopeNEON},
		&at[unary]{&Square, squareNEON},
		&at[unary]{&Floor, floorNEON},
		&at[unary]{&Ceil, ceilNEON},
		&at[unary]{&Trunc, truncNEON},
		&at[unary]{&Round, roundNEON},
		&at[unary]{&Float32, float32NEON},
		&at[unary]{&Not, notNEON},
		&at[unary]{&IsNaN, isNaNNEON},
		&at[unary]{&IsInf, isInfNEON},
		&at[unary]{&IsFinite, isFiniteNEON},
		&at[binary]{&Add, addNEON},
		&at[binary]{&Sub, subNEON},
		&at[binary]{&Mul, mulNEON},
		&at[binary]{&Div, divNEON},
		&at[binary]{&ZMul, zMulNEON},
		&at[pairs]{&Pairs, pairsNEON},
		&at[binary]{&Maximum, maximumNEON},
		&at[binary]{&Minimum, minimumNEON},
		&at[binary]{&Lt, ltNEON},
		&at[binary]{&Le, leNEON},
		&at[binary]{&Gt, gtNEON},
		&at[binary]{&Ge, geNEON},
		&at[binary]{&Eq, eqNEON},
		&at[binary]{&Ne, neNEON},
		&at[binary]{&And, andNEON},
		&at[binary]{&Or, orNEON},
		&at[binary]{&Mod, patchedBinary(modNEON, ModOf)},
		&at[binary]{&FloorDiv, patchedBinary(floorDivNEON, FloorDivOf)},
		&at[ternary]{&FMA, fmaNEON},
		&at[ternary]{&Where, whereNEON},
		&at[scaling]{&AddScalar, addScalarNEON},
		&at[scaling]{&MulScalar, mulScalarNEON},
		&at[filling]{&Fill, fillNEON},
		&at[unary]{&Accumulate, accumulateNEON},
		&at[axpying]{&Axpy, axpyNEON},
	}
}

var pairsNEON = pairs{
	{addAddNEON, addSubNEON, addMulNEON, addZMulNEON, addSubFromNEON},
	{subAddNEON, subSubNEON, subMulNEON, subZMulNEON, subSubFromNEON},
	{mulAddNEON, mulSubNEON, mulMulNEON, mulZMulNEON, mulSubFromNEON},
	{zMulAddNEON, zMulSubNEON, zMulMulNEON, zMulZMulNEON, zMulSubFromNEON},
}
