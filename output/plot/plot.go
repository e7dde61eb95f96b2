// Package plot draws: curves, and matrices as heat maps whose colours are centred on
// zero. One layout, four canvases: PNG, SVG, PDF and the characters of a terminal.
//
// A drawing library was tried first. gonum/plot and its canvases cost every start of the
// program 0.35 to 1 ms of initialisation (gob, a TeX symbol table, font caches), a third of a
// whole one-liner, also for those who never plot. What is drawn here needs rectangles,
// polylines and text; glyph outlines are those of the Go fonts, in both PNG and PDF.
package plot

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"
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

// Heat is a matrix as colours: white is 0, red positive, blue negative, the strongest of
// each is ±Limit.
type Heat struct {
	Title         string
	Rows, Columns int
	Data          []float64 // row by row; row 0 is on top; NaN is grey
	Gap           []bool    // elements that separate blocks, grey too; nil for none
	Block         [2]int    // rows and columns of each block; the blocks are what is numbered then
	Limit         float64   // 0: the largest magnitude of the data
	// Labels of the axes, and what their ends stand for when they are not indices.
	XLabel, YLabel string
	XRange, YRange [2]float64 // equal: indices. The rows go from YRange[1] at the top down to YRange[0].
}

// A Picture can be drawn on a canvas or in characters.
type Picture interface {
	draw(c canvas)
	text(t *terminal) string
}

// A Format is a kind of picture file.
type Format struct {
	Name   string
	Binary bool
	canvas func(width, height float64) canvas
}

// Formats are the kinds of picture files.
var Formats = []Format{
	{"png", true, newPNG},
	{"svg", false, newSVG},
	{"pdf", true, newPDF},
}

// FormatOf is the format that a file's extension names.
func FormatOf(file string) (string, bool) {
	ext := strings.ToLower(strings.TrimPrefix(filepath.Ext(file), "."))
	for _, f := range Formats {
		if f.Name == ext {
			return f.Name, true
		}
	}
	return "", false
}

// Write draws p in a format, in a picture of so many pixels (points, in a PDF).
func Write(w io.Writer, p Picture, format string, width, height int) error {
	for _, f := range Formats {
		if f.Name == format {
			c := f.canvas(float64(width), float64(height))
			c.fill(0, 0, float64(width), float64(height), white)
			p.draw(c)
			return c.write(w)
		}
	}
	return errors.New("no picture format " + format)
}

// A canvas is what pictures are drawn on: pixels, counted from the upper left corner.
type canvas interface {
	size() (width, height float64)
	fill(x, y, width, height float64, c color.RGBA)
	stroke(line []point, width float64, c color.RGBA, dash []float64)
	// text puts s with the part anchor (0 its start, 1 its end) of its width at x, on the
	// baseline y; upright text runs from below to above.
	text(x, y, size, anchor float64, upright bool, s string, c color.RGBA)
	image(x, y, width, height float64, img *image.RGBA) // every pixel a rectangle
	write(w io.Writer) error
}

type point struct{ x, y float64 }

var (
	white = color.RGBA{255, 255, 255, 255}
	black = color.RGBA{0x22, 0x22, 0x22, 255}
	grid  = color.RGBA{0xe4, 0xe4, 0xe4, 255}
	grey  = color.RGBA{0x99, 0x99, 0x99, 255}
	// curves: easy to tell apart, also for the colour-blind (Okabe and Ito, 2008).
	palette = []color.RGBA{{0x00, 0x72, 0xb2, 255}, {0xd5, 0x5e, 0x00, 255}, {0x00, 0x9e, 0x73, 255}, {0xcc, 0x79, 0xa7, 255}, {0xe6, 0x9f, 0x00, 255}, {0x56, 0xb4, 0xe9, 255}}
)

const (
	textSize = 12
	margin   = 10
)

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

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// mix is a colour between a and b.
func mix(a, b color.RGBA, t float64) color.RGBA {
	m := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + t*(float64(b)-float64(a)))) }
	return color.RGBA{m(a.R, b.R), m(a.G, b.G), m(a.B, b.B), 255}
}

// The ends and middles of the diverging colours (ColorBrewer's RdBu).
var (
	cold, cool = color.RGBA{0x05, 0x30, 0x61, 255}, color.RGBA{0x43, 0x93, 0xc3, 255}
	hot, warm  = color.RGBA{0x67, 0x00, 0x1f, 255}, color.RGBA{0xd6, 0x60, 0x4d, 255}
)

// diverging is the colour of v between -1 and 1: white at exactly 0.
func diverging(v float64) color.RGBA {
	if math.IsNaN(v) {
		return grey
	}
	v = min(max(v, -1), 1)
	mid, end := warm, hot
	if v < 0 {
		mid, end, v = cool, cold, -v
	}
	if v < 0.5 {
		return mix(white, mid, 2*v)
	}
	return mix(mid, end, 2*v-1)
}

// draw draws axes, curves and what these are called.
func (l *Lines) draw(c canvas) {
	w, h := c.size()
	low, high := l.Limits()
	yt, xt := l.yticks(low, high, int(h/60)), l.xticks(int(w/80))
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
	a := area{x: margin + left + 6, y: margin + legend, fromX: l.X[0], toX: l.X[len(l.X)-1], fromY: low, toY: high}
	a.w, a.h = w-a.x-2*margin, h-a.y-margin-2*textSize-8
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
	c.text(a.x+a.w/2, h-margin, textSize, 0.5, false, l.XLabel, black)
	if l.zero(low, high) {
		c.stroke([]point{{a.x, a.py(0)}, {a.x + a.w, a.py(0)}}, 1, grey, nil)
	}
	for i, s := range l.Series {
		ink, dash := palette[s.Ink%len(palette)], []float64(nil)
		if s.Dashed {
			dash = []float64{7, 4}
		}
		for _, run := range a.runs(l.X, &s) {
			if p := run[0]; len(run) == 1 { // a line of no length would not show
				c.fill(p.x-2.5, p.y-2.5, 5, 5, ink)
				continue
			}
			c.stroke(run, 1.8, ink, dash)
		}
		width := (w - a.x - margin) / float64(columns)
		x, y := a.x+float64(i/rows)*width, margin+float64(i%rows)*(textSize+4)+textSize*0.6
		c.stroke([]point{{x, y}, {x + 30, y}}, 1.8, ink, dash)
		c.text(x+36, y+textSize*0.35, textSize, 0, false, clip(s.Name, width-36), black)
	}
	c.stroke([]point{{a.x, a.y}, {a.x + a.w, a.y}, {a.x + a.w, a.y + a.h}, {a.x, a.y + a.h}, {a.x, a.y}}, 1, black, nil)
}

// clip shortens a text to a width.
func clip(s string, width float64) string {
	if textWidth(s) <= width {
		return s
	}
	r := []rune(s)
	for len(r) > 0 && textWidth(string(r)+"…") > width {
		r = r[:len(r)-1]
	}
	return string(r) + "…"
}

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

// runs are the parts of a curve inside the area: interrupted where it is not finite or
// jumps, and cut off at the upper and lower edge. A point alone is a run, too.
func (a *area) runs(xs []float64, s *Series) (all [][]point) {
	var run []point
	end := func() {
		if len(run) > 0 {
			all = append(all, run)
		}
		run = nil
	}
	add := func(p point) {
		if n := len(run); n == 0 || run[n-1] != p {
			run = append(run, p)
		}
	}
	edge := func(p, q point, y float64) point { return point{p.x + (q.x-p.x)*(y-p.y)/(q.y-p.y), y} }
	top, bottom := a.y, a.y+a.h
	inside := func(p point) bool { return p.y >= top && p.y <= bottom }
	var last point
	drawing := false
	visit := func(x, y float64) {
		if !finite(y) {
			end()
			drawing = false
			return
		}
		p := point{a.px(x), min(max(a.py(y), -1e6), 1e6)}
		if drawing && !inside(last) && inside(p) {
			e := top
			if last.y > bottom {
				e = bottom
			}
			add(edge(last, p, e))
		}
		switch {
		case inside(p):
			add(p)
		case drawing && inside(last):
			e := top
			if p.y > bottom {
				e = bottom
			}
			add(edge(last, p, e))
			end()
		}
		last, drawing = p, true
	}
	jumps := s.Jumps
	for i, y := range s.Y {
		if len(jumps) > 0 && jumps[0].Behind == i-1 {
			j := jumps[0]
			for _, p := range j.Before {
				visit(p.X, p.Y)
			}
			visit(j.X, j.From)
			visit(j.X, math.NaN())
			visit(j.X, j.To)
			for _, p := range j.After {
				visit(p.X, p.Y)
			}
			jumps = jumps[1:]
		}
		visit(xs[i], y)
	}
	end()
	return all
}

// limit is the magnitude of the strongest colours.
func (h *Heat) limit() float64 {
	if h.Limit > 0 {
		return h.Limit
	}
	m := 0.0
	for i, v := range h.Data {
		if finite(v) && !(h.Gap != nil && h.Gap[i]) {
			m = max(m, math.Abs(v))
		}
	}
	if m == 0 {
		return 1
	}
	return m
}

// color is the colour of an element.
func (h *Heat) color(i int, limit float64) color.RGBA {
	if h.Gap != nil && h.Gap[i] {
		return color.RGBA{0xcc, 0xcc, 0xcc, 255}
	}
	return diverging(h.Data[i] / limit)
}

// draw draws a rectangle for each element, and beside them the bar that says what colours mean.
func (h *Heat) draw(c canvas) {
	w, height := c.size()
	limit := h.limit()
	img := image.NewRGBA(image.Rect(0, 0, h.Columns, h.Rows))
	for i := range h.Data {
		img.SetRGBA(i%h.Columns, i/h.Columns, h.color(i, limit))
	}
	bar := ticks(-limit, limit, int(height/60))
	right := 0.0
	for _, t := range bar {
		right = max(right, textWidth(t.label))
	}
	right += 14 + 5 + 2*margin
	yt := axis(h.Rows, h.Block[0], h.YRange, int(height/50))
	left := 0.0
	for _, t := range yt {
		left = max(left, textWidth(t.label))
	}
	left += margin + 6
	if h.YLabel != "" {
		left += textSize + 4
	}
	top, bottom := float64(margin), float64(margin+textSize+6)
	if h.Title != "" {
		top += textSize + 6
		c.text(w/2, margin+textSize*0.7, textSize, 0.5, false, clip(h.Title, w-2*margin), black)
	}
	if h.XLabel != "" {
		bottom += textSize + 4
	}
	a := area{x: left, y: top, w: w - left - right - margin, h: height - top - bottom}
	if cell := min(a.w/float64(h.Columns), a.h/float64(h.Rows)); h.XRange[0] == h.XRange[1] && cell*float64(h.Columns) > 40 && cell*float64(h.Rows) > 40 {
		// square elements, as long as the picture does not become a thread
		a.x += (a.w - cell*float64(h.Columns)) / 2
		a.y += (a.h - cell*float64(h.Rows)) / 2
		a.w, a.h = cell*float64(h.Columns), cell*float64(h.Rows)
	}
	c.image(a.x, a.y, a.w, a.h, img)
	c.stroke([]point{{a.x, a.y}, {a.x + a.w, a.y}, {a.x + a.w, a.y + a.h}, {a.x, a.y + a.h}, {a.x, a.y}}, 1, black, nil)
	for _, t := range axis(h.Columns, h.Block[1], h.XRange, int(w/70)) {
		c.text(a.x+a.w*t.at, a.y+a.h+textSize+3, textSize, 0.5, false, t.label, black)
	}
	for _, t := range yt {
		at := t.at
		if h.YRange[0] != h.YRange[1] {
			at = 1 - at
		}
		c.text(a.x-6, a.y+a.h*at+textSize*0.35, textSize, 1, false, t.label, black)
	}
	if h.XLabel != "" {
		c.text(a.x+a.w/2, a.y+a.h+2*textSize+7, textSize, 0.5, false, h.XLabel, black)
	}
	if h.YLabel != "" {
		c.text(margin+textSize*0.7, a.y+a.h/2, textSize, 0.5, true, h.YLabel, black)
	}
	// the colour bar
	x, steps := a.x+a.w+2*margin, 128
	scale := image.NewRGBA(image.Rect(0, 0, 1, 2*steps+1))
	for i := range 2*steps + 1 {
		scale.SetRGBA(0, i, diverging(1-float64(i)/float64(steps)))
	}
	c.image(x, a.y, 14, a.h, scale)
	c.stroke([]point{{x, a.y}, {x + 14, a.y}, {x + 14, a.y + a.h}, {x, a.y + a.h}, {x, a.y}}, 1, black, nil)
	for _, t := range bar {
		c.text(x+14+5, a.y+a.h*(1-part(t.at, -limit, limit))+textSize*0.35, textSize, 0, false, t.label, black)
	}
}

// Patches puts a four-dimensional array, such as a Jacobian [batch, out, batch, in], into one
// picture of blocks with lines between them: block (p, q) is data[:, p, :, q], the diagonals of
// a batch as contiguous patches, as TensorFlow's guide "Advanced automatic differentiation"
// draws it (plot_as_patches).
func Patches(title string, shape [4]int, data []float64) *Heat {
	a, m, b, n := shape[0], shape[1], shape[2], shape[3]
	h := &Heat{Title: title, Rows: m*(a+1) + 1, Columns: n*(b+1) + 1, Block: [2]int{a, b}}
	h.Data, h.Gap = make([]float64, h.Rows*h.Columns), make([]bool, h.Rows*h.Columns)
	for i := range h.Gap {
		h.Gap[i] = true
	}
	k := 0
	for i := range a {
		for p := range m {
			for j := range b {
				for q := range n {
					at := (p*(a+1)+1+i)*h.Columns + q*(b+1) + 1 + j
					h.Data[at], h.Gap[at] = data[k], false
					k++
				}
			}
		}
	}
	h.XLabel = fmt.Sprintf("%d × %d patches of %d × %d", m, n, a, b)
	return h
}
