//go:build !purego

package kernels

var avx2Arith = []override{
	&at[binary]{&Add, addAVX2},
	&at[binary]{&Sub, subAVX2},
	&at[binary]{&Mul, mulAVX2},
	&at[binary]{&Div, divAVX2},
}

var avx512Arith = []override{
	&at[binary]{&Add, addAVX512},
	&at[binary]{&Sub, subAVX512},
	&at[binary]{&Mul, mulAVX512},
	&at[binary]{&Div, divAVX512},
}
