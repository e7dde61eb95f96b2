// Package pages gets memory for many numbers, and numbers that are there, so that touching them
// first costs little.
package pages

import (
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"unsafe"
)

// Fresh is memory for n numbers, whatever they are, on large pages where it is large. What
// make gives is cleared where the collector has had it back, by one thread: a result of 16 MB
// waited 1.2 ms for that. The memory of a strings.Builder is not. Where memory is Scarce, what nobody
// reads any more is collected first.
func Fresh[T float32 | float64](n int) []T {
	size := int(unsafe.Sizeof(*new(T)))
	if n < 1<<9 { // what costs little is not worth a trick
		return make([]T, n)
	}
	if Scarce[T](n) {
		debug.FreeOSMemory()
	}
	var b strings.Builder
	more := room(n * size)
	b.Grow(n*size + more)
	b.WriteByte(0) // an empty string need not say where it is
	at := unsafe.Pointer(unsafe.StringData(b.String()))
	made.Add(int64(n*size + more))
	if more > 0 {
		at = unsafe.Add(at, begin(uintptr(at)))
	}
	m := unsafe.Slice((*T)(at), n)
	Huge(m)
	return m
}

const (
	page, line    = 4096, 64
	leastSpread   = 8 * page // what is smaller begins where the allocator has a place of its size
	mostSpread    = 1 << 23
	betweenBegins = 39 * line // .61 of a page: of few values in a row none begins close to another one
)

// room is what values of so many bytes take more, to begin anywhere in a page. The allocator has all that are not small begin
// with a page, and a value that is read while another one is written, or read, as far into its page waits in a Zen 5 for lines
// that push each other out of the first cache: sums of two values of 10,000 and 40,000 numbers took 1.15 and 1.25 times as
// long, relu, maximum, exp and the heat equation, of values that stay in the second cache, 1.1 times. Two lines beside each
// other are no better than one; what is larger than that cache comes as slowly either way.
func room(bytes int) int {
	if bytes < leastSpread || bytes > mostSpread {
		return 0
	}
	return page
}

// begun counts the values that begin in turns.
var begun atomic.Uintptr

// begin is how far behind at the next value begins: whole lines.
func begin(at uintptr) uintptr { return (begun.Add(betweenBegins) - at) % page }

// leastScarce is for how many bytes it is asked whether they are to be had.
const leastScarce = 1 << 20

// made is no less than the bytes that are in use, with those of Fresh that nobody reads any more.
var made atomic.Int64

// Scarce is whether n numbers, of 1 MB and more, would be above what the process may take
// (debug.SetMemoryLimit), what nobody reads any more included. The collector by itself begins when they
// are taken, beside who writes to them: two values of which each may take the most there is were
// there at once though the first was dead.
func Scarce[T float32 | float64](n int) bool {
	bytes := n * int(unsafe.Sizeof(*new(T)))
	if bytes < leastScarce {
		return false
	}
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 || made.Load() <= limit-int64(bytes) {
		return false
	}
	var has runtime.MemStats // stops the world; package runtime/metrics does not, but costs every process 40 µs
	runtime.ReadMemStats(&has)
	made.Store(int64(has.HeapAlloc))
	return has.HeapAlloc+uint64(bytes) > uint64(limit)
}
