package plot

import (
	"fmt"
	"image"
	"image/color"
	"math"
)

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

func (h *Heat) words() []string { return []string{h.Title, h.XLabel, h.YLabel} }

// color is the colour of an element.
func (h *Heat) color(i int, limit float64) color.RGBA {
	if h.Gap != nil && h.Gap[i] {
		return color.RGBA{0xcc, 0xcc, 0xcc, 255}
	}
	return diverging(h.Data[i] / limit)
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

// mix is a colour between a and b.
func mix(a, b color.RGBA, t float64) color.RGBA {
	m := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + t*(float64(b)-float64(a)))) }
	return color.RGBA{m(a.R, b.R), m(a.G, b.G), m(a.B, b.B), 255}
}

// draw draws a rectangle for each element, and beside them the bar that says what colours mean.
func (h *Heat) draw(c canvas) {
	w, height := c.size()
	limit := h.limit()
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
	a := &area{x: left, y: top, w: w - left - right - margin, h: height - top - bottom}
	if cell := min(a.w/float64(h.Columns), a.h/float64(h.Rows)); h.XRange[0] == h.XRange[1] && cell*float64(h.Columns) > 40 && cell*float64(h.Rows) > 40 {
		// square elements, as long as the picture does not become a thread
		a.x += (a.w - cell*float64(h.Columns)) / 2
		a.y += (a.h - cell*float64(h.Rows)) / 2
		a.w, a.h = cell*float64(h.Columns), cell*float64(h.Rows)
	}
	img := image.NewRGBA(image.Rect(0, 0, h.Columns, h.Rows))
	for i := range h.Data {
		img.SetRGBA(i%h.Columns, i/h.Columns, h.color(i, limit))
	}
	c.image(a.x, a.y, a.w, a.h, img)
	a.frame(c)
	h.axes(c, a, axis(h.Columns, h.Block[1], h.XRange, int(w/70)), yt)
	colourBar(c, &area{x: a.x + a.w + 2*margin, y: a.y, w: 14, h: a.h, fromY: -limit, toY: limit}, bar)
}

// axes writes beside the elements what they are.
func (h *Heat) axes(c canvas, a *area, xt, yt []tick) {
	for _, t := range xt {
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
		c.text(a.x+a.w/2, a.y+a.h+2*textSize+7, textSize, 0.5, false, clip(h.XLabel, a.w), black)
	}
	if h.YLabel != "" {
		c.text(margin+textSize*0.7, a.y+a.h/2, textSize, 0.5, true, clip(h.YLabel, a.h), black)
	}
}

// colourBar draws what colours mean.
func colourBar(c canvas, a *area, all []tick) {
	const steps = 128
	scale := image.NewRGBA(image.Rect(0, 0, 1, 2*steps+1))
	for i := range 2*steps + 1 {
		scale.SetRGBA(0, i, diverging(1-float64(i)/float64(steps)))
	}
	c.image(a.x, a.y, a.w, a.h, scale)
	a.frame(c)
	for _, t := range all {
		c.text(a.x+a.w+5, a.py(t.at)+textSize*0.35, textSize, 0, false, t.label, black)
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
