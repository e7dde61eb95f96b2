package plot

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"image"
	"image/color"
	"io"
)

// A pdf is one page (PDF 1.4, ISO 32000-1): a content stream and its images. Text is
// outlines, so that any letter shows and no font is needed.
type pdf struct {
	b      bytes.Buffer
	images []*image.RGBA
	w, h   float64
}

func newPDF(w, h float64) canvas { return &pdf{w: w, h: h} }

func (p *pdf) size() (float64, float64) { return p.w, p.h }

func rgb(c color.RGBA) string {
	return fmt.Sprintf("%.3f %.3f %.3f", float64(c.R)/255, float64(c.G)/255, float64(c.B)/255)
}

func (p *pdf) at(q point) string { return num(q.x) + " " + num(p.h-q.y) } // PDF counts from below

func (p *pdf) fill(x, y, w, h float64, c color.RGBA) {
	fmt.Fprintf(&p.b, "%s rg %s %s %s re f\n", rgb(c), p.at(point{x, y + h}), num(w), num(h))
}

func (p *pdf) stroke(line []point, width float64, c color.RGBA, dash []float64) {
	fmt.Fprintf(&p.b, "%s RG %s w 1 J 1 j ", rgb(c), num(width))
	if dash == nil {
		p.b.WriteString("[] 0 d\n")
	} else {
		fmt.Fprintf(&p.b, "[%s %s] 0 d\n", num(dash[0]), num(dash[1]))
	}
	for i, q := range line {
		p.b.WriteString(p.at(q) + []string{" l\n", " m\n"}[b2i(i == 0)])
	}
	p.b.WriteString("S\n")
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (p *pdf) text(x, y, size, anchor float64, upright bool, s string, c color.RGBA) {
	fmt.Fprintf(&p.b, "%s rg\n", rgb(c))
	var last point
	for _, g := range placed(x, y, size, anchor, upright, s) {
		q := g.p
		switch g.kind {
		case 'm':
			p.b.WriteString(p.at(q[0]) + " m\n")
			last = q[0]
		case 'l':
			p.b.WriteString(p.at(q[0]) + " l\n")
			last = q[0]
		case 'q': // a parabola as a cubic
			third := func(a, b point) point { return point{a.x + (b.x-a.x)*2/3, a.y + (b.y-a.y)*2/3} }
			fmt.Fprintf(&p.b, "%s %s %s c\n", p.at(third(last, q[0])), p.at(third(q[1], q[0])), p.at(q[1]))
			last = q[1]
		case 'c':
			fmt.Fprintf(&p.b, "%s %s %s c\n", p.at(q[0]), p.at(q[1]), p.at(q[2]))
			last = q[2]
		}
	}
	p.b.WriteString("f\n")
}

func (p *pdf) image(x, y, w, h float64, img *image.RGBA) {
	fmt.Fprintf(&p.b, "q %s 0 0 %s %s cm /I%d Do Q\n", num(w), num(h), p.at(point{x, y + h}), len(p.images))
	p.images = append(p.images, img)
}

// write writes the file: a page of what was drawn, and where each object of it begins.
func (p *pdf) write(w io.Writer) error {
	var out bytes.Buffer
	var offsets []int
	object := func(dict string, stream []byte) {
		offsets = append(offsets, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n", len(offsets))
		if stream == nil {
			fmt.Fprintf(&out, "<< %s >>\nendobj\n", dict)
			return
		}
		var z bytes.Buffer
		c := zlib.NewWriter(&z)
		c.Write(stream)
		c.Close()
		fmt.Fprintf(&out, "<< %s /Filter /FlateDecode /Length %d >>\nstream\n", dict, z.Len())
		out.Write(z.Bytes())
		out.WriteString("\nendstream\nendobj\n")
	}
	out.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
	object("/Type /Catalog /Pages 2 0 R", nil)
	object("/Type /Pages /Kids [3 0 R] /Count 1", nil)
	var names bytes.Buffer
	for i := range p.images {
		fmt.Fprintf(&names, "/I%d %d 0 R ", i, 5+i)
	}
	object(fmt.Sprintf("/Type /Page /Parent 2 0 R /MediaBox [0 0 %s %s] /Contents 4 0 R /Resources << /XObject << %s>> >>", num(p.w), num(p.h), names.String()), nil)
	object("", p.b.Bytes())
	for _, img := range p.images {
		size := img.Bounds().Size()
		var pixels []byte
		for i := 0; i < len(img.Pix); i += 4 {
			pixels = append(pixels, img.Pix[i:i+3]...)
		}
		object(fmt.Sprintf("/Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceRGB /BitsPerComponent 8", size.X, size.Y), pixels)
	}
	table := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, at := range offsets {
		fmt.Fprintf(&out, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&out, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, table)
	_, err := w.Write(out.Bytes())
	return err
}
