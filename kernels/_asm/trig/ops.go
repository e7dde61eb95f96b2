package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"

	. "nabla/kernels/_asm/kit"
)

// num is the numbers of the portable kernels.
var num = Numbers("../table_trig.go")

// named is a named constant.
func named(name string) operand.Op { return c(num[name][0]) }

// c is a constant.
var c = Number

// cr is a constant in a register.
func cr(x float64) V {
	if r, ok := c(x).(V); ok {
		return r
	}
	return Copy(c(x))
}

// table is the tables of the kernel being written.
var table map[string]Table

// setup makes tables ready, and on AVX-512 keeps constants in registers.
func setup(names []string, xs []float64) {
	table = map[string]Table{}
	if Wide { // where a vector would cross cache lines else
		FindConstants()
	}
	Hold(xs...)
	if !Wide {
		if names != nil {
			var columns [][]float64
			for _, n := range names {
				columns = append(columns, num[n])
			}
			rows = LookupRows("turns", columns...)
		}
		return
	}
	for _, n := range names {
		table[n] = Lookup16(n, num[n])
	}
}

// lookup8 looks up one of eight numbers, held in a register, by the low bits of j.
func lookup8(held, j V) V { z := New(); VPERMPD(held, j, z); return z }

// row8 is a register of numbers for lookup8.
func row8(name string, xs ...float64) V {
	return Copy(Floats(name, append(xs, make([]float64, 8-len(xs))...)...))
}
