package expr

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// exprs = expr { "," expr } .
func (p *parser) exprs() Expr {
	start := p.tok.Start
	x := p.expr()
	if p.tok.Kind != Comma {
		return x
	}
	elems, h := []Expr{x}, p.height
	for p.take(Comma) {
		elems = append(elems, p.expr())
		h = max(h, p.height)
	}
	p.above(h)
	return &Tuple{p.from(start), elems}
}

// expr = binary(2) [ "?" expr ":" expr ] | name "->" expr | params "->" expr .
func (p *parser) expr() Expr {
	p.enter()
	defer p.leave()
	start := p.tok.Start
	x := p.binary(levelExpr + 1)
	h := p.height
	switch p.tok.Kind {
	case Question:
		p.next()
		a := p.expr()
		h = max(h, p.height)
		if p.tok.Kind != Colon {
			p.hint("a choice is written c ? a : b", "expected :")
		}
		p.next()
		b := p.expr()
		p.above(max(h, p.height))
		return &Cond{p.from(start), x, a, b}
	case Arrow:
		params := p.params(x)
		p.next()
		body := p.expr()
		p.above(p.height)
		return &Lambda{p.from(start), params, body}
	}
	return x
}

// params turns what was read as an expression into the parameters of a lambda.
func (p *parser) params(x Expr) []Param {
	var list []Param
	elems := []Expr{x}
	if t, ok := x.(*Tuple); ok {
		elems = t.Elems
	}
	for _, e := range elems {
		n, ok := e.(*Name)
		if !ok {
			p.fail(p.tok.Span, "write x -> … or (a, b) -> …, in parentheses inside a larger expression",
				"expected names before ->, found %s", p.source(e.Where()))
		}
		list = append(list, Param{n.Span, n.Name})
	}
	p.distinctParams(list)
	return list
}

// binary(n) = prefix { operator binary(n') } .
func (p *parser) binary(level int) Expr {
	start := p.tok.Start
	x := p.prefix(level)
	for {
		op := p.tok
		row := kinds[op.Kind]
		if row.level < level || row.level == 0 {
			return x
		}
		p.next()
		if p.tok.Kind == Assign && p.tok.Start == op.End {
			name := "v"
			if v, ok := x.(*Name); ok {
				name = Brief(v.Name)
			}
			hint := fmt.Sprintf("write %[1]s = %[1]s %[2]s …, or := for a state variable", name, op.Kind)
			if row.assoc == none {
				hint = "write " + op.Kind.String()
			}
			p.fail(Span{op.Start, p.tok.End}, hint, "there is no operator %s=", op.Text)
		}
		h := p.height
		var y Expr
		if row.assoc == right {
			p.enter()
			y = p.binary(row.level)
			p.leave()
			p.above(max(h, p.height))
		} else {
			y = p.binary(row.level + 1)
			p.above(p.height)
			p.height = max(h, p.height)
		}
		b := p.binaries.of(Binary{p.from(start), op.Kind, op.Start, x, y})
		if row.assoc == none && kinds[p.tok.Kind].level == row.level {
			p.chained(b)
		}
		x = b
	}
}

// chained complains of a < b < c.
func (p *parser) chained(b *Binary) {
	op := p.tok
	hint := "write a < b && b < c"
	p.next()
	at := p.tok.Start
	third := func() (z Expr) {
		defer catch(&z)
		return p.binary(kinds[op.Kind].level + 1)
	}
	if third() != nil {
		mid := p.source(Span{b.OpPos + Pos(len(b.Op.String())), op.Start})
		h := fmt.Sprintf("write %s %s %s && %s %s %s", p.source(Span{b.Start, b.OpPos}), b.Op, mid, mid, op.Kind, p.source(p.from(at)))
		if !strings.Contains(h, "…") && len(h) <= 100 {
			hint = h
		}
	}
	p.fail(op.Span, hint, "comparisons do not chain")
}

// prefix = ( "-" | "+" | "!" ) binary(8) | "not" binary(4) | postfix .
func (p *parser) prefix(level int) Expr {
	t := p.tok
	operand := levelPrefix
	switch {
	case t.Kind == Not && t.Text == "not":
		if level > levelNot {
			p.fail(t.Span, "write !x, or (not x)", "expected an expression, found not, which binds looser than what stands before it")
		}
		operand = levelNot
	case t.Kind == Minus, t.Kind == Plus, t.Kind == Not:
	default:
		return p.postfix()
	}
	p.enter()
	p.next()
	x := p.binary(operand)
	p.leave()
	p.above(p.height)
	return &Unary{p.from(t.Start), t.Kind, x}
}

// postfix = primary { "(" [ arg { "," arg } ] ")" | "[" item { "," item } [ "," ] "]" | "." name } .
func (p *parser) postfix() Expr {
	start := p.tok.Start
	x := p.primary()
	for {
		h := p.height
		switch p.tok.Kind {
		case Lparen:
			if !callable(x) {
				p.sideBySide(x, start)
			}
			args := p.args()
			p.above(max(h, p.height))
			x = p.calls.of(Call{p.from(start), x, args})
		case Lbrack:
			at := p.tok.Start
			items := p.items()
			p.above(max(h, p.height))
			x = &Index{p.from(start), x, at, items}
		case Dot:
			p.next()
			name := p.tok
			if name.Kind != Ident {
				p.expected("a name after the dot")
			}
			p.next()
			p.above(h)
			x = &Field{p.from(start), x, name.Text, name.Start}
		case Ident, Number, String:
			p.sideBySide(x, start)
		default:
			return x
		}
	}
}

// callable says whether x can be a function: 2(x) and (a + b)(x) are meant as products.
func callable(x Expr) bool {
	switch x.(type) {
	case *Name, *Call, *Index, *Field, *Lambda, *Cond:
		return true
	}
	return false
}

// args = "(" [ arg { "," arg } ] ")" .
// arg = [ name "=" ] ( expr | string ) .
func (p *parser) args() []Arg {
	var few [4]Arg
	list := few[:0]
	var named []Arg
	h := 0
	open := p.open()
	for p.tok.Kind != Rparen || len(list) > 0 {
		var a Arg
		a.NamePos = p.tok.Start
		if p.tok.Kind == Ident || p.tok.Kind.isKeyword() {
			if p.scan.before('=') && p.peek().Kind == Assign {
				a.Name = p.tok.Text
				p.next()
				p.next()
			}
		}
		if a.Name != "" {
			named = append(named, a)
		} else if len(named) > 0 {
			name := Brief(named[0].Name)
			p.fail(p.tok.Span, "write it before "+name+"=", "an argument without a name stands behind %s=", name)
		}
		if p.arg = p.tok.Start; p.tok.Kind == String {
			a.Value = p.str()
		} else {
			a.Value = p.expr()
		}
		h = max(h, p.height)
		list = append(list, a)
		if !p.take(Comma) {
			break
		}
	}
	p.distinct(len(named), func(i int) (string, Pos) { return named[i].Name, named[i].NamePos })
	p.close(Rparen, open)
	p.height = h
	if len(list) == 0 {
		return nil
	}
	args := p.arglists.list(len(list))
	copy(args, list)
	return args
}

// str is a string, which must be a whole argument.
func (p *parser) str() Expr {
	t := p.tok
	p.next()
	value, err := unquote(t.Text)
	if err != nil {
		p.fail(t.Span, `the escapes are \n, \t, \\, \", \u00e9`, "the string %s has an escape that does not exist", Brief(t.Text))
	}
	p.height = 1
	return &Str{t.Span, value}
}

// items = "[" item { "," item } [ "," ] "]" .
func (p *parser) items() []Item {
	var list []Item
	open := p.open()
	h := 0
	for len(list) == 0 || p.tok.Kind != Rbrack {
		list = append(list, p.item())
		h = max(h, p.height)
		if !p.take(Comma) {
			break
		}
	}
	p.close(Rbrack, open)
	p.height = h
	return list
}

// item = expr | [ expr ] ":" [ expr ] [ ":" [ expr ] ] | "..." | "newaxis" | "None" .
func (p *parser) item() Item {
	start := p.tok.Start
	p.height = 1
	if p.take(Ellipsis) {
		return Item{Span: p.from(start), Kind: ItemEllipsis}
	}
	h := 0
	bound := func() Expr {
		if k := p.tok.Kind; k == Colon || k == Comma || k == Rbrack {
			return nil
		}
		x := p.expr()
		h = max(h, p.height)
		return x
	}
	if p.tok.Kind == String {
		p.fail(p.tok.Span, "a field of a record is written r."+Brief(strings.Trim(p.tok.Text, `"'`)), "a string is no index")
	}
	var lo Expr
	if p.tok.Kind != Colon {
		lo = p.expr()
		h = p.height
	}
	if p.tok.Kind != Colon {
		if n, ok := lo.(*Name); ok && (n.Name == "newaxis" || n.Name == "None") {
			return Item{Span: n.Span, Kind: ItemNewaxis}
		}
		return Item{Span: p.from(start), X: lo}
	}
	item := Item{Kind: ItemSlice, Lo: lo}
	p.next()
	item.Hi = bound()
	if p.take(Colon) {
		item.Step = bound()
	}
	item.Span = p.from(start)
	p.height = h
	return item
}

// primary = number | name | "(" expr ")" | "(" expr "," [ list ] ")" | "[" [ list ] "]" | record .
func (p *parser) primary() Expr {
	t := p.tok
	p.height = 1
	switch t.Kind {
	case Number:
		p.next()
		return p.number(t)
	case Ident:
		p.next()
		return p.newName(t)
	case KwVar:
		// The operation var(x) shares its name with the keyword, which a name follows.
		p.next()
		return p.words.of(Name{t.Span, t.Text})
	case Lparen:
		return p.parens()
	case Lbrack:
		open := p.open()
		list := p.elems(Rbrack)
		h := p.height
		p.close(Rbrack, open)
		p.above(h)
		return &List{p.from(t.Start), list}
	case Lbrace:
		if !p.noRecord {
			return p.record()
		}
	case String:
		hint := `as in einsum("ij,jk->ik", x, y)`
		if p.end == 0 {
			hint = "leave out the quotes"
		}
		p.fail(t.Span, hint, "a string can only be an argument of a call")
	}
	p.expected("an expression")
	return nil
}

// parens = "(" expr ")" | "(" expr "," [ list ] ")" | "(" ")" in front of "->" or as a whole argument .
func (p *parser) parens() Expr {
	start := p.tok.Start
	open := p.open()
	if p.tok.Kind == Rparen {
		switch next := p.peek().Kind; {
		case next == Arrow:
		case start == p.arg && (next == Comma || next == Rparen): // zeros(()): the shape of one number
		default:
			p.expected("an expression")
		}
		p.close(Rparen, open)
		p.above(0)
		return &Tuple{Span: p.from(start)}
	}
	x := p.expr()
	if p.tok.Kind != Comma {
		p.close(Rparen, open)
		return x
	}
	h := p.height
	p.next()
	list := append([]Expr{x}, p.elems(Rparen)...)
	h = max(h, p.height)
	p.close(Rparen, open)
	p.above(h)
	return &Tuple{p.from(start), list}
}

// elems = [ list ] . list = exprs [ "," ] .
func (p *parser) elems(end Kind) []Expr {
	var list []Expr
	h := 0
	for p.tok.Kind != end {
		list = append(list, p.expr())
		h = max(h, p.height)
		if !p.take(Comma) {
			break
		}
	}
	p.height = h
	return list
}

// braced is what is wrong with braces in an expression that begin at start.
func (p *parser) braced(start Pos) string {
	if strings.HasSuffix(p.prog.Text[:start], "^") {
		return "what is raised to stands in parentheses: x^(a + b)"
	}
	line, _, _ := strings.Cut(p.prog.Text[start:], "\n")
	if strings.ContainsAny(line, "|∈") || strings.Contains(line, " for ") { // {x^2 | x in [1, 2]}
		return "operations take whole tensors: [1, 2, 3]^2 has the squares"
	}
	if p.tok.Kind == String {
		return "a field's name stands without quotes: {name: value}"
	}
	return "a record is written {name: value}; a list [a, b]"
}

// record = "{" name ":" expr { "," name ":" expr } [ "," ] "}" .
func (p *parser) record() Expr {
	start := p.tok.Start
	open := p.open()
	r := &Record{}
	h := 0
	for len(r.Fields) == 0 || p.tok.Kind != Rbrace {
		name := p.tok
		if _, ok := word(name.Text); name.Kind != Ident && !ok {
			p.hint(p.braced(start), "expected a field's name")
		}
		p.next()
		if !p.take(Colon) {
			p.hint(p.braced(start), "expected :")
		}
		r.Fields = append(r.Fields, RecordField{name.Text, name.Start, p.expr()})
		h = max(h, p.height)
		if !p.take(Comma) {
			break
		}
	}
	p.close(Rbrace, open)
	p.above(h)
	r.Span = p.from(start)
	p.distinct(len(r.Fields), func(i int) (string, Pos) { return r.Fields[i].Name, r.Fields[i].NamePos })
	return r
}

// number is the nearest float64 of what was written.
func (p *parser) number(t Token) Expr {
	value, err := strconv.ParseFloat(strings.ReplaceAll(t.Text, "_", ""), 64)
	if errors.Is(err, strconv.ErrRange) {
		p.fail(t.Span, "write inf for infinity", "%s is out of range of float64", Brief(t.Text))
	} else if err != nil {
		p.fail(t.Span, "", "%s is not a number", Brief(t.Text))
	}
	return p.numbers.of(Num{t.Span, t.Text, value})
}
