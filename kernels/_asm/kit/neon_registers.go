package kit

import (
	"fmt"
	"log"
	"slices"
	"strings"
)

// An allocation is instructions with registers.
type allocation struct {
	lines     []string
	results   []int
	constants bool        // whether any was loaded
	shared    map[id]bool // those that were loaded, but not to be written over

	end               int // after the last instruction
	held              map[id]int
	uses              map[id][]int // where each value is used, in order
	place             map[id]int   // the register of each value that has one
	vectors, generals [32]id       // and the value of each register, or taken
	busy              map[id]bool  // operands of the instruction at hand
}

const taken id = -1

// outOfRegisters is what take panics with.
type outOfRegisters struct{}

// allocate gives registers to a list of instructions, of which the results are kept to
// the end; held are constants' registers. It fails where there are too few, rather than
// spill.
func allocate(list []instruction, args, results []id, held map[id]int) (a *allocation, ok bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, short := r.(outOfRegisters); !short {
				panic(r)
			}
			ok = false
		}
	}()
	list = used(list, results)
	a = &allocation{shared: map[id]bool{}, end: len(list), held: held, uses: map[id][]int{}, place: map[id]int{}, busy: map[id]bool{}}
	for at, i := range list {
		for _, x := range i.in {
			a.uses[x] = append(a.uses[x], at)
		}
	}
	for _, r := range results {
		a.uses[r] = append(a.uses[r], a.end)
	}
	for _, r := range held {
		a.vectors[r] = taken
	}
	for r := range a.generals {
		if !(r >= 8 && r <= 15 || r >= firstTable && r <= lastTable-len(tables)) {
			a.generals[r] = taken
		}
	}
	for _, x := range args {
		if r := quantities[x].fixed; r >= 0 {
			a.vectors[r] = taken
		}
	}
	for _, x := range args {
		if quantities[x].fixed < 0 {
			a.take(x)
		}
	}
	for _, i := range list {
		clear(a.busy)
		a.write(i)
	}
	clear(a.busy)
	for _, x := range results {
		a.results = append(a.results, a.find(x))
	}
	return a, true
}

// used is the instructions whose value is used.
func used(list []instruction, results []id) (live []instruction) {
	needed := map[id]bool{}
	for _, r := range results {
		needed[r] = true
	}
	for _, i := range slices.Backward(list) {
		if i.out == 0 || needed[i.out] {
			for _, x := range i.in {
				needed[x] = true
			}
			live = append(live, i)
		}
	}
	slices.Reverse(live)
	return live
}

// write gives an instruction its registers.
func (a *allocation) write(i instruction) {
	for _, x := range i.in {
		a.uses[x] = a.uses[x][1:]
	}
	f := form{tied: -1}
	if i.text == nil {
		f = a.choose(i)
	}
	in := make([]int, len(i.in))
	for j, x := range i.in {
		if j != f.tied {
			in[j] = a.find(x)
		}
	}
	if f.tied >= 0 {
		in[f.tied] = a.become(i.out, i.in[f.tied])
	}
	for _, x := range i.in {
		if len(a.uses[x]) == 0 {
			a.free(x)
		}
	}
	d := 0
	if i.out != 0 {
		if f.tied < 0 {
			a.take(i.out)
		}
		d = a.place[i.out]
		if len(a.uses[i.out]) == 0 {
			a.free(i.out)
		}
	}
	if i.text != nil {
		a.emit(i.text(d, in))
		return
	}
	w, regs := f.word|uint32(d), []int{d, in[f.n]}
	w |= uint32(in[f.n]) << 5
	if f.m >= 0 {
		w |= uint32(in[f.m]) << 16
		regs = append(regs, in[f.m])
	}
	name := i.code.name
	if len(i.code.forms) > 1 {
		name = []string{"bsl", "bit", "bif"}[slices.Index(i.code.forms, f)]
	}
	a.emit(word(name, w, regs...))
}

// choose is the form of an instruction that writes over what is no longer used, or else
// over a constant, loaded for it.
func (a *allocation) choose(i instruction) form {
	f := i.code.forms[0]
	for _, other := range i.code.forms[1:] {
		if x := i.in[f.tied]; a.over(x) || quantities[x].constant && !a.over(i.in[other.tied]) {
			break
		}
		f = other
	}
	return f
}

// over is whether x's register may be written over.
func (a *allocation) over(x id) bool {
	_, ok := a.place[x]
	return ok && len(a.uses[x]) == 0
}

// become finds a register for out that holds x.
func (a *allocation) become(out, x id) int {
	switch {
	case a.over(x):
		r := a.place[x]
		delete(a.place, x)
		a.vectors[r], a.place[out] = out, r
	case quantities[x].constant:
		a.load(x, a.take(out))
	default:
		r := a.find(x)
		d := a.take(out)
		a.emit(word("mov", orr.forms[0].word|uint32(r)<<16|uint32(r)<<5|uint32(d), d, r))
	}
	return a.place[out]
}

// find is x's register; a constant is loaded if it has none.
func (a *allocation) find(x id) int {
	r, ok := a.held[x]
	if !ok {
		r, ok = a.place[x]
	}
	q := quantities[x]
	switch {
	case ok:
	case q.fixed >= 0:
		r = q.fixed
	case q.constant:
		r = a.take(x)
		a.shared[x] = true
		a.load(x, r)
	default:
		log.Panicf("value %d is in no register", x)
	}
	a.busy[x] = true
	return r
}

// take finds a register for x: a free one, or that of the constant whose next use is
// farthest.
func (a *allocation) take(x id) int {
	file := &a.vectors
	if quantities[x].general {
		file = &a.generals
	}
	r := slices.Index(file[:], 0)
	if r < 0 {
		for i, y := range file {
			if y != taken && quantities[y].constant && !a.busy[y] && (r < 0 || a.next(y) > a.next(file[r])) {
				r = i
			}
		}
		if r < 0 {
			panic(outOfRegisters{})
		}
		delete(a.place, file[r])
	}
	file[r], a.place[x] = x, r
	return r
}

func (a *allocation) free(x id) {
	r, ok := a.place[x]
	switch {
	case !ok:
	case quantities[x].general:
		a.generals[r] = 0
	default:
		a.vectors[r] = 0
	}
	delete(a.place, x)
}

// next is when x is used again.
func (a *allocation) next(x id) int {
	if len(a.uses[x]) == 0 {
		return a.end + 1
	}
	return a.uses[x][0]
}

func (a *allocation) load(x id, r int) {
	a.constants = true
	a.emit(loadConstant(quantities[x].word, r))
}

func (a *allocation) emit(line string) { a.lines = append(a.lines, line) }

// word is an instruction as a number.
func word(name string, w uint32, regs ...int) string {
	op, shift, _ := strings.Cut(name, " ")
	s := fmt.Sprintf("WORD $0x%08x // %s", w, op)
	for i, r := range regs {
		if i > 0 {
			s += ","
		}
		s += fmt.Sprintf(" v%d", r)
	}
	if shift != "" {
		s += ", " + shift
	}
	return s
}
