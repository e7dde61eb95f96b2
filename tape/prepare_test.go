package tape

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"nabla/expr"
	"nabla/tape/tensor"
)

// described writes all that an answer says, every bit of its numbers.
func described(a *Answer, err error) string {
	if err != nil {
		e, _ := AsError(err)
		return fmt.Sprintf("%d %s", e.ExitCode(), e.At.Render())
	}
	var b strings.Builder
	value := func(v *tensor.Value) {
		if v == nil {
			return
		}
		b.WriteString(write(v))
		v.Leaves("", func(path string, leaf *tensor.Value) {
			if leaf.Tensor != nil {
				fmt.Fprintf(&b, " %s %v %v %x", path, leaf.Tensor.DType, leaf.Tensor.Shape, leaf.Tensor.Data)
			}
		})
		b.WriteByte('\n')
	}
	for _, t := range a.Targets {
		b.WriteString(t.Name + " ")
		value(t.Value)
		value(t.Payload)
		fmt.Fprintln(&b, t.Unconnected)
	}
	fmt.Fprintf(&b, "%v %q %q %+v\n", a.Several, fmt.Sprint(a.Warnings), a.Watched, a.Stats)
	return b.String()
}

// lines are inputs of the same form: as in survive, then others, then kinks, numbers out
// of domains, and the first ones again.
func lines() (out [][]Input) {
	for _, r := range []struct {
		x, y, m, z, w string
	}{
		{"[1, 0.5, -2]", "2", "[[1, 2, 3], [4, 5, 6]]", "[0, 1]", "1"},
		{"[0.3, 0.7, 2]", "3", "[[1, 1, 2], [3, 5, 8]]", "[1, 0]", "2.5"},
		{"[0, 0, 0]", "0", "[[0, 0, 0], [0, 0, 0]]", "[1, 1]", "0"},
		{"[-1, nan, 1e300]", "-2.5", "[[0, inf, 0], [-7, 0.5, 0]]", "[0, 2]", "-1"},
		{"[1, 0.5, -2]", "2", "[[1, 2, 3], [4, 5, 6]]", "[0, 1]", "1"},
		{"[1.5, 0.25, -3]", "2.25", "[[1, 2, 3], [4, 5, 7]]", "[0, 1]", "1.125"},
	} {
		v := func(s string) *tensor.Value {
			v, err := Eval(s, tensor.Float64, 1, 0)
			if err != nil {
				panic(err)
			}
			return v
		}
		out = append(out, []Input{
			{Name: "x", Value: v(r.x)}, {Name: "y", Value: v(r.y)}, {Name: "m", Value: v(r.m)}, {Name: "z", Value: v(r.z), Const: true},
			{Name: "p", Value: &tensor.Value{Kind: tensor.KindRecord, Fields: []tensor.Field{{Name: "w", Value: v(r.w)}}}},
		})
	}
	return out
}

// comparePrepared holds answers of a prepared question to those of one recorded anew.
func comparePrepared(t *testing.T, q *Question, lines [][]Input) {
	t.Helper()
	p := q.Prepare()
	for i, in := range lines {
		own := *q
		own.Inputs = in
		want := described(own.Answer())
		if got := described(p.Answer(in)); got != want && !strings.Contains(want+got, "time limit") {
			t.Errorf("%s of %q: answer %d is\n%s\nwant\n%s", q.Op, q.Prog.Text, i, got, want)
			return
		}
	}
}

// TestPrepared runs every program of the tests' tables with inputs that change.
func TestPrepared(t *testing.T) {
	all := lines()
	for i, text := range seeds() {
		if spared(i) || spared(i/5) {
			continue
		}
		p, err := expr.Parse("", text)
		if err != nil {
			continue
		}
		for k, op := range []string{"grad", "jacobian", "eval", "hessian", "jvp", "batch_jacobian", "hvp"} {
			if k > 0 && i%6+1 != k {
				continue
			}
			q := &Question{Prog: p, Op: op, Limit: 16 << 20, Deadline: time.Now().Add(time.Second)}
			if (i+k)%4 == 0 {
				q.DType = tensor.Float32
			}
			if op == "jvp" || op == "hvp" {
				q.With = &tensor.Value{Kind: tensor.KindRecord, Fields: []tensor.Field{{Name: "x", Value: tensor.Of(tensor.From([]float64{1, 2, 3}, 3))}}}
			}
			comparePrepared(t, q, all)
		}
	}
}

// TestPreparedLooks: what is looked at to word warnings, and to take limits, is that of the inputs
// at hand.
func TestPreparedLooks(t *testing.T) {
	for _, r := range []struct {
		op, text string
		values   []float64
	}{
		{"hessian", "log(grad(u -> maximum(u, u) + sin(u))(norm(x*[1, 2])))", []float64{1, 2}},
		{"jacobian", "where(x > 1, abs(x - 1), x^2)*[1, 2]", []float64{1, 2, 1}},
		{"jacobian", "abs(x)*[1, 2]", []float64{1, 0, 2, 0}},
		{"grad", "sum(exp(300*log(x*[1, 2])))", []float64{1, 0, 2, 0}},
	} {
		var lines [][]Input
		for _, v := range r.values {
			lines = append(lines, []Input{{Name: "x", Value: tensor.Of(tensor.Scalar(v))}})
		}
		q := question(t, r.op, r.text)
		q.Diagonal = r.op == "hessian"
		comparePrepared(t, q, lines)
	}
}

// TestPreparedLooksAgain: what is looked at for a warning, with the plan and the memory of the answer before, is that of these inputs,
// and nothing of it is left where no kink is met, or two are.
func TestPreparedLooksAgain(t *testing.T) {
	for _, text := range []string{"sum(abs(x - 3))", "s = abs(x - 3)*x; sum(s*relu(x - 7)) + sum(abs(x - 3))", "sum(abs(x[:, newaxis] - [1, 2, 3]*mean(x)))"} {
		r := rand.New(rand.NewPCG(1, 85))
		var lines [][]Input
		for i := range 12 {
			x := noise(r, tensor.Shape{leastPlanned})
			for range i % 4 {
				x.Data[r.IntN(leastPlanned)] = []float64{3, 7, 0}[r.IntN(3)]
			}
			lines = append(lines, []Input{{Name: "x", Value: tensor.Of(x)}})
		}
		comparePrepared(t, question(t, "grad", text), lines)
	}
}

// TestPreparedServes counts the recordings that programs need for a sequence of inputs.
func TestPreparedServes(t *testing.T) {
	numbers := func(values ...float64) (out [][]Input) {
		for _, v := range values {
			out = append(out, []Input{{Name: "x", Value: tensor.Of(tensor.Scalar(v))}})
		}
		return out
	}
	for _, r := range []struct {
		text string
		in   [][]Input
		want int
	}{
		{"x^2*sin(x)", numbers(1, 2, 3, 4), 1},
		{"abs(x)", numbers(1, 0, -1, 0), 1},                                                                           // a kink needs a warning, and no recording
		{"log(x)", numbers(0, 1, -1, 2), 1},                                                                           // recorded at its worst, it serves
		{"y = x\nif x > 0 { y = x^2 }\ny", numbers(1, -1, 2, -2, 3, -3), 2},                                           // both branches
		{"y = x\nwhile y < 10 { y = y*2 }\ny", numbers(6, 7, 3, 4, 8), 2},                                             // one step, two steps
		{"y = x\nwhile y < 1000 { y = y + 1 }\ny", numbers(0.5, 0.25, 1.5, 1.25), 2},                                  // a rolled loop
		{"s = 0\nfor i in range(x) { s = s + i*x }\ns", numbers(3, 3, 4), 2},                                          // a size
		{"y = [10, 20, 30]\ny[x]*x", numbers(0, 1, 2), 3},                                                             // a position
		{"y = [x, -x, 2*x]\nsum(y[y > 0])", numbers(1, 2, -1), 2},                                                     // a mask
		{"f(a) { y = a*x; if a > x { y = a }; y }\nsum(vmap(f)([1, 2, 3]))", numbers(1.5, 1.25, 2.5), 2},              // points split
		{"take([1, 2, 3], [x, x])*x", numbers(0, 1, 2), 1},                                                            // indices: only their range counts
		{"take([1, 2, 3], [x, x])*x", numbers(1, 0.5, 2, 3, -3, -4, 0), 1},                                            // which they leave
		{"sum(inv(x*[[1, 2], [3, 4]]))", numbers(1, 0, 2), 1},                                                         // what cannot be computed
		{"f(a) { sum(exp(eigvalsh([[a, 0], [0, 2]]))) }\njvp(jvp(f(x), x, 1), x, 1)", numbers(1, 2, 3, 2+1e-9, 2), 2}, // equal values
		{"f(a) { sum(svdvals([[a, 0], [0, 2]])^4) }\njvp(jvp(f(x), x, 1), x, 1)", numbers(1, 2, 0, 3, 2+1e-9), 2},
		{"n = stop_gradient(x) + 1\ny = x\nif n > 0 { y = x^n }\ny", numbers(1, 2, 3), 1}, // known, yet no constant
	} {
		q := question(t, "grad", r.text)
		comparePrepared(t, q, r.in)
		p := q.Prepare()
		for _, in := range r.in {
			p.Answer(in)
		}
		if len(p.kept) != r.want {
			t.Errorf("%q keeps %d recordings, want %d", r.text, len(p.kept), r.want)
		}
	}
	single := question(t, "grad", "x^2*sin(x)")
	single.DType = tensor.Float32 // of float64 inputs, which are rounded
	comparePrepared(t, single, numbers(0.1, 0.7, 1e-3))
	// a kink in a loop, over and over, makes no tape longer
	q := question(t, "grad", "y = x\nfor i in range(100) { y = abs(y) - 1 }\ny")
	p := q.Prepare()
	comparePrepared(t, q, numbers(0.5, 1, 0, 2, 1))
	for range 10 {
		for _, in := range numbers(1, 0.5) {
			p.Answer(in)
		}
	}
	if n := len(p.kept[0].s.t.ins); n > 100 {
		t.Errorf("the tape of a loop has %d instructions", n)
	}
	in := numbers(1)[0]
	for _, text := range []string{"x^2*sin(x)", "abs(x)", "y = x\nif x > 0 { y = abs(x) }\ny"} {
		p = question(t, "grad", text).Prepare()
		if n := testing.AllocsPerRun(100, func() { p.Answer(in) }); n > 0 {
			t.Errorf("a prepared answer of %q allocates %v times", text, n)
		}
	}
}

// TestPreparedLeavesNothing: what warnings of one answer looked at is gone after the next.
func TestPreparedLeavesNothing(t *testing.T) {
	q := question(t, "grad", "sum(abs(x[:, newaxis] - x))", "x=linspace(0, 1, 200)")
	p := q.Prepare()
	held := func(answers int) uint64 {
		for range answers {
			a, err := p.Answer(q.Inputs)
			if err != nil || len(a.Warnings) != 1 {
				t.Fatal(err, a.Warnings)
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		runtime.KeepAlive(p)
		return m.HeapAlloc
	}
	if before, after := held(3), held(200); after > before+10<<20 {
		t.Errorf("200 answers hold %d MB, 3 held %d", after>>20, before>>20)
	}
}

// TestPreparedCancels: matrices whose terms cancel are computed by rows, with a recording of its own, and by terms where these do not.
func TestPreparedCancels(t *testing.T) {
	q := question(t, "jacobian", "softmax(x @ w + c) @ m")
	var lines [][]Input
	for _, large := range []float64{0, 90, 0, 95, 1, 90} {
		c := tensor.New(30, 4)
		for i := 0; i < len(c.Data); i += 4 {
			c.Data[i] = large
		}
		lines = append(lines, []Input{{Name: "w", Value: normals(1, 20, 4)}, {Name: "x", Value: normals(0.1, 30, 20), Const: true},
			{Name: "c", Value: tensor.Of(c), Const: true}, {Name: "m", Value: normals(1, 4, 4), Const: true}})
	}
	comparePrepared(t, q, lines)
	p := q.Prepare()
	for _, in := range lines {
		if _, err := p.Answer(in); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.kept) != 2 || (p.kept[0].s.terms == nil) == (p.kept[1].s.terms == nil) {
		t.Errorf("%d recordings are kept, not one of terms and one of rows", len(p.kept))
	}
}

// What left the range on the way is made good in every run of a recording.
func TestPreparedRange(t *testing.T) {
	for _, r := range []struct{ op, text string }{
		{"hessian", "1/x^2"},
		{"grad", "atan(1/x)"},
		{"hessian", "x^2*y^3"},
		{"grad", "p = x; for i in range(100) { p = p*x }; p*y"},
	} {
		var lines [][]Input
		for _, x := range []float64{2, 1e-200, 1e76, 1e100, 1e160, 3} {
			in := []Input{{Name: "x", Value: tensor.Of(tensor.Scalar(x))}}
			if strings.Contains(r.text, "y") {
				in = append(in, Input{Name: "y", Value: tensor.Of(tensor.Scalar(1 / x))})
			}
			lines = append(lines, in)
		}
		comparePrepared(t, question(t, r.op, r.text), lines)
	}
}

// A recording serves inputs of its own form alone.
func TestPreparedForms(t *testing.T) {
	leaf := func(dt tensor.DType, shape ...int) *tensor.Value {
		x := tensor.New(shape...)
		x.DType = dt
		for i := range x.Data {
			x.Data[i] = float64(i + 1)
		}
		return tensor.Of(x)
	}
	list := func(vs ...*tensor.Value) *tensor.Value { return &tensor.Value{Kind: tensor.KindList, List: vs} }
	record := func(names string, vs ...*tensor.Value) *tensor.Value {
		v := &tensor.Value{Kind: tensor.KindRecord}
		for i, name := range strings.Fields(names) {
			v.Fields = append(v.Fields, tensor.Field{Name: name, Value: vs[i]})
		}
		return v
	}
	frozen := func(why string) *tensor.Value {
		v := leaf(tensor.Float64, 2)
		v.Frozen = why
		return v
	}
	as := func(name string, v *tensor.Value) []Input { return []Input{{Name: name, Value: v}} }
	x := func(v *tensor.Value) []Input { return as("x", v) }
	one, two := leaf(tensor.Float64), leaf(tensor.Float64, 2)
	for _, r := range []struct {
		text string
		a, b []Input
	}{
		{"sum(x^2)", x(two), x(leaf(tensor.Float64, 3))},
		{"sum(x^2)", x(two), x(leaf(tensor.Float64, 1, 2))},
		{"sum(x^2)", x(two), x(leaf(tensor.Float64, 2, 1))},
		{"sum(x^2)", x(two), x(leaf(tensor.Float32, 2))},
		{"sum(x^2)", x(two), x(leaf(tensor.Int64, 2))},
		{"sum(x^2)", x(two), as("y", two)},
		{"sum(x^2)", x(two), []Input{{Name: "x", Value: two, Const: true}}},
		{"sum(x^2)", x(two), append(x(two), as("y", two)...)},
		{"sum(x^2)", x(two), nil},
		{"sum(x^2)", x(two), x(frozen("it is frozen"))},
		{"sum(x^2)", x(frozen("it is frozen")), x(frozen("it is kept"))},
		{"sum(x^2)", x(two), x(tensor.None("it is missing"))},
		{"2", x(tensor.None("it is missing")), x(tensor.None("it is lost"))},
		{"2", x(tensor.None("it is missing")), x(one)},
		{"x", x(tensor.None("it is missing")), x(tensor.None("it is lost"))},
		{"x", x(one), x(tensor.None("it is lost"))},
		{"sum(x[0]^2)", x(list(two, one)), x(list(two))},
		{"sum(x[0]^2)", x(list(two, one)), x(list(two, two))},
		{"sum(x[0]^2)", x(list(two, one)), x(list(leaf(tensor.Float64, 3), one))},
		{"sum(x[0]^2)", x(list(two, one)), x(two)},
		{"sum(x.a^2)", x(record("a b", two, one)), x(record("a", two))},
		{"sum(x.a^2)", x(record("a b", two, one)), x(record("b a", two, one))},
		{"sum(x.a^2)", x(record("a b", two, one)), x(record("a c", two, one))},
		{"sum(x.a^2)", x(record("a b", two, one)), x(record("a b", one, one))},
		{"sum(x.a^2)", x(record("a b", two, one)), x(record("a b", two, two))},
		{"sum(x.a^2)", x(record("a", list(two))), x(record("a", record("c", two)))},
		{"sum(x.a[0]^2)", x(record("a", list(two, one))), x(record("a", list(two)))},
	} {
		for _, op := range []string{"grad", "eval"} {
			q := question(t, op, r.text)
			comparePrepared(t, q, [][]Input{r.a, r.b, r.a, r.b})
			comparePrepared(t, q, [][]Input{r.b, r.a, r.b})
			p := q.Prepare()
			p.Answer(r.a)
			p.Answer(r.a)
			if len(p.kept) > 1 {
				t.Errorf("%s of %q is recorded twice for the same inputs", op, r.text)
			}
		}
	}

	// and it holds no numbers of what it was recorded for
	p := question(t, "grad", "sum(x.a^2)").Prepare()
	p.Answer(x(record("a b", two, list(one))))
	for _, in := range p.kept[0].inputs {
		in.Value.Leaves(in.Name, func(path string, leaf *tensor.Value) {
			if leaf.Tensor.Data != nil {
				t.Errorf("a recording holds the numbers of %s", path)
			}
		})
	}
	if p.kept[0].s.q.Inputs != nil {
		t.Error("a recording holds the inputs it was made for")
	}

	// nor what each answer took to word its warnings
	q := question(t, "grad", "sum(abs(x) + max(x, 1))", "x=[0, 1]")
	p = q.Prepare()
	for range 3 {
		p.Answer(q.Inputs)
	}
	if passed := p.kept[0].s.t.passed; len(passed) != 0 || cap(passed) == 0 {
		t.Errorf("a recording holds %d values for warnings, of room for %d", len(passed), cap(passed))
	}
}

// A prepared question keeps few recordings, of little memory beside the one used last.
func TestPreparedKeeps(t *testing.T) {
	const mb = 1 << 20
	for _, r := range []struct {
		bytes []int64 // of one recording after the other
		want  []int64 // of those that are kept, the last one first
	}{
		{[]int64{1, 2, 3}, []int64{3, 2, 1}},
		{[]int64{1, 2, 3, 4, 5, 6, 7, 8}, []int64{8, 7, 6, 5, 4, 3, 2, 1}},
		{[]int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, []int64{10, 9, 8, 7, 6, 5, 4, 3}},
		{[]int64{100 * mb}, []int64{100 * mb}},
		{[]int64{1, 100 * mb}, []int64{100 * mb}},
		{[]int64{100 * mb, 1}, []int64{1}},
		{[]int64{40 * mb, 24 * mb}, []int64{24 * mb, 40 * mb}}, // exactly what there is room for
		{[]int64{40 * mb, 24*mb + 1}, []int64{24*mb + 1}},
		{[]int64{1, 40 * mb, 30 * mb, 2}, []int64{2, 30 * mb}}, // older ones go with the one too many
	} {
		var p Prepared
		for _, n := range r.bytes {
			p.keep(&recording{bytes: n})
		}
		p.keep(nil) // what cannot be run again
		var got []int64
		for _, k := range p.kept {
			got = append(got, k.bytes)
		}
		if !slices.Equal(got, r.want) {
			t.Errorf("of recordings of %v bytes those of %v are kept, want %v", r.bytes, got, r.want)
		}
	}

	// what cannot be kept is asked as if it were not prepared, which takes two thirds of the time
	sparse := question(t, "jacobian", "x[1:]*x[:-1]", "x=[1, 2, 3, 4]")
	sparse.Sparse = true
	comparePrepared(t, sparse, slices.Repeat([][]Input{sparse.Inputs}, 3))
	p := sparse.Prepare()
	p.Answer(sparse.Inputs)
	anew := testing.AllocsPerRun(10, func() { sparse.Answer() })
	if again := testing.AllocsPerRun(10, func() { p.Answer(sparse.Inputs) }); again > 1.2*anew { // pools drop some of what they hold under the race detector
		t.Errorf("a sparse Jacobian asks for memory %v times where it is prepared, %v where it is not", again, anew)
	}

	number := func(name string, v float64) []Input {
		return []Input{{Name: name, Value: tensor.Of(tensor.Scalar(v))}}
	}
	for _, in := range [][]Input{number("x", 0), number("y", 1)} { // where it has no number, and of another form
		p := question(t, "grad", "1/x").Prepare()
		p.Answer(number("x", 1))
		p.kept[0].bytes = 100 * mb
		p.Answer(in)
		if len(p.kept) != 0 {
			t.Errorf("a large recording stays while 1/x is recorded for %s = %v", in[0].Name, in[0].Value.Tensor.Data)
		}
	}
}

// TestPreparedLoopsOverflow: a recording that was left as it is for one input knows, for another, what its
// loops would be step by step.
func TestPreparedLoopsOverflow(t *testing.T) {
	for _, text := range []string{
		"u = x; for i in range(70) { u = log(exp(u)) }; u",
		"u = 1; for i in range(70) { u = u*x }; for i in range(70) { u = u/x }; u*x",
	} {
		var inputs [][]Input
		for _, v := range []float64{2, 3, 800, 1e10, 2} { // exp(800) and 1e10^70 are no numbers
			inputs = append(inputs, []Input{{Name: "x", Value: tensor.Of(tensor.Scalar(v))}})
		}
		comparePrepared(t, question(t, "grad", text), inputs)
	}
}

// TestPreparedRandom runs random programs with inputs that change.
func TestPreparedRandom(t *testing.T) {
	n := rounds(60)
	answered := 0
	for i := range n {
		q := about(newWriter(uint64(i)).program(4), []string{"grad", "eval", "jvp"}[i%3])()
		if q.Op == "jvp" {
			q.With = &tensor.Value{Kind: tensor.KindRecord, Fields: []tensor.Field{{Name: "a", Value: tensor.Of(tensor.Scalar(1))}}}
		}
		q.Limit, q.Threads = 256<<20, 1+i%2
		if i%5 == 0 {
			q.DType = tensor.Float32
		}
		other := slices.Clone(q.Inputs)
		for k, in := range other {
			x := *in.Value.Tensor
			x.Data = slices.Clone(x.Data)
			for j := range x.Data {
				x.Data[j] = 0.7*x.Data[j] + 0.3
			}
			other[k].Value = tensor.Of(&x)
		}
		comparePrepared(t, q, [][]Input{other, q.Inputs, other, q.Inputs})
		if _, err := q.Answer(); err == nil {
			answered++
		}
	}
	if answered < n/2 {
		t.Errorf("only %d of %d programs have an answer", answered, n)
	}
}
