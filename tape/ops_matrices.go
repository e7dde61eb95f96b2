package tape

import (
	"slices"
	"sync"

	"nabla/tape/matrix"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

// eachMatrix runs f on every matrix of the last two axes.
func (c *run) eachMatrix(f func(h *matrix.Solver, dst []float64, a matrix.Dense)) {
	s := c.shapes[0]
	c.each(s[:len(s)-2], []int{2}, func(h *matrix.Solver, dst []float64, x []matrix.Dense) { f(h, dst, x[0]) })
}

// eachOf runs f for every index of the broadcast leading axes; tails says how many axes
// of each argument, and last of the result, are f's own. A vector is a mat of one row.
func (c *run) eachOf(tails []int, f func(h *matrix.Solver, dst []float64, x []matrix.Dense)) {
	c.each(c.shape[:len(c.shape)-tails[len(tails)-1]], tails, f)
}

// each is eachOf for the leading axes given. Small matrices are worked on by several threads, one
// each; threads share the work on a large one.
func (c *run) each(lead tensor.Shape, tails []int, f func(h *matrix.Solver, dst []float64, x []matrix.Dense)) {
	if len(lead) == 0 {
		c.alone(tails, f)
		return
	}
	own := make([]matrix.Dense, len(c.args))
	b := &batch{n: lead.Size(), at: make([]*spread, len(c.args))}
	per, work := len(c.out)/max(b.n, 1), leastWork
	for j, s := range c.shapes {
		own[j] = matrixOf(nil, s[len(s)-tails[j]:])
		work += own[j].M * own[j].N * own[j].N
		b.at[j] = newSpread(s[:len(s)-tails[j]], lead)
	}
	var failed failure
	run := func(threads, from, to int) {
		h := matrix.Borrow(threads, c.t.check)
		i := from
		defer func() { failed.note(i, recover()) }()
		x := slices.Clone(own)
		for ; i < to; i++ {
			for j := range x {
				size := x[j].M * x[j].N
				o := b.offset(j, i) * size
				x[j].Data = c.args[j][o : o+size]
			}
			h.Begin()
			f(h, c.out[i*per:(i+1)*per], x)
		}
		h.Return()
	}
	if b.n == 1 || work > mostAlone {
		run(c.threads, 0, b.n)
	} else {
		pool.Split(c.threads, b.n*work, b.n, func(from, to int) { run(1, from, to) })
	}
	failed.raise(c, lead)
}

// alone is each of one matrix, as in steps of a loop: with what each makes for many a solution of two equations took
// twice the time.
func (c *run) alone(tails []int, f func(h *matrix.Solver, dst []float64, x []matrix.Dense)) {
	defer func() {
		if why := recover(); why != nil {
			var failed failure
			failed.note(0, why)
			failed.raise(c, nil)
		}
	}()
	h := matrix.Borrow(c.threads, c.t.check)
	x := h.Operands(len(c.args))
	for j, s := range c.shapes {
		x[j] = matrixOf(c.args[j], s[len(s)-tails[j]:])
	}
	f(h, c.out, x)
	h.Return()
}

// lastDiffers reports whether the points of a batch have a last argument each, and share the others, of which the first is one
// matrix.
func (c *run) lastDiffers() bool {
	t, args := c.t, c.t.Args(c.r)
	k := len(args) - 1
	return t.ins[c.r].batch == t.ins[args[k]].batch && len(c.shapes[0]) == 2 &&
		!slices.ContainsFunc(args[:k], func(a Ref) bool { return t.ins[a].batch != 0 })
}

// matrixOf is a matrix of a shape of one or two axes; a vector is one of one row.
func matrixOf(data []float64, s tensor.Shape) matrix.Dense {
	m := 1
	if len(s) == 2 {
		m = s[0]
	}
	return matrix.Of(data, m, last(s))
}

// The work on one matrix is taken to be the cube of its rows, in operations on elements, and some.
const (
	leastWork = 1 << 9
	mostAlone = 1 << 22 // which is not for one thread
)

// leastLanes is how many matrices are worked on side by side.
const leastLanes = 8

// sideBySide reports whether the matrices of a batch, which all arguments have, are worked on side by
// side, if matrices of their size are.
func (c *run) sideBySide(ofSize bool) bool {
	lead := c.shapes[0][:len(c.shapes[0])-2]
	return ofSize && lead.Size() >= leastLanes &&
		!slices.ContainsFunc(c.shapes[1:], func(s tensor.Shape) bool { return !s[:len(s)-2].Equal(lead) })
}

// eachGroup runs f on groups of such matrices: on g of them, whose parts of the result and of the
// arguments are dst and x. Less than leastLanes that are left over go with the last group.
func (c *run) eachGroup(f func(h *matrix.Solver, g int, dst []float64, x [][]float64)) {
	n, count := last(c.shapes[0]), c.shapes[0][:len(c.shapes[0])-2].Size()
	groups := max(1, (count+matrix.LanesAtOnce-leastLanes)/matrix.LanesAtOnce)
	pool.Split(c.threads, count*(n*n*n+leastWork), groups, func(first, end int) {
		h := matrix.Borrow(1, c.t.check)
		x := make([][]float64, len(c.args))
		for i := first; i < end; i++ {
			if c.t.check != nil {
				c.t.check()
			}
			from, to := i*matrix.LanesAtOnce, (i+1)*matrix.LanesAtOnce
			if i == groups-1 {
				to = count
			}
			for j, a := range c.args {
				size := len(a) / count
				x[j] = a[from*size : to*size]
			}
			size := len(c.out) / count
			h.Begin()
			f(h, to-from, c.out[from*size:to*size], x)
		}
		h.Return()
	})
}

// A failure is the first matrix of a batch that was refused: whichever thread came upon another
// one before.
type failure struct {
	sync.Mutex
	at  int
	why *Misuse
}

// note takes down what matrix i failed with; what is no mistake of the user's goes on.
func (f *failure) note(i int, why any) {
	if why == nil {
		return
	}
	m, ok := why.(*Misuse)
	if !ok {
		panic(why)
	}
	f.Lock()
	defer f.Unlock()
	if f.why == nil || i < f.at {
		f.at, f.why = i, m
	}
}

// raise fails with what was noted, and with the place of the matrix among the axes of the batch
// and the leading ones.
func (f *failure) raise(c *run, lead tensor.Shape) {
	if f.why == nil {
		return
	}
	if len(c.shape) > len(c.t.Shape(c.r)) { // the first of them is the batch
		lead = lead[1:]
	} else {
		f.at += c.point * lead.Size()
	}
	lead = append(c.t.physical(c.r)[:len(c.t.Axes(c.r)):len(c.t.Axes(c.r))], lead...)
	if len(lead) > 0 && f.why.Kind == "run" {
		at := make([]int, len(lead))
		for k := len(lead) - 1; k >= 0; k-- {
			at[k] = f.at % lead[k]
			f.at /= lead[k]
		}
		f.why.Msg += ", in matrix " + bracketed(at)
	}
	panic(f.why)
}
