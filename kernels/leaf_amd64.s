//go:build !purego

#include "textflag.h"
#include "funcdata.h"

// func callLeaf(code uintptr, x, y, z float64) (a, b float64, odd bool)
TEXT ·callLeaf(SB), 0, $8-49
	NO_LOCAL_POINTERS
	MOVSD     x+8(FP), X3
	MOVSD     y+16(FP), X4
	MOVSD     z+24(FP), X5
	VUNPCKLPD X4, X3, X0
	VUNPCKLPD X5, X4, X1
	VUNPCKLPD X3, X5, X2
	MOVQ      code+0(FP), AX
	MOVQ      BP, 0(SP)
	MOVQ      SP, R12
	MOVQ      R14, BX
	CALL      AX
	SETCS     odd+48(FP)
	CMPQ      SP, R12
	JNE       changed
	CMPQ      BX, R14
	JNE       changed
	CMPQ      BP, 0(SP)
	JNE       changed
	MOVSD     X0, a+32(FP)
	MOVSD     X1, b+40(FP)
	RET

changed:
	INT $3
	RET
