package tape

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"nabla/expr"
	"nabla/kernels"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

// recorded is a question on its tape, with the values it wants, not yet computed.
func recorded(q *Question) (s *session, want []Ref, err error) { return recordedIn(q, q.DType) }

// recordedIn is recorded where numbers in the program's text are of dtype d.
func recordedIn(q *Question, d tensor.DType) (s *session, want []Ref, err error) {
	s = &session{q: q}
	defer s.rescue(&err)
	s.start()
	s.lo.dtype = d
	s.program()
	s.ask()
	collect := func(v value) {
		if r, ok := v.(Ref); ok {
			want = append(want, r)
		}
	}
	for _, a := range s.targets {
		eachLeaf(a.val, collect)
		if a.payload != nil {
			eachLeaf(a.payload, collect)
		}
	}
	return s, want, nil
}

// run computes what a question wants, all at once or one instruction at a time.
func (s *session) run(want []Ref, slow bool, threads int) (out [][]float64, err error) {
	defer s.rescue(&err)
	s.t.Threads = threads
	if slow {
		for _, r := range want {
			s.t.force(r)
		}
	} else {
		s.t.Compute(want)
	}
	for _, r := range want {
		out = append(out, s.t.data(r))
	}
	return out, nil
}

// comparePlan holds a question's plan, with one thread and with two, to the run of one
// instruction at a time: the same bits, in float64 and in float32. It reports whether
// there was anything to compare.
func comparePlan(t *testing.T, q func() *Question) bool {
	t.Helper()
	return comparePlanAs(t, q) && comparePlanAs(t, func() *Question {
		x := q()
		x.DType = tensor.Float32
		return x
	})
}

func comparePlanAs(t *testing.T, q func() *Question) bool {
	t.Helper()
	defer func(saved int) { leastAgain = saved }(leastAgain)
	var got [3][][]float64
	var dump string
	for i, way := range []struct {
		slow    bool
		threads int
	}{{true, 1}, {false, 1}, {false, 2}} {
		asked := q()
		leastAgain = 2
		if way.threads == 2 && asked != nil {
			shift(asked.Inputs)
			leastAgain = 1 << 13
		}
		s, want, err := recorded(asked)
		if err != nil {
			return false
		}
		if err := s.t.Check(); err != nil {
			t.Errorf("%s of %q: %v", s.q.Op, s.q.Prog.Text, err)
			return false
		}
		got[i], err = s.run(want, way.slow, way.threads)
		if err != nil {
			if i > 0 && got[0] != nil && !strings.Contains(err.Error(), "limit") {
				t.Errorf("%s of %q: the plan says %v, the slow run has a value", s.q.Op, s.q.Prog.Text, err)
			}
			return false
		}
		dump = s.t.Dump(s.q.Prog)
		for r, sane := range s.t.sane { // what a step saw of its result is so
			if data, kept := s.t.big[r]; kept && sane && !finiteNumbers(data) {
				t.Errorf("%s of %q: %%%d is said to be finite: %v", s.q.Op, s.q.Prog.Text, r, data)
				return false
			}
		}
	}
	for i, name := range []string{"", "plan", "plan with two threads"} {
		if i == 0 {
			continue
		}
		for k := range got[0] {
			if j := sameBits(got[0][k], got[i][k]); j >= 0 {
				if len(dump) > 1500 {
					dump = "" // too much to read
				}
				t.Errorf("%s of %q: value %d, element %d: %s %v, one at a time %v\n%s", q().Op, q().Prog.Text, k, j, name, got[i][k][j], got[0][k][j], dump)
				return false
			}
		}
	}
	return true
}

// shift moves numbers to where those of an archive may lie, which is anywhere on these machines.
func shift(inputs []Input) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		return
	}
	for i := range inputs {
		if x := inputs[i].Value.Tensor; x != nil && len(x.Data) > 0 {
			room := make([]float64, len(x.Data)+1)
			at := unsafe.Slice((*float64)(unsafe.Add(unsafe.Pointer(&room[0]), 1+i%7)), len(x.Data))
			copy(at, x.Data)
			x.Data = at
		}
	}
}

func TestPlanOfStructure(t *testing.T) {
	for _, calls := range structural {
		for i, text := range calls {
			if spared(i) {
				continue
			}
			f := newFunction(t, text)
			for _, formula := range []string{"%s", "sum((%s)^2)"} {
				for _, op := range []string{"eval", "grad", "jacobian"} {
					comparePlan(t, func() *Question { return f.q(op, target(text, formula), slices.Clone(f.x)) })
				}
			}
			comparePlan(t, func() *Question { return f.q("hessian", target(text, "sum((%s)^2)"), slices.Clone(f.x)) })
		}
	}
}

// A writer writes random programs: expressions of known shapes over inputs.
type writer struct {
	rng  *rand.Rand
	vars []variable
	text strings.Builder
	ops  []*Op
}

type variable struct {
	name  string
	shape tensor.Shape
}

// inputs of random programs; L is longer than a tile, and than a block of a sum.
var randomInputs = []variable{
	{"a", nil}, {"b", tensor.Shape{3}}, {"c", tensor.Shape{2, 3}}, {"d", tensor.Shape{2, 1}}, {"e1", tensor.Shape{3, 3}}, {"L", tensor.Shape{2, 1500}}, {"K", tensor.Shape{1500}},
}

func newWriter(seed uint64) *writer {
	w := &writer{rng: rand.New(rand.NewPCG(seed, 7)), vars: slices.Clone(randomInputs)}
	for _, op := range All() {
		if op.elementwise() && op.Gives != givesBool {
			w.ops = append(w.ops, op)
		}
	}
	return w
}

// program writes n statements and a target that reads many of them.
func (w *writer) program(n int) string {
	for i := range n {
		name := "t" + itoa(i)
		text, shape := w.expr(3)
		fmt.Fprintf(&w.text, "%s = %s\n", name, text)
		w.vars = append(w.vars, variable{name, shape})
	}
	var sums []string
	for _, v := range w.vars[len(randomInputs):] {
		sums = append(sums, "sum("+v.name+")")
	}
	w.text.WriteString("(" + strings.Join(sums, ", ") + ", " + w.vars[len(w.vars)-1].name + ")")
	return w.text.String()
}

func (w *writer) pick() (string, tensor.Shape) {
	// what was bound last is wanted most
	i := len(w.vars) - 1 - min(w.rng.IntN(len(w.vars)), w.rng.IntN(len(w.vars)))
	return w.vars[i].name, w.vars[i].shape
}

func (w *writer) expr(depth int) (string, tensor.Shape) {
	if depth == 0 || w.rng.IntN(6) == 0 {
		if w.rng.IntN(5) == 0 {
			return fmt.Sprintf("%.2g", w.rng.NormFloat64()), nil
		}
		return w.pick()
	}
	x, s := w.expr(depth - 1)
	switch k := w.rng.IntN(20); {
	case k < 11: // an operation of the table
		op := w.ops[w.rng.IntN(len(w.ops))]
		if op.arity() == 1 {
			return op.Name + "(" + x + ")", s
		}
		y, s2 := w.expr(depth - 1)
		out, ok := broadcast(s, s2)
		if !ok || out.Size() > 20000 {
			return op.Name + "(" + x + ", " + strings.Repeat(x+", ", op.arity()-2) + x + ")", s
		}
		if op.arity() == 2 {
			return op.Name + "(" + x + ", " + y + ")", out
		}
		return op.Name + "(" + x + ", " + y + ", " + y + ")", out
	case k < 14:
		y, s2 := w.expr(depth - 1)
		if out, ok := broadcast(s, s2); ok && out.Size() <= 20000 {
			return "(" + x + " " + []string{"+", "-", "*", "/", "%"}[w.rng.IntN(5)] + " " + y + ")", out
		}
		return "where(" + x + " > 0.3, " + x + ", 1)", s
	case k < 16 && len(s) > 0:
		axis := w.rng.IntN(len(s))
		f := []string{"sum", "mean", "max", "prod", "norm", "logsumexp"}[w.rng.IntN(6)]
		arg := map[bool]string{true: ", 2"}[f == "norm"]
		if w.rng.IntN(2) == 0 {
			return f + "(" + x + arg + ", " + itoa(axis) + ", true)", reduced(s, []int{axis - len(s)}, true)
		}
		return f + "(" + x + arg + ", " + itoa(axis) + ")", reduced(s, []int{axis - len(s)}, false)
	case k == 16 && len(s) > 0 && last(s) > 1:
		t := slices.Clone(s)
		t[len(t)-1]--
		return "(" + x + ")[..., 1:]", t
	case k == 17 && len(s) == 2:
		return "(" + x + ").T", tensor.Shape{s[1], s[0]}
	case k == 18 && len(s) == 2 && s[0] < 10:
		return "(" + x + ") @ (" + x + ").T", tensor.Shape{s[0], s[0]}
	case k == 18 && len(s) == 1:
		return "softmax(" + x + ")", s
	}
	return "sum(" + x + ")", nil
}

// about makes a question about a random program, on numbers that its seed fixes.
func about(text, op string) func() *Question {
	return func() *Question {
		p, err := expr.Parse("", text)
		if err != nil {
			return nil
		}
		rng := rand.New(rand.NewPCG(3, 9))
		q := &Question{Prog: p, Op: op, Limit: 64 << 20, Deadline: time.Now().Add(5 * time.Second)}
		for _, v := range randomInputs {
			x := tensor.New(v.shape...)
			for i := range x.Data {
				x.Data[i] = math.Abs(rng.NormFloat64()) + 0.1
			}
			q.Inputs = append(q.Inputs, Input{Name: v.name, Value: tensor.Of(x)})
		}
		return q
	}
}

func TestPlanEqualsSlowRun(t *testing.T) {
	n := rounds(400)
	compared := 0
	for seed := range n {
		text := newWriter(uint64(seed)).program(4 + seed%9)
		if _, err := expr.Parse("", text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, op := range []string{"eval", "grad"} {
			if comparePlan(t, about(text, op)) {
				compared++
			}
		}
		if t.Failed() {
			return // one program tells enough
		}
	}
	if compared < n {
		t.Errorf("only %d of %d programs could be compared", compared, 2*n)
	}
}

func FuzzPlan(f *testing.F) {
	for _, op := range All() {
		if op.elementwise() {
			f.Add(op.Name + "(" + strings.Join([]string{"b", "c", "a"}[:op.arity()], ", ") + ")")
		}
	}
	for seed := range uint64(40) {
		f.Add(newWriter(seed).program(5))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := expr.Parse("", text); err != nil || len(text) > 2000 || len(p.Stmts) == 0 {
			return
		}
		comparePlan(t, about(text, "grad"))
	})
}

func TestPassOrder(t *testing.T) {
	done := map[string]bool{}
	for _, p := range passes {
		for _, a := range p.after {
			if !done[a] {
				t.Errorf("pass %s needs %s, which has not run", p.name, a)
			}
		}
		done[p.name] = true
	}
}

// TestThreads: long values, so that work really is shared out, have the same bits for
// every number of threads.
func TestThreads(t *testing.T) {
	const n = 300_001
	x := tensor.New(n)
	for i := range x.Data {
		x.Data[i] = math.Sin(float64(i)) + 1.5
	}
	for _, text := range []string{
		"sum(sin(x)*exp(-x^2/2) + log1p(x^2))",
		"mean(x*x) / std(x)",
		"sum(softmax(x)*x)",
		"sum(cumsum(x)[1:] * x[:-1]) + max(x)",
		"sum(reshape(x[:300000], (300, 1000)) @ x[:1000])",
		"sum(tanh(reshape(x[:300000], (1000, 300)) * x[:300] + x[:1000, newaxis]))",
		"m = reshape(x[:300000], (300, 1000)); sum((m[1:-1, 2:] - m[:-2, :-2])^2) + sum(m[::2, 5::3]^3)",
		"sum((x[2:] - 2*x[1:-1] + x[:-2])^2)",
	} {
		var want [][]float64
		for _, threads := range []int{1, 3, 2} {
			if threads == 2 && testing.Short() {
				continue
			}
			q := question(t, "grad", text)
			q.Inputs = []Input{{Name: "x", Value: tensor.Of(x)}}
			s, rs, err := recorded(q)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			got, err := s.run(rs, false, threads)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			for k := range want {
				if i := sameBits(want[k], got[k]); i >= 0 {
					t.Errorf("%s with %d threads: element %d of value %d is %v, with one %v", text, threads, i, k, got[k][i], want[k][i])
				}
			}
			if want == nil {
				want = got
			}
		}
	}
}

// TestRowsApart: a Jacobian or Hessian that is computed some rows at a time is the one
// computed whole, bit for bit.
func TestRowsApart(t *testing.T) {
	const n = 520
	x, w := tensor.New(n), tensor.New(n, n)
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range x.Data {
		x.Data[i] = rng.NormFloat64()
	}
	for i := range w.Data {
		w.Data[i] = rng.NormFloat64() / 20
	}
	for i, row := range []struct {
		op, text, mode string
		dtype          tensor.DType
	}{
		{"jacobian", "tanh(w @ x) * exp(-x^2) + cumsum(x) * sin(w.T @ x) + sqrt(1 + x^2) / (2 + cos(x))", "reverse", tensor.Float64},
		{"jacobian", "tanh(w @ x) * exp(-x^2) + cumsum(x) * sin(w.T @ x) + sqrt(1 + x^2) / (2 + cos(x))", "reverse", tensor.Float32},
		{"jacobian", "tanh(w @ x) * exp(-x^2) + cumsum(x) * sin(w.T @ x) + sqrt(1 + x^2) / (2 + cos(x))", "forward", tensor.Float64},
		{"hessian", "sum(tanh(w @ x)^2 * exp(-x^2)) + logsumexp(w @ x) + sum(x[1:]^2 * x[:-1])", "", tensor.Float64},
		{"hessian", "sum(tanh(w @ x)^2 * exp(-x^2)) + logsumexp(w @ x) + sum(x[1:]^2 * x[:-1])", "", tensor.Float32},
		{"jacobian", "softmax(w @ x) * x", "reverse", tensor.Float64},
	} {
		if spared(i) {
			continue
		}
		ask := func() (*session, []Ref) {
			q := question(t, row.op, row.text)
			q.Inputs = []Input{{Name: "x", Value: tensor.Of(x)}, {Name: "w", Value: tensor.Of(w), Const: true}}
			q.Mode, q.DType = row.mode, row.dtype
			s, want, err := recorded(q)
			if err != nil {
				t.Fatalf("%s: %v", row.text, err)
			}
			return s, want
		}
		apart, want := ask()
		if runs, _ := apart.t.rowRuns(want); len(runs) == 0 && row.text != "softmax(w @ x) * x" {
			t.Errorf("%s of %q runs whole: nothing is compared", row.op, row.text)
		}
		apart.t.Compute(want)
		whole, rs := ask()
		whole.t.Values(rs)
		for i := range want {
			if k := sameBits(apart.t.data(want[i]), whole.t.data(rs[i])); k >= 0 {
				t.Errorf("%s of %q: element %d is %v in rows, %v whole", row.op, row.text, k, apart.t.data(want[i])[k], whole.t.data(rs[i])[k])
			}
		}
	}
}

// TestBatchJacobianByPoints: the Jacobian of each row of a batch has the bits of that row's
// own Jacobian, though its seeds are multiplied as columns.
func TestBatchJacobianByPoints(t *testing.T) {
	x, w1, w2 := normals(1, 7, 5), normals(0.5, 5, 9), normals(0.5, 9, 6)
	weights := []Input{{Name: "w1", Value: w1, Const: true}, {Name: "w2", Value: w2, Const: true}}
	of := func(op string, x *tensor.Value) []float64 {
		q := question(t, op, "tanh(tanh(x @ w1) @ w2)")
		q.Mode = "reverse"
		q.Inputs = append(slices.Clone(weights), Input{Name: "x", Value: x})
		a, err := q.Answer()
		if err != nil {
			t.Fatal(err)
		}
		return a.Targets[0].Payload.Fields[0].Value.Tensor.Data
	}
	all := of("batch_jacobian", x)
	for i := range 7 {
		row := tensor.New(5)
		copy(row.Data, x.Tensor.Data[5*i:])
		if k := sameBits(all[30*i:30*i+30], of("jacobian", tensor.Of(row))); k >= 0 {
			t.Errorf("element %d of row %d differs from the Jacobian of the row", k, i)
		}
	}
}

// golden are programs whose tape and plan are on file: ../testdata/plan/NAME.txt.
// go test -update rewrites them, and the difference is reviewed like code.
var golden = []struct {
	name, op, text string
	inputs         []string
}{
	{"square_sine", "grad", "x^2*sin(x)", []string{"x=2"}},
	{"mlp", "grad", "h = tanh(x @ w1 + b1)\nmean((h @ w2 - t)^2)", []string{"const x=[[1, 2], [3, 4], [5, 6]]", "const t=[[1], [0], [1]]", "w1=[[0.1, -0.2], [0.3, 0.4]]", "b1=[0, 0.1]", "w2=[[1], [-1]]"}},
	{"jacobian", "jacobian", "[x[0]*x[1], sin(x[0])]", []string{"x=[1, 2]"}},
	{"hessian", "hessian", "sum(x^3) + prod(x)", []string{"x=[1, 2, 3]"}},
	{"while", "grad", "y = x\nwhile y < 50 { y = y^2 }\ny", []string{"x=3"}},
	{"custom_gradient", "grad", "f(x) = sqrt(x)\ngradient f(x; g) = clip(g / (2*sqrt(x)), -10, 10)\nsum(f(x))", []string{"x=[0, 4]"}},
	{"standard", "eval", "(x - mean(x, 1, true))/std(x, 1, true)", []string{"x=[[1, 5, 2], [4, 5, 6]]"}},
	{"max_columns", "grad", "sum(max(x, axis=0)^2)", []string{"x=[[1, 5, 2], [4, 5, 6]]"}},
	{"vmap_split", "grad", "f(x) = x > 0 ? x^2 : -x\nsum(vmap(f)(x))", []string{"x=[-1, 2, 3]"}},
	{"softmax", "grad", "softmax(x)[0]", []string{"x=[1, 2, 3]"}},
	{"jvp", "jvp", "sin(x)*x", []string{"x=[1, 2]"}},
	{"columns", "grad", "mean((x*g + b)^2)", []string{"const x=ones(100, 100)", "g=ones(100)", "b=zeros(100)"}},
}

func TestGolden(t *testing.T) {
	for _, g := range golden {
		q := question(t, g.op, g.text, g.inputs...)
		if g.op == "jvp" {
			q.With = tensor.Of(tensor.From([]float64{1, 0.5}, 2))
		}
		s, want, err := recorded(q)
		if err != nil {
			t.Errorf("%s: %v", g.name, err)
			continue
		}
		var open []Ref
		for _, r := range want {
			if !s.t.known(r) {
				open = append(open, r)
			}
		}
		got := g.op + "\n" + g.text + "\n" + strings.Join(g.inputs, "; ") + "\n\n" + s.t.Dump(s.q.Prog) + "\n" + s.t.plan(open).Dump()
		file := filepath.Join("..", "testdata", "plan", g.name+".txt")
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		was, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if string(was) != got {
			t.Errorf("the tape or plan of %s is\n%s\nand was\n%s", g.name, got, was)
		}
	}
}

// TestTilesStop has arguments that the kernel of sin leaves to Go, in tiles here and there.
func TestTilesStop(t *testing.T) {
	x := normals(1, 20000)
	for i := 300; i < len(x.Tensor.Data); i += 2777 {
		x.Tensor.Data[i] = 1e9 + float64(i)
	}
	for _, threads := range []int{1, 2} {
		q := question(t, "eval", "sin(x)*x + cos(x)")
		q.Threads, q.Inputs = threads, []Input{{Name: "x", Value: x}}
		a, err := q.Answer()
		if err != nil {
			t.Fatal(err)
		}
		got := a.Targets[0].Value.Tensor.Data
		for i, v := range x.Tensor.Data {
			if want := float64(kernels.SinOf(v)*v) + kernels.CosOf(v); got[i] != want {
				t.Fatalf("element %d: %v, want %v", i, got[i], want)
			}
		}
	}
}

// TestSpread: a number that is spread over a row is written once a row, where no sum needs whole tiles or
// these end with rows anyway.
func TestSpread(t *testing.T) {
	const rows, row = 3, 1003
	l := load{slot: 0, sp: newSpread(tensor.Shape{rows, 1}, tensor.Shape{rows, row}), still: row}
	for _, r := range []struct {
		sums     int
		from     int
		n, tiles int
		first    float64
		written  int  // the row that fills the slot, from 1
		ends     bool // tiles end with rows
		aside    bool // what is made is written past the caches
	}{
		{0, 0, 256, 3, 5, 1, false, false},
		{0, 768, 235, 1, 5, 1, false, false},
		{0, 1003, 256, 3, 6, 2, false, false},
		{1, 256, 256, 2, 5, 1, false, false},
		{1, 768, 256, 1, 5, 0, false, false}, // of two rows
		{1, 768, 235, 1, 5, 1, true, false},
		{1, 2816, 193, 1, 7, 3, false, false},
		{0, 768, 232, 1, 5, 1, false, true},  // whole lines
		{0, 1000, 256, 1, 5, 0, false, true}, // of two rows
	} {
		tp := &tileProgram{n: rows * row, slots: 1, loads: []load{l}, sums: make([]sumOf, r.sums)}
		tp.layTiles()
		code := &tileCode{fills: []bool{true}, rows: r.ends}
		w := takeRoom(tp, code, 0)
		if r.aside {
			code.aside = []bool{true}
		}
		n, tiles := w.spread(tp, code, w.at, [][]float64{{5, 6, 7}}, r.from, rows*row)
		written := 0
		if w.still[0].filled {
			written = w.still[0].end / row
		}
		if n != r.n || tiles != r.tiles || w.slot(0)[0] != r.first || written != r.written {
			t.Errorf("with %d sums from %d on: %d tiles of %d numbers, the first %v, row %d written, want %v", r.sums, r.from, tiles, n, w.slot(0)[0], written, r)
		}
		w.leave()
	}
}

// TestRepeatedRows: short rows that are spread along an axis in the middle, and numbers, are as if they were all there.
func TestRepeatedRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 14))
	for _, pair := range [][2]tensor.Shape{
		{{7, 40, 60}, {7, 1, 60}},
		{{5, 9, 100}, {5, 1, 100}},
		{{4, 200, 3}, {4, 1, 3}},
		{{6, 64, 32}, {6, 1, 32}},
		{{3, 30, 255}, {3, 1, 255}},
		{{40, 8, 128}, {40, 1, 128}},
		{{3, 3, 50, 33}, {3, 3, 1, 33}},
		{{20, 3, 600}, {3, 1}}, // what is repeated is numbers over long rows
		{{20, 4, 304}, {4, 1}},
		{{20, 4, 304}, {20, 4, 1}},
		{{9, 2, 1000}, {9, 2, 1}},
	} {
		s, one := pair[0], pair[1]
		x, y := tensor.New(s...), tensor.New(one...)
		for _, v := range [][]float64{x.Data, y.Data} {
			for i := range v {
				v[i] = rng.NormFloat64()
			}
		}
		all := tensor.Of(&tensor.Tensor{DType: y.DType, Shape: s, Data: spreadOver(y.Data, one, s)})
		for _, text := range []string{"x*y - y", "sum(x*y - sin(y))", "x - y*3 + max(x, axis=-1, keepdims=true)"} {
			run := func(y *tensor.Value, least int64, threads int) []float64 {
				saved, savedShare, savedAside := worthFusing, pool.LeastElements, worthAside
				worthFusing, pool.LeastElements, worthAside = least, 1, 1
				defer func() { worthFusing, pool.LeastElements, worthAside = saved, savedShare, savedAside }()
				q := question(t, "eval", text)
				q.Threads = threads
				q.Inputs = []Input{{Name: "x", Value: tensor.Of(x)}, {Name: "y", Value: y}}
				a, err := q.Answer()
				if err != nil {
					t.Fatal(err)
				}
				return numbers(a.Targets[0].Value)
			}
			want := run(all, math.MaxInt64, 1)
			for _, least := range []int64{1, math.MaxInt64} {
				for threads := 1; threads <= 2; threads++ {
					if got := run(tensor.Of(y), least, threads); !slices.Equal(got, want) {
						t.Errorf("%s of %v, %d threads, machine code from %d elements on: not what it is with all rows given", text, s, threads, least)
					}
				}
			}
		}
	}
}

// TestWaitingTakesNoMemory: what adds up products does not keep them all for the last.
func TestWaitingTakesNoMemory(t *testing.T) {
	q := question(t, "grad", "h = x\n"+strings.Repeat("h = tanh(h @ w)\n", 20)+"sum(h^2)")
	q.Threads = 1
	w := normals(0.1, 64, 64)
	q.Inputs = []Input{{Name: "x", Value: normals(1, 2, 64), Const: true}, {Name: "w", Value: w}}
	a, err := q.Answer()
	if err != nil {
		t.Fatal(err)
	}
	if each := int64(8 * 64 * 64); a.Stats.Peak > 6*each {
		t.Errorf("%d bytes at once, %d times the gradient", a.Stats.Peak, a.Stats.Peak/each)
	}
}

// TestLinger: the slope of what is added up along rows is computed where it is read, unless it comes along with a value,
// is read elsewhere, too, or reads more than one tensor.
func TestLinger(t *testing.T) {
	for _, c := range []struct {
		text  string
		first int // instructions of the first elementwise step
	}{
		{"sum(sum(x^2, 1)^2)", 1},
		{"sum(sum(sin(x), 1)^2)", 2},
		{"sum(sum(x^2, 1)^2) + sum(sum(2*x, 1)^2)", 2},
		{"sum(sum(x*(x*y), 1)^2)", 2},
	} {
		q := question(t, "grad", c.text, "x=[[1, 2, 3], [4, 5, 6]]", "y=[[1, 2, 3], [4, 5, 7]]")
		if !comparePlan(t, func() *Question { return q }) {
			t.Errorf("the gradient of %s could not be compared", c.text)
			continue
		}
		s, want, err := recorded(q)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range s.t.plan(want).steps {
			if step.kind == stepTile {
				if len(step.refs) != c.first {
					t.Errorf("the first elementwise step of the gradient of %s has %d instructions, want %d", c.text, len(step.refs), c.first)
				}
				break
			}
		}
	}
}

// TestBroadcastIsSane: what is repeated from finite numbers is known to be finite.
func TestBroadcastIsSane(t *testing.T) {
	for _, last := range []string{"1", "inf", "nan"} {
		s, want, err := recorded(question(t, "eval", "broadcast_to(x[:, newaxis], 3, 100)", "x=[1, 2, "+last+"]"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.run(want, false, 1); err != nil {
			t.Fatal(err)
		}
		if sane, seen := s.t.sane[want[0]]; !seen || sane != (last == "1") {
			t.Errorf("%s repeated is said to be finite: %t, seen: %t", last, sane, seen)
		}
	}
}

// TestFold: what a program cuts out or puts in order more than once is there once.
func TestFold(t *testing.T) {
	for _, r := range []struct {
		op, text, input string
		name            string
		times           int
	}{
		{"grad", "sum(cross(x, x^2)^2)", "x=randn(5, 3)", "slice", 3 + 3 + 3}, // of x, of its square, and of the cotangent
		{"grad", "sum(x[1:]*sin(x[1:])*x[:-1])", "x=randn(9)", "block", 2},
		{"grad", "sum(sort(x)^2) + max(sort(x))", "x=randn(9)", "argsort", 1},
		{"jacobian", "stack([sum(broadcast_to(x, 2, 3)^2), sum(exp(broadcast_to(x, 2, 3)))])", "x=randn(3)", "broadcast_to", 1},
	} {
		s, want, err := recorded(question(t, r.op, r.text, r.input))
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, x := range s.t.plan(want).order {
			if s.t.ins[x].Op().Name == r.name {
				got++
			}
		}
		if got != r.times {
			t.Errorf("%s of %q: %d times %s, want %d", r.op, r.text, got, r.name, r.times)
		}
	}
}
