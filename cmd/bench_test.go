package cmd

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var oneLiner = []string{"x^2*sin(x)", "-a", "x=3"}

// BenchmarkW1 is the one-liner as a whole process, beside an empty Go program in turn:
// the median ratio of the pairs is what to quote, times move with the machine.
func BenchmarkW1(b *testing.B) {
	dir := b.TempDir()
	nabla, empty := filepath.Join(dir, "nabla"), filepath.Join(dir, "empty")
	source := filepath.Join(dir, "empty.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o666); err != nil {
		b.Fatal(err)
	}
	for _, args := range [][]string{{nabla, "nabla"}, {empty, source}} {
		built := args[0] + ".built"
		if out, err := exec.Command("go", "build", "-o", built, args[1]).CombinedOutput(); err != nil {
			b.Fatalf("go build %s: %v\n%s", args[1], err, out)
		}
		// A copy starts as an installed program does. The linker writes through a mapping,
		// page by page, and the kernel keeps the file so: nabla starts 14 % slower from it.
		program, err := os.ReadFile(built)
		if err == nil {
			err = os.WriteFile(args[0], program, 0o777)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	run := func(name string, args ...string) float64 {
		start := time.Now()
		if err := exec.Command(name, args...).Run(); err != nil {
			b.Fatal(err)
		}
		return time.Since(start).Seconds()
	}
	var one, none, ratio []float64
	for b.Loop() {
		x, y := run(nabla, oneLiner...), run(empty)
		one, none, ratio = append(one, x), append(none, y), append(ratio, x/y)
	}
	median := func(x []float64) float64 {
		slices.Sort(x)
		return x[len(x)/2]
	}
	b.ReportMetric(median(one)*1e3, "ms/nabla")
	b.ReportMetric(median(none)*1e3, "ms/empty")
	b.ReportMetric(median(ratio), "ratio")
}

// BenchmarkW8 is data in and out of the command line: MB/s of the text or the file, beside
// a plain copy of as many bytes from file to memory, or from memory to file, in turn.
func BenchmarkW8(b *testing.B) {
	dir := b.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	text := []byte(`{"x": [`)
	random := rand.New(rand.NewPCG(8, 8))
	for len(text) < 20_000_000 {
		text = append(strconv.AppendFloat(text, random.NormFloat64(), 'g', -1, 64), ',')
	}
	text = append(text[:len(text)-1], "]}"...)
	if err := os.WriteFile(file("x.json"), text, 0o666); err != nil {
		b.Fatal(err)
	}
	must := func(args ...string) {
		var said bytes.Buffer
		if code := Main(args, strings.NewReader(""), io.Discard, &said); code != 0 {
			b.Fatalf("nabla %q: exit %d\n%s", args, code, &said)
		}
	}
	must("eval", "sqrt(arange(1e7))", "-o", file("large.npy"))
	must("eval", "sqrt(arange(1e6))", "-o", file("x.npy"))
	for _, row := range []struct {
		name, in, out string // the file that counts; the other is what there is beside
		args          []string
	}{
		{"json in", "x.json", "", []string{"eval", "sum(x)", "-i", file("x.json")}},
		{"npy in", "large.npy", "", []string{"eval", "sum(x)", "-a", "x=@" + file("large.npy")}},
		{"json out", "", "out.json", []string{"eval", "x", "-a", "x=@" + file("x.npy"), "-o", file("out.json")}},
		{"npy out", "", "out.npy", []string{"eval", "x", "-a", "x=@" + file("large.npy"), "-o", file("out.npy")}},
	} {
		b.Run(row.name, func(b *testing.B) {
			must(row.args...)
			bytes, err := os.ReadFile(file(row.in + row.out))
			if err != nil {
				b.Fatal(err)
			}
			plain := func() error {
				if row.out != "" {
					return os.WriteFile(file("copy"), bytes, 0o666)
				}
				bytes, err = os.ReadFile(file(row.in))
				return err
			}
			var whole, copied time.Duration
			for b.Loop() {
				start := time.Now()
				must(row.args...)
				whole += time.Since(start)
				start = time.Now()
				if err := plain(); err != nil {
					b.Fatal(err)
				}
				copied += time.Since(start)
			}
			size := float64(len(bytes)) * float64(b.N) / 1e6
			b.ReportMetric(size/whole.Seconds(), "MB/s")
			b.ReportMetric(size/copied.Seconds(), "MB/s/copy")
		})
	}
}

// TestStartBuildsNothing holds the packages to static tables: what they allocate before
// main runs is paid by every one-liner. This package's own start has the tests' too, and
// its tests are a package. The stack for them all is made first.
func TestStartBuildsNothing(t *testing.T) {
	const limit = 3 << 9 // bytes a package; 1480 were the most
	c := exec.Command(os.Args[0], "-test.run=^$")
	c.Env = []string{"GODEBUG=inittrace=1"} // the first package to ask for a variable pays for all
	var out bytes.Buffer
	c.Stderr = &out
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	inits := regexp.MustCompile(`(?m)^init (nabla/\S+) .* (\d+) bytes, (\d+) allocs$`).FindAllStringSubmatch(out.String(), -1)
	if len(inits) < 5 {
		t.Fatalf("the runtime says nothing about %d of our packages:\n%s", len(inits), &out)
	}
	if first := inits[0][1]; first != "nabla/cmd/stack" {
		t.Errorf("package %s starts first of ours, want the one that makes the stack", first)
	}
	for _, m := range inits {
		most := limit
		if m[1] == "nabla/tape" {
			most = 0 // its tables are static data, where no row has a closure and no table is a map
		}
		if bytes, _ := strconv.Atoi(m[2]); bytes > most && m[1] != "nabla/cmd" && m[1] != "nabla/cmd_test" {
			t.Errorf("package %s allocates %s bytes (%s times) at start, want at most %d", m[1], m[2], m[3], most)
		}
	}
}
