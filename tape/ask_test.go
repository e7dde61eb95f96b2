package tape

import (
	goflag "flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"nabla/expr"
	"nabla/kernels"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

var update = goflag.Bool("update", false, "rewrite the golden files")

// TestMain makes every plan verify itself between passes.
func TestMain(m *testing.M) {
	goflag.Parse()
	if goflag.Lookup("test.bench").Value.String() == "" { // small work on several threads too
		checking = true
		pool.LeastElements, pool.LeastFlops = 1<<12, 1<<12
		chainBytes, stripBytes, leastStrip = 4<<10, 4<<10, 4 // and few rows in strips
	} else {
		kernels.Choose() // for what records nothing
	}
	os.Exit(m.Run())
}

// question is op asked about a program; an input is a text such as "x=[1, 2]", or
// "const c=3" for one that is not watched.
func question(t testing.TB, op, text string, inputs ...string) *Question {
	t.Helper()
	p, err := expr.Parse("", text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	q := &Question{Prog: p, Op: op}
	for _, s := range inputs {
		s, constant := strings.CutPrefix(s, "const ")
		name, value, _ := strings.Cut(s, "=")
		v, err := Eval(value, tensor.Float64, 1, 0)
		if err != nil {
			t.Fatalf("input %s: %v", s, err)
		}
		q.Inputs = append(q.Inputs, Input{Name: name, Value: v, Const: constant})
	}
	return q
}

// ask answers op about a program.
func ask(t testing.TB, op, text string, inputs ...string) *Answer {
	t.Helper()
	a, err := question(t, op, text, inputs...).Answer()
	if err != nil {
		t.Fatalf("%s of %q at %v: %v", op, text, inputs, err)
	}
	return a
}

// numbers lists the numbers of a value, in order.
func numbers(v *tensor.Value) []float64 {
	var out []float64
	v.Leaves("", func(_ string, leaf *tensor.Value) {
		switch {
		case leaf.Tensor != nil:
			out = append(out, leaf.Tensor.Data...)
		case leaf.Sparse != nil:
			out = append(out, leaf.Sparse.Data...)
		}
	})
	return out
}

// write writes a value as a program would: 12 digits of each number.
func write(v *tensor.Value) string {
	var parts []string
	switch v.Kind {
	case tensor.KindTensor:
		return writeTensor(v.Tensor.DType, v.Tensor.Shape, v.Tensor.Data)
	case tensor.KindList:
		for _, e := range v.List {
			parts = append(parts, write(e))
		}
		return "(" + strings.Join(parts, ", ") + ")"
	case tensor.KindRecord:
		for _, f := range v.Fields {
			parts = append(parts, f.Name+": "+write(f.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "none"
}

func writeTensor(d tensor.DType, s tensor.Shape, data []float64) string {
	if len(s) == 0 {
		if d == tensor.Bool {
			return strconv.FormatBool(data[0] != 0)
		}
		return number(data[0])
	}
	n := s[1:].Size()
	var parts []string
	for i := range s[0] {
		parts = append(parts, writeTensor(d, s[1:], data[i*n:(i+1)*n]))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func number(v float64) string { return formatDigits(v, 12) }

// payload writes a derivative: without the record of sources when there is one source.
func payload(a *Answer) string {
	p := a.Targets[0].Payload
	if p.Kind == tensor.KindRecord && len(p.Fields) == 1 {
		return write(p.Fields[0].Value)
	}
	return write(p)
}

// sameBits finds the first place where two lists of numbers differ in a bit; all NaNs
// are the same. It is -1 where none does.
func sameBits(x, y []float64) int {
	for i := range max(len(x), len(y)) {
		if i >= len(x) || i >= len(y) {
			return i
		}
		if math.Float64bits(x[i]) != math.Float64bits(y[i]) && (x[i] == x[i] || y[i] == y[i]) {
			return i
		}
	}
	return -1
}

// hop is the distance of differences: the formula of fourth order is h⁴ f⁽⁵⁾/30 off,
// and its rounding error is eps/h.
const hop = 0x1p-11

// slope is df/dx by central differences of fourth order.
func slope(f func(x float64) float64, x float64) float64 {
	return (8*(f(x+hop)-f(x-hop)) - (f(x+2*hop) - f(x-2*hop))) / (12 * hop)
}

// near reports whether a derivative agrees with differences of a function of size f.
func near(got, want, f float64) bool {
	if got == want || got != got && want != want {
		return true
	}
	// cancellation leaves eps/h = 5e-13 of f; h⁴/30 = 2e-15 leaves 2e-8 of f⁽⁵⁾ up to 1e7
	return math.Abs(got-want) <= 2e-8*(1+math.Abs(want))+1e-11*math.Abs(f)
}

// TestEvalWritten holds numbers, and lists of them, that need no tape to what a tape gives.
func TestEvalWritten(t *testing.T) {
	for _, text := range []string{
		"3", "-2.5", "--7", "-0", "(1e-310)", "-(1e308)", "1e400", "0.1", "1_000",
		"[1]", "[1, -2.5]", "[(-0), --7]", "[[1, 2, 3], [4, 5, -0]]", "[[[1], [2]]]", "[1, 1e400]",
		"[]", "[[], []]", "-[1, 2]", "[1, pi]", "[1, 2 + 3]", "[1, true]", // more than is written
		"[[1], []]", "[1, [2]]", "[[1], 2]", "[[1, 2], [3]]", "[[1], [2], [3, 4]]", // of several shapes
	} {
		got, e := Eval(text, tensor.Float64, 0, 0)
		prog, err := expr.Parse("", text)
		var a *Answer
		if err == nil {
			a, err = (&Question{Prog: prog, Op: "eval"}).Answer()
		}
		if err != nil || e != nil {
			if fmt.Sprint(e) != fmt.Sprint(err) {
				t.Errorf("%s: %v, a tape says %v", text, e, err)
			}
			continue
		}
		if want := a.Targets[0].Value.Tensor; got.Tensor.DType != want.DType || !got.Tensor.Shape.Equal(want.Shape) || sameBits(got.Tensor.Data, want.Data) >= 0 {
			t.Errorf("%s = %v, a tape gives %v", text, got.Tensor, want)
		}
	}
}

// A tangent is found by the structures that its path leads into, not by asking every source.
func TestWays(t *testing.T) {
	for path, want := range map[string]string{
		"x":           "x",
		"a.b[0]":      "a a.b a.b[0]",
		"q[1][2].c.d": "q q[1] q[1][2] q[1][2].c q[1][2].c.d",
	} {
		if got := strings.Join(ways(path), " "); got != want {
			t.Errorf("ways of %s: %s, want %s", path, got, want)
		}
	}
}
