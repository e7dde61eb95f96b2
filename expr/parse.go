package expr

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxDepth bounds the nesting of a program, and so the stack of whoever walks its tree.
const maxDepth = 10000

// Parse reads a program; name is that of its file, or "". The error is an *Error.
func Parse(name, text string) (*Program, error) {
	prog := &Program{Name: name, Text: text}
	err := parse(prog, func(p *parser) {
		if prog.Stmts = p.stmts(EOF); len(prog.Stmts) == 0 {
			p.empty()
		}
	})
	if err != nil {
		return nil, err
	}
	return prog, nil
}

// ParseExpr reads a text that is one expression, such as a value or the rule of an
// operation. The program is the text, for errors.
func ParseExpr(name, text string) (Expr, *Program, error) {
	prog := &Program{Name: name, Text: text}
	var x Expr
	err := parse(prog, func(p *parser) {
		p.newlines()
		if p.tok.Kind == EOF {
			p.empty()
		}
		x = p.expr()
		p.newlines()
		if p.tok.Kind != EOF {
			p.expected("the end")
		}
	})
	if err != nil {
		return nil, prog, err
	}
	prog.Stmts = []Stmt{&ExprStmt{x.Where(), x}}
	return x, prog, nil
}

// parse runs a parser and catches what it throws.
func parse(prog *Program, run func(*parser)) (err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case bailout:
			err = e.Error
		default:
			panic(e)
		}
	}()
	if len(prog.Text) >= math.MaxInt32/2 {
		return &Error{Prog: &Program{Name: prog.Name}, Kind: "syntax", Msg: "the program is longer than 1 GiB"}
	}
	p := &parser{prog: prog, scan: newScanner(prog)}
	p.next()
	run(p)
	return nil
}

// A parser is one token ahead of the tree. Mistakes are thrown.
type parser struct {
	prog     *Program
	scan     scanner
	tok      Token // the next token
	end      Pos   // where the last one ended
	brackets int   // open ( [ and records around tok; a line end means nothing inside
	noRecord bool  // a { here begins a block
	depth    int   // nesting of the methods that are running
	height   int   // of the expression read last; what leans left in a binary chain does not count
}

// next moves to the next token.
func (p *parser) next() {
	p.end = p.tok.End
	p.tok = p.scan.next()
	for p.brackets > 0 && p.tok.Kind == Newline && p.tok.Text == "\n" {
		p.tok = p.scan.next()
	}
}

// peek returns the token behind tok, or EOF where no token begins.
func (p *parser) peek() (t Token) {
	ahead := p.scan
	defer catch(&t)
	t = ahead.next()
	for p.brackets > 0 && t.Kind == Newline && t.Text == "\n" {
		t = ahead.next()
	}
	return t
}

// catch stops a complaint that will be made again, or that only a hint depends on.
func catch[T any](result *T) {
	if r := recover(); r != nil {
		if _, ok := r.(bailout); !ok {
			panic(r)
		}
		var none T
		*result = none
	}
}

// take moves over a token of the kind k, if one is next.
func (p *parser) take(k Kind) bool {
	if p.tok.Kind != k {
		return false
	}
	p.next()
	return true
}

// want moves over a token of the kind k, which must be next.
func (p *parser) want(k Kind) Token {
	t := p.tok
	if !p.take(k) {
		p.expected(k.String())
	}
	return t
}

// A bracket is one that was opened, and what held outside.
type bracket struct {
	Token
	noRecord bool
}

// open moves into a bracket: line ends mean nothing inside, records are allowed.
func (p *parser) open() bracket {
	b := bracket{p.tok, p.noRecord}
	p.noRecord = false
	p.brackets++
	p.next()
	return b
}

// close moves out of a bracket.
func (p *parser) close(k Kind, b bracket) {
	if p.tok.Kind != k {
		hint := ""
		if text := p.prog.Text; strings.Contains(text[b.Start:p.tok.Start], "\n") {
			hint = fmt.Sprintf("it would close the %s of line %d", b.Text, strings.Count(text[:b.Start], "\n")+1)
		}
		p.hint(hint, "expected "+k.String())
	}
	p.brackets--
	p.noRecord = b.noRecord
	p.next()
}

// newlines moves to the next token that is not the end of a statement.
func (p *parser) newlines() {
	for p.tok.Kind == Newline {
		p.next()
	}
}

// enter counts one more level of nesting, until leave.
func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.tooDeep(p.tok.Span)
	}
}

func (p *parser) leave() { p.depth-- }

// above notes that a node was built above one of height h.
func (p *parser) above(h int) {
	if p.height = h + 1; p.height > maxDepth {
		p.tooDeep(p.tok.Span)
	}
}

func (p *parser) tooDeep(at Span) {
	p.fail(at, "give a part of it a name", "nested too deeply: more than %d levels", maxDepth)
}

func (p *parser) from(start Pos) Span { return Span{start, p.end} }

// ---- Statements

// program = { statement end } .
func (p *parser) stmts(end Kind) []Stmt {
	var list []Stmt
	for {
		p.newlines()
		if p.tok.Kind == end {
			return list
		}
		if p.tok.Kind == EOF {
			p.expected(end.String())
		}
		list = append(list, p.stmt())
		if p.tok.Kind == EOF && end != EOF {
			p.expected(end.String())
		}
		if p.tok.Kind != Newline && p.tok.Kind != end {
			p.unfinished(list[len(list)-1])
		}
	}
}

// block = "{" program "}" .
func (p *parser) block() *Block {
	p.enter()
	defer p.leave()
	start := p.tok.Start
	p.want(Lbrace)
	list := p.stmts(Rbrace)
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
		cond := p.header(p.expr)
		body := p.block()
		return &While{p.from(start), cond, body}
	case KwFor:
		p.next()
		names := p.names()
		p.want(KwIn)
		in := p.header(p.exprs)
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

// startsAfter says whether a token can follow a keyword that begins a statement. If not,
// the keyword was meant as a name.
func startsAfter(keyword, next Kind) bool {
	switch keyword {
	case KwReset:
		return next == Newline || next == EOF || next == Rbrace
	case KwNoGradient:
		return next == Lbrace
	case KwIf, KwWhile, KwGradient:
		return next == Minus || next == Plus || next < Question && next != Newline || kinds[next].level == 0 && (next < Assign || next > Ellipsis)
	}
	return next == Ident || next.isKeyword()
}

// keyword complains of a keyword where a name should be.
func (p *parser) keyword(t Token) {
	if t.Kind == KwElse {
		p.fail(t.Span, "", "else has no if in front of it")
	}
	p.fail(t.Span, "choose another name", "%s is a keyword, not a name", t.Text)
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
	b := &Bind{Targets: []*Name{name}, Op: Assign, OpPos: p.tok.Start, Var: true}
	if p.tok.Kind == SetState {
		p.fail(p.tok.Span, "write var "+brief(name.Name)+" = …", "expected =, found :=")
	}
	p.want(Assign)
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
			if !ok {
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
		if n.Name == "true" || n.Name == "false" {
			p.fail(n.Span, "choose another name", "%s is a constant", n.Name)
		}
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
	switch x.(type) {
	case *Binary, *Unary, *Cond:
		if p.tok.Kind == Assign {
			hint = "write == to compare"
		}
	case *Index:
		hint = "tensors do not change: build a new one, with where or concatenate"
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
			p.fail(a.Value.Where(), "", "the parameters of %s must be names", brief(f.Name))
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
	p.name()
	if p.tok.Kind != Lparen {
		p.expected("(")
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
		p.hint("name the upstream gradient: gradient "+brief(d.Name)+"(x; g) = …", "expected ;")
	}
	p.next()
	g := p.name()
	d.Upstream = Param{g.Span, g.Name}
	p.close(Rparen, open)
	p.distinctParams(append(d.Params[:len(d.Params):len(d.Params)], d.Upstream))
	p.want(Assign)
	for {
		d.Bodies = append(d.Bodies, p.expr())
		if !p.take(Comma) {
			break
		}
	}
	d.Span = p.from(start)
	if len(d.Bodies) != len(d.Params) {
		p.fail(d.Span, "write one expression for each argument", "%s has %s, its gradient %s",
			brief(d.Name), plural(len(d.Params), "argument"), plural(len(d.Bodies), "expression"))
	}
	return d
}

// if = "if" expr block [ "else" ( if | block ) ] .
func (p *parser) ifStmt() Stmt {
	p.enter()
	defer p.leave()
	start := p.tok.Start
	p.next()
	s := &If{Cond: p.header(p.expr), Then: p.block()}
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
			p.expected("{ or if")
		}
	}
	s.Span = p.from(start)
	return s
}

// header reads an expression in front of a block.
func (p *parser) header(read func() Expr) Expr {
	p.noRecord = true
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
	return newName(t)
}

// newName is a name as read. Python's constants have nabla's names.
func newName(t Token) *Name {
	switch t.Text {
	case "True":
		return &Name{t.Span, "true"}
	case "False":
		return &Name{t.Span, "false"}
	}
	return &Name{t.Span, t.Text}
}

// ---- Expressions

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
			p.fail(Span{op.Start, p.tok.End}, fmt.Sprintf("write x = x %s …, or v := v %s … for a state variable", op.Kind, op.Kind),
				"there is no operator %s=", op.Text)
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
		b := &Binary{p.from(start), op.Kind, op.Start, x, y}
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

// postfix = primary { "(" [ arg { "," arg } ] ")" | "[" item { "," item } "]" | "." name } .
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
			x = &Call{p.from(start), x, args}
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
	var list, named []Arg
	h := 0
	open := p.open()
	for p.tok.Kind != Rparen || len(list) > 0 {
		var a Arg
		a.NamePos = p.tok.Start
		if p.tok.Kind == Ident || p.tok.Kind.isKeyword() {
			if p.peek().Kind == Assign {
				a.Name = p.tok.Text
				p.next()
				p.next()
			}
		}
		if a.Name != "" {
			named = append(named, a)
		} else if len(named) > 0 {
			name := brief(named[0].Name)
			p.fail(p.tok.Span, "write it before "+name+"=", "an argument without a name stands behind %s=", name)
		}
		if p.tok.Kind == String {
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
	return list
}

// str is a string, which must be a whole argument.
func (p *parser) str() Expr {
	t := p.tok
	p.next()
	value, err := unquote(t.Text)
	if err != nil {
		p.fail(t.Span, `the escapes are \n, \t, \\, \", \u00e9`, "the string %s has an escape that does not exist", brief(t.Text))
	}
	p.height = 1
	return &Str{t.Span, value}
}

// items = "[" item { "," item } "]" .
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

// primary = number | name | "(" expr ")" | "(" expr "," [ exprs ] ")"
// | "[" [ expr { "," expr } ] "]" | record .
func (p *parser) primary() Expr {
	t := p.tok
	p.height = 1
	switch t.Kind {
	case Number:
		p.next()
		return p.number(t)
	case Ident:
		p.next()
		return newName(t)
	case KwVar:
		// The operation var(x) shares its name with the keyword, which a name follows.
		p.next()
		return &Name{t.Span, t.Text}
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
		p.fail(t.Span, "", "a string can only be an argument of a call")
	}
	p.expected("an expression")
	return nil
}

// parens = "(" expr ")" | "(" expr "," [ exprs ] ")" | "(" ")" in front of "->" .
func (p *parser) parens() Expr {
	start := p.tok.Start
	open := p.open()
	if p.tok.Kind == Rparen {
		if p.peek().Kind != Arrow {
			p.expected("an expression")
		}
		p.close(Rparen, open)
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

// elems = [ expr { "," expr } [ "," ] ] .
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

// record = "{" name ":" expr { "," name ":" expr } [ "," ] "}" .
func (p *parser) record() Expr {
	start := p.tok.Start
	open := p.open()
	r := &Record{}
	h := 0
	for len(r.Fields) == 0 || p.tok.Kind != Rbrace {
		name := p.tok
		if name.Kind != Ident && words[name.Text] != name.Kind {
			p.expected("a field's name")
		}
		p.next()
		if !p.take(Colon) {
			p.hint("a record is written {name: value}", "expected :")
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
		p.fail(t.Span, "write inf for infinity", "%s is out of range of float64", brief(t.Text))
	} else if err != nil {
		p.fail(t.Span, "", "%s is not a number", brief(t.Text))
	}
	return &Num{t.Span, t.Text, value}
}

// ---- Complaints

// empty complains of a text without a statement.
func (p *parser) empty() {
	p.fail(Span{}, "", "empty expression")
}

// fail throws a syntax error about a piece of the text.
func (p *parser) fail(at Span, hint, format string, args ...any) {
	p.scan.fail(int(at.Start), int(at.End), hint, format, args...)
}

// expected complains of the next token.
func (p *parser) expected(what string) {
	hint := ""
	switch {
	case p.tok.Kind == Assign:
		hint = "write == to compare"
	case what == "an expression" && p.tok.Kind == Lbrace:
		hint = "put a record in parentheses here"
	}
	p.hint(hint, "expected "+what)
}

// hint complains of the next token in the words given.
func (p *parser) hint(hint, expected string) {
	found := p.tok.Text
	switch {
	case p.tok.Kind == Newline && found == "\n", p.tok.Kind == EOF:
		found = p.tok.Kind.String()
	case p.tok.Kind.isKeyword():
		found += ", which is a keyword"
	}
	p.fail(p.tok.Span, hint, "%s, found %s", expected, brief(found))
}

// unfinished complains of what follows a statement on its line.
func (p *parser) unfinished(s Stmt) {
	switch {
	case p.tok.Kind == Lbrace:
		if e, ok := s.(*ExprStmt); ok {
			p.fail(p.tok.Span, "a block follows if, while, for, no_gradient or the head of a function", "unexpected { after %s", p.source(e.Span))
		}
		fallthrough
	default:
		p.expected("an operator or the end of the statement")
	}
}

// sideBySide complains of two operands with nothing between them.
func (p *parser) sideBySide(x Expr, start Pos) {
	a, t := p.source(p.from(start)), p.tok
	b := brief(t.Text)
	if t.Kind == Lparen {
		b = "(…)"
	} else if t.Kind == Ident && p.peek().Kind == Lparen {
		b += "(…)"
	}
	hint := "write " + a + "*" + b
	name, isName := x.(*Name)
	switch {
	case isName && foreign[name.Name] != "":
		hint = foreign[name.Name]
	case t.Kind == String:
		hint = "write " + a + "(" + b + ") for a call"
	case isName && t.Kind != Lparen:
		hint += ", or " + a + "(" + b + ") for a call"
	}
	p.fail(t.Span, hint, "expected an operator between %s and %s", a, brief(t.Text))
}

// foreign are words of other languages, and what to write for them.
var foreign = map[string]string{
	"def": "write f(x) = …", "fn": "write f(x) = …", "func": "write f(x) = …", "function": "write f(x) = …",
	"let": "write x = …", "const": "write x = …", "lambda": "write x -> …",
	"return": "the last expression is the value: leave out return",
	"elif":   "write else if", "import": "every operation is already there: leave out import", "print": "write the expression alone",
}

// source is a piece of the text for a message, on one line.
func (p *parser) source(at Span) string {
	return brief(strings.Join(strings.Fields(p.prog.Text[at.Start:at.End]), " "))
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
			p.fail(Span{at, at + Pos(len(s))}, "", "%s is given twice", brief(s))
		}
		seen[s] = true
	}
}

func (p *parser) distinctParams(list []Param) {
	p.distinct(len(list), func(i int) (string, Pos) { return list[i].Name, list[i].Start })
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
