//go:build !purego

package kernels

var neonArith = []override{}
