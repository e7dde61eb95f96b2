package kernels

import "math"

// SumBlock is the number of elements that Sum adds lane by lane before it folds.
// Threads that each take whole blocks, and whose sums are then added in order,
// get the bits of Sum over everything.
const SumBlock = 8192

// Lanes are the partial sums of a block: element i of it goes to lane i%32.
type Lanes [32]float64

// Sum adds the elements of x in the package's one order; 0 for none.
func Sum(x []float64) float64 {
	if len(x) <= SumBlock {
		return sumBlock(x)
	}
	s := sumBlock(x[:SumBlock])
	for x = x[SumBlock:]; len(x) > SumBlock; x = x[SumBlock:] {
		s += sumBlock(x[:SumBlock])
	}
	return s + sumBlock(x)
}

// SumRows is the Sum of every n elements of x.
func SumRows(dst, x []float64, n int) { sumRows(dst, x, n) }

// sumRows is SumRows, of a few elements without a call for each row.
var sumRows = func(dst, x []float64, n int) {
	switch n {
	case 2:
		for i := range dst {
			r := x[2*i:][:2]
			dst[i] = (r[0] + r[1]) + 0 // of zeros no -0, as Sum
		}
	case 3:
		for i := range dst {
			r := x[3*i:][:3]
			dst[i] = (r[0] + r[2]) + (r[1] + 0)
		}
	case 4:
		for i := range dst {
			r := x[4*i:][:4]
			dst[i] = (r[0] + r[2]) + (r[1] + r[3]) + 0
		}
	default:
		if 1 < n && n <= len(Lanes{}) && len(dst) >= leastColumns {
			sumTurned(dst, x, n)
			return
		}
		for i := range dst {
			dst[i] = Sum(x[i*n : (i+1)*n])
		}
	}
}

// leastColumns is how many short rows are added up as columns, a lane each.
const leastColumns = 16

// sumTurned is SumRows of rows that no lane has more than one number of. Rows of 10 take half of the time.
func sumTurned(dst, x []float64, n int) {
	room := turned.take()
	defer turned.give(room)
	for most := len(room) / n; len(dst) > 0; {
		m := min(most, len(dst))
		rows := room[:m*n]
		Transpose(rows, m, x, n, m, n)
		FoldRows(rows, m)
		AddScalar(dst[:m], rows[:m], 0) // of zeros no -0, as Sum
		dst, x = dst[m:], x[m*n:]
	}
}

var turned spares[[1024]float64]

// FoldRows adds up rows of m numbers each, at most as many as a block has numbers, in the order of Sum for each
// column: the first row becomes the sum, what the others become is nobody's.
func FoldRows(x []float64, m int) {
	if lanes := len(Lanes{}) * m; len(x) > lanes {
		for at := lanes; at < len(x); at += lanes {
			row := x[at:min(at+lanes, len(x))]
			Accumulate(x[:len(row)], row)
		}
		x = x[:lanes]
	}
	for h := len(Lanes{}) / 2 * m; h >= m; h /= 2 {
		if len(x) > h {
			Accumulate(x[:len(x)-h], x[h:])
			x = x[:h]
		}
	}
}

// Dot is the sum of x[i]*y[i], each lane by FMA, in the order of Sum.
func Dot(x, y []float64) float64 {
	y = y[:len(x)]
	if len(x) <= SumBlock {
		return dotBlock(x, y)
	}
	s := dotBlock(x[:SumBlock], y[:SumBlock])
	for x, y = x[SumBlock:], y[SumBlock:]; len(x) > SumBlock; x, y = x[SumBlock:], y[SumBlock:] {
		s += dotBlock(x[:SumBlock], y[:SumBlock])
	}
	return s + dotBlock(x, y)
}

// Norm2 is the Euclidean norm; where squares would overflow or underflow x is scaled by a power
// of two before, so that scaling changes no bit.
func Norm2(x []float64) float64 {
	if s := Dot(x, x); s > 1e-250 && s < 1e250 {
		return math.Sqrt(s)
	}
	m := 0.0
	for _, v := range x {
		if a := math.Abs(v); a > m || a != a {
			m = a
		}
	}
	if m == 0 || m-m != 0 {
		return m
	}
	_, e := math.Frexp(m)
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = math.Ldexp(v, -e)
	}
	return math.Ldexp(math.Sqrt(Dot(y, y)), e)
}

// NormRows is the Norm2 of every n elements of x. Few squares are the sums' only terms, and so
// squared, summed and drawn the root of many at once; where one leaves the range each is asked
// for its norm.
func NormRows(dst, x []float64, n int) {
	const few, piece = 32, 256 // numbers of a row, each a lane of Dot, and of some rows
	if n < 1 || n > few {
		for i := range dst {
			dst[i] = Norm2(x[i*n : (i+1)*n])
		}
		return
	}
	squares := pieces.take()
	defer pieces.give(squares)
	for some := piece / n; len(dst) > 0; {
		d := dst[:min(some, len(dst))]
		y := x[:len(d)*n]
		Square(squares[:len(y)], y)
		SumRows(d, squares[:len(y)], n)
		least, most := Min(d), Max(d)
		Sqrt(d, d)
		if !(least > 1e-250 && most < 1e250) {
			for i := range d {
				d[i] = Norm2(y[i*n : (i+1)*n])
			}
		}
		dst, x = dst[len(d):], x[len(y):]
	}
}

// AxpyRows adds rows of n numbers of x, ldx apart, to those of dst, ldd apart, each times a number of s, lds apart, and num:
// element j of row i of dst becomes fma(num, s[i*lds]*x[i*ldx+j], that element), the product rounded.
func AxpyRows(dst []float64, ldd int, num float64, s []float64, lds int, x []float64, ldx, n, rows int) {
	if n > 0 && rows > 0 {
		axpyRows(dst, ldd, num, s, lds, x, ldx, n, rows)
	}
}

var axpyRows = func(dst []float64, ldd int, num float64, s []float64, lds int, x []float64, ldx, n, rows int) {
	for i := range rows {
		by, y := s[i*lds], dst[i*ldd:][:n]
		for j, v := range x[i*ldx:][:n] {
			y[j] = math.FMA(num, float64(by*v), y[j])
		}
	}
}

// CountRows counts for each element of dst how many of a row of n numbers of x, one row after the other, equal an
// element of v.
func CountRows(dst, x, v []float64, n int) {
	if n > 0 && len(dst) > 0 {
		countRows(dst, x, v, n)
	} else {
		clear(dst)
	}
}

var countRows = func(dst, x, v []float64, n int) {
	for i, like := range v[:len(dst)] {
		hits := 0
		for _, y := range x[i*n:][:n] {
			if y == like {
				hits++
			}
		}
		dst[i] = float64(hits)
	}
}

// SumLanes adds x to the lanes of its block; x begins at a multiple of 32.
var SumLanes = sumLanes

// sumLanes is the portable SumLanes.
func sumLanes(l *Lanes, x []float64) {
	for ; len(x) >= len(l); x = x[len(l):] {
		for i, v := range x[:len(l)] {
			l[i] += v
		}
	}
	for i, v := range x {
		l[i] += v
	}
}

// dotLanes adds the products x[i]*y[i] to the lanes of their block; x and y begin
// at a multiple of 32.
func dotLanes(l *Lanes, x, y []float64) {
	y = y[:len(x)]
	for ; len(x) >= len(l); x, y = x[len(l):], y[len(l):] {
		for i, v := range x[:len(l)] {
			l[i] = math.FMA(v, y[i], l[i])
		}
	}
	for i, v := range x {
		l[i] = math.FMA(v, y[i], l[i])
	}
}

// Fold is the sum of the lanes: a tree of halves, lane i and lane i+16 first. It is written
// out, as a loop over a copy takes ten times as long: 80 ns instead of 6.
func (l *Lanes) Fold() float64 {
	quarter := func(i int) float64 {
		return ((l[i] + l[i+16]) + (l[i+8] + l[i+24])) + ((l[i+4] + l[i+20]) + (l[i+12] + l[i+28]))
	}
	return (quarter(0) + quarter(2)) + (quarter(1) + quarter(3))
}

// sumBlock is the Fold of sumLanes of one block, dotBlock of dotLanes.
var (
	sumBlock = func(x []float64) float64 { var l Lanes; sumLanes(&l, x); return l.Fold() }
	dotBlock = func(x, y []float64) float64 { var l Lanes; dotLanes(&l, x, y); return l.Fold() }
)

// MaxAbs is the largest size of an element, NaN if any is NaN, -Inf for none.
func MaxAbs(x []float64) float64 {
	if m := max(highest(x), -lowest(x)); m != 0 {
		return m
	}
	return 0
}

// highest and lowest are Max and Min but for the sign of a 0, which is looked for number by number.
var highest, lowest = Max, Min

// Max is the largest element, NaN if any is NaN, -Inf for none.
var Max = func(x []float64) float64 {
	m := math.Inf(-1)
	for _, v := range x {
		m = max(m, v)
	}
	return m
}

// Tallest finds the largest of each column of x, whose n rows begin ld apart, a 0 of either sign, and the first row that
// has it; into less, where it is not nil, go the rows without what is largest, together. Where there is a NaN it reports
// false, and nothing else is to be used.
func Tallest(top []float64, first []int, less, x []float64, ld, n int) (ordered bool) {
	w := len(top)
	first = first[:w]
	if w == 0 || n == 0 {
		Fill(top, math.Inf(-1))
		clear(first)
		return true
	}
	_ = x[(n-1)*ld+w-1]
	if less != nil {
		_ = less[n*w-1]
	}
	return tallest(top, first, less, x, ld, n)
}

var tallest = func(top []float64, first []int, less, x []float64, ld, n int) (ordered bool) {
	w := len(top)
	Fill(top, math.Inf(-1))
	clear(first)
	ordered = true
	for i := range n {
		for j, v := range x[i*ld:][:w] {
			if v > top[j] {
				top[j], first[j] = v, i
			}
			ordered = ordered && v == v
		}
	}
	if less != nil {
		for i := range n {
			Sub(less[i*w:][:w], x[i*ld:][:w], top)
		}
	}
	return ordered
}

// TallestOfRows is Tallest of rows of n numbers that lie together.
func TallestOfRows(top []float64, first []int, less, x []float64, n int) (ordered bool) {
	rows := len(top)
	if rows == 0 || n == 0 {
		Fill(top, math.Inf(-1))
		clear(first[:rows])
		return true
	}
	return tallestOfRows(top, first[:rows], less[:rows*n], x[:rows*n], n)
}

var tallestOfRows = func(top []float64, first []int, less, x []float64, n int) (ordered bool) {
	ordered = true
	for i := range top {
		row, k, m := x[i*n:][:n], 0, math.Inf(-1)
		for j, v := range row {
			if v > m {
				k, m = j, v
			}
			ordered = ordered && v == v
		}
		top[i], first[i] = m, k
		AddScalar(less[i*n:][:n], row, -m)
	}
	return ordered
}

// Min is the smallest element, NaN if any is NaN, +Inf for none.
var Min = func(x []float64) float64 {
	m := math.Inf(1)
	for _, v := range x {
		m = min(m, v)
	}
	return m
}

// Prod multiplies the elements in order; 1 for none.
func Prod(x []float64) float64 {
	p := 1.0
	for _, v := range x {
		p *= v
	}
	return p
}

// ProdRows is the Prod of every n elements of x, of eight rows at a time: each waits for its own products
// alone, and eight of 1000 numbers take a quarter of the time of one after the other.
func ProdRows(dst, x []float64, n int) {
	for ; len(dst) >= 8; dst, x = dst[8:], x[8*n:] {
		a, b, c, d := x[:n], x[n:][:n], x[2*n:][:n], x[3*n:][:n]
		e, f, g, h := x[4*n:][:n], x[5*n:][:n], x[6*n:][:n], x[7*n:][:n]
		p0, p1, p2, p3, p4, p5, p6, p7 := 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0
		for i := range a {
			p0 *= a[i]
			p1 *= b[i]
			p2 *= c[i]
			p3 *= d[i]
			p4 *= e[i]
			p5 *= f[i]
			p6 *= g[i]
			p7 *= h[i]
		}
		dst[0], dst[1], dst[2], dst[3], dst[4], dst[5], dst[6], dst[7] = p0, p1, p2, p3, p4, p5, p6, p7
	}
	for i := range dst {
		dst[i] = Prod(x[i*n : (i+1)*n])
	}
}
