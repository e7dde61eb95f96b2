package matrix

import (
	"slices"
	"sync"

	"nabla/kernels"
)

// Matrices that are made on the way lie in memory that is kept from one to the next: a third of
// the time of an inverse of some rows was that of making and collecting a dozen of them.

// Numbers that a solver keeps room for: at first half of a second-level cache, and, where what is
// made did not fit, so much the next time, but not more than the most.
const (
	leastRoom = 1 << 15
	mostRoom  = 1 << 21
)

var solvers = sync.Pool{New: func() any {
	return &Solver{wanted: leastRoom, places: make([]int, 4*exactRows+mostLanedFactors*LanesAtOnce)}
}}

// Borrow is a solver that keeps memory for small matrices, to be given back by Return.
func Borrow(threads int, check func()) *Solver {
	h := solvers.Get().(*Solver)
	h.Threads, h.Check = threads, check
	if h.Begin(); len(h.room) < h.wanted {
		h.room = make([]float64, h.wanted)
	}
	return h
}

// Operands is room for n matrices, until Return.
func (h *Solver) Operands(n int) []Dense {
	if len(h.operands) < n {
		h.operands = make([]Dense, n)
	}
	return h.operands[:n]
}

// Return gives h back, with all it made.
func (h *Solver) Return() {
	h.Check = nil
	clear(h.operands)
	solvers.Put(h)
}

// Begin forgets what h has made: its memory is used again.
func (h *Solver) Begin() { h.used, h.missed, h.placed = 0, 0, 0 }

// free forgets what was made since used was that: of what a function has made for itself alone.
func (h *Solver) free(used int) { h.used = used }

// New is a matrix of zeros, until Begin.
func (h *Solver) New(m, n int) Dense {
	a := h.raw(m, n)
	clear(a.Data)
	return a
}

// raw is a matrix of any numbers, until Begin.
func (h *Solver) raw(m, n int) Dense {
	size := m * n
	if size > len(h.room)-h.used {
		h.missed += size
		h.wanted = min(max(h.wanted, h.used+h.missed), mostRoom)
		return New(m, n)
	}
	data := h.room[h.used:][:size:size]
	h.used += size
	return Dense{data, m, n}
}

// numbers are zeros, until Begin.
func (h *Solver) numbers(n int) []float64 { return h.New(1, n).Data }

// Order is 0, …, n-1, until Begin.
func (h *Solver) Order(n int) []int {
	var p []int
	if n <= len(h.places)-h.placed {
		p = h.places[h.placed:][:n:n]
		h.placed += n
	} else {
		p = make([]int, n)
	}
	for i := range p {
		p[i] = i
	}
	return p
}

// sorted is Order sorted by compare; equals stay in their order.
func (h *Solver) sorted(n int, compare func(i, j int) int) []int {
	at := h.Order(n)
	slices.SortStableFunc(at, compare)
	return at
}

// clone is a copy of a, until Begin.
func (h *Solver) clone(a Dense) Dense {
	b := h.raw(a.M, a.N)
	copy(b.Data, a.Data)
	return b
}

// transposed is the transpose of a, until Begin.
func (h *Solver) transposed(a Dense) Dense {
	b := h.raw(a.N, a.M)
	if len(a.Data) > 0 {
		kernels.TransposeLarge(b.Data, a.M, a.Data, a.N, a.M, a.N)
	}
	return b
}

// eye is the identity of n rows, until Begin.
func (h *Solver) eye(n int) Dense {
	a := h.New(n, n)
	for i := range n {
		a.Data[i*n+i] = 1
	}
	return a
}
