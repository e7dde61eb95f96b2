package expr

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// sideBySide complains of two operands with nothing between them.
func (p *parser) sideBySide(x Expr, start Pos) {
	a, t := p.source(p.from(start)), p.tok
	if p.noRecord && t.Start > p.end { // the head of a block, so that the block is what comes; not in 2x
		p.noBlock()
	}
	b := Brief(t.Text)
	if t.Kind == Lparen {
		b = "(…)"
	} else if next := p.peek(); t.Kind == Ident && next.Kind == Lparen {
		b += "(…)"
	} else if len(t.Text) > 1 && t.Kind == Ident && (next.Kind == Ident || next.Kind == Number) { // x sin y
		b += "(" + Brief(next.Text) + ")"
	}
	hint := ""
	switch x := x.(type) {
	case *Name:
		hint = p.behindName(x, start, a, b)
	case *Call:
		if slices.Contains([]string{"fn", "func", "function"}, p.source(x.Fun.Where())) {
			hint = aFunction + ", one with a name f(x) = …"
		}
	}
	if hint == "" && t.Kind == Ident && infix(t.Text) != "" {
		hint = "write " + infix(t.Text)
	}
	if gap := p.prog.Text[p.end:t.Start]; hint == "" && gap != "" && !strings.Contains(gap, "\n") && p.binds() {
		if hint = "statements are separated by ; or a new line"; p.brackets > 0 {
			hint = "arguments are separated by commas: " + a + ", " + t.Text + "=…"
		}
	}
	if hint == "" && isNumber(x) {
		hint = p.behindNumber(start, a, b)
	}
	p.fail(t.Span, cmp.Or(hint, p.behindAny(x, start, a, b)), "expected an operator between %s and %s", a, Brief(t.Text))
}

// binds reports whether what comes binds a name: y = …, v += …, or f(x) = … where no bracket is open.
func (p *parser) binds() (yes bool) {
	ahead := p.scan
	defer catch(&yes)
	t := ahead.next()
	for open := 0; p.brackets == 0 && t.Kind != EOF && (open > 0 || t.Kind == Lparen); {
		switch t.Kind {
		case Lparen:
			open++
		case Rparen:
			open--
		}
		t = ahead.next()
	}
	switch t.Kind {
	case Assign:
		return p.tok.Kind == Ident
	case SetState, AddState, SubState:
		return p.tok.Kind == Ident && p.brackets == 0
	}
	return false
}

// behindName is what to write where something stands behind a name; "" where that makes no difference.
func (p *parser) behindName(x *Name, start Pos, a, b string) string {
	name, t := x.Name, p.tok
	typed := t.Kind == Ident && slices.Contains(types, name)
	switch {
	case len(name) > 1 && name[0] == 'd' && strings.HasSuffix(p.prog.Text[:x.Start], "d/"):
		return "write grad(y, " + name[1:] + ") for dy/" + name
	case strings.HasSuffix(p.prog.Text[:start], "^") && name == "T":
		return transposed
	case typed && p.peek().Kind == Lparen: // double f(double x)
		return "write " + t.Text + "(x) = …, without types"
	case typed && p.peek().Kind == Assign:
		return "a name is bound without its type: leave out " + name
	case Foreign(name) != "":
		return Foreign(name)
	case t.Kind == Ident && infix(t.Text) != "":
		return "write " + infix(t.Text)
	case slices.Contains([]string{"grad", "jacobian", "hessian"}, name):
		return "write " + name + "(y, x)"
	case t.Kind == Number && p.peek().Kind == Ident && p.peek().Start == t.End: // sin 2x
		return "write " + a + "(" + b + "*" + p.peek().Text + ")"
	}
	return ""
}

// behindNumber is what to write where something stands behind a number; "" where that makes no difference.
func (p *parser) behindNumber(start Pos, a, b string) string {
	t := p.tok
	switch {
	case t.Kind == Number && p.brackets > 0:
		if rest := p.prog.Text[t.End:]; strings.ContainsRune(rest, ';') {
			return "a matrix is written [[1, 2], [3, 4]]"
		}
		return "numbers are separated by commas: " + a + ", " + b
	case t.Kind == Number && len(b) == 3:
		return "digits are grouped with _, as in " + a + "_" + b
	case t.Kind == Number:
		return "several numbers are written [" + a + ", " + b + "]"
	case t.Kind == Ident && suffixed(a, t.Text, t.Start == p.end) != "":
		return suffixed(a, t.Text, t.Start == p.end)
	case t.Kind == Ident && strings.HasSuffix(p.prog.Text[:start], "/"):
		return "write (" + a + "*" + b + ") to divide by both, or " + a + "*" + b
	}
	return ""
}

// behindAny is what to write where something stands behind a value of any kind.
func (p *parser) behindAny(x Expr, start Pos, a, b string) string {
	t, product := p.tok, a+"*"+b
	hint := "write " + product
	if name, ok := x.(*Name); ok && t.Kind != Lparen {
		call := a + "(" + b + ") for a call"
		if hint += ", or " + call; utf8.RuneCountInString(name.Name) > 1 { // sqrt x, as calculators have it
			hint = "write " + call + ", or " + product
		}
	}
	switch raised := p.raised(start); {
	case p.commented(start):
		return "a comment begins with #"
	case t.Kind == Ident && asked(t.Text) != "":
		return asked(t.Text)
	case strings.HasSuffix(p.prog.Text[:start], "/"+raised+"^") && strings.HasPrefix(raised, "d"):
		return "write grad(grad(y, x), x) for a second derivative"
	case t.Kind != Lparen && raised != "":
		return "write " + raised + "(" + b + ")^" + a + ", or " + product
	case t.Kind == Lparen && raised != "":
		return "write " + raised + "(…)^" + a + ", or " + product
	case t.Kind == Lparen && a == "1" && strings.HasSuffix(p.prog.Text[:start], "-") && p.raised(start-1) != "":
		return inverse(p.raised(start - 1))
	case t.Start == p.end && (t.Text == "j" || t.Text == "i") && isDigit(a[len(a)-1]):
		return hint + "; there are no complex numbers"
	case t.Kind == String:
		return "write " + a + "(" + b + ") for a call"
	case t.Kind == Number && t.Text[0] == '.' && t.Start == p.end:
		return "write " + a + "[" + b[1:] + "] for an element"
	case p.brackets > 0 && strings.Contains(p.prog.Text[p.end:t.Start], "\n"):
		return fmt.Sprintf("the %c of line %d is open still: close it, or write an operator or a comma", p.prog.Text[p.inside], p.line(p.inside))
	case p.brackets > 0 && t.Kind != Lparen:
		return hint + ", or " + a + ", " + b + " with a comma"
	}
	return hint
}

// commented reports whether an operand that begins at start, and another beside it, stand
// behind what begins a comment in other languages.
func (p *parser) commented(start Pos) bool {
	line := p.prog.Text[strings.LastIndexByte(p.prog.Text[:start], '\n')+1 : start]
	return strings.HasSuffix(line, "// ") || strings.HasSuffix(line, "-- ") || strings.HasSuffix(line, " % ")
}

// raised is the name to the power that begins at start, such as the sin of sin^2, or "".
func (p *parser) raised(start Pos) string {
	before, ok := strings.CutSuffix(p.prog.Text[:start], "^")
	if !ok {
		before, ok = strings.CutSuffix(before, "**")
	}
	n := len(before)
	for n > 0 && isAlnum(before[n-1]) {
		n--
	}
	if name := before[n:]; ok && len(name) > 1 && isLetter(name[0]) {
		return name
	}
	return ""
}
