package kernels

import "unsafe"

// A RepeatedCall is a call of Repeat: of so many elements, by a table of pointers that is a part,
// from base on, of a larger one; or a panel of a product, or numbers that move.
type RepeatedCall struct {
	Call
	n    int
	base int            // in bytes
	told unsafe.Pointer // a panel, or the first of the numbers
}

// Of is the call for n elements, by the table that begins base pointers on.
func (c Call) Of(n, base int) RepeatedCall {
	return RepeatedCall{Call: c, n: n, base: base * int(unsafe.Sizeof(uintptr(0)))}
}

// SumTo is the call that makes the number at place dst the Sum of numbers at place x, which are
// a block at most. Max and Min have such calls by CallOf, and Fill, whose number is at a place.
func SumTo(dst, x int32) Call { return CallOf(sumBlock, dst, x) }

// A MovedNumber is one that moves: the number of its element there, and here.
type MovedNumber struct{ To, From int32 }

// Moved is the call that moves numbers from place x to place dst, or one that is left to Go.
func Moved(dst, x int, moves []MovedNumber) RepeatedCall {
	if !repeats() {
		return RepeatedCall{}
	}
	return RepeatedCall{Call: Call{entry: 1, done: inMoves, at: [4]int32{int32(dst), int32(x)}}, n: len(moves), told: unsafe.Pointer(unsafe.SliceData(moves))}
}

// A Move takes a pointer of the table on from one step to the next, by so many bytes: By[1]
// where the number of steps that are left is odd.
type Move struct {
	Place int
	By    [2]int
}

// Repeat does calls again and again, left times, from the call numbered first of the first time
// on; between one time and the next pointers of the table move. It stops before a call that it
// cannot do, or that it did for the first elements only, and says which, and how many times
// are left, that one among them; Go does the rest, and comes back for the call after it.
func Repeat(calls []RepeatedCall, first int, at []unsafe.Pointer, moves []Move, left int) (call, done, rest int) {
	if len(calls) == 0 {
		return 0, 0, 0
	}
	var room call64
	return repeat(unsafe.SliceData(calls), len(calls), first, unsafe.SliceData(at), unsafe.SliceData(moves), len(moves), left, &room)
}
