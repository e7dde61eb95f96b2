//go:build !purego

#include "textflag.h"
#include "funcdata.h"

// func callLeaf(code uintptr, x, y, z float64, vectors *[16]float64) (a, b float64, odd bool)
TEXT ·callLeaf(SB), 0, $8-57
	NO_LOCAL_POINTERS
	MOVSD     x+8(FP), X3
	MOVSD     y+16(FP), X4
	MOVSD     z+24(FP), X5
	VUNPCKLPD X4, X3, X0
	VUNPCKLPD X5, X4, X1
	VUNPCKLPD X3, X5, X2
	MOVQ      vectors+32(FP), DX
	TESTQ     DX, DX
	JZ        call
	MOVSD 24(DX), X3
	MOVSD 32(DX), X4
	MOVSD 40(DX), X5
	MOVSD 48(DX), X6
	MOVSD 56(DX), X7
	MOVSD 64(DX), X8
	MOVSD 72(DX), X9
	MOVSD 80(DX), X10
	MOVSD 88(DX), X11
	MOVSD 96(DX), X12
	MOVSD 104(DX), X13
	MOVSD 112(DX), X14
	MOVSD 120(DX), X15

call:
	MOVQ  code+0(FP), AX
	MOVQ  BP, 0(SP)
	MOVQ  SP, R12
	MOVQ  R14, BX
	CALL  AX
	SETCS odd+56(FP)
	CMPQ  SP, R12
	JNE   changed
	CMPQ  BX, R14
	JNE   changed
	CMPQ  BP, 0(SP)
	JNE   changed
	MOVSD X0, a+40(FP)
	MOVSD X1, b+48(FP)
	MOVQ  vectors+32(FP), DX
	TESTQ DX, DX
	JZ    return
	MOVSD X3, 24(DX)
	MOVSD X4, 32(DX)
	MOVSD X5, 40(DX)
	MOVSD X6, 48(DX)
	MOVSD X7, 56(DX)
	MOVSD X8, 64(DX)
	MOVSD X9, 72(DX)
	MOVSD X10, 80(DX)
	MOVSD X11, 88(DX)
	MOVSD X12, 96(DX)
	MOVSD X13, 104(DX)
	MOVSD X14, 112(DX)
	MOVSD X15, 120(DX)

return:
	RET

changed:
	INT $3
	RET
