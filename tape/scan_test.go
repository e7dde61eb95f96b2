package tape

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"nabla/expr"
	"nabla/tape/tensor"
)

func BenchmarkScan(t *testing.B) {
	for _, name := range strings.Fields(os.Getenv("SCAN")) {
		scanOne(t, name)
	}
}

func scanOne(t *testing.B, name string) {
	raw, err := os.ReadFile("/tmp/scan/in/" + name + ".json")
	if err != nil {
		t.Skip()
	}
	var jobs []struct {
		Name, Text string
		Wrt        []string
		Inputs     []struct {
			Name  string
			Shape []int
			Data  []float64
			Int   bool
		}
	}
	if err := json.Unmarshal(raw, &jobs); err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		if false {
			continue
		}
		op, text := "grad", j.Text
		if s, ok := strings.CutPrefix(text, "JAC "); ok {
			op, text = "jacobian", s
		}
		if s, ok := strings.CutPrefix(text, "HES "); ok {
			op, text = "hessian", s
		}
		var line strings.Builder
		fmt.Fprint(&line, j.Name)
		for _, threads := range []int{1, 2}[:scanThreads()] {
			p, err := expr.Parse("", text)
			if err != nil {
				t.Error(j.Name, err)
				break
			}
			q := &Question{Prog: p, Op: op, Wrt: j.Wrt, Threads: threads}
			for _, in := range j.Inputs {
				x := tensor.New(in.Shape...)
				copy(x.Data, in.Data)
				if in.Int {
					x.DType = tensor.Int64
				}
				q.Inputs = append(q.Inputs, Input{Name: in.Name, Value: tensor.Of(x)})
			}
			pr := q.Prepare()
			best := math.Inf(1)
			var m0, m1 runtime.MemStats
			runtime.ReadMemStats(&m0)
			count := 0
			sum := 0.0
			var last *Answer
			start := time.Now()
			for n := 0; n < 3 || time.Since(start) < 400*time.Millisecond; n++ {
				s := time.Now()
				a, err := pr.Answer(q.Inputs)
				if err != nil {
					t.Error(j.Name, err)
					break
				}
				count++
				best = min(best, float64(time.Since(s).Nanoseconds())/1e3)
				last = a
			}
			runtime.ReadMemStats(&m1)
			for _, v := range numbers(last.Targets[0].Payload) {
				sum += math.Abs(v)
			}

			fmt.Fprintf(&line, " %.1f %.10g [%d KB]", best, sum, (m1.TotalAlloc-m0.TotalAlloc)/uint64(count)/1024)
		}
		fmt.Println(line.String())
	}
}

func scanThreads() int {
	if os.Getenv("ONE") != "" {
		return 1
	}
	return 2
}
