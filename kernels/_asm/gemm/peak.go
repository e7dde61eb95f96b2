package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"nabla/kernels/_asm/kit"
)

// peakChains is how many chains of fused multiply-adds run side by side: enough for two
// a cycle with a latency of four.
const peakChains = 12

// peak writes a loop of nothing but fused multiply-adds.
func peak() {
	name := "peak" + kit.Suffix
	TEXT(name, NOSPLIT, "func(n int)")
	kit.Equals(name, fmt.Sprintf("\tfor range n { /* %d fused multiply-adds, in chains of %d vectors */ }", peakChains*kit.Lanes, peakChains))
	n := param("n")
	acc := make([]v, peakChains)
	for i := range acc {
		acc[i] = kit.New()
		kit.Zero(acc[i])
	}
	x := kit.New()
	kit.Zero(x)
	Label("loop")
	for i := range acc {
		VFMADD231PD(x, x, acc[i])
	}
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
