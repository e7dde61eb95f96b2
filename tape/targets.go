package tape

import (
	"maps"
	"slices"
	"strings"

	"nabla/expr"
	"nabla/tape/tensor"
)

// What is asked about, the targets, and what derivatives are taken by, the sources: as the
// question names them, or the program by itself.

// target finds the targets: --of, or the program's own.
func (s *session) target() {
	if len(s.q.Of) > 0 {
		for _, name := range s.q.Of {
			v, e := s.named(name, "--of")
			s.targets = append(s.targets, asked{name: name, val: v, expr: e})
		}
		s.answer.Several = len(s.q.Of) > 1
		return
	}
	stmts := s.q.Prog.Stmts
	lastStmt := stmts[len(stmts)-1]
	if x, ok := lastStmt.(*expr.ExprStmt); ok {
		name := ""
		if n, ok := x.X.(*expr.Name); ok {
			name = n.Name
		}
		s.targets = []asked{{name: name, val: s.last, expr: x.X}}
		return
	}
	switch lastStmt.(type) {
	case *expr.While, *expr.For, *expr.NoGradient, *expr.Reset, *expr.Watch, *expr.FuncDef, *expr.GradDef:
		s.last = nil
	}
	if s.last == nil { // the last bound name is the target
		x := s.lo.top.find(s.lo.bound)
		if x == nil || x.val == nil {
			s.lo.cur = &expr.Name{Span: lastStmt.Where()}
			panic(&Misuse{Kind: "syntax", Msg: "the program computes nothing: it needs an expression as its target", Pos: expr.NoPos})
		}
		s.targets = []asked{{name: s.lo.bound, val: x.val, expr: &expr.Name{Span: lastStmt.Where()}}}
		return
	}
	t := asked{val: s.last, expr: &expr.Name{Span: lastStmt.Where()}}
	if b, ok := lastStmt.(*expr.Bind); ok {
		t.expr = b.Value
		if len(b.Targets) == 1 {
			t.name = b.Targets[0].Name
			t.val = s.lo.top.find(t.name).val
		} else {
			tup := &tuple{}
			for _, n := range b.Targets {
				tup.elems = append(tup.elems, s.lo.top.find(n.Name).val)
			}
			t.val = tup
		}
	}
	s.targets = []asked{t}
}

// named finds a name given on the command line, such as w, model.w or p[0].
func (s *session) named(path, flag string) (value, expr.Expr) {
	if e, _, err := expr.ParseExpr("", path); err == nil {
		if v, ok := s.lo.part(e); ok && v != nil {
			return v, &expr.Name{Span: expr.Span{Start: expr.NoPos, End: expr.NoPos}}
		}
	}
	var names []string
	for n, x := range s.lo.top.names {
		switch x.val.(type) {
		case Ref, *tuple, *record:
			names = append(names, n)
		}
	}
	slices.Sort(names)
	m := &Misuse{Kind: "name", Msg: flag + " " + path + ": the program has no " + path}
	m.Flag, m.Pos = &expr.Program{Text: flag + " " + path}, expr.Pos(len(flag)+1)
	root, _, _ := strings.Cut(path, "[")
	element := false
	if x := s.lo.top.names[root]; x != nil && root != path {
		_, element = x.val.(Ref)
	}
	if element {
		m.Hint = "an element has no name: " + flag + " " + root + ", or a name for it in the program"
	} else if list := strings.FieldsFunc(path, func(c rune) bool { return strings.ContainsRune(" ,()[]{}", c) }); len(list) > 1 {
		m.Hint = "names are separated by commas: " + flag + " " + strings.Join(list, ",")
	} else if g := expr.Suggest(path, names); g != "" {
		m.Hint = "did you mean " + g + "?"
	} else if len(names) > 0 {
		m.Hint = "it has " + expr.Some(names)
	}
	panic(m)
}

// sources finds the sources, as a record by name.
func (s *session) sources() *record {
	n := max(len(s.q.Wrt), len(s.q.Inputs))
	out := &record{names: make([]string, 0, n), elems: make([]value, 0, n)}
	var seen map[string]bool
	if n > few {
		seen = make(map[string]bool, n)
	}
	add := func(name string, tree value) {
		if seen[name] || seen == nil && slices.Contains(out.names, name) {
			return
		}
		if seen != nil {
			seen[name] = true
		}
		out.names, out.elems = append(out.names, name), append(out.elems, tree)
	}
	if s.q.Wrt == nil {
		for _, in := range s.q.Inputs {
			if s.frozenAll(in) {
				continue
			}
			add(in.Name, s.sourceTree(in))
		}
		if len(out.names) == 0 {
			s.lo.cur = nil
			panic(&Misuse{Kind: "usage", Pos: expr.NoPos, Msg: "nothing to differentiate by: the program has no variable", Hint: s.noVariable()})
		}
		return out
	}
	for _, w := range s.q.Wrt {
		if tree := s.inputTree(w); tree != nil {
			add(w, tree)
			continue
		}
		v, _ := s.named(w, "--wrt")
		add(w, s.lo.asSource(w, v))
	}
	return out
}

// noVariable is how a program without a variable gets one.
func (s *session) noVariable() string {
	if len(s.q.Inputs) > 0 {
		return s.q.Inputs[0].Name + " is a constant: --watch " + s.q.Inputs[0].Name + " makes it a variable"
	}
	for _, n := range slices.Sorted(maps.Keys(s.lo.top.names)) {
		if r, ok := s.lo.top.names[n].val.(Ref); ok && s.t.Active(r) {
			return "--wrt " + n + " takes it by what the program watches"
		}
		if r, ok := s.lo.top.names[n].val.(Ref); ok && s.t.ins[r].Op() == opConst {
			return "the program itself gives " + n + " its value: leave that to --at " + n + "=…; nabla eval gives the value alone"
		}
	}
	return "--at x=… gives one; nabla eval gives the value alone"
}

// frozenAll reports whether nobody watches any part of an input: not the question, nor the
// program.
func (s *session) frozenAll(in Input) bool {
	any, all := false, true
	in.Value.Leaves(in.Name, func(path string, _ *tensor.Value) {
		if r, ok := s.leaf(path); ok {
			any = true
			all = all && s.lo.leaves[r].state.frozen != ""
		}
	})
	if !any { // a tensor that is none
		return in.Const || s.q.NoWatch
	}
	return all
}

// inputTree is the tree of sources of an input: with respect to an input's name always
// means the input, whatever the program has bound the name to since.
func (s *session) inputTree(name string) value {
	if in := s.inputNamed(name); in != nil {
		return s.sourceTree(*in)
	}
	return nil
}

// inputNamed is the first input of that name, or nil. Few are looked at one by one.
func (s *session) inputNamed(name string) *Input {
	list := s.q.Inputs
	if len(list) <= few {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
		return nil
	}
	if s.inputOf == nil {
		s.inputOf = make(map[string]*Input, len(list))
		for i := range slices.Backward(list) {
			s.inputOf[list[i].Name] = &list[i]
		}
	}
	return s.inputOf[name]
}

func (s *session) sourceTree(in Input) value {
	return structured(in.Name, in.Value, func(path string, _ *tensor.Value) value { return s.leafSource(path) })
}

// leafSource is the tensor of an input at path as a source.
func (s *session) leafSource(path string) value {
	if r, ok := s.leaf(path); ok {
		// the versions belong to the variable even when its name is bound anew
		state := s.lo.leaves[r].state
		return s.lo.slotSource(path, &slot{val: state.current(r), state: state})
	}
	return &source{name: path, why: path + " has no value"}
}

// leaf is the first leaf of that name. Few are looked at one by one.
func (s *session) leaf(path string) (Ref, bool) {
	if len(s.leaves) <= few {
		for _, r := range s.leaves {
			if r != None && s.lo.leaves[r].state.name == path {
				return r, true
			}
		}
		return None, false
	}
	if s.leafOf == nil {
		s.leafOf = make(map[string]Ref, len(s.leaves))
		for _, r := range slices.Backward(s.leaves) {
			if r != None {
				s.leafOf[s.lo.leaves[r].state.name] = r
			}
		}
	}
	r, ok := s.leafOf[path]
	return r, ok
}

// current is the current version of a variable, or its first.
func (st *state) current(first Ref) Ref {
	if n := len(st.versions); n > 0 {
		return st.versions[n-1]
	}
	return first
}
