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
	"image"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"strings"
)

// A Picture can be drawn on a canvas or in characters.
type Picture interface {
	draw(c canvas)
	text(t *terminal) string
	words() []string // what names its parts
}

// A Format is a kind of picture file.
type Format struct {
	Name   string
	Binary bool // never goes to a terminal
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

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

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
