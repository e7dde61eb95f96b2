package tape

import "testing"

// With -short the tests of this package are a sample of themselves: that is what emulated
// processors, the race detector and the lesser tiers run, beside which every test runs once
// on the machine itself. A fifth of the rows and of the random programs is left.

// spared reports whether a row of a long table is left out.
func spared(row int) bool { return testing.Short() && row%5 != 0 }

// rounds returns how many of n random programs, or the like, a test looks at.
func rounds(n int) int {
	if testing.Short() {
		return n / 5
	}
	return n
}
