package cmd

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nabla/expr/cells"
	"nabla/tape"
)

const explainLong = `
A row is an instruction: what it computes, its value, and its adjoint, which is
the derivative of the target's sum by it. Below stands why a source has none, or
0, or NaN. -v shows the stages on the way: the tree, the whole tape, the plan.
nabla ops NAME says what an instruction is, also of names that are no words of
the language.`

const explainExample = `
  $ nabla explain 'x^2 * sin(x)' --at x=3
  $ nabla explain 'stop_gradient(x) * y' --at 'x=1, y=2'
  $ nabla explain 'tanh(w @ x)' --at 'w=eye(2), x=[1,2]' -f dot | dot -Tsvg`

// explainOptions are the flags of explain.
type explainOptions struct {
	streams
	inputOptions
	engineOptions
	Args           []string
	Op             string
	With           []string
	Format         string
	Quiet, Verbose bool
}

func newExplain(s streams, row *command) *cobra.Command {
	o := &explainOptions{streams: s}
	c := base(row, func(args []string) error {
		o.Args = args
		return runExplain(o)
	})
	f := c.Flags()
	under(f, groupInput, o.inputOptions.flagsOf(row))
	under(f, groupInput, func(f *pflag.FlagSet) {
		manyVar(f, &o.With, "with", "", "`NAME=VALUE` tangents or upstream gradient")
		f.StringVar(&o.Op, "op", "grad", "`COMMAND` what is asked: grad, jacobian, hessian, …")
	})
	under(f, groupEngine, o.engineOptions.bind)
	under(f, groupOutput, func(f *pflag.FlagSet) {
		f.StringVarP(&o.Format, "format", "f", "table", "`table|json|dot` dot is for Graphviz")
		f.BoolVarP(&o.Quiet, "quiet", "q", false, "no warnings")
		f.BoolVarP(&o.Verbose, "verbose", "v", false, "the stages on the way, too")
	})
	return c
}

func runExplain(o *explainOptions) error {
	if err := oneOf("format", o.Format, "table", "json", "dot"); err != nil {
		return err
	}
	if err := o.settle(o.streams, o.Quiet); err != nil {
		return err
	}
	op, err := derivativeOf(o.Op)
	if err != nil {
		return err
	}
	prog, err := o.program(o.Args, o.streams, o.limit)
	if err != nil {
		return err
	}
	doc, _, err := o.load(o.streams, &o.engineOptions, o.With, false, o.Quiet)
	if err != nil {
		return err
	}
	q, err := o.question(op, prog, doc, &o.engineOptions, o.streams, new(needs))
	if err != nil {
		return err
	}
	if op == "grad" && len(q.Inputs) == 0 && q.Wrt == nil {
		q.Op = "eval" // nothing to differentiate by: the values alone
	}
	x, err := tape.Explain(q, o.Verbose && o.Format == "table")
	if err != nil {
		return asData(err, q)
	}
	var b strings.Builder
	switch o.Format {
	case "json":
		explainJSON(&b, x)
	case "dot":
		explainDot(&b, x)
	default:
		explainTable(&b, x, width(o.out))
		if o.Verbose {
			for _, s := range x.Stages {
				fmt.Fprintf(&b, "\n%s\n%s", s.Name, indented(s.Text))
			}
		}
	}
	_, err = o.out.Write([]byte(b.String()))
	if err != nil {
		return err
	}
	if !o.Quiet {
		warn(o.err, x.Answer, q.Prog)
	}
	o.tellWatched(o.err, x.Answer)
	o.tellStats(o.err, x.Answer)
	return nil
}

// derivativeOf is the operation that a command asks for.
func derivativeOf(command string) (op string, err error) {
	if c := find(command); slices.Contains(derivatives, c) {
		return strings.ReplaceAll(c.name, "-", "_"), nil
	}
	return "", oneOf("op", command, derivativeNames()...)
}

// derivativeNames are the commands that --op may name.
func derivativeNames() (names []string) {
	for _, c := range derivatives {
		names = append(names, c.name)
	}
	return names
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}

// formula is what an instruction computes: tanh(%3), axes and constants with it.
func formula(r *tape.ExplainRow) string {
	var args []string
	for _, a := range r.Args {
		args = append(args, "%"+strconv.Itoa(a))
	}
	if a := attributes(r); a != "" {
		args = append(args, a)
	}
	if len(args) == 0 {
		return r.Op
	}
	return r.Op + "(" + strings.Join(args, ", ") + ")"
}

// attributes are what an instruction has beside its arguments; the name of an input
// stands in a column of its own.
func attributes(r *tape.ExplainRow) string {
	a := strings.TrimSuffix(strings.TrimPrefix(r.Attr, "["), "]")
	if a == r.Name {
		return ""
	}
	return a
}

// explainTable is the tape as a table that fits the width.
func explainTable(b *strings.Builder, x *tape.Explanation, columns int) {
	rows := explainRows(x)
	wide := columnWidths(rows, cmp.Or(columns, 80))
	for _, r := range rows {
		line := ""
		for i, c := range r {
			if wide[i] > 0 {
				line += cells.Fit(c, wide[i]) + "  "
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	b.WriteString("\n" + x.Mode + "\n")
	for _, why := range x.Reasons {
		fmt.Fprintf(b, "%s has no derivative: %s\n", strings.TrimPrefix(why.Path, "."), why.Why)
	}
	for _, why := range x.Zero {
		fmt.Fprintf(b, "%s has derivative 0: %s\n", why.Path, why.Why)
	}
	for _, why := range x.NaN {
		fmt.Fprintf(b, "%s has derivative nan: %s\n", why.Path, why.Why)
	}
}

// explainRows is the table, its head first.
func explainRows(x *tape.Explanation) [][]string {
	rows := [][]string{{"", "name", "operation", "shape", "value", "adjoint", "where"}}
	for i := range x.Rows {
		r := &x.Rows[i]
		where := strings.Join(strings.Fields(r.Text), " ")
		shape := r.Shape.String()
		if shape == "()" {
			shape = ""
		}
		if r.DType != "float64" {
			shape = strings.TrimSpace(r.DType + " " + shape)
		}
		name := r.Name
		if name == where {
			where = ""
		}
		rows = append(rows, []string{"%" + strconv.Itoa(r.Ref), name, formula(r), shape, r.Value, cmp.Or(r.Adjoint, "·"), where})
	}
	return rows
}

// columnWidths is how wide the columns of the table are, so that its lines fit; a column of
// width 0 is left out.
func columnWidths(rows [][]string, columns int) (wide [7]int) {
	for _, r := range rows {
		for i, c := range r {
			wide[i] = max(wide[i], cells.Width(c))
		}
	}
	for i := range wide { // a column in which nothing stands is left out
		blank := true
		for _, r := range rows[1:] {
			blank = blank && r[i] == ""
		}
		if blank {
			wide[i] = 0
		}
	}
	limits := [7]int{6, 14, 34, 16, 28, 28, 40}
	total := func() (n int) {
		for _, w := range wide {
			if w > 0 {
				n += w + 2
			}
		}
		return n - 2
	}
	for i := range wide {
		wide[i] = min(wide[i], limits[i])
	}
	for _, shrink := range []struct{ column, least int }{{6, 8}, {2, 20}, {4, 14}, {5, 14}, {6, 0}, {2, 12}, {4, 8}, {5, 8}, {3, 6}, {1, 6}, {2, 6}, {5, 5}, {4, 5}} {
		if over := total() - columns; over > 0 {
			wide[shrink.column] = max(wide[shrink.column]-over, min(shrink.least, wide[shrink.column]))
		}
	}
	return wide
}

// explainJSON is the tape, and why sources have the derivatives they have, for programs.
func explainJSON(b *strings.Builder, x *tape.Explanation) {
	b.WriteString(`{"op":"explain","mode":`)
	jsonString(b, x.Mode)
	b.WriteString(`,"tape":[`)
	jsonList(b, len(x.Rows), func(i int) { explainRowJSON(b, &x.Rows[i]) })
	b.WriteString(`]`)
	for _, said := range []struct {
		key string
		of  []tape.Reason
	}{{"unconnected", x.Reasons}, {"zero", x.Zero}, {"nan", x.NaN}} {
		if len(said.of) == 0 {
			continue
		}
		b.WriteString(`,"` + said.key + `":{`)
		jsonList(b, len(said.of), func(i int) {
			jsonString(b, strings.TrimPrefix(said.of[i].Path, "."))
			b.WriteByte(':')
			jsonString(b, said.of[i].Why)
		})
		b.WriteByte('}')
	}
	b.WriteString("}\n")
}

// explainRowJSON is one instruction.
func explainRowJSON(b *strings.Builder, r *tape.ExplainRow) {
	fmt.Fprintf(b, `{"ref":%d,"op":`, r.Ref)
	jsonString(b, r.Op)
	b.WriteString(`,"args":[`)
	jsonList(b, len(r.Args), func(i int) { b.WriteString(strconv.Itoa(r.Args[i])) })
	b.WriteString(`],"shape":[`)
	jsonList(b, len(r.Shape), func(i int) { b.WriteString(strconv.Itoa(r.Shape[i])) })
	b.WriteByte(']')
	for _, f := range [][2]string{{"dtype", r.DType}, {"name", r.Name}, {"attributes", attributes(r)}, {"value", r.Value}, {"adjoint", r.Adjoint}, {"text", r.Text}} {
		if f[1] != "" {
			fmt.Fprintf(b, `,"%s":`, f[0])
			jsonString(b, f[1])
		}
	}
	if r.Line > 0 {
		fmt.Fprintf(b, `,"line":%d,"column":%d`, r.Line, r.Column)
	}
	b.WriteByte('}')
}

// explainDot is the tape as a graph for Graphviz.
func explainDot(b *strings.Builder, x *tape.Explanation) {
	quote := func(s string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
	}
	b.WriteString("digraph tape {\n  node [shape=box, fontname=monospace];\n")
	for i := range x.Rows {
		r := &x.Rows[i]
		label := r.Op
		if a := attributes(r); a != "" {
			label += "(" + a + ")"
		}
		if r.Name != "" {
			label = r.Name + " = " + label
		}
		label += "\n" + r.Value
		if r.Adjoint != "" {
			label += "\nadjoint " + r.Adjoint
		}
		fmt.Fprintf(b, "  %d [label=%s];\n", r.Ref, quote(label))
		for _, a := range r.Args {
			fmt.Fprintf(b, "  %d -> %d;\n", a, r.Ref)
		}
	}
	b.WriteString("}\n")
}
