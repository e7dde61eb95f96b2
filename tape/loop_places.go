package tape

import "math"

// read takes the numbers of column x at place p that belong to the steps after from others.
func (l *loop) read(dst, x []float64, from int, p *loopPlace) {
	n := len(dst) / p.wide
	switch {
	case p.wide < p.size:
		at, by := l.rows(from, p)
		for i := range dst {
			dst[i] = x[at]
			at += by
		}
	case !l.back:
		copy(dst, x[from*p.size:])
	case p.size == 1:
		x = x[l.n-from-n : l.n-from]
		for i := range dst {
			dst[i] = x[len(x)-1-i]
		}
	default:
		at, by := l.rows(from, p)
		for i := 0; i < len(dst); i += p.size {
			copy(dst[i:i+p.size], x[at:])
			at += by
		}
	}
}

// rows is where the numbers at place p of the step after from others are, and how far from
// there those of the next one.
func (l *loop) rows(from int, p *loopPlace) (at, by int) {
	by = p.size
	if l.back {
		by = -by
	}
	return l.step(from)*p.size + p.at, by
}

// write is read the other way, for n steps.
func (l *loop) write(x, src []float64, from, n int, p *loopPlace) {
	src = src[:n*p.wide]
	switch {
	case p.wide < p.size:
		at, by := l.rows(from, p)
		for _, v := range src {
			x[at] = v
			at += by
		}
	case !l.back:
		copy(x[from*p.size:], src)
	case p.size == 1:
		x = x[l.n-from-n : l.n-from]
		for i, v := range src {
			x[len(x)-1-i] = v
		}
	default:
		at, by := l.rows(from, p)
		for i := 0; i < len(src); i += p.size {
			copy(x[at:at+p.size], src[i:])
			at += by
		}
	}
}

// element is where array[at] is, as the program indexes: a row of so many numbers.
func (x *loopRun) element(array int, row int, at float64, i int) int {
	return row * elementOf(len(x.arrays[array])/row, at, x.l.step(i))
}

// elementOf is which of n elements the index at is in a step, or -1 for one that is not known.
func elementOf(n int, at float64, step int) int {
	k := int(at)
	if k < 0 {
		k += n
	}
	if uint(k) >= uint(n) || at != math.Trunc(at) {
		panic(&badLoad{at, n, step})
	}
	return k
}

// span is where an element that moves with the index is in the steps after from others:
// at the first of them, and how far it goes at each.
func (x *loopRun) span(p *loopPut, from int) (at, by int) {
	by = int(x.l.by)
	at = int(x.l.from) + by*(x.l.first+x.l.step(from)) + p.off
	if x.l.back {
		by = -by
	}
	return at, by
}

// load takes elements of an array for n steps of a batch, from the i-th on.
func (x *loopRun) load(dst []float64, p *loopPut, from, i, n int) {
	a := x.arrays[p.array]
	if !p.affine {
		for j, at := range x.mem[int(p.at)+i : int(p.at)+i+n] {
			k := x.element(p.array, p.row, at, from+i+j)
			copy(dst[j*p.wide:(j+1)*p.wide], a[k+p.from:])
		}
		return
	}
	at, by := x.span(p, from+i)
	end := at + by*(n-1)
	switch size := len(a) / p.row; {
	case min(at, end) < 0 || max(at, end) >= size:
		for j := range n {
			k := x.element(p.array, p.row, float64(at+by*j), from+i+j)
			copy(dst[j*p.wide:(j+1)*p.wide], a[k+p.from:])
		}
	case by == 1 && p.wide == p.row:
		copy(dst, a[at*p.row:])
	case p.wide == 1:
		at, by = at*p.row+p.from, by*p.row
		for j := range dst {
			dst[j] = a[at]
			at += by
		}
	default:
		for j := range n {
			copy(dst[j*p.wide:(j+1)*p.wide], a[(at+by*j)*p.row+p.from:])
		}
	}
}

// add adds what a batch of steps puts into sum.
func (x *loopRun) add(sum []float64, ps []loopPut, apart bool, from, n int) {
	place := func(p *loopPut, at float64) []float64 {
		return sum[p.row*elementOf(len(sum)/p.row, at, -1)+p.from:][:p.wide]
	}
	plus := func(dst, v []float64) {
		for i, v := range v {
			dst[i] += v
		}
	}
	if !apart {
		for i := range n {
			for k := range ps {
				p := &ps[k]
				at := float64(p.off)
				if p.affine {
					first, by := x.span(p, from)
					at = float64(first + by*i)
				} else if !p.fixed {
					at = x.mem[int(p.at)+i]
				}
				plus(place(p, at), x.mem[int(p.value)+i*p.wide:][:p.wide])
			}
		}
		return
	}
	if len(ps) > 0 && ps[0].fixed {
		x.addFixed(sum, ps, n)
		return
	}
	for k := range ps {
		p := &ps[k]
		at, by := x.span(p, from)
		v := x.mem[p.value : int(p.value)+n*p.wide]
		if end := at + by*(n-1); p.wide > 1 || min(at, end) < 0 || max(at, end) >= len(sum)/p.row {
			for i := range n {
				plus(place(p, float64(at+by*i)), v[i*p.wide:(i+1)*p.wide])
			}
			continue
		}
		// Not a kernel: vectors would wait for the stores of the last run, one number off.
		at, by = at*p.row+p.from, by*p.row
		for i := range v {
			sum[at] += v[i]
			at += by
		}
	}
}

// sumsBeside is how many numbers are added to beside one another: each waits for its own additions alone.
const sumsBeside = 4

// addFixed adds n steps to a sum of which every step adds to the same elements.
func (x *loopRun) addFixed(sum []float64, ps []loopPut, n int) {
	for len(ps) > 0 {
		same := samePlace(ps)
		p := &ps[0]
		if p.wide == 1 {
			many := 1
			for many < sumsBeside && isNumber(ps[many*same:], same) {
				many++
			}
			x.addNumbers(sum, ps[:many*same], same, n)
			ps = ps[many*same:]
			continue
		}
		dst := sum[p.off*p.row+p.from:][:p.wide]
		for i := range n {
			for k := range ps[:same] {
				for e, v := range x.mem[int(ps[k].value)+i*p.wide:][:p.wide] {
					dst[e] += v
				}
			}
		}
		ps = ps[same:]
	}
}

// samePlace is how many of the first puts are to one place.
func samePlace(ps []loopPut) int {
	n := 1
	for n < len(ps) && ps[n].off == ps[0].off && ps[n].from == ps[0].from {
		n++
	}
	return n
}

// isNumber reports whether so many puts are to a number, and no others after them.
func isNumber(ps []loopPut, same int) bool {
	return len(ps) >= same && ps[0].wide == 1 && samePlace(ps) == same
}

// addNumbers is addFixed for numbers, to each of which there are as many puts: the numbers stay in registers.
func (x *loopRun) addNumbers(sum []float64, ps []loopPut, same, n int) {
	at := func(k int) *float64 {
		p := &ps[k*same]
		return &sum[p.off*p.row+p.from]
	}
	if len(ps) < sumsBeside*same {
		for ; len(ps) > 0; ps = ps[same:] {
			s := *at(0)
			if same == 1 {
				for _, v := range x.mem[ps[0].value:][:n] {
					s += v
				}
			} else {
				for i := range n {
					for k := range ps[:same] {
						s += x.mem[int(ps[k].value)+i]
					}
				}
			}
			*at(0) = s
		}
		return
	}
	s0, s1, s2, s3 := *at(0), *at(1), *at(2), *at(3)
	a, b, c, d := ps[:same], ps[same:][:same], ps[2*same:][:same], ps[3*same:][:same]
	for i := range n {
		for k := range a {
			s0 += x.mem[int(a[k].value)+i]
			s1 += x.mem[int(b[k].value)+i]
			s2 += x.mem[int(c[k].value)+i]
			s3 += x.mem[int(d[k].value)+i]
		}
	}
	*at(0), *at(1), *at(2), *at(3) = s0, s1, s2, s3
}
