package main

import (
	. "github.com/mmcloughlin/avo/build"
	"nabla/kernels/_asm/kit"

	"github.com/mmcloughlin/avo/operand"
)

type (
	v    = kit.V
	mask = kit.Bool
)

// num is the numbers of the portable kernels.
var num = kit.Numbers("../table_trig.go")

// num1 is a named constant.
func num1(name string) operand.Op { return c(num[name][0]) }

const (
	magic   = 0x1.8p52
	signBit = kit.SignBit
)

var (
	c, bits   = kit.Number, kit.Word
	load, mov = kit.Copy, kit.Copy

	add, sub, mul, div, sqrt  = kit.Add, kit.Sub, kit.Mul, kit.Div, kit.Sqrt
	max, min, floor, trunc    = kit.Max, kit.Min, kit.Floor, kit.Trunc
	madd, msub, nmadd         = kit.Madd, kit.Msub, kit.Nmadd
	addMul, subMul, negSubMul = kit.AddMul, kit.SubMul, kit.NegSubMul
	addInt, subInt, andInt    = kit.AddInt, kit.SubInt, kit.AndInt
	and, xor                  = kit.And, kit.Xor
	shiftLeft, shiftRight     = kit.ShiftLeft, kit.ShiftRight
	abs, withSign, flip       = kit.Abs, kit.WithSign, kit.Flip
	cmp, set, stopIf          = kit.Compare, kit.Set, kit.StopIf
)

const eq, lt, le, ge, gt, nle, nlt, un = kit.EQ, kit.LT, kit.LE, kit.GE, kit.GT, kit.NLE, kit.NLT, kit.UN

// cr is a constant in a register.
func cr(x float64) v {
	if r, ok := c(x).(v); ok {
		return r
	}
	return load(c(x))
}

// table is the tables of the kernel being written.
var table map[string]kit.Table

// setup makes tables ready, and on AVX-512 keeps constants in registers.
func setup(names []string, xs []float64) {
	table = map[string]kit.Table{}
	kit.Hold(xs...)
	if !kit.Wide {
		if names != nil {
			var columns [][]float64
			for _, n := range names {
				columns = append(columns, num[n])
			}
			rows = kit.LookupRows("turns", columns...)
		}
		return
	}
	for _, n := range names {
		table[n] = kit.Lookup16(n, num[n])
	}
}

// lookup8 looks up one of eight numbers, held in a register, by the low bits of j.
func lookup8(held, j v) v { z := kit.New(); VPERMPD(held, j, z); return z }

// row8 is a register of numbers for lookup8.
func row8(name string, xs ...float64) v {
	return load(kit.Floats(name, append(xs, make([]float64, 8-len(xs))...)...))
}
