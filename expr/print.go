package expr

import (
	"math"
	"strconv"
	"strings"
)

// Print is the program in canonical spelling: one statement a line, spaces around
// operators, no parentheses that are not needed. It parses back to the same tree.
func Print(p *Program) string {
	var w printer
	w.stmts(p.Stmts)
	return w.String()
}

// Sprint is an expression in canonical spelling.
func Sprint(e Expr) string {
	var w printer
	w.expr(e, levelExpr)
	return w.String()
}

// A printer builds the text.
type printer struct {
	strings.Builder
	indent   int
	noRecord bool // a record would be read as a block
	full     bool // parentheses around every operator, for tests of precedence
}

func (w *printer) write(parts ...string) {
	for _, s := range parts {
		w.WriteString(s)
	}
}

// ---- Statements

// stmts writes statements, a line each.
func (w *printer) stmts(list []Stmt) {
	for _, s := range list {
		w.write(strings.Repeat("    ", w.indent))
		w.stmt(s)
		w.write("\n")
	}
}

// block writes a block over several lines.
func (w *printer) block(b *Block) {
	w.write("{\n")
	w.indent++
	w.stmts(b.Stmts)
	w.indent--
	w.write(strings.Repeat("    ", w.indent), "}")
}

// stmt writes a statement.
func (w *printer) stmt(s Stmt) {
	switch s := s.(type) {
	case *Bind:
		if s.Var {
			w.write("var ")
		}
		w.names(s.Targets)
		w.write(" ", s.Op.String(), " ")
		w.exprs(s.Value)
	case *FuncDef:
		w.write(s.Name)
		w.params(s.Params)
		if s.Braces {
			w.write(" ")
			w.block(s.Body)
			return
		}
		w.write(" = ")
		w.exprs(s.Body.Stmts[0].(*ExprStmt).X)
	case *GradDef:
		w.write("gradient ", s.Name, "(")
		for i, p := range s.Params {
			w.comma(i)
			w.write(p.Name)
		}
		w.write("; ", s.Upstream.Name, ") = ")
		for i, e := range s.Bodies {
			w.comma(i)
			w.expr(e, levelExpr)
		}
	case *If:
		w.write("if ")
		w.header(func() { w.expr(s.Cond, levelExpr) })
		w.block(s.Then)
		switch e := s.Else.(type) {
		case *If:
			w.write(" else ")
			w.stmt(e)
		case *Block:
			w.write(" else ")
			w.block(e)
		}
	case *While:
		w.write("while ")
		w.header(func() { w.expr(s.Cond, levelExpr) })
		w.block(s.Body)
	case *For:
		w.write("for ")
		w.names(s.Names)
		w.write(" in ")
		w.header(func() { w.exprs(s.In) })
		w.block(s.Body)
	case *NoGradient:
		w.write("no_gradient ")
		w.block(s.Body)
	case *Reset:
		w.write("reset")
	case *Watch:
		if s.Off {
			w.write("un")
		}
		w.write("watch ")
		w.names(s.Names)
	case *ExprStmt:
		w.exprs(s.X)
	case *Block:
		w.block(s)
	}
}

// header writes what stands in front of a block.
func (w *printer) header(write func()) {
	w.noRecord = true
	write()
	w.noRecord = false
	w.write(" ")
}

func (w *printer) names(list []*Name) {
	for i, n := range list {
		w.comma(i)
		w.write(n.Name)
	}
}

// params writes the parameters of a function.
func (w *printer) params(list []Param) {
	w.write("(")
	for i, p := range list {
		w.comma(i)
		w.write(p.Name)
	}
	w.write(")")
}

func (w *printer) comma(i int) {
	if i > 0 {
		w.write(", ")
	}
}

// ---- Expressions

// exprs writes an expression where a tuple needs no parentheses.
func (w *printer) exprs(e Expr) {
	t, ok := e.(*Tuple)
	if !ok || len(t.Elems) < 2 {
		w.expr(e, levelExpr)
		return
	}
	for i, x := range t.Elems {
		w.comma(i)
		w.expr(x, levelExpr)
	}
}

// levelOf is how tightly the parts of an expression hold together.
func levelOf(e Expr) int {
	switch e := e.(type) {
	case *Cond, *Lambda:
		return levelExpr
	case *Binary:
		return e.Op.level()
	case *Unary:
		return levelPrefix
	case *Num:
		if e.Text == "" && math.Signbit(e.Value) {
			return levelPrefix
		}
	}
	return levelPostfix
}

// expr writes an expression where one of this level or tighter may stand.
func (w *printer) expr(e Expr, level int) {
	if u, ok := e.(*Unary); ok && u.Op == Not && !w.full && level <= levelNot && !isTight(u.X) {
		w.write("not ")
		w.expr(u.X, levelNot)
		return
	}
	if b, ok := e.(*Binary); ok {
		w.binary(b, level)
		return
	}
	_, record := e.(*Record)
	if levelOf(e) < level || record && w.noRecord {
		w.inside("(", ")", func() { w.bare(e) })
		return
	}
	w.bare(e)
}

// isTight says whether ! can stand before x without parentheses.
func isTight(x Expr) bool { return levelOf(x) >= levelPrefix }

// inside writes something between brackets.
func (w *printer) inside(open, close string, write func()) {
	defer func(was bool) { w.noRecord = was }(w.noRecord)
	w.noRecord = false
	w.write(open)
	write()
	w.write(close)
}

// binary writes a chain of operators, which may lean left for any length.
func (w *printer) binary(b *Binary, level int) {
	type link struct {
		b      *Binary
		parens bool
		was    bool // noRecord outside
	}
	var spine []link
	var x Expr = b
	for {
		b, ok := x.(*Binary)
		if !ok {
			break
		}
		row := kinds[b.Op]
		parens := row.level < level || w.full && len(spine) > 0
		spine = append(spine, link{b, parens, w.noRecord})
		if parens {
			w.write("(")
			w.noRecord = false
		}
		if level = row.level; row.assoc != left {
			level++
		}
		x = b.X
	}
	if w.full {
		level = levelPostfix
	}
	w.expr(x, level)
	for i := len(spine) - 1; i >= 0; i-- {
		b := spine[i].b
		row := kinds[b.Op]
		level := row.level
		if row.assoc != right {
			level++
		} else {
			level = levelPrefix // 2^-1
		}
		if w.full {
			level = levelPostfix
		}
		if b.Op == Pow {
			w.write("^")
		} else {
			w.write(" ", b.Op.String(), " ")
		}
		w.expr(b.Y, level)
		if spine[i].parens {
			w.write(")")
			w.noRecord = spine[i].was
		}
	}
}

// bare writes an expression without parentheses around it.
func (w *printer) bare(e Expr) {
	switch e := e.(type) {
	case *Num:
		w.write(numText(e))
	case *Name:
		w.write(e.Name)
	case *Str:
		w.write(strconv.Quote(e.Value))
	case *Unary:
		w.write(e.Op.String())
		if w.full {
			w.expr(e.X, levelPostfix)
		} else {
			w.expr(e.X, levelPrefix)
		}
	case *Cond:
		w.part(e.C, levelExpr+1)
		w.write(" ? ")
		w.part(e.A, levelExpr)
		w.write(" : ")
		w.part(e.B, levelExpr)
	case *Call:
		w.callee(e.Fun)
		w.inside("(", ")", func() {
			for i, a := range e.Args {
				w.comma(i)
				if a.Name != "" {
					w.write(a.Name, "=")
				}
				w.expr(a.Value, levelExpr)
			}
		})
	case *Index:
		w.expr(e.X, levelPostfix)
		w.inside("[", "]", func() {
			for i, item := range e.Items {
				w.comma(i)
				w.item(item)
			}
		})
	case *Field:
		if n, ok := e.X.(*Num); ok {
			w.inside("(", ")", func() { w.bare(n) }) // 2.T would end a number at the dot
		} else {
			w.expr(e.X, levelPostfix)
		}
		w.write(".", e.Name)
	case *List:
		w.inside("[", "]", func() { w.elems(e.Elems) })
	case *Tuple:
		w.inside("(", ")", func() {
			w.elems(e.Elems)
			if len(e.Elems) == 1 {
				w.write(",")
			}
		})
	case *Record:
		w.inside("{", "}", func() {
			for i, f := range e.Fields {
				w.comma(i)
				w.write(f.Name, ": ")
				w.expr(f.Value, levelExpr)
			}
		})
	case *Lambda:
		if len(e.Params) == 1 {
			w.write(e.Params[0].Name)
		} else {
			w.params(e.Params)
		}
		w.write(" -> ")
		w.part(e.Body, levelExpr)
	}
}

// part writes an operand that has parentheses in full print.
func (w *printer) part(e Expr, level int) {
	if w.full {
		level = levelPostfix
	}
	w.expr(e, level)
}

// callee writes what is called: only what can be a function needs no parentheses.
func (w *printer) callee(f Expr) {
	switch f.(type) {
	case *Name, *Call, *Index, *Field:
		w.expr(f, levelPostfix)
	default:
		w.inside("(", ")", func() { w.expr(f, levelExpr) })
	}
}

func (w *printer) elems(list []Expr) {
	for i, e := range list {
		w.comma(i)
		w.expr(e, levelExpr)
	}
}

// item writes an item of an index.
func (w *printer) item(item Item) {
	switch item.Kind {
	case ItemExpr:
		w.expr(item.X, levelExpr)
	case ItemEllipsis:
		w.write("...")
	case ItemNewaxis:
		w.write("newaxis")
	case ItemSlice:
		// Above the level of c ? a : b, whose colon would be hard to tell apart.
		if item.Lo != nil {
			w.expr(item.Lo, levelExpr+1)
		}
		w.write(":")
		if item.Hi != nil {
			w.expr(item.Hi, levelExpr+1)
		}
		if item.Step != nil {
			w.write(":")
			w.expr(item.Step, levelExpr+1)
		}
	}
}

// numText is a number as written or, for one that was computed, the shortest text that
// reads back to it.
func numText(n *Num) string {
	switch {
	case n.Text != "":
		return n.Text
	case math.IsNaN(n.Value):
		return "nan"
	case math.IsInf(n.Value, 1):
		return "inf"
	case math.IsInf(n.Value, -1):
		return "-inf"
	}
	return strconv.FormatFloat(n.Value, 'g', -1, 64)
}
