package cmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nabla/expr"
	"nabla/expr/cells"
	"nabla/output"
	"nabla/tape"
)

const opsLong = `
An operation's derivative is the textbook formula in nabla's own language; out
is the result. What is not differentiable says so.`

const opsExample = `
  $ nabla ops
  $ nabla ops tanh
  $ nabla ops -f json`

// opsOptions are the flags of ops.
type opsOptions struct {
	streams
	Args   []string
	Format string
}

func newOps(s streams, row *command) *cobra.Command {
	o := &opsOptions{streams: s}
	c := base(row, func(args []string) error {
		o.Args = args
		return runOps(o)
	})
	under(c.Flags(), groupOutput, func(f *pflag.FlagSet) {
		f.StringVarP(&o.Format, "format", "f", "table", "`table|json` json has every field")
	})
	return c
}

func runOps(o *opsOptions) error {
	if err := oneOf("format", o.Format, "table", "json"); err != nil {
		return err
	}
	var b strings.Builder
	ops := tape.All()
	if len(o.Args) > 0 {
		ops = nil
		for _, name := range o.Args {
			if i := strings.IndexByte(name, '('); i > 0 {
				name = name[:i]
			}
			op, ok := tape.Lookup(name)
			if !ok {
				op, ok = tape.Operator(name)
			}
			if ok {
				ops = append(ops, op)
				continue
			}
			text := besideOps(name)
			if text == "" {
				return unknownOp(name)
			}
			if o.Format == "table" {
				b.WriteString(text)
			}
		}
	}
	switch {
	case o.Format == "json":
		if err := jsonOps(&b, ops); err != nil {
			return err
		}
	case len(o.Args) > 0:
		for i, op := range ops {
			if i > 0 {
				b.WriteByte('\n')
			}
			oneOp(&b, op)
		}
	default:
		listOps(&b, ops)
	}
	_, err := o.out.Write([]byte(b.String()))
	return err
}

// besideOps is what there is to say about a name that stands in explain, or in programs, and is not
// an operation of theirs; "" of others.
func besideOps(name string) string {
	for _, f := range tape.Forms() {
		if f.Name == name {
			return wrapped(f.Name+"("+f.Args+"): "+f.Doc, 4) + "\n"
		}
	}
	op, ok := tape.Inner(name)
	if !ok {
		return ""
	}
	use := "a step of the tape, as explain shows it, and no word of the language"
	if write := expr.Foreign(name); write != "" {
		use += ": " + write
	}
	return wrapped(op.Signature()+": "+op.Doc, 4) + "\n" + "  " + wrapped(use, 4) + "\n"
}

// isOp reports whether ops knows a name.
func isOp(name string) bool {
	_, ok := tape.Lookup(name)
	return ok || slices.ContainsFunc(tape.Forms(), func(f tape.FormDoc) bool { return f.Name == name })
}

// unknownOp is the error of an operation that is not there, with what may have been meant.
func unknownOp(name string) error {
	hint := "nabla ops lists them all"
	like := opsLike(name)
	begun := slices.ContainsFunc(like, func(n string) bool { return strings.HasPrefix(n, name) })
	if write := expr.Foreign(name); write != "" {
		hint = write
	} else if expr.Keyword(name) {
		hint = "it is a word of the language: nabla help syntax"
	} else if len(like) == 1 {
		hint = "there is " + like[0]
	} else if near := expr.Nearest(name, callable()); near != "" && !begun {
		hint = "did you mean " + near + "?"
	} else if len(like) > 0 {
		hint = "there are " + expr.Some(like)
	}
	return &expr.Error{Kind: "name", Msg: "unknown operation " + name, Hint: hint, Mark: expr.NoPos}
}

// opsLike are the operations that have a word in their names, or else in what is said of
// them, as ops * and ops conv ask for.
func opsLike(word string) (names []string) {
	for _, n := range callable() {
		if len(word) > 1 && strings.Contains(n, strings.ToLower(word)) {
			names = append(names, n)
		}
	}
	if len(names) > 0 {
		return names
	}
	for _, op := range tape.All() {
		if strings.Contains(op.Doc, "x "+word+" y") || len(word) > 2 && slices.Contains(strings.Fields(op.Doc+" "+op.Group()), strings.ToLower(word)) {
			names = append(names, op.Name)
		}
	}
	return names
}

// listOps is every operation on a line of 80 columns, under the heading of its group.
func listOps(b *strings.Builder, ops []*tape.Op) {
	var groups []string
	by := map[string][]*tape.Op{}
	for _, op := range ops {
		if by[op.Group()] == nil {
			groups = append(groups, op.Group())
		}
		by[op.Group()] = append(by[op.Group()], op)
	}
	line := func(left, doc string) {
		const indent = 30
		fmt.Fprintf(b, "  %-*s", indent-2, left)
		if cells.Width(left) > indent-3 {
			b.WriteString("\n" + strings.Repeat(" ", indent))
		}
		b.WriteString(wrapped(doc, indent) + "\n")
	}
	for i, g := range groups {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(g + "\n")
		for _, op := range by[g] {
			line(op.Signature(), op.Doc)
		}
	}
	b.WriteString("\nderivatives, functions and loops\n")
	for _, f := range tape.Forms() {
		line(f.Name+"("+f.Args+")", f.Doc)
	}
	b.WriteString("\nnabla ops NAME has the derivative and the behaviour at kinks.\n")
}

// wrapped is a text in lines that end at column 80, all but the first indented.
func wrapped(text string, indent int) string { return folded(text, indent, 80) }

// parameters are the names of an operation's arguments.
func parameters(op *tape.Op) (names []string) {
	for _, p := range strings.Split(op.Args, ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(p), "=")
		names = append(names, strings.TrimLeft(name, "*#"))
	}
	return names
}

// stops says why no derivative passes an operation at all, or "".
func stops(op *tape.Op) string {
	switch {
	case op.Stops != "":
		return op.Stops
	case op.NoRule:
		return "no gradient is registered: gradient " + op.Name + "(…; g) = … registers one"
	}
	return ""
}

// oneOp is all there is to say about an operation.
func oneOp(b *strings.Builder, op *tape.Op) {
	b.WriteString(wrapped(op.Signature()+": "+op.Doc, 4) + "\n")
	indent := 14
	for _, k := range op.Kinks {
		indent = max(indent, len("where "+k.When)+4)
	}
	for _, th := range op.Theirs() {
		indent = max(indent, len("in "+strings.Join(th.In, ", "))+4)
	}
	field := func(name, text string) {
		fmt.Fprintf(b, "  %-*s%s\n", indent-2, name, wrapped(text, indent))
	}
	if len(op.Alias) > 0 {
		field("also", strings.Join(op.Alias, ", "))
	}
	if op.Body != "" {
		field("is", op.Body)
	}
	partials(op, field)
	if ulp, ok := op.Ulp(); ok {
		field("accuracy", fmt.Sprintf("within %v ulp (measured)", ulp))
	}
	for _, k := range op.Kinks {
		field("where "+k.When, k.Say)
	}
	if op.Note != "" {
		field("note", op.Note)
	}
	for _, th := range op.Theirs() {
		if th.Says != "" {
			field("in "+strings.Join(th.In, ", "), th.Says)
		}
	}
}

// partials gives the derivative of an operation by each of its arguments to field, as the table of
// operations has it.
func partials(op *tape.Op, field func(name, text string)) {
	names := parameters(op)
	switch {
	case stops(op) != "":
		field("derivative", stops(op))
	case op.Grad != nil && op.Says == nil:
		for i, g := range op.Grad[:min(len(op.Grad), len(names))] {
			g = cmp.Or(g, "none")
			field("d/d"+names[i], g)
			for _, term := range tape.Terms(g) {
				field("", term)
			}
		}
	case op.Body != "":
		field("derivative", "that of what it is")
	case op.Says != nil:
		for i, say := range op.Says {
			field("d/d"+names[i], say)
		}
	default:
		field("derivative", "structural: a rule of the tape")
	}
}

// An opObject is an operation as the listing in JSON has it.
type opObject struct {
	Name        string       `json:"name"`
	Signature   string       `json:"signature"`
	Group       string       `json:"group"`
	Doc         string       `json:"doc"`
	Aliases     []string     `json:"aliases,omitempty"`
	Derivative  members      `json:"derivative,omitempty"` // by parameter
	Body        string       `json:"body,omitempty"`
	Accuracy    *float64     `json:"accuracy_ulp,omitempty"` // the largest measured error
	Stops       string       `json:"stops,omitempty"`
	Note        string       `json:"note,omitempty"`
	Conventions members      `json:"conventions,omitempty"` // by library
	Kinks       []kinkObject `json:"kinks,omitempty"`
}

type kinkObject struct {
	When string `json:"when"`
	Say  string `json:"say"`
}

// members are names and texts in their order; what is empty is null.
type members [][2]string

func (m members) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, f := range m {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(output.AppendString(b, f[0]), ':')
		if f[1] == "" {
			b = append(b, "null"...)
		} else {
			b = output.AppendString(b, f[1])
		}
	}
	return append(b, '}'), nil
}

// jsonOps lists operations for programs.
func jsonOps(b *strings.Builder, ops []*tape.Op) error {
	list := make([]opObject, len(ops))
	for i, op := range ops {
		o := opObject{Name: op.Name, Signature: op.Signature(), Group: op.Group(), Doc: op.Doc, Aliases: op.Alias, Body: op.Body, Stops: stops(op), Note: op.Note}
		if ulp, ok := op.Ulp(); ok {
			o.Accuracy = &ulp
		}
		partials := op.Says
		if partials == nil {
			partials = op.Grad
		}
		if o.Stops == "" {
			names := parameters(op)
			for j, g := range partials[:min(len(partials), len(names))] {
				o.Derivative = append(o.Derivative, [2]string{names[j], g})
			}
		}
		for _, th := range op.Theirs() {
			for _, in := range th.In {
				if th.Says != "" {
					o.Conventions = append(o.Conventions, [2]string{in, th.Says})
				}
			}
		}
		for _, k := range op.Kinks {
			o.Kinks = append(o.Kinks, kinkObject{k.When, k.Say})
		}
		list[i] = o
	}
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	return e.Encode(list)
}
