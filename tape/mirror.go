package tape

import (
	"slices"

	"nabla/kernels"
)

// A mirror says that a block of a Hessian is the transpose of another one, or of itself;
// lead is the number of axes that stand for the other's rows.
type mirror struct {
	of   Ref
	lead int
}

// mirror notes which blocks of a Hessian, by the gradients that they are of, mirror others.
func (lo *lowering) mirror(blocks [][]value, gs []value) {
	t := lo.t
	for i, row := range blocks {
		for j := range min(i+1, len(row)) {
			r, ok := row[j].(Ref)
			if !ok || len(blocks[j]) <= i {
				continue
			}
			o, ok := blocks[j][i].(Ref)
			if !ok {
				continue
			}
			if t.mirrors == nil {
				if !t.symmetric() {
					return
				}
				t.mirrors = map[Ref]mirror{}
			}
			t.mirrors[r] = mirror{o, len(t.Shape(gs[j].(Ref)))}
		}
	}
}

// mend completes what one order of multiplication loses and another keeps. An element of
// a Hessian and its mirror image are made of the same factors; where some of them leave
// the range on the way in one, the number that the other has stands for both. What is
// on the tape does not change.
func (s *session) mend() {
	for _, r := range s.sides {
		m := s.t.mirrors[r]
		x, y := s.data(r), s.data(m.of)
		if !anyLost(x) && (r == m.of || !anyLost(y)) {
			continue
		}
		cols := s.t.Shape(m.of)[:m.lead].Size()
		rows := len(x) / max(1, cols)
		for p := range x[:rows] {
			for i, a := range x[p*cols:][:cols] {
				if r == m.of && i >= p {
					break // it is looked at from the other side
				}
				switch b := y[i*rows+p]; {
				case lost(a) == lost(b):
				case lost(a):
					s.owned(r)[p*cols+i] = b
				default:
					s.owned(m.of)[i*rows+p] = a
				}
			}
		}
	}
}

// twoSided lists the blocks of the answer that mend looks at.
func (s *session) twoSided() (sides []Ref) {
	if len(s.t.mirrors) == 0 {
		return nil
	}
	wanted := map[Ref]bool{}
	for _, r := range s.wanted {
		wanted[r] = true
	}
	for r, m := range s.t.mirrors {
		if size := s.t.size(r); wanted[r] && wanted[m.of] && size <= mostMended && (r != m.of || size > 1) {
			sides = append(sides, r)
		}
	}
	return sides
}

// mostMended is the size of blocks that mend looks at; larger ones are as a rule factored.
const mostMended = 1 << 12

// lost reports whether a number may be one that left the range.
func lost(v float64) bool { return v == 0 || v-v != 0 }

// anyLost reports whether some of so many numbers may.
func anyLost(x []float64) bool {
	if !finiteNumbers(x) {
		return true
	}
	var zeros, zero [1]float64
	kernels.CountRows(zeros[:], x, zero[:], len(x))
	return zeros[0] > 0
}

// data is the value of r as the answer has it.
func (s *session) data(r Ref) []float64 {
	if d, ok := s.mended[r]; ok {
		return d
	}
	return s.t.data(r)
}

// look forgets what was mended, and seen, of numbers that were there before.
func (s *session) look() {
	clear(s.mended)
	clear(s.looked)
}

// owned is the same to be written to.
func (s *session) owned(r Ref) []float64 {
	if _, ok := s.mended[r]; !ok {
		if s.mended == nil {
			s.mended = map[Ref][]float64{}
		}
		s.mended[r] = slices.Clone(s.t.data(r))
	}
	delete(s.looked, r)
	return s.mended[r]
}
