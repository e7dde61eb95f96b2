package plot

import (
	"bytes"
	"compress/zlib"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func parabola() *Lines {
	l := &Lines{XLabel: "x", Series: []Series{{Name: "y = x^2 < 5 & \"more\""}, {Name: "dy/dx", Dashed: true}}}
	for i := range 101 {
		x := float64(i-50) / 25
		l.X = append(l.X, x)
		l.Series[0].Y = append(l.Series[0].Y, x*x)
		l.Series[1].Y = append(l.Series[1].Y, 2*x)
	}
	return l
}

func checker() *Heat {
	return &Heat{Title: "h", Rows: 2, Columns: 3, Data: []float64{-1, 0, 1, 0.5, math.NaN(), math.Inf(1)}}
}

// hostile are pictures of data that is not nice.
func hostile() map[string]Picture {
	line := func(xs, ys []float64) Picture { return &Lines{X: xs, Series: []Series{{Name: "y", Y: ys}}} }
	nan, inf := math.NaN(), math.Inf(1)
	return map[string]Picture{
		"parabola":  parabola(),
		"constant":  line([]float64{0, 1}, []float64{7, 7}),
		"nothing":   line([]float64{0, 1, 2}, []float64{nan, inf, -inf}),
		"holes":     line([]float64{0, 1, 2, 3}, []float64{1, nan, 2, nan}),
		"one point": line([]float64{0}, []float64{1}),
		"huge":      line([]float64{-1e308, 0, 1e308}, []float64{-1.7e308, 0, 1.7e308}),
		"tiny":      line([]float64{0, 5e-324}, []float64{0, 5e-324}),
		"close":     line([]float64{1, 1 + 0x1p-52}, []float64{1, 1 + 0x1p-52}),
		"checker":   checker(),
		"zeros":     &Heat{Rows: 1, Columns: 1, Data: []float64{0}},
		"all NaN":   &Heat{Rows: 1, Columns: 2, Data: []float64{nan, nan}},
		"subnormal": &Heat{Rows: 1, Columns: 2, Data: []float64{5e-324, -5e-324}},
		"large":     &Heat{Rows: 1, Columns: 2, Data: []float64{1.7e308, -1.7e308}},
		"row":       &Heat{Rows: 1, Columns: 5000, Data: make([]float64, 5000)},
		"column":    &Heat{Rows: 5000, Columns: 1, Data: make([]float64, 5000)},
		"surface":   &Heat{Rows: 2, Columns: 2, Data: make([]float64, 4), XLabel: "x", YLabel: "y", XRange: [2]float64{-1, 1}, YRange: [2]float64{0, 9}},
		"patches":   Patches("j", [4]int{2, 3, 2, 4}, make([]float64, 48)),
	}
}

// TestLongLine: a curve of many points takes memory for some of them at a time.
func TestLongLine(t *testing.T) {
	line := make([]point, 100_000)
	for i := range line {
		line[i] = point{float64(i) / 500, 50 + 40*math.Sin(float64(i)/1000)}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	newPNG(200, 100).stroke(line, 1.8, black, nil)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 100<<20 {
		t.Errorf("a line of %d points takes %d MB, want at most 100", len(line), n>>20)
	}
}

// TestFormats: every picture is a well-formed file in every format, and text no wider than asked.
func TestFormats(t *testing.T) {
	for name, p := range hostile() {
		for _, f := range Formats {
			for _, size := range [][2]int{{640, 400}, {100, 100}} {
				var b bytes.Buffer
				if err := Write(&b, p, f.Name, size[0], size[1]); err != nil {
					t.Errorf("%s as %s: %v", name, f.Name, err)
					continue
				}
				if err := wellFormed[f.Name](b.Bytes(), size[0], size[1]); err != "" {
					t.Errorf("%s as %s of %v: %s", name, f.Name, size, err)
				}
			}
		}
		for _, width := range []int{0, 40, 80, 200} {
			for _, line := range strings.Split(Text(p, width, false), "\n") {
				if n := utf8.RuneCountInString(line); n > max(width, 24) {
					t.Errorf("%s in %d columns: a line of %d: %q", name, width, n, line)
				}
			}
		}
	}
}

var update = flag.Bool("update", false, "rewrite the golden file")

// TestGolden: what is drawn where, as SVG without the pixels of its images, and as text. The
// file is to be looked at.
func TestGolden(t *testing.T) {
	several := &Lines{XLabel: "step", X: []float64{0, 1, 2, 3}, Indices: true}
	for i := range 5 {
		several.Series = append(several.Series, Series{Name: "a curve with a long name, number " + strconv.Itoa(i), Y: []float64{float64(i), 1, 2e6, float64(-i)}, Ink: i, Dashed: i > 3})
	}
	surface := &Heat{Rows: 12, Columns: 10, XLabel: "x", YLabel: "y", XRange: [2]float64{-1, 1}, YRange: [2]float64{0, 9}}
	for i := range surface.Rows * surface.Columns {
		surface.Data = append(surface.Data, float64(i%17-8)/3)
	}
	var b strings.Builder
	for _, r := range []struct {
		name string
		p    Picture
	}{{"parabola", parabola()}, {"logarithms", logarithms()}, {"several", several}, {"checker", checker()}, {"surface", surface}, {"patches", Patches("j", [4]int{2, 3, 2, 4}, wave(48))}} {
		b.WriteString("==== " + r.name + "\n")
		var svg bytes.Buffer
		if err := Write(&svg, r.p, "svg", 480, 320); err != nil {
			t.Fatal(err)
		}
		b.Write(regexp.MustCompile(`base64,[^"]*`).ReplaceAll(svg.Bytes(), []byte("base64,…")))
		b.WriteString(Text(r.p, 60, false))
	}
	const file = "testdata/pictures.golden"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, _ := os.ReadFile(file)
	got, lines := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(got), len(lines)) {
		if i >= len(got) || i >= len(lines) || got[i] != lines[i] {
			t.Fatalf("%s differs from line %d on: %q, want %q", file, i+1, got[min(i, len(got)):min(i+1, len(got))], lines[min(i, len(lines)):min(i+1, len(lines))])
		}
	}
}

// logarithms is y = x^2 on logarithmic axes.
func logarithms() *Lines {
	l := &Lines{XLabel: "x", XLog: true, YLog: true, Series: []Series{{Name: "y = x^2"}}}
	for i := range 13 {
		l.X = append(l.X, float64(i-6)/2)
		l.Series[0].Y = append(l.Series[0].Y, float64(i-6))
	}
	return l
}

func wave(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i*i%23 - 11)
	}
	return x
}

// TestPlaced: outlines stand on the baseline, and beside the point as anchored.
func TestPlaced(t *testing.T) {
	_, width := outline("Hid", 20)
	for _, r := range []struct {
		anchor      float64
		upright     bool
		left, right float64
		top, bottom float64
	}{
		{0, false, 50, 50 + width, 30, 50},
		{1, false, 50 - width, 50, 30, 50},
		{0.5, false, 50 - width/2, 50 + width/2, 30, 50},
		{0, true, 30, 50, 50 - width, 50},
		{0.5, true, 30, 50, 50 - width/2, 50 + width/2},
	} {
		low, high := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
		for _, g := range placed(50, 50, 20, r.anchor, r.upright, "Hid") {
			low, high = point{min(low.x, g.p[0].x), min(low.y, g.p[0].y)}, point{max(high.x, g.p[0].x), max(high.y, g.p[0].y)}
		}
		const rim = 6 // around letters
		for _, d := range []float64{low.x - r.left, r.right - high.x, low.y - r.top, r.bottom - high.y} {
			if d < -0.5 || d > rim {
				t.Errorf("%+v: the letters reach from %v to %v", r, low, high)
				break
			}
		}
	}
}

// TestDashes: dashes are as long as asked, around corners, too, and end with the line.
func TestDashes(t *testing.T) {
	got := dashes([]point{{0, 0}, {10, 0}, {10, 13}}, []float64{7, 4})
	want := [][]point{{{0, 0}, {7, 0}}, {{10, 1}, {10, 8}}, {{10, 12}, {10, 13}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("dashes are %v, want %v", got, want)
	}
}

var wellFormed = map[string]func(b []byte, width, height int) string{
	"png": func(b []byte, width, height int) string {
		img, err := png.Decode(bytes.NewReader(b))
		if err != nil {
			return err.Error()
		}
		if s := img.Bounds().Size(); s.X != width || s.Y != height {
			return "its size is " + s.String()
		}
		return ""
	},
	"svg": func(b []byte, width, height int) string {
		if bytes.Contains(b, []byte("NaN")) || bytes.Contains(b, []byte("Inf")) {
			return "a coordinate is no number"
		}
		d := xml.NewDecoder(bytes.NewReader(b))
		for {
			if _, err := d.Token(); err == io.EOF {
				return ""
			} else if err != nil {
				return err.Error()
			}
		}
	},
	// the cross-reference table names the place of every object
	"pdf": func(b []byte, width, height int) string {
		m := regexp.MustCompile(`startxref\n(\d+)\n%%EOF\n$`).FindSubmatch(b)
		if m == nil || !bytes.HasPrefix(b, []byte("%PDF-1.4\n")) {
			return "no head or no end"
		}
		at, _ := strconv.Atoi(string(m[1]))
		rows := strings.Split(string(b[at:]), "\n")
		objects := 0
		for i, row := range rows[3:] {
			if !strings.HasSuffix(row, " n ") {
				break
			}
			objects++
			at, _ := strconv.Atoi(row[:10])
			if !bytes.HasPrefix(b[at:], []byte(strconv.Itoa(i+1)+" 0 obj\n")) {
				return "object " + strconv.Itoa(i+1) + " is not where the table says"
			}
		}
		if head, size := fmt.Sprintf("0 %d", objects+1), fmt.Sprintf("/Size %d ", objects+1); rows[1] != head || !strings.Contains(string(b[at:]), size) {
			return fmt.Sprintf("of %d objects, and that which is free, the table begins with %s", objects, rows[1])
		}
		_, page, _ := bytes.Cut(b, []byte("\n4 0 obj\n"))
		_, page, _ = bytes.Cut(page, []byte("stream\n"))
		z, err := zlib.NewReader(bytes.NewReader(page))
		if err != nil {
			return err.Error()
		}
		content, err := io.ReadAll(z)
		if err != nil {
			return err.Error()
		}
		for _, at := range regexp.MustCompile(`(?m)^(\S+) (\S+) [ml]$`).FindAllSubmatch(content, -1) {
			if y, err := strconv.ParseFloat(string(at[2]), 64); err != nil || y < -1 || y > float64(height)+1 {
				return "something is drawn at " + string(at[0]) + ", above or below the page"
			}
		}
		if !regexp.MustCompile(`(?s)1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>.*2 0 obj\n<< /Type /Pages /Kids \[3 0 R\] .*3 0 obj\n<< /Type /Page /Parent 2 0 R .*/Contents 4 0 R`).Match(b) {
			return "the catalog does not lead to the page"
		}
		return ""
	},
}

// A curve is where its numbers are: blue at (0, 0), and nowhere above it.
func TestCurve(t *testing.T) {
	l := parabola()
	l.Series = l.Series[:1]
	var b bytes.Buffer
	if err := Write(&b, l, "png", 300, 300); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	low, high := l.Limits()
	legend := margin + textSize + 4
	blue := func(x, y int) bool {
		r, g, b, _ := img.At(x, y).RGBA()
		return int(b>>8)-int(r>>8) > 100 && g>>8 > 0
	}
	// the area, as draw lays it out
	left, right := 0, 0
	for x := range 300 {
		found := false
		for y := legend; y < 300; y++ {
			found = found || blue(x, y)
		}
		if found && left == 0 {
			left = x
		}
		if found {
			right = x
		}
	}
	top, bottom := 300, 0
	for y := legend; y < 300; y++ {
		for x := range 300 {
			if blue(x, y) {
				top, bottom = min(top, y), max(bottom, y)
			}
		}
	}
	mid := (left + right) / 2
	if !blue(mid, bottom-1) {
		t.Errorf("the lowest point is not in the middle: columns %d to %d, rows %d to %d", left, right, top, bottom)
	}
	if quarter := bottom - (bottom-top)/4; !blue(left+(right-left)/4, quarter-1) && !blue(left+(right-left)/4, quarter) {
		t.Errorf("half way to the edge the parabola is not at a quarter of its height")
	}
	if !(low < 0 && high > 4) {
		t.Errorf("limits %g to %g leave no room around 0 to 4", low, high)
	}
}

func TestDiverging(t *testing.T) {
	for _, r := range []struct {
		v    float64
		want color.RGBA
	}{{0, white}, {1, hot}, {-1, cold}, {7, hot}, {math.Inf(-1), cold}, {math.NaN(), grey}, {0.5, warm}, {-0.5, cool}} {
		if got := diverging(r.v); got != r.want {
			t.Errorf("diverging(%v) = %v, want %v", r.v, got, r.want)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, r := range []struct {
		low, high float64
		n         int
		want      string
	}{
		{0, 1, 5, "0 0.2 0.4 0.6 0.8 1.0"},
		{-6, 6, 7, "-6 -4 -2 0 2 4 6"},
		{0, 1e9, 4, "0 5e+8 1e+9"},
		{0.001, 0.0021, 4, "0.0010 0.0015 0.0020"},
		{0, 2e-7, 4, "0 5e-8 1e-7 1.5e-7 2e-7"},
		{-1.7e308, 1.7e308, 4, "-1e+308 0 1e+308"},
		{3, 3, 4, "3"},
		{0, 0.001, 4, "0 0.0005 0.0010"},            // the least that is written out
		{3.1, 4.9, 2, "3.5 4.0 4.5"},                // one alone would have no scale
		{0, 1, 1, "0 0.5 1.0"},                      // nor would it where only one has room
		{1, 1 + 0x1p-52, 4, "1 1.0000000000000002"}, // nothing between them
		{math.Inf(-1), 1, 4, "-Inf"},
	} {
		var labels []string
		for _, k := range ticks(r.low, r.high, r.n) {
			labels = append(labels, k.label)
		}
		if got := strings.Join(labels, " "); got != r.want {
			t.Errorf("ticks(%g, %g, %d) = %s, want %s", r.low, r.high, r.n, got, r.want)
		}
	}
}

func TestPowers(t *testing.T) {
	for _, r := range []struct {
		low, high float64 // logarithms
		n         int
		want      string
	}{
		{-3, 3, 7, "0.001 0.01 0.1 1 10 100 1000"},
		{-6.5, 6.5, 5, "1e-5 1 100000"},
		{0, 1.5, 4, "1 2 5 10 20"},
		{0, 3, 10, "1 2 5 10 20 50 100 200 500 1000"},
		{0.31, 0.9, 4, "4 6"}, // 5 alone would have no scale
		{0.1, 0.25, 4, "1.4 1.6"},
		{-400, 340, 5, "1e-400 1e-200 1 1e+200"}, // room at the edges leaves the range
		{2, 2, 4, "100"},
	} {
		var labels []string
		for _, k := range powers(r.low, r.high, r.n) {
			labels = append(labels, k.label)
			if v, err := strconv.ParseFloat(k.label, 64); err == nil && v > 0 && math.Abs(math.Log10(v)-k.at) > 1e-6 {
				t.Errorf("powers(%g, %g, %d): %s stands at %g", r.low, r.high, r.n, k.label, k.at)
			}
		}
		if got := strings.Join(labels, " "); got != r.want {
			t.Errorf("powers(%g, %g, %d) = %s, want %s", r.low, r.high, r.n, got, r.want)
		}
	}
}

// A pole does not take the picture: without its few far values the rest shows.
func TestSpread(t *testing.T) {
	var ys []float64
	for i := range 401 {
		ys = append(ys, 1/(float64(i-200)/200+1e-9))
	}
	if low, high := spread(ys); high-low > 500 || low > -2 || high < 2 {
		t.Errorf("a pole is shown from %g to %g", low, high)
	}
	line := make([]float64, 50)
	for i := range line {
		line[i] = float64(i)
	}
	line[49] = 100 // not so far
	if low, high := spread(line); low != -5 || high != 105 {
		t.Errorf("0 to 100 is shown from %g to %g", low, high)
	}
	line[0], line[48], line[49] = -1e6, 1e6, 1e6 // two in 50 are few: of 2 to 47 a quarter more is seen, and a little room
	if low, high := spread(line); low != -12.625 || high != 61.625 {
		t.Errorf("2 to 47 with far ends is shown from %g to %g", low, high)
	}
	for _, all := range [][]float64{{-math.MaxFloat64, 0, 0}, {0, 0, math.MaxFloat64}} { // no room at one end
		if low, high := spread(all); low != all[0] || high != all[2] {
			t.Errorf("%v is shown from %g to %g", all, low, high)
		}
	}
	if low, high := spread([]float64{1, 2, 3, 4}); low != 0.85 || high != 4.15 {
		t.Errorf("1 to 4 is shown from %g to %g", low, high)
	}
}

// Block (p, q) of the picture is data[:, p, :, q], between lines.
func TestPatches(t *testing.T) {
	shape := [4]int{2, 3, 2, 4}
	data := make([]float64, 48)
	for i := range data {
		data[i] = float64(i)
	}
	h := Patches("", shape, data)
	if h.Rows != 3*3+1 || h.Columns != 4*3+1 {
		t.Fatalf("the picture is %d × %d", h.Rows, h.Columns)
	}
	seen := 0
	for y := range h.Rows {
		for x := range h.Columns {
			i := y*h.Columns + x
			if y%3 == 0 || x%3 == 0 {
				if !h.Gap[i] {
					t.Errorf("(%d, %d) is no gap", y, x)
				}
				continue
			}
			p, a, q, b := y/3, y%3-1, x/3, x%3-1
			if want := float64(((a*3+p)*2+b)*4 + q); h.Data[i] != want || h.Gap[i] {
				t.Errorf("(%d, %d) is %v, want element [%d, %d, %d, %d] = %v", y, x, h.Data[i], a, p, b, q, want)
			}
			seen++
		}
	}
	if seen != len(data) {
		t.Errorf("%d of %d elements are shown", seen, len(data))
	}
	// the blocks are numbered, in their middles
	if got, want := fmt.Sprint(axis(h.Columns, h.Block[1], h.XRange, 10)), fmt.Sprint([]tick{{2. / 13, "0"}, {5. / 13, "1"}, {8. / 13, "2"}, {11. / 13, "3"}}); got != want {
		t.Errorf("the blocks stand at %s, want %s", got, want)
	}
}

// What does not fit is shown by its strongest elements: none is lost among zeros.
func TestShrunk(t *testing.T) {
	h := &Heat{Rows: 100, Columns: 90, Data: make([]float64, 9000)}
	h.Data[57*90+83] = -3
	s, by, across := h.shrunk(36, 40)
	if s.Rows > 40 || s.Columns > 36 || by != 3 || across != 3 {
		t.Fatalf("%d × %d in blocks of %d × %d", s.Rows, s.Columns, by, across)
	}
	if got := s.Data[57/by*s.Columns+83/across]; got != -3 {
		t.Errorf("the one element is lost: %v in its place", got)
	}
}

// No line crosses a jump: the curve goes up to it and begins anew behind it.
func TestJump(t *testing.T) {
	a := area{w: 4, h: 8, toX: 4, toY: 8}
	s := Series{Y: []float64{1, 1, 7, 7, 7}, Jumps: []Jump{{Behind: 1, X: 1.5, From: 2, To: 6}}}
	got := a.runs([]float64{0, 1, 2, 3, 4}, &s)
	want := [][]point{{{0, 7}, {1, 7}, {1.5, 6}}, {{1.5, 2}, {2, 1}, {3, 1}, {4, 1}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("runs with a jump = %v, want %v", got, want)
	}
}

// A curve that leaves the area ends at its edge, and begins again where it comes back.
func TestEdges(t *testing.T) {
	a := area{y: 10, w: 4, h: 8, toX: 4, toY: 8}
	for _, r := range []struct {
		ys   []float64
		want [][]point
	}{
		{[]float64{4, 12, 8, 0, -8}, [][]point{{{0, 14}, {0.5, 10}}, {{2, 10}, {3, 18}}}}, // over the upper edge; the lower one is inside
		{[]float64{-2, 2, 6, 10, 6}, [][]point{{{0.5, 18}, {1, 16}, {2, 12}, {2.5, 10}}, {{3.5, 10}, {4, 12}}}},
		{[]float64{9, 9, math.NaN(), -1, -1}, nil},
	} {
		s := Series{Y: r.ys}
		if got := a.runs([]float64{0, 1, 2, 3, 4}, &s); !reflect.DeepEqual(got, r.want) {
			t.Errorf("runs of %v = %v, want %v", r.ys, got, r.want)
		}
	}
}

// The place of a number between two others is there, too, where their difference overflows.
func TestPart(t *testing.T) {
	const most = math.MaxFloat64
	for _, r := range []struct{ v, from, to, want float64 }{{3, 2, 6, 0.25}, {2, 2, 2, 0.5}, {0, -most, most, 0.5}, {most / 2, -most, most, 0.75}, {-most, -most, most, 0}} {
		if got := part(r.v, r.from, r.to); got != r.want {
			t.Errorf("part(%g, %g, %g) = %g, want %g", r.v, r.from, r.to, got, r.want)
		}
	}
}

// TestStroke: in PNG a line covers what is within half of its width, and nothing else.
func TestStroke(t *testing.T) {
	for _, line := range [][2]point{{{20, 30}, {60, 30}}, {{30, 60}, {30, 20}}, {{20, 20}, {60, 50}}, {{60, 20}, {25, 55}}} {
		r := newPNG(80, 80).(*raster)
		r.fill(0, 0, 80, 80, white)
		r.stroke(line[:], 9, black, nil)
		a, b := line[0], line[1]
		for y := range 80 {
			for x := range 80 {
				q := point{float64(x) + 0.5, float64(y) + 0.5}
				d := math.Hypot(b.x-a.x, b.y-a.y)
				along := ((q.x-a.x)*(b.x-a.x) + (q.y-a.y)*(b.y-a.y)) / d
				away := math.Hypot(q.x-a.x-along*(b.x-a.x)/d, q.y-a.y-along*(b.y-a.y)/d)
				got := r.img.RGBAAt(x, y)
				if along > 0 && along < d && away < 3.5 && got != black {
					t.Errorf("a line from %v to %v: the pixel %v is %v", a, b, q, got)
				}
				if beyond := max(-along, along-d, 0); math.Hypot(beyond, away) > 5.5 && got != white {
					t.Errorf("beside a line from %v to %v the pixel %v is %v", a, b, q, got)
				}
			}
		}
	}
}

// TestPDFLetters: the letters of a PDF are those of a PNG, parabolas as cubics: halfway both are
// in the same place.
func TestPDFLetters(t *testing.T) {
	p := newPDF(100, 100).(*pdf)
	p.text(10, 50, 20, 0, false, "os", black)
	var curves [][8]float64
	var last [2]float64
	for _, line := range strings.Split(p.b.String(), "\n") {
		var c [6]float64
		switch {
		case strings.HasSuffix(line, " m"), strings.HasSuffix(line, " l"):
			fmt.Sscan(line, &last[0], &last[1])
		case strings.HasSuffix(line, " c"):
			fmt.Sscan(line, &c[0], &c[1], &c[2], &c[3], &c[4], &c[5])
			curves = append(curves, [8]float64{last[0], last[1], c[0], c[1], c[2], c[3], c[4], c[5]})
			last = [2]float64{c[4], c[5]}
		}
	}
	var from point
	n := 0
	for _, g := range placed(10, 50, 20, 0, false, "os") {
		switch g.kind {
		case 'm', 'l':
			from = g.p[0]
		case 'q':
			want := point{(from.x + 2*g.p[0].x + g.p[1].x) / 4, 100 - (from.y+2*g.p[0].y+g.p[1].y)/4}
			c := curves[n]
			got := point{(c[0] + 3*c[2] + 3*c[4] + c[6]) / 8, (c[1] + 3*c[3] + 3*c[5] + c[7]) / 8}
			if math.Hypot(got.x-want.x, got.y-want.y) > 0.02 {
				t.Errorf("curve %d is at %v halfway, want %v", n, got, want)
			}
			from = g.p[1]
			n++
		}
	}
	if n < 8 || n != len(curves) {
		t.Errorf("%d parabolas, %d cubics", n, len(curves))
	}
}

// TestLacked: a picture says once for which letters there are no outlines.
func TestLacked(t *testing.T) {
	l := &Lines{XLabel: "x日", X: []float64{0, 1}, Series: []Series{{Name: "y = 日本 α", Y: []float64{1, 2}}}}
	if got := string(Lacked(l)); got != "日本" && got != "本日" {
		t.Errorf("without outlines are %q, want 日 and 本", got)
	}
}

// TestClip: what fits stays whole; what does not ends with a sign that it was cut.
func TestClip(t *testing.T) {
	const s = "a long name"
	if got := clip(s, textWidth(s)); got != s {
		t.Errorf("%q that just fits is %q", s, got)
	}
	got := clip(s, textWidth(s)-0.01)
	if r := []rune(got); !strings.HasSuffix(got, "…") || len(r) < 6 || textWidth(got) > textWidth(s) || !strings.HasPrefix(s, string(r[:len(r)-1])) {
		t.Errorf("%q with a little less room is %q", s, got)
	}
}

// TestDots: dots beyond the picture leave no mark; those in its corners do.
func TestDots(t *testing.T) {
	c := parabola().braille(5, 0, 1)
	for _, p := range [][2]int{{-1, 0}, {10, 0}, {0, -1}, {0, 4 * textRows}} {
		c.dot(p[0], p[1], 0)
	}
	for i, bits := range c.bits {
		if bits != 0 {
			t.Errorf("a dot outside shows in character %d", i)
		}
	}
	for _, p := range [][2]int{{0, 0}, {9, 0}, {0, 4*textRows - 1}, {9, 4*textRows - 1}} {
		c.dot(p[0], p[1], 0)
	}
	if last := len(c.bits) - 1; c.bits[0] != 1 || c.bits[4] != 8 || c.bits[last-4] != 64 || c.bits[last] != 128 {
		t.Errorf("the corners are %v", c.bits)
	}
}

// A point alone shows in every kind of picture.
func TestAlone(t *testing.T) {
	l := &Lines{X: []float64{0, 1, 2}, Indices: true, Series: []Series{{Name: "y", Y: []float64{1, math.NaN(), 2}}}}
	without := &Lines{X: l.X, Indices: true, Series: []Series{{Name: "y", Y: []float64{math.NaN(), math.NaN(), math.NaN()}}}, YLow: 0.95, YHigh: 2.05}
	for _, f := range Formats {
		var with, none bytes.Buffer
		if err := errors.Join(Write(&with, l, f.Name, 300, 300), Write(&none, without, f.Name, 300, 300)); err != nil {
			t.Fatal(err)
		}
		if with.Len() == none.Len() {
			t.Errorf("%s: two points alone leave no mark", f.Name)
		}
	}
	if text := Text(l, 40, false); strings.Contains(text, "0.5") || !strings.Contains(text, "⠛") || !strings.Contains(text, "⣤") {
		t.Errorf("two points alone as text:\n%s", text)
	}
}

// Curves that only colour would tell apart have letters where there is none.
func TestLetters(t *testing.T) {
	l := &Lines{X: []float64{0, 1, 2, 3, 4, 5}, Series: []Series{{Name: "up", Y: []float64{0, 1, 2, 3, 4, 5}}, {Name: "down", Y: []float64{5, 4, 3, 2, 1, 0}, Ink: 1}}}
	text := Text(l, 80, false)
	if strings.Count(text, "a") < 3 || strings.Count(text, "b") < 3 || !strings.Contains(text, "a─ up") {
		t.Errorf("no letters on the curves:\n%s", text)
	}
	if text := Text(l, 80, true); strings.Contains(text, "a─") {
		t.Errorf("letters beside colours:\n%s", text)
	}
	l.Series[1].Dashed = true
	if text := Text(l, 80, false); strings.Contains(text, "a─") {
		t.Errorf("letters though dashes tell the curves apart:\n%s", text)
	}
}

// What stands beside axes is cut to their length: names of 300 letters left the picture.
func TestLongLabels(t *testing.T) {
	name := strings.Repeat("n", 300)
	l := parabola()
	l.XLabel = name
	h := &Heat{Rows: 2, Columns: 2, Data: []float64{1, 2, 3, 4}, Title: name, XLabel: name, YLabel: name}
	for what, p := range map[string]Picture{"lines": l, "heat": h} {
		var b bytes.Buffer
		if err := Write(&b, p, "svg", 640, 400); err != nil {
			t.Fatal(err)
		}
		if longest := regexp.MustCompile("n{100,}").FindString(b.String()); longest != "" {
			t.Errorf("%s 640 wide: a text has %d letters", what, len(longest))
		}
	}
}
