//go:build !purego

package kernels

var avx2Trig = []override{}

var avx512Trig = []override{}
