package cmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"nabla/expr"
	"nabla/expr/cells"
	"nabla/output"
	"nabla/tape/tensor"
)

// diffTable says it to people, in 80 columns or what the terminal has.
func diffTable(b *strings.Builder, o *diffOptions, pairs []pair) {
	bad, elements, changed := 0, 0, 0
	nameA, nameB := filepath.Base(o.Args[0]), filepath.Base(o.Args[1])
	for _, name := range []*string{&nameA, &nameB} {
		if *name == "-" {
			*name = "stdin"
		}
	}
	if nameA == nameB || cells.Width(nameA) > 16 || cells.Width(nameB) > 16 {
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
		pairTable(b, o, p, nameA, nameB)
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
	fmt.Fprintf(b, "equal: %s, %s", expr.Plural(len(pairs), "array"), expr.Plural(elements, "element"))
	if changed == 0 {
		b.WriteString(", bit for bit\n")
		return
	}
	fmt.Fprintf(b, "; %d within the tolerance:\n  at most %s apart, %s relative, %s ulp\n", changed, size(all.MaxAbs), size(all.MaxRel), size(all.MaxULP))
}

// pairTable says how two arrays differ: the elements that are worst off in columns of these
// names, and what it looks like.
func pairTable(b *strings.Builder, o *diffOptions, p *pair, nameA, nameB string) {
	name := cmp.Or(p.Path, "the array")
	switch {
	case p.Only != "":
		file := o.Args[0]
		if p.Only == "B" {
			file = o.Args[1]
		}
		fmt.Fprintf(b, "%s: only in %s\n", name, file)
		return
	case p.none() != "":
		fmt.Fprintf(b, "%s: none in %s\n", name, p.none())
		return
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
			b.WriteString(folded(fmt.Sprintf("%s %v: %d of %d elements differ", name, p.ShapeA, n, size), 0, width(o.out)) + "\n")
		}
		rows := [][]string{{"", nameA, nameB, "difference", "relative", "ulp"}}
		for _, e := range p.Worst {
			digits := 9
			if e.Rel < 1e-6 {
				digits = 17
			}
			rows = append(rows, []string{subscript(e.Index), output.Text(e.A, p.DType, digits), output.Text(e.B, p.DType, digits), size(e.Abs), size(e.Rel), size(e.ULP)})
		}
		if len(p.Worst) == 0 { // --top 0
			break
		}
		for _, line := range aligned(fitting(rows, width(o.out), 0)) {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	for _, s := range p.Looks {
		b.WriteString("  " + folded(s, 2, width(o.out)) + "\n")
	}
}

// diffJSON says it to programs.
func diffJSON(b *strings.Builder, o *diffOptions, pairs []pair) {
	num := func(x float64) any { return json.RawMessage(output.AppendJSONNumber(nil, x, tensor.Float64)) }
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
		None    string   `json:"none,omitempty"`
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
		x := array{Name: p.Path, Equal: !p.bad(o.Exact), Only: p.Only, None: p.none(), ShapeA: p.ShapeA, ShapeB: p.ShapeB, Differ: p.Differ, Changed: p.Changed,
			MaxAbs: num(p.MaxAbs), MaxRel: num(p.MaxRel), MaxULP: num(p.MaxULP), Looks: p.Looks}
		stored := func(x float64) any { return json.RawMessage(output.AppendJSONNumber(nil, x, p.DType)) }
		for _, e := range p.Worst {
			x.Worst = append(x.Worst, elem{append([]int{}, e.Index...), stored(e.A), stored(e.B), num(e.Abs), num(e.Rel), num(e.ULP)})
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
