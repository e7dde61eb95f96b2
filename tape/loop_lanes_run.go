package tape

import "nabla/kernels"

// What the code of a loop does for lanes where it is not as for a point by itself: what comes in and goes out, and the interpreter.

// spreadLanes writes each number of v to so many lanes.
func spreadLanes(dst, v []float64, lanes int) {
	if lanes == 8 {
		for i, v := range v {
			d := (*[8]float64)(dst[8*i:])
			d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7] = v, v, v, v, v, v, v, v
		}
		return
	}
	for i, v := range v {
		for j := range dst[i*lanes : (i+1)*lanes] {
			dst[i*lanes+j] = v
		}
	}
}

// isWide reports whether an array has the numbers of each lane.
func (x *loopRun) isWide(array int) bool { return x.wide == nil || x.wide[array] }

// put writes numbers of all lanes, or those that lanes share.
func (x *loopRun) put(dst, v []float64, wide bool) {
	if wide {
		copy(dst, v)
	} else {
		spreadLanes(dst, v, x.lanes())
	}
}

// numbersOf are n numbers of an array or a column, from the at-th on: in all lanes where it is wide.
func (x *loopRun) numbersOf(which int, v []float64, at, n int) []float64 {
	if x.isWide(which) {
		return v[at*x.lanes() : (at+n)*x.lanes()]
	}
	return v[at : at+n]
}

// takeLanes is loop.read for lanes.
func (x *loopRun) takeLanes(dst, v []float64, from, n int, p *loopPlace) {
	at, by := x.l.rows(from, p)
	x.takeRows(dst, len(x.arrays)+p.of, v, at, by, p.wide, n)
}

// takeRows takes n rows of so many numbers of an array or a column: the first from the at-th number on, and the next ones by
// numbers on.
func (x *loopRun) takeRows(dst []float64, which int, v []float64, at, by, row, n int) {
	if by == row || n == 1 {
		x.put(dst, x.numbersOf(which, v, at, n*row), x.isWide(which))
		return
	}
	lanes := x.lanes()
	if row == 1 && lanes == 8 && !x.isWide(which) {
		for i := range n {
			u, d := v[at], (*[8]float64)(dst[8*i:])
			d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7] = u, u, u, u, u, u, u, u
			at += by
		}
		return
	}
	for i := range n {
		x.put(dst[i*row*lanes:(i+1)*row*lanes], x.numbersOf(which, v, at, row), x.isWide(which))
		at += by
	}
}

// putLanes is loop.write for lanes.
func (x *loopRun) putLanes(dst, src []float64, from, n int, p *loopPlace) {
	lanes := x.lanes()
	row := p.wide * lanes
	at, by := x.l.rows(from, p)
	if by == p.wide {
		copy(dst[at*lanes:], src[:n*row])
		return
	}
	for i := range n {
		copy(dst[at*lanes:][:row], src[i*row:])
		at += by
	}
}

// loadLanes is load for lanes.
func (x *loopRun) loadLanes(dst []float64, p *loopPut, from, i, n int) {
	a, lanes, wide := x.arrays[p.array], x.lanes(), x.isWide(p.array)
	row, elements := p.wide*lanes, x.sizeOf(p.array)/p.row
	if p.affine {
		at, by := x.span(p, from+i)
		if end := at + by*(n-1); min(at, end) >= 0 && max(at, end) < elements {
			x.takeRows(dst, p.array, a, at*p.row+p.from, by*p.row, p.wide, n)
			return
		}
		for j := range n {
			k := p.row*elementOf(elements, float64(at+by*j), x.l.step(from+i+j)) + p.from
			x.put(dst[j*row:(j+1)*row], x.numbersOf(p.array, a, k, p.wide), wide)
		}
		return
	}
	for j := range n {
		for lane, at := range x.lanesOf(p.at+int32(i+j), 1) {
			k := p.row*elementOf(elements, at, x.l.step(from+i+j)) + p.from
			for e := range p.wide {
				if from := k + e; wide {
					dst[j*row+e*lanes+lane] = a[from*lanes+lane]
				} else {
					dst[j*row+e*lanes+lane] = a[from]
				}
			}
		}
	}
}

// sizeOf is how many numbers an array has.
func (x *loopRun) sizeOf(array int) int {
	if x.isWide(array) {
		return len(x.arrays[array]) / x.lanes()
	}
	return len(x.arrays[array])
}

// addLanes is add for lanes.
func (x *loopRun) addLanes(sum []float64, ps []loopPut, apart bool, from, n int) {
	lanes := x.lanes()
	elements := len(sum) / lanes
	place := func(p *loopPut, at float64) []float64 {
		return sum[(p.row*elementOf(elements/p.row, at, -1)+p.from)*lanes:][:p.wide*lanes]
	}
	for apart && len(ps) > 0 && ps[0].fixed {
		same, p := samePlace(ps), &ps[0]
		x.addRows(sum[(p.row*p.off+p.from)*lanes:][:p.wide*lanes], ps[:same], n)
		ps = ps[same:]
	}
	for i := range n {
		for k := range ps {
			p := &ps[k]
			v := x.lanesOf(p.value+int32(i*p.wide), p.wide)
			switch {
			case p.affine:
				first, by := x.span(p, from)
				addTo(place(p, float64(first+by*i)), v)
			case p.fixed:
				addTo(place(p, float64(p.off)), v)
			default:
				for lane, at := range x.lanesOf(p.at+int32(i), 1) {
					dst := place(p, at)
					for e := lane; e < len(v); e += lanes {
						dst[e] += v[e]
					}
				}
			}
		}
	}
}

// addRows adds what puts have to one place, for n steps.
func (x *loopRun) addRows(dst []float64, ps []loopPut, n int) {
	row := ps[0].wide
	if len(ps) == 1 {
		kernels.AccumulateRows(dst, x.lanesOf(ps[0].value, n*row), len(dst), n)
		return
	}
	for i := range n {
		of := func(k int) []float64 { return x.lanesOf(ps[k].value+int32(i*row), row) }
		k := 0
		for ; k+4 <= len(ps); k += 4 {
			kernels.Accumulate4(dst, of(k), of(k+1), of(k+2), of(k+3))
		}
		for ; k < len(ps); k++ {
			kernels.Accumulate(dst, of(k))
		}
	}
}

// addTo adds v to dst.
func addTo(dst, v []float64) {
	for i, v := range v[:len(dst)] {
		dst[i] += v
	}
}

// runLanes is run for lanes.
func (x *loopRun) runLanes(code []loopOp, from, i, n int) {
	for ; i < n; i++ {
		of := func(col int32) []float64 { return x.lanesOf(col+int32(i), 1) }
		for k := range code {
			o := &code[k]
			switch o.kind {
			case loopLoad:
				x.loadLanes(of(o.dst), &loopPut{array: int(o.array), row: 1, wide: 1, at: o.a}, from, i, 1)
				continue
			case loopTensor:
				x.stage(o.stage, from, i, 1)
				continue
			}
			d, a := of(o.dst), of(o.a)
			switch o.kind {
			case loopNeg:
				for j := range d {
					d[j] = -a[j]
				}
			case loopSquare:
				for j := range d {
					d[j] = a[j] * a[j]
				}
			case loopCopy:
				copy(d, a)
			case loopCall1:
				for j := range d {
					d[j] = o.f1(a[j])
				}
			default:
				o.joinLanes(d, a, of(o.b), of)
			}
		}
	}
}

// joinLanes does an operation of two or three arguments.
func (o *loopOp) joinLanes(d, a, b []float64, of func(col int32) []float64) {
	a, b = a[:len(d)], b[:len(d)]
	switch o.kind {
	case loopAdd:
		for j := range d {
			d[j] = a[j] + b[j]
		}
	case loopSub:
		for j := range d {
			d[j] = a[j] - b[j]
		}
	case loopMul:
		for j := range d {
			d[j] = a[j] * b[j]
		}
	case loopZMul:
		for j := range d {
			d[j] = kernels.ZMulOf(a[j], b[j])
		}
	case loopDiv:
		for j := range d {
			d[j] = a[j] / b[j]
		}
	case loopWhere:
		c := of(o.c)
		for j := range d {
			if a[j] != 0 {
				d[j] = b[j]
			} else {
				d[j] = c[j]
			}
		}
	case loopCall2:
		for j := range d {
			d[j] = o.f2(a[j], b[j])
		}
	default:
		c := of(o.c)
		for j := range d {
			d[j] = o.f3(a[j], b[j], c[j])
		}
	}
}
