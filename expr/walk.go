package expr

import "slices"

// Walk calls visit for n and what stands below it, in the order of the text: a *Program,
// a Stmt or an Expr. Where visit returns false, it goes no deeper.
func Walk(n any, visit func(n any) bool) {
	if b, ok := n.(*Binary); ok {
		walkBinary(b, visit)
		return
	}
	if !visit(n) {
		return
	}
	children(n, func(c any) { Walk(c, visit) })
}

// walkBinary walks a chain of operators, which may lean left for any length.
func walkBinary(b *Binary, visit func(n any) bool) {
	var local [8]*Binary
	spine := local[:0]
	for {
		if !visit(b) {
			break
		}
		spine = append(spine, b)
		x, ok := b.X.(*Binary)
		if !ok {
			Walk(b.X, visit)
			break
		}
		b = x
	}
	for _, b := range slices.Backward(spine) {
		Walk(b.Y, visit)
	}
}

// children visits the nodes right below n.
func children(n any, visit func(any)) {
	expr := func(e Expr) {
		if e != nil {
			visit(e)
		}
	}
	switch n := n.(type) {
	case *Program:
		each(n.Stmts, visit)
	case *Block:
		each(n.Stmts, visit)
	case *Bind:
		each(n.Targets, visit)
		expr(n.Value)
	case *FuncDef:
		visit(n.Body)
	case *GradDef:
		each(n.Bodies, visit)
	case *If:
		visit(n.Cond)
		visit(n.Then)
		if n.Else != nil {
			visit(n.Else)
		}
	case *While:
		visit(n.Cond)
		visit(n.Body)
	case *For:
		each(n.Names, visit)
		visit(n.In)
		visit(n.Body)
	case *NoGradient:
		visit(n.Body)
	case *Watch:
		each(n.Names, visit)
	case *ExprStmt:
		expr(n.X)
	case *Unary:
		expr(n.X)
	case *Binary:
		visit(n.X)
		visit(n.Y)
	case *Cond:
		visit(n.C)
		visit(n.A)
		visit(n.B)
	case *Call:
		expr(n.Fun)
		for _, a := range n.Args {
			expr(a.Value)
		}
	case *Index:
		expr(n.X)
		for _, i := range n.Items {
			for _, e := range []Expr{i.X, i.Lo, i.Hi, i.Step} {
				expr(e)
			}
		}
	case *Field:
		expr(n.X)
	case *List:
		each(n.Elems, visit)
	case *Tuple:
		each(n.Elems, visit)
	case *Record:
		for _, f := range n.Fields {
			expr(f.Value)
		}
	case *Lambda:
		expr(n.Body)
	}
}

func each[T any](list []T, visit func(any)) {
	for _, n := range list {
		visit(n)
	}
}

// DecimalComma is the target where it begins with two numbers that a comma alone separates, as in
// 1,5*x: most who write so mean one number. Otherwise it is nil.
func DecimalComma(p *Program) Expr {
	if len(p.Stmts) == 0 {
		return nil
	}
	last, ok := p.Stmts[len(p.Stmts)-1].(*ExprStmt)
	if !ok {
		return nil
	}
	t, ok := last.X.(*Tuple)
	if !ok || p.Text[t.Start] == '(' || !isDigit(p.Text[t.Elems[1].Where().Start]) {
		return nil
	}
	if n, ok := t.Elems[0].(*Num); !ok || n.End+1 != t.Elems[1].Where().Start {
		return nil
	}
	return t
}

// Idle lists the expressions that stand alone as a statement, though nothing takes their
// value: a line that begins with + where the one above it should have ended with +, or ==
// for =. Names and calls say so on purpose.
func Idle(p *Program) (list []Expr) {
	var visit func(stmts []Stmt, taken bool)
	visit = func(stmts []Stmt, taken bool) {
		for i, s := range stmts {
			last := taken && i == len(stmts)-1
			switch s := s.(type) {
			case *ExprStmt:
				switch s.X.(type) {
				case *Unary, *Binary, *Cond:
					if !last {
						list = append(list, s.X)
					}
				}
			case *If:
				visit(s.Then.Stmts, last)
				if s.Else != nil {
					visit([]Stmt{s.Else}, last)
				}
			case *Block:
				visit(s.Stmts, last)
			case *While:
				visit(s.Body.Stmts, false)
			case *For:
				visit(s.Body.Stmts, false)
			case *NoGradient:
				visit(s.Body.Stmts, false)
			case *FuncDef:
				visit(s.Body.Stmts, true)
			}
		}
	}
	visit(p.Stmts, true)
	return list
}
