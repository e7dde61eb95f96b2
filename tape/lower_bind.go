package tape

import "nabla/expr"

// bind runs an assignment. What := and += do to a variable they do not do to a name
// that = has bound: there v += e is v = v + e, and so the gradient passes.
func (lo *lowering) bind(s *expr.Bind) value {
	x := lo.scope.find(s.Targets[0].Name)
	if s.Var || s.Op != expr.Assign && (x == nil || x.state != nil) {
		return lo.assign(s, x)
	}
	before := Ref(lo.t.Len())
	v := lo.increased(s, x)
	if len(s.Targets) == 1 {
		return lo.set(s.Targets[0].Name, lo.named(v, before, s.Value))
	}
	parts := lo.elements(v, s.Value)
	if len(parts) != len(s.Targets) {
		lo.advise(s.Value, "type", "write a name for each value, or one for all and t[0], t[1], …", "%d names for %d values", len(s.Targets), len(parts))
	}
	for i, n := range s.Targets {
		lo.set(n.Name, lo.named(parts[i], before, s.Value))
	}
	return v
}

// set binds a name in this scope.
func (lo *lowering) set(name string, v value) value {
	lo.own(v)
	if lo.scope == lo.top {
		lo.memo.forget()
	}
	if x, ok := lo.scope.names[name]; ok && x.state == nil {
		x.val, x.unsure = v, false
	} else { // a variable's slot stays with the variable
		lo.scope.names[name] = &slot{val: v}
	}
	lo.bound = name
	if r, ok := v.(Ref); ok && lo.body == 0 {
		lo.t.name(r, name)
	}
	return v
}

// increased is what a statement gives its name, which has the value of x: e, or by += and
// -= the sum.
func (lo *lowering) increased(s *expr.Bind, x *slot) value {
	v := lo.eval(s.Value)
	op := opAdd
	switch s.Op {
	case expr.SubState:
		op = opSub
	case expr.AddState:
	default:
		return v
	}
	name := s.Targets[0]
	lo.mark(name, s.OpPos)
	return lo.t.Apply(op, lo.ref(x.val, name), lo.ref(v, s.Value))
}

// named gives a value that is about to be bound an identity of its own: two names of
// equal but separately computed values stay two sources.
func (lo *lowering) named(v value, before Ref, from expr.Expr) value {
	r, ok := v.(Ref)
	if !ok {
		return lo.stopped(v)
	}
	if len(lo.off) > 0 {
		return lo.stopped(v)
	}
	if _, plain := from.(*expr.Name); !plain && r < before && lo.t.Active(r) {
		return lo.t.Apply(opAlias, r)
	}
	return v
}

// own marks a value that is about to have a name.
func (lo *lowering) own(v value) value {
	eachLeaf(v, func(x value) {
		if r, ok := x.(Ref); ok {
			lo.t.ins[r].flags |= flagNamed
		}
	})
	return v
}

// name remembers what a value is called, for explain.
func (t *Tape) name(r Ref, name string) {
	if t.names == nil {
		t.names = map[Ref]string{}
	}
	if _, ok := t.names[r]; !ok && len(t.names) < 10000 {
		t.names[r] = name
	}
}

// assign runs var v = e, and v := e, v += e and v -= e of the variable x.
func (lo *lowering) assign(s *expr.Bind, x *slot) value {
	lo.memo.forget()
	name := s.Targets[0]
	if lo.t.inBranch() {
		panic(&notRolled{"a variable in a branch"})
	}
	if x == nil && !s.Var {
		lo.unknown(name)
	}
	v := lo.increased(s, x)
	r, ok := v.(Ref)
	if !ok {
		lo.fail(s.Value, "type", "a variable holds one tensor, not %s", describe(v))
	}
	if s.Var {
		x = &slot{state: &state{name: name.Name}}
		lo.scope.names[name.Name] = x
	}
	lo.t.pos = s.OpPos
	n := lo.assigned(x, r, "assigned to "+name.Name+" at "+lo.place(s.OpPos)+": "+blocks)
	lo.bound = name.Name
	lo.t.name(n, name.Name)
	return n
}

const blocks = "state blocks the gradient"

// assigned makes r what a variable is from here on.
func (lo *lowering) assigned(x *slot, r Ref, why string) Ref {
	lo.memo.forget()
	n := lo.t.add(opAssign, lo.t.ins[r].shape, lo.t.ins[r].dtype, lo.t.newAttr(Attr{Text: why}), r)
	if x.state.frozen == "" && lo.t.ins[n].dtype.IsFloat() {
		lo.t.ins[n].flags |= flagActive
	}
	x.state.versions = append(x.state.versions, n)
	x.val = n
	return n
}

// watch makes names sources, or constants by unwatch.
func (lo *lowering) watch(s *expr.Watch) {
	lo.memo.forget()
	for _, n := range s.Names {
		x := lo.scope.find(n.Name)
		if x == nil {
			lo.unknown(n)
		}
		r, ok := x.val.(Ref)
		if !ok {
			lo.fail(n, "type", "only tensors are watched, %s is %s", n.Name, describe(x.val))
		}
		if s.Off {
			x.val = lo.t.stop(r, "unwatch "+n.Name+" at "+lo.place(s.Start))
			continue
		}
		if !lo.t.DTypeOf(r).IsFloat() {
			lo.fail(n, "type", "%s is %v: only floats have gradients", n.Name, lo.t.DTypeOf(r))
		}
		if lo.t.Active(r) { // a source already
			continue
		}
		w := lo.t.add(opAlias, lo.t.ins[r].shape, lo.t.ins[r].dtype, 0, r)
		lo.t.ins[w].flags |= flagActive
		x.val = w
		if x.state == nil {
			lo.t.name(w, n.Name)
			continue
		}
		if x.state.frozen != "" {
			x.state.versions, x.state.lent = nil, true
		}
		x.state.frozen = ""
		x.state.versions = append(x.state.versions, w)
	}
}

// reset forgets what was recorded: what names have is constant from here on.
func (lo *lowering) reset(why string) {
	lo.memo.forget()
	for s := lo.scope; s != nil; s = s.parent {
		for _, x := range s.names {
			if x.state == nil {
				x.val = mapRefs(x.val, func(r Ref) Ref { return lo.t.stop(r, why) })
				continue
			}
			r, ok := x.val.(Ref)
			if !ok || !lo.t.Active(r) {
				continue
			}
			x.state.past = append(x.state.past, x.state.versions...)
			if x.state.lent { // as in TensorFlow, where only variables are watched again
				x.val, x.state.versions, x.state.frozen, x.state.lent = lo.t.stop(r, why), nil, why, false
				continue
			}
			// a variable stays watched: what was recorded of it is forgotten
			n := lo.t.add(opAssign, lo.t.ins[r].shape, lo.t.ins[r].dtype, lo.t.newAttr(Attr{Text: why}), r)
			lo.t.ins[n].flags |= flagActive
			x.val, x.state.versions = n, []Ref{n}
		}
	}
}

// stopped wraps values made while recording is off.
func (lo *lowering) stopped(v value) value {
	if len(lo.off) == 0 {
		return v
	}
	why := lo.off[len(lo.off)-1]
	return mapRefs(v, func(r Ref) Ref { return lo.t.stop(r, why) })
}

// stop records r as a constant, with the reason.
func (t *Tape) stop(r Ref, why string) Ref {
	if !t.Active(r) {
		return r
	}
	return t.add(opStop, t.ins[r].shape, t.ins[r].dtype, t.newAttr(Attr{Text: why}), r)
}
