package kernels

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// TestFuse32 compares machine code on columns of float32, and some of float64 among them,
// with lines done one by one on float64 and rounded.
func TestFuse32(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		if m, _ := Fuse32([]Line{{Do: DoNeg, Keep: true}}, 0, func(int32) Column { return Apart }); m == nil {
			t.Skip("no machine code on this tier")
		}
		rng := rand.New(rand.NewPCG(3, 4))
		for round := range 400 {
			fuse32(t, rng, round)
		}
	})
}

// A column32 is a column of a test: of float32, or wide.
type column32 struct {
	kind   Column
	single []float32
	wide   []float64
}

func (c *column32) at(i int) float64 {
	switch {
	case c.kind.isNumber() || c.kind == WideNumber:
		i = 0
		fallthrough
	default:
		if c.wide != nil {
			return c.wide[i]
		}
		return float64(c.single[i])
	}
}

func (c *column32) set(i int, v float64) {
	if c.wide != nil {
		c.wide[i] = v
	} else {
		c.single[i] = float32(v)
	}
}

func (c *column32) pointer() unsafe.Pointer {
	if c.wide != nil {
		return unsafe.Pointer(&c.wide[0])
	}
	return unsafe.Pointer(&c.single[0])
}

func fuse32(t *testing.T, rng *rand.Rand, round int) {
	lines, columns, places, few := roundLines(rng, round)
	wideFrom := places // results that are wanted as float64 are copied there at the end
	for made := int32(places); rng.IntN(3) > 0; places++ {
		lines = append(lines, Line{Do: DoCopy, Dst: int32(places), Arg: [3]int32{rng.Int32N(made)}, Keep: true})
	}
	wideTo := places
	operations := len(lines)
	lines, places = someLanes(rng, lines, wideFrom, places)
	const stride = 320
	base := make([]float32, places*stride)
	all := make([]column32, places)
	for p := range all {
		c := &all[p]
		c.kind = InLine
		c.single = base[p*stride:][:stride]
		switch k := rng.IntN(4); {
		case p >= wideTo: // lanes
			c.kind, c.wide = Apart, make([]float64, stride)
		case p >= wideFrom:
			c.kind, c.wide = Wide, make([]float64, stride)
		case p < columns && k == 0:
			c.kind = someNumber(rng)
		case p < columns && k == 1:
			c.kind, c.wide = Wide, make([]float64, stride)
		case p < columns && k == 2 && rng.IntN(2) == 0:
			c.kind, c.wide = WideNumber, make([]float64, stride)
		case rng.IntN(few) == 0:
			c.kind, c.single = Apart, make([]float32, stride)
		}
	}
	for i := range lines[:operations] {
		l := &lines[i]
		l.Aside = l.Keep && uintptr(all[l.Dst].pointer())%64 == 0 && rng.IntN(2) == 0
	}
	m, call := Fuse32(lines, stride, func(p int32) Column { return all[p].kind })
	if m == nil {
		t.Fatal("no code")
	}
	at := make([]unsafe.Pointer, places)
	n := rng.IntN(100)
	want := make([][]float64, places)
	before := make([][]float64, places)
	for p := range all {
		c := &all[p]
		at[p] = c.pointer()
		for i := range stride {
			v := oddAtTimes(rng, round)
			if rng.IntN(30) == 0 {
				v = float64(math.Float32frombits(rng.Uint32()))
			}
			if c.kind.isNumber() {
				v = numberIn(c.kind, float64(float32(v)))
			}
			c.set(i, v)
		}
		want[p], before[p] = make([]float64, stride), make([]float64, stride)
		for i := range want[p] {
			want[p][i] = c.at(i)
		}
		copy(before[p], want[p])
	}
	wrote := make([]bool, places)
	strange := map[int32]bool{}
	for k := range lines {
		l := &lines[k]
		if k >= operations {
			if l.Do == DoOdd {
				clear(all[l.Dst].wide[:len(Lanes{})])
				odd := slices.ContainsFunc(want[l.Arg[0]][:n], func(v float64) bool { return isOdd(float64(float32(v))) })
				strange[l.Dst], wrote[l.Dst] = odd, true
			}
			for i := 0; i < n && l.Do == DoSum; i++ {
				want[l.Dst][i%len(Lanes{})] += float64(float32(want[l.Arg[0]][i]))
			}
			continue
		}
		out := make([]float64, n)
		for i := range out {
			var v [3]float64
			for j := range l.args() {
				v[j] = want[l.Arg[j]][i]
			}
			out[i] = float64(float32(lineOf(l, v)))
		}
		copy(want[l.Dst], out)
		wrote[l.Dst] = !l.Keep
	}
	if ran, _ := Run([]Call{call}, &at[0], n); ran != 1 {
		t.Fatal("the call did not run")
	}
	for p, is := range strange {
		if is && !slices.ContainsFunc(all[p].wide[:len(Lanes{})], isOdd) {
			t.Fatalf("round %d, n = %d: nothing odd in lanes %d\n%v", round, n, p, printed(lines))
		}
	}
	for p := range all {
		c := &all[p]
		if c.kind == Number || c.kind == WideNumber {
			continue
		}
		for i, w := range want[p] {
			if wrote[p] && (i < n || p >= wideTo) {
				continue // it may hold anything
			}
			if g := c.at(i); !sameBits(g, w) {
				t.Fatalf("round %d, n = %d: column %d, element %d: %v, want %v\n%v", round, n, p, i, g, w, printed(lines))
			}
		}
	}
}
