package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkW1 is the one-liner as a whole process, beside an empty Go program in turn:
// the ratio is what to quote, times move with the machine.
func BenchmarkW1(b *testing.B) {
	dir := b.TempDir()
	nabla, empty := filepath.Join(dir, "nabla"), filepath.Join(dir, "empty")
	source := filepath.Join(dir, "empty.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o666); err != nil {
		b.Fatal(err)
	}
	for _, args := range [][]string{{"build", "-o", nabla, "nabla"}, {"build", "-o", empty, source}} {
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			b.Fatalf("go %v: %v\n%s", args, err, out)
		}
	}
	run := func(name string, args ...string) time.Duration {
		start := time.Now()
		if err := exec.Command(name, args...).Run(); err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	var one, none time.Duration
	for b.Loop() {
		one += run(nabla, "x^2*sin(x)", "-a", "x=3")
		none += run(empty)
	}
	b.ReportMetric(float64(one.Microseconds())/1e3/float64(b.N), "ms/nabla")
	b.ReportMetric(float64(none.Microseconds())/1e3/float64(b.N), "ms/empty")
	b.ReportMetric(float64(one)/float64(none), "ratio")
}
