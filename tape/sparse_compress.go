package tape

import (
	"fmt"
	"math"

	"nabla/tape/sparsity"
)

// A compression says how a Jacobian is computed from few rows of it added up, or few columns.
type compression struct {
	rows, cols int
	forward    bool              // columns are coloured
	lines      *sparsity.Entries // the pattern by rows, or by columns when forward
	colour     []int32           // of each line
	n          int               // colours
	hubs       []bool            // of a symmetric matrix: rows computed alone, which are columns too; or nil
}

func (c *compression) String() string {
	mode, what := "reverse", "rows"
	if c.forward {
		mode, what = "forward", "columns"
	}
	colours := "colours"
	if c.n == 1 {
		colours = "colour"
	}
	alone := 0
	for _, hub := range c.hubs {
		if hub {
			alone++
		}
	}
	if alone > 0 {
		colours += fmt.Sprintf(" (%d of one row)", alone)
	}
	return fmt.Sprintf("%s, compressed: %d %s for %d %s, at most %d of %d entries are not 0", mode, c.n, colours, c.height(), what, len(c.lines.Col), int64(c.rows)*int64(c.cols))
}

// isFew reports whether the entries of a pattern are few enough to be listed, and to pay.
func (t *Tape) isFew(p *sparsity.Pattern) bool {
	total, count := float64(p.Rows)*float64(p.Cols), p.Count()
	return (count <= total/2 || total <= 64) && count <= math.MaxInt32 && (t.Limit <= 0 || 24*count <= float64(t.Limit))
}

// compress colours the pattern of a Jacobian; nil when it would not pay. What is not
// sparse is no candidate, and a dense answer is not computed from more than half as many
// lines as it has.
func (t *Tape) compress(p *sparsity.Pattern, mode string, sparse bool) *compression {
	if !t.isFew(p) {
		return nil
	}
	e := p.Entries()
	coloured := func(forward bool, most int) *compression {
		c := &compression{rows: p.Rows, cols: p.Cols, forward: forward, lines: e}
		lines := c.height()
		if !sparse && !t.apart {
			lines /= 2
		}
		if !c.take(min(most, lines), t.apart) {
			return nil
		}
		return c
	}
	if mode == "forward" || mode == "reverse" {
		return coloured(mode == "forward", math.MaxInt32)
	}
	// Without compression the side with fewer lines would be swept; the other one is
	// taken where it needs at least a third less.
	forward := p.Cols < p.Rows
	found := coloured(forward, math.MaxInt32)
	swept := min(p.Rows, p.Cols)
	if found != nil {
		swept = found.n
	}
	if other := coloured(!forward, swept*2/3); other != nil {
		return other
	}
	return found
}

// take colours the lines, of which those of the rows are at hand, with at most so many colours,
// or each by itself; false where these are too many.
func (c *compression) take(most int, apart bool) (ok bool) {
	lines, across := c.height(), c.width()
	if c.forward {
		if c.lines.Widest() > most {
			return false
		}
		c.lines = c.lines.Transposed(c.cols)
	}
	c.colour = make([]int32, lines)
	if c.n, ok = c.lines.FewColours(c.colour, across); ok && c.n <= most && !apart {
		return true
	}
	if least := c.lines.Meeting(across); least <= min(most, lines/2) && !apart {
		if c.n, ok = c.lines.Coloured(c.colour, across, most); ok {
			return true
		}
	}
	if most < lines {
		return false
	}
	c.n = lines // each by itself
	for i := range c.colour {
		c.colour[i] = int32(i)
	}
	return true
}

// peeled colours the rows of a symmetric pattern in which a few are long: these hubs, the
// head and the shaft of an arrow, get colours of their own, and as their rows are their
// columns too nobody else needs to keep clear of them. It is a star colouring in which
// the hubs are the stars' centres. nil when there are no such rows.
func (c *compression) peeled(found int) *compression {
	e := c.lines
	count := make([]int, e.Widest()+1) // rows by length
	for i := range c.rows {
		count[len(e.Row(i))]++
	}
	least, long, hubs := len(count), len(count), 0
	for d := len(count) - 1; d > 0; d-- { // rows of d and more
		hubs += count[d]
		if hubs+d-1 < least {
			least, long = hubs+d-1, d
		}
	}
	if 4*least > found {
		return nil
	}
	out := &compression{rows: c.rows, cols: c.cols, lines: e, hubs: make([]bool, c.rows)}
	for i := range c.rows {
		out.hubs[i] = len(e.Row(i)) >= long
	}
	rest := &sparsity.Entries{Ptr: make([]int32, 1, c.rows+1)}
	for i := range c.rows {
		if !out.hubs[i] {
			for _, j := range e.Row(i) {
				if !out.hubs[j] {
					rest.Col = append(rest.Col, j)
				}
			}
		}
		rest.Ptr = append(rest.Ptr, int32(len(rest.Col)))
	}
	out.colour = make([]int32, c.rows)
	var ok bool
	if out.n, ok = rest.Coloured(out.colour, c.cols, found/4); !ok {
		return nil
	}
	for i, hub := range out.hubs {
		if hub {
			out.colour[i] = int32(out.n)
			out.n++
		}
	}
	return out
}

// joins reports whether lines are computed together.
func (c *compression) joins() bool {
	for i, k := range c.colour {
		if int(k) != i {
			return true
		}
	}
	return false
}

// each calls f for every entry: its line, its place in the other direction, and where in
// the sums it stands.
func (c *compression) each(f func(line, across, at int)) {
	width := c.width()
	for i, colour := range c.colour {
		for _, j := range c.lines.Row(i) {
			f(i, int(j), int(colour)*width+int(j))
		}
	}
}

// height is how many lines there are.
func (c *compression) height() int {
	if c.forward {
		return c.cols
	}
	return c.rows
}

// width is how many numbers a line has.
func (c *compression) width() int {
	if c.forward {
		return c.rows
	}
	return c.cols
}

// dense calls f for every entry with its place in the dense matrix and in the sums.
func (c *compression) dense(f func(matrix, sum int)) {
	if c.forward {
		c.each(func(col, row, at int) { f(row*c.cols+col, at) })
	} else {
		c.each(func(row, col, at int) { f(row*c.cols+col, at) })
	}
}

// byColour lists the lines of each colour: order[start[k]:start[k+1]].
func (c *compression) byColour() (start, order []int32) {
	start, order = make([]int32, c.n+2), make([]int32, len(c.colour))
	for _, k := range c.colour {
		start[k+2]++
	}
	for k := 2; k < len(start); k++ {
		start[k] += start[k-1]
	}
	for i, k := range c.colour {
		order[start[k+1]] = int32(i)
		start[k+1]++
	}
	return start[:c.n+1], order
}
