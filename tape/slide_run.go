package tape

import (
	"runtime"
	"slices"

	"nabla/kernels"
	"nabla/tape/pool"
)

// noteWindows notes what has no memory but a window.
func (p *Plan) noteWindows(last []int32, keep []bool) {
	for i := range p.steps {
		p.noteAlong(i, last, keep)
		if s := p.steps[i].slide; s != nil && s.first == i {
			for k := range s.steps {
				for _, r := range s.steps[k].windows {
					p.noteWindow(r)
				}
			}
		}
	}
}

// noteWindow notes that r has none.
func (p *Plan) noteWindow(r Ref) {
	if p.window == nil {
		p.window = p.t.desk.marks.of(p.slots)
	}
	p.window[p.slot[r]] = true
}

// inWindow reports whether r has no memory but a window.
func (p *Plan) inWindow(r Ref) bool { return p.window != nil && p.slot[r] >= 0 && p.window[p.slot[r]] }

// A windowPlace is an operand that lies in a window: slider k's i-th, number at of the operands.
type windowPlace struct{ k, i, at int }

// A slideProgram is a program of a slide, with what it works on.
type slideProgram struct {
	tp            *tileProgram
	code          *tileCode
	in            tiling
	direct, moved []windowPlace
}

// slide runs tile programs side by side, over all of their spaces.
func (x *execution) slide(s *slide) {
	programs := make([]slideProgram, len(s.steps))
	work := 0
	for k := range programs {
		y := &programs[k]
		y.tp = x.p.steps[s.first+k].tile
		y.code = y.tp.linked()
		x.operands(y.tp, &y.in)
		x.results(y.tp, &y.in)
		for i, r := range y.tp.direct {
			if r != None && x.p.inWindow(r) {
				y.direct = append(y.direct, s.windowOf(r, i))
			}
		}
		place := 0
		for i := range y.tp.moved {
			for _, w := range y.tp.moved[i].lay.panes {
				if x.p.inWindow(w.ref) {
					y.moved = append(y.moved, s.windowOf(w.ref, place))
				}
				place++
			}
		}
		for _, d := range y.in.direct {
			if d != nil {
				_ = d[:y.tp.n]
			}
		}
		if !y.code.aligned(y.in.direct) {
			y.code = y.tp.plain
		}
		work += y.tp.n * len(y.tp.code)
	}
	parts := 1
	if x.threads() > 1 && pool.Worth(work, pool.LeastElements) {
		parts = min(2*x.threads(), programs[len(programs)-1].tp.blocks())
	}
	pool.Run(x.threads(), parts, func(w int) { x.slidePart(s, programs, w, parts) })
	for k := range programs {
		x.close(programs[k].tp, &programs[k].in)
	}
}

// windowOf finds the window of r.
func (s *slide) windowOf(r Ref, at int) windowPlace {
	for k := range s.steps {
		if i := slices.Index(s.steps[k].windows, r); i >= 0 {
			return windowPlace{k, i, at}
		}
	}
	panic("no window")
}

// A slidWindow is numbers of all that a slider leaves, from first on.
type slidWindow struct {
	values [][]float64
	first  int
}

// slidePart runs a part of a slide.
func (x *execution) slidePart(s *slide, programs []slideProgram, w, parts int) {
	rooms, windows := make([]*room, len(programs)), make([]slidWindow, len(programs))
	mine := make([]tiling, len(programs)) // whose windows are those of this part
	defer func() {
		for k, r := range rooms {
			if r != nil {
				r.leave()
			}
			for _, m := range windows[k].values {
				arena64.give(m)
			}
		}
	}()
	run := s.part(w, parts)
	for k := range programs {
		y, at := &programs[k], &mine[k]
		*at = y.in
		at.direct, at.moved = slices.Clone(at.direct), slices.Clone(at.moved)
		at.gone, at.movedGone = make([]int, len(at.direct)), make([]int, len(at.moved))
		rooms[k] = takeRoom(y.tp, y.code, len(at.direct))
		rooms[k].fill(y.tp, y.code, at.loads)
		rooms[k].turns.lay(y.tp, at.loads, rooms[k].tile())
		windows[k].first = run.at[k].from
		for range s.steps[k].windows {
			m := arena64.take(s.room)
			poison(m)
			windows[k].values = append(windows[k].values, m)
		}
	}
	turns := 0
	run.run(func(k, end, keep int) {
		y, at, now := &programs[k], &mine[k], &run.at[k]
		if turns++; x.t.check != nil && turns&63 == 63 {
			x.t.check()
		}
		if v := &windows[k]; len(v.values) > 0 && end-v.first > len(v.values[0]) {
			v.begin(keep, now.done, end)
		}
		for _, p := range y.direct {
			at.direct[p.at], at.gone[p.at] = windows[p.k].values[p.i], windows[p.k].first
		}
		for _, p := range y.moved {
			at.moved[p.at], at.movedGone[p.at] = windows[p.k].values[p.i], windows[p.k].first
		}
		for from := now.done; from < end; {
			b := from / kernels.SumBlock
			all := min((b+1)*kernels.SumBlock, y.tp.n)
			to := min(all, end)
			rooms[k].tiles(y.tp, y.code, y.code.callsFor(y.tp, at), from, to, at)
			if to == all && now.own <= b && b < now.ownEnd {
				rooms[k].turn(0)
				rooms[k].fold(y.tp, b, at.sums, at.odd)
			}
			from = to
		}
	})
	runtime.KeepAlive(programs)
}

// begin makes keep the first number of a window which is full, up to done so far, and makes room
// up to end.
func (v *slidWindow) begin(keep, done, end int) {
	for i, x := range v.values {
		to := x
		if end-keep > len(x) {
			to = arena64.take(end - keep)
		}
		kept := copy(to, x[keep-v.first:done-v.first])
		poison(to[kept:])
		if v.values[i] = to; &to[0] != &x[0] {
			arena64.give(x)
		}
	}
	v.first = keep
}
