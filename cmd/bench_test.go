package cmd

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"nabla/cmd/input"
	"nabla/output"
	"nabla/output/npy"
	"nabla/tape/tensor"
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

// BenchmarkW8 reads and writes 20 MB of numbers, beside a copy of the same bytes and
// what the standard library takes.
func BenchmarkW8(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, row := range []struct {
		name   string
		number func() float64
	}{
		{"full", rng.NormFloat64},
		{"short", func() float64 { return math.Round(rng.NormFloat64()*1000) / 1000 }},
		{"digit", func() float64 { return float64(rng.IntN(10)) }},
	} {
		x := tensor.New(0, 250)
		text := []byte(`{"x":[`)
		for len(text) < 20e6 {
			text = append(text, ",["[min(1, 1-min(len(x.Data), 1)):]...)
			for j := range 250 {
				x.Data = append(x.Data, row.number())
				if j > 0 {
					text = append(text, ',')
				}
				text = strconv.AppendFloat(text, x.Data[len(x.Data)-1], 'g', -1, 64)
			}
			text = append(text, ']')
			x.Shape[0]++
		}
		text = append(text, "]}"...)
		result := &output.Result{Op: "eval", Targets: []output.Target{{Value: tensor.Of(x)}}}
		var array bytes.Buffer
		if err := npy.Write(&array, x); err != nil {
			b.Fatal(err)
		}
		into := make([]byte, max(len(text), array.Len()))
		for _, way := range []struct {
			name  string
			bytes int
			run   func() error
		}{
			{"json/in", len(text), func() error { _, err := input.ReadJSON("", text); return err }},
			{"json/in/encoding-json", len(text), func() error { var v struct{ X [][]float64 }; return json.Unmarshal(text, &v) }},
			{"json/in/copy", len(text), func() error { copy(into, text); return nil }},
			{"json/out", len(text), func() error { return output.Write(io.Discard, result, output.Options{Format: "json"}) }},
			{"json/out/encoding-json", len(text), func() error { return json.NewEncoder(io.Discard).Encode(x.Data) }},
			{"npy/in", array.Len(), func() error { _, _, err := npy.Read(bytes.NewReader(array.Bytes()), 1<<31); return err }},
			{"npy/in/copy", array.Len(), func() error { copy(into, array.Bytes()); return nil }},
		} {
			if row.name != "full" && way.name[:3] == "npy" {
				continue // its numbers are all alike
			}
			b.Run(way.name+"/"+row.name, func(b *testing.B) {
				b.SetBytes(int64(way.bytes))
				for b.Loop() {
					if err := way.run(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkEach answers short lines, one thread beside two.
func BenchmarkEach(b *testing.B) {
	const n = 100_000
	for _, row := range []struct{ name, line, text string }{
		{"scalar", `{"x":3}`, "x^2*sin(x)"},
		{"vector", `{"x":[0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1]}`, "sum(exp(x)*x)"},
		{"branch", `{"x":3}`, "y = x\nif x > 2 { y = x^3 }\nwhile y < 100 { y = 2*y }\ny"},
		{"kink", `{"x":0}`, "abs(x)"},
	} {
		text := strings.Repeat(row.line+"\n", n)
		for _, threads := range []string{"1", "2"} {
			b.Run(row.name+"/threads="+threads, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if code := Main([]string{row.text, "--each", "-c", "-i", "-", "-j", threads}, strings.NewReader(text), io.Discard, io.Discard); code != 0 {
						b.Fatalf("exit %d", code)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/line")
			})
		}
	}
}
