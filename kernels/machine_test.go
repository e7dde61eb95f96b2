package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"
)

// lineOf is what a line means, for one element.
func lineOf(l *Line, v [3]float64) float64 {
	x, y, z := v[0], v[1], v[2]
	switch l.Do {
	case DoCopy:
		return x
	case DoNeg:
		return NegOf(x)
	case DoAbs:
		return AbsOf(x)
	case DoSign:
		return SignOf(x)
	case DoSqrt:
		return SqrtOf(x)
	case DoRecip:
		return RecipOf(x)
	case DoLogSlope:
		return LogSlopeOf(x)
	case DoLog1pSlope:
		return LogSlopeOf(1 + x)
	case DoSquare:
		return SquareOf(x)
	case DoCube:
		return CubeOf(x)
	case DoFourth:
		return FourthOf(x)
	case DoFloor:
		return FloorOf(x)
	case DoCeil:
		return CeilOf(x)
	case DoTrunc:
		return TruncOf(x)
	case DoRound:
		return RoundOf(x)
	case DoFloat32:
		return Float32Of(x)
	case DoNot:
		return NotOf(x)
	case DoIsNaN:
		return IsNaNOf(x)
	case DoIsInf:
		return IsInfOf(x)
	case DoIsFinite:
		return IsFiniteOf(x)
	case DoAdd:
		return AddOf(x, y)
	case DoSub:
		return SubOf(x, y)
	case DoMul:
		return MulOf(x, y)
	case DoDiv:
		return DivOf(x, y)
	case DoZMul:
		return ZMulOf(x, y)
	case DoMaximum:
		return MaximumOf(x, y)
	case DoMinimum:
		return MinimumOf(x, y)
	case DoLt:
		return LtOf(x, y)
	case DoLe:
		return LeOf(x, y)
	case DoGt:
		return GtOf(x, y)
	case DoGe:
		return GeOf(x, y)
	case DoEq:
		return EqOf(x, y)
	case DoNe:
		return NeOf(x, y)
	case DoAnd:
		return AndOf(x, y)
	case DoOr:
		return OrOf(x, y)
	case DoFMA:
		return FMAOf(x, y, z)
	case DoWhere:
		return WhereOf(x, y, z)
	case DoLeaf:
		switch l.Leaf.args {
		case 1:
			return TanhOf(x)
		case 2:
			return PowOf(x, y)
		}
	}
	panic("no such line")
}

// odd is a number that strains something.
func odd(rng *rand.Rand) float64 {
	switch rng.IntN(8) {
	case 0:
		return []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 5e-324, -2.5, 0.5, 1e300}[rng.IntN(11)]
	case 1:
		return math.Float64frombits(rng.Uint64())
	}
	return 3 * rng.NormFloat64()
}

func sameBits(x, y float64) bool {
	return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y
}

// someLines are n operations on columns, of which the first are only read; each result
// takes the column of a value that is dead, where there is one and reuse says so.
func someLines(rng *rand.Rand, n, columns int, reuse bool) (lines []Line, places int) {
	live := make([]int32, columns)
	for i := range live {
		live[i] = int32(i)
	}
	places = columns
	for range n {
		l := Line{Do: DoCopy + Do(rng.IntN(int(DoLoad-DoCopy)))}
		for k := range l.args() {
			l.Arg[k] = live[rng.IntN(len(live))]
		}
		l.Dst = int32(places)
		if k := rng.IntN(len(live)); reuse && len(live) > columns && live[k] >= int32(columns) && rng.IntN(2) == 0 {
			l.Dst = live[k]
			live = append(live[:k], live[k+1:]...)
		} else {
			places++
		}
		live = append(live, l.Dst)
		lines = append(lines, l)
	}
	return lines, places
}

// keep marks the lines whose results somebody reads: a random part of those that are
// there in the end.
func keep(rng *rand.Rand, lines []Line) {
	last := map[int32]int{}
	for i := range lines {
		last[lines[i].Dst] = i
	}
	for i := range lines {
		if last[lines[i].Dst] == i {
			lines[i].Keep = i == len(lines)-1 || rng.IntN(3) == 0
		}
	}
}

// roundLines are the lines of one round of many, the columns that they find and all their
// places, of which one in few lies apart.
func roundLines(rng *rand.Rand, round int) (lines []Line, columns, places, few int) {
	columns, few, n := 1+rng.IntN(8), 3, 1+rng.IntN(60)
	if round%4 == 0 { // more than there are registers to point to them, or to hold them
		columns, few, n = 20+rng.IntN(30), 1, 300
	}
	lines, places = someLines(rng, n, columns, true)
	keep(rng, lines)
	return lines, columns, places, few
}

// someLanes appends what goes to Lanes, from places on, of the first columns, and prefetches.
func someLanes(rng *rand.Rand, lines []Line, columns, places int) ([]Line, int) {
	for rng.IntN(4) > 0 {
		lines = append(lines, Line{Do: DoSum + Do(rng.IntN(2)), Dst: int32(places), Arg: [3]int32{rng.Int32N(int32(columns))}})
		places++
	}
	for range rng.IntN(3) {
		lines = append(lines, Line{Do: DoNear + Do(rng.IntN(2)), Dst: rng.Int32N(int32(places)), Far: 256})
	}
	return lines, places
}

// oddAtTimes is odd, but in every other round most vectors have nothing odd.
func oddAtTimes(rng *rand.Rand, round int) float64 {
	v := odd(rng)
	if round%2 == 0 && !(math.Abs(v) < 1e9) {
		return float64(rng.IntN(2))
	}
	return v
}

// someNumber is a Column of a number, of which something may be known.
func someNumber(rng *rand.Rand) Column { return Number + Column(rng.IntN(int(Known-Number)+1)) }

// numberIn is v, or another number, as the column knows it.
func numberIn(c Column, v float64) float64 {
	switch {
	case c == Nought:
		return 0
	case c == Known && (v == 0 || v != v):
		return 1
	}
	return v
}

// isOdd reports whether v is what DoOdd leaves.
func isOdd(v float64) bool { return v-v != 0 }

func TestFuse(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		if m, _ := Fuse([]Line{{Do: DoNeg, Keep: true}}, 0, func(int32) Column { return Apart }); m == nil {
			t.Skip("no machine code on this tier")
		}
		rng := rand.New(rand.NewPCG(3, 1))
		for round := range 400 {
			fuse64(t, rng, round)
		}
	})
}

func fuse64(t *testing.T, rng *rand.Rand, round int) {
	lines, columns, places, few := roundLines(rng, round)
	operations := len(lines)
	lines, places = someLanes(rng, lines, places, places)
	const stride = 288
	number := make([]Column, places) // or InLine
	for p := range columns {
		if rng.IntN(4) == 0 {
			number[p] = someNumber(rng)
		}
	}
	base := make([]float64, places*stride)
	apart := make([][]float64, places) // columns of their own
	for p := range apart {
		if number[p] == InLine && rng.IntN(few) == 0 {
			apart[p] = make([]float64, stride)
		}
	}
	column := func(p int32) []float64 {
		if apart[p] != nil {
			return apart[p]
		}
		return base[int(p)*stride:][:stride]
	}
	for i := range lines[:operations] {
		l := &lines[i]
		l.Aside = l.Keep && uintptr(unsafe.Pointer(&column(l.Dst)[0]))%64 == 0 && rng.IntN(2) == 0
	}
	m, call := Fuse(lines, stride, func(p int32) Column {
		switch {
		case number[p] != InLine:
			return number[p]
		case apart[p] != nil:
			return Apart
		}
		return InLine
	})
	if m == nil {
		t.Fatal("no code")
	}
	at := make([]unsafe.Pointer, places)
	for p := range at {
		at[p] = unsafe.Pointer(&column(int32(p))[0])
	}
	n := rng.IntN(70)
	want := make([][]float64, places)
	for p := range want {
		c := column(int32(p))
		for i := range c {
			c[i] = oddAtTimes(rng, round)
		}
		c[0] = numberIn(number[p], c[0])
		want[p] = append([]float64(nil), c...)
		for i := range c {
			if number[p] != InLine {
				want[p][i] = c[0]
			}
		}
	}
	wrote := make([]bool, places)
	strange := map[int32]bool{}
	for k := range lines {
		l := &lines[k]
		if l.Do == DoOdd {
			x := column(l.Dst)[:len(Lanes{})]
			clear(x)
			strange[l.Dst], wrote[l.Dst] = slices.ContainsFunc(want[l.Arg[0]][:n], isOdd), true
		}
		if k >= operations {
			for i := 0; i < n && l.Do == DoSum; i++ {
				want[l.Dst][i%len(Lanes{})] += want[l.Arg[0]][i]
			}
			continue
		}
		out := make([]float64, n)
		for i := range out {
			var v [3]float64
			for j := range l.args() {
				v[j] = want[l.Arg[j]][i]
			}
			out[i] = lineOf(l, v)
		}
		copy(want[l.Dst], out)
		wrote[l.Dst] = !l.Keep
	}
	if ran, _ := Run([]Call{call}, &at[0], n); ran != 1 {
		t.Fatal("the call did not run")
	}
	for p, is := range strange {
		if is && !slices.ContainsFunc(column(p)[:len(Lanes{})], isOdd) {
			t.Fatalf("round %d, n = %d: nothing odd in lanes %d\n%v", round, n, p, printed(lines))
		}
	}
	for p := range want {
		for i, w := range want[p] {
			if _, ok := strange[int32(p)]; wrote[p] && (i < n || ok) || number[p] != InLine {
				continue // it may hold anything
			}
			if g := column(int32(p))[i]; !sameBits(g, w) {
				t.Fatalf("round %d, n = %d: column %d, element %d: %v, want %v\n%v", round, n, p, i, g, w, printed(lines))
			}
		}
	}
}

func printed(lines []Line) (s string) {
	for _, l := range lines {
		s += fmt.Sprintf("%d = %d %v keep %v far %d\n", l.Dst, l.Do, l.Arg[:l.args()], l.Keep, l.Far)
	}
	return s
}

func TestSteps(t *testing.T) {
	if MakeSteps([]Line{{Do: DoNeg, Keep: true}}) == nil {
		t.Skip("no machine code on this tier")
	}
	rng := rand.New(rand.NewPCG(3, 2))
	for round := range 800 {
		lanes, made := 1, MakeSteps
		if round >= 400 {
			lanes, made = StepLanes(), MakeLanes
		}
		columns := 1 + rng.IntN(5)
		lines, places := someLines(rng, 1+rng.IntN(50), columns, false)
		const batch = 40
		for i := range lines { // columns of their own
			l := &lines[i]
			l.Dst = batch*l.Dst + 8
			for k := range l.Arg {
				l.Arg[k] = batch*l.Arg[k] + 8
			}
		}
		keep(rng, lines)
		for range rng.IntN(8) { // what some lines make is carried to others
			from, to := &lines[rng.IntN(len(lines))], &lines[rng.IntN(len(lines))]
			from.Keep = true
			to.Arg[rng.IntN(to.args())] = from.Dst - 1
		}
		arrays := [][]float64{make([]float64, 7), make([]float64, 1)}
		for _, a := range arrays {
			for i := range a {
				a[i] = odd(rng)
			}
		}
		if lanes == 1 && rng.IntN(2) == 0 {
			k := rng.IntN(len(lines))
			lines[k] = Line{Do: DoLoad, Dst: lines[k].Dst, Arg: [3]int32{8}, Keep: lines[k].Keep, Array: int32(rng.IntN(2))}
		}
		for range rng.IntN(3) {
			k := rng.IntN(len(lines))
			l := &lines[k]
			if l.Do == DoLoad {
				continue
			}
			l.Do, l.Arg = DoLeaf, [3]int32{lines[rng.IntN(k+1)].Arg[0], l.Arg[0]}
			if l.Leaf, _ = LeafOf(TanhOf, 1); rng.IntN(2) == 0 {
				l.Leaf, _ = LeafOf(PowOf, 2)
			}
		}
		m := made(lines)
		if m == nil {
			t.Fatal("no code")
		}
		mem := make([]float64, (places*batch+8)*lanes)
		for i := range mem {
			mem[i] = odd(rng)
		}
		for i := range batch { // numbers of elements, sometimes of none
			mem[8+i] = float64(rng.IntN(15) - 7)
			if rng.IntN(9) == 0 {
				mem[8+i] = odd(rng)
			}
		}
		want := append([]float64(nil), mem...)
		from, to := rng.IntN(3), 3+rng.IntN(28)
		stop := to
		leaves := slices.ContainsFunc(lines, func(l Line) bool { return l.Do == DoLeaf })
	steps:
		for i := from; i < to; i++ {
			for k := range lines {
				l := &lines[k]
				if l.Do == DoLoad {
					a, at := arrays[l.Array], want[int(l.Arg[0])+i]
					j := int(at)
					if j < 0 {
						j += len(a)
					}
					if float64(int(at)) != at || uint(j) >= uint(len(a)) {
						stop = i
						break steps
					}
					want[int(l.Dst)+i] = a[j]
					continue
				}
				for lane := range lanes {
					var v [3]float64
					for j := range l.args() {
						v[j] = want[(int(l.Arg[j])+i)*lanes+lane]
					}
					want[(int(l.Dst)+i)*lanes+lane] = lineOf(l, v)
				}
			}
		}
		if at := m.Steps(mem, arrays, from, to); leaves && at < stop {
			stop = at // of an argument that a leaf leaves to Go
		} else if at != stop {
			t.Fatalf("round %d: stopped at %d, want %d", round, at, stop)
		}
		for k := range lines {
			for i := from * lanes; i < stop*lanes && lines[k].Keep; i++ {
				if at := int(lines[k].Dst)*lanes + i; !sameBits(mem[at], want[at]) {
					t.Fatalf("round %d: line %d, step %d: %v, want %v\n%s", round, k, i, mem[at], want[at], printed(lines))
				}
			}
		}
	}
}

// BenchmarkFuse is what it takes to make machine code of lines, and to give it back.
func BenchmarkFuse(b *testing.B) {
	rng := rand.New(rand.NewPCG(3, 3))
	lines, _ := someLines(rng, 30, 6, true)
	keep(rng, lines)
	b.ReportAllocs()
	for stride := 288; b.Loop(); stride++ { // others each time
		Fuse(lines, stride, func(int32) Column { return InLine })
	}
}

// TestFusePieces holds machine code of pieces to lines of columns that are put together before.
func TestFusePieces(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		if m, _ := FusePieces([]Line{{Do: DoNeg, Keep: true}}, 0, func(int32) Column { return Apart }, []Piece{{End: 1}}); m == nil {
			t.Skip("no machine code on this tier")
		}
		rng := rand.New(rand.NewPCG(3, 3))
		for round := range 400 {
			lines, columns, places, _ := roundLines(rng, round)
			const stride, others, far = 96, 3, 100
			n := 1 + rng.IntN(stride)
			var pieces []Piece
			for end := 0; end < n; {
				end = min(n, end+1+rng.IntN([]int{3, 20, n}[rng.IntN(3)]))
				pieces = append(pieces, Piece{End: end})
			}
			elsewhere, number := make([]bool, columns), make([]Column, places) // or InLine
			for p := range elsewhere {
				if rng.IntN(4) == 0 {
					number[p] = someNumber(rng)
				}
				if elsewhere[p] = number[p] == InLine && rng.IntN(2) == 0; elsewhere[p] {
					for k := range pieces {
						x := Read{int32(p), int32(places + rng.IntN(others)), rng.IntN(far) - far/2}
						pieces[k].Reads = append(pieces[k].Reads, x)
					}
				}
			}
			base := make([]float64, places*stride)
			other := make([][]float64, others)
			at := make([]unsafe.Pointer, places+others)
			for p := range places {
				at[p] = unsafe.Pointer(&base[p*stride])
			}
			for k := range other {
				other[k] = make([]float64, far+stride)
				at[places+k] = unsafe.Pointer(&other[k][far/2])
				for i := range other[k] {
					other[k][i] = oddAtTimes(rng, round)
				}
			}
			want := make([]float64, len(base))
			for i := range base {
				base[i] = oddAtTimes(rng, round)
				if i%stride == 0 {
					base[i] = numberIn(number[i/stride], base[i])
				}
				if want[i] = base[i]; number[i/stride] != InLine {
					want[i] = base[i/stride*stride]
				}
				if i/stride < columns && elsewhere[i/stride] {
					k := slices.IndexFunc(pieces, func(x Piece) bool { return i%stride < x.End })
					if base[i] = -7; k >= 0 {
						r := pieces[k].read(int32(i / stride))
						want[i] = other[int(r.From)-places][far/2+i%stride+r.By]
					}
				}
			}
			m, call := FusePieces(lines, stride, func(p int32) Column {
				if int(p) >= places {
					return Apart
				}
				return number[p]
			}, pieces)
			if m == nil {
				t.Fatal("no code")
			}
			before := slices.Clone(base)
			wrote := make([]bool, places)
			for k := range lines {
				l := &lines[k]
				out := make([]float64, n)
				for i := range out {
					var v [3]float64
					for j := range l.args() {
						v[j] = want[int(l.Arg[j])*stride+i]
					}
					out[i] = lineOf(l, v)
				}
				copy(want[int(l.Dst)*stride:], out)
				wrote[l.Dst] = !l.Keep
			}
			if ran, _ := Run([]Call{call}, &at[0], 0); ran != 1 {
				t.Fatal("the call did not run")
			}
			for i, v := range base {
				p := i / stride
				switch inside := i%stride < n; {
				case inside && wrote[p]: // it may hold anything
				case !inside || p < columns:
					if !sameBits(v, before[i]) {
						t.Fatalf("round %d, n = %d: column %d, element %d was written", round, n, p, i%stride)
					}
				case !sameBits(v, want[i]):
					t.Fatalf("round %d, n = %d: column %d, element %d: %v, want %v\n%v%v", round, n, p, i%stride, v, want[i], pieces, printed(lines))
				}
			}
		}
	})
}

// TestFuseRows: code that does all tiles by itself does what a call for each of them does.
func TestFuseRows(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 7))
		loops := 0
		for round := range 400 {
			if fuseRows(t, rng, round) {
				loops++
			}
		}
		if m, _ := Fuse([]Line{{Do: DoNeg, Keep: true}}, 0, func(int32) Column { return Apart }); m != nil && loops < 200 {
			t.Errorf("%d of 400 do all tiles", loops)
		}
	})
}

// fuseRows compares random lines over some tiles with a call for each, and reports whether they can do all of them.
func fuseRows(t *testing.T, rng *rand.Rand, round int) bool {
	columns := 1 + rng.IntN(5)
	lines, places := someLines(rng, 1+rng.IntN(12), columns, false)
	keep(rng, lines)
	lines, all := someLanes(rng, lines, places, places)
	const stride = 288
	n, tiles := 1+rng.IntN(40), 1+rng.IntN(6)
	kind := make([]Column, all)
	for p := range kind {
		switch {
		case p >= places:
			kind[p] = Apart // lanes
		case p < columns:
			kind[p] = []Column{InLine, Apart, Along, OfTile, Known}[rng.IntN(5)]
		case lines[p-columns].Keep:
			kind[p] = Along
		}
	}
	m, loop := FuseRows(lines, stride, func(p int32) Column { return kind[p] })
	if m == nil {
		return false
	}
	once, call := Fuse(lines, stride, func(p int32) Column {
		return map[Column]Column{Apart: Apart, Along: Apart, OfTile: Number, Known: Known}[kind[p]] // or InLine
	})
	data := make([][]float64, all)
	for p := range data {
		data[p] = make([]float64, stride)
		for i := range data[p] {
			data[p][i] = oddAtTimes(rng, round)
		}
		if kind[p] == Known {
			data[p][0] = numberIn(Known, data[p][0])
		}
	}
	run := func(run func(at []unsafe.Pointer, column func(p int) []float64)) []float64 {
		base := slices.Concat(data...)
		column := func(p int) []float64 { return base[p*stride:][:stride] }
		at := make([]unsafe.Pointer, all)
		for p := range at {
			at[p] = unsafe.Pointer(&column(p)[0])
		}
		run(at, column)
		return base
	}
	got := run(func(at []unsafe.Pointer, _ func(p int) []float64) {
		for p, k := range kind {
			if k == OfTile { // apart
				at[p] = unsafe.Pointer(&data[p][0])
			}
		}
		if ran, _, left := RunTiles([]Call{loop}, &at[0], n, tiles, nil, nil); ran != 1 || left != 0 {
			t.Fatalf("%d calls ran, %d tiles are left", ran, left)
		}
	})
	want := run(func(at []unsafe.Pointer, column func(p int) []float64) {
		for tile := range tiles {
			for p, k := range kind {
				switch k {
				case Along:
					at[p] = unsafe.Pointer(&column(p)[tile*n])
				case OfTile:
					column(p)[0] = data[p][tile]
				}
			}
			Run([]Call{call}, &at[0], n)
		}
	})
	for i := range want {
		if p := i / stride; kind[p] != InLine && kind[p] != OfTile && !sameBits(got[i], want[i]) {
			t.Fatalf("round %d, %d tiles of %d: column %d, element %d: %v, tile by tile %v\n%v", round, tiles, n, p, i%stride, got[i], want[i], printed(lines))
		}
	}
	runtime.KeepAlive(m)
	runtime.KeepAlive(once)
	return true
}
