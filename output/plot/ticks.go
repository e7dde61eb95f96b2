package plot

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A tick is a labelled place on an axis.
type tick struct {
	at    float64
	label string
}

// ticks are about n round numbers between low and high: multiples of 1, 2 or 5 times a
// power of ten; at least two, since one alone has no scale.
func ticks(low, high float64, n int) (all []tick) {
	if !finite(low) || !finite(high) || low >= high {
		return []tick{{low, general(low, 4)}}
	}
	n = max(n, 2)
	step := high/float64(n) - low/float64(n) // never too large
	pow := math.Pow(10, math.Floor(math.Log10(step)))
	if low+step/10 == low || high-step/10 == high || !(pow > 0x1p-1000) { // a step is lost in rounding
		return []tick{{low, general(low, -1)}, {high, general(high, -1)}}
	}
	for _, f := range []float64{1, 2, 5, 10} {
		if f*pow >= step*0.999 {
			if step = f * pow; !finite(step) {
				step = pow
			}
			break
		}
	}
	from, to := math.Ceil(low/step-1e-9), math.Floor(high/step+1e-9)
	digits := -int(math.Floor(math.Log10(step) + 1e-9)) // decimal places of a step
	big := max(math.Abs(low), math.Abs(high))
	for k := from; k <= to && len(all) < 100; k++ {
		v := k * step
		label := strconv.FormatFloat(v, 'f', max(digits, 0), 64)
		if k == 0 {
			label = "0"
		} else if big >= 1e6 || big < 1e-3 {
			label = general(v, max(1, 1+int(math.Floor(math.Log10(math.Abs(v))+1e-9))+digits))
		}
		all = append(all, tick{v, label})
	}
	if len(all) < 2 && n < 10 {
		return ticks(low, high, n+1)
	}
	return all
}

// powers are ticks of a logarithmic axis from 10^low to 10^high: powers of ten, or of 100, …,
// with 2 and 5 times as much where there is room; of less than one, round numbers.
func powers(low, high float64, n int) (all []tick) {
	if !finite(low) || !finite(high) || low >= high {
		return []tick{{low, power(1, low)}}
	}
	n = max(n, 2)
	step := 1
	for i := 1; (high-low)/float64(step) > float64(n); i++ {
		step = []int{1, 2, 5}[i%3] * int(math.Pow10(i/3))
	}
	factors := []float64{1}
	if 3*(high-low) <= float64(n) || high-low < 2 {
		factors = []float64{1, 2, 5}
	}
	for k := math.Ceil(low/float64(step)) - 1; k*float64(step) <= high+1e-9; k++ {
		for _, f := range factors {
			if at := k*float64(step) + math.Log10(f); at >= low-1e-9 && at <= high+1e-9 {
				all = append(all, tick{at, power(f, k*float64(step))})
			}
		}
	}
	if len(all) < 2 {
		all = nil
		for _, t := range ticks(math.Pow(10, low), math.Pow(10, high), n) {
			all = append(all, tick{math.Log10(t.at), t.label})
		}
	}
	return all
}

// power is the label of f·10^k, which need not be in the range of float64.
func power(f, k float64) string {
	if k > -5 && k < 6 {
		return strconv.FormatFloat(f*math.Pow(10, k), 'g', 6, 64)
	}
	return fmt.Sprintf("%ge%+.0f", f, k)
}

// general is a number with so many digits, or all; its exponent is written as in tables, 1e-9.
func general(v float64, digits int) string {
	s := strconv.FormatFloat(v, 'g', digits, 64)
	return strings.NewReplacer("e-0", "e-", "e+0", "e+").Replace(s)
}

// axis labels n cells, in parts of the axis: with indices in the middle of their cells, or of
// blocks of so many cells with a gap around each, or with the numbers of a range.
func axis(n, block int, ends [2]float64, about int) (all []tick) {
	if ends[0] != ends[1] {
		for _, t := range ticks(ends[0], ends[1], about) {
			all = append(all, tick{part(t.at, ends[0], ends[1]), t.label})
		}
		return all
	}
	first, each, wide := 0, 1, 1
	if block > 0 {
		first, each, wide = 1, block+1, block
	}
	for _, i := range indices((n-first)/each, about) {
		all = append(all, tick{(float64(first+i*each) + float64(wide)/2) / float64(n), strconv.Itoa(i)})
	}
	return all
}

// indices are about so many of n, evenly spaced from 0.
func indices(n, about int) (all []int) {
	step := 1
	for i := 0; n/step > max(about, 2); i++ {
		step = []int{1, 2, 5}[i%3] * int(math.Pow10(i/3))
	}
	for i := 0; i < n; i += step {
		all = append(all, i)
	}
	return all
}

// spread is the part of the numbers that a picture shows, with a little room: all of them,
// unless a few (one in 25 at each end) lie eight times farther out than the others reach.
func spread(all []float64) (low, high float64) {
	if len(all) == 0 {
		return -1, 1
	}
	slices.Sort(all)
	n := len(all)
	low, high = all[0], all[n-1]
	if a, b := all[n/25], all[n-1-n/25]; b > a && high/8-low/8 > b-a {
		low, high = max(low, a-(b-a)/4), min(high, b+(b-a)/4)
	}
	if low == high {
		d := max(math.Abs(low)/2, 0.5)
		return low - d, high + d
	}
	room := high/20 - low/20
	if !finite(low-room) || !finite(high+room) {
		return low, high
	}
	return low - room, high + room
}
