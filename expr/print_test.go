package expr

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"nabla/expr/cells"
)

// Canonical spelling: what is written on the left is printed as on the right.
func TestPrint(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"(((x)))", "x"},
		{`f("\u0080\u00e9\x41")`, `f("\u0080éA")`}, // characters, not bytes
		{"f('\ufffd')", `f("�")`},                  // U+FFFD itself is a character
		{"a+(b+c)-(d)", "a + (b + c) - d"},
		{"(a*b)*(c*d)", "a * b * (c * d)"},
		{"(-x)^2 + -(x^2)", "(-x)^2 + -x^2"},
		{"2**(3**2)", "2^3^2"},
		{"(2^3)^2", "(2^3)^2"},
		{"2^(-1)", "2^-1"},
		{"-(a*b)", "-(a * b)"},
		{"- - x", "--x"},
		{"!(a)", "!a"},
		{"!(a < b)", "not a < b"},
		{"!(a && b)", "not (a && b)"},
		{"c and not (a or b)", "c && not (a || b)"},
		{"x + !(a < b)", "x + !(a < b)"},
		{"(a < b) < c", "(a < b) < c"},
		{"(a ? b : c) ? d : (e ? f : g)", "(a ? b : c) ? d : e ? f : g"},
		{"(x -> x) + 1", "(x -> x) + 1"},
		{"f((x) -> (x))", "f(x -> x)"},
		{"(f(x))(y)", "f(x)(y)"},
		{"(a, b)", "a, b"},
		{"x=((a,b),)", "x = ((a, b),)"},
		{"f( a,axis = 0 )", "f(a, axis=0)"},
		{"x[ 0 , : , 1 : n , ::-1 ]", "x[0, :, 1:n, ::-1]"},
		{"a·b × c − d", "a * b * c - d"},
		{"a;b\n\nc", "a\nb\nc"},
		{"while c{no_gradient{x=1}}", "while c {\n    no_gradient {\n        x = 1\n    }\n}"},
	} {
		p, err := Parse("", row.text)
		if err != nil {
			t.Errorf("Parse(%q): %v", row.text, err)
			continue
		}
		if got := strings.TrimSuffix(Print(p), "\n"); got != row.want {
			t.Errorf("Print of %q = %q, want %q", row.text, got, row.want)
		}
	}
}

// Numbers that nobody wrote, as in a tree built by a program.
func TestPrintComputed(t *testing.T) {
	num := func(v float64) Expr { return &Num{Value: v} }
	for _, row := range []struct {
		x    Expr
		want string
	}{
		{num(0.1), "0.1"},
		{num(1e300), "1e+300"},
		{num(-2), "-2"},
		{&Binary{Op: Pow, X: num(-2), Y: num(-2)}, "(-2)^-2"},
		{&Binary{Op: Minus, X: num(1), Y: num(math.Inf(-1))}, "1 - -inf"},
		{&Field{X: num(2), Name: "T"}, "(2).T"},
		{num(math.NaN()), "nan"},
	} {
		if got := Sprint(row.x); got != row.want {
			t.Errorf("Sprint = %s, want %s", got, row.want)
		}
	}
}

// TestPrintRandom prints random trees of every kind of node: they parse back as they were.
func TestPrintRandom(t *testing.T) {
	g := grower{rand.New(rand.NewPCG(1, 2))}
	for i := range 5000 {
		p := &Program{Stmts: g.stmts(4)}
		if len(p.Stmts) == 0 {
			continue
		}
		text := Print(p)
		again, err := Parse("", text)
		if err != nil {
			t.Fatalf("tree %d: %v", i, err.(*Error).Render())
		}
		if d := differ(reflect.ValueOf(again.Stmts), reflect.ValueOf(p.Stmts)); d != "" {
			t.Fatalf("tree %d is another when read from its print: %s\n%s", i, d, text)
		}
		if i%50 == 0 {
			checkPlaces(t, again)
		}
	}
}

// A grower makes random trees.
type grower struct{ *rand.Rand }

// pick calls one of the functions.
func pick[T any](g grower, makers ...func() T) T { return makers[g.IntN(len(makers))]() }

func some[T any](g grower, least, most int, make func() T) []T {
	var list []T
	for range least + g.IntN(most-least+1) {
		list = append(list, make())
	}
	return list
}

var someNames = strings.Fields("x y zz θ_1 f g axis None newaxis π w")

func (g grower) word() string { return someNames[g.IntN(len(someNames))] }

// distinct are different names, none of them one that a subscript understands.
func (g grower) distinct(least, most int) []string {
	list := some(g, least, most, g.word)
	slices.Sort(list)
	return slices.Compact(list)
}

func (g grower) name() *Name { return &Name{Name: g.word()} }

func (g grower) targets(least, most int) (list []*Name) {
	for _, s := range g.distinct(least, most) {
		list = append(list, &Name{Name: s})
	}
	return list
}

func (g grower) params(least, most int) (list []Param) {
	for _, s := range g.distinct(least, most) {
		list = append(list, Param{Name: s})
	}
	return list
}

func (g grower) block(depth int) *Block { return &Block{Stmts: g.stmts(depth)} }

func (g grower) stmts(depth int) []Stmt {
	return some(g, 0, 3, func() Stmt { return g.stmt(depth - 1) })
}

func (g grower) stmt(depth int) Stmt {
	expr := func() Expr { return g.expr(depth) }
	if depth <= 0 {
		return &ExprStmt{X: expr()}
	}
	return pick(g,
		func() Stmt { return &ExprStmt{X: expr()} },
		func() Stmt { return &Bind{Targets: g.targets(1, 3), Op: Assign, Value: expr()} },
		func() Stmt { return &Bind{Targets: []*Name{g.name()}, Op: Assign, Var: true, Value: expr()} },
		func() Stmt {
			return &Bind{Targets: []*Name{g.name()}, Op: []Kind{SetState, AddState, SubState}[g.IntN(3)], Value: expr()}
		},
		func() Stmt {
			return &FuncDef{Name: g.word(), Params: g.params(0, 3), Body: &Block{Stmts: []Stmt{&ExprStmt{X: expr()}}}}
		},
		func() Stmt {
			return &FuncDef{Name: g.word(), Params: g.params(0, 3), Body: g.block(depth), Braces: true}
		},
		func() Stmt {
			d := &GradDef{Name: g.word(), Params: g.params(1, 3), Upstream: Param{Name: "upstream"}}
			for range d.Params {
				d.Bodies = append(d.Bodies, expr())
			}
			return d
		},
		func() Stmt { return g.ifStmt(depth) },
		func() Stmt { return &While{Cond: expr(), Body: g.block(depth)} },
		func() Stmt { return &For{Names: g.targets(1, 2), In: expr(), Body: g.block(depth)} },
		func() Stmt { return &NoGradient{Body: g.block(depth)} },
		func() Stmt { return &Reset{} },
		func() Stmt { return &Watch{Off: g.IntN(2) == 0, Names: g.targets(1, 3)} },
	)
}

func (g grower) ifStmt(depth int) *If {
	s := &If{Cond: g.expr(depth), Then: g.block(depth)}
	switch g.IntN(3) {
	case 0:
		s.Else = g.block(depth)
	case 1:
		s.Else = g.ifStmt(depth - 1)
	}
	return s
}

func (g grower) expr(depth int) Expr {
	if depth--; depth < 0 {
		return pick(g,
			func() Expr { return g.name() },
			func() Expr {
				text := []string{"0", "1", "2.5", ".5", "1.", "1e-3", "1_000", "3e+8"}[g.IntN(8)]
				x, _, _ := ParseExpr("", text)
				return &Num{Text: text, Value: x.(*Num).Value}
			},
			func() Expr { return &Name{Name: "var"} },
		)
	}
	expr := func() Expr { return g.expr(g.IntN(depth + 1)) }
	return pick(g,
		func() Expr { return &Unary{Op: []Kind{Minus, Plus, Not}[g.IntN(3)], X: expr()} },
		func() Expr {
			var ops []Kind
			for k := range kinds {
				if kinds[k].level > 0 {
					ops = append(ops, Kind(k))
				}
			}
			return &Binary{Op: ops[g.IntN(len(ops))], X: expr(), Y: expr()}
		},
		func() Expr { return &Cond{C: expr(), A: expr(), B: expr()} },
		func() Expr {
			f := expr()
			if !callable(f) {
				f = g.name()
			}
			return &Call{Fun: f, Args: g.args(expr)}
		},
		func() Expr {
			return &Index{X: expr(), Items: some(g, 1, 3, func() Item { return g.item(expr) })}
		},
		func() Expr {
			return &Field{X: expr(), Name: []string{"T", "loss", "in", "var"}[g.IntN(4)]}
		},
		func() Expr { return &List{Elems: some(g, 0, 3, expr)} },
		func() Expr { return &Tuple{Elems: some(g, 1, 3, expr)} },
		func() Expr {
			r := &Record{}
			for _, name := range append(g.distinct(1, 3), "if") {
				r.Fields = append(r.Fields, RecordField{Name: name, Value: expr()})
			}
			return r
		},
		func() Expr { return &Lambda{Params: g.params(0, 3), Body: expr()} },
	)
}

func (g grower) args(expr func() Expr) (list []Arg) {
	value := func() Expr {
		if g.IntN(8) == 0 {
			return &Str{Value: []string{"ij,jk->ik", "", `a"b'c\d`, "\t\u202e\x00é\xff"}[g.IntN(4)]}
		}
		return expr()
	}
	for range g.IntN(3) {
		list = append(list, Arg{Value: value()})
	}
	for _, name := range g.distinct(0, 2) {
		list = append(list, Arg{Name: name, Value: value()})
	}
	return list
}

func (g grower) item(expr func() Expr) Item {
	maybe := func() Expr {
		if g.IntN(2) == 0 {
			return nil
		}
		return expr()
	}
	switch g.IntN(6) {
	case 0:
		return Item{Kind: ItemEllipsis}
	case 1:
		return Item{Kind: ItemNewaxis}
	case 2, 3:
		return Item{Kind: ItemSlice, Lo: maybe(), Hi: maybe(), Step: maybe()}
	}
	x := expr()
	if n, ok := x.(*Name); ok && (n.Name == "None" || n.Name == "newaxis") {
		return Item{Kind: ItemNewaxis}
	}
	return Item{X: x}
}

// FuzzParse: no text makes the parser panic, every error has a place and can be shown, and
// the print of what parses is a fixpoint that stands for the same tree.
func FuzzParse(f *testing.F) {
	for _, row := range precedence {
		f.Add(row.text)
	}
	for _, row := range mistakes {
		if len(row.text) < 1000 {
			f.Add(row.text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse("f.nabla", text)
		if err != nil {
			e := err.(*Error)
			if line, col := e.LineCol(); line < 1 || col < 1 || e.Msg == "" || strings.Contains(e.Msg, "\n") {
				t.Fatalf("Parse(%q) gave %q at %d:%d, want a line of text and a place", text, e.Msg, line, col)
			}
			for _, r := range e.Render() {
				if r != '\n' && r != '\t' && cells.Invisible(r) {
					t.Fatalf("the error of Parse(%q) shows %U raw", text, r)
				}
			}
			return
		}
		once := Print(p)
		again, err := Parse("", once)
		if err != nil {
			t.Fatalf("Parse(%q) prints as %q, which does not parse: %v", text, once, err)
		}
		if d := differ(reflect.ValueOf(again.Stmts), reflect.ValueOf(p.Stmts)); d != "" {
			t.Fatalf("Parse(%q) prints as %q, which is another tree: %s", text, once, d)
		}
		if twice := Print(again); twice != once {
			t.Fatalf("Parse(%q) prints as %q and then as %q", text, once, twice)
		}
		FreeNames(p)
		Callees(p)
	})
}
