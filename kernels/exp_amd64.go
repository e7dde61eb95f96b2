//go:build !purego

package kernels

var avx2Exp = []override{}

var avx512Exp = []override{}
