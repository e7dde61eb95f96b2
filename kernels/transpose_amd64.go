//go:build !purego

package kernels

type transposer = func(dst []float64, ldd int, x []float64, ldx, m, n int)

// A spreadBlock is some columns of a matrix as rows that begin nowhere near each other in their pages.
type spreadBlock [spreadColumns * (spreadRows + 8)]float64

const (
	spreadRows, spreadColumns = 128, 32
	leastSpreadRows           = 32
	leastAtOnePlace           = 16 // rows that begin equally far into their pages: more than the first cache has ways
)

var spreadBlocks spares[spreadBlock]

// spreads is a transposer that writes rows of dst of which two of eight or more begin equally far into their pages by way of a
// block whose rows do not: stores to such lines in turns wait for each other in a Zen 5. Of the time in place there: 128×128
// .6, 256×256 .37, 384×384 .49, 512×512 .34, 1024×1024 .29, 2048×2048 .58, 64×64 to rows of 128 and 512 .95 and .21; 128×32
// 1.8, so few rows stay in place. Rows of x that do so make no difference.
func spreads(t transposer) transposer {
	const page, size = 4096, 8
	return func(dst []float64, ldd int, x []float64, ldx, m, n int) {
		even := min(page, ldd*size&-(ldd*size))
		if even < page/4 || n*even < leastAtOnePlace*page || m < leastSpreadRows {
			t(dst, ldd, x, ldx, m, n)
			return
		}
		block := spreadBlocks.take()
		defer spreadBlocks.give(block)
		for i := 0; i < m; i += spreadRows {
			rows := min(spreadRows, m-i)
			for j := 0; j < n; j += spreadColumns {
				columns := min(spreadColumns, n-j)
				t(block[:], rows+8, x[i*ldx+j:], ldx, rows, columns)
				for k := range columns {
					Copy(dst[(j+k)*ldd+i:][:rows], block[k*(rows+8):])
				}
			}
		}
	}
}

// transposeBlocks transposes whole 4×4 blocks, of which the last overlap those before them. With
// edges one by one, products of 67 and 71 numbers with B transposed took 1.01 and 1.02 times as long.
func transposeBlocks(dst []float64, ldd int, x []float64, ldx, m, n int) {
	if m < 4 || n < 4 {
		transpose(dst, ldd, x, ldx, m, n)
		return
	}
	_, _ = dst[(n-1)*ldd+m-1], x[(m-1)*ldx+n-1]
	m4, n4 := m&^3, n&^3
	transposeAVX2(&dst[0], ldd, &x[0], ldx, m4, n4)
	if m4 < m {
		transposeAVX2(&dst[m-4], ldd, &x[(m-4)*ldx], ldx, 4, n4)
	}
	if n4 < n {
		transposeAVX2(&dst[(n-4)*ldd], ldd, &x[n-4], ldx, m4, 4)
	}
	if m4 < m && n4 < n {
		transposeAVX2(&dst[(n-4)*ldd+m-4], ldd, &x[(m-4)*ldx+n-4], ldx, 4, 4)
	}
}

// transposeEights transposes whole 8×8 blocks, and what is left of rows and columns by blocks of 4×4, or by
// 8×8 that overlap those before where more than 4 are left. Of the time in 4×4 blocks alone, on a Zen 5: 16×16
// .55, 64×64 .91, 256×256 .66, 1000×1000 .96, 1024×1024 .5; a product with B transposed of 16, 32 and 64
// numbers .93, .94 and .97.
func transposeEights(dst []float64, ldd int, x []float64, ldx, m, n int) {
	if m < 16 && m != 8 || n < 8 {
		transposeBlocks(dst, ldd, x, ldx, m, n)
		return
	}
	_, _ = dst[(n-1)*ldd+m-1], x[(m-1)*ldx+n-1]
	m8, n8 := m&^7, n&^7
	transposeAVX512(&dst[0], ldd, &x[0], ldx, m8, n8)
	if m8 < m {
		i := m - leftOver(m)
		transposeEights(dst[i:], ldd, x[i*ldx:], ldx, m-i, n)
	}
	if n8 < n {
		j := n - leftOver(n)
		transposeEights(dst[j*ldd:], ldd, x[j:], ldx, m8, n-j)
	}
}

// transposeAll is transposeEights, but for two or three columns that are all of x, or rows that become all of
// dst: in .2 of the time that each number by itself takes.
func transposeAll() transposer {
	var apart, together [4]thinTable // by how many: what is one after another becomes apart, and back
	for n := 2; n <= 3; n++ {
		apart[n] = thinLanes(n, func(k, i int) int { return n*i + k })
		together[n] = thinLanes(n, func(k, i int) int { return (8*k+i)%n*8 + (8*k+i)/n })
	}
	return func(dst []float64, ldd int, x []float64, ldx, m, n int) {
		switch {
		case m >= 8 && ldx == n && (n == 2 || n == 3):
			eights := m / 8
			_, _ = dst[(n-1)*ldd+m-1], x[m*n-1]
			thin(&dst[0], ldd, 8, &x[0], 8, 8*n, &apart[n], n, eights)
			transpose(dst[8*eights:], ldd, x[8*eights*n:], ldx, m-8*eights, n)
		case n >= 8 && ldd == m && (m == 2 || m == 3):
			eights := n / 8
			_, _ = dst[n*m-1], x[(m-1)*ldx+n-1]
			thin(&dst[0], 8, 8*m, &x[0], ldx, 8, &together[m], m, eights)
			if j := 8 * eights; j < n {
				transpose(dst[j*m:], ldd, x[j:], ldx, m, n-j)
			}
		default:
			transposeEights(dst, ldd, x, ldx, m, n)
		}
	}
}

// thin is the kernel for n vectors.
func thin(dst *float64, dstBy, dstOn int, x *float64, xBy, xOn int, places *thinTable, n, eights int) {
	if n == 2 {
		thin2AVX512(dst, dstBy, dstOn, x, xBy, xOn, &places[0], eights)
	} else {
		thin3AVX512(dst, dstBy, dstOn, x, xBy, xOn, &places[0], eights)
	}
}

// A thinTable says which lanes each of two or three vectors takes of as many: of the first two, and then of
// what these gave and the third.
type thinTable [3 * 2 * 8]uint64

// thinLanes is the table by which lane i of vector k takes the number from(k, i) of all n vectors.
func thinLanes(n int, from func(k, i int) int) (t thinTable) {
	for k := range n {
		for i := range 8 {
			vector, lane := from(k, i)/8, uint64(from(k, i)%8)
			for j := 1; j < n; j++ {
				place := uint64(i) // what was taken stays
				switch {
				case vector == j:
					place = 8 + lane
				case j == 1:
					place = lane
				}
				t[(k*(n-1)+j-1)*8+i] = place
			}
		}
	}
	return t
}

// leftOver is how many rows or columns are transposed after whole eights of n.
func leftOver(n int) int {
	if n%8 <= 4 {
		return 4
	}
	return 8
}

type transposer32 = func(dst []float32, ldd int, x []float32, ldx, m, n int)

// transposeBlocks32 transposes whole 8×8 blocks in the same way.
func transposeBlocks32(dst []float32, ldd int, x []float32, ldx, m, n int) {
	if m < 8 || n < 8 {
		transpose(dst, ldd, x, ldx, m, n)
		return
	}
	_, _ = dst[(n-1)*ldd+m-1], x[(m-1)*ldx+n-1]
	m8, n8 := m&^7, n&^7
	transpose32AVX2(&dst[0], ldd, &x[0], ldx, m8, n8)
	if m8 < m {
		transpose32AVX2(&dst[m-8], ldd, &x[(m-8)*ldx], ldx, 8, n8)
	}
	if n8 < n {
		transpose32AVX2(&dst[(n-8)*ldd], ldd, &x[n-8], ldx, m8, 8)
	}
	if m8 < m && n8 < n {
		transpose32AVX2(&dst[(n-8)*ldd+m-8], ldd, &x[(m-8)*ldx+n-8], ldx, 8, 8)
	}
}
