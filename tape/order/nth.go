package order

import (
	"math"
	"math/bits"
	"slices"
)

// Nth returns the element of x that stands at place k, counted from 0, once x is sorted. Digit
// by digit only the numbers are kept that share those of the one looked for.
func (s *Sorter) Nth(x []float64, k int) float64 {
	s.ranks = slices.Grow(s.ranks[:0], len(x))[:len(x)]
	or, and := uint64(0), uint64(math.MaxUint64)
	for i, v := range x {
		key := Key(v)
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
		s.room = slices.Grow(s.room[:0], len(keys))[:len(keys)]
		sortWords(keys, s.room)
	}
	switch key := keys[among]; {
	case key == math.MaxUint64:
		return math.NaN()
	case key == 1<<63:
		return zeroAt(x, k)
	case key>>63 == 1:
		return math.Float64frombits(key &^ (1 << 63))
	default:
		return math.Float64frombits(^key)
	}
}

// zeroAt is the zero at place k in order: zeros stand as they do in x, behind what is negative.
func zeroAt(x []float64, k int) float64 {
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
}
