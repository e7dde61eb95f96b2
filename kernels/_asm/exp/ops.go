package main

import (
	"github.com/mmcloughlin/avo/operand"
	"nabla/kernels/_asm/kit"
)

type (
	v    = kit.V
	mask = kit.Bool
)

// num is the numbers of the portable kernels.
var num = kit.Numbers("../table_exp.go")

// k is a named constant.
func k(name string) operand.Op { return c(num[name][0]) }

const (
	magic    = 0x1.8p52
	signBit  = kit.SignBit
	exponent = 0x7ff << 52
)

var (
	c, bits = kit.Number, kit.Word
	load    = kit.Copy

	add, sub, mul, div, sqrt     = kit.Add, kit.Sub, kit.Mul, kit.Div, kit.Sqrt
	max, min, floor              = kit.Max, kit.Min, kit.Floor
	madd, msub, nmadd            = kit.Madd, kit.Msub, kit.Nmadd
	addMul, subMul               = kit.AddMul, kit.SubMul
	addInt, subInt, andInt       = kit.AddInt, kit.SubInt, kit.AndInt
	orInt, and, xor              = kit.OrInt, kit.And, kit.Xor
	shiftLeft, shiftRight        = kit.ShiftLeft, kit.ShiftRight
	abs, negative, withSign, set = kit.Abs, kit.Negative, kit.WithSign, kit.Set
)

const eq, lt, gt, nle, nlt = kit.EQ, kit.LT, kit.GT, kit.NLE, kit.NLT

var compare = kit.Compare
