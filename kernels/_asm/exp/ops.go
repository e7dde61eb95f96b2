package main

import (
	"github.com/mmcloughlin/avo/operand"

	. "nabla/kernels/_asm/kit"
)

// num is the numbers of the portable kernels.
var num = Numbers("../table_exp.go")

// named is a named constant.
func named(name string) operand.Op { return c(num[name][0]) }

// c is a constant.
var c = Number

const exponent = 0x7ff << 52
