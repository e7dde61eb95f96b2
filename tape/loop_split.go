package tape

import (
	"slices"

	"nabla/tape/tensor"
)

// Small tensors in the body of a loop are split up: each of their numbers has a node and a
// column of its own, what only moves numbers costs nothing, and sums and products become
// operations on numbers, in the order in which the kernels have them: the same bits. So
// an equation of two or three unknowns runs as fast written as a vector as it does written
// out, and knots of it become machine code (loop_machine.go). A body with an operation that
// is not known here keeps its tensors whole.

// mostSplit is the most nodes of a body that is split up; longer ones are better off in
// kernels.
const mostSplit = 2048

// splitValue is the most numbers of a tensor that is split up.
const splitValue = 64

// splits reports whether what is live has tensors, and all are small.
func (l *loop) splits(live []bool) bool {
	some := false
	for r, on := range live {
		if on && !slices.Contains(l.arrays, Ref(r)) {
			size := l.body.size(Ref(r))
			if size > splitValue || size == 0 { // what is empty has one node all the same
				return false
			}
			some = some || size > 1 && !l.body.known(Ref(r))
		}
	}
	return some
}

// wide is how many numbers of r a node has.
func (m *loopMaker) wide(r Ref) int {
	if m.split {
		return 1
	}
	return max(m.l.body.size(r), 1)
}

// of are the nodes of r: one, or one for each of its numbers.
func (m *loopMaker) of(r Ref) []int32 {
	if m.split && m.parts[r] != nil {
		return m.parts[r]
	}
	return m.id[r : r+1]
}

// is says what the nodes of r are.
func (m *loopMaker) is(r Ref, ks []int32) {
	m.id[r] = ks[0]
	if len(ks) > 1 {
		m.parts[r] = ks
	}
}

// numbers makes nodes of known numbers, so many in each; of none, a node of which nothing is read.
func (m *loopMaker) numbers(v []float64, wide int) (ks []int32) {
	if len(v) == 0 {
		v = make([]float64, wide)
	}
	for e := 0; e < len(v); e += wide {
		ks = append(ks, m.node(loopNode{kind: nodeNumber, num: v[e : e+wide], size: wide}, 0))
	}
	return ks
}

// zero makes the node of a 0.
func (m *loopMaker) zero() int32 { return m.numbers([]float64{0}, 1)[0] }

// apply makes the node of an operation on numbers.
func (m *loopMaker) apply(op *Op, args ...int32) int32 {
	n := loopNode{op: op, n: int8(len(args)), flat: true, size: 1}
	copy(n.arg[:], args)
	return m.node(n, 0)
}

// splitUp makes the nodes of the numbers of r, which op computes; nil when that is not
// known, or too much.
func (m *loopMaker) splitUp(r Ref, op *Op) []int32 {
	t := m.l.body
	args := t.Args(r)
	if len(m.nodes) > mostSplit {
		return nil
	}
	switch {
	case op.elementwise():
		return m.splitElementwise(r, op)
	case op == opSum:
		return m.splitSum(m.of(args[0]), t.Shape(args[0]), t.Attr(r).Axes)
	case op == opMatmul && t.ins[r].dtype != tensor.Float32:
		return m.splitProduct(r)
	case op == opAssemble:
		return m.splitAssemble(r)
	case op == opTake && !t.known(args[1]):
		return nil
	case op.moves():
		return m.splitMoved(r)
	}
	return nil
}

// splitElementwise is an elementwise operation, number by number.
func (m *loopMaker) splitElementwise(r Ref, op *Op) []int32 {
	t := m.l.body
	ks := make([]int32, t.size(r))
	var from [3][]int32
	args := t.Args(r)
	for i, a := range args {
		if from[i] = m.of(a); len(from[i]) > 1 {
			from[i] = spreadOver(from[i], t.Shape(a), t.Shape(r))
		}
	}
	for e := range ks {
		n := loopNode{op: op, n: int8(len(args)), flat: true, size: 1}
		for i := range args {
			n.arg[i] = from[i][min(e, len(from[i])-1)]
		}
		ks[e] = m.node(n, 0)
	}
	return ks
}

// splitMoved is an operation that only moves numbers, or puts 0 between.
func (m *loopMaker) splitMoved(r Ref) []int32 {
	t := m.l.body
	switch in := &t.ins[r]; in.Op() {
	case opBlock:
		off := int(in.args[1])
		return m.of(in.args[0])[off : off+t.size(r) : off+t.size(r)]
	case opReshape:
		return m.of(in.args[0])
	}
	var all []int32
	var index []float64
	for i, a := range t.Args(r) {
		if t.isIndex(r, i) {
			index = t.data(a)
		} else {
			all = append(all, m.of(a)...)
		}
	}
	ks := make([]int32, t.size(r))
	for e, k := range t.origins(r, index) {
		if k == 0 {
			ks[e] = m.zero()
		} else {
			ks[e] = all[k-1]
		}
	}
	return ks
}

// splitAssemble adds pieces into zeros.
func (m *loopMaker) splitAssemble(r Ref) []int32 {
	t := m.l.body
	ks := slices.Repeat([]int32{m.zero()}, t.size(r))
	for i, a := range t.Args(r) {
		for e, k := range m.of(a) {
			p := &ks[t.Attr(r).Ints[i]+e]
			*p = m.apply(opAdd, *p, k)
		}
	}
	return ks
}

// splitSum is a sum along axes as runSum has it: along the last ones in lanes, which are
// folded (kernels.Sum), along others number by number.
func (m *loopMaker) splitSum(ks []int32, s tensor.Shape, axes []int) []int32 {
	for i := len(axes) - 1; i >= 0; {
		j := i
		for j > 0 && axes[j-1] == axes[j]-1 {
			j--
		}
		k, e := len(s)+axes[j], len(s)+axes[i]+1
		outer, n, inner := s[:k].Size(), s[k:e].Size(), s[e:].Size()
		out := make([]int32, 0, outer*inner)
		for o := range outer {
			for p := range inner {
				terms := make([]int32, 0, n)
				for q := range n {
					terms = append(terms, ks[(o*n+q)*inner+p])
				}
				if inner == 1 {
					terms = m.folded(terms)
				}
				sum := terms[0]
				for _, x := range terms[1:] {
					sum = m.apply(opAdd, sum, x)
				}
				out = append(out, m.apply(opAdd, sum, m.zero())) // which both begin with: no sum is -0
			}
		}
		ks = out
		s = slices.Clone(s)
		for a := k; a < e; a++ {
			s[a] = 1
		}
		i = j - 1
	}
	return ks
}

// folded is a sum in 32 lanes, of which there are at most two rounds.
func (m *loopMaker) folded(terms []int32) []int32 {
	for h := 32; h > 0; h /= 2 {
		for i := 0; i+h < len(terms); i++ {
			terms[i] = m.apply(opAdd, terms[i], terms[i+h])
		}
		terms = terms[:min(len(terms), h)]
	}
	return terms
}

// splitProduct is a matrix product, each number of it one chain of fused multiplications
// and additions.
func (m *loopMaker) splitProduct(r Ref) []int32 {
	t := m.l.body
	args := t.Args(r)
	xs, ys, a := t.Shape(args[0]), t.Shape(args[1]), t.Attr(r)
	p := matmulAs(xs, ys, a.Flag, a.Flag2)
	lead := t.Shape(r)[:len(t.Shape(r))-2]
	// the batch of both as places of its first numbers
	starts := func(s tensor.Shape, size int) []int {
		return spreadOver(places(s.Size(), size), s, lead)
	}
	x, y := m.of(args[0]), m.of(args[1])
	fromX, fromY := starts(xs[:len(xs)-2], p.m*p.k), starts(ys[:len(ys)-2], p.k*p.n)
	if len(m.nodes)+len(fromX)*p.m*p.n*p.k > mostSplit {
		return nil
	}
	fma := table.find("fma")
	ks := make([]int32, 0, t.size(r))
	for b := range fromX {
		for i := range p.m {
			for j := range p.n {
				sum := m.zero()
				for k := range p.k {
					u, v := i*p.lda+k, k*p.ldb+j
					if p.ta {
						u = k*p.lda + i
					}
					if p.tb {
						v = j*p.ldb + k
					}
					sum = m.apply(fma, x[fromX[b]+u], y[fromY[b]+v], sum)
				}
				ks = append(ks, sum)
			}
		}
	}
	return ks
}
