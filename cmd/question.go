package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"nabla/cmd/input"
	"nabla/expr"
	"nabla/tape"
)

// load reads the data, and tells what there is to note about it.
func (o *inputOptions) load(s streams, engine *engineOptions, with []string, each, quiet bool) (*input.Document, *input.Source, error) {
	src := &input.Source{
		In: o.In, At: o.At, Const: o.Const, With: with, Each: each,
		Stdin: s.in, Eval: engine.constant, Options: input.Options{MaxBytes: engine.limit},
	}
	if slices.Contains(o.Program, "-") {
		src.Reader = "-p -"
	}
	if slices.Contains(o.In, "-") && terminal(s.in) {
		io.WriteString(s.err, "nabla: reading from the terminal; an empty line and ctrl-D end it\n")
	}
	doc, err := src.Load()
	if err == nil {
		s.note(quiet, doc.Notes)
	}
	return doc, src, err
}

// note prints what there is to note, unless quiet.
func (s *streams) note(quiet bool, notes []string) {
	if quiet {
		return
	}
	for _, n := range notes {
		fmt.Fprintln(s.err, "nabla: note: "+n)
	}
}

// program reads the program, from wherever it stands. Without one it is nil: the document
// may have it.
func (o *inputOptions) program(args []string, s streams, limit int64) (*expr.Program, error) {
	type text struct{ name, text, where string }
	var found []text
	for _, a := range args {
		found = append(found, text{"", a, "the argument " + quoted(a)})
	}
	for _, e := range o.Expr {
		found = append(found, text{"", e, "-e " + quoted(e)})
	}
	for _, name := range o.Program {
		b, err := readProgram(name, s.in, limit)
		if err != nil {
			return nil, err
		}
		found = append(found, text{input.Called(name), string(b), "-p " + name})
	}
	switch {
	case len(found) == 0:
		return nil, nil
	case len(found) > 1:
		for _, text := range slices.Concat(o.At, o.Const) {
			if _, err := input.SplitAssignments(text); err != nil && strings.IndexByte(text+"=", '=') >= len(text)-1 {
				return nil, usage("write NAME=VALUE in one word, such as --at x=3", "--at: %s is no assignment", quoted(text))
			}
		}
		return nil, usage(o.manyWords(args), "two programs: %s and %s", found[0].where, found[1].where)
	}
	p, err := expr.Parse(found[0].name, found[0].text)
	if e := (*expr.Error)(nil); errors.As(err, &e) {
		if strings.TrimSpace(e.Prog.Text) == "" && e.Prog.Name == "" {
			e.Hint = "is a variable of the shell empty?"
			if e.Prog.Text == "" { // nothing cannot be shown, but its quotes can
				e.Prog = &expr.Program{Text: "''"}
			}
		}
		e.Hint = cmp.Or(fileHint(e.Prog), commandHint(e), e.Hint)
	}
	return p, err
}

// commandHint is what to write where a command stands inside the quotes, as in 'grad x^2', and
// what follows it was no operator; or "".
func commandHint(e *expr.Error) string {
	word, rest, ok := strings.Cut(e.Prog.Text, " ")
	if row := find(word); !ok || row == nil || !strings.HasPrefix(row.args, "EXPR") || int(e.Mark) != len(word)+1 || strings.Contains(rest, "\n") {
		return ""
	}
	return "a command stands outside the quotes: nabla " + word + " " + quoted(rest)
}

// manyWords is the hint where several words stand as programs: a flag that is none here, a
// value without --at, or no quotes.
func (o *inputOptions) manyWords(args []string) string {
	has := func(command, flag string) bool {
		c := find(command)
		return len(flag) == 2 && flag[0] == '-' && c.new(streams{}, c).Flags().ShorthandLookup(flag[1:]) != nil
	}
	for _, a := range args {
		if has(o.command, a) {
			return "behind a word -- nothing is a flag: put " + a + " before it"
		}
	}
	for i, a := range args {
		if find(a) != nil {
			return "a command stands once, and in front: nabla " + a + " EXPR; grad(grad(y, x), x) and --order 2 take a second derivative"
		}
		bare := strings.TrimLeft(a, "-")
		flag, file := len(bare) < len(a) && bare != "", ""
		if i > 0 {
			file = fileHint(&expr.Program{Text: strings.TrimPrefix(a, "@")})
		}
		switch list, err := input.SplitAssignments(bare); {
		case has("grad", a) && a == "-o":
			return "nabla " + o.command + " has no flag -o; > FILE writes what it prints"
		case has("grad", a):
			return "nabla " + o.command + " has no flag " + a
		case flag && i > 0 && i+1 < len(args) && isNumber(args[i+1]) && reads(args[0], bare): // -x 3
			return "a value is given with --at " + bare + "=" + args[i+1]
		case flag && strings.Trim(bare, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == "":
			return "there is no flag " + a + "; nabla " + o.command + " --help lists them"
		case i > 0 && len(o.Wrt) > 0 && reads(args[0], a) && !strings.ContainsAny(a, "=("):
			return "names are separated by commas: --wrt " + strings.Join(append(slices.Clone(o.Wrt), a), ",")
		case i > 0 && slices.Contains([]string{"wrt", "w.r.t.", "by", "over"}, a):
			return "--wrt x names what to differentiate by"
		case file != "":
			return file
		case err == nil && !strings.ContainsAny(list[0].Text, ";\n"):
			return "values are given with --at: --at " + quoted(bare)
		case i > 0 && isNumber(a):
			return "a value is given with its name: --at x=" + a
		}
	}
	if len(args) < 2 {
		return "leave one of them out"
	}
	return "an expression is one word for the shell: quote it"
}

// reads reports whether a text is a program that reads a name.
func reads(text, name string) bool {
	p, err := expr.Parse("", text)
	return err == nil && slices.Contains(expr.FreeNames(p), name)
}

// isNumber reports whether a word is a number as it is typed.
func isNumber(word string) bool {
	_, err := strconv.ParseFloat(word, 64)
	return err == nil
}

// fileHint is how to read the file whose name stands where a program should, or "".
func fileHint(p *expr.Program) string {
	if p == nil || p.Name != "" || len(p.Text) > 1000 || strings.ContainsAny(p.Text, "\x00\n ") {
		return ""
	}
	if p.Text == "-" {
		return "-p - reads a program from stdin, -i - a document"
	}
	if _, err := os.Stat(p.Text); err != nil && !strings.HasSuffix(p.Text, ".nabla") {
		return ""
	}
	switch filepath.Ext(p.Text) {

	case ".nabla":
		return "a program in a file is read with -p " + p.Text
	case ".json", ".ndjson", ".npz":
		return "values in a file are read with -i " + p.Text
	case ".npy", ".csv", ".tsv", ".txt":
		return "a value in a file is read with --at x=@" + p.Text
	}
	return ""
}

// maxProgram is longer than any program that a person or a generator of programs means.
// Its tree takes up to perByte times the memory of its text: what does not fit into the
// limit is refused before it is read.
const (
	maxProgram = 256 << 20
	perByte    = 96
)

func readProgram(name string, in io.Reader, limit int64) ([]byte, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, input.FileError(name, err)
		}
		defer f.Close()
		in = f
	}
	most := min(maxProgram, limit/perByte)
	b, err := io.ReadAll(io.LimitReader(in, most+1))
	switch long := err == nil && int64(len(b)) > most; {
	case long && most < maxProgram:
		return nil, &input.Error{File: input.Called(name), Msg: "the program is longer than " + tape.Bytes(float64(most)) + ", more than fits into the limit of " + tape.Bytes(float64(limit)),
			Hint: "--max-memory raises the limit", Err: &failure{code: exitRun}}
	case long:
		err = errors.New("the program is longer than " + tape.Bytes(maxProgram))
	}
	if err != nil {
		return nil, &input.Error{File: input.Called(name), Msg: plainCause(err), Err: err}
	}
	return b, nil
}

// quoted shows a piece of the command line, cut when it is long.
func quoted(s string) string {
	if r := []rune(s); len(r) > 30 {
		s = string(r[:29]) + "…"
	}
	return "'" + s + "'"
}

// question puts program, data and flags together.
func (o *inputOptions) question(op string, prog *expr.Program, doc *input.Document, engine *engineOptions, s streams, need *needs) (*tape.Question, error) {
	q := &tape.Question{
		Prog: prog, Op: op, Wrt: names(o.Wrt), Of: names(o.Of), With: doc.With,
		Zero: o.Unconnected == "zero", NoWatch: o.NoWatch, Watch: names(o.Watch),
		DType: engine.dtype, Seed: engine.Seed, Limit: engine.limit, Threads: engine.Threads,
		Deadline: engine.deadline, Stop: s.stop,
	}
	if engine.Conventions != "default" {
		q.Conventions = engine.Conventions
	}
	if engine.Mode != "auto" {
		q.Mode = engine.Mode
	}
	if prog == nil && !doc.HasExpr {
		return nil, usage("write nabla "+o.command+" 'x^2' --at x=3; help input has more", "no expression")
	}
	if doc.HasExpr {
		if prog != nil {
			return nil, usage("leave out one of them", "two programs: the one of the command line and \"expr\" in %s", doc.Name)
		}
		var err error
		if q.Prog, err = expr.Parse("", doc.Expr); err != nil {
			return nil, err
		}
	}
	for _, list := range []struct {
		flag string
		to   *[]string
		doc  []string
	}{{"wrt", &q.Wrt, doc.Wrt}, {"of", &q.Of, doc.Of}} {
		if list.doc == nil {
			continue
		}
		if len(*list.to) > 0 {
			return nil, usage("", "--%s is given twice: by the flag and by \"%s\" in %s", list.flag, list.flag, doc.Name)
		}
		*list.to = list.doc
	}
	for i := range doc.Vars {
		q.Inputs = append(q.Inputs, asInput(&doc.Vars[i]))
	}
	for _, name := range q.Watch {
		if _, ok := input.Resolve(doc.Vars, name); !ok {
			return nil, usage(orAll(name, inputNames(doc)), "--watch %s: there is no such input", name)
		}
	}
	need.survey(q.Prog)
	if err := need.missing(doc); err != nil {
		if e := (*tape.Error)(nil); errors.As(err, &e) && len(o.In) == 0 && piped(s.in) && strings.HasPrefix(e.At.Hint, "--at ") {
			e.At.Hint += "; -i - reads a document from stdin"
		}
		return nil, err
	}
	return q, need.assignsOnly(doc)
}

// piped reports whether something stands on stdin that nobody has asked for.
func piped(in any) bool {
	f := file(in)
	if f == nil {
		return false
	}
	info, err := f.Stat()
	return err == nil && (info.Mode()&os.ModeNamedPipe != 0 || info.Mode().IsRegular() && info.Size() > 0)
}

func asInput(v *input.Variable) tape.Input {
	return tape.Input{Name: v.Name, Value: v.Value, Const: v.Const, From: v.From}
}

func inputNames(doc *input.Document) (names []string) {
	for _, v := range doc.Vars {
		names = append(names, v.Name)
	}
	return names
}

// orAll is the hint for a name that is none of some: the one it misspells, or all of them.
func orAll(name string, have []string) string {
	if hint := expr.DidYouMean(name, have); hint != "" || len(have) == 0 {
		return hint
	}
	return "there are " + expr.Some(have)
}

// needs are what a program wants from outside, found once for all its documents.
type needs struct {
	prog   *expr.Program
	inputs []string   // the names that it reads and the language has no meaning for
	number *expr.Bind // the statement, if there is one alone and it binds a number
}

func (n *needs) survey(p *expr.Program) {
	if n.prog == p {
		return
	}
	*n = needs{prog: p}
	for _, name := range expr.Needed(p) {
		// what is a constant or an operation too may be an input still
		if !tape.Known(name) {
			n.inputs = append(n.inputs, name)
		}
	}
	if len(p.Stmts) == 1 && len(n.inputs) == 0 {
		b, ok := p.Stmts[0].(*expr.Bind)
		if ok && b.Op == expr.Assign && len(b.Targets) == 1 && len(expr.Callees(p)) == 0 {
			n.number = b
		}
	}
}

// missing reports the inputs of a program that have no value. What looks like another
// name, misspelt, is a mistake in the program; the rest is missing data.
func (n *needs) missing(doc *input.Document) error {
	p := n.prog
	var lack []string
	for _, name := range n.inputs {
		if !given(doc, name) {
			lack = append(lack, name)
		}
	}
	if len(lack) == 0 {
		return nil
	}
	have := inputNames(doc)
	for _, name := range expr.Callees(p) {
		if !given(doc, name) && !tape.Known(name) {
			e := unknownName(p, name, callable())
			e.Msg = "unknown function " + expr.Brief(name)
			if assigned(p, name) {
				e.Hint = "a function is bound by =: write " + name + " = …"
			} else if hint := expr.Foreign(name); hint != "" {
				e.Hint = hint
			} else if strings.Contains(p.Text, "d/"+name) && len(name) > 1 && name[0] == 'd' {
				e.Hint = "the derivative of y by " + name[1:] + " is written grad(y, " + name[1:] + ")"
			} else if near := expr.Nearest(name, callable()); near != "" {
				e.Hint = "did you mean " + near + "?"
			} else {
				e.Hint = "nabla ops lists every operation"
			}
			return e
		}
	}
	for i, name := range lack {
		for _, g := range have {
			switch {
			case strings.EqualFold(g, name):
				return noValue(p, []string{name}, name+" has no value: the input is called "+g, "upper and lower case differ: did you mean "+g+"?")
			case latin(g) == latin(name):
				return noValue(p, []string{name}, name+" has no value: the input "+g+" looks like it, and has other letters",
					fmt.Sprintf("%s is %+q, the input %+q: type one of them anew", name, name, g))
			}
		}
		if e := asModule(p, name); e != nil {
			return e
		}
		for j, other := range append(slices.Clone(have), lack[:i]...) {
			if misspelt(name, other, j < len(have)) && unspeakable(doc, p) == "" && !strings.ContainsAny(other, unspoken) {
				return unknownName(p, name, []string{other})
			}
		}
	}
	hint := cmp.Or(fileHint(p), unspeakable(doc, p))
	if len(lack) > 1 {
		if len(lack) > 10 {
			return noValue(p, lack, expr.Some(lack)+" have no value", "-i FILE reads them from a document")
		}
		msg := strings.Join(lack[:len(lack)-1], ", ") + " and " + lack[len(lack)-1] + " have no value"
		if hint == "" {
			hint = "--at '" + strings.Join(lack, "=…, ") + "=…'"
			if x := strings.TrimRight(lack[0], "_0123456789"); x != lack[0] && slices.Contains(have, x) {
				hint += "; the elements of " + x + " are " + x + "[0], " + x + "[1]"
			}
			for _, name := range lack {
				if h := elsewhere(p, name); h != "" {
					hint += "; " + h
					break
				}
			}
		}
		if y, x := lack[0], lack[1]; y[0] == 'd' && x[0] == 'd' && strings.Contains(p.Text, y+"/"+x) {
			hint += "; the derivative of y by x is written grad(y, x)"
		}
		return noValue(p, lack, msg, hint)
	}
	if hint != "" {
		return noValue(p, lack, expr.Brief(lack[0])+" has no value", hint)
	}
	hint = "--at " + expr.Brief(lack[0]) + "=…"
	used := expr.FreeNames(p)
	unused := slices.DeleteFunc(slices.Clone(have), func(n string) bool { return slices.Contains(used, n) })
	if near := expr.Suggest(lack[0], unused); near != "" {
		hint = "the input " + near + " is not used: did you mean " + lack[0] + " by it?"
	} else if _, err := os.Stat(lack[0]); err == nil && strings.TrimSpace(p.Text) == lack[0] {
		hint = "a file of this name is here: did the shell expand a *? Quote the expression"
	} else if strings.Contains(p.Text, lack[0]+" <- ") {
		hint += "; a name is bound by =: " + lack[0] + " = …"
	} else if h := cmp.Or(elsewhere(p, lack[0]), joined(lack[0], have)); h != "" {
		hint += "; " + h
	} else if near := expr.Suggest(lack[0], callable()); near != "" && len(lack[0]) > 2 {
		hint += "; or did you mean the function " + near + "?"
	} else if expr.Binds(p, lack[0]) && !assigned(p, lack[0]) {
		hint += "; or move what binds it in front of what uses it"
	} else if assigned(p, lack[0]) {
		hint += "; or begin with " + lack[0] + " = 0 in the program"
	} else if read := readNames(doc, unused); len(read) > 0 {
		hint += "; given and not used: " + expr.Some(read)
	}
	return noValue(p, lack, expr.Brief(lack[0])+" has no value", hint)
}

// elsewhere is what to write for a name that means something in other languages, or "".
func elsewhere(p *expr.Program, name string) string {
	known := strings.ToLower(name)
	switch write := expr.Foreign(name); {
	case name == "T" && strings.Contains(p.Text, "^T"):
		return "a transpose is written x.T"
	case known != name && slices.Contains(constantNames, known):
		return "the constant is written " + known
	case known == "infinity":
		return "the constant is written inf"
	case derivative(name):
		return "the derivative of y by x is written grad(y, x)"
	case strings.HasSuffix(name, "ᵀ"):
		return "a transpose is written " + strings.TrimSuffix(name, "ᵀ") + ".T"
	case strings.TrimRight(name, "ⁿˣʸᵏᵐⁱʲᵗ") != name:
		base := strings.TrimRight(name, "ⁿˣʸᵏᵐⁱʲᵗ")
		power := strings.NewReplacer("ⁿ", "n", "ˣ", "x", "ʸ", "y", "ᵏ", "k", "ᵐ", "m", "ⁱ", "i", "ʲ", "j", "ᵗ", "t").Replace(name[len(base):])
		return "a power is written " + base + "^" + power
	case name == "ℯ" || name == "ℇ":
		return "the constant is written e"
	case tape.Known(known) && indexed(p, name):
		return "a call is written " + known + "(…)"
	case write != "" && (len(name) > 2 || name == "im" || name == "oo" || indexed(p, name)):
		return "for the " + name + " of other languages: " + write
	case (name == "i" || name == "j") && strings.Contains(p.Text, "("+name+"*"): // exp(i*x)
		return "there are no complex numbers"
	}
	return ""
}

// derivative reports whether a name is that of a derivative: dydx, dy_dx, d2f_dx2.
func derivative(name string) bool {
	s := strings.NewReplacer("2", "", "_", "").Replace(name)
	return len(s) == 4 && s[0] == 'd' && s[2] == 'd'
}

// joined is the hint for a name that two things without an operator between them make, as
// xy and sinx are, or "".
func joined(name string, have []string) string {
	known := func(s string) bool { return slices.Contains(have, s) || s == "e" || s == "pi" }
	for i := range name {
		a, b := name[:i], name[i:]
		digits := strings.TrimLeft(b, "0123456789")
		switch {
		case known(a) && known(b):
			return "did you mean " + a + "*" + b + "?"
		case len(a) > 1 && tape.Known(a) && known(b):
			return "did you mean " + a + "(" + b + ")?"
		case len(a) > 1 && tape.Known(a) && digits != b && known(digits):
			return "did you mean " + a + "(" + b[:len(b)-len(digits)] + "*" + digits + ")?"
		}
	}
	return ""
}

// unspoken are characters that a name in a program does not have, and a key of a file may.
const unspoken = "/-: "

// unspeakable is how to give a name to an input whose own is none in the language, such as
// dense/kernel, and which the program calls by it; or "".
func unspeakable(doc *input.Document, p *expr.Program) string {
	for _, v := range doc.Vars {
		dotted := strings.ReplaceAll(v.Name, "/", ".") // as records of others are taken apart
		if strings.ContainsAny(v.Name, unspoken) && (strings.Contains(p.Text, v.Name) || strings.Contains(p.Text, dotted)) {
			hint := quoted(v.Name) + " is no name in a program"
			if ext := filepath.Ext(v.From); ext == ".npz" || ext == ".json" {
				hint += ": --at k=@" + v.From + ":" + v.Name + " makes it k"
			}
			return hint
		}
	}
	return ""
}

// indexed reports whether a program takes elements of a name: Sin[x] is a call elsewhere.
func indexed(p *expr.Program, name string) (found bool) {
	expr.Walk(p, func(n any) bool {
		if x, ok := n.(*expr.Index); ok {
			of, is := x.X.(*expr.Name)
			found = found || is && of.Name == name
		}
		return !found
	})
	return found
}

// constantNames are those of the language.
var constantNames = []string{"pi", "e", "tau", "inf", "nan", "true", "false"}

// assigned reports whether a program gives a name new values by :=, += or -=.
func assigned(p *expr.Program, name string) (found bool) {
	expr.Walk(p, func(n any) bool {
		if b, ok := n.(*expr.Bind); ok && b.Op != expr.Assign && len(b.Targets) == 1 && b.Targets[0].Name == name {
			found = true
		}
		return !found
	})
	return found
}

// readNames are those of some inputs that a document gave, not a flag.
func readNames(doc *input.Document, names []string) (read []string) {
	for _, v := range doc.Vars {
		if slices.Contains(names, v.Name) && v.Name != "" && !strings.HasPrefix(v.From, "--") {
			read = append(read, v.Name)
		}
	}
	return read
}

// noValue is the error of missing data, with the place in the program that wants the
// first of the names.
func noValue(p *expr.Program, lack []string, msg, hint string) error {
	where, mark := firstUse(p, lack[0])
	return &tape.Error{Code: exitData, At: &expr.Error{Prog: p, Kind: "data", Where: where, Mark: mark, Msg: msg, Hint: hint}}
}

// asModule is the error of np.sin(x): what is called stands without a module. Otherwise nil.
func asModule(p *expr.Program, name string) error {
	var e *expr.Error
	expr.Walk(p, func(n any) bool {
		call, called := n.(*expr.Call)
		if called {
			n = call.Fun
		}
		field, _ := n.(*expr.Field)
		constant := field != nil && (slices.Contains(constantNames, strings.ToLower(field.Name)) || field.Name == "newaxis")
		if e != nil || field == nil || !called && !constant {
			return e == nil
		}
		base := field.X
		for f, ok := base.(*expr.Field); ok; f, ok = base.(*expr.Field) {
			base = f.X
		}
		if x, ok := base.(*expr.Name); ok && x.Name == name {
			e = &expr.Error{Prog: p, Kind: "name", Where: field.Where(), Mark: x.Mark(), Msg: "there are no modules, and " + name + " has no value",
				Hint: expr.DidYouMean(field.Name, callable())}
			if constant {
				e.Hint = cmp.Or(expr.Foreign(field.Name), "write "+strings.ToLower(field.Name))
			} else if field.Name == "diff" && (strings.HasPrefix(name, "sp") || strings.HasPrefix(name, "sym")) { // SymPy
				e.Hint = expr.Foreign(field.Name)
			} else if base, ok := field.X.(*expr.Field); ok && base.Name == "lax" && field.Name == "cond" {
				e.Hint = expr.Foreign(field.Name)
			} else if tape.Known(field.Name) {
				e.Hint = "write " + field.Name + "(…)"
			} else if hint := expr.Foreign(field.Name); hint != "" {
				e.Hint = hint
			}
		}
		return e == nil
	})
	if e == nil {
		return nil
	}
	return e
}

// latin is a name with Latin letters for those of other scripts that look the same.
func latin(name string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf {
			return r
		}
		if i := strings.IndexRune(foreign, r); i >= 0 {
			return rune(alike[utf8.RuneCountInString(foreign[:i])])
		}
		switch {
		case r >= '！' && r <= '～': // full width
			return r - '！' + '!'
		case r >= '𝐀' && r < '𝚤': // mathematical, in thirteen styles
			i := (r - '𝐀') % 52
			return i%26 + 'A' + i/26*('a'-'A')
		case r == 'ℎ':
			return 'h'
		}
		return r
	}, name)
}

// Cyrillic and Greek letters, and the Latin ones that most fonts draw the same.
const (
	foreign = "асԁеһіјӏорԛѕѵԝхуАВЕЗІЈКМНОРЅТХΑΒΕΖΗΙΚΜΝΟΡΤΥΧοѡνɑ"
	alike   = "acdehijlopqsvwxyABE3IJKMHOPSTXABEZHIKMNOPTYXowva"
)

// misspelt reports whether name was probably meant to be other. Of two names without a
// value neither need be wrong: w1 and w2, or mean1 and mean2, are two.
func misspelt(name, other string, has bool) bool {
	if expr.Suggest(name, []string{other}) == "" {
		return false
	}
	letters := func(s string) string { return strings.TrimRight(s, "0123456789_") }
	if letters(name) == letters(other) {
		return false
	}
	if has {
		return true
	}
	sorted := func(s string) string {
		r := []rune(s)
		slices.Sort(r)
		return string(r)
	}
	return sorted(name) == sorted(other)
}

// unknownName is the error for a name where it first stands.
func unknownName(p *expr.Program, name string, candidates []string) *expr.Error {
	where, mark := firstUse(p, name)
	return &expr.Error{Prog: p, Kind: "name", Where: where, Mark: mark, Msg: "unknown name " + expr.Brief(name), Hint: expr.DidYouMean(name, candidates)}
}

// firstUse is where a name first stands in a program.
func firstUse(p *expr.Program, name string) (where expr.Span, mark expr.Pos) {
	mark = expr.NoPos
	expr.Walk(p, func(n any) bool {
		if x, ok := n.(*expr.Name); ok && x.Name == name && mark < 0 {
			where, mark = x.Where(), x.Mark()
		}
		return mark < 0
	})
	return where, mark
}

// callable lists what a program can call.
func callable() (names []string) {
	for _, op := range tape.All() {
		names = append(append(names, op.Name), op.Alias...)
	}
	for _, f := range tape.Forms() {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names
}

// given reports whether a document has a value for a name, or for a part of it: an
// archive may write layer1.w.
func given(doc *input.Document, name string) bool {
	for _, v := range doc.Vars {
		if rest, ok := strings.CutPrefix(v.Name, name); ok && (rest == "" || rest[0] == '.') {
			return true
		}
	}
	return false
}

// assignsOnly reports a program that does nothing but give an input a number: x = 3 was
// meant as a question.
func (n *needs) assignsOnly(doc *input.Document) error {
	b := n.number
	if b == nil || !given(doc, b.Targets[0].Name) {
		return nil
	}
	name := b.Targets[0].Name
	return &expr.Error{Prog: n.prog, Kind: "syntax", Where: b.Where(), Mark: b.OpPos,
		Msg:  "= gives the input " + name + " another value, and nothing reads it",
		Hint: "did you mean " + name + " == " + expr.Sprint(b.Value) + "?"}
}
