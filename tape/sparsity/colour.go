package sparsity

import (
	"math"
	"math/bits"
)

// Coloured colours the rows of a pattern so that rows of one colour share no column: each
// row in turn takes the first colour that no column of it has seen. That needs the
// least number for bands, and takes one look at each entry. It writes the colours, counted from
// 0, to colour, returns their number, and gives up where more than most are needed.
func (e *Entries) Coloured(colour []int32, cols, most int) (n int, ok bool) {
	words := 1
	seen := make([]uint64, cols) // the colours of the rows before, by column
	var busy []uint64
	for i := range colour {
		row := e.Row(i)
		c := 64 * words
		if words == 1 {
			var all uint64
			for _, j := range row {
				all |= seen[j]
			}
			if all != math.MaxUint64 {
				c = bits.TrailingZeros64(^all)
			}
		} else {
			busy = append(busy[:0], make([]uint64, words)...)
			for _, j := range row {
				for w, b := range seen[int(j)*words : (int(j)+1)*words] {
					busy[w] |= b
				}
			}
			for w, b := range busy {
				if b != math.MaxUint64 {
					c = 64*w + bits.TrailingZeros64(^b)
					break
				}
			}
		}
		if c >= most {
			return 0, false
		}
		if c == 64*words {
			if 16*words*cols > mostSeen {
				return 0, false
			}
			wider := make([]uint64, 2*words*cols)
			for j := range cols {
				copy(wider[2*words*j:], seen[words*j:words*(j+1)])
			}
			seen, words = wider, 2*words
		}
		for _, j := range row {
			seen[int(j)*words+c/64] |= 1 << (c % 64)
		}
		colour[i] = int32(c)
		n = max(n, c+1)
	}
	return n, true
}

// Apart colours the rows of a square pattern so that of two of one colour neither has an entry in the
// column that has the number of the other: of their sum, what stands on the diagonal is theirs alone.
// It writes the colours to colour and returns their number.
func (e *Entries) Apart(colour []int32) (n int) {
	across := e.Transposed(len(colour))
	var near []int32 // by colour: the last row that was near one of it, from 1
	for i := range colour {
		for _, row := range [][]int32{e.Row(i), across.Row(i)} {
			for _, j := range row {
				if int(j) < i {
					near[colour[j]] = int32(i) + 1
				}
			}
		}
		c := 0
		for c < n && near[c] == int32(i)+1 {
			c++
		}
		if c == n {
			near = append(near, 0)
			n++
		}
		colour[i] = int32(c)
	}
	return n
}

// mostSeen bounds the bytes of what coloured remembers.
const mostSeen = 256 << 20

// FewColours is Coloured with at most eight.
func (e *Entries) FewColours(colour []int32, cols int) (n int, ok bool) {
	seen := make([]uint8, cols)
	for i := range colour {
		row := e.Col[e.Ptr[i]:e.Ptr[i+1]]
		var all uint8
		for _, j := range row {
			all |= seen[j]
		}
		if all == math.MaxUint8 {
			return 0, false
		}
		first := ^all & -^all
		for _, j := range row {
			seen[j] |= first
		}
		c := bits.TrailingZeros8(first)
		colour[i] = int32(c)
		n = max(n, c+1)
	}
	return n, true
}

// Meeting is the largest number of rows that share a column: they need as many colours.
func (e *Entries) Meeting(cols int) int {
	count, most := make([]int32, cols), int32(0)
	for _, j := range e.Col {
		count[j]++
		most = max(most, count[j])
	}
	return int(most)
}
