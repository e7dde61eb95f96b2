package expr

import "math"

// maxDepth bounds the nesting of a program, and so the stack of whoever walks its tree.
const maxDepth = 10000

// Parse reads a program; name is that of its file, or "". The error is an *Error.
func Parse(name, text string) (*Program, error) {
	prog := &Program{Name: name, Text: text}
	err := parse(prog, func(p *parser) {
		if prog.Stmts = p.stmts(EOF, 0); len(prog.Stmts) == 0 {
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
		return &Error{Where: Span{NoPos, NoPos}, Mark: NoPos, Kind: "syntax", Msg: "the program is longer than 1 GiB"}
	}
	p := &parser{prog: prog, scan: newScanner(prog), arg: NoPos}
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
	inside   Pos   // where the innermost of these brackets stands
	arg      Pos   // where the argument began that is being read, or one before it
	noRecord bool  // a { here begins a block
	head     Kind  // the keyword of the statement whose block comes
	depth    int   // nesting of the methods that are running
	height   int   // of the expression read last; what leans left in a binary chain does not count

	// The commonest nodes, made some at a time.
	words    nodes[Name]
	numbers  nodes[Num]
	binaries nodes[Binary]
	calls    nodes[Call]
	arglists nodes[Arg]
}

// nodes are nodes of the tree of one kind, made some at a time: a program of a line has
// twenty, which live and die together.
type nodes[T any] struct {
	left []T
	made int
}

// of is a node with that content.
func (n *nodes[T]) of(x T) *T {
	node := &n.list(1)[0]
	*node = x
	return node
}

// list is a list of nodes.
func (n *nodes[T]) list(length int) []T {
	if len(n.left) < length {
		n.left = make([]T, max(length, min(n.made, 64), 2))
		n.made += len(n.left)
	}
	list := n.left[:length:length]
	n.left = n.left[length:]
	return list
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
func (p *parser) want(k Kind) {
	if !p.take(k) {
		p.expected(k.String())
	}
}

// A bracket is one that was opened, and what held outside.
type bracket struct {
	Token
	outside  Pos
	noRecord bool
}

// open moves into a bracket: line ends mean nothing inside, records are allowed.
func (p *parser) open() bracket {
	b := bracket{p.tok, p.inside, p.noRecord}
	p.noRecord, p.inside = false, p.tok.Start
	p.brackets++
	p.next()
	return b
}

// close moves out of a bracket.
func (p *parser) close(k Kind, b bracket) {
	if p.tok.Kind != k {
		p.hint(p.unclosed(k, b.Start), "expected "+k.String())
	}
	p.brackets--
	p.noRecord, p.inside = b.noRecord, b.outside
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
