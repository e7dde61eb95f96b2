package cmd

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nabla/cmd/input"
	"nabla/output"
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
	Looks        []string // what the difference looks like
	Only         string   // "A" or "B", when the other has no such array
	NoneA, NoneB bool
}

// An unequal is an element that is not the same in both arrays.
type unequal struct {
	Index    []int
	A, B     float64
	Abs, Rel float64
	ULP      float64
	badness  float64
}

func runDiff(o *diffOptions) error {
	if err := oneOf("format", o.Format, "table", "json"); err != nil {
		return err
	}
	if len(o.Args) != 2 {
		return usage("write nabla diff A B", "diff compares two files, and there are %d", len(o.Args))
	}
	if o.Args[0] == "-" && o.Args[1] == "-" {
		return usage("", "both files are stdin: it can be read once")
	}
	if !(o.RTol >= 0) || !(o.ATol >= 0) || o.Top < 0 {
		return usage("", "--rtol, --atol and --top are not negative")
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
		src := &input.Source{Stdin: o.in, Options: input.Options{MaxBytes: limit}}
		if sides[i], err = readArrays(src, file); err != nil {
			return err
		}
	}
	var pairs []pair
	for _, c := range matched(sides[0], sides[1]) {
		pairs = append(pairs, o.compare(c))
	}
	var differ, hold []pair
	for _, p := range pairs {
		if p.bad(o.Exact) {
			differ = append(differ, p)
		} else {
			hold = append(hold, p)
		}
	}
	pairs = append(differ, hold...)
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
	return p.Only != "" || p.NoneA != p.NoneB || !p.ShapeA.Equal(p.ShapeB) || p.Differ > 0 || exact && p.Changed > 0
}

// A namedArray is a leaf of a file.
type namedArray struct {
	path string
	v    *tensor.Value
	side bool // beside what was asked for: the target's value
}

// readArrays reads a file of results.
func readArrays(src *input.Source, file string) (all []namedArray, err error) {
	v, text, err := src.Result(file)
	if err != nil {
		return nil, err
	}
	side := map[string]bool{}
	if v == nil {
		if v, side, err = resultOf(file, text); err != nil {
			return nil, err
		}
	}
	v.Leaves("", func(path string, leaf *tensor.Value) {
		all = append(all, namedArray{path, leaf, side[path]})
	})
	return all, nil
}

// resultOf reads a result in JSON: the payloads and values of one of nabla's, or any
// structure of numbers. Which of its leaves are values is told too.
func resultOf(file string, text []byte) (*tensor.Value, map[string]bool, error) {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, nil, jsonProblem(file, text, 0, err)
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
						out[join(key, name)] = x
					}
				} else {
					out[join(key, op)] = payload
				}
			}
			if x, ok := m["value"]; ok {
				name := join(key, "value")
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

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
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
	if a, b := plain(as), plain(bs); len(a) == 1 && len(b) == 1 {
		name := a[0].path
		if name == "" {
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
	for i, x := range a.Data {
		y := b.Data[i]
		if math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y) {
			continue
		}
		p.Changed++
		e := unequal{A: x, B: y, Abs: apart(x, y), ULP: ulps(x, y)}
		if big := max(math.Abs(x), math.Abs(y)); big > 0 && !math.IsInf(big, 0) {
			e.Rel = e.Abs / big
		} else if e.Abs > 0 || math.IsNaN(e.Abs) {
			e.Rel = math.Inf(1)
		}
		if !o.near(x, y) {
			p.Differ++
		}
		p.MaxAbs, p.MaxRel, p.MaxULP = worse(p.MaxAbs, e.Abs), worse(p.MaxRel, e.Rel), worse(p.MaxULP, e.ULP)
		e.badness = e.Abs / (o.ATol + o.RTol*max(math.Abs(x), math.Abs(y)))
		if o.Exact {
			e.badness = e.ULP
		}
		if math.IsNaN(e.badness) {
			e.badness = math.Inf(1)
		}
		at, _ := slices.BinarySearchFunc(p.Worst, e.badness, func(w unequal, bad float64) int {
			if w.badness >= bad {
				return -1
			}
			return 1
		})
		if at < o.Top {
			e.Index = unravel(i, a.Shape)
			p.Worst = slices.Insert(p.Worst, at, e)
			p.Worst = p.Worst[:min(len(p.Worst), o.Top)]
		}
	}
	if p.Differ > 0 || o.Exact && p.Changed > 0 {
		p.Looks = o.looks(a, b)
	}
	return p
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

// ulps counts the floating-point numbers from x to y.
func ulps(x, y float64) float64 {
	if math.IsNaN(x) || math.IsNaN(y) {
		return math.NaN()
	}
	rank := func(x float64) int64 {
		n := int64(math.Float64bits(x))
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

// unravel is an offset as an index.
func unravel(i int, shape tensor.Shape) []int {
	index := make([]int, len(shape))
	for k := len(shape) - 1; k >= 0; k-- {
		index[k] = i % shape[k]
		i /= shape[k]
	}
	return index
}

// looks says what the difference looks like: the simplest change that makes one array the
// other within the tolerance, or where the elements that differ lie.
func (o *diffOptions) looks(a, b *tensor.Tensor) (all []string) {
	say := func(s string) { all = append(all, s) }
	// float32 rounding shows at any tolerance finer than it
	same := func(f func(i int) float64, y []float64) bool {
		for i := range y {
			if !o.nearly(f(i), y[i]) {
				return false
			}
		}
		return true
	}
	if len(a.Data) != len(b.Data) {
		switch {
		case len(a.Data) == 1 && len(b.Data) > 1:
			if o.nearly(a.Data[0], total(b.Data)) {
				say("A is the sum of B's elements")
			} else if o.nearly(a.Data[0], total(b.Data)/float64(len(b.Data))) {
				say("A is the mean of B's elements")
			}
		case len(b.Data) == 1 && len(a.Data) > 1:
			if o.nearly(b.Data[0], total(a.Data)) {
				say("B is the sum of A's elements")
			} else if o.nearly(b.Data[0], total(a.Data)/float64(len(a.Data))) {
				say("B is the mean of A's elements")
			}
		}
		return all
	}
	if len(a.Data) == 0 {
		return nil
	}
	plain := func(i int) float64 { return a.Data[i] }
	if a.Shape.Equal(b.Shape) {
		if same(func(i int) float64 { return float64(float32(a.Data[i])) }, b.Data) && o.Exact || sameBits(a.Data, b.Data, 1) {
			say("B is A rounded to float32")
			return all
		}
	} else if same(plain, b.Data) {
		say("the same elements in another shape")
		return all
	}
	type view struct {
		name string
		f    func(i int) float64
		ok   bool
	}
	views := []view{{"A", plain, a.Shape.Equal(b.Shape)}}
	if flipped, ok := transposed(a, b.Shape); ok {
		views = append(views, view{"A transposed", flipped, true})
	}
	for _, v := range views {
		if !v.ok {
			continue
		}
		if v.name != "A" && same(v.f, b.Data) {
			say("B is " + v.name)
			return all
		}
		if c, ok := o.factor(v.f, b.Data); ok {
			say("B is " + spoken(c, v.name, a))
			return all
		}
	}
	if len(a.Data) < 2 {
		return all
	}
	if a.Shape.Equal(b.Shape) {
		d := b.Data[0] - a.Data[0]
		if same(func(i int) float64 { return a.Data[i] + d }, b.Data) {
			say(fmt.Sprintf("B is A plus %.6g", d))
			return all
		}
	}
	x, y := slices.Clone(a.Data), slices.Clone(b.Data)
	slices.Sort(x)
	slices.Sort(y)
	if same(func(i int) float64 { return x[i] }, y) {
		say("the same numbers in another order")
		return all
	}
	if a.Shape.Equal(b.Shape) {
		if where := o.where(a, b); where != "" {
			say(where)
		}
	}
	return all
}

// nearly is near, but never asks for the same bits: a factor was rounded.
func (o *diffOptions) nearly(x, y float64) bool {
	p := *o
	p.RTol = max(p.RTol, 1e-12)
	return p.near(x, y)
}

func total(data []float64) (s float64) {
	for _, x := range data {
		s += x
	}
	return s
}

// sameBits reports whether b is a rounded to float32, and not a itself.
func sameBits(a, b []float64, least int) bool {
	changed := 0
	for i := range a {
		if float64(float32(a[i])) != b[i] && !(math.IsNaN(a[i]) && math.IsNaN(b[i])) {
			return false
		}
		if a[i] != b[i] {
			changed++
		}
	}
	return changed >= least
}

// transposed reads a matrix, or the last two axes of an array, the other way round, if that
// has the shape wanted.
func transposed(a *tensor.Tensor, want tensor.Shape) (f func(i int) float64, ok bool) {
	n := len(a.Shape)
	if n < 2 || len(want) != n || want[n-1] != a.Shape[n-2] || want[n-2] != a.Shape[n-1] || !a.Shape[:n-2].Equal(want[:n-2]) {
		return nil, false
	}
	rows, cols := a.Shape[n-2], a.Shape[n-1]
	if rows == 1 || cols == 1 {
		return nil, false
	}
	return func(i int) float64 {
		block, in := i/(rows*cols), i%(rows*cols)
		return a.Data[block*rows*cols+in%rows*cols+in/rows]
	}, true
}

// factor finds c so that b is c times f, element by element; not 1.
func (o *diffOptions) factor(f func(i int) float64, b []float64) (c float64, ok bool) {
	at, biggest := -1, 0.0
	for i := range b {
		if x := math.Abs(f(i)); x > biggest && !math.IsInf(x, 0) {
			at, biggest = i, x
		}
	}
	if at < 0 {
		return 0, false
	}
	c = b[at] / f(at)
	if c == 0 || c == 1 || math.IsNaN(c) || math.IsInf(c, 0) || len(b) == 1 && c != -1 && math.Round(c) != c && math.Round(1/c) != 1/c {
		return 0, false
	}
	for i, y := range b {
		x := c * f(i)
		// what is 0 in one is 0 in the other, whatever the tolerance
		if !o.nearly(x, y) || (x == 0) != (y == 0) && math.Abs(x-y) > 1e-12*math.Abs(c)*biggest {
			return 0, false
		}
	}
	if math.Abs(c-1) <= max(o.RTol, 1e-12) {
		return 0, false
	}
	return c, true
}

// spoken names a factor: -1, 2, 1/12 (the number of elements).
func spoken(c float64, what string, a *tensor.Tensor) string {
	whole := func(x float64) (int, bool) {
		n := math.Round(x)
		return int(n), math.Abs(x-n) < 1e-9*math.Abs(n) && math.Abs(n) >= 1 && math.Abs(n) < 1e9
	}
	size := func(n int) string {
		if n < 0 {
			n = -n
		}
		if n == len(a.Data) && n > 2 {
			return " (the number of elements: a sum against a mean?)"
		}
		for i, d := range a.Shape {
			if d == n && n > 2 {
				return fmt.Sprintf(" (the size of axis %d: a sum against a mean?)", i)
			}
		}
		return ""
	}
	if n, ok := whole(c); ok {
		if n == -1 {
			return "-" + what + ": the sign"
		}
		return strconv.Itoa(n) + " × " + what + size(n)
	}
	if n, ok := whole(1 / c); ok {
		return what + " / " + strconv.Itoa(n) + size(n)
	}
	return fmt.Sprintf("%.9g × %s", c, what)
}

// where says in which part of the array all differences lie, if they lie in one.
func (o *diffOptions) where(a, b *tensor.Tensor) string {
	n := len(a.Shape)
	diagonal, off, lower, upper := n >= 2, n >= 2, n >= 2, n >= 2
	only := make([]int, n) // the one index along each axis, or -1
	count, sign, nans := 0, true, true
	for i := range a.Data {
		if o.near(a.Data[i], b.Data[i]) && !(o.Exact && math.Float64bits(a.Data[i]) != math.Float64bits(b.Data[i])) {
			continue
		}
		index := unravel(i, a.Shape)
		for k, x := range index {
			if count == 0 {
				only[k] = x
			} else if only[k] != x {
				only[k] = -1
			}
		}
		count++
		if n >= 2 {
			r, c := index[n-2], index[n-1]
			diagonal, off = diagonal && r == c, off && r != c
			lower, upper = lower && r > c, upper && r < c
		}
		sign = sign && o.nearly(a.Data[i], -b.Data[i])
		nans = nans && (math.IsNaN(a.Data[i]) || math.IsNaN(b.Data[i]))
	}
	if count < 2 {
		return ""
	}
	what := "all that differ"
	switch {
	case nans:
		what = "all that differ are NaN on one side, and"
	case sign:
		what = "all that differ have the other sign, and"
	}
	square := n >= 2 && a.Shape[n-1] == a.Shape[n-2] && a.Shape[n-1] > 1
	switch {
	case square && diagonal:
		return what + " lie on the diagonal"
	case square && lower:
		return what + " lie below the diagonal"
	case square && upper:
		return what + " lie above the diagonal"
	case square && off && count > 2:
		return what + " lie off the diagonal"
	}
	for k, x := range only {
		if x >= 0 && a.Shape[k] > 1 && n > 1 {
			return fmt.Sprintf("%s have index %d on axis %d", what, x, k)
		}
	}
	if nans || sign {
		return strings.TrimSuffix(what, ", and")
	}
	return ""
}

// diffTable says it to people, in 80 columns.
func diffTable(b *strings.Builder, o *diffOptions, pairs []pair) {
	bad, elements, changed := 0, 0, 0
	nameA, nameB := filepath.Base(o.Args[0]), filepath.Base(o.Args[1])
	for _, name := range []*string{&nameA, &nameB} {
		if *name == "-" {
			*name = "stdin"
		}
	}
	if nameA == nameB || utf8.RuneCountInString(nameA) > 16 || utf8.RuneCountInString(nameB) > 16 {
		nameA, nameB = "A", "B"
	}
	for i := range pairs {
		p := &pairs[i]
		elements += p.ShapeA.Size()
		changed += p.Changed
		if !p.bad(o.Exact) {
			continue
		}
		bad++
		name := p.Path
		if name == "" {
			name = "the array"
		}
		switch {
		case p.Only != "":
			file := o.Args[0]
			if p.Only == "B" {
				file = o.Args[1]
			}
			fmt.Fprintf(b, "%s: only in %s\n", name, file)
			continue
		case p.NoneA != p.NoneB:
			side := "A"
			if p.NoneB {
				side = "B"
			}
			fmt.Fprintf(b, "%s: none in %s\n", name, side)
			continue
		case !p.ShapeA.Equal(p.ShapeB):
			fmt.Fprintf(b, "%s: shape %v against %v\n", name, p.ShapeA, p.ShapeB)
		default:
			n := p.Differ
			if o.Exact {
				n = p.Changed
			}
			if size := p.ShapeA.Size(); size == 1 {
				fmt.Fprintf(b, "%s differs\n", name)
			} else {
				fmt.Fprintf(b, "%s %v: %d of %d elements differ\n", name, p.ShapeA, n, size)
			}
			rows := [][]string{{"", nameA, nameB, "difference", "relative", "ulp"}}
			for _, e := range p.Worst {
				digits := 9
				if e.Rel < 1e-6 {
					digits = 17
				}
				rows = append(rows, []string{indexText(e.Index), number(e.A, digits), number(e.B, digits), size(e.Abs), size(e.Rel), size(e.ULP)})
			}
			aligned(b, rows)
		}
		for _, s := range p.Looks {
			b.WriteString("  " + s + "\n")
		}
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	if bad > 0 {
		fmt.Fprintf(b, "NOT equal: %d of %d arrays differ\n", bad, len(pairs))
		return
	}
	var all pair
	for _, p := range pairs {
		all.MaxAbs, all.MaxRel, all.MaxULP = worse(all.MaxAbs, p.MaxAbs), worse(all.MaxRel, p.MaxRel), worse(all.MaxULP, p.MaxULP)
	}
	arrays := "arrays"
	if len(pairs) == 1 {
		arrays = "array"
	}
	fmt.Fprintf(b, "equal: %d %s, %d elements", len(pairs), arrays, elements)
	if changed == 0 {
		b.WriteString(", bit for bit\n")
		return
	}
	fmt.Fprintf(b, "; %d within the tolerance:\n  at most %s apart, %s relative, %s ulp\n", changed, size(all.MaxAbs), size(all.MaxRel), size(all.MaxULP))
}

func indexText(index []int) string {
	if len(index) == 0 {
		return ""
	}
	return strings.ReplaceAll(strings.TrimSuffix(fmt.Sprint(index), ""), " ", ",")
}

// aligned writes rows in columns: the first to the left, the others to the right.
func aligned(b *strings.Builder, rows [][]string) {
	wide := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			wide[i] = max(wide[i], utf8.RuneCountInString(c))
		}
	}
	for _, r := range rows {
		line := "  " + r[0] + strings.Repeat(" ", wide[0]-utf8.RuneCountInString(r[0]))
		for i, c := range r[1:] {
			line += "  " + strings.Repeat(" ", wide[i+1]-utf8.RuneCountInString(c)) + c
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// diffJSON says it to programs.
func diffJSON(b *strings.Builder, o *diffOptions, pairs []pair) {
	num := func(x float64) any {
		switch {
		case math.IsNaN(x):
			return "NaN"
		case math.IsInf(x, 1):
			return "Infinity"
		case math.IsInf(x, -1):
			return "-Infinity"
		}
		return json.RawMessage(output.Text(x, tensor.Float64, 17))
	}
	type elem struct {
		Index      []int `json:"index"`
		A          any   `json:"a"`
		B          any   `json:"b"`
		Difference any   `json:"difference"`
		Relative   any   `json:"relative"`
		ULP        any   `json:"ulp"`
	}
	type array struct {
		Name    string   `json:"name"`
		Equal   bool     `json:"equal"`
		Only    string   `json:"only,omitempty"`
		ShapeA  []int    `json:"shape_a,omitempty"`
		ShapeB  []int    `json:"shape_b,omitempty"`
		Differ  int      `json:"differ"`
		Changed int      `json:"changed"`
		MaxAbs  any      `json:"max_difference"`
		MaxRel  any      `json:"max_relative"`
		MaxULP  any      `json:"max_ulp"`
		Worst   []elem   `json:"worst,omitempty"`
		Looks   []string `json:"looks_like,omitempty"`
	}
	out := struct {
		Equal  bool    `json:"equal"`
		RTol   any     `json:"rtol"`
		ATol   any     `json:"atol"`
		Arrays []array `json:"arrays"`
	}{true, num(o.RTol), num(o.ATol), []array{}}
	for i := range pairs {
		p := &pairs[i]
		x := array{Name: p.Path, Equal: !p.bad(o.Exact), Only: p.Only, ShapeA: p.ShapeA, ShapeB: p.ShapeB, Differ: p.Differ, Changed: p.Changed,
			MaxAbs: num(p.MaxAbs), MaxRel: num(p.MaxRel), MaxULP: num(p.MaxULP), Looks: p.Looks}
		for _, e := range p.Worst {
			x.Worst = append(x.Worst, elem{append([]int{}, e.Index...), num(e.A), num(e.B), num(e.Abs), num(e.Rel), num(e.ULP)})
		}
		out.Equal = out.Equal && x.Equal
		out.Arrays = append(out.Arrays, x)
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err) // numbers and strings
	}
	b.Write(append(text, '\n'))
}
