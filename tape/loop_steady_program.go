package tape

import (
	"slices"

	"nabla/kernels"
)

// A steadyProgram is a tile program of a steady step, some of whose operands may be read
// elsewhere, in pieces.
type steadyProgram struct {
	t     *Tape
	tp    *tileProgram
	cuts  []int       // where pieces begin
	reads [][]strand  // by operand in memory, then by piece; nil where it is read as it is
	masks [][]float64 // by operand in memory: what is read instead, the same in every step
}

// program makes that of a tile program, or of what assembles r.
func (b *steadyReads) program(tp *tileProgram, r Ref) *steadyProgram {
	t := b.p.t
	z := &steadyProgram{t: t, tp: tp}
	if tp == nil {
		z.tp = &tileProgram{n: t.size(r), direct: []Ref{r}, pieces: true}
		reads := b.found[r]
		z.cuts = cutsOf(z.tp.n, reads)
		z.tp.code = z.sum(reads, -1)
		z.finish(t.desk)
		return z
	}
	reads := b.readingsOf(tp)
	if len(reads) == 0 {
		return z
	}
	z.cuts = cutsOf(tp.n, reads)
	z.tp = &tileProgram{n: tp.n, direct: slices.Clone(tp.direct), loads: slices.Clone(tp.loads), slots: tp.slots, sums: tp.sums, pieces: true}
	var first []micro
	instead := map[int32]int32{}
	for i, a := range tp.direct {
		if a == None || !b.read[a] {
			continue
		}
		switch reads := b.found[a]; {
		case b.joined[a]:
			instead[int32(-1-i)] = z.newSlot()
			first = append(first, z.sum(reads, z.lastSlot())...)
		case reads[0].most > 1 || reads[0].made != None:
			place, code := z.chosen(reads[0])
			instead[int32(-1-i)] = place
			first = append(first, code...)
		default:
			z.grow()
			z.reads[i] = z.each(reads[0], 0)
			continue
		}
		z.tp.direct[i] = None
	}
	z.grow()
	z.tp.code = append(first, slices.Clone(tp.code)...)
	for k := len(first); k < len(z.tp.code); k++ {
		for i, a := range z.tp.code[k].arg {
			if to, ok := instead[a]; ok {
				z.tp.code[k].arg[i] = to
			}
		}
	}
	z.finish(t.desk)
	return z
}

// finish makes the code one of calls. Where one call of machine code can do all elements, it is
// told where the pieces read: a call for each of them took twice the time, the most of it before
// and behind the numbers.
func (z *steadyProgram) finish(d *desk) {
	tp := z.tp
	tp.plain = tp.link(d, tp.code)
	if tp.n > tileSize && !tp.isOneMachine() {
		return
	}
	tp.joined = make([]kernels.Piece, 0, len(z.cuts))
	for k := range z.cuts {
		_, end := z.piece(k, 0, tp.n)
		piece := kernels.Piece{End: end, Reads: make([]kernels.Read, 0, len(z.reads))}
		for i, list := range z.reads {
			if list != nil {
				piece.Reads = append(piece.Reads, kernels.Read{Column: int32(-1 - i), From: z.base(list[k].from), By: list[k].by})
			}
		}
		tp.joined = append(tp.joined, piece)
	}
}

// base is the place of a value as it lies, or of zeros, of which pieces are read.
func (z *steadyProgram) base(r Ref) int32 {
	for i, a := range z.tp.direct {
		if a == r && (i >= len(z.reads) || z.reads[i] == nil && z.masks[i] == nil) {
			return int32(-1 - i)
		}
	}
	z.tp.direct = append(z.tp.direct, r)
	return int32(-len(z.tp.direct))
}

// readsJoined reports whether machine code of micro-operations from one on, up to end, reads
// anything in pieces, all of which it does.
func (tp *tileProgram) readsJoined(from, end int) bool {
	return slices.ContainsFunc(tp.code[from:end], func(m micro) bool {
		return slices.ContainsFunc(m.operands(), func(a int32) bool { return len(tp.bases(a)) > 0 })
	})
}

// bases are the places that joined pieces read for one.
func (tp *tileProgram) bases(place int32) (all []int32) {
	for i := range tp.joined {
		for _, r := range tp.joined[i].Reads {
			if r.Column == place {
				all = append(all, r.From)
			}
		}
	}
	return all
}

// newSlot is one more slot.
func (z *steadyProgram) newSlot() int32 {
	z.tp.slots++
	return z.lastSlot()
}

func (z *steadyProgram) lastSlot() int32 { return int32(z.tp.slots - 1) }

// grow makes lists as long as there are operands in memory.
func (z *steadyProgram) grow() {
	more := len(z.tp.direct) - len(z.reads)
	z.reads = slices.Grow(z.reads, more)[:len(z.tp.direct)]
	z.masks = slices.Grow(z.masks, more)[:len(z.tp.direct)]
}

// inMemory is the place of what is read in pieces, or of a mask.
func (z *steadyProgram) inMemory(reads []strand, mask []float64) int32 {
	z.tp.direct = append(z.tp.direct, None)
	z.grow()
	k := len(z.tp.direct) - 1
	z.reads[k], z.masks[k] = reads, mask
	return int32(-1 - k)
}

// piece is where what piece k has of elements from one on, up to end, begins and ends.
func (z *steadyProgram) piece(k, from, end int) (int, int) {
	next := z.tp.n
	if k+1 < len(z.cuts) {
		next = z.cuts[k+1]
	}
	return max(z.cuts[k], from), min(next, end)
}

// here are the strands of a reading at piece k, x.most of them, appended to none.
func (z *steadyProgram) here(x reading, k int, all []int) []int {
	for i, s := range x.strands {
		if s.first <= z.cuts[k] && z.cuts[k] < s.end {
			all = append(all, i)
		}
	}
	for len(all) < x.most {
		all = append(all, all[len(all)-1])
	}
	return all
}

// each are the strands numbered j of the pieces.
func (z *steadyProgram) each(x reading, j int) (all []strand) {
	all = make([]strand, len(z.cuts))
	var room [mostChoices]int
	for k := range z.cuts {
		all[k] = x.strands[z.here(x, k, room[:0])[j]]
	}
	return all
}

// chosen is the place of a reading, and the code that chooses between its strands.
func (z *steadyProgram) chosen(x reading) (place int32, code []micro) {
	place = z.inMemory(z.each(x, x.most-1), nil)
	defer func() {
		if x.made != None {
			m := z.again(z.t, x.made, place)
			place, code = m.dst, append(code, m)
		}
	}()
	for j := x.most - 2; j >= 0; j-- {
		mask := make([]float64, z.tp.n)
		for _, run := range x.runs {
			now := x.strand(run)
			for k := range z.cuts {
				if first, end := z.piece(k, run.first, run.end); first < end && z.here(x, k, nil)[j] == now {
					kernels.Fill(mask[first:end], 1)
				}
			}
		}
		m := micro{op: opWhere, dst: z.newSlot(), arg: [3]int32{z.inMemory(nil, mask), z.inMemory(z.each(x, j), nil), place}}
		place = m.dst
		code = append(code, m)
	}
	return place, code
}

// sum is the code that adds up readings from 0 on.
func (z *steadyProgram) sum(reads []reading, dst int32) (code []micro) {
	so := z.tp.number(0, z.newSlot)
	for i, x := range reads {
		place, choice := z.chosen(x)
		to := dst
		if i < len(reads)-1 && dst < 0 {
			to = z.newSlot()
		}
		code = append(append(code, choice...), micro{op: opAdd, dst: to, arg: [3]int32{so, place}})
		so = to
	}
	if len(reads) == 0 {
		code = append(code, micro{op: opCopy, dst: dst, arg: [3]int32{so}})
	}
	z.grow()
	return code
}

// inPieces reports whether micro-operations from one on, up to end, read anything in pieces.
func (z *steadyProgram) inPieces(from, end int) bool {
	for i := from; i < end; i++ {
		for _, a := range z.tp.code[i].operands() {
			if a < 0 && int(-1-a) < len(z.reads) && z.reads[-1-a] != nil {
				return true
			}
		}
	}
	return false
}
