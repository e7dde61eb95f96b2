package expr

import (
	"cmp"
	"strings"
)

// program = { statement end } . A block was opened at open.
func (p *parser) stmts(end Kind, open Pos) []Stmt {
	var list []Stmt
	for {
		p.newlines()
		if p.tok.Kind == end {
			return list
		}
		p.openBlock(end, open)
		list = append(list, p.stmt())
		p.openBlock(end, open)
		if p.tok.Kind != Newline && p.tok.Kind != end {
			p.unfinished(list[len(list)-1])
		}
	}
}

// openBlock complains where the text ends before the block at open does.
func (p *parser) openBlock(end Kind, open Pos) {
	if p.tok.Kind == EOF && end != EOF {
		p.hint(cmp.Or(p.within(open), p.closeFirst(open)), "expected "+end.String())
	}
}

// block = "{" program "}" .
func (p *parser) block() *Block {
	p.enter()
	defer p.leave()
	start := p.tok.Start
	if !p.take(Lbrace) {
		p.noBlock()
	}
	list := p.stmts(Rbrace, start)
	p.next()
	return &Block{p.from(start), list}
}

// statement = see the package comment .
func (p *parser) stmt() Stmt {
	start := p.tok.Start
	if p.tok.Kind.isKeyword() && p.tok.Kind != KwVar && !startsAfter(p.tok.Kind, p.peek().Kind) {
		p.keyword(p.tok)
	}
	switch p.tok.Kind {
	case KwIf:
		return p.ifStmt()
	case KwWhile:
		p.next()
		cond := p.header(KwWhile, p.expr)
		body := p.block()
		return &While{p.from(start), cond, body}
	case KwFor:
		p.next()
		names := p.names()
		for _, n := range names {
			p.notConstant(n.Name, n.Span)
		}
		p.want(KwIn)
		in := p.header(KwFor, p.exprs)
		body := p.block()
		return &For{p.from(start), names, in, body}
	case KwNoGradient:
		p.next()
		body := p.block()
		return &NoGradient{p.from(start), body}
	case KwReset:
		p.next()
		return &Reset{p.from(start)}
	case KwWatch, KwUnwatch:
		off := p.tok.Kind == KwUnwatch
		p.next()
		names := p.names()
		return &Watch{p.from(start), off, names}
	case KwGradient:
		return p.gradDef()
	case KwVar:
		if k := p.peek().Kind; k == Ident || k.isKeyword() {
			p.next()
			return p.varStmt(start)
		}
	}
	return p.simple()
}

// recordNext says whether the { that is next begins a record.
func (p *parser) recordNext() (ok bool) {
	defer catch(&ok)
	ahead := p.scan
	next := func() (t Token) {
		for t = ahead.next(); t.Kind == Newline; t = ahead.next() {
		}
		return t
	}
	first := next()
	return first.Kind == Rbrace || (first.Kind == Ident || first.Kind.isKeyword()) && next().Kind == Colon
}

// startsAfter says whether a token can follow a keyword that begins a statement. If not,
// the keyword was meant as a name.
func startsAfter(keyword, next Kind) bool {
	switch keyword {
	case KwReset:
		return next == Newline || next == EOF || next == Rbrace
	case KwNoGradient:
		return next == Lbrace
	case KwIf, KwWhile, KwGradient:
		return next == Minus || next == Plus || kinds[next].level == 0 && (next < Assign || next > Ellipsis)
	}
	return next == Ident || next.isKeyword()
}

// keyword complains of a keyword where a name should be.
func (p *parser) keyword(t Token) {
	switch {
	case t.Kind == KwElse:
		p.fail(t.Span, "write "+usage(KwIf), "else has no if in front of it")
	case t.Kind == KwFor && t == p.tok && p.peek().Kind == Lparen:
		p.fail(t.Span, "write for i in range(n) { … }, or for a, b in pairs { … }", "the head of a for has no parentheses")
	}
	hint := "choose another name"
	if t.Kind == KwReset {
		hint = "the word stands alone; for a value choose another name"
	}
	if use := usage(t.Kind); use != "" {
		hint = "the word is used as in " + use + "; for a value choose another name"
	}
	p.fail(t.Span, hint, "%s is a keyword, not a name", t.Text)
}

// bound moves over the = of a statement that is written as in use.
func (p *parser) bound(use string) {
	if !p.take(Assign) {
		p.hint("write "+use, "expected =")
	}
}

// usage shows how a keyword is used that one might take for that of another language, or is "".
func usage(k Kind) string {
	return map[Kind]string{
		KwIf:         "if c { … } else { … }",
		KwWhile:      "while c { … }",
		KwFor:        "for i in range(n) { … }",
		KwIn:         "for i in range(n) { … }",
		KwVar:        "var v = 0",
		KwNoGradient: "no_gradient { … }",
		KwWatch:      "watch x, y",
		KwUnwatch:    "unwatch x, y",
	}[k]
}

// simple = targets "=" exprs | name ( ":=" | "+=" | "-=" ) exprs
// | name params ( "=" exprs | block ) | exprs .
func (p *parser) simple() Stmt {
	start := p.tok.Start
	x := p.exprs()
	switch k := p.tok.Kind; k {
	case Assign, SetState, AddState, SubState:
		if call, ok := x.(*Call); ok && k == Assign && call.Fun.Where().Start == start {
			f := p.funcDef(call)
			p.next()
			at := p.tok.Start
			if p.tok.Kind == Lbrace && !p.recordNext() {
				p.fail(p.tok.Span, "a function with a block is written "+p.source(call.Span)+" { … }, without =", "expected an expression, found a block")
			}
			body := p.exprs()
			f.Body = &Block{p.from(at), []Stmt{&ExprStmt{p.from(at), body}}}
			f.Span = p.from(start)
			return f
		}
		b := &Bind{Targets: p.targets(x), Op: k, OpPos: p.tok.Start}
		p.next()
		b.Value = p.exprs()
		b.Span = p.from(start)
		return b
	case Lbrace:
		if call, ok := x.(*Call); ok && call.Fun.Where().Start == start {
			f := p.funcDef(call)
			f.Braces = true
			f.Body = p.block()
			f.Span = p.from(start)
			return f
		}
	}
	return &ExprStmt{p.from(start), x}
}

// varStmt = "var" name "=" exprs .
func (p *parser) varStmt(start Pos) Stmt {
	name := p.name()
	p.notConstant(name.Name, name.Span)
	b := &Bind{Targets: []*Name{name}, Op: Assign, OpPos: p.tok.Start, Var: true}
	if p.tok.Kind == SetState {
		p.fail(p.tok.Span, "write var "+Brief(name.Name)+" = …", "expected =, found :=")
	}
	p.bound(usage(KwVar))
	b.Value = p.exprs()
	b.Span = p.from(start)
	return b
}

// targets are what an assignment may have on its left.
func (p *parser) targets(x Expr) []*Name {
	var names []*Name
	switch x := x.(type) {
	case *Name:
		names = []*Name{x}
	case *Tuple:
		if len(x.Elems) == 1 {
			p.assignTo(x)
		}
		for _, e := range x.Elems {
			name, ok := e.(*Name)
			if last, is := x.Elems[len(x.Elems)-1].(*Name); !ok && is { // x^2, x=3
				p.fail(p.tok.Span, "a value is given with --at "+Brief(last.Name)+"=…", "cannot assign to %s", p.source(e.Where()))
			} else if !ok {
				p.assignTo(e)
			}
			names = append(names, name)
		}
	default:
		p.assignTo(x)
	}
	for _, n := range names {
		if p.prog.Text[n.Start:n.End] == "var" {
			p.keyword(Token{KwVar, n.Span, "var"})
		}
		p.notConstant(n.Name, n.Span)
	}
	if p.tok.Kind != Assign && len(names) > 1 {
		p.fail(p.tok.Span, "", "%s assigns to one name, not to several", p.tok.Kind)
	}
	p.distinct(len(names), func(i int) (string, Pos) { return names[i].Name, names[i].Start })
	return names
}

// assignTo complains of a target that is not a name.
func (p *parser) assignTo(x Expr) {
	hint := "only a name can stand on the left of " + p.tok.Kind.String()
	switch x := x.(type) {
	case *Call:
		if p.tok.Kind == SetState {
			hint = "a function is written " + p.source(x.Span) + " = …"
		}
	case *Binary, *Unary, *Cond:
		if b, ok := x.(*Binary); ok && b.Op == MatMul { // x^2 @ x=3
			hint = asked("at")
		} else if p.tok.Kind == Assign {
			hint = "write == to compare"
		}
	case *List:
		hint = "without the brackets it unpacks: a, b = …"
	case *Index:
		hint = "tensors do not change: build a new one, with where or concatenate"
		if strings.HasSuffix(p.source(x.Span), "_]") { // as Mathematica defines a function
			hint = "a function is written f(x) = …"
		}
	}
	p.fail(p.tok.Span, hint, "cannot assign to %s", p.source(x.Where()))
}

// funcDef turns what was read as a call into the head of a definition.
func (p *parser) funcDef(call *Call) *FuncDef {
	name, ok := call.Fun.(*Name)
	if !ok {
		p.assignTo(call)
	}
	f := &FuncDef{Name: name.Name, NamePos: name.Start}
	for _, a := range call.Args {
		n, ok := a.Value.(*Name)
		if !ok || a.Name != "" {
			hint := "write == to compare; a value is given in a call, f(3)"
			if a.Name != "" {
				hint = "there are no defaults: a call gives every argument"
			}
			p.fail(a.Value.Where(), hint, "the parameters of %s must be names", Brief(f.Name))
		}
		f.Params = append(f.Params, Param{n.Span, n.Name})
	}
	p.distinctParams(f.Params)
	return f
}

// gradDef = "gradient" name "(" names ";" name ")" "=" expr { "," expr } .
func (p *parser) gradDef() Stmt {
	start := p.tok.Start
	p.next()
	if p.tok.Kind == Lparen {
		p.fail(p.from(start), "write grad(y, x) for a derivative, gradient f(x; g) = … to define one", "gradient is a keyword, not a function")
	}
	d := &GradDef{Name: p.tok.Text, NamePos: p.tok.Start}
	if !p.take(KwVar) { // the operation var
		p.name()
	}
	if p.tok.Kind != Lparen {
		p.hint("write grad(y, x) for a derivative, gradient f(x; g) = … to define one", "expected (")
	}
	open := p.open()
	for {
		n := p.name()
		d.Params = append(d.Params, Param{n.Span, n.Name})
		if !p.take(Comma) {
			break
		}
	}
	if p.tok.Kind != Newline {
		p.hint("name the upstream gradient: gradient "+Brief(d.Name)+"(x; g) = …", "expected ;")
	}
	p.next()
	g := p.name()
	d.Upstream = Param{g.Span, g.Name}
	p.close(Rparen, open)
	p.distinctParams(append(d.Params[:len(d.Params):len(d.Params)], d.Upstream))
	p.bound("gradient " + Brief(d.Name) + "(x; g) = …")
	for {
		d.Bodies = append(d.Bodies, p.expr())
		if !p.take(Comma) {
			break
		}
	}
	d.Span = p.from(start)
	if len(d.Bodies) != len(d.Params) {
		p.fail(d.Span, "write one expression for each argument", "%s has %s, its gradient %s",
			Brief(d.Name), Plural(len(d.Params), "argument"), Plural(len(d.Bodies), "expression"))
	}
	return d
}

// if = "if" expr block [ "else" ( if | block ) ] .
func (p *parser) ifStmt() Stmt {
	p.enter()
	defer p.leave()
	start := p.tok.Start
	p.next()
	s := &If{Cond: p.header(KwIf, p.expr)}
	if t, ok := s.Cond.(*Tuple); ok && len(t.Elems) == 3 && p.tok.Kind != Lbrace {
		p.hint("a choice is written c ? a : b", "expected {")
	}
	s.Then = p.block()
	if p.tok.Kind == Newline && p.tok.Text == "\n" && p.peek().Kind == KwElse {
		p.next()
	}
	if p.take(KwElse) {
		switch p.tok.Kind {
		case KwIf:
			s.Else = p.ifStmt()
		case Lbrace:
			s.Else = p.block()
		default:
			p.head = KwElse
			p.noBlock()
		}
	}
	s.Span = p.from(start)
	return s
}

// header reads an expression in front of the block of a statement.
func (p *parser) header(k Kind, read func() Expr) Expr {
	p.noRecord, p.head = true, k
	x := read()
	p.noRecord = false
	if p.tok.Kind == Newline && p.tok.Text == "\n" && p.peek().Kind == Lbrace {
		p.next()
	}
	return x
}

// names = name { "," name } .
func (p *parser) names() []*Name {
	list := []*Name{p.name()}
	for p.take(Comma) {
		list = append(list, p.name())
	}
	return list
}

// name moves over a name.
func (p *parser) name() *Name {
	t := p.tok
	if t.Kind.isKeyword() {
		p.keyword(t)
	}
	if t.Kind != Ident {
		p.expected("a name")
	}
	p.next()
	return p.newName(t)
}

// newName is a name as read. Python's constants have nabla's names.
func (p *parser) newName(t Token) *Name {
	text := t.Text
	switch text {
	case "True":
		text = "true"
	case "False":
		text = "false"
	}
	return p.words.of(Name{t.Span, text})
}
