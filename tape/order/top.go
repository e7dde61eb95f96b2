package order

import (
	"math"
	"slices"
)

// mostInserted is how many of the largest are found on one walk, on which each finds its place among
// those so far.
const mostInserted = 32

// Top lists the places of the k largest of x, largest first; equal numbers stay in their order, and NaN
// is as large as infinity. The list is the sorter's until the next call.
func (s *Sorter) Top(x []float64, k int) []int {
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
		bound, same := s.Nth(all, k-1), k
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
	for _, p := range s.Ranks(s.turned)[:k] {
		at := s.Place(p)
		if len(s.among) > 0 {
			at = s.among[at]
		}
		s.tops = append(s.tops, at)
	}
	s.among = s.among[:0]
	return s.tops
}

func (s *Sorter) insertTop(x []float64, k int) {
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
