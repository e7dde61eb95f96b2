package expr

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// empty complains of a text without a statement.
func (p *parser) empty() {
	hint := "write an expression, such as x^2"
	if strings.Contains(p.prog.Text, "#") {
		hint += "; # begins a comment"
	}
	p.fail(Span{}, hint, "empty expression")
}

// aFunction is the fix for a function in another notation.
const aFunction = "a function is written x -> …"

// fail throws a syntax error about a piece of the text.
func (p *parser) fail(at Span, hint, format string, args ...any) {
	p.scan.fail(int(at.Start), int(at.End), hint, format, args...)
}

// expected complains of the next token.
func (p *parser) expected(what string) {
	hint := ""
	switch start := p.tok.Start; {
	case what == KwIn.String():
		hint = "write " + usage(KwFor)
	case p.tok.Kind == Assign && p.end == 0: // as in a cell of a spreadsheet
		hint = "leave out the = in front"
	case p.tok.Kind == Assign:
		hint = "write == to compare"
	case what == "an expression" && p.tok.Kind == EOF && (strings.HasSuffix(p.prog.Text, "++") || strings.HasSuffix(p.prog.Text, "--")):
		hint = "write x += 1, x -= 1"
	case what == "an expression" && p.tok.Kind == KwIf:
		hint = "a choice is written c ? a : b"
	case what == "an expression" && usage(p.tok.Kind) != "" && p.tok.Kind != KwIn:
		hint = "it has no value: " + usage(p.tok.Kind) + " stands by itself"
	case what == "an expression" && p.end == 0 && (p.tok.Kind == Rparen || p.tok.Kind == Rbrack || p.tok.Kind == Rbrace):
		hint = "there is nothing open that it closes"
	case what == "an expression" && p.tok.Kind == Rbrack && strings.HasSuffix(p.prog.Text[:start], "["):
		hint = "x[0] is the first element, x[:] all of them"
	case what == "an expression" && p.tok.Kind == Rparen && strings.HasSuffix(p.prog.Text[:start], "("):
		hint = "the shape of a number is written []"
	case what == "an expression" && p.tok.Kind == Lbrace:
		hint = "put a record in parentheses here"
	case what == "an expression" && p.tok.Kind == Ellipsis && p.brackets > 0:
		hint = "linspace(0, 1, 11) has 11 numbers from 0 to 1, arange(a, b) the numbers from a to below b"
	case what == "an expression" && p.tok.Kind == MatMul && strings.HasPrefix(p.prog.Text[p.tok.End:], "("):
		hint = aFunction
	case what == "an expression" && p.tok.Kind == MatMul && strings.HasPrefix(p.prog.Text[p.tok.End:], "."): // as in Julia
		hint = "leave out @.: every operator but @ is elementwise"
	case what == "an expression" && p.tok.Kind == MatMul:
		hint = "there are no decorators: a gradient of your own is written gradient f(x; g) = …"
	case what == "an expression" && p.tok.Kind == Colon && p.brackets > 0:
		hint = "an index stands in brackets: x[1:]"
	case what == "an expression":
		hint = cmp.Or(misread(p.prog.Text[max(start-1, 0):]), p.astray(), p.missing())
	case what == "a name after the dot" && kinds[p.tok.Kind].level > 0:
		hint = "write " + p.tok.Text + "; every operator but @ is elementwise"
	case what == "a name after the dot" && p.tok.Kind == Lbrack:
		hint = "write dot(x, y) for a product of vectors"
	case what == "a name after the dot" && p.tok.Kind == Lparen:
		hint = "write f(x): functions of numbers take each element of a tensor"
	}
	p.hint(hint, "expected "+what)
}

// misread is what to write for the sign of another language that a text begins with, which
// is several operators here.
func misread(text string) string {
	for _, s := range []struct{ sign, write string }{
		{"/.", "a value is given with --at x=3"},
		{"<>", "write !="},
		{"=<", "write <="},
		{"=>", "write >= to compare, -> for a function"},
		{"/*", "a comment begins with #"},
		{"=/", "write !="},
		{"%%", "write %"},
		{"%*%", "write @ for a product of matrices"},
		{"%/%", "write // for a quotient rounded down"},
		{"%>%", "write f(x) for x %>% f"},
		{"%in%", "write " + oneOf},
		{"^^", "write ^"},
		{"**", "write ** for a power, * for a product"},
		{"||", "write norm(x) for ||x||"},
		{"<<", "write x * 2^n for x << n"},
		{">>", "write x // 2^n for x >> n"},
	} {
		if strings.HasPrefix(text, s.sign) {
			return s.write
		}
	}
	return ""
}

// astray is what to do about a statement that begins with an operator.
func (p *parser) astray() string {
	first := p.end == 0
	switch k := p.tok.Kind; {
	case !first && p.prog.Text[p.end-1] != '\n':
	case k == Divide || k == FloorDiv || k == Mod:
		return "a comment begins with #"
	case kinds[k].level > 0 && !first:
		return "to go on with the line above, end that one with the operator"
	}
	return ""
}

// missing says next to which sign a value is missing, or "".
func (p *parser) missing() string {
	var before Token
	for s := newScanner(p.prog); before.End < p.end; {
		before = s.next()
	}
	switch t := p.tok; {
	case t.Kind == Lt && strings.Contains(p.prog.Text[t.End:], ">"):
		return "write dot(x, y) for <x, y>"
	case before.Kind == Mod && (t.Kind == EOF || kinds[t.Kind].level > 0):
		return "write x/100 for x percent"
	case kinds[t.Kind].level > 0:
		return "a value is missing in front of " + t.Text
	}
	line := p.prog.Text[strings.LastIndexByte(p.prog.Text[:before.Start], '\n')+1 : before.End]
	switch k := before.Kind; {
	case k == Lparen && p.tok.Kind == EOF, k == Comma, k == Question, k == Colon, k == Assign, k == Not, kinds[k].level > 0:
		if p.tok.Kind == EOF && strings.HasPrefix(strings.TrimLeft(p.prog.Text[before.End:], " "), "#") {
			return "# begins a comment: a value is missing behind " + Brief(line)
		}
		return "a value is missing behind " + before.Text
	}
	return ""
}

// oneOf is the fix for x in [1, 2].
const oneOf = "any(x == [1, 2]) for x in [1, 2]"

// hint complains of the next token in the words given.
func (p *parser) hint(hint, expected string) {
	found := p.tok.Text
	switch {
	case p.tok.Kind == Newline && found == "\n", p.tok.Kind == EOF:
		found = p.tok.Kind.String()
	case p.tok.Kind.isKeyword():
		found += ", which is a keyword"
	}
	p.fail(p.tok.Span, hint, "%s, found %s", expected, Brief(found))
}

// unfinished complains of what follows a statement on its line.
func (p *parser) unfinished(s Stmt) {
	const expected = "an operator or the end of the statement"
	e, ok := s.(*ExprStmt)
	if ok && p.tok.Kind == Lbrace {
		p.fail(p.tok.Span, p.misplaced(e), "unexpected { after %s", p.source(e.Span))
	}
	hint := ""
	if ok {
		hint = p.behindValue(e)
	}
	if hint = cmp.Or(hint, p.behindStatement(s)); hint != "" {
		p.hint(hint, "expected "+expected)
	}
	p.expected(expected)
}

// misplaced is what to do about { behind an expression.
func (p *parser) misplaced(e *ExprStmt) string {
	text, touches := p.source(e.Span), p.tok.Start == p.end
	switch {
	case text == "sum_" || text == "prod_":
		return latex(text)
	case strings.Contains(text, "function("):
		return aFunction + ", one with a name f(x) = …"
	case text == "log_":
		return "write log2(x), log10(x), or log(x)/log(b)"
	case touches && p.prog.Text[p.end-1] == '_':
		return "an index is part of the name: x_1"
	case touches && isDigit(p.scan.at(0)):
		return "an element is written " + text + "[…]"
	case touches && isName(e.X): // max{a, b}, and LaTeX without its \
		return cmp.Or(latex(text), "write "+text+"(…) for a call")
	}
	return cmp.Or(Foreign(text), "a block follows if, while, for, no_gradient or the head of a function")
}

// behindValue is what to do about a token behind an expression that stands as a statement, or "".
func (p *parser) behindValue(e *ExprStmt) string {
	text := p.source(e.Span)
	switch k := p.tok.Kind; {
	case k == Not && p.tok.Text == "!" && p.tok.Start == p.end:
		return "write gamma(n + 1) for the factorial of n"
	case k == KwNoGradient && isName(e.X):
		return "leave out " + text
	case k == Colon && p.peek().Kind == Colon:
		return "there are no modules: leave out " + text + "::"
	case k == Colon && isName(e.X) && strings.HasPrefix(text, "λ"):
		return aFunction
	case k == Colon && isName(e.X):
		return "write " + text + " = …"
	case k == Colon && isCall(e.X):
		return "write " + text + " = …, or a block { … } for :"
	}
	return ""
}

// behindStatement is what to do about a token behind a statement, or "".
func (p *parser) behindStatement(s Stmt) string {
	switch k := p.tok.Kind; {
	case k == Assign && strings.HasPrefix(p.prog.Text[p.tok.End:], ">"):
		return aFunction
	case k == Assign && p.listed(s):
		return "statements are separated by ;, and --at x=3 gives a value"
	case k == Assign:
		if before := strings.LastIndexByte(p.prog.Text[s.Where().Start:p.tok.Start], '\n'); before >= 0 {
			return fmt.Sprintf("line %d does not end its statement, which goes on here", p.line(s.Where().Start+Pos(before)))
		}
	case k == KwIn:
		return "write " + oneOf
	case k == KwIf:
		return "write c ? a : b"
	case k == KwFor:
		return asked(p.tok.Text)
	case k == Ident && Foreign(p.tok.Text) != "":
		return Foreign(p.tok.Text)
	case p.prog.Text[p.end-1] == '}' && (k == Ident || k == Number || k == Lparen):
		return "statements are separated by ; or a new line"
	case k == Colon:
		return numbersFromTo
	case k == Rparen || k == Rbrack || k == Rbrace:
		return "there is nothing open that it closes"
	}
	return ""
}

// listed reports whether a statement ends in a name behind a comma, as in y = x^2, x.
func (p *parser) listed(s Stmt) bool {
	var x Expr
	switch s := s.(type) {
	case *ExprStmt:
		x = s.X
	case *Bind:
		x = s.Value
	}
	t, ok := x.(*Tuple)
	if !ok || len(t.Elems) == 0 || p.prog.Text[t.End-1] == ')' {
		return false
	}
	_, ok = t.Elems[len(t.Elems)-1].(*Name)
	return ok
}

// numbersFromTo is the fix for a range in another notation.
const numbersFromTo = "write arange(a, b) for the numbers from a to below b"

// transposed is the fix for A^T.
const transposed = "a transpose is written x.T"

func isName(x Expr) bool   { _, ok := x.(*Name); return ok }
func isCall(x Expr) bool   { _, ok := x.(*Call); return ok }
func isNumber(x Expr) bool { _, ok := x.(*Num); return ok }

// noBlock complains of what stands where the block of a statement should begin.
func (p *parser) noBlock() {
	use := usage(p.head)
	switch next := p.peek().Kind; {
	case p.tok.Kind == Assign:
		p.expected("{")
	case p.tok.Kind == Colon && p.head == KwFor && next != Newline && next != EOF:
		use = "for i in range(a, b) { … }"
	case use == "":
		use = usage(KwIf)
	}
	p.hint("a block stands in braces: "+use, "expected {")
}

// unclosed is what to do about a token that stands where k should close the bracket at open.
func (p *parser) unclosed(k Kind, open Pos) string {
	switch before := strings.TrimRight(p.prog.Text[:p.tok.Start], " "); {
	case p.tok.Kind == KwFor:
		return "operations take whole tensors, as arange(n)^2; vmap(i -> …)(arange(n)) does what a loop would"
	case p.tok.Kind == Colon && strings.HasSuffix(before, "lambda"):
		return Foreign("lambda")
	case p.tok.Text == ";" && k == Rbrack:
		return "a matrix is written [[1, 2], [3, 4]]"
	case p.tok.Kind == SetState && k == Rparen:
		return "a name is bound in a statement of its own: y = x^2; y + 1"
	case p.tok.Kind == Colon && k == Rparen && open > 0 && isAlnum(p.prog.Text[open-1]):
		return "an index stands in brackets, x[1:]; " + strings.TrimPrefix(numbersFromTo, "write ")
	case p.tok.Kind == Colon && k == Rbrack && (open == 0 || !isAlnum(p.prog.Text[open-1])): // a list, no index
		return numbersFromTo
	case p.tok.Kind == Assign && k == Rparen:
		return "write == to compare"
	case p.tok.Text == ";" && k == Rparen, p.tok.Kind == Lbrack && k == Rparen && open > 0 && isAlnum(p.prog.Text[open-1]):
		return "arguments are separated by commas"
	case (p.tok.Kind == Rparen || p.tok.Kind == Rbrack || p.tok.Kind == Rbrace) && p.within(open) == "":
		return p.closeFirst(open) + " first"
	}
	if hint := p.within(open); hint != "" || p.tok.Kind != EOF {
		return hint
	}
	return p.closeFirst(open)
}

// closeFirst is what to do about the bracket at open, in a text of one line.
func (p *parser) closeFirst(open Pos) string {
	start, _ := lineAt(p.prog.Text, int(open))
	return fmt.Sprintf("close the %c of column %d", p.prog.Text[open], utf8.RuneCountInString(p.prog.Text[start:open])+1)
}

// within says which bracket of another line the next token should have closed, or "".
func (p *parser) within(open Pos) string {
	text := p.prog.Text
	if !strings.Contains(text[open:p.tok.Start], "\n") {
		return ""
	}
	return fmt.Sprintf("it would close the %c of line %d", text[open], p.line(open))
}

func (p *parser) line(at Pos) int { return strings.Count(p.prog.Text[:at], "\n") + 1 }

// source is a piece of the text for a message, on one line.
func (p *parser) source(at Span) string {
	return Brief(strings.Join(strings.Fields(p.prog.Text[at.Start:at.End]), " "))
}

// distinct complains of a name that is given twice.
func (p *parser) distinct(n int, name func(i int) (string, Pos)) {
	if n < 2 {
		return
	}
	seen := make(map[string]bool, n)
	for i := range n {
		s, at := name(i)
		if seen[s] {
			p.fail(Span{at, at + Pos(len(s))}, "leave one of them out, or choose another name", "%s is given twice", Brief(s))
		}
		seen[s] = true
	}
}

// notConstant complains of a constant that cannot be bound.
func (p *parser) notConstant(name string, at Span) {
	if name == "true" || name == "false" {
		p.fail(at, "choose another name", "%s is a constant", name)
	}
}

func (p *parser) distinctParams(list []Param) {
	for _, a := range list {
		p.notConstant(a.Name, a.Span)
	}
	p.distinct(len(list), func(i int) (string, Pos) { return list[i].Name, list[i].Start })
}

// instead is what to write for a character that begins no token, and n bytes long, or "".
func (s *scanner) instead(r rune, n int) (hint string) {
	for _, l := range lookalikes {
		if strings.ContainsRune(l.chars, r) {
			hint = "write " + l.write
		}
	}
	switch {
	case strings.ContainsRune("“”‘’`", r) && s.pos == 0:
		hint = "leave out the quotes"
	case strings.HasPrefix(s.text[s.pos:], "⁻¹(") && s.last == Ident:
		hint = inverse(s.text[s.span.Start:s.span.End])
	case (r == '²' || r == '³') && s.last == Ident && s.at(n) == '(':
		hint = "write " + Brief(s.text[s.span.Start:s.span.End]) + "(…)" + strings.TrimPrefix(hint, "write ")
	case r == '∫':
		hint = Foreign("integrate")
	case unicode.IsDigit(r):
		hint = "digits are 0 to 9"
	case r == '\\' && isLetter(s.at(1)) && (isLetter(s.at(2)) || !s.last.endsStatement()):
		hint = cmp.Or(latex(s.text[s.pos+1:]), "a name stands without \\: sin(x), pi, alpha")
	case r == '\\' && s.at(1) == '(' && strings.Contains(s.text[s.pos:], `\)`):
		hint = `a formula stands without \( and \)`
	case r == '\\' && s.at(1) == '(': // as in R
		hint = aFunction
	case r == '|' && s.at(1) == '_': // as in x^2|_{x=3}
		hint = asked("at")
	case r == '|' && !s.last.endsStatement(): // where an operand begins
		hint = "write abs(x) for |x|"
	case r == '|' && strings.Contains(s.text[s.pos+1:], "|"):
		hint = "write abs(x) for |x|, || for or"
	case (r == '₂' || r == '₁') && s.last == Ident && s.text[s.span.Start:s.span.End] == "log":
		hint = map[rune]string{'₂': "write log2(x)", '₁': "write log10(x)"}[r]
	case r == '\\' && s.at(1) == '|':
		hint = "write norm(x)"
	case r == '|' && s.at(1) == '>':
		hint = "write f(x) for x |> f"
	case r == '~' && s.at(1) == '=':
		hint = "write !="
	case r == '\\' && endsLine(s.text[s.pos+1:]):
		hint = "leave it out: an expression goes on where a line ends with an operator, and in parentheses"
	case r == '$' && s.at(1) == '$':
		hint = "a formula stands without $$"
	case r == '$' && isWordStart(rune(s.at(1))):
		hint = "a name stands without $"
	}
	return hint
}

// lookalikes are characters of other notations, and what to write for them.
var lookalikes = [...]struct{ chars, write string }{
	{"≤", "<="}, {"≥", ">="}, {"≠", "!="}, {"÷∕⁄", "/"}, {"⋅∙∗•", "*"}, {"–—‒", "-"}, {"“”", `"`}, {"‘’", "'"}, {"&∧", "&&"}, {"|∨", "||"}, {"~¬", "!"},
	{"²", "^2"}, {"³", "^3"}, {"¹⁰⁴⁵⁶⁷⁸⁹⁺⁻", "^ for a power, such as x^4 or x^-1"}, {"₀₁₂₃₄₅₆₇₈₉", "_ and a digit, such as x_1"},
	{"½", "(1/2)"}, {"⅓", "(1/3)"}, {"¼", "(1/4)"}, {"¾", "(3/4)"}, {"√", "sqrt(x)"}, {"∛", "cbrt(x)"}, {"∑", "sum(x)"}, {"∏", "prod(x)"},
	{"∜", "x^(1/4)"}, {"≡", "=="}, {"≈", "isclose(x, y)"}, {"⊕", "+"}, {"∘", "f(g(x)) for f∘g"}, {"％", "%"},
	{"⌊⌋", "floor(x)"}, {"⌈⌉", "ceil(x)"}, {"⟨⟩", "dot(x, y)"}, {"∂∇", "grad(y, x)"}, {"′", "x.T for a transpose, grad(f) for a derivative"}, {"∈", oneOf}, {"±", "[x - a, x + a] for x ± a"}, {"°", "radians(x) for x degrees"}, {"⊙⊗", "* or @"},
	{"‖∥", "norm(x)"}, {"\\", "solve(A, b)"},
	{"→⟶⇒", "->"}, {"←", "="}, {"∞", "inf"}, {"…", "..."}, {"，", ","}, {"；", ";"}, {"：", ":"}, {"（", "("}, {"）", ")"},
	{"［【", "["}, {"］】", "]"}, {"｛", "{"}, {"｝", "}"}, {"＋", "+"}, {"－", "-"}, {"＊", "*"}, {"／", "/"}, {"＝", "="}, {"＾", "^"}, {"＠", "@"},
}
