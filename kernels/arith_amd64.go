//go:build !purego

package kernels

var avx2Arith = []override{}

var avx512Arith = []override{}
