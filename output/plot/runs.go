package plot

// An area is where data is drawn: a rectangle of pixels and what its edges stand for.
type area struct {
	x, y, w, h             float64
	fromX, toX, fromY, toY float64
}

func (a *area) px(x float64) float64 { return a.x + a.w*part(x, a.fromX, a.toX) }
func (a *area) py(y float64) float64 { return a.y + a.h*(1-part(y, a.fromY, a.toY)) }

// part is where v stands between from and to, without overflow.
func part(v, from, to float64) float64 {
	if from == to {
		return 0.5
	}
	if d := to - from; finite(d) {
		return (v - from) / d
	}
	return (v/2 - from/2) / (to/2 - from/2)
}

// frame draws the edges.
func (a *area) frame(c canvas) {
	c.stroke([]point{{a.x, a.y}, {a.x + a.w, a.y}, {a.x + a.w, a.y + a.h}, {a.x, a.y + a.h}, {a.x, a.y}}, 1, black, nil)
}

// runs are the parts of a curve inside the area: interrupted where it is not finite or
// jumps, and cut off at the upper and lower edge. A point alone is a run, too.
func (a *area) runs(xs []float64, s *Series) (all [][]point) {
	p := &tracer{area: a}
	jumps := s.Jumps
	for i, y := range s.Y {
		if len(jumps) > 0 && jumps[0].Behind == i-1 {
			j := jumps[0]
			for _, q := range j.Before {
				p.visit(q.X, q.Y)
			}
			p.visit(j.X, j.From)
			p.lift()
			p.visit(j.X, j.To)
			for _, q := range j.After {
				p.visit(q.X, q.Y)
			}
			jumps = jumps[1:]
		}
		p.visit(xs[i], y)
	}
	p.lift()
	return p.all
}

// A tracer goes along a curve, and keeps what is inside an area.
type tracer struct {
	*area
	all     [][]point
	run     []point // the last of all, as far as it is
	last    point   // where it is, inside or not
	drawing bool    // whether it came there on the curve
}

// visit goes on to a point of the curve.
func (p *tracer) visit(x, y float64) {
	if !finite(y) {
		p.lift()
		return
	}
	q := point{p.px(x), min(max(p.py(y), -1e6), 1e6)}
	in, was := p.inside(q), p.drawing && p.inside(p.last)
	switch {
	case in && p.drawing && !was:
		p.add(between(p.last, q, p.edge(p.last)))
		p.add(q)
	case in:
		p.add(q)
	case was:
		p.add(between(p.last, q, p.edge(q)))
		p.end()
	}
	p.last, p.drawing = q, true
}

// lift interrupts the curve.
func (p *tracer) lift() {
	p.end()
	p.drawing = false
}

func (p *tracer) add(q point) {
	if n := len(p.run); n == 0 || p.run[n-1] != q {
		p.run = append(p.run, q)
	}
}

func (p *tracer) end() {
	if len(p.run) > 0 {
		p.all = append(p.all, p.run)
	}
	p.run = nil
}

func (a *area) inside(p point) bool { return p.y >= a.y && p.y <= a.y+a.h }

// edge is the upper or lower edge: the one that a point outside is beyond.
func (a *area) edge(p point) float64 {
	if p.y > a.y+a.h {
		return a.y + a.h
	}
	return a.y
}

// between is the point of a line at a height.
func between(p, q point, y float64) point {
	return point{p.x + (q.x-p.x)*(y-p.y)/(q.y-p.y), y}
}
