package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"nabla/expr/cells"
	"nabla/output/npy"
	"nabla/tape/tensor"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Short ways to say a value.

func num(v float64) *tensor.Value                         { return tensor.Of(tensor.Scalar(v)) }
func arr(data []float64, shape ...int) *tensor.Value      { return tensor.Of(tensor.From(data, shape...)) }
func list(v ...*tensor.Value) *tensor.Value               { return &tensor.Value{Kind: tensor.KindList, List: v} }
func typed(d tensor.DType, v *tensor.Value) *tensor.Value { v.Tensor.DType = d; return v }
func one(op, expr string, value, payload *tensor.Value) *Result {
	return &Result{Op: op, Expr: expr, Targets: []Target{{Value: value, Payload: payload}}}
}

// rec is a record of names and values in turn.
func rec(parts ...any) *tensor.Value {
	v := &tensor.Value{Kind: tensor.KindRecord}
	for i := 0; i < len(parts); i += 2 {
		v.Fields = append(v.Fields, tensor.Field{Name: parts[i].(string), Value: parts[i+1].(*tensor.Value)})
	}
	return v
}

// wave is a tensor of numbers of many sizes, the same on every machine.
func wave(shape ...int) *tensor.Value {
	t := tensor.New(shape...)
	for i := range t.Data {
		x := float64(i*i%97-48) / 7
		switch i % 9 {
		case 4:
			x = 0
		case 7:
			x *= 1e-9
		case 8:
			x = float64(i)
		}
		t.Data[i] = x
	}
	return tensor.Of(t)
}

var nan, inf = math.NaN(), math.Inf(1)

// results are one of each kind; every text format has a golden file that shows them all.
func results() []*Result {
	w := arr([]float64{1.25, 5.25, 2.5, 10.5, 3.75, 15.75}, 3, 2)
	b := arr([]float64{1.25, 5.25}, 2)
	stopped := one("grad", "x^2 + y + stop_gradient(z^2)", num(10), rec("x", num(6), "y", num(-0.5), "z", tensor.None("")))
	stopped.Targets[0].Unconnected = []Reason{{"z", "stop_gradient at 1:11"}}
	noisy := one("grad", "sum(log(x))", num(-inf), rec("x", arr([]float64{inf, 1, 0.5}, 3)))
	noisy.Warnings = []Warning{{Op: "log", Message: "log(0) is -inf", Line: 1, Column: 5, Element: []int{0}, Value: -inf, Known: true}, {Message: `say "when"`}}
	nested := one("grad", "mean((x @ model.w + model.b)^2)", num(14.5625), rec("model", rec("w", w, "b", b), "p", list(num(1), tensor.None("not used"), b)))
	nested.Targets[0].Unconnected = []Reason{{"p[1]", "not used"}}
	several := &Result{Op: "grad", Expr: "y = x*x; z = y*y", Several: true, Targets: []Target{
		{Name: "z", Value: num(81), Payload: rec("x", num(108), "y", num(18))},
		{Name: "y", Value: num(9), Payload: rec("x", num(6), "y", num(1))},
	}}
	mixed := &Result{Op: "grad", Expr: "y = x*x; z = sum(y)", Several: true, Targets: []Target{
		{Name: "y", Value: arr([]float64{1, 9}, 2), Payload: rec("x", arr([]float64{2, 6}, 2))},
		{Name: "z", Value: num(10), Payload: rec("x", arr([]float64{2, 6}, 2))},
	}}
	values := &Result{Op: "eval", Expr: "y = 2; z = [y, y]", Several: true, Targets: []Target{{Name: "y", Value: num(2)}, {Name: "z", Value: arr([]float64{2, 2}, 2)}}}
	unlike := &Result{Op: "eval", Expr: "y = 2; r = {a: 1, b: 3}", Several: true, Targets: []Target{{Name: "y", Value: num(2)}, {Name: "r", Value: rec("a", num(1), "b", num(3))}}}
	late := tensor.New(12, 11)
	late.Data[0], late.Data[len(late.Data)-1] = 1, -2
	return []*Result{
		one("eval", "1/3", num(1.0/3), nil),
		one("eval", "[1, 2.5]", arr([]float64{1, 2.5}, 2), nil),
		one("eval", "(1, [2, 3], -inf, none)", list(num(1), arr([]float64{2, 3}, 2), num(-inf), tensor.None("")), nil),
		one("eval", "{n: nan, t: x < 1, i: shape(x)}", rec("n", num(nan), "t", typed(tensor.Bool, arr([]float64{1, 0}, 2)), "i", typed(tensor.Int64, arr([]float64{3, 1e6}, 2))), nil),
		one("eval", "zeros(0, 3)", arr([]float64{}, 0, 3), nil),
		values,
		unlike,
		one("eval", "[[[1, 2]], [[3, 4]]]", arr([]float64{1, 2, 3, 4}, 2, 1, 2), nil),
		one("grad", "x^2", num(9), rec("x", num(6))),
		stopped,
		noisy,
		one("grad", "mean((x @ w + b)^2)", num(14.5625), rec("w", w, "b", b)),
		nested,
		several,
		mixed,
		one("grad", "sum(v^2)", num(3.5), rec("v", wave(33))),
		one("jacobian", "[x*y, x/y]", arr([]float64{6, 1.5}, 2), rec("x", arr([]float64{2, 0.5}, 2), "y", arr([]float64{3, -0.75}, 2))),
		one("jacobian", "tanh(w @ x)", wave(4), rec("w", wave(4, 13))),
		one("jacobian", "relu(x @ w)", wave(2, 2), rec("w", wave(2, 2, 3, 2))),
		one("hessian", "x^2*y", num(12), rec("x", rec("x", num(6), "y", num(4)), "y", rec("x", num(4), "y", tensor.None("linear in y")))),
		one("hessian", "sum(w^2)*b", num(5), rec("w", rec("w", wave(2, 2), "b", wave(2)), "b", rec("w", wave(2), "b", num(3)))),
		one("hessian", "sum(w^2)", num(5), rec("w", rec("w", arr([]float64{1, 0, 0, 0, 2, 0, 0, 0, 1e-300}, 3, 3)))),
		one("jacobian", "x[1:] - x[:-1]^2", wave(2), rec("x", matrix(tensor.SparseOf(tensor.From([]float64{-1, 1, 0, 0, -0.125, 1}, 2, 3), 2)))),
		one("hessian", "sum(w^2)*b", num(5), rec("w", rec("w", matrix(tensor.SparseOf(tensor.From([]float64{2, 0, 0, math.NaN()}, 2, 2), 2)), "b", matrix(tensor.SparseOf(tensor.New(2), 2))),
			"b", rec("w", tensor.None("linear"), "b", matrix(tensor.SparseOf(tensor.New(), 1))))),
		one("jacobian", "w[:12]*w[0]", wave(12), rec("w", matrix(tensor.SparseOf(late, 12)))),
		one("jvp", "x^2", arr([]float64{1, 4}, 2), arr([]float64{6, 1.6e10}, 2)),
		one("grad", "例 + 名前^2", num(10), rec("例", num(1), "名前", num(6), "e\u0301", tensor.None(""), "🚀", num(-0.5), "\x1b[31m", num(0))), // letters of two cells, of none, an escape
		one("jacobian", "[例, 例*名前]", arr([]float64{1, 2}, 2), rec("例", arr([]float64{1, 2}, 2), "名前", arr([]float64{0, -10.5}, 2))),
	}
}

func matrix(s *tensor.Sparse) *tensor.Value { return &tensor.Value{Kind: tensor.KindSparse, Sparse: s} }

func text(r *Result, o Options) string {
	var b bytes.Buffer
	if err := Write(&b, r, o); err != nil {
		fmt.Fprintf(&b, "error: %v\n", err)
	}
	return b.String()
}

// Every kind of result in every text format is a golden file, to be looked at: tables first of all.
func TestGolden(t *testing.T) {
	for _, row := range []struct {
		name string
		o    Options
	}{
		{"table", Options{}},
		{"narrow", Options{Width: 40, Precision: 3}},
		{"colour", Options{Color: true, Terminal: true}},
		{"json", Options{Format: "json"}},
		{"pretty", Options{Format: "json", Terminal: true}},
		{"raw", Options{Raw: true}},
		{"csv", Options{Format: "csv"}},
		{"md", Options{Format: "md"}},
		{"mtx", Options{Format: "mtx"}},
	} {
		var b strings.Builder
		for _, r := range results() {
			fmt.Fprintf(&b, "==== %s %s\n%s\n", r.Op, r.Expr, text(r, row.o))
		}
		file := "testdata/" + row.name + ".golden"
		got := b.String()
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, _ := os.ReadFile(file)
		if got != string(want) {
			t.Errorf("%s: %s", file, firstDifference(got, string(want)))
		}
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			return fmt.Sprintf("line %d is %q, want %q", i+1, g[i], append(w, make([]string, i+1)...)[i])
		}
	}
	return "it ends too early"
}

// The lines of a table, in a pipe, fit 80 columns and have no spaces at their ends.
func TestTableFits(t *testing.T) {
	list := append(results(), one("hessian", "wide", num(1), rec("x", rec("x", wave(60, 60)))), one("eval", "long", wave(5000), nil))
	for _, width := range []int{80, 40, 132} {
		for _, r := range list {
			for _, line := range strings.Split(text(r, Options{Width: width}), "\n") {
				if n := cells.Width(line); n > width && !strings.Contains(line, "stop_gradient") && !strings.Contains(line, "  columns ") {
					t.Errorf("%s at %d: a line of %d: %q", r.Expr, width, n, line)
				}
				if strings.HasSuffix(line, " ") {
					t.Errorf("%s: a space at the end of %q", r.Expr, line)
				}
			}
		}
	}
	for _, r := range list {
		if !strings.Contains(text(r, Options{Width: 1}), "\n") {
			t.Errorf("%s at width 1 has no lines", r.Expr)
		}
	}
}

// Tables whose rows follow a pattern are what tablewriter draws row by row.
func TestPatterns(t *testing.T) {
	defer func() { patterns = true }()
	list := append(results(), one("hessian", "wide", num(1), rec("x", rec("x", wave(60, 60)))), one("eval", "long", wave(300), nil),
		one("eval", "deep", wave(4, 3, 5), nil), one("eval", "θ", rec("θ", wave(3), "a|b", num(2), "", num(1)), nil), one("eval", "one", wave(3, 1), nil))
	for _, r := range list {
		for _, o := range []Options{{}, {Width: 30}, {Format: "md"}, {Color: true}} {
			patterns = true
			got := text(r, o)
			patterns = false
			if want := text(r, o); got != want {
				t.Errorf("%s with %v: %s", r.Expr, o, firstDifference(got, want))
			}
		}
	}
}

// A table is the same however many of its rows are drawn at once.
func TestBatches(t *testing.T) {
	defer func(n int) { batch = n }(batch)
	for _, r := range append(results(), one("eval", "long", wave(300), nil), one("eval", "one", wave(30, 1), nil)) {
		for _, o := range []Options{{}, {Width: 30}, {Format: "md"}, {Color: true}, {Terminal: true}} {
			batch = 1 << 20
			want := text(r, o)
			for batch = 2; batch < 9; batch += 3 {
				if got := text(r, o); got != want {
					t.Errorf("%s with %v, %d rows at once: %s", r.Expr, o, batch, firstDifference(got, want))
				}
			}
		}
	}
}

// What stands in a pipe is whole; what stands on a terminal is short.
func TestElision(t *testing.T) {
	r := one("hessian", "big", num(1), rec("x", rec("x", wave(60, 60))))
	if s := text(r, Options{}); strings.Contains(s, "…") || strings.Count(s, "\n") < 300 {
		t.Errorf("a 60 by 60 matrix in a pipe is elided: %s", s)
	}
	s := text(r, Options{Terminal: true})
	if n := strings.Count(s, "\n"); n != 12 || !strings.Contains(s, "⋱") {
		t.Errorf("a 60 by 60 matrix on a terminal has %d lines, want 12:\n%s", n, s)
	}
	r = one("jacobian", "deep", wave(50), rec("x", wave(50, 10, 50)))
	if s := text(r, Options{Terminal: true}); strings.Count(s, "jacobian.x[") != 6 || !strings.Contains(s, "jacobian.x[49, :, :]") {
		t.Errorf("50 matrices on a terminal: want the first and the last three:\n%s", s)
	}
	r = one("eval", "small", wave(10, 100), nil) // a thousand is not large
	if s := text(r, Options{Terminal: true}); strings.Contains(s, "…") {
		t.Errorf("a thousand elements are elided:\n%s", s)
	}
}

// Width, locale and terminal variables of the environment change no byte.
func TestEnvironment(t *testing.T) {
	if os.Getenv("NABLA_TEST_TABLE") != "" {
		for _, r := range results() {
			fmt.Print(text(r, Options{}))
		}
		return
	}
	run := func(env ...string) string {
		cmd := exec.Command(os.Args[0], "-test.run=^TestEnvironment$")
		cmd.Env = append(env, "NABLA_TEST_TABLE=1")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out[:bytes.LastIndex(out, []byte("PASS"))])
	}
	want := run()
	for _, env := range [][]string{
		{"RUNEWIDTH_EASTASIAN=1"}, {"LC_ALL=ja_JP.UTF-8"}, {"LANG=zh_CN.UTF-8", "TERM=xterm"}, {"COLUMNS=1"}, {"LC_ALL=de_DE.UTF-8"},
	} {
		if got := run(env...); got != want {
			t.Errorf("with %v: %s", env, firstDifference(got, want))
		}
	}
}

// Every JSON document is one that any JSON reader takes, and pretty or not it says the same.
func TestJSONReads(t *testing.T) {
	for _, r := range results() {
		var plain, pretty any
		line := text(r, Options{Format: "json"})
		if err := json.Unmarshal([]byte(line), &plain); err != nil {
			t.Errorf("%s: %v in %s", r.Expr, err, line)
		}
		if strings.Count(line, "\n") != 1 {
			t.Errorf("%s: more than one line: %q", r.Expr, line)
		}
		tall := text(r, Options{Format: "json", Terminal: true})
		if err := json.Unmarshal([]byte(tall), &pretty); err != nil {
			t.Errorf("%s: %v in %s", r.Expr, err, tall)
		}
		if fmt.Sprint(plain) != fmt.Sprint(pretty) {
			t.Errorf("%s: pretty = %v, compact = %v", r.Expr, pretty, plain)
		}
		for _, o := range []Options{{Format: "ndjson", Terminal: true}, {Format: "json", Terminal: true, Compact: true}} {
			if got := text(r, o); got != line {
				t.Errorf("%s as %+v = %q, want %q", r.Expr, o, got, line)
			}
		}
	}
}

// A tensor larger than every buffer comes back number by number.
func TestJSONLarge(t *testing.T) {
	x := wave(300, 7, 50)
	r := one("eval", "big", x, nil)
	var doc struct{ Value [][][]float64 }
	if err := json.Unmarshal([]byte(text(r, Options{Format: "json"})), &doc); err != nil {
		t.Fatal(err)
	}
	i := 0
	for _, a := range doc.Value {
		for _, b := range a {
			for _, v := range b {
				if v != x.Tensor.Data[i] {
					t.Fatalf("element %d = %v, want %v", i, v, x.Tensor.Data[i])
				}
				i++
			}
		}
	}
	if i != len(x.Tensor.Data) {
		t.Errorf("%d numbers, want %d", i, len(x.Tensor.Data))
	}
}

func TestAppendString(t *testing.T) {
	for _, row := range []struct{ s, want string }{
		{`x @ w < 1 && "y"`, `"x @ w < 1 && \"y\""`}, // no \u003c: a program reads as it was typed
		{"a\nb\tc\r\\", `"a\nb\tc\r\\"`},
		{"θ = π·∂", `"θ = π·∂"`},
		{"\x00\x1b\x7f\b\f", `"\u0000\u001b\u007f\b\f"`},
		{"\xff", `"�"`},
	} {
		got := string(AppendString(nil, row.s))
		if got != row.want {
			t.Errorf("string %q = %s, want %s", row.s, got, row.want)
		}
	}
}

func TestWriteError(t *testing.T) {
	for _, row := range []struct {
		line, column int
		hint, want   string
	}{
		{1, 5, "use @", `{"error":{"code":3,"kind":"shape","message":"no","line":1,"column":5,"hint":"use @"}}`},
		{0, 0, "", `{"error":{"code":3,"kind":"shape","message":"no"}}`},
	} {
		var b bytes.Buffer
		WriteError(&b, 3, "shape", "no", row.line, row.column, row.hint)
		if got := b.String(); got != row.want+"\n" {
			t.Errorf("error = %s, want %s", got, row.want)
		}
	}
}

func TestText(t *testing.T) {
	for _, row := range []struct {
		v      float64
		digits int
		want   string
	}{
		{1.0 / 3, 6, "0.333333"},
		{0.1 + 0.2*1, 6, "0.3"},
		{1234567.89, 6, "1234568"}, // never rounded before the point
		{123456789, 3, "123456789"},
		{2.5, 6, "2.5"},
		{999.9999999, 6, "1000"},
		{0.99999999, 3, "1"},
		{1e9 + 0.5, 6, "1e+9"},
		{6.02214076e23, 6, "6.02214e+23"},
		{-1.25e-7, 6, "-1.25e-7"},
		{0.0000123456789, 6, "0.0000123457"},
		{math.Copysign(0, -1), 6, "-0"},
		{2.0 / 3, 17, "0.6666666666666666"}, // all there are
		{nan, 6, "nan"},
		{-inf, 6, "-inf"},
	} {
		if got := Text(row.v, tensor.Float64, row.digits); got != row.want {
			t.Errorf("%v to %d digits = %s, want %s", row.v, row.digits, got, row.want)
		}
	}
	if got := Text(1<<53, tensor.Int64, 6); got != "9007199254740992" {
		t.Errorf("int64 2^53 to 6 digits = %s, want 9007199254740992", got)
	}
	if got := Text(float64(float32(0.1)), tensor.Float32, 12); got != "0.1" {
		t.Errorf("float32 0.1 to 12 digits = %s, want 0.1", got)
	}
}

func TestNumPyFormats(t *testing.T) {
	all := results()
	find := func(expr string) *Result {
		for _, r := range all {
			if r.Expr == expr {
				return r
			}
		}
		t.Fatalf("no result %q", expr)
		return nil
	}
	nothing := one("grad", "c", num(1), rec("x", tensor.None("")))
	nothing.Targets[0].Unconnected = []Reason{{"x", "c does not depend on it"}}
	beyond := one("eval", "int64(2^64)", tensor.Of(&tensor.Tensor{DType: tensor.Int64, Shape: tensor.Shape{}, Data: []float64{1 << 64}}), nil)
	for _, row := range []struct {
		r      *Result
		format string
		names  string // of the arrays; of NPY, its shape
		err    string
	}{
		{find("x^2"), "npy", "()", ""},
		{find("[1, 2.5]"), "npy", "(2,)", ""},
		{find("sum(w^2)"), "npy", "(3, 3)", ""},
		{find("mean((x @ w + b)^2)"), "npy", "", "format npy holds one array, and this result has 2 (w, b): use npz, or choose one with --wrt"},
		{one("grad", "a+b+c+d+e", num(5), rec("a", num(1), "b", num(1), "c", num(1), "d", num(1), "e", num(1))), "npy", "",
			"format npy holds one array, and this result has 5 (a, b, c, d, …): use npz, or choose one with --wrt"},
		{nothing, "npy", "", "format npy holds numbers, and this result has none: grad.x is not connected (c does not depend on it)"},
		{nothing, "npz", "", "format npz holds numbers, and this result has none: grad.x is not connected (c does not depend on it)"},
		{find("mean((x @ w + b)^2)"), "npz", "w b", ""},
		{find("mean((x @ model.w + model.b)^2)"), "npz", "model.w model.b p[0] p[2]", ""}, // none has no array
		{find("sum(w^2)*b"), "npz", "w.w w.b b.w b.b", ""},
		{find("y = x*x; z = y*y"), "npz", "z.x z.y y.x y.y", ""},
		{find("y = 2; z = [y, y]"), "npz", "y z", ""},
		{find("(1, [2, 3], -inf, none)"), "npz", "value[0] value[1] value[2]", ""},
		{find("x^2"), "npz", "x", ""},
		{beyond, "npy", "", "format npy holds integers of 64 bits, and value has 18446744073709552000: float64(…) of it can be written"},
		{beyond, "npz", "", "format npz holds integers of 64 bits, and value has 18446744073709552000: float64(…) of it can be written"},
		{find("tanh(w @ x)"), "nope", "", "format nope is not a format; there are table, json, ndjson, npy, npz, csv, raw, md, mtx"},
	} {
		var b bytes.Buffer
		err := Write(&b, row.r, Options{Format: row.format})
		if row.err != "" {
			var format *FormatError
			if !errors.As(err, &format) || err.Error() != row.err || b.Len() > 0 {
				t.Errorf("%s as %s: %d bytes and error %v, want %s", row.r.Expr, row.format, b.Len(), err, row.err)
			}
			continue
		}
		got := ""
		if row.format == "npy" {
			x, _, err := npy.Read(&b, 0)
			if err != nil {
				t.Errorf("%s: %v", row.r.Expr, err)
				continue
			}
			got = x.Shape.String()
		} else {
			a, err := npy.OpenNPZ(bytes.NewReader(b.Bytes()), int64(b.Len()))
			if err != nil {
				t.Errorf("%s: %v", row.r.Expr, err)
				continue
			}
			got = strings.Join(a.Names, " ")
		}
		if got != row.names {
			t.Errorf("%s as %s = %s, want %s", row.r.Expr, row.format, got, row.names)
		}
	}
	err := Write(io.Discard, find("x^2"), Options{Format: "npy", Terminal: true})
	if err == nil || !strings.Contains(err.Error(), "terminal") {
		t.Errorf("npy to a terminal: error %v, want one that says so", err)
	}
}

// A stream gives the bytes of the tensor that it stands for, in every format.
func TestStream(t *testing.T) {
	x := wave(40, 25)
	streamed := one("jacobian", "f", wave(40), nil)
	streamed.Targets[0].Stream = &Stream{Source: "x", Shape: x.Tensor.Shape, Each: func(emit func([]float64) error) error {
		for i := 0; i < 1000; i += 50 {
			if err := emit(x.Tensor.Data[i : i+50]); err != nil {
				return err
			}
		}
		return nil
	}}
	whole := one("jacobian", "f", wave(40), rec("x", x))
	for _, f := range Formats {
		if got, want := text(streamed, Options{Format: f.Name}), text(whole, Options{Format: f.Name}); got != want {
			t.Errorf("%s: %s", f.Name, firstDifference(got, want))
		}
	}
}

// The same result gives the same bytes.
func TestStable(t *testing.T) {
	for _, f := range Formats {
		for i, r := range results() {
			if a, b := text(r, Options{Format: f.Name}), text(results()[i], Options{Format: f.Name}); a != b {
				t.Errorf("%s as %s: %s", r.Expr, f.Name, firstDifference(b, a))
			}
		}
	}
}

func TestFormatOf(t *testing.T) {
	for _, row := range []struct{ file, want string }{
		{"g.json", "json"}, {"a/b.NPZ", "npz"}, {"h.jsonl", "ndjson"}, {"README.md", "md"}, {"json", ""}, {"x.", ""}, {"x.png", ""},
	} {
		if got, ok := FormatOf(row.file); got != row.want || ok != (row.want != "") {
			t.Errorf("format of %s = %q, %v, want %q", row.file, got, ok, row.want)
		}
	}
}

// A writer that fails is reported by every format.
func TestBrokenWriter(t *testing.T) {
	broken := errors.New("no space left")
	for _, f := range Formats {
		err := Write(failing{broken}, one("grad", "x", num(1), rec("x", wave(20, 20))), Options{Format: f.Name})
		if !errors.Is(err, broken) {
			t.Errorf("%s to a full disk: error %v, want %v", f.Name, err, broken)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// BenchmarkWrite writes a matrix of numbers of several lengths.
func BenchmarkWrite(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, kind := range []struct {
		name string
		next func(i int) float64
	}{
		{"full", func(i int) float64 { return math.Sqrt(float64(i)) }},
		{"short", func(int) float64 { return float64(random.IntN(20000)-10000) / 1000 }},
		{"digit", func(int) float64 { return float64(random.IntN(10)) }},
		{"tiny", func(int) float64 { return random.NormFloat64() * 1e-9 }},
	} {
		r := one("grad", "x", num(1), rec("x", tensor.Of(tensor.New(1000, 1000))))
		data := r.Targets[0].Payload.Fields[0].Value.Tensor.Data
		for i := range data {
			data[i] = kind.next(i)
		}
		for _, f := range Formats {
			b.Run(f.Name+"/"+kind.name, func(b *testing.B) {
				var n counter
				for b.Loop() {
					n = 0
					if err := Write(&n, r, Options{Format: f.Name}); err != nil {
						b.Fatal(err)
					}
				}
				b.SetBytes(int64(n))
			})
		}
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
