package expr

import (
	"maps"
	"slices"
	"sort"
)

// FreeNames are the names that a program reads before it binds them, in order of
// appearance: its inputs, and the constants and functions that it uses as values. A name
// that is only called is not among them. An if binds what both of its branches bind;
// the body of a loop is taken to run.
func FreeNames(p *Program) []string {
	return survey(p).list(func(u use) bool { return !u.called })
}

// Needed are the free names that a program cannot do without: not those that a branch of
// an if before may have bound.
func Needed(p *Program) []string {
	return survey(p).list(func(u use) bool { return !u.called && !u.maybe })
}

// Callees are the names that a program calls without defining them, in order of appearance.
func Callees(p *Program) []string {
	return survey(p).list(func(u use) bool { return u.called && !u.maybe })
}

// Binds says whether some statement of a program, wherever it stands, binds a name.
func Binds(p *Program, name string) (found bool) {
	is := func(n *Name) bool { return n.Name == name }
	Walk(p, func(n any) bool {
		switch n := n.(type) {
		case *Bind:
			found = found || n.Op == Assign && slices.ContainsFunc(n.Targets, is)
		case *For:
			found = found || slices.ContainsFunc(n.Names, is)
		case *FuncDef:
			found = found || n.Name == name
		}
		return !found
	})
	return found
}

// A use is where a name is read.
type use struct {
	name   string
	at     Pos
	called bool
	maybe  bool // bound by a branch that may have run
}

// A scope is a program, or the body of a function, while its names are looked up.
type scope struct {
	bound map[string]bool // so far; false where a branch binds it that need not run
	ever  map[string]bool // anywhere: what a function that runs later may see
	uses  []use           // free
	later []use           // free in a function, when it was defined
}

// survey goes through a program and lists its uses of names, in the order of the text.
func survey(p *Program) *scope {
	s := newScope()
	s.stmts(p.Stmts)
	s.finish()
	sort.SliceStable(s.uses, func(i, j int) bool { return s.uses[i].at < s.uses[j].at })
	return s
}

func newScope() *scope {
	return &scope{bound: map[string]bool{}, ever: map[string]bool{}}
}

// list is the names of the uses that are wanted, each once.
func (s *scope) list(wanted func(use) bool) []string {
	var list []string
	seen := map[string]bool{}
	for _, u := range s.uses {
		if wanted(u) && !seen[u.name] {
			seen[u.name] = true
			list = append(list, u.name)
		}
	}
	return list
}

func (s *scope) bind(name string) {
	s.bound[name] = true
	s.ever[name] = true
}

// read notes a use of a name that is not bound on every way there.
func (s *scope) read(u use) {
	always, sometimes := s.bound[u.name]
	if !always {
		u.maybe = sometimes
		s.uses = append(s.uses, u)
	}
}

func (s *scope) stmts(list []Stmt) {
	for _, t := range list {
		s.stmt(t)
	}
}

// stmt goes through a statement: what it reads, then what it binds.
func (s *scope) stmt(t Stmt) {
	switch t := t.(type) {
	case *Bind:
		s.expr(t.Value)
		for _, n := range t.Targets {
			if t.Op != Assign {
				s.read(use{name: n.Name, at: n.Start})
			} else {
				s.bind(n.Name)
			}
		}
	case *FuncDef:
		s.bind(t.Name)
		s.inner(t.Params, func(in *scope) { in.stmts(t.Body.Stmts) })
	case *GradDef:
		s.inner(append(slices.Clone(t.Params), t.Upstream), func(in *scope) {
			for _, e := range t.Bodies {
				in.expr(e)
			}
		})
	case *If:
		s.branch(t)
	case *While:
		s.expr(t.Cond)
		s.stmts(t.Body.Stmts)
	case *For:
		s.expr(t.In)
		for _, n := range t.Names {
			s.bind(n.Name)
		}
		s.stmts(t.Body.Stmts)
	case *NoGradient:
		s.stmts(t.Body.Stmts)
	case *Block:
		s.stmts(t.Stmts)
	case *Watch:
		for _, n := range t.Names {
			s.read(use{name: n.Name, at: n.Start})
		}
	case *ExprStmt:
		s.expr(t.X)
	}
}

// branch surveys an if: afterwards is bound what every branch binds, and may be what some do.
func (s *scope) branch(t *If) {
	s.expr(t.Cond)
	before := s.bound
	run := func(body Stmt) map[string]bool {
		s.bound = maps.Clone(before)
		switch body := body.(type) {
		case *Block:
			s.stmts(body.Stmts)
		case *If:
			s.branch(body)
		}
		return s.bound
	}
	then, other := run(t.Then), run(t.Else)
	s.bound = before
	for _, some := range []map[string]bool{then, other} {
		for name := range some {
			s.bound[name] = then[name] && other[name]
		}
	}
}

// inner surveys a function. What it reads from outside it may find there later, too.
func (s *scope) inner(params []Param, body func(*scope)) {
	in := newScope()
	for _, p := range params {
		in.bind(p.Name)
	}
	body(in)
	in.finish()
	for _, u := range in.uses {
		if !s.bound[u.name] {
			s.later = append(s.later, u)
		}
	}
}

// finish settles what functions read, once all bindings are known.
func (s *scope) finish() {
	for _, u := range s.later {
		if !s.ever[u.name] {
			s.uses = append(s.uses, u)
		}
	}
}

// expr surveys an expression.
func (s *scope) expr(e Expr) {
	Walk(e, func(n any) bool {
		switch n := n.(type) {
		case *Name:
			s.read(use{name: n.Name, at: n.Start})
		case *Call:
			f, ok := n.Fun.(*Name)
			if !ok {
				return true
			}
			s.read(use{name: f.Name, at: f.Start, called: true})
			for _, a := range n.Args {
				s.expr(a.Value)
			}
			return false
		case *Lambda:
			s.inner(n.Params, func(in *scope) { in.expr(n.Body) })
			return false
		}
		return true
	})
}
