//go:build !purego

#include "textflag.h"
#include "funcdata.h"

// The frame begins with the arguments of the kernels, four slices; their lengths do not
// change. Kernels use all registers.
#define CALL_ 96(SP)
#define LEFT 104(SP)

// func run(calls *Call, count int, at *unsafe.Pointer, n int) (ran, done int)
TEXT ·run(SB), 0, $112-48
	NO_LOCAL_POINTERS
	MOVQ calls+0(FP), AX
	MOVQ count+8(FP), BX
	MOVQ n+24(FP), DX
	MOVQ DX, 8(SP)
	MOVQ DX, 32(SP)
	MOVQ DX, 56(SP)
	MOVQ DX, 80(SP)
	MOVQ BX, LEFT

next:
	MOVQ    AX, CALL_
	MOVQ    at+16(FP), CX
	MOVLQSX 16(AX), SI
	MOVLQSX 20(AX), DI
	MOVLQSX 24(AX), R8
	MOVLQSX 28(AX), R9
	MOVQ    (CX)(SI*8), SI
	MOVQ    (CX)(DI*8), DI
	MOVQ    (CX)(R8*8), R8
	MOVQ    (CX)(R9*8), R9
	MOVQ    SI, 0(SP)
	MOVQ    DI, 24(SP)
	MOVQ    R8, 48(SP)
	MOVQ    R9, 72(SP)
	MOVQ    8(AX), DX
	MOVQ    (AX), AX
	TESTQ   AX, AX
	JZ      none
	TESTQ   DX, DX
	JNE     unlike
	CALL    AX

done:
	MOVQ CALL_, AX
	ADDQ $32, AX
	DECQ LEFT
	JNZ  next
	MOVQ count+8(FP), AX
	MOVQ AX, ran+32(FP)
	MOVQ $0, done+40(FP)
	RET

unlike:
	JLT  lanes
	CALL AX
	MOVQ CALL_, AX
	MOVQ 8(AX), DX
	MOVQ (SP)(DX*1), DX
	CMPQ DX, n+24(FP)
	JGE  done
	JMP  stop

lanes: // the slice is the second parameter, behind a pointer
	MOVQ DI, 8(SP)
	MOVQ n+24(FP), DX
	MOVQ DX, 16(SP)
	CALL AX
	MOVQ n+24(FP), DX
	MOVQ DX, 8(SP)
	JMP  done

none:
	XORQ DX, DX

stop:
	MOVQ count+8(FP), AX
	SUBQ LEFT, AX
	MOVQ AX, ran+32(FP)
	MOVQ DX, done+40(FP)
	RET
