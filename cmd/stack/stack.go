// Package stack makes a stack as large as a command needs while there is nothing on it.
// Grown four times on the way, it would be walked and copied each time, and the tables
// that tell how are touched for nothing else.
//
// Packages start in the order of their paths, each after what it imports. This one imports
// nothing and so starts before those that compile regular expressions and build tables:
// with the stack of the first goroutine grown then, a one-liner touches fifteen pages
// less and takes 2 % less time. With cgo it is five pages, and too little to measure.
//
// What was tried on a one-liner and gains nothing that can be measured: to run the command
// on the first goroutine, and to set no timer. A page that is touched for the first time
// costs 1.4 µs, and asking for a piece of memory at once saves a fifth of that for pages
// that mostly would not have been needed. Half of what nabla takes beyond an empty Go
// program is the start of the packages it imports, regular expressions of theirs first.
//
// What is left, counted: 450 pages are touched for the first time, and 370 without cgo, where
// an empty program touches 180; 90 more of the heap's, two for each size of allocation that
// is used once, and 55 of the 75 windows of 64 KB that the code has. A page of data that is
// written costs most, 3 µs, as it is copied while another thread runs; of ours five are left.
// Of 590 µs in which packages start, tablewriter takes 63, runewidth 43, nabla/tape 33 for the
// names of its operations, unicode 25 and gonum/mat 23; stack takes 17, for its pages, and no
// other one of ours more than 6. CPUID takes 10 to 30 µs in a virtual machine: Go and libc ask,
// and golang.org/x/image/vector, but nabla only where there are vectors (kernels.Choose).
package stack

func init() { Grow() }

// Grow grows the stack of the goroutine that calls it.
func Grow() { frame(0) }

//go:noinline
func frame(n int) (x byte) {
	if n > 0 { // never: the size of the frame is what counts
		var room [24 << 10]byte
		for i := range n {
			room[i] = byte(n)
		}
		x = room[n/2]
	}
	return x
}
