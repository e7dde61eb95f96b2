//go:build !purego && (linux || darwin)

#include "textflag.h"
#include "funcdata.h"

// func runSteps(entry uintptr, mem *float64, arrays *span, from, to int) int
TEXT ·runSteps(SB), 0, $16-48
	NO_LOCAL_POINTERS
	MOVQ entry+0(FP), AX
	MOVQ mem+8(FP), BX
	MOVQ arrays+16(FP), CX
	MOVQ from+24(FP), R12
	MOVQ to+32(FP), R14
	MOVQ CX, 0(SP)
	CALL AX
	MOVQ R12, ret+40(FP)
	RET
