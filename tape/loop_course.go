package tape

import "slices"

// A course is what the forks of a loop decide, step by step, and what its values depend on.
type course struct {
	ro    *rolling
	bit   []int // by argument of the loop: which bit stands for it, -1: none
	live  []Ref // what values and outs are computed from, in order
	odd   []oddSite
	sites []Ref // instructions with kinks

	raw    map[uint64]int32    // outcomes as they stand in columns → path
	byPath map[[2]uint64]int32 // outcomes of forks that were met, and which these are → path
	paths  []uint64            // the outcomes; of others 0
	ids    map[string]int32
	states [][]uint64 // what each carried value depends on
	then   map[[2]int32]visit
	links  []uint64 // what the carried values depend on in the end, and outs anywhere
	seen   []int    // by fork: its outcomes
	dep    []uint64
	may    []uint64
}

// A visit is a step along a path from a state of dependences.
type visit struct {
	to  int32
	odd int32 // place in odd of the first of its sites, plus 1; 0: none
}

// An oddSite is an instruction with kinks that in a step does not depend on what it may
// depend on.
type oddSite struct {
	r    Ref
	next int32
}

const (
	mostVisits = 1 << 14
	mostStates = 1 << 8 // of what steps without forks depend on
)

// decide runs the steps to see what they decide. It is rollAgain when that changes what
// should be recorded.
func (ro *rolling) decide() rollResult {
	f, know := ro.sub.forks, ro.know
	c := ro.newCourse()
	if c == nil || !c.walk(nil, nil) {
		return rollNever
	}
	again := false
	for k, x := range f.list {
		if seen := c.seen[k]; !x.last && seen != x.only && seen != 0 && seen != know.outcomes[x.key] {
			if seen&^x.only != 0 {
				return rollNever
			}
			know.outcomes[x.key], again = seen, true
		}
	}
	if again {
		return rollAgain
	}
	if !c.fits() {
		return rollNever
	}
	ro.l.links, ro.l.bits = c.links, c.bit
	own, l := *ro, *ro.l // which a sweep adds to
	own.l, ro.l.course = &l, own.newCourse
	ro.outer.t.log.found(func() bool {
		now := own.newCourse()
		return now != nil && now.walk(nil, nil) && slices.Equal(now.seen, c.seen) && now.fits() && slices.Equal(now.links, c.links)
	})
	return rollDone
}

// link notes what the parts of a loop without forks depend on: as of steps recorded one by one, a derivative
// by anything else is none, and kinks on the way to what depends on nothing do not count.
func (ro *rolling) link() {
	if c := ro.dependences(); c != nil && c.straight() {
		ro.l.links, ro.l.bits = c.links, c.bit
	}
}

// newCourse is a course at the first step: what each carried value depends on is what it was given.
func (ro *rolling) newCourse() *course {
	body, c := ro.sub, ro.dependences()
	if c == nil {
		return nil
	}
	c.raw, c.byPath, c.ids, c.then, c.seen = map[uint64]int32{}, map[[2]uint64]int32{}, map[string]int32{}, map[[2]int32]visit{}, make([]int, len(body.forks.list))
	for _, r := range c.live {
		op := body.ins[r].Op()
		if len(op.Kinks) > 0 || op.Tie != nil || body.bodies[r] != nil {
			c.sites = append(c.sites, r)
		}
	}
	// what may depend on what, whatever is decided
	state := c.start()
	c.may = make([]uint64, len(body.ins))
	for grown := true; grown; {
		grown = false
		c.follow(c.may, state, 0, false)
		for i, y := range ro.l.next {
			if s := state[i] | c.may[y]; s != state[i] {
				state[i], grown = s, true
			}
		}
	}
	return c
}

// dependences is a course whose forks are not looked at: nil where there is too much to depend on.
func (ro *rolling) dependences() *course {
	l, t, body := ro.l, ro.outer.t, ro.sub
	c := &course{ro: ro}
	n := 0
	for _, r := range slices.Concat(ro.inits, ro.args, ro.vecs) {
		if t.Active(r) {
			c.bit = append(c.bit, n)
			n++
		} else {
			c.bit = append(c.bit, -1)
		}
	}
	if n > 64 {
		return nil
	}
	want := slices.Concat(l.next, l.outs)
	on := body.live(want)
	for r := range on {
		if !on[r] || body.known(Ref(r)) || slices.Contains(l.arrays, Ref(r)) {
			continue
		}
		c.live = append(c.live, Ref(r))
	}
	c.dep, c.links = make([]uint64, len(body.ins)), make([]uint64, len(want))
	return c
}

func (c *course) bitOf(arg int) uint64 {
	if c.bit[arg] < 0 {
		return 0
	}
	return 1 << c.bit[arg]
}

// start is what the carried values depend on before the first step.
func (c *course) start() []uint64 {
	state := make([]uint64, len(c.ro.l.carry))
	for i := range state {
		state[i] = c.bitOf(i)
	}
	return state
}

// follow finds what the values of a step depend on, given what the carried values do:
// along a path, or along any.
func (c *course) follow(dep []uint64, state []uint64, outcomes uint64, decided bool) {
	l, body := c.ro.l, c.ro.sub
	for i, r := range l.carry {
		dep[r] = state[i]
	}
	k := len(l.carry)
	for i, r := range l.consts {
		dep[r] = c.bitOf(k + i)
	}
	for i, r := range l.arrays {
		dep[r] = c.bitOf(k + len(l.consts) + i)
	}
	for _, r := range c.live {
		in := &body.ins[r]
		switch {
		case in.Op() == opSlot || !in.dtype.IsFloat():
			continue
		case in.Op() == opLoad:
			dep[r] = dep[in.args[1]]
			continue
		case in.Op() == opChoose && decided:
			if outcomes>>body.Attr(r).Axis&1 == 1 {
				dep[r] = dep[in.args[1]]
			} else {
				dep[r] = dep[in.args[2]]
			}
			continue
		}
		var d uint64
		for i, a := range body.Args(r) {
			if body.passes(in.Op(), i) {
				d |= dep[a]
			}
		}
		dep[r] = d
	}
}

// path is that of the outcomes in word: those of forks that are met.
func (c *course) path(word uint64) (int32, bool) {
	if id, ok := c.raw[word]; ok {
		return id, true
	}
	f := c.ro.sub.forks
	var outcomes, met uint64
	for k, x := range f.list {
		if !f.runs(x.in, outcomes) {
			continue
		}
		bit := word >> k & 1
		met |= 1 << k
		outcomes |= bit << k
		c.seen[k] |= 1 << bit
		if x.only>>bit&1 == 0 {
			return 0, false
		}
	}
	if len(c.raw) == mostVisits {
		return 0, false
	}
	id, ok := c.byPath[[2]uint64{outcomes, met}]
	if !ok {
		id = int32(len(c.paths))
		c.paths, c.byPath[[2]uint64{outcomes, met}] = append(c.paths, outcomes), id
	}
	c.raw[word] = id
	return id, true
}

// state is the number of a state.
func (c *course) state(s []uint64) int32 {
	b := make([]byte, 0, 8*len(s))
	for _, v := range s {
		for range 8 {
			b, v = append(b, byte(v)), v>>8
		}
	}
	id, ok := c.ids[string(b)]
	if !ok {
		id = int32(len(c.states))
		c.ids[string(b)] = id
		c.states = append(c.states, s)
	}
	return id
}

// step is a step along a path.
func (c *course) step(from, path int32) (visit, bool) {
	key := [2]int32{from, path}
	if v, ok := c.then[key]; ok {
		return v, true
	}
	if len(c.then) == mostVisits {
		return visit{}, false
	}
	l, f := c.ro.l, c.ro.sub.forks
	outcomes := c.paths[path]
	c.follow(c.dep, c.states[from], outcomes, true)
	next := make([]uint64, len(l.next))
	for i, y := range l.next {
		next[i] = c.dep[y]
	}
	for i, y := range l.outs {
		c.links[len(next)+i] |= c.dep[y]
	}
	var v visit
	for _, r := range c.sites {
		if c.dep[r] != c.may[r] && f.runs(f.of(r), outcomes) {
			c.odd = append(c.odd, oddSite{r, v.odd})
			v.odd = int32(len(c.odd))
		}
	}
	v.to = c.state(next)
	c.then[key] = v
	return v, true
}

// fits reports whether the steps that have run can be one instruction. A kink at a value
// that in its step depends on less than it may would be reported though nothing came back.
func (c *course) fits() bool {
	l, body := c.ro.l, c.ro.sub
	for _, r := range c.live {
		if body.forks.of(r) != 0 && !body.plainInBranch(r) {
			return false
		}
	}
	if len(c.odd) == 0 {
		return true
	}
	var sites, hits []Ref
	body.inner++
	for _, o := range c.odd {
		if slices.Contains(sites, o.r) {
			continue
		}
		sites = append(sites, o.r)
		hit := None
		or := func(s kinkSite) {
			if h := s.condition(body, false); hit == None {
				hit = body.hitCount(h)
			} else {
				hit = body.Apply(opAdd, hit, body.hitCount(h))
			}
		}
		op := body.ins[o.r].Op()
		for i := range op.Kinks {
			or(kinkSite{r: o.r, ct: None, kink: i})
		}
		if op.Tie != nil {
			or(kinkSite{r: o.r, ct: None, kink: -1})
		}
		if b := body.bodies[o.r]; b != nil {
			for i := range b.op.Kinks {
				or(kinkSite{r: o.r, ct: None, kink: i, body: b})
			}
		}
		hits = append(hits, hit)
	}
	body.inner--
	return (&loop{body: body, next: l.next, outs: hits, arrays: l.arrays}).compilable(None) && c.walk(sites, hits)
}

// walk follows all steps. Where sites are given, a hit of one in a step where it is odd
// ends it.
func (c *course) walk(sites, hits []Ref) bool {
	state := c.state(c.start())
	if !c.steps(hits, func(path int32, hit func(k int) bool) bool {
		v, ok := c.step(state, path)
		for o := v.odd; ok && o > 0 && sites != nil; o = c.odd[o-1].next {
			ok = !hit(slices.Index(sites, c.odd[o-1].r))
		}
		state = v.to
		return ok
	}) {
		return false
	}
	copy(c.links, c.states[state])
	return true
}

// straight follows the steps of a loop without forks, until what the carried values depend on is as it
// was before some step, and so comes again and again.
func (c *course) straight() bool {
	l := c.ro.l
	k := len(l.next)
	states := c.start() // one behind the other
	last := 0
	for i := range l.n {
		c.follow(c.dep, states[last*k:][:k], 0, false)
		for j, y := range l.outs {
			c.links[k+j] |= c.dep[y]
		}
		for _, y := range l.next {
			states = append(states, c.dep[y])
		}
		next := states[(last+1)*k:]
		was := last
		for was >= 0 && !slices.Equal(states[was*k:][:k], next) {
			was--
		}
		if was >= 0 {
			last = was + (l.n-1-i)%(last+1-was)
			break
		}
		if last++; last == mostStates {
			return false
		}
	}
	copy(c.links, states[last*k:][:k])
	return true
}

// steps runs all steps, and tells visit the path of each, and which of some values are not
// 0, until it wants no more.
func (c *course) steps(hits []Ref, visit func(path int32, hit func(k int) bool) bool) bool {
	ro, l, t := c.ro, c.ro.l, c.ro.outer.t
	f := ro.sub.forks
	extra := slices.Clone(hits)
	for _, x := range f.list {
		extra = append(extra, x.cond)
	}
	data := func(rs []Ref) (out [][]float64) {
		for _, x := range rs {
			t.force(x)
			out = append(out, t.data(x))
		}
		return out
	}
	code := codesOf(l.compile(true, extra...)).after(l.n)
	x := code.newRun(data(ro.inits), data(ro.args), data(ro.vecs), nil)
	defer arena64.give(x.mem)
	i := 0
	hit := func(k int) bool { return x.mem[int(code.extra[k])+i] != 0 }
	columns := code.extra[len(hits):]
	var last uint64
	var path int32 = -1
	for from := 0; from < l.n; from += code.batch {
		if t.check != nil && from/code.batch&255 == 255 {
			t.check()
		}
		n := min(code.batch, l.n-from)
		x.steps(from, n)
		for i = range n {
			var word uint64
			for k, col := range columns {
				if x.mem[int(col)+i] != 0 {
					word |= 1 << k
				}
			}
			if path < 0 || word != last {
				var ok bool
				if path, ok = c.path(word); !ok {
					return false
				}
				last = word
			}
			if !visit(path, hit) {
				return false
			}
		}
		x.carry(n)
	}
	return true
}

// linked reports whether the part of a loop's value at off depends on argument i in the
// steps that ran.
func (l *loop) linked(off, i int) bool {
	if l.links == nil {
		return true
	}
	for k := range l.next {
		if off == l.nextAt(k) {
			return l.bits[i] >= 0 && l.links[k]>>l.bits[i]&1 == 1
		}
	}
	for k := range l.outs {
		if at := len(l.next) + k; at < len(l.links) && off == l.outAt(k) {
			return l.bits[i] >= 0 && l.links[at]>>l.bits[i]&1 == 1
		}
	}
	return true
}

// linkedAny reports whether that part depends on any active argument.
func (l *loop) linkedAny(off int) bool {
	if l.links == nil {
		return true
	}
	for i := range l.bits {
		if l.linked(off, i) {
			return true
		}
	}
	return false
}
