package tape

import (
	"math"
	"slices"
)

// A sorter sorts numbers; its room serves the next ones.
type sorter struct {
	pairs, room []ranked
}

// A ranked number is where it stands and a key that ascends as the numbers do: those below
// 0 have all bits turned, the others the first; both zeros are one number, and so are all
// NaN, which come last, as in NumPy.
type ranked struct {
	key uint64
	at  int32
}

// sortRoom is what the rows of r are sorted in, one after the other.
func sortRoom(t *Tape, r Ref) int64 { return 40 * int64(last(t.Shape(r))) }

// leastRadix is the number of numbers from which on they are sorted digit by digit.
const leastRadix = 128

// of lists the places of x in ascending order; equal numbers stay in theirs. At most 2^31
// numbers.
func (s *sorter) of(x []float64) []ranked {
	n := len(x)
	s.pairs = slices.Grow(s.pairs[:0], n)[:n]
	for i, v := range x {
		b := math.Float64bits(v)
		switch {
		case v != v:
			b = math.MaxUint64
		case v == 0:
			b = 1 << 63
		case b>>63 == 1:
			b = ^b
		default:
			b |= 1 << 63
		}
		s.pairs[i] = ranked{b, int32(i)}
	}
	if n < leastRadix {
		slices.SortFunc(s.pairs, func(a, b ranked) int {
			if a.key < b.key || a.key == b.key && a.at < b.at {
				return -1
			}
			return 1
		})
		return s.pairs
	}
	s.radix()
	return s.pairs
}

// radix sorts by bytes, the last one first; a byte that all share is passed over.
func (s *sorter) radix() {
	n := len(s.pairs)
	s.room = slices.Grow(s.room[:0], n)[:n]
	var counts [8][256]int32
	for _, p := range s.pairs {
		for d := range counts {
			counts[d][byte(p.key>>(8*d))]++
		}
	}
	for d := range counts {
		c := &counts[d]
		if c[byte(s.pairs[0].key>>(8*d))] == int32(n) {
			continue
		}
		start := int32(0)
		for i, k := range c {
			c[i] = start
			start += k
		}
		for _, p := range s.pairs {
			i := &c[byte(p.key>>(8*d))]
			s.room[*i] = p
			*i++
		}
		s.pairs, s.room = s.room, s.pairs
	}
}

// sort writes x, sorted, to dst, another slice.
func (s *sorter) sort(dst, x []float64) {
	for i, p := range s.of(x) {
		dst[i] = x[p.at]
	}
}
