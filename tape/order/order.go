// Package order sorts numbers by the digits of keys, and finds the one that would stand in a place, and
// the largest, without sorting all. NaN come last, as in NumPy; both zeros are one number.
package order

import (
	"math"
	"math/bits"
	"slices"
)

// A Sorter sorts numbers, or finds the one that would stand in a place; its room serves the next ones.
//
// Numbers are ranked by the 32 or 40 bits of their keys below those that all share: rank and place
// in one word, sorted by about half as many digits as the key has. What shares these bits, too, is
// sorted by the rest. Digits of 11 bits, of which there are fewer, took 1.3 times as long.
type Sorter struct {
	ranks, room []uint64      // ranks above, places below
	places      uint64        // the bits of places
	counts      [8][256]int32 // of numbers, by digit

	turned      []float64 // numbers of which the largest are the least
	among, tops []int     // places of some, and of the largest
}

const (
	leastRadix = 500     // numbers from which on they are sorted digit by digit
	leastWide  = 1 << 15 // from which on 32 bits would be shared by many
)

// Key ascends as the numbers do; both zeros are one number, and so are all NaN, which come
// last, as in NumPy.
func Key(v float64) uint64 {
	if v != v {
		return math.MaxUint64
	}
	return NumberKey(v)
}

// NumberKey is Key of what is not NaN: those below 0 have all bits turned, the others the first.
func NumberKey(v float64) uint64 {
	b := math.Float64bits(v + 0) // -0 + 0 is 0
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}

// varying are the bits in which keys of x differ.
func varying(x []float64) uint64 {
	or, and := uint64(0), uint64(math.MaxUint64)
	for _, v := range x {
		k := Key(v)
		or |= k
		and &= k
	}
	return or &^ and
}

// Ranks lists the places of x in ascending order, in words of which Place reads them; equal numbers
// stay in theirs. At most 2^31 numbers. The words are the sorter's until the next call.
func (s *Sorter) Ranks(x []float64) []uint64 {
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
		s.ranks[i] = Key(v)>>below<<bit | uint64(i)
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
			same[i] = Key(x[p&s.places])<<(64-below)>>(64-below)<<bit | p&s.places
		}
		s.sortRanks(same, bit)
	}
	return s.ranks
}

// Place is the place in what was sorted last that a word of its ranks holds.
func (s *Sorter) Place(rank uint64) int { return int(rank & s.places) }

// Sort writes x, sorted, to dst, another slice.
func (s *Sorter) Sort(dst, x []float64) {
	for i, p := range s.Ranks(x) {
		dst[i] = x[s.Place(p)]
	}
}

// sortRanks sorts words that stand in the order of the bits below bit: large ones by the bytes above
// these, the last one first; a byte that all share is passed over.
func (s *Sorter) sortRanks(x []uint64, bit int) {
	n := len(x)
	s.room = slices.Grow(s.room[:0], n)[:n]
	if n < leastRadix {
		sortWords(x, s.room)
		return
	}
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
