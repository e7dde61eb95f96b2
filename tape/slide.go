package tape

import (
	"math"
	"slices"

	"nabla/kernels"
)

// Tile programs of which one reads what the other makes a few places apart run side by side.
//
// The gradient of an expression of shifted slices is two programs: one over the numbers of the
// slices, which leaves their cotangents, and one over those of the vector, which adds up the
// cotangents where they lie (moved.go). One after the other, each cotangent goes to memory and
// comes back as often as slices read it. Yet an element of the gradient wants no more of the
// cotangents than what lies as far around it as the slices are apart. So both go along
// together, some blocks of SumBlock numbers at a time: before the second program runs those, the
// first one goes as far as they read, and what that makes stays in a window of the second
// cache. Of a window that is full the numbers that are still to be read, as many as the slices
// are apart, or rows of them, are moved to its front. Where it went on to the end of a block each
// time, that was a block to move, and a tenth of the time of a picture's total variation.
//
// Each program runs the blocks that it would run by itself, in their order, with the same code
// and the same sums: the bits are the same. Where several threads share the work each runs a
// part of every program's blocks, and of those that only fill windows also the blocks around
// its part, whose sums the neighbour has.

// A slide is tile programs that run side by side, in the order of the plan.
type slide struct {
	first int      // of the plan's steps
	steps []slider // the plan's from first on
	turn  int      // blocks that a step runs at a time
	room  int      // numbers that a window has
}

// A slider is one of them.
type slider struct {
	n       int      // elements
	windows []Ref    // what others of the slide read of it, all that it makes but sums; or none
	sums    bool     // it adds up, too
	reads   []follow // what it reads in windows
}

// A follow is how a slider reads windows of one before it: row by row of its space, first to
// last, a row at the places of ticks further on.
type follow struct {
	of        int
	row       int // elements of a row
	rows      ticks
	low, high int // of what the first row reads: the first element, and one behind the last
}

// end is how many elements of the other one the first e elements want.
func (f *follow) end(e int) int {
	i := (e-1)/f.row - f.rows.first
	if i < 0 {
		return 0
	}
	return f.high + min(i/f.rows.gap, f.rows.count-1)*f.rows.stride
}

// begin is the first element of the other one that elements from e on want.
func (f *follow) begin(e int) int {
	i := max(0, ceilDiv(e/f.row-f.rows.first, f.rows.gap))
	if i >= f.rows.count {
		return math.MaxInt
	}
	return f.low + i*f.rows.stride
}

// leastSlid is how many elements programs have that run side by side: what fewer make stays in
// the second cache anyway. Tests set it low.
var leastSlid = 1 << 17

// pageNumbers is how many numbers a page has. Windows begin at a multiple of it: where their
// numbers lay 64 bytes further on in a page than what they are made of, a stencil took 1.15
// times as long (slotStride has the reason).
const pageNumbers = 512

const (
	mostSliders = 8       // steps of a slide
	mostSlid    = 3 << 15 // numbers in all windows: three quarters of the second cache
	slidPart    = 2048    // of so many numbers, whole tiles, what others want of a step is run
	mostTurn    = 4       // blocks that a step runs at a time: one by one, the streams that the processor reads ahead end too often
)

// passSlide finds the tile programs that run side by side. Single numbers between them, such as
// a mean of a sum, are computed behind them.
func passSlide(p *Plan) {
	if p.lies == nil || p.t.isStrip {
		return
	}
	var read *readers
	for i := 0; i < len(p.steps); i++ {
		if !p.maySlide(&p.steps[i]) {
			continue
		}
		if read == nil {
			read = p.readers()
		}
		if s := p.slideFrom(i, read); s != nil {
			for k := range s.steps {
				p.steps[i+k].slide = s
			}
			i += len(s.steps) - 1
		}
	}
}

// maySlide reports whether a step is a large tile program of float64.
func (p *Plan) maySlide(s *step) bool {
	if s.kind != stepTile || p.t.size(s.first) < leastSlid {
		return false
	}
	along, _ := p.hasAlong(s)
	return !along && !p.isSingle(s)
}

// readers are who reads tensors that steps make.
type readers struct {
	until []int  // by step: the last one that reads any of them; one behind all for what leaves the plan
	other []bool // by Ref: another step than its own reads it
}

// readers finds up to which step others read what a step makes.
func (p *Plan) readers() *readers {
	t := p.t
	x := &readers{make([]int, len(p.steps)), make([]bool, len(p.live))}
	reads := func(r Ref, k int) {
		if home := int(p.home[r]); home >= 0 && home != k && !t.single(r) {
			x.until[home], x.other[r] = max(x.until[home], k), true
		}
	}
	for k := range p.steps {
		for _, r := range p.steps[k].refs {
			for _, a := range t.Args(r) {
				for _, a := range p.readFrom(p.same[a]) {
					reads(a, k)
				}
			}
		}
	}
	for _, r := range p.outs {
		if r != None {
			reads(p.same[r], len(p.steps))
		}
	}
	return x
}

// slideFrom finds the longest slide that begins with step i, and puts single numbers that stand
// between its steps behind them.
func (p *Plan) slideFrom(i int, read *readers) (found *slide) {
	all := []int{i}
	s := &slide{first: i, steps: []slider{p.slider(i)}}
	last := 0 // of the steps of the one found
	for j := i + 1; j < len(p.steps) && len(all) < mostSliders; j++ {
		st := &p.steps[j]
		if st.kind == stepNumbers {
			continue
		}
		if !p.maySlide(st) {
			break
		}
		next := p.slider(j)
		if !p.follows(&next, all, i, j) {
			break
		}
		all, s.steps = append(all, j), append(s.steps, next)
		if now, ok := p.closed(s, all, read); ok {
			found, last = now, j
		}
	}
	if found == nil {
		return nil
	}
	p.putBehind(i, last)
	return found
}

// slider is step k by itself.
func (p *Plan) slider(k int) (x slider) {
	t := p.t
	for _, r := range p.steps[k].refs {
		if t.ins[r].Op() == opSum {
			x.sums = true
		} else {
			x.n = t.size(r)
		}
	}
	return x
}

// follows finds how step j reads those of all, and reports whether it can run beside them: row
// after row, and nothing that others from step i on compute before it.
func (p *Plan) follows(x *slider, all []int, i, j int) bool {
	t := p.t
	for _, r := range p.steps[j].refs {
		if t.ins[r].Op() == opSum {
			continue
		}
		for _, a := range t.Args(r) {
			a = p.same[a]
			if p.home[a] == int32(j) {
				continue
			}
			if p.panes(a) == nil {
				switch k := slices.Index(all, int(p.home[a])); {
				case p.home[a] < int32(i):
				case k < 0 || !t.sameLayout(a, r): // a sum, what is made of one, or what is spread
					return false
				default:
					x.add(follow{k, 1, ticks{0, x.n, 1, 1}, 0, 1})
				}
				continue
			}
			lay := p.layoutOf(a, r)
			row := 1
			for _, d := range lay.dims[1:] {
				row *= d
			}
			for _, w := range lay.panes {
				if p.home[w.ref] < int32(i) {
					continue
				}
				k := slices.Index(all, int(p.home[w.ref]))
				f := follow{k, row, w.axes[0], w.off, w.off + 1}
				if k < 0 || f.rows.stride <= 0 && f.rows.count > 1 {
					return false
				}
				for _, c := range w.axes[1:] {
					reach := (c.count - 1) * c.stride
					f.low, f.high = f.low+min(reach, 0), f.high+max(reach, 0)
				}
				x.add(f)
			}
		}
	}
	return true
}

// add adds a follow, once.
func (x *slider) add(f follow) {
	if !slices.Contains(x.reads, f) {
		x.reads = append(x.reads, f)
	}
}

// closed is a slide as far as it has come, of the plan's steps all; not ok if others than they
// read what would be in windows, or too much would.
func (p *Plan) closed(s *slide, all []int, read *readers) (*slide, bool) {
	now := &slide{first: s.first, steps: slices.Clone(s.steps)}
	count := 0 // windows
	for k := range now.steps {
		if !slices.ContainsFunc(now.steps, func(x slider) bool {
			return slices.ContainsFunc(x.reads, func(f follow) bool { return f.of == k })
		}) {
			continue
		}
		if read.until[all[k]] > all[len(all)-1] {
			return nil, false
		}
		for _, r := range p.steps[all[k]].refs {
			if read.other[r] {
				now.steps[k].windows = append(now.steps[k].windows, r)
			}
		}
		count += len(now.steps[k].windows)
	}
	if count == 0 {
		return nil, false
	}
	for now.turn = mostTurn; now.turn > 0; now.turn /= 2 {
		now.room = 0
		now.part(0, 1).run(func(k, end, keep int) {
			now.room = max(now.room, end-keep)
		})
		if now.room*count <= mostSlid {
			return now, true
		}
	}
	return nil, false
}

// putBehind puts the steps of single numbers between i and last behind last.
func (p *Plan) putBehind(i, last int) {
	part := p.steps[i : last+1]
	slices.SortStableFunc(part, func(a, b step) int {
		rank := func(s *step) int {
			if s.kind == stepNumbers {
				return 1
			}
			return 0
		}
		return rank(&a) - rank(&b)
	})
	for k := range part {
		for _, r := range part[k].refs {
			p.home[r] = int32(i + k)
		}
	}
}

// A sliding is a slide, or a thread's part of it, while it runs.
type sliding struct {
	s  *slide
	at []slid
}

// A slid is how far a slider has come.
type slid struct {
	from, done, to int // elements
	own, ownEnd    int // blocks whose sums are its own
}

// part is part w of parts: so much of each slider's blocks, and of windows what is read there.
func (s *slide) part(w, parts int) *sliding {
	x := &sliding{s, make([]slid, len(s.steps))}
	for k := len(s.steps) - 1; k >= 0; k-- {
		y, st := &x.at[k], &s.steps[k]
		blocks := ceilDiv(st.n, kernels.SumBlock)
		y.own, y.ownEnd = blocks*w/parts, blocks*(w+1)/parts
		from, to := math.MaxInt, 0
		if (st.windows == nil || st.sums) && y.own < y.ownEnd {
			from, to = y.own, y.ownEnd
		}
		for j := k + 1; j < len(s.steps); j++ {
			for _, f := range s.steps[j].reads {
				if f.of == k && x.at[j].from < x.at[j].to {
					from = min(from, f.begin(x.at[j].from)/kernels.SumBlock)
					to = max(to, ceilDiv(f.end(x.at[j].to), kernels.SumBlock))
				}
			}
		}
		if from < to {
			y.from, y.to = from*kernels.SumBlock, min(to*kernels.SumBlock, st.n)
		}
		y.done = y.from
	}
	return x
}

// run runs all blocks: do runs those of slider k up to end, whose windows, if it has any, hold the
// elements before them from keep on.
func (x *sliding) run(do func(k, end, keep int)) {
	for {
		next, least := -1, 2.0 // what fills no window goes first, and of that what is furthest behind
		for k := range x.at {
			y := &x.at[k]
			if y.done == y.to {
				continue
			}
			far := float64(y.done-y.from) / float64(y.to-y.from)
			if x.s.steps[k].windows != nil {
				far++
			}
			if far < least {
				next, least = k, far
			}
		}
		if next < 0 {
			return
		}
		x.turn(next, math.MaxInt, do)
	}
}

// turn runs the next blocks of slider k, up to one that is wanted, and before them what they read.
func (x *sliding) turn(k, wanted int, do func(k, end, keep int)) {
	y, st := &x.at[k], &x.s.steps[k]
	end := min(y.done+x.s.turn*kernels.SumBlock, y.to)
	if wanted < end {
		end = min(ceilDiv(wanted, slidPart)*slidPart, end)
	}
	for i := range st.reads {
		f := &st.reads[i]
		for o := &x.at[f.of]; o.done < min(f.end(end), o.to); {
			x.turn(f.of, f.end(end), do)
		}
	}
	keep := y.done
	if st.windows != nil {
		for j := k + 1; j < len(x.at); j++ {
			for i := range x.s.steps[j].reads {
				if f := &x.s.steps[j].reads[i]; f.of == k && x.at[j].done < x.at[j].to {
					keep = min(keep, f.begin(x.at[j].done))
				}
			}
		}
		keep = max(keep&^(pageNumbers-1), y.from)
	}
	do(k, end, keep)
	y.done = end
}
