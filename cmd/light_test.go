//go:build !race

package cmd

// The race detector makes pools forget what they hold.

import (
	"io"
	"runtime"
	"strings"
	"testing"
)

// TestOneLinerIsLight holds a one-liner to what it allocated when it was measured, and
// half as much again.
func TestOneLinerIsLight(t *testing.T) {
	const mallocs, size = 500, 144 << 10
	var before, after runtime.MemStats
	const runs = 20
	for i := -1; i < runs; i++ {
		if i == 0 { // what is made once is made
			runtime.ReadMemStats(&before)
		}
		if code := Main(oneLiner, strings.NewReader(""), io.Discard, io.Discard); code != 0 {
			t.Fatalf("nabla %v ends with %d", oneLiner, code)
		}
	}
	runtime.ReadMemStats(&after)
	n, b := (after.Mallocs-before.Mallocs)/runs, (after.TotalAlloc-before.TotalAlloc)/runs
	t.Logf("%d allocations, %d bytes", n, b)
	if n > mallocs || b > size {
		t.Errorf("nabla %v allocates %d times, %d bytes; want at most %d, %d", oneLiner, n, b, mallocs, size)
	}
}
