//go:build !purego

package kernels

type (
	stretching = func(dst, x []float64, n int)
	running    = func(dst, x []float64, n, skip int)
	reading    = func(dst, x []float64, stride int)
	writing    = func(dst []float64, stride int, x []float64)
	placing    = func(dst []int, x []float64, n int) bool
	placed     = func(dst, x []float64, places []int)
	picking    = func(dst, x []float64, stride, count int)
	copying    = func(dst []float64, ldd int, x []float64, ldx, n, count int)
)

func avx2Move() []override {
	return []override{
		&at[running]{&stretchFrom, runsBy(runsAVX2)},
		&at[placing]{&Places, placesBy(placesAVX2, 4)},
		&at[placed]{&Pick, placedBy(pickAVX2, ofDst)},
		&at[placed]{&AddAt, placedBy(addAtAVX2, ofX)},
		&at[placedRows]{&PickRows, placedRowsBy(pickRowsAVX2, pickRows, ofDst)},
		&at[placedRows]{&AddRowsAt, placedRowsBy(addRowsAtAVX2, addRowsAt, ofX)},
		&at[reversing]{&Reverse, reverseBy(reverseAVX2, 4)},
		&at[stretching]{&Stretch, stretchMany},
		&at[reading]{&Strided, stridedFours},
		&at[writing]{&ToStrided, toStridedFours},
		&at[picking]{&CopyEvery, copyEveryFours},
		&at[copying]{&CopyRows, shortRowsBy(copyRowsAVX2)},
	}
}

func avx512Move() []override {
	lanes := lanesApart()
	return []override{
		&at[running]{&stretchFrom, runsBy(runsAVX512)},
		&at[placing]{&Places, placesBy(placesAVX512, 8)},
		&at[placed]{&Pick, placedBy(pickAVX512, ofDst)},
		&at[placed]{&AddAt, placedBy(addAtAVX512, ofX)},
		&at[placedRows]{&PickRows, placedRowsBy(pickRowsAVX512, pickRows, ofDst)},
		&at[placedRows]{&AddRowsAt, placedRowsBy(addRowsAtAVX512, addRowsAt, ofX)},
		&at[reversing]{&Reverse, reverseBy(reverseAVX512, 8)},
		&at[stretching]{&Stretch, stretchEights()},
		&at[reading]{&Strided, stridedEights()},
		&at[writing]{&ToStrided, toStridedEights(lanes)},
		&at[picking]{&CopyEvery, copyEveryEights(lanes)},
		&at[copying]{&CopyRows, shortRowsBy(copyRowsAVX512)},
	}
}

// runsBy is stretchFrom by machine code.
func runsBy(kernel func(dst, x *float64, n, first, count int)) running {
	return func(dst, x []float64, n, skip int) { kernel(&dst[0], &x[0], n, n-skip, len(dst)) }
}

// allRuns is Stretch by stretchFrom.
func allRuns(dst, x []float64, n int) {
	if len(x) > 0 && n > 0 {
		StretchFrom(dst[:n*len(x)], x, n, 0)
	}
}

// placesBy is Places by machine code where there are whole vectors.
func placesBy(kernel func(dst *int, x *float64, n, vectors int) bool, lanes int) placing {
	return func(dst []int, x []float64, n int) bool {
		whole := len(x) &^ (lanes - 1)
		if whole > 0 {
			_ = dst[len(x)-1]
			if !kernel(&dst[0], &x[0], n, whole/lanes) {
				return false
			}
		}
		return places(dst[whole:], x[whole:], n)
	}
}

// ofDst and ofX are the numbers that Pick and AddAt have one of for each place.
func ofDst(dst, _ []float64) []float64 { return dst }
func ofX(_, x []float64) []float64     { return x }

// placedBy is a kernel of numbers at places, which have been looked at, by machine code. The others, one for
// each, are those of along.
func placedBy(kernel func(dst, x *float64, places *int, n int), along func(dst, x []float64) []float64) placed {
	return func(dst, x []float64, places []int) {
		if n := len(places); n > 0 {
			_ = along(dst, x)[n-1]
			kernel(&dst[0], &x[0], &places[0], n)
		}
	}
}

// longRow is how many numbers a row has that is worth a call of its own.
const longRow = 64

// placedRowsBy is placedBy of rows, of which long ones are left to others.
func placedRowsBy(kernel func(dst, x *float64, places *int, n, count int), long placedRows, along func(dst, x []float64) []float64) placedRows {
	return func(dst, x []float64, places []int, n int) {
		switch {
		case n > longRow:
			long(dst, x, places, n)
		case n > 0 && len(places) > 0:
			_ = along(dst, x)[len(places)*n-1]
			kernel(&dst[0], &x[0], &places[0], n, len(places))
		}
	}
}

// reverseBy is Reverse by machine code where there are whole vectors: what is left comes last.
func reverseBy(kernel func(dst, x *float64, vectors int), lanes int) reversing {
	return func(dst, x []float64) {
		left := len(dst) & (lanes - 1)
		if whole := len(dst) - left; whole > 0 {
			_ = x[len(dst)-1]
			kernel(&dst[0], &x[left], whole/lanes)
			dst = dst[whole:]
		}
		reverse(dst, x)
	}
}

// stretchMany is Stretch by machine code, which of pairs and triples may write up to three numbers more than it should:
// the last are left to Go.
func stretchMany(dst, x []float64, n int) {
	if n > 3 {
		allRuns(dst, x, n)
		return
	}
	many := 0
	if n > 1 {
		over := -n & 3
		many = max(0, len(x)-(over+n-1)/n)
	}
	if many > 0 {
		_ = dst[n*len(x)-1]
		repeatAVX2(&dst[0], &x[0], n, many)
	}
	stretch(dst[n*many:], x[many:], n)
}

// A stretchTable says by n which of eight numbers each of 8 n is.
type stretchTable [mostStretched + 1][8 * mostStretched]uint64

func stretched() (places stretchTable) {
	for n := 1; n <= mostStretched; n++ {
		for i := range 8 * n {
			places[n][i] = uint64(i / n)
		}
	}
	return places
}

// stretchEights is Stretch by machine code where each number is written a few times.
func stretchEights() stretching {
	places := stretched()
	return func(dst, x []float64, n int) {
		eights := len(x) / 8
		if n < 1 || n > mostStretched || eights == 0 {
			stretchMany(dst, x, n)
			return
		}
		_ = dst[n*len(x)-1]
		stretchAVX512(&dst[0], &x[0], &places[n], n, eights)
		stretch(dst[8*n*eights:], x[8*eights:], n)
	}
}

// stridedEights is Strided by machine code where the numbers are close together.
func stridedEights() reading {
	var places [mostStretched + 1][8 * mostStretched]uint64
	for stride := 2; stride <= mostStretched; stride++ {
		for j := 1; j < stride; j++ {
			for i := range 8 {
				switch k := i*stride - 8*j; {
				case k >= 0: // of this vector, or of one after it
					places[stride][8*j+i] = uint64(8 + k%8)
				case j == 1: // of the first, in its lane from here on
					places[stride][8*j+i] = uint64(i * stride)
				default:
					places[stride][8*j+i] = uint64(i)
				}
			}
		}
	}
	return func(dst, x []float64, stride int) {
		eights := 0
		if stride >= 2 && stride <= mostStretched {
			eights = min(len(dst)/8, len(x)/(8*stride)) // it reads whole vectors
		}
		if eights > 0 {
			stridedAVX512(&dst[0], &x[0], &places[stride], stride, eights)
		}
		if n := 8 * eights; n < len(dst) {
			strided(dst[n:], x[n*stride:], stride)
		}
	}
}

// toStridedEights is ToStrided by machine code where the numbers come close together.
func toStridedEights(lanes *lanesTable) writing {
	places := stretched()
	return func(dst []float64, stride int, x []float64) {
		eights := 0
		if stride >= 2 && stride <= mostStretched {
			eights = len(x) / 8
		}
		if eights > 0 {
			_ = dst[(8*eights-1)*stride]
			toStridedAVX512(&dst[0], &x[0], &places[stride], &lanes[stride], stride, eights)
		}
		if n := 8 * eights; n < len(x) {
			toStrided(dst[n*stride:], stride, x[n:])
		}
	}
}

// A lanesTable says by stride, up to most, which lanes of as many vectors are that far apart from the first.
type lanesTable [mostStretched + 1][mostStretched]uint8

func lanesApart() *lanesTable {
	lanes := new(lanesTable)
	for stride := 2; stride <= mostStretched; stride++ {
		for i := 0; i < 8*stride; i += stride {
			lanes[stride][i/8] |= 1 << (i % 8)
		}
	}
	return lanes
}

// copyEveryEights is CopyEvery by machine code where the numbers are close together.
func copyEveryEights(lanes *lanesTable) picking {
	return func(dst, x []float64, stride, count int) {
		eights := 0
		if stride >= 2 && stride <= mostStretched {
			eights = count / 8
		}
		if eights > 0 {
			_, _ = dst[(8*eights-1)*stride], x[(8*eights-1)*stride]
			copyEveryAVX512(&dst[0], &x[0], &lanes[stride], stride, eights)
		}
		if n := 8 * eights; n < count {
			copyEvery(dst[n*stride:], x[n*stride:], stride, count-n)
		}
	}
}

// shortRowsBy is CopyRows by machine code where rows are no longer than what is worth a call of the run-time's.
func shortRowsBy(kernel func(dst *float64, ldd int, x *float64, ldx, n, count int)) copying {
	return func(dst []float64, ldd int, x []float64, ldx, n, count int) {
		if n == 0 || n > longRow || count == 0 {
			copyRows(dst, ldd, x, ldx, n, count)
			return
		}
		_, _ = dst[(count-1)*ldd+n-1], x[(count-1)*ldx+n-1]
		kernel(&dst[0], ldd, &x[0], ldx, n, count)
	}
}

// stridedFours is Strided by machine code, four numbers at a time.
func stridedFours(dst, x []float64, stride int) {
	fours := len(dst) / 4
	if fours > 0 {
		_, _ = x[0], x[(4*fours-1)*stride]
		stridedAVX2(&dst[0], &x[0], stride, fours)
	}
	if n := 4 * fours; n < len(dst) {
		strided(dst[n:], x[n*stride:], stride)
	}
}

// toStridedFours is ToStrided by machine code, four numbers at a time.
func toStridedFours(dst []float64, stride int, x []float64) {
	fours := len(x) / 4
	if fours > 0 {
		_, _ = dst[0], dst[(4*fours-1)*stride]
		toStridedAVX2(&dst[0], &x[0], stride, fours)
	}
	if n := 4 * fours; n < len(x) {
		toStrided(dst[n*stride:], stride, x[n:])
	}
}

// copyEveryFours is CopyEvery by machine code, four numbers at a time.
func copyEveryFours(dst, x []float64, stride, count int) {
	fours := count / 4
	if fours > 0 {
		last := (4*fours - 1) * stride
		_, _, _, _ = dst[0], dst[last], x[0], x[last]
		copyEveryAVX2(&dst[0], &x[0], stride, fours)
	}
	if n := 4 * fours; n < count {
		copyEvery(dst[n*stride:], x[n*stride:], stride, count-n)
	}
}
