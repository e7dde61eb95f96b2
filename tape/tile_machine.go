package tape

import (
	"math"
	"slices"
	"unsafe"

	"nabla/kernels"
)

// A tileCode is the code of a tile program, for kernels.Run: of each micro-operation, of the
// sums and of the kept.
type tileCode struct {
	micros   []micro
	calls    []kernels.Call
	machines []*kernels.Machine // that calls are of
	joined   []bool             // by call: it does all pieces; nil for none
	ends     []int              // by call: where in the program its micro-operations end; nil: each is one
	reads    []int32            // the operands of calls, until fills is made of them
	fills    []bool             // by load: a call reads all of its slot
	aside    []bool             // by value in memory: it is written past the caches; nil for none
	rows     bool               // tiles end with rows: what has one number in each is read as that
	each     int                // tiles are rows of so many elements: that number goes on with them; 0 when they are not
	loops    bool               // the only call does all of them
}

// link makes the program one of calls. Operands that are not slots come before them, and
// lanes after.
func (tp *tileProgram) link(d *desk, micros []micro) *tileCode {
	c := d.codes.one()
	size := len(micros) + len(tp.sums) + len(tp.kept)
	c.micros, c.calls, c.reads = micros, d.calls.of(size)[:0], d.places.of(3 * size)[:0]
	for i := range micros {
		c.calls = append(c.calls, micros[i].call())
		c.reads = append(c.reads, micros[i].operands()...)
	}
	for _, list := range [][]sumOf{tp.sums, tp.kept} {
		for _, s := range list {
			c.calls = append(c.calls, kernels.CallOf(kernels.SumLanes, int32(tp.slots+len(c.calls)-len(micros)), s.arg))
			c.reads = append(c.reads, s.arg)
		}
	}
	c.fills = d.marks.of(len(tp.loads))
	c.fill(tp.loads)
	return c
}

// worthFusing is how many elements a program computes before arithmetic in it becomes machine
// code, however long it is: making that takes some 20 µs and 1.5 µs for each operation, and it
// saves some 0.04 ns of an operation on an element. It pays from 200,000 elements on where
// there are three operations, from 40,000 where there are a hundred. Tests set it low.
var worthFusing int64 = 1 << 16

// linked is the code that runs now. When the program has run often enough, or is about to,
// it is shorter: micro-operations of arithmetic that follow one another are one kernel, made
// for them, with values in registers between them instead of slots. A tile of 512 numbers
// was no faster then either.
func (tp *tileProgram) linked() *tileCode { return tp.linkedFor(int64(tp.n)) }

// linkedFor is the code that runs for n elements more.
func (tp *tileProgram) linkedFor(n int64) *tileCode {
	if c := tp.fused.Load(); c != nil {
		return c
	}
	if all := tp.work.Add(n); all >= worthFusing && all-n < worthFusing {
		c := tp.fuse()
		tp.fused.Store(c)
		return c
	}
	return tp.plain
}

// fuse makes the shorter code: row by row, if all of it may read a number of each row as one.
func (tp *tileProgram) fuse() *tileCode {
	aside := tp.aside()
	if each, loops := tp.eachRow(aside); each > 0 {
		c := tp.fuseRows(aside, each)
		fits := each >= leastEach && !loops || c.loops
		for i, fills := range c.fills {
			fits = fits && !(fills && tp.loads[i].each > 0)
		}
		if fits {
			return c
		}
	}
	return tp.fuseRows(aside, 0)
}

// fuseRows is fuse for tiles that are rows of so many elements, or others where each is 0.
func (tp *tileProgram) fuseRows(aside []bool, each int) *tileCode {
	c := &tileCode{fills: make([]bool, len(tp.loads)), aside: aside, each: each}
	defer func() { c.fill(tp.loads) }()
	c.rows = each > 0 || tp.endsWithRows(c.aside)
	if tp.pieces && !tp.isOneMachine() {
		for i := range tp.loads {
			c.fills[i] = true
		}
	}
	last := tp.lastReaders()
	for from, end := 0, false; !end; {
		to := from
		for to < len(tp.code) && tp.code[to].fusible() {
			to++
		}
		lines := tp.lines(from, to, last)
		if end = to == len(tp.code); end && !tp.pieces {
			for i := range lines {
				lines[i].Aside = c.isAside(lines[i].Dst)
			}
			lines = append(lines, tp.closing(c.aside)...)
		}
		if end && len(lines) == 0 {
			break
		}
		if len(lines) > 1 || end {
			joins := tp.readsJoined(from, to)
			c.loops = each > 0 && from == 0 && end && !joins
			m, call := tp.machine(lines, joins, c)
			if m == nil {
				return tp.plain
			}
			c.micros, c.calls, c.machines = append(c.micros, micro{}), append(c.calls, call), append(c.machines, m)
			from = to
			c.ends = append(c.ends, to)
			if joins {
				if c.joined == nil {
					c.joined = make([]bool, len(tp.code))
				}
				c.joined[len(c.calls)-1] = true
			}
			continue
		}
		for to = max(to, from+1); from < to; from++ {
			if tp.single {
				tp.append32(c, &tp.code[from])
				continue
			}
			c.micros, c.calls = append(c.micros, tp.code[from]), append(c.calls, tp.plain.calls[from])
			c.reads = append(c.reads, tp.code[from].operands()...)
			c.ends = append(c.ends, from+1)
		}
	}
	if tp.pieces {
		for k, s := range tp.sums {
			c.calls = append(c.calls, kernels.CallOf(kernels.SumLanes, int32(tp.slots+k), s.arg))
		}
	}
	return c
}

// endsWithRows reports whether tiles of a program, of which so much is written past the caches, end with rows in which
// something has one number.
func (tp *tileProgram) endsWithRows(aside []bool) bool {
	if tp.single || tp.pieces {
		return false
	}
	some := false
	for i := range tp.loads {
		still := tp.loads[i].still
		if aside != nil && still%8 != 0 || tp.ordered() && still > 0 && still < 2*tileSize {
			return false
		}
		some = some || still > 0 && tp.loads[i].row == 0
	}
	return some
}

// machine makes lines of c machine code, of all pieces where it joins them.
func (tp *tileProgram) machine(lines []kernels.Line, joins bool, c *tileCode) (*kernels.Machine, kernels.Call) {
	column := func(place int32) kernels.Column { return tp.column(place, c) }
	switch {
	case joins:
		return kernels.FusePieces(lines, tp.stride(), column, tp.joined)
	case tp.single:
		return kernels.Fuse32(lines, slotStride32, column)
	}
	stride := max(tp.stride(), c.stride())
	if c.loops {
		if m, call := kernels.FuseRows(lines, stride, column); m != nil {
			return m, call
		}
		c.loops = false
	}
	return kernels.Fuse(lines, stride, column)
}

// stride is from one slot to the next: of a program that is computed in pieces, and by one
// call, they are as long as it is.
func (tp *tileProgram) stride() int {
	if tp.pieces && tp.n > tileSize && tp.isOneMachine() {
		return wholeLines(tp.n) + slotStride - tileSize
	}
	return slotStride
}

// isOneMachine reports whether all of the program is one piece of machine code.
func (tp *tileProgram) isOneMachine() bool {
	return len(tp.sums) == 0 && !slices.ContainsFunc(tp.code, func(m micro) bool { return !m.fusible() })
}

// span is where the micro-operations of call k begin and end in the program; those of a sum
// are none.
func (c *tileCode) span(k int) (from, end int) {
	switch {
	case k >= len(c.micros):
		return 0, 0
	case c.ends == nil:
		return k, k + 1
	case k > 0:
		from = c.ends[k-1]
	}
	return from, c.ends[k]
}

// worthAside is how many elements a result has that is written past the caches, 32 MB of them:
// nothing of it would be there when it is read, and a line of a cache is read from memory
// before it is written. The addition by which a thread reports its part done orders such
// writes, too, as every locked instruction does. Tests set it low.
var worthAside = 1 << 22

// aside says which results are written past the caches, nil for none: those that the last
// machine code makes, in memory of their own, and nothing reads.
func (tp *tileProgram) aside() (aside []bool) {
	if tp.n < worthAside || slices.ContainsFunc(tp.along, func(s axisSum) bool { return s.last && s.inner%8 != 0 }) { // parts begin with rows
		return nil
	}
	for i := len(tp.code) - 1; i >= 0 && tp.code[i].fusible(); i-- {
		d := tp.code[i].dst
		if k := int(-1 - d); d < 0 && (k >= len(tp.over) || tp.over[k] == None) && !tp.isWindow(k) &&
			!slices.ContainsFunc(tp.code, func(m micro) bool { return slices.Contains(m.operands(), d) }) {
			if aside == nil {
				aside = make([]bool, tp.moving())
			}
			aside[k] = true
		}
	}
	return aside
}

// isWindow reports whether operand k is a result in a window, where it is read soon.
func (tp *tileProgram) isWindow(k int) bool {
	return k < len(tp.direct) && slices.Contains(tp.windows, tp.direct[k])
}

// isAside reports whether what is written at a place goes past the caches.
func (c *tileCode) isAside(place int32) bool {
	return place < 0 && c.aside != nil && c.aside[-1-place]
}

// moving is how many operands tiles go along.
func (tp *tileProgram) moving() int {
	if tp.single {
		return len(tp.direct) + len(tp.loads) + len(tp.stores)
	}
	return len(tp.direct)
}

// aligned reports whether values that code writes past the caches begin at multiples of 64
// bytes, as large ones do.
func (c *tileCode) aligned(direct [][]float64) bool {
	for i, yes := range c.aside {
		if yes && uintptr(unsafe.Pointer(&direct[i][0]))%64 != 0 {
			return false
		}
	}
	return true
}

// aligned32 is aligned for a program of float32.
func (c *tileCode) aligned32(in *tileData) bool {
	for i, yes := range c.aside {
		if yes && uintptr(in.moving[i].at)%64 != 0 {
			return false
		}
	}
	return true
}

// fill notes which loads calls read.
func (c *tileCode) fill(loads []load) {
	slices.Sort(c.reads)
	for i := range loads {
		_, read := slices.BinarySearch(c.reads, loads[i].slot)
		c.fills[i] = c.fills[i] || read
	}
	c.reads = nil
}

// closing is what ends a tile: the sums, whether all is finite, and that the next tile's
// arguments and results come into the cache while this one computes.
func (tp *tileProgram) closing(aside []bool) (lines []kernels.Line) {
	lanes, far := int32(tp.slots), int32(tileSize)
	if tp.single {
		lanes, far = lanes+tiles32, tileSize32
	}
	for k, s := range slices.Concat(tp.sums, tp.kept) {
		l := kernels.Line{Do: kernels.DoSum, Dst: lanes + int32(k), Arg: [3]int32{s.arg}}
		if k >= len(tp.sums) {
			l.Do = kernels.DoOdd
		}
		lines = append(lines, l)
	}
	for i := range tp.moving() {
		if k := i - len(tp.direct); aside != nil && aside[i] || k >= 0 && k < len(tp.loads) && !tp.loads[k].whole {
			continue
		}
		l := kernels.Line{Do: kernels.DoNear, Dst: int32(-1 - i), Far: far}
		if slices.ContainsFunc(tp.code, func(m micro) bool { return m.dst == l.Dst || m.both != nil && m.dst2 == l.Dst }) {
			l.Do = kernels.DoMine
		}
		lines = append(lines, l)
	}
	return lines
}

// column says where an operand of c lies.
func (tp *tileProgram) column(place int32, c *tileCode) kernels.Column {
	if tp.single && tp.isWide(place) {
		switch k := int(place) - tp.slots - tiles32 - len(tp.sums) - len(tp.kept); {
		case place >= 0 && k < 0: // lanes
			return kernels.Apart
		case place >= 0 && tp.wides[k].one:
			return kernels.WideNumber
		}
		return kernels.Wide
	}
	if place < 0 && c.loops {
		return kernels.Along
	}
	if place < 0 || place >= int32(tp.slots) {
		return kernels.Apart
	}
	for i := range tp.loads {
		switch l := &tp.loads[i]; {
		case l.whole:
		case l.slot == place && l.each > 0 && c.loops:
			return kernels.OfTile
		case l.slot == place && c.loops && l.goesOn(c.each):
			return kernels.Along
		case l.slot == place && l.sp != nil && !(c.rows && l.still > 0 && l.row == 0) && (c.each == 0 || l.each == 0):
			return kernels.Apart
		case l.slot == place && tp.pieces && !tp.isOneMachine():
			return kernels.InLine
		case l.slot == place && l.known && tp.single:
			return kernels.NumberOf(float64(float32(l.num)))
		case l.slot == place && l.known:
			return kernels.NumberOf(l.num)
		case l.slot == place:
			return kernels.Number
		}
	}
	return kernels.InLine
}

// fusible reports whether machine code can do a micro-operation.
func (m *micro) fusible() bool {
	return m.both == nil && (m.pair != nil || m.op.does() != kernels.DoNothing)
}

// lines are the micro-operations between from and to, whose last readers are known.
func (tp *tileProgram) lines(from, to int, last []int) []kernels.Line {
	var lines []kernels.Line
	for i := from; i < to; i++ {
		m := &tp.code[i]
		keep := last[i] >= to && (to < len(tp.code) || last[i] > to || tp.pieces) // what ends a tile is there
		l := kernels.Line{Dst: m.dst, Arg: m.arg, Keep: keep}
		if m.pair != nil {
			lines = append(lines, kernels.Line{Do: kernels.DoLink(m.links[0]), Dst: m.dst, Arg: m.arg})
			l.Do, l.Arg = kernels.DoLink(m.links[1]), [3]int32{m.dst, m.arg[2]}
			if m.links[1] == kernels.LinkSubFrom {
				l.Arg = [3]int32{m.arg[2], m.dst}
			}
		} else {
			l.Do = m.op.does()
		}
		if m.float32 && !tp.single {
			l.Keep = false
			lines = append(lines, l)
			l = kernels.Line{Do: kernels.DoFloat32, Dst: m.dst, Arg: [3]int32{m.dst}, Keep: keep}
		}
		lines = append(lines, l)
	}
	return lines
}

// lastReaders are, of what every micro-operation leaves in its slot, the number of the last
// micro-operation that reads it: 0 where none does, their number where the sums do, and far
// where the place is not a slot.
func (tp *tileProgram) lastReaders() []int {
	const far = math.MaxInt
	last, now := make([]int, len(tp.code)), make([]int, tp.slots)
	for _, list := range [][]sumOf{tp.sums, tp.kept} {
		for _, s := range list {
			if s.arg >= 0 {
				now[s.arg] = len(tp.code)
			}
		}
	}
	for i := len(tp.code) - 1; i >= 0; i-- {
		m := &tp.code[i]
		last[i] = far
		if m.dst >= 0 {
			last[i], now[m.dst] = now[m.dst], 0
		}
		if m.both != nil && m.dst2 >= 0 {
			now[m.dst2] = 0
		}
		for _, p := range m.operands() {
			if p >= 0 && int(p) < tp.slots && now[p] == 0 {
				now[p] = i
			}
		}
	}
	return last
}

// operands are what a micro-operation reads.
func (m *micro) operands() []int32 {
	switch {
	case m.both != nil:
		return m.arg[:1]
	case m.pair != nil:
		return m.arg[:3]
	}
	return m.arg[:m.op.arity()]
}
