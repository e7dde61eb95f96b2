package input

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"unsafe"
)

// number reads the JSON number at b[i:]: the float64 nearest to it, where it ends,
// and whether there is one. A number out of range is an infinity.
//
// number = [ "-" ] ( "0" | digit19 { digit } ) [ "." digit { digit } ] [ ( "e" | "E" ) [ "+" | "-" ] digit { digit } ] .
func number(b []byte, i int) (f float64, end int, ok bool) {
	start := i
	if i < len(b) && b[i] == '-' {
		i++
	}
	first := i
	var m uint64
	for i < len(b) && b[i]-'0' <= 9 {
		m = m*10 + uint64(b[i]-'0')
		i++
	}
	n := i - first // digits, which m holds exactly up to 19
	if n == 0 || n > 1 && b[first] == '0' {
		return 0, start, false
	}
	exp := 0
	if i < len(b) && b[i] == '.' {
		i++
		point := i
		for i+8 <= len(b) {
			v, all := eight(binary.LittleEndian.Uint64(b[i:]))
			if !all {
				break
			}
			m = m*100_000_000 + v
			i += 8
		}
		for i < len(b) && b[i]-'0' <= 9 {
			m = m*10 + uint64(b[i]-'0')
			i++
		}
		if i == point {
			return 0, start, false
		}
		exp = point - i
		n += i - point
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		minus := false
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			minus = b[i] == '-'
			i++
		}
		digits := i
		x := 0
		for i < len(b) && b[i]-'0' <= 9 {
			if x < 1e6 { // further digits change nothing: the number is far out of range
				x = x*10 + int(b[i]-'0')
			}
			i++
		}
		if i == digits {
			return 0, start, false
		}
		if minus {
			x = -x
		}
		exp += x
	}
	neg := first != start
	switch {
	case exp == 0 && m < 1<<53 && n <= 19:
		f = float64(m)
	case n > 19 || exp < -27 || exp > 27:
		// The text lives as long as the call; ParseFloat keeps it only in its error, which is dropped.
		f, _ = strconv.ParseFloat(unsafe.String(&b[start], i-start), 64)
		return f, i, true
	case m < 1<<53 && exp >= -22 && exp <= 0:
		f = float64(m) / tens[-exp] // both exact, so one rounding
	case m < 1<<53 && exp > 0 && exp <= 22:
		f = float64(m) * tens[exp]
	default:
		f = scale(m, exp)
	}
	if neg {
		f = -f
	}
	return f, i, true
}

// eight is the value of eight decimal digits, the first in the lowest byte, and
// whether all eight bytes are digits.
func eight(w uint64) (v uint64, all bool) {
	const ascii = 0x3030303030303030
	// A byte is a digit when its high half is 3, and still is after adding 6.
	if (w&0xf0f0f0f0f0f0f0f0)|((w+0x0606060606060606)&0xf0f0f0f0f0f0f0f0)>>4 != 0x3333333333333333 {
		return 0, false
	}
	w -= ascii
	w = w*10 + w>>8 // pairs, in every other byte
	const low = 0x000000ff000000ff
	return (w&low*(100+1_000_000<<32) + w>>16&low*(1+10_000<<32)) >> 32, true
}

// scale is the float64 nearest to m·10^exp, for exp in -27…27, ties to even. Such a
// number is never subnormal, and 5^27 < 2^64, so one division or product of two words,
// and whether anything was left over, decide the rounding exactly.
func scale(m uint64, exp int) float64 {
	if m == 0 {
		return 0
	}
	p := fives[max(exp, -exp)]
	a, b := bits.LeadingZeros64(m), bits.LeadingZeros64(p)
	m, p = m<<a, p<<b
	var q, rest uint64 // the result is (q + a bit, if rest) · 2^e
	e := exp - a
	if exp < 0 {
		q, rest = bits.Div64(m>>1, m<<63, p)
		e += b - 63
	} else {
		q, rest = bits.Mul64(m, p)
		e += 64 - b
	}
	if s := bits.LeadingZeros64(q); s > 0 { // s is 1
		if exp < 0 {
			q <<= 1 // the bit that comes in is part of rest, and lies ten bits below the last kept
		} else {
			q, rest = q<<1|rest>>63, rest<<1
		}
		e--
	}
	keep, lost := q>>11, q&0x7ff
	if lost > 0x400 || lost == 0x400 && (rest != 0 || keep&1 == 1) {
		keep++
	}
	// keep is in [2^52, 2^53]; a carry out of the fraction goes into the exponent, as it should.
	return math.Float64frombits(uint64(e+11+52+1023)<<52 + keep - 1<<52)
}

var tens = [...]float64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// fives holds 5^0 … 5^27.
var fives = [28]uint64{
	1, 5, 25, 125, 625, 3125, 15625, 78125, 390625, 1953125, 9765625, 48828125, 244140625, 1220703125,
	6103515625, 30517578125, 152587890625, 762939453125, 3814697265625, 19073486328125, 95367431640625,
	476837158203125, 2384185791015625, 11920928955078125, 59604644775390625, 298023223876953125,
	1490116119384765625, 7450580596923828125,
}
