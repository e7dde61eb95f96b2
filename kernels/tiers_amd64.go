//go:build !purego

package kernels

// tables are the tiers of this architecture, slowest first.
var tables = []table{
	{name: "generic"},
	{name: "avx2", have: hasAVX2, families: []func() []override{avx2Arith, avx2Powers, avx2Reduce, avx2Move, avx2Gemm, avx2Exp, avx2Trig, avx2Single}},
	{name: "avx512", have: hasAVX512, families: []func() []override{avx512Arith, avx512Reduce, avx512Move, avx512Gemm, avx512Exp, avx512Trig, avx512Single}},
}
