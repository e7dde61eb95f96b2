package plot

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"

	"golang.org/x/image/vector"
)

// A raster is pixels; curves and letters are filled outlines with smooth edges.
type raster struct{ img *image.RGBA }

func newPNG(w, h float64) canvas {
	return &raster{image.NewRGBA(image.Rect(0, 0, int(w), int(h)))}
}

func (r *raster) size() (float64, float64) {
	s := r.img.Bounds().Size()
	return float64(s.X), float64(s.Y)
}

func (r *raster) fill(x, y, w, h float64, c color.RGBA) {
	draw.Draw(r.img, image.Rect(round(x), round(y), round(x+w), round(y+h)), image.NewUniform(c), image.Point{}, draw.Src)
}

func round(x float64) int { return int(math.Round(x)) }

// A pen fills outlines inside their bounds only: a rasterizer of the whole picture for each
// letter would be slow.
type pen struct {
	path     []segment
	min, max point
}

// add adds a segment to the path.
func (p *pen) add(kind byte, q ...point) {
	s := segment{kind: kind}
	copy(s.p[:], q)
	if len(p.path) == 0 {
		p.min, p.max = q[0], q[0]
	}
	for _, a := range q {
		p.min = point{min(p.min.x, a.x), min(p.min.y, a.y)}
		p.max = point{max(p.max.x, a.x), max(p.max.y, a.y)}
	}
	p.path = append(p.path, s)
}

// paint fills a path.
func (r *raster) paint(p *pen, c color.RGBA) {
	if len(p.path) == 0 {
		return
	}
	box := image.Rect(int(math.Floor(p.min.x)), int(math.Floor(p.min.y)), int(math.Ceil(p.max.x))+1, int(math.Ceil(p.max.y))+1).Intersect(r.img.Bounds())
	if box.Empty() {
		return
	}
	z := vector.NewRasterizer(box.Dx(), box.Dy())
	at := func(q point) (float32, float32) {
		return float32(q.x - float64(box.Min.X)), float32(q.y - float64(box.Min.Y))
	}
	open := false
	for _, s := range p.path {
		x0, y0 := at(s.p[0])
		x1, y1 := at(s.p[1])
		x2, y2 := at(s.p[2])
		switch s.kind {
		case 'm':
			if open {
				z.ClosePath()
			}
			open = true
			z.MoveTo(x0, y0)
		case 'l':
			z.LineTo(x0, y0)
		case 'q':
			z.QuadTo(x0, y0, x1, y1)
		case 'c':
			z.CubeTo(x0, y0, x1, y1, x2, y2)
		}
	}
	z.ClosePath()
	z.Draw(r.img, box, image.NewUniform(c), image.Point{})
}

// stroke fills a rectangle a piece and a disc a joint. All turn the same way: parts that
// lie on one another must not cancel. A long line is painted some pieces at a time: in one
// outline a point takes 3 kB.
func (r *raster) stroke(line []point, width float64, c color.RGBA, dash []float64) {
	half := width / 2
	for _, line := range dashes(line, dash) {
		if width == 1 && len(line) == 2 && (line[0].x == line[1].x || line[0].y == line[1].y) { // a line of the grid: sharp
			a, b := line[0], line[1]
			x, y := math.Floor(min(a.x, b.x)), math.Floor(min(a.y, b.y))
			r.fill(x, y, max(math.Abs(a.x-b.x), 1), max(math.Abs(a.y-b.y), 1), c)
			continue
		}
		p := &pen{}
		for i, a := range line {
			const corners = 8
			for k := range corners {
				s, co := math.Sincos(2 * math.Pi * float64(k) / corners)
				p.add("lm"[b2i(k == 0)], point{a.x + half*co, a.y + half*s})
			}
			if i+1 == len(line) {
				break
			}
			if len(p.path) > 1<<16 {
				r.paint(p, c)
				p.path = p.path[:0]
			}
			b := line[i+1]
			d := math.Hypot(b.x-a.x, b.y-a.y)
			if d == 0 {
				continue
			}
			n := point{-(b.y - a.y) / d * half, (b.x - a.x) / d * half}
			p.add('m', point{a.x - n.x, a.y - n.y})
			p.add('l', point{b.x - n.x, b.y - n.y})
			p.add('l', point{b.x + n.x, b.y + n.y})
			p.add('l', point{a.x + n.x, a.y + n.y})
		}
		r.paint(p, c)
	}
}

// dashes cuts a line into its dashes; a nil pattern leaves it whole.
func dashes(line []point, pattern []float64) (all [][]point) {
	if pattern == nil {
		return [][]point{line}
	}
	on, left := true, pattern[0]
	run := []point{line[0]}
	for i := 1; i < len(line); i++ {
		a, b := line[i-1], line[i]
		d := math.Hypot(b.x-a.x, b.y-a.y)
		for d > left {
			t := left / d
			a = point{a.x + (b.x-a.x)*t, a.y + (b.y-a.y)*t}
			d -= left
			if on {
				all = append(all, append(run, a))
			}
			on = !on
			run, left = []point{a}, pattern[b2i(!on)]
		}
		left -= d
		run = append(run, b)
	}
	if on && len(run) > 1 {
		all = append(all, run)
	}
	return all
}

// text draws the outlines of a text.
func (r *raster) text(x, y, size, anchor float64, upright bool, s string, c color.RGBA) {
	p := &pen{}
	for _, g := range placed(x, y, size, anchor, upright, s) {
		switch g.kind {
		case 'c':
			p.add(g.kind, g.p[:]...)
		case 'q':
			p.add(g.kind, g.p[:2]...)
		default:
			p.add(g.kind, g.p[0])
		}
	}
	r.paint(p, c)
}

// image draws an image in a box, its pixels as rectangles.
func (r *raster) image(x, y, w, h float64, img *image.RGBA) {
	size := img.Bounds().Size()
	box := image.Rect(round(x), round(y), round(x+w), round(y+h))
	for py := box.Min.Y; py < box.Max.Y; py++ {
		iy := min((py-box.Min.Y)*size.Y/box.Dy(), size.Y-1)
		for px := box.Min.X; px < box.Max.X; px++ {
			ix := min((px-box.Min.X)*size.X/box.Dx(), size.X-1)
			r.img.SetRGBA(px, py, img.RGBAAt(ix, iy))
		}
	}
}

func (r *raster) write(w io.Writer) error { return png.Encode(w, r.img) }
