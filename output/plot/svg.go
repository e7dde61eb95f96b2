package plot

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"strings"

	"nabla/output"
)

type svg struct {
	b    bytes.Buffer
	w, h float64
}

func newSVG(w, h float64) canvas {
	s := &svg{w: w, h: h}
	fmt.Fprintf(&s.b, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g" font-family="Go, Helvetica, Arial, sans-serif">`+"\n", w, h, w, h)
	return s
}

func (s *svg) size() (float64, float64) { return s.w, s.h }

func hex(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// num is a coordinate: a hundredth of a pixel is enough.
func num(x float64) string {
	t := strings.TrimRight(fmt.Sprintf("%.2f", x), "0")
	return strings.TrimSuffix(t, ".")
}

func (s *svg) fill(x, y, w, h float64, c color.RGBA) {
	fmt.Fprintf(&s.b, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`+"\n", num(x), num(y), num(w), num(h), hex(c))
}

func (s *svg) stroke(line []point, width float64, c color.RGBA, dash []float64) {
	s.b.WriteString(`<polyline fill="none" stroke-linejoin="round" stroke-linecap="round" points="`)
	for i, p := range line {
		if i > 0 {
			s.b.WriteByte(' ')
		}
		s.b.WriteString(num(p.x) + "," + num(p.y))
	}
	fmt.Fprintf(&s.b, `" stroke="%s" stroke-width="%s"`, hex(c), num(width))
	if dash != nil {
		fmt.Fprintf(&s.b, ` stroke-dasharray="%s,%s"`, num(dash[0]), num(dash[1]))
	}
	s.b.WriteString("/>\n")
}

func (s *svg) text(x, y, size, anchor float64, upright bool, text string, c color.RGBA) {
	fmt.Fprintf(&s.b, `<text x="%s" y="%s" font-size="%s" fill="%s"`, num(x), num(y), num(size), hex(c))
	switch anchor {
	case 0.5:
		s.b.WriteString(` text-anchor="middle"`)
	case 1:
		s.b.WriteString(` text-anchor="end"`)
	}
	if upright {
		fmt.Fprintf(&s.b, ` transform="rotate(-90 %s %s)"`, num(x), num(y))
	}
	s.b.WriteString(">" + output.XMLText(text) + "</text>\n")
}

func (s *svg) image(x, y, w, h float64, img *image.RGBA) {
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err) // a buffer takes everything
	}
	fmt.Fprintf(&s.b, `<image x="%s" y="%s" width="%s" height="%s" preserveAspectRatio="none" style="image-rendering:pixelated" href="data:image/png;base64,%s"/>`+"\n",
		num(x), num(y), num(w), num(h), base64.StdEncoding.EncodeToString(b.Bytes()))
}

func (s *svg) write(w io.Writer) error {
	s.b.WriteString("</svg>\n")
	_, err := w.Write(s.b.Bytes())
	return err
}
