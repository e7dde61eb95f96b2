package output

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"nabla/tape/tensor"
)

// AppendNumber appends the shortest text that reads back to the same bits in
// dtype d, laid out as JavaScript does: plain from 1e-6 to 1e21, 6 rather than
// 6.0, -0 with its sign. NaN and the infinities are the language's own words,
// nan and inf, so what is printed can be pasted back; JSON has strings for them.
func AppendNumber(b []byte, v float64, d tensor.DType) []byte {
	switch {
	case v != v:
		return append(b, "nan"...)
	case v > math.MaxFloat64:
		return append(b, "inf"...)
	case v < -math.MaxFloat64:
		return append(b, "-inf"...)
	case d == tensor.Bool:
		return strconv.AppendBool(b, v != 0)
	case d == tensor.Float32:
		return appendShortest(b, v)
	case d == tensor.Int64 && math.Abs(v) >= 1e21:
		return strconv.AppendFloat(b, v, 'f', -1, 64)
	}
	// Whole numbers first, but for -0, which no integer is.
	if n := int64(v); float64(n) == v && n < 1<<53 && n > -1<<53 && (n != 0 || !math.Signbit(v) || d == tensor.Int64) {
		if n >= 0 && n < 10 {
			return append(b, '0'+byte(n))
		}
		return strconv.AppendInt(b, n, 10)
	}
	// Those of up to six decimals: n / 1e6 is correctly rounded,
	// so if it is v, then the digits of n read back to v; and as n has at most 15
	// digits no other text of that length does, so without its trailing zeros it is
	// the shortest. 15 ns (BenchmarkNumber, AMD EPYC); a miss costs 3.
	if m := math.Abs(v); m < 1e9 {
		scaled := math.RoundToEven(m * 1e6)
		if scaled/1e6 == m && (m >= 1e-6 || m == 0) {
			if math.Signbit(v) {
				b = append(b, '-')
			}
			return appendMillionths(b, uint64(scaled))
		}
	}
	if math.Signbit(v) {
		b, v = append(b, '-'), -v
	}
	digits, e := shortest(v)
	return appendDecimal(b, digits, e)
}

// appendDecimal appends d·10^e, for d above 0, in JavaScript's layout.
func appendDecimal(b []byte, d uint64, e int) []byte {
	var room [17]byte
	digits := decimal(&room, d)
	for n := len(digits) - 1; n > 0 && digits[n] == '0'; n-- {
		digits, e = digits[:n], e+1
	}
	point := len(digits) + e // behind so many digits
	switch {
	case point > 21 || point < -5:
		b = append(b, digits[0])
		if len(digits) > 1 {
			b = append(append(b, '.'), digits[1:]...)
		}
		if b = append(b, 'e'); point > 0 {
			b = append(b, '+')
		}
		return strconv.AppendInt(b, int64(point-1), 10)
	case point <= 0:
		return append(append(b, "0.00000"[:2-point]...), digits...)
	case e >= 0:
		return append(append(b, digits...), "00000000000000000000"[:e]...)
	}
	return append(append(append(b, digits[:point]...), '.'), digits[point:]...)
}

// decimal is the digits of d, which has at most 17, and is above 0.
func decimal(room *[17]byte, d uint64) []byte {
	upper, lower := d/1e8, uint32(d%1e8)
	top, middle := upper/1e8, uint32(upper%1e8)
	room[0] = '0' + byte(top)
	m, l := eightDigits(middle), eightDigits(lower)
	binary.LittleEndian.PutUint64(room[1:], m)
	binary.LittleEndian.PutUint64(room[9:], l)
	const zeros = 0x3030303030303030
	switch {
	case top > 0:
		return room[:]
	case m != zeros:
		return room[1+bits.TrailingZeros64(m^zeros)/8:]
	}
	return room[9+bits.TrailingZeros64(l^zeros)/8:]
}

// eightDigits is eight digits of n, the first in the low byte.
func eightDigits(n uint32) uint64 {
	a, b := n/1e4, n%1e4
	return uint64(pairs[a/100]) | uint64(pairs[a%100])<<16 | uint64(pairs[b/100])<<32 | uint64(pairs[b%100])<<48
}

// pairs is the digits of 0 … 99, the first in the low byte.
var pairs = func() (p [100]uint16) {
	for i := range uint16(100) {
		p[i] = '0' + i/10 | ('0'+i%10)<<8
	}
	return p
}()

// appendMillionths appends n/1e6 in plain digits.
func appendMillionths(b []byte, n uint64) []byte {
	b = strconv.AppendUint(b, n/1e6, 10)
	rest := n % 1e6
	if rest == 0 {
		return b
	}
	b = append(b, ".000000"...)
	for i := len(b) - 1; rest > 0; i-- {
		b[i] = byte('0' + rest%10)
		rest /= 10
	}
	for b[len(b)-1] == '0' {
		b = b[:len(b)-1]
	}
	return b
}

// appendShortest is strconv's shortest text of a float32 in JavaScript's layout.
func appendShortest(b []byte, v float64) []byte {
	if m := math.Abs(v); m == 0 || m >= 1e-6 && m < 1e21 {
		return strconv.AppendFloat(b, v, 'f', -1, 32)
	}
	b = strconv.AppendFloat(b, v, 'e', -1, 32)
	if n := len(b); b[n-4] == 'e' && b[n-2] == '0' { // e-09 is e-9
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	return b
}

// Text is a number for people: rounded to so many significant digits, though
// never before the decimal point, without trailing zeros, and plain from 1e-5
// to 1e9. Whole numbers are never rounded. 17 digits and more are all of them.
func Text(v float64, d tensor.DType, digits int) string {
	m := math.Abs(v)
	all := 17
	if d == tensor.Float32 {
		all = 9
	}
	if digits >= all || !d.IsFloat() || v-v != 0 || m < 1e15 && v == math.Trunc(v) {
		return string(AppendNumber(nil, v, d))
	}
	if m >= 1e9 || m < 1e-5 {
		text := strconv.FormatFloat(v, 'e', digits-1, 64)
		mantissa, exponent, _ := strings.Cut(text, "e")
		return trimZeros(mantissa) + "e" + exponent[:1] + strings.TrimLeft(exponent[1:], "0")
	}
	var room [64]byte
	b := strconv.AppendFloat(room[:0], v, 'e', digits-1, 64) // the exponent has two digits
	n := len(b)
	e := int(b[n-2]-'0')*10 + int(b[n-1]-'0')
	if b[n-3] == '-' {
		e = -e
	}
	if e > digits-1 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	// The same digits in plain: both are rounded at the same place.
	out := make([]byte, 0, 40)
	if b[0] == '-' {
		out, b = append(out, '-'), b[1:]
	}
	b = b[:len(b)-4]
	if len(b) > 1 {
		b = append(b[:1], b[2:]...) // without the point
	}
	if e < 0 {
		out = append(append(out, "0.00000"[:1-e]...), b...)
	} else {
		out = append(append(append(out, b[:e+1]...), '.'), b[e+1:]...)
	}
	for out[len(out)-1] == '0' {
		out = out[:len(out)-1]
	}
	if out[len(out)-1] == '.' {
		out = out[:len(out)-1]
	}
	return string(out)
}

// trimZeros takes off the zeros behind the point, and the point if nothing is left behind it.
func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
