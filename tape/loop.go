package tape

import (
	"math"
	"slices"

	"nabla/expr"
	"nabla/tape/tensor"
)

// A loop of many steps over single numbers is one instruction. Its body is recorded
// once, on a tape of its own, with placeholders for what changes from step to step; a
// small interpreter runs it at a few nanoseconds an operation, and memory grows by the
// carried values alone.
//
// The adjoint of a loop is a loop: it runs backwards, reads the carried values that the
// forward loop kept, computes the body again and then the body's VJP. So derivatives of
// every order stay loops.
//
// Whatever does not fit — tensors that change, conditions on what changes, derivatives
// or random numbers inside — is unrolled step by step as ever; nothing but speed tells
// the two apart.

// A loop describes one.
type loop struct {
	body *Tape
	n    int
	back bool // steps run from n-1 down to 0

	from, by float64 // the value of the index: from + by * step
	index    Ref     // its placeholder, or None

	carry   []Ref // placeholders of carried values
	next    []Ref // what they become
	consts  []Ref // placeholders of values that do not change
	columns []Ref // placeholders that take element i of an array at step i
	loads   []Ref // opLoad instructions, in order; their arrays are given first
	outs    []Ref // what every step puts out, a column each

	arrays  int      // arrays that loads read; the columns' arrays follow
	lengths []int    // of the arrays
	keeps   int      // outs from here on are what was carried into the step, if kept
	deps    [][]bool // for each carried value: which arguments it takes a derivative from
}

// The arguments of a loop instruction: carried values, constants, arrays of loads,
// arrays of columns. Its value: the last carried values, then the columns of outs.

var opLoop, opSlot, opLoad *Op

func init() {
	opSlot = &Op{Name: "slot", Hidden: true, Doc: "a placeholder in the body of a loop", Stops: "a placeholder", Run: runLeaf}
	opLoad = &Op{Name: "load", Args: "at", Hidden: true, Doc: "an element of an array in the body of a loop", Stops: "an index is not differentiable", Run: runLeaf}
	opLoop = &Op{Name: "loop", Args: "*x", Hidden: true, Doc: "a loop over single numbers", Run: runLoop,
		Flops: func(t *Tape, r Ref) float64 {
			l := t.Attr(r).Loop
			code, _, _ := l.compile()
			return float64(l.n) * float64(len(code))
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref { return t.loopAdjoint(r, i, ct) }}
	register("control", []*Op{opLoop, opSlot, opLoad})
}

// notRolled is what a body panics with that cannot be one instruction.
type notRolled struct{ why string }

// rollFrom is the number of steps from which a loop is worth rolling.
const rollFrom = 64

// An outerArray stands, in a body, for a vector of the program around it.
type outerArray struct {
	lo    *rolling
	index int
	n     int
}

// rolling is the attempt to record one body.
type rolling struct {
	outer *lowering
	inner *lowering
	l     *loop
	sub   *Tape

	args   []Ref       // constants of the outer program
	consts map[Ref]Ref // outer value → placeholder
	vecs   []Ref       // vectors of the outer program
	seen   map[*slot]*slot
}

// roll tries to record for NAMES in range as one instruction; false leaves it to be
// unrolled. Nothing is changed unless it succeeds.
func (lo *lowering) roll(s *expr.For, from, step float64, n int) (ok bool) {
	if n < rollFrom || lo.rolled || len(lo.off) > 0 || len(s.Names) != 1 {
		return false
	}
	return lo.rollBody(s.Body, s.Names[0].Name, nil, n, from, step)
}

// rollBody does the work of roll. With a condition it is a while loop, whose number of
// steps is found by running it.
func (lo *lowering) rollBody(b *expr.Block, index string, cond expr.Expr, n int, from, step float64) (ok bool) {
	assigned, fits := assignedNames(b.Stmts)
	if !fits {
		return false
	}
	pos, cur := lo.t.pos, lo.cur
	defer func() {
		if p := recover(); p != nil {
			lo.t.pos, lo.cur = pos, cur
			switch m := p.(type) {
			case *notRolled:
				ok = false
			case *Misuse:
				if m.Code == 5 || m.Code == 130 { // out of memory or time: so it would be unrolled
					panic(p)
				}
				ok = false // unrolled, the mistake will be found again, with its step
			default:
				panic(p)
			}
		}
	}()
	ro := &rolling{outer: lo, sub: New(), l: &loop{n: n, from: from, by: step, index: None}, consts: map[Ref]Ref{}, seen: map[*slot]*slot{}}
	ro.sub.DType, ro.sub.Limit = lo.t.DType, lo.t.Limit
	ro.l.body, ro.sub.isBody = ro.sub, true
	in := newLowering(ro.sub, lo.prog)
	in.rolled, in.check, in.body, in.depth, in.grads = true, lo.check, lo.body, lo.depth, lo.grads
	in.warn = func(Warning) { panic(&notRolled{"a warning"}) }
	ro.inner = in
	frame := &scope{names: map[string]*slot{}}
	in.top, in.scope = frame, frame

	// what the loop carries: assigned names that exist, then temporaries
	var names []string
	var inits []Ref
	for _, name := range assigned {
		if name == index {
			continue
		}
		if x := lo.scope.names[name]; x != nil && x.val != nil {
			r, isRef := x.val.(Ref)
			if !isRef || x.state != nil || !lo.plainNumber(r) {
				return false
			}
			names, inits = append(names, name), append(inits, r)
		} else if lo.scope.find(name) != nil {
			return false // a name of an outer scope is bound anew here
		}
	}
	carried := len(names)
	for _, name := range assigned {
		if name != index && !slices.Contains(names, name) {
			names, inits = append(names, name), append(inits, None)
		}
	}
	for i, name := range names {
		if i < carried {
			dt := lo.t.DTypeOf(inits[i])
			if !dt.IsFloat() {
				dt = lo.t.DType
			}
			p := ro.slot(dt)
			ro.l.carry = append(ro.l.carry, p)
			frame.names[name] = &slot{val: p}
		}
	}
	if index != "" {
		ro.l.index = ro.slot(tensor.Int64)
		ro.sub.ins[ro.l.index].flags &^= flagActive
		frame.names[index] = &slot{val: ro.l.index}
	}
	for name := range usedNames(b, cond) {
		if _, mine := frame.names[name]; mine || slices.Contains(names, name) {
			continue
		}
		if x := lo.scope.find(name); x != nil {
			frame.names[name] = ro.slotOf(x)
		}
	}
	var go1 Ref = None
	if cond != nil {
		go1 = in.evalRef(cond)
	}
	in.block(b.Stmts)
	for i, name := range names {
		x := frame.names[name]
		if x == nil {
			return false
		}
		r, isRef := x.val.(Ref)
		if !isRef || ro.sub.ins[r].shape != 0 || ro.sub.ins[r].batch != 0 {
			return false
		}
		if i < carried && ro.sub.DTypeOf(r) != ro.sub.DTypeOf(ro.l.carry[i]) {
			return false
		}
		if i >= carried && ro.sub.DTypeOf(r) != lo.t.DType {
			return false
		}
		if i >= carried { // a temporary: carried for its last value only
			ro.l.carry = append(ro.l.carry, ro.slot(ro.sub.DTypeOf(r)))
			inits[i] = lo.t.Const(0)
		}
		ro.l.next = append(ro.l.next, r)
	}
	if !ro.l.compilable(go1) {
		return false
	}
	args := append(slices.Clone(inits), ro.args...)
	args = append(args, ro.vecs...)
	ro.l.arrays = len(ro.vecs)
	for _, v := range ro.vecs {
		ro.l.lengths = append(ro.l.lengths, lo.t.Shape(v)[0])
	}
	if cond != nil {
		if ro.l.n = ro.count(args, go1); ro.l.n < rollFrom {
			return false
		}
	}
	ro.l.findDeps(len(ro.args))
	// what was carried into each step is kept for the way back
	active := false
	for _, a := range args {
		active = active || lo.t.Active(a)
	}
	if active {
		ro.l.outs = slices.Clone(ro.l.carry)
	}
	r := lo.t.loop(ro.l, args)
	for i, name := range names {
		v := lo.t.blockOf(r, i, nil)
		lo.t.ins[v].dtype = ro.sub.DTypeOf(ro.l.next[i])
		if !ro.l.dependsOnActive(i, args, lo.t) {
			lo.t.ins[v].flags &^= flagActive
		}
		lo.set(name, v)
	}
	if index != "" && n > 0 {
		lo.set(index, lo.t.constOf(from+step*float64(n-1), tensor.Int64))
	}
	return true
}

// plainNumber reports whether a loop can carry or use r: one number, of shape ().
func (lo *lowering) plainNumber(r Ref) bool {
	in := &lo.t.ins[r]
	return in.shape == 0 && in.batch == 0
}

// slot makes a placeholder in the body.
func (ro *rolling) slot(dt tensor.DType) Ref {
	r := ro.sub.push(Instr{Op: opSlot, dtype: dt, Pos: expr.NoPos})
	if dt.IsFloat() {
		ro.sub.ins[r].flags |= flagActive
	}
	return r
}

// slotOf translates what an outer name is bound to.
func (ro *rolling) slotOf(x *slot) *slot {
	if y, ok := ro.seen[x]; ok {
		return y
	}
	y := &slot{}
	ro.seen[x] = y
	y.val = ro.translate(x.val)
	return y
}

func (ro *rolling) translate(v value) value {
	switch v := v.(type) {
	case Ref:
		return ro.constant(v)
	case *tuple:
		out := &tuple{}
		for _, e := range v.elems {
			out.elems = append(out.elems, ro.translate(e))
		}
		return out
	case *record:
		out := &record{names: v.names}
		for _, e := range v.elems {
			out.elems = append(out.elems, ro.translate(e))
		}
		return out
	case *closure:
		if v.grad != nil {
			panic(&notRolled{"a custom gradient"})
		}
		f := *v
		f.scope = &scope{names: map[string]*slot{}}
		var used map[string]bool
		if v.result != nil {
			used = usedNames(nil, v.result)
		} else {
			used = usedNames(v.body, nil)
		}
		for name := range used {
			if x := v.scope.find(name); x != nil {
				f.scope.names[name] = ro.slotOf(x)
			}
		}
		return &f
	case string, *none:
		return v
	}
	panic(&notRolled{"a value that a loop cannot hold"})
}

// constant gives an outer tensor its place: a number a placeholder, a vector an array.
func (ro *rolling) constant(r Ref) value {
	t := ro.outer.t
	in := &t.ins[r]
	if in.batch == 0 && len(t.Shape(r)) == 1 {
		for i, v := range ro.vecs {
			if v == r {
				return &outerArray{ro, i, t.Shape(r)[0]}
			}
		}
		ro.vecs = append(ro.vecs, r)
		return &outerArray{ro, len(ro.vecs) - 1, t.Shape(r)[0]}
	}
	if !ro.outer.plainNumber(r) {
		panic(&notRolled{"a tensor"})
	}
	if c, ok := t.constant(r); ok {
		return ro.sub.constOf(c, in.dtype)
	}
	if p, ok := ro.consts[r]; ok {
		return p
	}
	p := ro.slot(in.dtype)
	if !t.Active(r) {
		ro.sub.ins[p].flags &^= flagActive
	}
	ro.consts[r] = p
	ro.l.consts = append(ro.l.consts, p)
	ro.args = append(ro.args, r)
	return p
}

// load records x[i] of an outer vector.
func (a *outerArray) load(i Ref) Ref {
	ro := a.lo
	sub := ro.sub
	if sub.ins[i].shape != 0 {
		panic(&notRolled{"an index tensor"})
	}
	v := ro.outer.t
	r := sub.add(opLoad, 0, v.DTypeOf(ro.vecs[a.index]), 0, i)
	sub.ins[r].args[1] = Ref(a.index)
	if v.DTypeOf(ro.vecs[a.index]).IsFloat() {
		sub.ins[r].flags |= flagActive
	}
	ro.l.loads = append(ro.l.loads, r)
	return r
}

// assignedNames lists the names that statements bind, in order; false when there is a
// statement that a rolled body cannot have.
func assignedNames(stmts []expr.Stmt) (names []string, ok bool) {
	ok = true
	add := func(n string) {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	for _, s := range stmts {
		switch s := s.(type) {
		case *expr.Bind:
			if s.Var || s.Op != expr.Assign {
				return nil, false
			}
			for _, n := range s.Targets {
				add(n.Name)
			}
		case *expr.For:
			for _, n := range s.Names {
				add(n.Name)
			}
			inner, fine := assignedNames(s.Body.Stmts)
			if !fine {
				return nil, false
			}
			for _, n := range inner {
				add(n)
			}
		case *expr.ExprStmt:
		default:
			return nil, false
		}
	}
	return names, ok
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

// A loopOp is one operation of a compiled body.
type loopOp struct {
	kind    loopKind
	dst     int32
	a, b, c int32
	op      *Op
	array   int32
	index   int32 // index value's row, for messages
}

type loopKind uint8

const (
	loopCall1 loopKind = iota
	loopCall2
	loopCall3
	loopAdd
	loopSub
	loopMul
	loopZMul
	loopDiv
	loopNeg
	loopSquare
	loopWhere
	loopCopy
	loopRound
	loopTrunc
	loopLoad
)

// compilable reports whether all that next, outs and cond need can be compiled.
func (l *loop) compilable(cond Ref) bool {
	want := append(slices.Clone(l.next), l.outs...)
	if cond != None {
		want = append(want, cond)
	}
	for r, on := range l.body.live(want) {
		if on && !l.body.known(Ref(r)) {
			if _, ok := l.kindOf(Ref(r)); !ok {
				return false
			}
		}
	}
	return true
}

func (l *loop) kindOf(r Ref) (loopKind, bool) {
	t := l.body
	in := &t.ins[r]
	if in.shape != 0 || in.batch != 0 {
		return 0, false
	}
	switch in.Op {
	case opSlot:
		return 0, true
	case opLoad:
		return loopLoad, true
	case opAdd:
		return loopAdd, true
	case opSub:
		return loopSub, true
	case opMul:
		return loopMul, true
	case opZMul:
		return loopZMul, true
	case opDiv:
		return loopDiv, true
	case opNeg:
		return loopNeg, true
	case opSquare:
		return loopSquare, true
	case opWhere:
		return loopWhere, true
	case opAlias, opStop, opReshape, opBroadcast, opWithGrad, table["stop_gradient"]:
		return loopCopy, true
	case opCast:
		if in.dtype == tensor.Int64 {
			return loopTrunc, true
		}
		return loopCopy, in.dtype != tensor.Bool
	}
	switch {
	case in.Op.f1 != nil:
		return loopCall1, true
	case in.Op.f2 != nil:
		return loopCall2, true
	case in.Op.f3 != nil:
		return loopCall3, true
	}
	return 0, false
}

// compile turns the body into code over slots: the placeholders and constants first,
// then one slot for each operation. extra are wanted beside next and outs.
func (l *loop) compile(extra ...Ref) (code []loopOp, place map[Ref]int32, start []float64) {
	t := l.body
	place = map[Ref]int32{}
	slot := func(r Ref, v float64) {
		if _, ok := place[r]; !ok {
			place[r] = int32(len(start))
			start = append(start, v)
		}
	}
	for _, g := range [][]Ref{l.carry, l.consts, l.columns} {
		for _, r := range g {
			slot(r, 0)
		}
	}
	if l.index != None {
		slot(l.index, 0)
	}
	want := slices.Concat(l.next, l.outs, extra)
	for i, on := range t.live(want) {
		r := Ref(i)
		if !on {
			continue
		}
		in := &t.ins[r]
		if t.known(r) {
			slot(r, t.num[r])
			continue
		}
		if in.Op == opSlot {
			if _, ok := place[r]; !ok {
				panic("tape: a loop's body has a placeholder that nothing fills")
			}
			continue
		}
		if _, ok := place[r]; ok {
			continue // an operation of the forward body that is read from a column now
		}
		k, ok := l.kindOf(r)
		if !ok {
			panic("tape: a loop's body has " + in.Op.Name)
		}
		o := loopOp{kind: k, op: in.Op, index: -1}
		args := t.Args(r)
		dst := [3]*int32{&o.a, &o.b, &o.c}
		for i, a := range args {
			if i < 3 {
				*dst[i] = place[a]
			}
			if k == loopCopy {
				break
			}
		}
		if k == loopLoad {
			o.array = int32(in.args[1])
		}
		slot(r, 0)
		o.dst = place[r]
		code = append(code, o)
		if in.dtype == tensor.Float32 {
			code = append(code, loopOp{kind: loopRound, dst: o.dst, a: o.dst})
		}
	}
	return code, place, start
}

// step runs the code once.
func stepLoop(code []loopOp, v []float64, arrays [][]float64) {
	for i := range code {
		o := &code[i]
		switch o.kind {
		case loopAdd:
			v[o.dst] = v[o.a] + v[o.b]
		case loopMul:
			v[o.dst] = v[o.a] * v[o.b]
		case loopSub:
			v[o.dst] = v[o.a] - v[o.b]
		case loopZMul:
			if x, y := v[o.a], v[o.b]; x == 0 || y == 0 {
				v[o.dst] = 0
			} else {
				v[o.dst] = x * y
			}
		case loopDiv:
			v[o.dst] = v[o.a] / v[o.b]
		case loopNeg:
			v[o.dst] = -v[o.a]
		case loopSquare:
			v[o.dst] = v[o.a] * v[o.a]
		case loopWhere:
			if v[o.a] != 0 {
				v[o.dst] = v[o.b]
			} else {
				v[o.dst] = v[o.c]
			}
		case loopCopy:
			v[o.dst] = v[o.a]
		case loopRound:
			v[o.dst] = float64(float32(v[o.a]))
		case loopTrunc:
			v[o.dst] = math.Trunc(v[o.a])
		case loopLoad:
			x := arrays[o.array]
			k := int(v[o.a])
			if k < 0 {
				k += len(x)
			}
			if uint(k) >= uint(len(x)) || v[o.a] != math.Trunc(v[o.a]) {
				panic(&badLoad{v[o.a], len(x)})
			}
			v[o.dst] = x[k]
		case loopCall1:
			v[o.dst] = o.op.f1(v[o.a])
		case loopCall2:
			v[o.dst] = o.op.f2(v[o.a], v[o.b])
		default:
			v[o.dst] = o.op.f3(v[o.a], v[o.b], v[o.c])
		}
	}
}

// badLoad is an index outside an array.
type badLoad struct {
	at float64
	n  int
}

// loop records a loop instruction.
func (t *Tape) loop(l *loop, args []Ref) Ref {
	n := len(l.next) + len(l.outs)*l.n
	r := t.add(opLoop, t.shapeID(tensor.Shape{n}), t.DType, t.newAttr(Attr{Loop: l}), args...)
	return r
}

// runLoop runs all steps.
func runLoop(c *run) {
	l := c.attr.Loop
	code, place, start := l.compile()
	v := slices.Clone(start)
	k, m := len(l.carry), len(l.consts)
	for i, p := range l.carry {
		v[place[p]] = c.args[i][0]
	}
	for i, p := range l.consts {
		v[place[p]] = c.args[k+i][0]
	}
	arrays := c.args[k+m : k+m+l.arrays]
	columns := c.args[k+m+l.arrays:]
	outs := c.out[len(l.next):]
	next, out := make([]int32, len(l.next)), make([]int32, len(l.outs))
	for i, r := range l.next {
		next[i] = place[r]
	}
	for i, r := range l.outs {
		out[i] = place[r]
	}
	col := make([]int32, len(l.columns))
	for i, p := range l.columns {
		col[i] = place[p]
	}
	carry := make([]int32, k)
	for i, p := range l.carry {
		carry[i] = place[p]
	}
	index := int32(-1)
	if l.index != None {
		index = place[l.index]
	}
	moved := make([]float64, k)
	s := 0
	defer func() {
		if p := recover(); p != nil {
			if b, ok := p.(*badLoad); ok {
				c.fail("index "+formatFloat(b.at)+" is out of range for an axis of size "+itoa(b.n)+", in step "+itoa(s)+" of the loop", "")
			}
			panic(p)
		}
	}()
	for step := range l.n {
		s = step
		if l.back {
			s = l.n - 1 - step
		}
		if step&0xffff == 0xffff && c.t.check != nil {
			c.t.check()
		}
		if index >= 0 {
			v[index] = l.from + l.by*float64(s)
		}
		for i, p := range col {
			v[p] = columns[i][s]
		}
		stepLoop(code, v, arrays)
		for i, p := range out {
			outs[i*l.n+s] = v[p]
		}
		for i, p := range next {
			moved[i] = v[p]
		}
		for i, p := range carry {
			v[p] = moved[i]
		}
	}
	for i, p := range carry {
		c.out[i] = v[p]
	}
}

// count runs a while loop to find its number of steps.
func (ro *rolling) count(args []Ref, cond Ref) int {
	t := ro.outer.t
	l := ro.l
	for _, a := range args {
		t.force(a)
	}
	code, place, start := l.compile(cond)
	k := len(l.carry)
	steps := func() int {
		v := slices.Clone(start)
		for i, p := range l.carry {
			v[place[p]] = t.data(args[i])[0]
		}
		for i, p := range l.consts {
			v[place[p]] = t.data(args[k+i])[0]
		}
		var arrays [][]float64
		for _, a := range args[k+len(l.consts):] {
			arrays = append(arrays, t.data(a))
		}
		moved := make([]float64, k)
		for n := 0; ; n++ {
			if n&0xfff == 0 && t.check != nil {
				t.check()
			}
			if n == math.MaxInt32 {
				panic(&notRolled{"too many steps"})
			}
			stepLoop(code, v, arrays)
			if v[place[cond]] == 0 {
				return n
			}
			for i, r := range l.next {
				moved[i] = v[place[r]]
			}
			for i, p := range l.carry {
				v[place[p]] = moved[i]
			}
		}
	}
	n := steps()
	t.log.found(func() bool { return steps() == n })
	return n
}

// findDeps works out from which arguments each carried value takes a derivative, over
// any number of steps: none must stay none.
func (l *loop) findDeps(consts int) {
	t := l.body
	k := len(l.carry)
	total := k + consts + l.arrays
	one := make([][]bool, k)
	for i, r := range l.next {
		one[i] = make([]bool, total)
		reach := map[Ref]bool{r: true}
		for x := r; x >= 0; x-- {
			if !reach[x] {
				continue
			}
			if j := slices.Index(l.carry, x); j >= 0 {
				one[i][j] = true
			}
			if j := slices.Index(l.consts, x); j >= 0 {
				one[i][k+j] = true
			}
			if t.ins[x].Op == opLoad {
				one[i][k+consts+int(t.ins[x].args[1])] = true
				continue
			}
			for j, a := range t.Args(x) {
				if t.ins[x].Op.passes(j) && t.ins[x].dtype.IsFloat() && t.ins[a].dtype.IsFloat() {
					reach[a] = true
				}
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for i := range one {
			for j := range k {
				if !one[i][j] {
					continue
				}
				for a := range total {
					if one[j][a] && !one[i][a] {
						one[i][a], changed = true, true
					}
				}
			}
		}
	}
	l.deps = one
}

// dependsOnActive reports whether carried value i depends on a source.
func (l *loop) dependsOnActive(i int, args []Ref, t *Tape) bool {
	for j, on := range l.deps[i] {
		if on && t.Active(args[j]) {
			return true
		}
	}
	return false
}

// loopAdjoint gives the cotangent of argument i of loop r: all arguments come from one
// backward loop, which is recorded once.
func (t *Tape) loopAdjoint(r Ref, i int, ct Ref) Ref {
	if t.lastLoop.r != r || t.lastLoop.ct != ct {
		t.lastLoop = loopBack{r: r, ct: ct, gs: t.loopBackward(r, t.full(ct, r))}
	}
	return t.lastLoop.gs[i]
}

// loopBack remembers the last backward loop.
type loopBack struct {
	r, ct Ref
	gs    []Ref
}

// loopBackward records the backward loop of r.
func (t *Tape) loopBackward(r Ref, ct Ref) []Ref {
	l := t.Attr(r).Loop
	args := slices.Clone(t.Args(r))
	k, m, p, q := len(l.carry), len(l.consts), l.arrays, len(l.columns)
	body := l.body
	used := t.loopUsed[r]

	// Seeds: the cotangents of the carried values after the step, carried themselves,
	// and of the step's outputs, read from columns.
	b := &loop{body: body, n: l.n, back: !l.back, from: l.from, by: l.by, index: l.index, arrays: p, lengths: l.lengths}
	slot := func(dt tensor.DType) Ref {
		x := body.push(Instr{Op: opSlot, dtype: dt, flags: flagActive, Pos: expr.NoPos})
		return x
	}
	var ys, cts []Ref
	for _, y := range l.next {
		s := slot(t.DType)
		b.carry = append(b.carry, s)
		ys, cts = append(ys, y), append(cts, s)
	}
	var outSeeds []Ref
	for _, y := range l.outs {
		s := slot(t.DType)
		outSeeds = append(outSeeds, s)
		ys, cts = append(ys, y), append(cts, s)
	}
	// the loop's own placeholders; what was carried comes from kept columns
	srcs := slices.Concat(l.carry, l.consts, l.columns, l.loads)
	bars := body.VJP(ys, cts, srcs)
	zero := body.Const(0)
	bar := func(i int) Ref {
		if bars[i] == None {
			return zero
		}
		return bars[i]
	}
	needed := func(arg int) bool { return t.loopNeed == nil || t.loopNeed[arg] }
	array := func(ld Ref) int { return k + m + int(body.ins[ld].args[1]) }

	// carried: cotangents of the carried values, then sums for the constants
	for i := range k {
		b.next = append(b.next, bar(i))
	}
	accOf := make([]int, m)
	for i := range m {
		accOf[i] = -1
		if needed(k+i) && bars[k+i] != None {
			acc := slot(t.DType)
			accOf[i] = len(b.carry)
			b.carry = append(b.carry, acc)
			b.next = append(b.next, body.Apply(opAdd, acc, bar(k+i)))
		}
	}
	// outputs: cotangents of the columns, and of the loads with their places
	out := func(y Ref) int {
		b.outs = append(b.outs, y)
		return len(b.outs) - 1
	}
	colOut, loadOut := make([]int, q), make([]int, len(l.loads))
	// The places of loads come from a loop of their own, which has nothing to do with
	// the cotangent: forward mode transposes the backward loop away.
	places := &loop{body: body, n: l.n, from: l.from, by: l.by, index: l.index, arrays: p, lengths: l.lengths}
	for i := range q {
		colOut[i] = -1
		if needed(k+m+p+i) && bars[k+m+i] != None {
			colOut[i] = out(bar(k + m + i))
		}
	}
	for i, ld := range l.loads {
		loadOut[i] = -1
		if needed(array(ld)) && bars[k+m+q+i] != None {
			loadOut[i] = out(bar(k + m + q + i))
			places.outs = append(places.outs, body.Args(ld)[0])
		}
	}
	b.keeps = len(b.outs)
	b.outs = append(b.outs, b.carry...) // for the backward loop's own adjoint

	var in []Ref
	for i := range k {
		in = append(in, t.blockOf(ct, i, nil))
	}
	for range len(b.carry) - k {
		in = append(in, t.Const(0))
	}
	var kept []Ref
	// fill gives a loop over the same body what it really reads
	fill := func(b *loop, in []Ref) []Ref {
		live := body.live(slices.Concat(b.next, b.outs))
		reads := func(r Ref) bool { return int(r) < len(live) && live[r] }
		for i, c := range l.consts {
			if reads(c) {
				b.consts, in = append(b.consts, c), append(in, args[k+i])
			}
		}
		in = append(in, args[k+m:k+m+p]...)
		for _, ld := range l.loads {
			if reads(ld) {
				b.loads = append(b.loads, ld)
			}
		}
		column := func(slot, array Ref) { b.columns, in = append(b.columns, slot), append(in, array) }
		if slices.ContainsFunc(l.carry, reads) {
			if kept == nil {
				kept = t.keptCarry(r, l)
			}
			for i, c := range kept {
				if reads(l.carry[i]) {
					column(l.carry[i], c)
				}
			}
		}
		for i, c := range l.columns {
			if reads(c) {
				column(c, args[k+m+p+i])
			}
		}
		for i, c := range outSeeds {
			if reads(c) {
				column(c, t.blockOf(ct, k+i*l.n, tensor.Shape{l.n}))
			}
		}
		return in
	}
	in = fill(b, in)
	var at Ref
	if len(places.outs) > 0 {
		at = t.loop(places, fill(places, nil))
		t.ins[at].flags &^= flagActive
	}
	g := t.loop(b, in)
	result := func(i int) Ref { return t.blockOf(g, len(b.next)+i*l.n, tensor.Shape{l.n}) }

	// which arguments the used outputs depend on: the others stay none
	reaches := func(arg int) bool {
		if l.deps == nil || used == nil {
			return true
		}
		for i, on := range used {
			if on && i < len(l.deps) && arg < len(l.deps[i]) && (l.deps[i][arg] || i == arg) {
				return true
			}
		}
		return false
	}
	gs := make([]Ref, len(args))
	for i := range gs {
		gs[i] = None
	}
	for i := range k {
		if reaches(i) {
			gs[i] = t.blockOf(g, i, nil)
		}
	}
	for i, a := range accOf {
		if a >= 0 && reaches(k+i) {
			gs[k+i] = t.blockOf(g, a, nil)
		}
	}
	for i, o := range colOut {
		if o >= 0 {
			gs[k+m+p+i] = result(o)
		}
	}
	place := 0
	for i, ld := range l.loads {
		a := array(ld)
		if loadOut[i] < 0 {
			continue
		}
		idx := t.blockOf(at, place*l.n, tensor.Shape{l.n})
		place++
		if !reaches(a) {
			continue
		}
		put := t.record(opPut, t.Shape(args[a]), Attr{Axes: []int{-1}}, result(loadOut[i]), idx)
		if gs[a] != None {
			put = t.Apply(opAdd, gs[a], put)
		}
		gs[a] = put
	}
	return gs
}

// keptCarry are the columns of what was carried into each step of r. A loop that did
// not keep them runs again and does.
func (t *Tape) keptCarry(r Ref, l *loop) []Ref {
	at := l.keeps
	src := r
	if !slices.Equal(l.outs[min(at, len(l.outs)):], l.carry) {
		again := *l
		again.keeps = len(l.outs)
		again.outs = slices.Concat(l.outs, l.carry)
		at = again.keeps
		src = t.loop(&again, t.Args(r))
	}
	var cols []Ref
	for i := range l.carry {
		cols = append(cols, t.blockOf(src, len(l.next)+(at+i)*l.n, tensor.Shape{l.n}))
	}
	return cols
}

// noteUsed remembers which of a loop's last values take part in a sweep.
func (t *Tape) noteUsed(r Ref, ps []piece) {
	l := t.Attr(r).Loop
	used := make([]bool, len(l.next))
	for _, p := range ps {
		if p.off < len(used) && len(t.Shape(p.ct)) == 0 {
			used[p.off] = true
		} else { // a column: everything may matter
			used = nil
			break
		}
	}
	if t.loopUsed == nil {
		t.loopUsed = map[Ref][]bool{}
	}
	t.loopUsed[r] = used
}
