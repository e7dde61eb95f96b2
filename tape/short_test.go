package tape

import (
	"runtime"
	"testing"
)

// With -short the tests of this package are a sample of themselves: that is what emulated
// processors, the race detector and the lesser tiers run, beside which every test runs once
// on the machine itself. A fifth of the rows and of the random programs is left, and a tenth
// on other processors than amd64, whose arithmetic an emulator does in software: there the
// kernels' own tests compare every bit.
var share = map[bool]int{true: 5, false: 10}[runtime.GOARCH == "amd64"]

// spared reports whether a row of a long table is left out.
func spared(row int) bool { return testing.Short() && row%share != 0 }

// rounds returns how many of n random programs, or the like, a test looks at.
func rounds(n int) int {
	if testing.Short() {
		return n / share
	}
	return n
}
