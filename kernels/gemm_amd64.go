//go:build !purego

package kernels

var avx2Gemm = []override{}

var avx512Gemm = []override{}
