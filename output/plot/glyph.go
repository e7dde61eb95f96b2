package plot

import (
	"slices"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// face is the font of PNG and PDF; its outlines are scaled from this size.
func face() *sfnt.Font {
	faceOnce.Do(func() {
		var err error
		if goregularFace, err = sfnt.Parse(goregular.TTF); err != nil {
			panic(err) // the font is part of the program
		}
	})
	return goregularFace
}

var (
	faceOnce      sync.Once
	goregularFace *sfnt.Font
)

const unitsPerEm = 1000

// A segment is a part of an outline: it begins at p[0] ("move"), or goes on in a line to p[0],
// in a parabola by p[0] to p[1], or in a cubic by p[0] and p[1] to p[2].
type segment struct {
	kind byte // 'm', 'l', 'q', 'c'
	p    [3]point
}

// outline is a text at the origin, in the size asked for, y downwards, and its width.
func outline(s string, size float64) (path []segment, width float64) {
	f := face()
	var b sfnt.Buffer
	scale := size / unitsPerEm / 64
	for _, r := range s {
		g, err := f.GlyphIndex(&b, r)
		if err != nil {
			continue
		}
		if segments, err := f.LoadGlyph(&b, g, fixed.I(unitsPerEm), nil); err == nil {
			for _, s := range segments {
				var q segment
				q.kind = "mlqc"[s.Op]
				for i, a := range s.Args {
					q.p[i] = point{width + float64(a.X)*scale, float64(a.Y) * scale}
				}
				path = append(path, q)
			}
		}
		if advance, err := f.GlyphAdvance(&b, g, fixed.I(unitsPerEm), font.HintingNone); err == nil {
			width += float64(advance) * scale
		}
	}
	return path, width
}

// Lacked are the letters of a picture that PNG and PDF have no outlines for, each once.
func Lacked(p Picture) (list []rune) {
	var b sfnt.Buffer
	for _, text := range p.words() {
		for _, r := range text {
			if g, err := face().GlyphIndex(&b, r); (err != nil || g == 0) && !slices.Contains(list, r) {
				list = append(list, r)
			}
		}
	}
	return list
}

// textWidth is the width of a text of textSize in pixels.
func textWidth(s string) float64 {
	_, w := outline(s, textSize)
	return w
}

// placed is a text as canvases that draw outlines want it.
func placed(x, y, size, anchor float64, upright bool, s string) []segment {
	path, width := outline(s, size)
	for i := range path {
		for k, p := range path[i].p {
			p.x -= anchor * width
			if upright {
				p.x, p.y = p.y, -p.x
			}
			path[i].p[k] = point{x + p.x, y + p.y}
		}
	}
	return path
}
