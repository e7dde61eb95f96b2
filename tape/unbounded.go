package tape

import (
	"math"
	"slices"

	"nabla/kernels"
	"nabla/tape/tensor"
	"nabla/tape/unbounded"
)

// What is numeric can be computed on in the place of float64.
type numeric[N any] interface {
	Add(N) N
	Mul(N) N
	Sqrt() N
}

// A numberRun computes a tape on numbers of another kind, one instruction at a time. Those of
// instruction r start at number at[r] of values, and of near, what they are in float64,
// where conditions are decided as a rule: the branch is that of the value.
type numberRun[N numeric[N]] struct {
	t      *Tape
	most   int // numbers in all
	values []N
	near   []float64
	at     []int
	wants  [][]bool // of what is asked for, which numbers; nil: all
	needs  [][]bool // of each instruction

	number func(v float64) N
	plain  func(x N, v float64) bool                              // x is v, wherever inputs move; nil: nobody knows
	apply  func(op *Op, x [3]N, w [3]float64) (N, bool)           // an operation on numbers that are w in float64; false: it is unknown
	place  func(r Ref, k int, v float64) N                        // where number k of a leaf has moved to, which near does not follow; nil: it stays
	decide func(op *Op, x [3]N, w [3]float64, own bool) (N, bool) // a condition, of the program itself or of a partial; nil, or false: as in float64
	sees   func(sum, x, y N, a, b float64) N                      // looks at sums, of what is a and b in float64, and may give another; nil: nobody does
}

// unbounded computes what rs are, number by number, without bounds; nil where that is more
// than so many numbers, or nothing is left of a difference of what m moved. What became infinite
// on the way, even so, has not held.
func (t *Tape) unbounded(rs []Ref, m *mover, most int) (numbers [][]unbounded.Number, held bool) {
	u := &numberRun[unbounded.Number]{t: t, most: most, number: unbounded.Of}
	u.apply = func(op *Op, x [3]unbounded.Number, w [3]float64) (unbounded.Number, bool) {
		if m == nil && (op.Name == "sign" || op.Name == "abs_slope") {
			return unbounded.Of(op.one(w)), true
		}
		y, ok := unbounded.Apply(op.Name, x[0], x[1], x[2])
		if !ok {
			y = unbounded.Of(op.one([3]float64{x[0].Float(), x[1].Float(), x[2].Float()}))
		}
		if math.IsInf(y.M, 0) && x[0].Finite() && x[1].Finite() && !slices.ContainsFunc(x[:op.arity()], unbounded.Number.Special) {
			held = false // what is no pole
		}
		return y, true
	}
	held = true
	lost := false // what moved cancelled
	if m != nil {
		u.place = m.moved
		u.decide = func(op *Op, x [3]unbounded.Number, w [3]float64, own bool) (unbounded.Number, bool) {
			a, b := unbounded.Compared(x[0], x[1])
			return unbounded.Of(op.one([3]float64{a, b})), !own
		}
		u.sees = func(sum, x, y unbounded.Number, a, b float64) unbounded.Number {
			lost = m.see(sum, x, y, a, b) || lost
			return sum
		}
	}
	out := u.run(rs)
	if lost && out != nil && !stands(u, rs, out, m) {
		return nil, false
	}
	return out, held
}

// stands reports whether what was computed stays where it is, but for some bits, if sums that cancelled
// are as far off as their terms have been rounded.
func stands(u *numberRun[unbounded.Number], rs []Ref, out [][]unbounded.Number, m *mover) bool {
	u.sees = func(sum, x, y unbounded.Number, a, b float64) unbounded.Number {
		if m.see(sum, x, y, a, b) {
			sum = sum.Add(unbounded.Number{M: 1.25, E: max(x.E, y.E) - 51})
		}
		return sum
	}
	again := u.run(rs)
	for i, numbers := range out {
		for k, x := range numbers {
			y := again[i][k]
			if x.M == x.M && x != y && !(x.Finite() && y.Finite() && x.M*y.M > 0 && x.E-y.E <= 1 && y.E-x.E <= 1 && agree(math.Ldexp(x.M, int(x.E-y.E)), y.M, 0x1p-42)) {
				return false
			}
		}
	}
	return true
}

// run computes what rs are; nil where that is too much, or made of other operations than
// those on numbers and those that move numbers, add them up and multiply matrices.
func (u *numberRun[N]) run(rs []Ref) [][]N {
	t := u.t
	top := Ref(-1)
	for _, r := range rs {
		top = max(top, r)
	}
	live, whole := make([]bool, top+1), make([]bool, top+1)
	u.needs = make([][]bool, top+1)
	need := func(r Ref, some []bool) {
		live[r] = true
		switch {
		case some == nil:
			u.needs[r], whole[r] = nil, true
		case !whole[r] && u.needs[r] == nil:
			u.needs[r] = slices.Clone(some)
		case !whole[r]:
			for k, v := range some {
				u.needs[r][k] = u.needs[r][k] || v
			}
		}
	}
	for i, r := range rs {
		if u.wants == nil {
			need(r, nil)
		} else {
			need(r, u.wants[i])
		}
	}
	u.at = make([]int, top+1)
	n := 0
	for r := top; r >= 0; r-- {
		if !live[r] {
			continue
		}
		u.at[r] = n
		if n += t.size(r); n > u.most {
			return nil
		}
		for _, a := range t.Args(r) {
			if some := u.needs[r]; some != nil && t.ins[r].Op().elementwise() && t.spreadOf(a, r) == nil {
				need(a, some)
			} else {
				need(a, nil)
			}
		}
	}
	u.values, u.near = make([]N, n), make([]float64, n)
	for r := range live {
		if live[r] && !u.compute(Ref(r)) {
			return nil
		}
	}
	out := make([][]N, len(rs))
	for i, r := range rs {
		out[i], _ = u.of(r)
	}
	return out
}

func (u *numberRun[N]) of(r Ref) (values []N, near []float64) {
	from := u.at[r]
	to := from + u.t.size(r)
	return u.values[from:to:to], u.near[from:to:to]
}

// compute is instruction r from the values of its arguments; false where it is unknown how.
func (u *numberRun[N]) compute(r Ref) bool {
	t := u.t
	in, args := &t.ins[r], t.Args(r)
	values, near := u.of(r)
	switch {
	case in.dtype == tensor.Float32:
		return false
	case len(args) == 0 && t.known(r):
		copy(near, t.data(r))
		if u.place != nil {
			for i, v := range near {
				values[i] = u.place(r, i, v)
			}
			return true
		}
	case in.Op() == opBasis || in.Op() == opGroups:
		t.runStructural(r, near, nil, 1)
	case in.Op().elementwise():
		return u.elementwise(r)
	case in.Op().moves():
		u.carry(r)
		return true
	case in.Op() == opAssemble:
		u.assemble(r)
		return true
	case in.Op() == opPut:
		return u.put(r)
	case in.Op() == opSum || in.Op() == opSumBatch:
		u.sum(r)
		return true
	case in.Op() == opMatmul || in.Op() == opZMatmul:
		return u.product(r)
	case in.Op() == opNorm:
		return u.reduce(r, u.norm, kernels.Norm2)
	case in.Op() == opProd:
		return u.reduce(r, u.prod, kernels.Prod)
	case in.Op() == opMaxOf:
		return u.reduce(r, u.extreme(opMaximum), kernels.Max)
	case in.Op() == opMinOf:
		return u.reduce(r, u.extreme(opMinimum), kernels.Min)
	case in.Op() == opCumsum || in.Op() == opCumprod || in.Op() == opRecur || in.Op() == opRecurBack:
		u.running(r)
		return true
	case in.Op() == opArgsort || in.Op() == opRunning:
		_, y := u.of(args[0])
		if hasTies(y, last(t.Shape(args[0]))) {
			return false
		}
		t.runStructural(r, near, [][]float64{y}, 1)
	default:
		return false
	}
	for i, v := range near {
		values[i] = u.number(v)
	}
	return true
}

func (u *numberRun[N]) norm(x []N, _ []float64) (N, bool) {
	var sum N
	for _, v := range x {
		sum = sum.Add(v.Mul(v))
	}
	return sum.Sqrt(), true
}

// prod is the product of a line.
func (u *numberRun[N]) prod(x []N, _ []float64) (N, bool) {
	y := u.number(1)
	for _, v := range x {
		y = y.Mul(v)
	}
	return y, true
}

// extreme is the largest of a line, or the least, by the operation on two numbers, w in float64.
func (u *numberRun[N]) extreme(op *Op) func(x []N, w []float64) (N, bool) {
	return func(x []N, w []float64) (y N, ok bool) {
		y, near := x[0], w[0]
		for k := 1; k < len(x); k++ {
			of := [3]float64{near, w[k]}
			near = op.one(of)
			if y, ok = u.one(op, tensor.Float64, [3]N{y, x[k]}, of, near, false); !ok {
				return y, false
			}
		}
		return y, true
	}
}

// reduce is r of lines of its argument; false where of does not know one.
func (u *numberRun[N]) reduce(r Ref, of func(x []N, w []float64) (N, bool), nearly func(x []float64) float64) (ok bool) {
	t := u.t
	values, near := u.of(r)
	x, y := u.of(t.Args(r)[0])
	_, n, inner := around(t.physical(t.Args(r)[0]), t.Attr(r).along())
	line, nearby := make([]N, n), make([]float64, n)
	for i := range values {
		for k := range n {
			at := (i/inner*n+k)*inner + i%inner
			line[k], nearby[k] = x[at], y[at]
		}
		if values[i], ok = of(line, nearby); !ok {
			return false
		}
		near[i] = nearly(nearby)
	}
	return true
}

// running is a sum, a product or a recurrence r along lines.
func (u *numberRun[N]) running(r Ref) {
	t := u.t
	op, args, back := t.ins[r].Op(), t.Args(r), t.Attr(r).Flag
	values, near := u.of(r)
	shape := t.physical(r)
	_, n, inner := around(shape, t.Attr(r).along())
	if n == 0 {
		return
	}
	var x [2][]N
	var y [2][]float64
	for i, a := range args {
		v, w := u.of(a)
		sp := t.spreadOf(a, r)
		x[i], y[i] = spreadTo(sp, v, len(values)), spreadTo(sp, w, len(values))
	}
	first, step := onTheWay(n, back != (op == opRecurBack))
	for i := range len(values) / n {
		start := i/inner*n*inner + i%inner
		for k := range n {
			at := start + (first+k*step)*inner
			before, factor := at-step*inner, at
			if op == opRecurBack {
				factor = before
			}
			switch {
			case k == 0:
				values[at], near[at] = x[len(args)-1][at], y[len(args)-1][at]
			case op == opCumsum:
				values[at], near[at] = values[before].Add(x[0][at]), near[before]+y[0][at]
				values[at] = u.see(values[at], values[before], x[0][at], near[before], y[0][at])
			case op == opCumprod:
				values[at], near[at] = values[before].Mul(x[0][at]), near[before]*y[0][at]
			default:
				v, w := x[0][factor].Mul(values[before]), float64(y[0][factor]*near[before])
				values[at], near[at] = v.Add(x[1][at]), w+y[1][at]
				values[at] = u.see(values[at], v, x[1][at], w, y[1][at])
			}
		}
	}
}

// hasTies reports whether numbers of a row of n are equal here, which may be ordered another way nearby.
func hasTies(x []float64, n int) bool {
	for ; n > 0 && len(x) > 0; x = x[n:] {
		row := slices.Sorted(slices.Values(x[:n]))
		for i := range row[1:] {
			if !(row[i] < row[i+1]) {
				return true
			}
		}
	}
	return false
}

// elementwise computes r number by number; false where there is no such number.
func (u *numberRun[N]) elementwise(r Ref) bool {
	t := u.t
	op, dtype := t.ins[r].Op(), t.ins[r].dtype
	values, near := u.of(r)
	var x [3][]N
	var y [3][]float64
	args, some := t.Args(r), u.needs[r]
	for i, a := range args {
		v, w := u.of(a)
		sp := t.spreadOf(a, r)
		x[i], y[i] = spreadTo(sp, v, len(values)), spreadTo(sp, w, len(values))
	}
	for k := range values {
		if some != nil && !some[k] {
			continue
		}
		var v [3]N
		var w [3]float64
		for i := range args {
			v[i], w[i] = x[i][k], y[i][k]
		}
		near[k] = op.one(w)
		if u.still(v[:len(args)], w) {
			values[k] = u.number(near[k])
			continue
		}
		var ok bool
		own := t.ins[r].flags&(flagRecorded|flagJoined) == flagRecorded
		if values[k], ok = u.one(op, dtype, v, w, near[k], own); !ok {
			return false
		}
		if op == opAdd || op == opSub {
			values[k] = u.see(values[k], v[0], v[1], w[0], w[1])
		}
	}
	return true
}

// still reports whether no argument of an operation, of those that are w in float64, has moved.
func (u *numberRun[N]) still(args []N, w [3]float64) bool {
	if u.plain == nil {
		return false
	}
	for i, x := range args {
		if !u.plain(x, w[i]) {
			return false
		}
	}
	return true
}

func (u *numberRun[N]) see(sum, x, y N, a, b float64) N {
	if u.sees != nil {
		return u.sees(sum, x, y, a, b)
	}
	return sum
}

// one is an elementwise operation on numbers that are w in float64, where it is near.
func (u *numberRun[N]) one(op *Op, dtype tensor.DType, v [3]N, w [3]float64, near float64, own bool) (N, bool) {
	switch {
	case dtype == tensor.Bool:
		if u.decide != nil {
			if y, ok := u.decide(op, v, w, own); ok {
				return y, true
			}
		}
		return u.number(near), true
	case (op == opMaximum || op == opMinimum) && w[0] != w[1] && near == near:
		if near != w[0] {
			return v[1], true
		}
		return v[0], true
	}
	return u.apply(op, v, w)
}

// carry moves numbers as r moves elements: those that the operation computes on indices say where
// from.
func (u *numberRun[N]) carry(r Ref) {
	t := u.t
	values, near := u.of(r)
	var x []N
	var y, index []float64
	for i, a := range t.Args(r) {
		v, w := u.of(a)
		if t.isIndex(r, i) {
			index = w
		} else {
			x, y = append(x, v...), append(y, w...)
		}
	}
	for e, k := range t.origins(r, index) {
		if k > 0 {
			values[e], near[e] = x[k-1], y[k-1]
		}
	}
}

// put moves numbers to the places that an index names; false where some come to the same.
func (u *numberRun[N]) put(r Ref) bool {
	t, args := u.t, u.t.Args(r)
	values, near := u.of(r)
	x, y := u.of(args[0])
	_, index := u.of(args[1])
	from := make([]float64, len(values))
	data := make([]float64, len(x))
	for k := range data {
		data[k] = 1
	}
	t.runStructural(r, from, [][]float64{data, index}, 1)
	if len(from) > 0 && slices.Max(from) > 1 {
		return false
	}
	for k := range data {
		data[k] = float64(k + 1)
	}
	t.runStructural(r, from, [][]float64{data, index}, 1)
	for i, k := range from {
		if k > 0 {
			values[i], near[i] = x[int(k)-1], y[int(k)-1]
		}
	}
	return true
}

// assemble moves each piece by itself, among zeros, and adds them up.
func (u *numberRun[N]) assemble(r Ref) {
	t := u.t
	values, near := u.of(r)
	data := make([][]float64, len(t.Args(r)))
	for i, a := range t.Args(r) {
		data[i] = make([]float64, t.size(a))
	}
	from := make([]float64, len(values))
	for i, a := range t.Args(r) {
		x, y := u.of(a)
		for k := range data[i] {
			data[i][k] = float64(k + 1)
		}
		t.runStructural(r, from, data, 1)
		clear(data[i])
		for j, k := range from {
			if k > 0 {
				values[j] = values[j].Add(x[int(k)-1])
				near[j] += y[int(k)-1]
			}
		}
	}
}

// sum adds up along the axes that r loses.
func (u *numberRun[N]) sum(r Ref) {
	t := u.t
	values, near := u.of(r)
	a := t.Args(r)[0]
	x, y := u.of(a)
	from := slices.Clone(t.physical(a))
	if t.ins[r].Op() == opSumBatch {
		from[slices.Index(t.Axes(a), int32(t.Attr(r).Axis))] = 1
	} else {
		for _, k := range t.Attr(r).Axes {
			from[len(from)+k] = 1
		}
	}
	for k, j := range spreadOver(places(len(values), 1), from, t.physical(a)) {
		values[j] = u.see(values[j].Add(x[k]), values[j], x[k], near[j], y[k])
		near[j] += y[k]
	}
}

// product multiplies matrices; false where there is no such number.
func (u *numberRun[N]) product(r Ref) bool {
	t := u.t
	values, near := u.of(r)
	a, b := t.Args(r)[0], t.Args(r)[1]
	x, xn := u.of(a)
	y, yn := u.of(b)
	to := t.physical(r)
	p := matmulAs(t.Shape(a), t.Shape(b), t.Attr(r).Flag, t.Attr(r).Flag2)
	if len(values)*p.k > max(8*mostUnbounded, u.most) {
		return false
	}
	lead := func(s tensor.Shape) tensor.Shape { return s[:len(s)-2] }
	starts := func(x Ref, size int) []int {
		from := lead(t.alignedTo(x, r))
		return spreadOver(places(from.Size(), size), from, lead(to))
	}
	xat, yat := starts(a, p.m*p.k), starts(b, p.k*p.n)
	strong := t.ins[r].Op() == opZMatmul
	for g := range xat {
		for i := range p.m {
			for j := range p.n {
				at := (g*p.m+i)*p.n + j
				for k := range p.k {
					ix, iy := xat[g]+operandAt(p.ta, p.lda, i, k), yat[g]+operandAt(!p.tb, p.ldb, j, k)
					v, w := x[ix].Mul(y[iy]), float64(xn[ix]*yn[iy])
					if strong {
						v, _ = u.apply(opZMul, [3]N{x[ix], y[iy]}, [3]float64{xn[ix], yn[iy]})
						w = kernels.ZMulOf(xn[ix], yn[iy])
					}
					values[at] = u.see(values[at].Add(v), values[at], v, near[at], w)
					near[at] += w
				}
			}
		}
	}
	return true
}
