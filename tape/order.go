package tape

import (
	"math"
	"math/bits"
	"slices"

	"nabla/tape/pool"
)

// A sorter sorts numbers, or finds the one that would stand in a place; its room serves the next ones.
//
// Numbers are ranked by the 32 or 40 bits of their keys below those that all share: rank and place
// in one word, sorted by about half as many digits as the key has. What shares these bits, too, is
// sorted by the rest. Digits of 11 bits, of which there are fewer, took 1.3 times as long.
type sorter struct {
	ranks, room []uint64      // ranks above, places below
	places      uint64        // the bits of places
	counts      [8][256]int32 // of numbers, by digit

	turned      []float64 // numbers of which the largest are the least
	among, tops []int     // places of some, and of the largest
}

// sortRoom is what rows of the argument of r are sorted in, of which each thread has one.
func sortRoom(t *Tape, r Ref) int64 {
	x := t.Args(r)[0]
	return 16 * int64(min(t.size(x), 64*last(t.Shape(x))))
}

// topRoom is the same, and what is turned in.
func topRoom(t *Tape, r Ref) int64 { return 2 * sortRoom(t, r) }

const (
	leastRadix = 400     // numbers from which on they are sorted digit by digit
	leastWide  = 1 << 15 // from which on 32 bits would be shared by many
)

// sortKey ascends as the numbers do; both zeros are one number, and so are all NaN, which come
// last, as in NumPy.
func sortKey(v float64) uint64 {
	if v != v {
		return math.MaxUint64
	}
	return numberKey(v)
}

// numberKey is sortKey of what is not NaN: those below 0 have all bits turned, the others the first.
func numberKey(v float64) uint64 {
	b := math.Float64bits(v + 0) // -0 + 0 is 0
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}

// varying are the bits in which keys of x differ.
func varying(x []float64) uint64 {
	or, and := uint64(0), uint64(math.MaxUint64)
	for _, v := range x {
		k := sortKey(v)
		or |= k
		and &= k
	}
	return or &^ and
}

// of lists the places of x in ascending order, in those bits of words that s.places has; equal
// numbers stay in theirs. At most 2^31 numbers.
func (s *sorter) of(x []float64) []uint64 {
	n := len(x)
	s.ranks = slices.Grow(s.ranks[:0], n)[:n]
	bit := bits.Len(uint(n)) // of the lowest digit
	digits := 4
	if n >= leastWide {
		digits = 5
	}
	s.places = 1<<bit - 1
	below := max(0, bits.Len64(varying(x))-min(64-bit, 8*digits))
	for i, v := range x {
		s.ranks[i] = sortKey(v)>>below<<bit | uint64(i)
	}
	s.sortRanks(s.ranks, bit)
	if below == 0 {
		return s.ranks
	}
	for from, to := 0, 0; from < n; from = to {
		for to = from + 1; to < n && s.ranks[to]>>bit == s.ranks[from]>>bit; to++ {
		}
		if to == from+1 {
			continue
		}
		same := s.ranks[from:to]
		for i, p := range same {
			same[i] = sortKey(x[p&s.places])<<(64-below)>>(64-below)<<bit | p&s.places
		}
		s.sortRanks(same, bit)
	}
	return s.ranks
}

// sortRanks sorts words that stand in the order of the bits below bit: large ones by the bytes above
// these, the last one first; a byte that all share is passed over.
func (s *sorter) sortRanks(x []uint64, bit int) {
	n := len(x)
	if n < leastRadix {
		slices.Sort(x)
		return
	}
	s.room = slices.Grow(s.room[:0], n)[:n]
	or, and := uint64(0), uint64(math.MaxUint64)
	for _, p := range x {
		or |= p
		and &= p
	}
	most := (bits.Len64((or&^and)>>bit) + 7) / 8
	clear(s.counts[:most])
	for _, p := range x {
		p >>= bit & 63
		for d := range s.counts[:most] {
			s.counts[d][byte(p)]++
			p >>= 8
		}
	}
	from, to := x, s.room
	for d := range s.counts[:most] {
		c := &s.counts[d]
		shift := (bit + 8*d) & 63
		if c[byte(x[0]>>shift)] == int32(n) {
			continue
		}
		start := int32(0)
		for i, k := range c {
			c[i] = start
			start += k
		}
		for _, p := range from {
			i := &c[byte(p>>shift)]
			to[*i] = p
			*i++
		}
		from, to = to, from
	}
	if &from[0] != &x[0] {
		copy(x, from)
	}
}

// place returns the element of x that stands at place k, counted from 0, once x is sorted. Digit
// by digit only the numbers are kept that share those of the one looked for.
func (s *sorter) place(x []float64, k int) float64 {
	s.ranks = slices.Grow(s.ranks[:0], len(x))[:len(x)]
	or, and := uint64(0), uint64(math.MaxUint64)
	for i, v := range x {
		key := sortKey(v)
		s.ranks[i] = key
		or |= key
		and &= key
	}
	keys, among := s.ranks, k
	const digit = 11
	for len(keys) >= 64 && or != and {
		shift := max(0, bits.Len64(or&^and)-digit)
		var counts [1 << digit]int32
		for _, key := range keys {
			counts[key>>shift&(1<<digit-1)]++
		}
		want := uint64(0)
		for among >= int(counts[want]) {
			among -= int(counts[want])
			want++
		}
		kept := 0
		or, and = 0, math.MaxUint64
		for _, key := range keys {
			keys[kept] = key
			if key>>shift&(1<<digit-1) == want {
				kept++
				or |= key
				and &= key
			}
		}
		keys = keys[:kept]
	}
	if or != and {
		slices.Sort(keys)
	}
	switch key := keys[among]; {
	case key == math.MaxUint64:
		return math.NaN()
	case key == 1<<63: // a zero, of the sign that the one at this place among zeros has
		for _, v := range x {
			if v < 0 {
				k--
			}
		}
		for _, v := range x {
			if v != 0 {
				continue
			}
			if k == 0 {
				return v
			}
			k--
		}
		panic("a zero that is none")
	case key>>63 == 1:
		return math.Float64frombits(key &^ (1 << 63))
	default:
		return math.Float64frombits(^key)
	}
}

// mostInserted is how many of the largest are found on one walk, on which each finds its place among
// those so far.
const mostInserted = 32

// top lists the places of the k largest of x, largest first; equal numbers stay in their order, and NaN
// is as large as infinity.
func (s *sorter) top(x []float64, k int) []int {
	s.tops = s.tops[:0]
	switch {
	case k == 0:
		return s.tops
	case k <= mostInserted:
		s.insertTop(x, k)
		return s.tops
	}
	s.turned = s.turned[:0]
	for _, v := range x {
		s.turned = append(s.turned, -orInf(v))
	}
	all := s.turned
	if 4*k < len(x) { // only these are sorted
		bound, same := s.place(all, k-1), k
		for _, v := range all {
			if v < bound {
				same--
			}
		}
		s.turned = s.turned[:0]
		for i, v := range all {
			if v > bound || v == bound && same == 0 {
				continue
			}
			if v == bound {
				same--
			}
			s.turned, s.among = append(s.turned, v), append(s.among, i)
		}
	}
	for _, p := range s.of(s.turned)[:k] {
		at := int(p & s.places)
		if len(s.among) > 0 {
			at = s.among[at]
		}
		s.tops = append(s.tops, at)
	}
	s.among = s.among[:0]
	return s.tops
}

func (s *sorter) insertTop(x []float64, k int) {
	var best [mostInserted]float64
	s.tops = slices.Grow(s.tops, k)[:k]
	n := 0
	bound := math.Inf(-1) // of what is not among the largest any more
	for i, v := range x {
		if n < k {
			n++
		} else if v <= bound || orInf(v) <= bound {
			continue
		}
		v = orInf(v)
		at := n - 1
		for ; at > 0 && best[at-1] < v; at-- {
			best[at], s.tops[at] = best[at-1], s.tops[at-1]
		}
		best[at], s.tops[at] = v, i
		if n == k {
			bound = best[k-1]
		}
	}
}

// orInf is v, or infinity for NaN.
func orInf(v float64) float64 {
	if v != v {
		return math.Inf(1)
	}
	return v
}

// sort writes x, sorted, to dst, another slice.
func (s *sorter) sort(dst, x []float64) {
	for i, p := range s.of(x) {
		dst[i] = x[p&s.places]
	}
}

// eachSorted calls f with every row of the last axis of the argument, its number, and a sorter.
func (c *run) eachSorted(f func(s *sorter, i int, x []float64)) {
	n := last(c.shapes[0])
	if n == 0 {
		return
	}
	pool.Split(c.threads, len(c.args[0]), len(c.args[0])/n, func(from, to int) {
		var s sorter
		for i := from; i < to; i++ {
			f(&s, i, c.args[0][i*n:(i+1)*n])
		}
	})
}
