package output

import (
	"math"
	"math/bits"
)

// The shortest decimal of a float64 is found by Schubfach (R. Giulietti, The Schubfach way to render doubles,
// 2020): of the two powers of ten around the width of the interval that rounds to the number, the larger one's
// multiple is taken if exactly one lies in it, or else the smaller one's that is nearest. Three products of
// 128 by 64 bits decide that exactly. A number of 17 digits takes 37 ns then, and 71 by strconv (BenchmarkNumber,
// Zen 4).

// shortest is the decimal d·10^e with the fewest digits that rounds to v, a positive finite number, and
// of those the one nearest to v.
func shortest(v float64) (d uint64, e int) {
	const fraction = 52
	b := math.Float64bits(v)
	c, q := b&(1<<fraction-1), int(b>>fraction) // v = c·2^q, once these are
	closer := c == 0 && q > 1                   // the number below is half as far as the one above
	if q == 0 {
		q = 1
	} else {
		c |= 1 << fraction
	}
	q -= 1075
	// In units of 2^q/4: the ends of the interval, and v.
	left, mid, right := 4*c-2, 4*c, 4*c+2
	k := (q * 1262611) >> 22 // floor(log10(2^q))
	if closer {
		left++
		k = (q*1262611 - 524031) >> 22 // floor(log10(3/4 2^q))
	}
	h := uint(q + log2of10(-k) + 1)
	hi, lo := power10(-k)
	// In units of 10^k/4, cut off, with a last bit that tells of what was cut.
	left, mid, right = timesPower(hi, lo, left<<h), timesPower(hi, lo, mid<<h), timesPower(hi, lo, right<<h)
	if c&1 != 0 { // the ends round to an even neighbour
		left, right = left+1, right-1
	}
	s := mid / 4
	if s >= 10 {
		tens := s / 10
		below, above := left <= 40*tens, 40*tens+40 <= right
		if below != above {
			if above {
				tens++
			}
			return tens, k + 1
		}
	}
	below, above := left <= 4*s, 4*s+4 <= right
	if below == above {
		above = mid > 4*s+2 || mid == 4*s+2 && s&1 == 1
	}
	if above {
		s++
	}
	return s, k
}

// timesPower is the product of a power of ten and c, over 2^128, with its last bit set if anything was cut off.
func timesPower(hi, lo, c uint64) uint64 {
	x1, _ := bits.Mul64(lo, c)
	y1, y0 := bits.Mul64(hi, c)
	y0, carry := bits.Add64(y0, x1, 0)
	y1 += carry
	if y0 > 1 {
		y1 |= 1
	}
	return y1
}

// log2of10 is floor(log2(10^k)), for |k| up to 1233.
func log2of10(k int) int { return (k * 1741647) >> 19 }

// power10 is 10^k in 128 bits, of which the first is set, for k of -292 … 355: rounded up, or up to two more.
// Schubfach allows an excess of one unit of 126 bits, which is four of these.
func power10(k int) (hi, lo uint64) {
	i := (k + 292) / 27
	p := powers10[i]
	from := 27*i - 292
	if from == k {
		return p[0], p[1]
	}
	// Times 5^(k-from); J. Jeon, Dragonbox, 2024, compact tables.
	f := powers5[k-from]
	shift := uint(log2of10(k) - log2of10(from) - (k - from))
	top, middle := bits.Mul64(p[0], f)
	low, rest := bits.Mul64(p[1], f)
	middle, carry := bits.Add64(middle, low, 0)
	top += carry
	hi, lo = top<<(64-shift)|middle>>shift, middle<<(64-shift)|rest>>shift
	lo++
	return hi, lo
}

// powers10 is 10^(27i-292) as power10 gives it.
var powers10 = [24][2]uint64{
	{0xff77b1fcbebcdc4f, 0x25e8e89c13bb0f7b}, {0xce5d73ff402d98e3, 0xfb0a3d212dc81290},
	{0xa6b34ad8c9dfc06f, 0xf42faa48c0ea481f}, {0x86a8d39ef77164bc, 0xae5dff9c02033198},
	{0xd98ddaee19068c76, 0x3badd624dd9b0958}, {0xafbd2350644eeacf, 0xe5d1929ef90898fb},
	{0x8df5efabc5979c8f, 0xca8d3ffa1ef463c2}, {0xe55990879ddcaabd, 0xcc420a6a101d0516},
	{0xb94470938fa89bce, 0xf808e40e8d5b3e6a}, {0x95a8637627989aad, 0xdde7001379a44aa9},
	{0xf1c90080baf72cb1, 0x5324c68b12dd6339}, {0xc350000000000000, 0x0000000000000000},
	{0x9dc5ada82b70b59d, 0xf020000000000000}, {0xfee50b7025c36a08, 0x02f236d04753d5b5},
	{0xcde6fd5e09abcf26, 0xed4c0226b55e6f87}, {0xa6539930bf6bff45, 0x84db8346b786151d},
	{0x865b86925b9bc5c2, 0x0b8a2392ba45a9b3}, {0xd910f7ff28069da4, 0x1b2ba1518094da05},
	{0xaf58416654a6babb, 0x387ac8d1970027b3}, {0x8da471a9de737e24, 0x5ceaecfed289e5d3},
	{0xe4d5e82392a40515, 0x0fabaf3feaa5334b}, {0xb8da1662e7b00a17, 0x3d6a751f3b936244},
	{0x95527a5202df0ccb, 0x0f37801e0c43ebc9}, {0xf13e34aabb430a15, 0x647726b9e7c68ff0},
}

// powers5 is 5^0 … 5^26.
var powers5 = func() (p [27]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = 5 * p[i-1]
	}
	return p
}()
