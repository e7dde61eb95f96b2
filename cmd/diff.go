package cmd

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nabla/cmd/input"
	"nabla/tape/tensor"
)

const diffLong = `
A and B are results: JSON of nabla or of anybody, NPY, NPZ, tables of numbers.
Arrays are paired by their dotted names, or as they are where each file has one.
|a - b| may be atol + rtol max(|a|, |b|); --exact asks for the same bits. The
worst elements come first, and then what the difference looks like: transposed,
a factor, a sign, another order. Exit 1 when something differs.`

const diffExample = `
  $ nabla diff old.json new.json
  $ nabla diff grad.npz torch.npz --rtol 1e-9 -n 3
  $ nabla 'x^2' -a x=3 -f json | nabla diff - expected.json --exact`

// diffOptions are the flags of diff.
type diffOptions struct {
	streams
	Args       []string
	RTol, ATol float64
	Exact      bool
	Top        int
	Format     string
	MaxMemory  string
	Quiet      bool
}

func newDiff(s streams, row *command) *cobra.Command {
	o := &diffOptions{streams: s}
	c := base(row, func(args []string) error {
		o.Args = args
		return runDiff(o)
	})
	under(c.Flags(), groupEngine, func(f *pflag.FlagSet) {
		f.Float64Var(&o.RTol, "rtol", 1e-6, "`R` relative tolerance")
		f.Float64Var(&o.ATol, "atol", 1e-9, "`A` absolute tolerance")
		f.BoolVar(&o.Exact, "exact", false, "the same bits, no tolerance")
		f.StringVar(&o.MaxMemory, "max-memory", "80%", "`SIZE` read no more: 2GiB, 500M, 50%")
	})
	under(c.Flags(), groupOutput, func(f *pflag.FlagSet) {
		f.IntVarP(&o.Top, "top", "n", 5, "`N` elements of an array to show")
		f.StringVarP(&o.Format, "format", "f", "table", "`table|json` json has every field")
		f.BoolVarP(&o.Quiet, "quiet", "q", false, "nothing but the exit code")
	})
	return c
}

// A pair is an array that both files have, compared.
type pair struct {
	Path         string
	ShapeA       tensor.Shape
	ShapeB       tensor.Shape
	Differ       int // elements beyond the tolerance
	Changed      int // elements of other bits
	Worst        []unequal
	MaxAbs       float64
	MaxRel       float64
	MaxULP       float64
	DType        tensor.DType // float32 where both are: its numbers are counted then
	Looks        []string     // what the difference looks like
	Only         string       // "A" or "B", when the other has no such array
	NoneA, NoneB bool
	full         bool // of the worst there are as many as are to be shown
}

// An unequal is an element that is not the same in both arrays.
type unequal struct {
	Index    []int
	A, B     float64
	Abs, Rel float64
	ULP      float64
	badness  float64
	at       int // its place in the array
}

const takesDerivatives = "write nabla diff A B for two files of results; nabla grad takes derivatives"

func runDiff(o *diffOptions) error {
	if err := oneOf("format", o.Format, "table", "json"); err != nil {
		return err
	}
	if len(o.Args) != 2 {
		return usage(takesDerivatives, "diff compares two files of results, not %d", len(o.Args))
	}
	if o.Args[0] == "-" && o.Args[1] == "-" {
		return usage("", "both files are stdin: it can be read once")
	}
	for _, f := range []struct {
		name  string
		value float64
	}{{"rtol", o.RTol}, {"atol", o.ATol}, {"top", float64(o.Top)}} {
		if !(f.value >= 0) {
			return usage("", "--%s %v: it is at least 0", f.name, f.value)
		}
	}
	if o.Exact {
		o.RTol, o.ATol = 0, 0
	}
	limit, err := memory(o.MaxMemory)
	if err != nil {
		return err
	}
	var sides [2][]namedArray
	for i, file := range o.Args {
		src := &input.Source{Stdin: o.input(), Options: input.Options{MaxBytes: limit, Threads: runtime.GOMAXPROCS(0)}}
		var notes []string
		if sides[i], notes, err = readArrays(src, file); err != nil {
			return err
		}
		o.note(o.Quiet, notes)
	}
	var differ, hold []pair
	for _, c := range matched(sides[0], sides[1]) {
		if p := o.compare(c); p.bad(o.Exact) {
			differ = append(differ, p)
		} else {
			hold = append(hold, p)
		}
	}
	pairs := append(differ, hold...)
	var b strings.Builder
	if o.Format == "json" {
		diffJSON(&b, o, pairs)
	} else {
		diffTable(&b, o, pairs)
	}
	if !o.Quiet {
		if _, err := o.out.Write([]byte(b.String())); err != nil {
			return err
		}
	}
	if len(differ) > 0 {
		return &failure{code: exitNo}
	}
	return nil
}

// bad reports whether a pair does not hold.
func (p *pair) bad(exact bool) bool {
	return p.Only != "" || p.none() != "" || !p.ShapeA.Equal(p.ShapeB) || p.Differ > 0 || exact && p.Changed > 0
}

// A namedArray is a leaf of a file.
type namedArray struct {
	path string
	v    *tensor.Value
	side bool // beside what was asked for: the target's value
}

// readArrays reads a file of results.
func readArrays(src *input.Source, file string) (all []namedArray, notes []string, err error) {
	v, text, notes, err := src.Result(file)
	if err != nil {
		if e := (*input.Error)(nil); errors.As(err, &e) && errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(file, "^*()") {
			e.Hint = takesDerivatives // as diff does elsewhere
		}
		return nil, nil, err
	}
	file = input.Called(file)
	side := map[string]bool{}
	if v == nil {
		if v, side, err = resultOf(file, text); err != nil {
			return nil, nil, err
		}
	}
	v.Leaves("", func(path string, leaf *tensor.Value) {
		all = append(all, namedArray{path, leaf, side[path]})
	})
	return all, notes, nil
}

// resultOf reads a result in JSON: the payloads and values of one of nabla's, or any
// structure of numbers. Which of its leaves are values is told too.
func resultOf(file string, text []byte) (*tensor.Value, map[string]bool, error) {
	v, err := decodeResult(file, text)
	if err != nil {
		return nil, nil, err
	}
	side := map[string]bool{}
	m, _ := v.(map[string]any)
	if op, ok := m["op"].(string); ok {
		out := map[string]any{}
		add := func(prefix string, m map[string]any) {
			key := prefix
			if payload, ok := m[op]; ok {
				if record, ok := payload.(map[string]any); ok {
					for name, x := range record {
						out[tensor.Join(key, name)] = x
					}
				} else {
					out[tensor.Join(key, op)] = payload
				}
			}
			if x, ok := m["value"]; ok {
				name := tensor.Join(key, "value")
				for out[name] != nil {
					name += "'" // a source may have this name
				}
				out[name] = x
				if op != "eval" {
					side[name] = true
				}
			}
		}
		add("", m)
		if targets, ok := m["targets"].(map[string]any); ok {
			for name, t := range targets {
				if t, ok := t.(map[string]any); ok {
					add(name, t)
				}
			}
		}
		v = out
	}
	r, err := fromJSON(v)
	if err != nil {
		return nil, nil, &input.Error{File: file, Msg: err.Error()}
	}
	return r, side, nil
}

// A couple is what is compared: nil where a file has no such array.
type couple struct {
	path string
	a, b *tensor.Value
}

// matched pairs the arrays of two files by their names. If each has one, names do not
// matter; values of targets matter where both have them.
func matched(as, bs []namedArray) (all []couple) {
	plain := func(list []namedArray) (out []namedArray) {
		for _, x := range list {
			if !x.side {
				out = append(out, x)
			}
		}
		return out
	}
	unnamed := func(x namedArray) bool { return x.path == "" || x.path == "arr_0" } // of np.savez without names
	if a, b := plain(as), plain(bs); len(a) == 1 && len(b) == 1 && (a[0].path == b[0].path || unnamed(a[0]) || unnamed(b[0])) {
		name := a[0].path
		if unnamed(a[0]) {
			name = b[0].path
		}
		all = append(all, couple{name, a[0].v, b[0].v})
		as = slices.DeleteFunc(slices.Clone(as), func(x namedArray) bool { return !x.side })
		bs = slices.DeleteFunc(slices.Clone(bs), func(x namedArray) bool { return !x.side })
	}
	find := func(list []namedArray, path string) *namedArray {
		for i := range list {
			if list[i].path == path {
				return &list[i]
			}
		}
		return nil
	}
	for _, a := range as {
		switch b := find(bs, a.path); {
		case b != nil:
			all = append(all, couple{a.path, a.v, b.v})
		case !a.side:
			all = append(all, couple{a.path, a.v, nil})
		}
	}
	for _, b := range bs {
		if find(as, b.path) == nil && !b.side {
			all = append(all, couple{b.path, nil, b.v})
		}
	}
	return all
}

// compare looks at two arrays.
func (o *diffOptions) compare(c couple) (p pair) {
	p.Path = c.path
	switch {
	case c.a == nil:
		p.Only = "B"
		return p
	case c.b == nil:
		p.Only = "A"
		return p
	}
	p.NoneA, p.NoneB = c.a.Kind != tensor.KindTensor, c.b.Kind != tensor.KindTensor
	if p.NoneA || p.NoneB {
		return p
	}
	a, b := c.a.Tensor, c.b.Tensor
	p.ShapeA, p.ShapeB = a.Shape, b.Shape
	if !a.Shape.Equal(b.Shape) {
		p.Looks = o.looks(a, b)
		return p
	}
	if a.DType == tensor.Float32 && b.DType == tensor.Float32 {
		p.DType = tensor.Float32
	}
	for i, x := range a.Data {
		y := b.Data[i]
		if math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y) {
			continue
		}
		p.Changed++
		e := o.unequal(x, y, p.DType)
		if !o.near(x, y) {
			p.Differ++
		}
		p.MaxAbs, p.MaxRel, p.MaxULP = worse(p.MaxAbs, e.Abs), worse(p.MaxRel, e.Rel), worse(p.MaxULP, e.ULP)
		e.at = i
		p.keep(e, o.Top)
	}
	p.cut(o.Top)
	for k := range p.Worst {
		p.Worst[k].Index = unravel(p.Worst[k].at, a.Shape)
	}
	if p.Differ > 0 || o.Exact && p.Changed > 0 {
		p.Looks = o.looks(a, b)
	}
	return p
}

// none is the only side that has none where the other has numbers, "A" or "B"; or "".
func (p *pair) none() string {
	switch {
	case p.NoneA == p.NoneB:
		return ""
	case p.NoneA:
		return "A"
	}
	return "B"
}

// keep takes an element, which stands behind those before, among the worst, if it may be one of
// the top. They are twice as many before they are sorted: in all that takes n log n.
func (p *pair) keep(e unequal, top int) {
	if top == 0 || p.full && e.badness <= p.Worst[top-1].badness {
		return
	}
	if p.Worst = append(p.Worst, e); len(p.Worst)/2 >= top {
		p.cut(top)
	}
}

// cut leaves the top of the worst, the worst first and of equals the first.
func (p *pair) cut(top int) {
	slices.SortStableFunc(p.Worst, func(v, w unequal) int { return cmp.Compare(w.badness, v.badness) })
	p.Worst = p.Worst[:min(len(p.Worst), top)]
	p.full = len(p.Worst) == top
}

// unequal is how far apart two numbers are.
func (o *diffOptions) unequal(x, y float64, d tensor.DType) unequal {
	e := unequal{A: x, B: y, Abs: apart(x, y), ULP: ulps(x, y, d)}
	if big := max(math.Abs(x), math.Abs(y)); big > 0 && !math.IsInf(big, 0) {
		e.Rel = e.Abs / big
	} else if e.Abs > 0 || math.IsNaN(e.Abs) {
		e.Rel = math.Inf(1)
	}
	e.badness = e.Abs / (o.ATol + o.RTol*max(math.Abs(x), math.Abs(y)))
	if o.Exact {
		e.badness = e.ULP
	}
	if math.IsNaN(e.badness) {
		e.badness = math.Inf(1)
	}
	return e
}

// near reports whether two numbers are the same within the tolerance.
func (o *diffOptions) near(x, y float64) bool {
	if x == y || math.IsNaN(x) && math.IsNaN(y) {
		return true
	}
	return apart(x, y) <= o.ATol+o.RTol*max(math.Abs(x), math.Abs(y)) && !math.IsInf(x, 0) && !math.IsInf(y, 0)
}

// apart is |x - y|; NaN when one of them is NaN.
func apart(x, y float64) float64 {
	if x == y {
		return 0
	}
	return math.Abs(x - y)
}

func worse(a, b float64) float64 {
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.NaN()
	}
	return max(a, b)
}

// ulps counts the numbers of a dtype from x to y.
func ulps(x, y float64, d tensor.DType) float64 {
	if math.IsNaN(x) || math.IsNaN(y) {
		return math.NaN()
	}
	rank := func(x float64) int64 {
		n := int64(math.Float64bits(x))
		if d == tensor.Float32 { // its 32 bits, the sign where that of a float64 is
			b := math.Float32bits(float32(x))
			n = int64(uint64(b&(1<<31))<<32 | uint64(b&^(1<<31)))
		}
		if n < 0 {
			return math.MinInt64 - n
		}
		return n
	}
	a, b := rank(x), rank(y)
	if a < b {
		a, b = b, a
	}
	return float64(uint64(a) - uint64(b))
}
