package tape

import (
	"slices"

	"nabla/expr"
)

// assignedNames lists the names that statements bind, in order; false when there is a
// statement that a rolled body cannot have. A function that every step defines is the same in
// all of them: it reads names when it is called.
func assignedNames(stmts []expr.Stmt) (names []string, ok bool) {
	seen := map[string]bool{}
	var functions []string
	for _, s := range stmts {
		if name := definedBy(s); name != "" {
			functions = append(functions, name)
		}
	}
	add := func(list []*expr.Name) {
		for _, n := range list {
			if !seen[n.Name] {
				seen[n.Name], names = true, append(names, n.Name)
			}
		}
	}
	var visit func(s expr.Stmt) bool
	each := func(stmts []expr.Stmt) bool {
		return !slices.ContainsFunc(stmts, func(s expr.Stmt) bool { return !visit(s) })
	}
	visit = func(s expr.Stmt) bool {
		switch s := s.(type) {
		case *expr.FuncDef:
			return slices.Contains(functions, s.Name)
		case *expr.Bind:
			if slices.Contains(functions, s.Targets[0].Name) && definedBy(s) != "" {
				return true
			}
			add(s.Targets)
			return !s.Var
		case *expr.For:
			add(s.Names)
			return each(s.Body.Stmts)
		case *expr.If:
			return each(s.Then.Stmts) && (s.Else == nil || visit(s.Else))
		case *expr.Block:
			return each(s.Stmts)
		case *expr.ExprStmt:
			return true
		}
		return false
	}
	ok = each(stmts) && !slices.ContainsFunc(functions, func(name string) bool { return seen[name] })
	return names, ok
}

// definedBy is the name of the function that a statement defines, or nothing.
func definedBy(s expr.Stmt) string {
	switch s := s.(type) {
	case *expr.FuncDef:
		return s.Name
	case *expr.Bind:
		if _, is := s.Value.(*expr.Lambda); is && len(s.Targets) == 1 && s.Op == expr.Assign && !s.Var {
			return s.Targets[0].Name
		}
	}
	return ""
}

// usedNames are all names that stand in a body or an expression.
func usedNames(b *expr.Block, e expr.Expr) map[string]bool {
	used := map[string]bool{}
	visit := func(n any) bool {
		if x, ok := n.(*expr.Name); ok {
			used[x.Name] = true
		}
		return true
	}
	if b != nil {
		for _, s := range b.Stmts {
			expr.Walk(s, visit)
		}
	}
	if e != nil {
		expr.Walk(e, visit)
	}
	return used
}
