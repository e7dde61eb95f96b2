package cmd

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"nabla/cmd/input"
	"nabla/expr"
	"nabla/tape"
	"nabla/tape/tensor"
)

// needs are what a program wants from outside, found once for all its documents.
type needs struct {
	prog   *expr.Program
	inputs []string   // the names that it reads and the language has no meaning for
	number *expr.Bind // the statement, if there is one alone and it binds a number
}

// survey finds what a program needs, unless it is known already.
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
		if !doc.Has(name) {
			lack = append(lack, name)
		}
	}
	if len(lack) == 0 {
		return nil
	}
	have := inputNames(doc)
	if e := unknownFunction(p, doc); e != nil {
		return e
	}
	if err := mistaken(p, doc, lack, have); err != nil {
		return err
	}
	hint := cmp.Or(fileHint(p), unspeakable(doc, p))
	switch long := len(strings.Join(lack, "")) > 100; {
	case long && len(lack) == 1:
		return noValue(p, lack, expr.Brief(lack[0])+" has no value", "-i FILE reads it from a document")
	case long, len(lack) > 10:
		return noValue(p, lack, expr.Some(lack)+" have no value", "-i FILE reads them from a document")
	case len(lack) > 1:
		if hint == "" {
			hint = giveAll(p, lack, have)
		}
		if y, x := lack[0], lack[1]; y[0] == 'd' && x[0] == 'd' && strings.Contains(p.Text, y+"/"+x) {
			hint += "; the derivative of y by x is written grad(y, x)"
		}
		return noValue(p, lack, strings.Join(lack[:len(lack)-1], ", ")+" and "+lack[len(lack)-1]+" have no value", hint)
	}
	if hint == "" {
		hint = giveOne(p, doc, lack[0], have)
	}
	return noValue(p, lack, expr.Brief(lack[0])+" has no value", hint)
}

// unknownFunction is the error of a call of what neither the language nor the document has, or nil.
func unknownFunction(p *expr.Program, doc *input.Document) error {
	for _, name := range expr.Callees(p) {
		if doc.Has(name) || tape.Known(name) {
			continue
		}
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
	return nil
}

// mistaken is the error of the first name without a value that was probably meant to be
// another one: an input, a name of the program, or what a module of other languages has.
func mistaken(p *expr.Program, doc *input.Document, lack, have []string) error {
	const names, pairs = 100, 1 << 16 // are looked at: all of 40,000 names took an hour
	lack = lack[:min(len(lack), names, 1+pairs/(1+len(have)))]
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
	return nil
}

// giveAll is how to give several names values.
func giveAll(p *expr.Program, lack, have []string) string {
	hint := "--at '" + strings.Join(lack, "=…, ") + "=…'"
	if x := strings.TrimRight(lack[0], "_0123456789"); x != lack[0] && slices.Contains(have, x) {
		hint += "; the elements of " + x + " are " + x + "[0], " + x + "[1]"
	}
	for _, name := range lack {
		if h := elsewhere(p, name); h != "" {
			return hint + "; " + h
		}
	}
	return hint
}

// giveOne is how to give one name a value, or what it was meant to be.
func giveOne(p *expr.Program, doc *input.Document, name string, have []string) string {
	hint := "--at " + expr.Brief(name) + "=…"
	used := map[string]bool{} // a document may have very many names, and so may a program
	for _, n := range expr.FreeNames(p) {
		used[n] = true
	}
	unused := slices.DeleteFunc(slices.Clone(have), func(n string) bool { return used[n] })
	if near := expr.Suggest(name, unused); near != "" {
		return "the input " + near + " is not used: did you mean " + name + " by it?"
	}
	if _, err := os.Stat(name); err == nil && strings.TrimSpace(p.Text) == name {
		return "a file of this name is here: did the shell expand a *? Quote the expression"
	}
	if strings.Contains(p.Text, name+" <- ") || strings.HasPrefix(strings.TrimSpace(p.Text), name+" := ") {
		hint += "; a name is bound by =: " + name + " = …"
	} else if h := cmp.Or(elsewhere(p, name), joined(name, have)); h != "" {
		hint += "; " + h
	} else if near := expr.Suggest(name, callable()); near != "" && len(name) > 2 {
		hint += "; or did you mean the function " + near + "?"
	} else if expr.Binds(p, name) && !assigned(p, name) {
		hint += "; or move what binds it in front of what uses it"
	} else if assigned(p, name) {
		hint += "; or begin with " + name + " = 0 in the program"
	} else if names := unread(doc, used); len(names) > 0 {
		hint += "; given and not used: " + expr.Some(names)
	}
	return hint
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
	if len(name) > 64 { // each cut of it is looked up
		return ""
	}
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
		joined := strings.Map(func(r rune) rune {
			if strings.ContainsRune(unspoken, r) {
				return '_'
			}
			return r
		}, v.Name)
		said := func(name string) bool { return strings.Contains(p.Text, name) }
		if strings.ContainsAny(v.Name, unspoken) && (said(v.Name) || said(dotted) || said(joined)) {
			hint := quoted(v.Name) + " is no name in a program"
			if ext := filepath.Ext(v.From); slices.Contains([]string{".npz", ".json", ".csv", ".tsv"}, ext) {
				name := "k"
				if said(joined) {
					name = joined
				}
				at := name + "=@" + v.From + ":" + v.Name
				if strings.Contains(at, " ") {
					at = "'" + at + "'"
				}
				hint += ": --at " + at + " makes it " + name
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

// unread are the inputs that a document gave, not a flag, and nothing uses.
func unread(doc *input.Document, used map[string]bool) (names []string) {
	for _, v := range doc.Vars {
		if !used[v.Name] && v.Name != "" && !strings.HasPrefix(v.From, "--") {
			names = append(names, v.Name)
		}
	}
	return names
}

// noValue is the error of missing data, with the place in the program that wants the
// first of the names.
func noValue(p *expr.Program, lack []string, msg, hint string) error {
	where, mark := firstUse(p, lack[0])
	return &tape.Error{At: &expr.Error{Prog: p, Kind: "data", Where: where, Mark: mark, Msg: msg, Hint: hint}}
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
		if e != nil || field == nil || !called && !constant && !isModule(name) {
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
			} else if field.Name == "cond" && !strings.HasSuffix(expr.Sprint(field.X), "linalg") { // lax.cond chooses
				e.Hint = expr.Foreign(field.Name)
			} else if _, ok := tensor.ParseDType(field.Name); ok && !called {
				e.Hint = "write " + strconv.Quote(field.Name)
			} else if tape.Known(field.Name) {
				if e.Hint = "write " + field.Name; called {
					e.Hint += "(…)"
				}
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

// isModule reports whether a name is what libraries of other languages are called.
func isModule(name string) bool {
	return slices.Contains([]string{"np", "numpy", "tf", "tensorflow", "keras", "torch", "jax", "jnp", "lax", "math", "scipy", "sympy"}, name)
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

// assignsOnly reports a program that does nothing but give an input a number: x = 3 was
// meant as a question.
func (n *needs) assignsOnly(doc *input.Document) error {
	b := n.number
	if b == nil || !doc.Has(b.Targets[0].Name) {
		return nil
	}
	name := b.Targets[0].Name
	return &expr.Error{Prog: n.prog, Kind: "syntax", Where: b.Where(), Mark: b.OpPos,
		Msg:  "= gives the input " + name + " another value, and nothing reads it",
		Hint: "did you mean " + name + " == " + expr.Sprint(b.Value) + "?"}
}
