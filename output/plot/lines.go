package plot

import (
	"image/color"
	"strconv"
)

// A Series is one curve. Points that are not finite interrupt it.
type Series struct {
	Name   string
	Y      []float64 // one a point of Lines.X
	Dashed bool
	Ink    int    // which colour
	Jumps  []Jump // in order
}

// A Jump is where a curve leaves one height for another, behind a point: no line joins them.
type Jump struct {
	Behind   int // the index of the point
	X        float64
	From, To float64
	// More points on the way there and back, from left to right: beside a pole a curve leaves
	// the picture between two points.
	Before, After []Point
}

// A Point is one of a curve, in its numbers.
type Point struct{ X, Y float64 }

// Lines are curves over the same points.
type Lines struct {
	XLabel  string
	X       []float64
	Indices bool // X counts from 0: what stands between has no label
	Series  []Series
	YLow    float64 // limits of the picture; equal: from the data
	YHigh   float64
	// On a logarithmic axis the points are the logarithms, to base 10, of what its labels say.
	XLog, YLog bool
}

// xticks are about n labelled places on the horizontal axis.
func (l *Lines) xticks(n int) (all []tick) {
	if from, to := l.X[0], l.X[len(l.X)-1]; l.XLog {
		return powers(from, to, n)
	} else if !l.Indices {
		return ticks(from, to, n)
	}
	for _, i := range indices(len(l.X), n) {
		all = append(all, tick{float64(i), strconv.Itoa(i)})
	}
	return all
}

// yticks are about n labelled places on the vertical axis.
func (l *Lines) yticks(low, high float64, n int) []tick {
	if l.YLog {
		return powers(low, high, n)
	}
	return ticks(low, high, n)
}

// zero reports whether a line at 0 is in the picture.
func (l *Lines) zero(low, high float64) bool { return low < 0 && high > 0 && !l.YLog }

// Limits are the smallest and largest value to show. A few values far away, such as those
// beside a pole, do not count: the picture would show nothing else.
func (l *Lines) Limits() (low, high float64) {
	if l.YLow < l.YHigh {
		return l.YLow, l.YHigh
	}
	var all []float64
	for _, s := range l.Series {
		for _, y := range s.Y {
			if finite(y) {
				all = append(all, y)
			}
		}
	}
	return spread(all)
}

func (l *Lines) words() []string {
	all := []string{l.XLabel}
	for i := range l.Series {
		all = append(all, l.Series[i].Name)
	}
	return all
}

// draw draws axes, curves and what these are called.
func (l *Lines) draw(c canvas) {
	w, h := c.size()
	low, high := l.Limits()
	yt := l.yticks(low, high, int(h/60))
	left := 0.0
	for _, t := range yt {
		left = max(left, textWidth(t.label))
	}
	columns := 1 // of the legend
	if len(l.Series) > 4 {
		columns = 2
	}
	rows := (len(l.Series) + columns - 1) / columns
	legend := float64(rows) * (textSize + 4)
	a := &area{x: margin + left + 6, y: margin + legend, fromX: l.X[0], toX: l.X[len(l.X)-1], fromY: low, toY: high}
	a.w, a.h = w-a.x-2*margin, h-a.y-margin-2*textSize-8
	l.axes(c, a, l.xticks(int(w/80)), yt)
	width := (w - a.x - margin) / float64(columns)
	for i := range l.Series {
		s := &l.Series[i]
		s.draw(c, a, l.X)
		x, y := a.x+float64(i/rows)*width, margin+float64(i%rows)*(textSize+4)+textSize*0.6
		c.stroke([]point{{x, y}, {x + 30, y}}, 1.8, s.ink(), s.dash())
		c.text(x+36, y+textSize*0.35, textSize, 0, false, clip(s.Name, width-36), black)
	}
	a.frame(c)
}

// axes draws a grid, what its lines stand for, and the line at 0.
func (l *Lines) axes(c canvas, a *area, xt, yt []tick) {
	for _, t := range xt {
		x := a.px(t.at)
		c.stroke([]point{{x, a.y}, {x, a.y + a.h}}, 1, grid, nil)
		c.text(x, a.y+a.h+textSize+3, textSize, 0.5, false, t.label, black)
	}
	for _, t := range yt {
		y := a.py(t.at)
		c.stroke([]point{{a.x, y}, {a.x + a.w, y}}, 1, grid, nil)
		c.text(a.x-6, y+textSize*0.35, textSize, 1, false, t.label, black)
	}
	_, h := c.size()
	c.text(a.x+a.w/2, h-margin, textSize, 0.5, false, clip(l.XLabel, a.w), black)
	if l.zero(a.fromY, a.toY) {
		c.stroke([]point{{a.x, a.py(0)}, {a.x + a.w, a.py(0)}}, 1, grey, nil)
	}
}

func (s *Series) ink() color.RGBA { return palette[s.Ink%len(palette)] }

// dash is the pattern of the curve's line: nil for none.
func (s *Series) dash() []float64 {
	if s.Dashed {
		return []float64{7, 4}
	}
	return nil
}

// draw draws the curve over xs.
func (s *Series) draw(c canvas, a *area, xs []float64) {
	for _, run := range a.runs(xs, s) {
		if p := run[0]; len(run) == 1 { // a line of no length would not show
			c.fill(p.x-2.5, p.y-2.5, 5, 5, s.ink())
			continue
		}
		c.stroke(run, 1.8, s.ink(), s.dash())
	}
}
