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
	constants bool       // whether any was loaded
	loads     map[id]int // how often each that others use too was
}

// allocate gives registers to a list of instructions, of which the results are kept to
// the end. A register that is wanted comes from the constant whose next use is farthest;
// it fails where there is none, rather than spill. held are constants' registers.
func allocate(list []instruction, args, results []id, held map[id]int) (a allocation, ok bool) {
	defer func() {
		if r := recover(); r == outOfRegisters {
			ok = false
		} else if r != nil {
			panic(r)
		}
	}()
	a.loads = map[id]int{}

	// Instructions whose value is not used go.
	used := map[id]bool{}
	for _, r := range results {
		used[r] = true
	}
	var live []instruction
	for _, i := range slices.Backward(list) {
		if i.out == 0 || used[i.out] {
			for _, x := range i.in {
				used[x] = true
			}
			live = append(live, i)
		}
	}
	slices.Reverse(live)

	uses := map[id][]int{} // where each value is used, in order
	for at, i := range live {
		for _, x := range i.in {
			uses[x] = append(uses[x], at)
		}
	}
	for _, r := range results {
		uses[r] = append(uses[r], len(live))
	}

	place := map[id]int{}    // the register of each value that has one
	var vectors [32]id       // and the value of each register
	var generals [32]id      //
	busy := map[id]bool{}    // operands of the instruction at hand
	next := func(x id) int { // when x is used again
		if len(uses[x]) == 0 {
			return len(live) + 1
		}
		return uses[x][0]
	}
	const taken = -1
	for _, r := range held {
		vectors[r] = taken
	}
	for i := range generals {
		if !(i >= 8 && i <= 15 || i >= firstTable && i <= lastTable-len(tables)) {
			generals[i] = taken
		}
	}
	for _, x := range args {
		if f := quantities[x].fixed; f >= 0 {
			vectors[f] = taken
		}
	}
	where := func(x id) (int, bool) {
		if r, ok := held[x]; ok {
			return r, true
		}
		if f := quantities[x].fixed; f >= 0 {
			return f, true
		}
		r, ok := place[x]
		return r, ok
	}
	// take finds a register for x.
	take := func(x id) int {
		file := &vectors
		if quantities[x].general {
			file = &generals
		}
		r := slices.Index(file[:], 0)
		if r < 0 {
			for i, y := range file {
				if y != taken && quantities[y].constant && !busy[y] && (r < 0 || next(y) > next(file[r])) {
					r = i
				}
			}
			if r < 0 {
				panic(outOfRegisters)
			}
			delete(place, file[r])
		}
		file[r] = x
		place[x] = r
		return r
	}
	free := func(x id) {
		if r, ok := place[x]; ok {
			if quantities[x].general {
				generals[r] = 0
			} else {
				vectors[r] = 0
			}
			delete(place, x)
		}
	}
	emit := func(line string) { a.lines = append(a.lines, line) }
	load := func(x id, r int) {
		a.constants = true
		emit(loadConstant(quantities[x].word, r))
	}
	// has makes sure that x is in a register.
	has := func(x id) int {
		r, ok := where(x)
		if !ok {
			if !quantities[x].constant {
				log.Panicf("value %d is in no register", x)
			}
			r = take(x)
			a.loads[x]++
			load(x, r)
		}
		busy[x] = true
		return r
	}

	for _, x := range args {
		if quantities[x].fixed < 0 {
			take(x)
		}
	}
	for _, i := range live {
		clear(busy)
		for _, x := range i.in {
			uses[x] = uses[x][1:]
		}
		over := func(x id) bool { // x's register may be written over
			_, ok := place[x]
			return ok && len(uses[x]) == 0
		}
		f := form{tied: -1}
		if i.text == nil {
			f = i.code.forms[0]
			for _, other := range i.code.forms[1:] {
				if x := i.in[f.tied]; over(x) || quantities[x].constant && !over(i.in[other.tied]) {
					break
				}
				f = other
			}
		}
		in := make([]int, len(i.in))
		for j, x := range i.in {
			if j != f.tied {
				in[j] = has(x)
			}
		}
		if f.tied >= 0 {
			x := i.in[f.tied]
			switch r, ok := where(x); {
			case over(x):
				vectors[r] = i.out
				delete(place, x)
				place[i.out] = r
			case quantities[x].constant:
				load(x, take(i.out))
			case ok:
				busy[x] = true
				d := take(i.out)
				emit(word("mov", orr.forms[0].word|uint32(r)<<16|uint32(r)<<5|uint32(d), d, r))
			}
		}
		for _, x := range i.in {
			if len(uses[x]) == 0 && x != i.out {
				free(x)
			}
		}
		d := 0
		if i.out != 0 {
			if f.tied < 0 {
				take(i.out)
			}
			d = place[i.out]
			if len(uses[i.out]) == 0 {
				free(i.out)
			}
		}
		if i.text != nil {
			emit(i.text(d, in))
			continue
		}
		w := f.word | uint32(d)
		regs := []int{d}
		if f.tied >= 0 {
			in[f.tied] = d
		}
		for at, j := range []int{f.n, f.m} {
			if j >= 0 {
				w |= uint32(in[j]) << []int{5, 16}[at]
				regs = append(regs, in[j])
			}
		}
		name := i.code.name
		if len(i.code.forms) > 1 {
			name = []string{"bsl", "bit", "bif"}[slices.Index(i.code.forms, f)]
		}
		emit(word(name, w, regs...))
	}
	clear(busy)
	for _, x := range results {
		a.results = append(a.results, has(x))
	}
	return a, true
}

const outOfRegisters = "out of registers"

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
