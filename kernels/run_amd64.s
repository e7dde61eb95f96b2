//go:build !purego

#include "textflag.h"
#include "funcdata.h"

// The frame begins with the arguments of the kernels, four slices and a number that comes back; the lengths do not
// change. Kernels use all registers.
#define CALL_ 104(SP)
#define LEFT 112(SP)
#define TILES 120(SP)

// func run(calls *Call, count int, at *unsafe.Pointer, n, tiles int, moving *unsafe.Pointer, movers int, each *Each, eaches int) (ran, done, left int)
TEXT ·run(SB), 0, $128-96
	NO_LOCAL_POINTERS
	MOVQ n+24(FP), DX
	MOVQ DX, 8(SP)
	MOVQ DX, 32(SP)
	MOVQ DX, 56(SP)
	MOVQ DX, 80(SP)
	MOVQ tiles+32(FP), DX
	MOVQ DX, TILES

tile:
	MOVQ calls+0(FP), AX
	MOVQ count+8(FP), BX
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
	DECQ TILES
	JZ   end

	// No pointer leaves its memory: it moves where there is one more tile.
	MOVQ n+24(FP), DX
	SHLQ $3, DX
	MOVQ moving+40(FP), SI
	MOVQ movers+48(FP), CX
	TESTQ CX, CX
	JZ numbers

move:
	ADDQ DX, (SI)
	ADDQ $8, SI
	DECQ CX
	JNZ  move

numbers:
	MOVQ each+56(FP), SI
	MOVQ eaches+64(FP), CX
	TESTQ CX, CX
	JZ tile

number:
	MOVQ 0(SI), DI
	ADDQ $8, DI
	MOVQ DI, 0(SI)
	MOVQ (DI), DI
	MOVQ 8(SI), R8
	MOVQ DI, (R8)
	ADDQ $16, SI
	DECQ CX
	JNZ  number
	JMP  tile

end:
	MOVQ count+8(FP), AX
	MOVQ AX, ran+72(FP)
	MOVQ $0, done+80(FP)
	MOVQ $0, left+88(FP)
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
	MOVQ AX, ran+72(FP)
	MOVQ DX, done+80(FP)
	MOVQ TILES, DX
	MOVQ DX, left+88(FP)
	RET
