package tape

import (
	"runtime"

	"nabla/kernels"
)

// run runs the steps from i up to end.
func (y *steadyRun) run(i *int, end int) {
	x := y.x
	for *i < end {
		if t := x.t; t.check != nil {
			t.check()
		}
		from := *i
		n := y.enter(from, min(end, from+y.most))
		for first, left := 0, n; left > 0; {
			var call, done int
			call, done, left = kernels.Repeat(y.calls, first, y.at, y.moves, left)
			if *i = from + n - left; left > 0 {
				y.inGo[call](done)
				first = call + 1
			}
		}
	}
	runtime.KeepAlive(y)
}

// enter says where everything is in the steps from i up to end, or the first of them, and
// returns how many. The last step of all carries nothing on.
func (y *steadyRun) enter(i, end int) (n int) {
	x, l := y.x, y.x.l
	n = end - i
	if end == l.n && n > 1 {
		n--
	}
	for j := range x.loads {
		if n > 1 && !y.inRows(&x.loads[j], i, n) {
			n = 1
		}
	}
	row, by := l.step(i), 1
	if l.back {
		by = -1
	}
	y.moves = y.moves[:0]
	in := y.in
	next := func() steadyIn {
		v := in[0]
		in = in[1:]
		return v
	}
	for _, k := range x.plannedStep.columns {
		y.rows(next(), x.columns[k], row, by, n)
	}
	for j := range x.loads {
		p := &x.loads[j]
		v, place := x.arrays[p.array], l.placeAt(row)+p.off
		if n == 1 {
			v, place = rowOf(v, l.body.size(p.r), float64(place)), 0
		}
		y.rows(next(), v, place, by*int(l.by), n)
	}
	for _, r := range x.block.given {
		y.rows(next(), x.ahead.data(x.ahead.p.same[r]), row-x.at, by, n)
	}
	for k := range l.carry {
		if v := next(); x.ends[k].r != None {
			y.carries(k, v, i, row, by, n)
		}
	}
	if v := in; len(v) > 0 && v[0].at >= 0 {
		for k := range n {
			y.index[k] = l.indexAt(l.step(i + k))
		}
		y.rows(v[0], y.index, 0, 1, n)
	}
	for k, r := range l.outs {
		if e := len(l.carry) + k; x.ends[e].r != None {
			y.ended(e, y.out[l.outAt(k):l.outAt(k+1)], l.body.size(r), row, by, n)
		}
	}
	for k, r := range x.block.kept {
		y.ended(len(l.carry)+len(l.outs)+k, x.kept[k], l.body.size(r), row-x.at, by, n)
	}
	return n
}

// carries says where carried value k is in n steps from i on, and what it becomes.
func (y *steadyRun) carries(k int, v steadyIn, i, row, by, n int) {
	l := y.x.l
	size, last := l.body.size(v.r), i+n == l.n
	if j := y.kept[k]; j >= 0 {
		column := y.out[l.outAt(j):l.outAt(j+1)]
		if y.rows(v, column, row, by, n); !last {
			y.ended(k, column, size, row+by, by, n)
		}
	} else {
		here, there := y.turns[k], y.turns[k]
		if !y.x.ends[k].over {
			here += y.now[k] * wholeLines(size)
			there += (1 - y.now[k]) * wholeLines(size)
		}
		y.now[k] = (y.now[k] + n) & 1
		if y.turn(y.placesOf(v), here, there, size, n); !last {
			for _, places := range y.goals[k] {
				y.turn(places, there, here, size, n)
			}
		}
	}
	if last {
		y.ended(k, y.out[l.nextAt(k):l.nextAt(k+1)], size, 0, 0, 1)
	}
}

// inRows reports whether n steps from i on find a load in rows that follow one another.
func (y *steadyRun) inRows(p *plannedRow, i, n int) bool {
	l := y.x.l
	first, last := l.placeAt(l.step(i))+p.off, l.placeAt(l.step(i+n-1))+p.off
	return min(first, last) >= 0 && (max(first, last)+1)*l.body.size(p.r) <= len(y.x.arrays[p.array])
}

// placesOf are the places of a placeholder.
func (y *steadyRun) placesOf(v steadyIn) []steadyPlace {
	switch {
	case v.slot >= 0:
		return y.where[v.slot]
	case v.at >= 0:
		return append([]steadyPlace{{v.at, 0}}, y.beside[v.r]...)
	}
	return nil
}

// rows says that a placeholder is a row of v, and by rows further in each of n steps.
func (y *steadyRun) rows(in steadyIn, v []float64, row, by, n int) {
	size := y.x.l.body.size(in.r)
	y.follow(y.placesOf(in), v, size, row, by, n)
}

// ended says that of a result.
func (y *steadyRun) ended(end int, v []float64, size, row, by, n int) {
	for _, w := range y.goals[end] {
		y.follow(w, v, size, row, by, n)
	}
}

func (y *steadyRun) follow(places []steadyPlace, v []float64, size, row, by, n int) {
	_ = v[(row+by*(n-1))*size:][:size]
	y.lay(places, v, row*size, size)
	y.move(places, 8*by*size, 8*by*size, n)
}

// turn says that a value is in the room at here and there by turns.
func (y *steadyRun) turn(places []steadyPlace, here, there, size, n int) {
	y.lay(places, y.room, here, size)
	by := [2]int{8 * (here - there), 8 * (here - there)}
	by[(n-1)&1] = 8 * (there - here)
	y.move(places, by[0], by[1], n)
}

// move has places move, by so many bytes where the number of steps that are left is even, and odd.
func (y *steadyRun) move(places []steadyPlace, even, odd, n int) {
	if n == 1 || even == 0 && odd == 0 {
		return
	}
	for _, w := range places {
		y.moves = append(y.moves, kernels.Move{Place: w.at, By: [2]int{even, odd}})
	}
}
