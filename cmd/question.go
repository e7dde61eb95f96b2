package cmd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"nabla/cmd/input"
	"nabla/expr"
	"nabla/tape"
)

// load reads the data, and tells what there is to note about it.
func (o *inputOptions) load(s streams, engine *engineOptions, with []string, each, quiet bool) (*input.Document, *input.Source, error) {
	src := &input.Source{
		In: o.In, At: o.At, Const: o.Const, With: with, Each: each,
		Stdin: s.input(), Eval: engine.constant, Options: input.Options{MaxBytes: engine.limit, Threads: engine.Threads},
	}
	if slices.Contains(o.Program, "-") {
		src.Reader = "-p -"
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
		b, err := readProgram(name, s.input(), limit)
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
		shut := slices.IndexFunc(args, func(a string) bool { return hasShort(o.command, a) })
		if shut >= 0 {
			return nil, usage("behind a word -- nothing is a flag: put "+args[shut]+" before it", "two programs: %s and %s", found[0].where, found[1].where)
		}
		if flag, hint := o.noSuchFlag(args); flag != "" {
			return nil, usage(hint, "nabla %s has no flag %s", o.command, flag)
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
		e.Hint = cmp.Or(fileHint(e.Prog), dataHint(e.Prog), commandHint(e), e.Hint)
	}
	return p, err
}

// dataHint is what to write where a file of values was read as a program; or "".
func dataHint(p *expr.Program) string {
	begin := strings.TrimLeft(p.Text, " \t\r\n")
	record, quoted := strings.CutPrefix(begin, "{")
	quoted = quoted && strings.HasPrefix(strings.TrimLeft(record, " \t\r\n"), `"`)
	switch file := strings.Replace(p.Name, input.Called("-"), "-", 1); {
	case file == "":
	case strings.HasPrefix(begin, "\x93NUMPY"):
		return "it is an NPY file: --at x=@" + file + " reads it"
	case strings.HasPrefix(begin, "PK\x03\x04"):
		return "it is an NPZ file: -i " + file + " reads it"
	case quoted:
		return "it is a document in JSON: -i " + file + " reads it"
	}
	return ""
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

// hasShort reports whether a word is a short flag of a command.
func hasShort(command, word string) bool {
	c := find(command)
	return len(word) == 2 && word[0] == '-' && c.new(streams{}, c).Flags().ShorthandLookup(word[1:]) != nil
}

// noSuchFlag is the first of several words that is meant as a flag and none here, as -r of nabla
// plot, and the hint; or "".
func (o *inputOptions) noSuchFlag(args []string) (flag, hint string) {
	for i, a := range args {
		name := strings.TrimLeft(a, "-")
		letters := name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
		value := i > 0 && i+1 < len(args) && isNumber(args[i+1]) && reads(args[0], name) // -x 3
		switch {
		case len(name) == len(a) || !letters || value:
			continue
		case i+1 < len(args) && o.isRange(args[i+1]):
			return a, "write --range " + args[i+1]
		case a == "-o":
			return a, "> FILE writes what it prints"
		}
		return a, "nabla " + o.command + " --help lists its flags"
	}
	return "", ""
}

// isRange reports whether a word is a range where ranges are drawn over.
func (o *inputOptions) isRange(word string) bool {
	list, err := input.SplitAssignments(word)
	return o.command == "plot" && err == nil && len(list) == 1 && strings.Contains(list[0].Text, ":")
}

// manyWords is the hint where several words stand as programs: a value without --at, or no quotes.
func (o *inputOptions) manyWords(args []string) string {
	if o.command == "check" && !slices.ContainsFunc(args, func(a string) bool { return !strings.HasSuffix(a, ".json") }) {
		return "cases stand in one file: jq -s add " + expr.Brief(strings.Join(args, " ")) + " | nabla check -"
	}
	for i, a := range args {
		if find(a) != nil {
			return "a command stands once, and in front: nabla " + a + " EXPR; grad(grad(y, x), x) and --order 2 take a second derivative"
		}
		bare := strings.TrimLeft(a, "-")
		flag, file := len(bare) < len(a) && bare != "", ""
		if i > 0 {
			file = fileHint(&expr.Program{Text: a})
		}
		switch list, err := input.SplitAssignments(bare); {
		case flag && i > 0 && i+1 < len(args) && isNumber(args[i+1]) && reads(args[0], bare): // -x 3
			return "a value is given with --at " + bare + "=" + args[i+1]
		case i > 0 && len(o.Wrt) > 0 && reads(args[0], a) && !strings.ContainsAny(a, "=("):
			return "names are separated by commas: --wrt " + strings.Join(append(slices.Clone(o.Wrt), a), ",")
		case i > 0 && slices.Contains([]string{"wrt", "w.r.t.", "by", "over"}, a):
			return "--wrt x names what to differentiate by"
		case file != "":
			return file
		case o.isRange(a):
			return "a range is given with --range: --range " + bare
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

// fileHint is how to read the file whose name stands where a program should, maybe behind @, or "".
func fileHint(p *expr.Program) string {
	if p == nil || p.Name != "" || len(p.Text) > 1000 || strings.ContainsAny(p.Text, "\x00\n ") {
		return ""
	}
	if p.Text == "-" {
		return "-p - reads a program from stdin, -i - a document"
	}
	file := strings.TrimPrefix(p.Text, "@")
	if _, err := os.Stat(file); err != nil && !strings.HasSuffix(file, ".nabla") {
		return ""
	}
	switch filepath.Ext(file) {
	case ".nabla":
		return "a program in a file is read with -p " + file
	case ".json", ".ndjson", ".npz":
		return "values in a file are read with -i " + file
	case ".npy", ".csv", ".tsv", ".txt":
		return "a value in a file is read with --at x=@" + file
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

// readProgram reads a program from a file, or stdin as "-", as far as memory allows.
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
	// A device or a picture shows at its beginning that it is no text, and may have no end.
	head := make([]byte, 4096)
	n, err := io.ReadFull(in, head)
	b := head[:n]
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	} else if err == nil && bytes.IndexByte(b, 0) < 0 {
		b, err = io.ReadAll(io.LimitReader(io.MultiReader(bytes.NewReader(b), in), most+1))
	}
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
		DType: engine.dtype, Seed: engine.Seed, Limit: engine.limit, Recorded: engine.recorded, Threads: engine.Threads,
		Deadline: engine.deadline, Stop: s.stop,
	}
	if engine.Conventions != "default" {
		q.Conventions = engine.Conventions
	}
	if engine.Mode != "auto" {
		q.Mode = engine.Mode
	}
	if prog == nil && !doc.HasExpr {
		if i := slices.IndexFunc(doc.Vars, func(v input.Variable) bool { return v.Name == "expr" }); i >= 0 && doc.Vars[i].From == doc.Name {
			return nil, &input.Error{File: doc.Name, Msg: input.NotProgram, Hint: input.WriteProgram}
		}
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
	if err := namesOf(q, doc); err != nil {
		return nil, err
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

// namesOf puts the sources and targets that a document names into a question, where no flag does.
func namesOf(q *tape.Question, doc *input.Document) error {
	for _, list := range []struct {
		flag string
		to   *[]string
		doc  []string
	}{{"wrt", &q.Wrt, doc.Wrt}, {"of", &q.Of, doc.Of}} {
		if list.doc == nil {
			continue
		}
		if len(*list.to) > 0 {
			return usage("", "--%s is given twice: by the flag and by \"%s\" in %s", list.flag, list.flag, doc.Name)
		}
		*list.to = list.doc
	}
	return nil
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
