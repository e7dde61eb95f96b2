//go:build !purego

#include "textflag.h"
#include "funcdata.h"

DATA panels<>+0(SB)/8, $·gemm1AVX2(SB)
DATA panels<>+8(SB)/8, $·gemm2AVX2(SB)
DATA panels<>+16(SB)/8, $·gemm3AVX2(SB)
DATA panels<>+24(SB)/8, $·rowAVX2(SB)
DATA panels<>+32(SB)/8, $·gemm1AVX512(SB)
DATA panels<>+40(SB)/8, $·gemm2AVX512(SB)
DATA panels<>+48(SB)/8, $·gemm3AVX512(SB)
DATA panels<>+56(SB)/8, $·rowAVX512(SB)
GLOBL panels<>(SB), RODATA, $64

// The frame begins with the arguments of the kernels, as that of run does.
#define CALL_ 104(SP)
#define LEFT 112(SP)
#define STEPS 120(SP)

// A RepeatedCall takes 56 bytes, a Move 24 and what a panel is told 168.

// func repeat(calls *RepeatedCall, count, first int, at *unsafe.Pointer, moves *Move, movers, left int, room *call64) (call, done, rest int)
TEXT ·repeat(SB), 0, $128-88
	NO_LOCAL_POINTERS
	MOVQ  left+48(FP), DX
	MOVQ  DX, STEPS
	MOVQ  first+16(FP), AX
	MOVQ  count+8(FP), BX
	SUBQ  AX, BX
	MOVQ  BX, LEFT
	JZ    step
	IMULQ $56, AX
	ADDQ  calls+0(FP), AX

next:
	MOVQ    AX, CALL_
	MOVQ    at+24(FP), CX
	ADDQ    40(AX), CX
	MOVQ    (AX), BX
	TESTQ   BX, BX
	JZ      none
	MOVLQSX 16(AX), SI
	MOVLQSX 20(AX), DI
	MOVQ    (CX)(SI*8), SI
	MOVQ    (CX)(DI*8), DI
	MOVQ    8(AX), DX
	CMPQ    DX, $0
	JLT     unlike
	MOVLQSX 24(AX), R8
	MOVLQSX 28(AX), R9
	MOVQ    (CX)(R8*8), R8
	MOVQ    (CX)(R9*8), R9
	MOVQ    32(AX), DX
	MOVQ    SI, 0(SP)
	MOVQ    DX, 8(SP)
	MOVQ    DI, 24(SP)
	MOVQ    DX, 32(SP)
	MOVQ    R8, 48(SP)
	MOVQ    DX, 56(SP)
	MOVQ    R9, 72(SP)
	MOVQ    DX, 80(SP)
	CALL    BX
	MOVQ    CALL_, AX
	MOVQ    8(AX), DX
	TESTQ   DX, DX
	JZ      done
	MOVQ    (SP)(DX*1), DX
	CMPQ    DX, 32(AX)
	JLT     stop

done:
	ADDQ $56, AX
	DECQ LEFT
	JNZ  next

step:
	DECQ STEPS
	JZ   end

	// No pointer leaves its memory: it moves where there is one more step.
	MOVQ  STEPS, DX
	ANDQ  $1, DX
	MOVQ  at+24(FP), CX
	MOVQ  moves+32(FP), SI
	MOVQ  movers+40(FP), BX
	TESTQ BX, BX
	JZ    again

move:
	MOVQ (SI), DI
	MOVQ 8(SI)(DX*8), R8
	ADDQ R8, (CX)(DI*8)
	ADDQ $24, SI
	DECQ BX
	JNZ  move

again:
	MOVQ calls+0(FP), AX
	MOVQ count+8(FP), BX
	MOVQ BX, LEFT
	JMP  next

unlike:
	CMPQ DX, $-2
	JE   panel
	JGT  lanes
	CMPQ DX, $-3
	JE   number
	CMPQ DX, $-6
	JE   moves

	// A sum, or an extreme: a slice comes in, and a number goes out.
	MOVQ SI, 88(SP)
	MOVQ 32(AX), DX
	MOVQ DI, 0(SP)
	MOVQ DX, 8(SP)
	CALL BX
	MOVQ CALL_, AX
	MOVQ 88(SP), SI
	MOVQ 24(SP), DX
	MOVQ DX, (SI)
	CMPQ 8(AX), $-4
	JE   done
	SHLQ $1, DX
	JNZ  done
	JMP  stop

number:
	MOVQ 32(AX), DX
	MOVQ (DI), DI
	MOVQ SI, 0(SP)
	MOVQ DX, 8(SP)
	MOVQ DI, 24(SP)
	CALL BX
	MOVQ CALL_, AX
	JMP  done

lanes: // the slice is the second parameter, behind a pointer
	MOVQ 32(AX), DX
	MOVQ SI, 0(SP)
	MOVQ DI, 8(SP)
	MOVQ DX, 16(SP)
	CALL BX
	MOVQ CALL_, AX
	JMP  done

moves:
	MOVQ  32(AX), DX
	MOVQ  48(AX), BX
	TESTQ DX, DX
	JZ    done

moved:
	MOVLQSX 4(BX), R8
	MOVLQSX (BX), R9
	MOVQ    (DI)(R8*8), R8
	MOVQ    R8, (SI)(R9*8)
	ADDQ    $8, BX
	DECQ    DX
	JNZ     moved
	JMP     done

panel: // it uses up what it is told
	MOVQ    48(AX), R8
	MOVQ    room+56(FP), R9

	// What begins with numbers below 2^-990, but not 0, or ends with one, is for Go.
	MOVQ    (DI), R10
	ADDQ    R10, R10
	JNZ     begins
	MOVQ    72(R8), R11
	MOVQ    -8(DI)(R11*8), R10
	ADDQ    R10, R10
	JZ      ordinary

begins:
	SHRQ    $53, R10
	CMPQ    R10, $33
	JLT     none

ordinary:
	VMOVDQU (R8), Y0
	VMOVDQU 32(R8), Y1
	VMOVDQU 64(R8), Y2
	VMOVDQU 96(R8), Y3
	VMOVDQU 128(R8), Y4
	VMOVDQU 160(R8), Y5
	VMOVDQU Y0, (R9)
	VMOVDQU Y1, 32(R9)
	VMOVDQU Y2, 64(R9)
	VMOVDQU Y3, 96(R9)
	VMOVDQU Y4, 128(R9)
	VMOVDQU Y5, 160(R9)
	MOVLQSX 24(AX), R8
	ADDQ    R8, SI
	MOVQ    SI, (R9)
	MOVQ    DI, 16(R9)
	MOVQ    R9, 0(SP)
	CALL    BX
	MOVQ    CALL_, AX
	JMP     done

end:
	MOVQ count+8(FP), AX
	MOVQ AX, call+64(FP)
	MOVQ $0, done+72(FP)
	MOVQ $0, rest+80(FP)
	RET

none:
	XORQ DX, DX

stop:
	MOVQ count+8(FP), AX
	SUBQ LEFT, AX
	MOVQ AX, call+64(FP)
	MOVQ DX, done+72(FP)
	MOVQ STEPS, DX
	MOVQ DX, rest+80(FP)
	RET

// func panelEntries() *[2][4]uintptr
TEXT ·panelEntries(SB), NOSPLIT, $0-8
	LEAQ panels<>(SB), AX
	MOVQ AX, ret+0(FP)
	RET
