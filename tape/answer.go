package tape

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"nabla/expr"
	"nabla/kernels"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

// finish computes everything that is wanted, at once, and takes it off the tape.
func (s *session) finish() *Answer {
	s.t.pos = expr.NoPos
	s.factor()
	want, matrices := s.results()
	rows := s.stream(&want)
	n := len(want)
	if s.q.Op == "eval" {
		want = append(want, s.lo.derived...)
	}
	values := len(want)
	if s.derives() && s.t.kinksOn {
		want = append(want, s.t.recordKinks(true)...)
	}
	kinks := len(want)
	if s.derives() && s.t.DType == tensor.Float64 && s.t.Conventions == "" {
		want = append(want, s.t.recordSingular(s.lowOrder())...)
	}
	s.wanted, s.counts = want[:n], want[values:kinks]
	want = append(want, s.taylors...)
	s.x, s.parts = s.compute(want)
	s.parts = s.parts || rows != nil || len(matrices) > 0
	s.unfactor()
	s.t.passing = s.log != nil // what is looked at from here on is of these inputs alone
	s.sides = s.twoSided()
	s.slopes, s.exposed = s.numbers()
	s.look()
	s.regain()
	limitless, doubtful := s.approach()
	doubtful = doubtful && s.reached()
	s.doubtful = doubtful
	s.mend()
	s.said, s.t.log = len(s.answer.Warnings), nil
	finite := true
	for _, m := range matrices {
		if m.isWhole() && s.t.known(m.sums) {
			m.gather(s.data(m.sums))
		}
		finite = finiteOn(s.t.threads(), m.compute().Data) && finite
	}
	s.void()
	s.stats = s.t.Stats
	s.stats.Instructions = len(s.t.ins)
	s.warn(s.finite(s.wanted) && finite, doubtful, limitless)
	for _, a := range s.targets {
		s.answer.Targets = append(s.answer.Targets, s.outcome(a, rows))
	}
	if len(s.t.compressions) > 0 {
		s.answer.Mode = s.modeText()
	}
	s.answer.Stats = s.t.Stats
	s.answer.Stats.Instructions = len(s.t.ins)
	if s.log == nil && s.x != nil {
		s.answer.memory = s.x.own(s.answer.memory)
	}
	return &s.answer
}

// derives reports whether there are derivatives in the answer, or in what it is computed from.
func (s *session) derives() bool { return s.q.Op != "eval" || s.t.swept }

// results lists what the answer is made of: tensors, and matrices with few entries.
func (s *session) results() (want []Ref, matrices []*sparse) {
	collect := func(x value) {
		switch x := x.(type) {
		case Ref:
			want = append(want, x)
		case *sparse:
			matrices = append(matrices, x)
			if r := x.wanted(); r != None {
				want = append(want, r)
			}
		}
	}
	for _, a := range s.targets {
		eachLeaf(a.val, collect)
		if a.payload != nil {
			eachLeaf(a.payload, collect)
		}
	}
	return want, matrices
}

// warn adds what there is to say of the numbers: where a derivative was a convention or has
// no limit, or, where none of that explains a number that is not finite, what left the range.
func (s *session) warn(finite, doubtful bool, limitless Warning) {
	if s.derives() || len(s.t.compressions) > 0 {
		s.odd = !finite
	} else if !finite && slices.ContainsFunc(s.wanted, s.outside) {
		s.answer.Warnings = append(s.answer.Warnings, s.overflowed()...)
	}
	if s.derives() {
		if !finite {
			s.t.Values(s.t.recordKinks(false))
		}
		found := s.lo.kinkWarnings(s.settled)
		if doubtful {
			found = append(found, limitless)
		}
		if !finite && len(found) == 0 {
			found = s.overflowed()
		}
		s.answer.Warnings = append(append(s.answer.Warnings, found...), s.shaky()...)
	}
}

// overflowed is the warning about what left the range, and of what follows from it.
func (s *session) overflowed() []Warning {
	w, ok := s.lo.overflowWarning(s.tensors())
	switch {
	case !ok:
		return nil
	case s.regained && s.finite(s.slopes):
		w.Msg += ": what is computed from it may mean nothing, but derivatives hold: they are computed without bounds"
	default:
		w.Msg += ": what is computed from it, derivatives too, may mean nothing"
	}
	return []Warning{w}
}

// outcome takes a target and its derivatives off the tape; rows are those that are streamed.
func (s *session) outcome(a asked, rows *Rows) Target {
	if _, ok := a.val.(callable); ok {
		s.lo.noTensor(a.val, a.expr, "the target is a number or a tensor")
	}
	out := Target{Name: a.name, Value: s.take(a.val, "", nil)}
	switch {
	case s.q.Op == "eval":
		out.Value.Leaves("", func(path string, v *tensor.Value) {
			if v.Kind == tensor.KindNone && v.Why != "" {
				out.Unconnected = append(out.Unconnected, Reason{strings.TrimPrefix(path, "."), v.Why})
			}
		})
	case rows != nil:
		out.Rows = rows
	case a.payload != nil:
		out.Payload = s.take(a.payload, "", &out.Unconnected)
	}
	return out
}

// factor has the matrices of derivatives in the answer computed as terms, where that pays.
func (s *session) factor() {
	if s.plain != nil || len(s.t.axes) == 0 { // without an axis of seeds there is no such matrix
		return
	}
	s.plain = map[Ref]Ref{}
	seen := map[Ref]Ref{}
	s.replace(func(r Ref) Ref {
		m, ok := seen[r]
		if ok {
			return m
		}
		if o, ok := s.t.mirrors[r]; ok && o.of != r && s.plain[seen[o.of]] == o.of {
			if m = s.t.rotate(seen[o.of], o.lead); m == seen[o.of] { // it stands for two
				m = s.t.add(opAlias, s.t.ins[m].shape, s.t.ins[m].dtype, 0, m)
			}
		} else {
			m = s.t.factored(r)
		}
		if m == None {
			m = r
		} else if _, ok := s.plain[m]; !ok {
			s.plain[m] = r
		}
		seen[r] = m
		return m
	})
}

// unfactor computes the matrices again, row by row, where not everything in the answer is
// finite: which zeros are between terms, and what one side of a Hessian has where the
// other is not finite, is then for the rows to say.
func (s *session) unfactor() {
	if len(s.plain) == 0 || s.finite(s.wanted) {
		return
	}
	var again []Ref
	for _, r := range s.plain {
		again = append(again, r)
	}
	slices.Sort(again)
	s.terms = slices.Clone(s.wanted)
	rows := func(m Ref) Ref {
		if r, ok := s.plain[m]; ok {
			return r
		}
		return m
	}
	s.replace(rows)
	for i, m := range s.wanted {
		s.wanted[i] = rows(m)
	}
	x, parts := s.compute(again)
	s.rows, s.parts = x, s.parts || parts
}

// replace puts other values in the place of those of the answer.
func (s *session) replace(f func(r Ref) Ref) {
	for i := range s.targets {
		a := &s.targets[i]
		a.val = mapRefs(a.val, f)
		if a.payload != nil {
			a.payload = mapRefs(a.payload, f)
		}
	}
}

// compute is Tape.Compute; it returns an execution, if there was one, and reports whether a matrix ran in parts.
func (s *session) compute(want []Ref) (x *execution, parts bool) {
	runs, rest := s.t.rowRuns(want)
	x = s.t.values(rest)
	for _, r := range runs {
		s.answer.memory = append(s.answer.memory, r.all()...)
	}
	return x, len(runs) > 0
}

// tensors lists the tensors of the targets.
func (s *session) tensors() []Ref {
	var ys []Ref
	for _, a := range s.targets {
		ys = append(ys, refsOf(a.val)...)
	}
	return ys
}

// stream takes the one large matrix out of what is wanted, to be computed as it is
// read; nil when there is none.
func (s *session) stream(want *[]Ref) *Rows {
	if !s.q.Stream || len(s.targets) != 1 {
		return nil
	}
	r, path := None, ""
	single := true
	var walk func(v value, p string)
	walk = func(v value, p string) {
		switch v := v.(type) {
		case Ref:
			single = single && r == None
			r, path = v, p
		case *record:
			for i, e := range v.elems {
				walk(e, tensor.Join(p, v.names[i]))
			}
		default:
			single = false
		}
	}
	walk(s.targets[0].payload, "")
	if !single || r == None {
		return nil
	}
	each := func(emit func([]float64) error) error { return s.t.decompressed(r, emit) }
	if s.t.ins[r].Op() == opDecompress {
		if s.t.size(r) < leastStreamed {
			return nil
		}
	} else {
		runs, _ := s.t.rowRuns([]Ref{r})
		if len(runs) != 1 || runs[0].outs[0].at != nil {
			return nil
		}
		each = runs[0].each
	}
	kept := (*want)[:0]
	for _, w := range *want {
		if w != r {
			kept = append(kept, w)
		}
	}
	if s.t.ins[r].Op() == opDecompress {
		kept = append(kept, s.t.Args(r)[0]) // whether they are finite is to be known before
	}
	*want = kept
	return &Rows{Path: path, DType: s.t.ins[r].dtype, Shape: s.t.Shape(r), Each: func(emit func([]float64) error) (err error) {
		defer s.rescue(&err)
		return each(emit)
	}}
}

// void makes infinite derivatives of a number that is NaN NaN, too: at 0 the slope of the
// numerator of x/abs(x) is infinite, but there is nothing whose slope it could be.
func (s *session) void() {
	if s.q.Op == "eval" || s.t.Conventions != "" {
		return
	}
	for _, a := range s.targets {
		if y, ok := a.val.(Ref); !ok || a.payload == nil || s.t.size(y) != 1 || !s.t.known(y) || s.t.num[y] == s.t.num[y] {
			continue
		}
		eachLeaf(a.payload, func(x value) {
			switch x := x.(type) {
			case Ref:
				if s.t.known(x) && s.t.ins[x].dtype.IsFloat() {
					voidInfinite(s.data(x), func() []float64 { return s.owned(x) })
				}
			case *sparse:
				voidInfinite(x.compute().Data, func() []float64 { return x.got.Data })
			}
		})
	}
}

// voidInfinite makes infinite numbers NaN, where they may be written to.
func voidInfinite(data []float64, owned func() []float64) {
	for k, d := range data {
		if math.IsInf(d, 0) {
			owned()[k] = math.NaN()
		}
	}
}

// finite reports whether all numbers are.
func (s *session) finite(rs []Ref) bool {
	for _, r := range rs {
		if s.t.sane[r] || s.looked[r] {
			continue
		}
		data := s.data(r)
		if !finiteOn(s.t.threads(), data) {
			return false
		}
		if len(data) >= longLook {
			if s.looked == nil {
				s.looked = map[Ref]bool{}
			}
			s.looked[r] = true
		}
	}
	return true
}

// longLook is of how many numbers it is noted that they were looked at and are finite.
const longLook = 1 << 10

// finiteOn is finiteNumbers on several threads.
func finiteOn(threads int, data []float64) bool {
	if threads == 1 || !pool.Worth(len(data), pool.LeastElements) {
		return finiteNumbers(data)
	}
	var odd atomic.Bool
	pool.Pieces(threads, len(data), func(from, to int) {
		if !finiteNumbers(data[from:to]) {
			odd.Store(true)
		}
	})
	return !odd.Load()
}

// outside reports whether a result is NaN somewhere. A value that is infinite says all that
// there is to say.
func (s *session) outside(r Ref) bool {
	return !s.finite([]Ref{r}) && slices.ContainsFunc(s.data(r), func(v float64) bool { return v != v })
}

// finiteNumbers reports whether all numbers are finite.
func finiteNumbers(data []float64) bool {
	if len(data) == 1 {
		return data[0]-data[0] == 0
	}
	if v := kernels.Sum(data); v-v == 0 {
		return true // a NaN or an infinity would have stayed in the sum
	}
	for _, v := range data {
		if v-v != 0 {
			return false
		}
	}
	return true
}

// take turns a value of the program into one of the world.
func (s *session) take(v value, path string, missing *[]Reason) *tensor.Value {
	switch v := v.(type) {
	case Ref:
		own := &struct { // in one piece
			value tensor.Value
			of    tensor.Tensor
			num   [1]float64
		}{of: tensor.Tensor{DType: s.t.ins[v].dtype, Shape: s.t.Shape(v), Data: s.data(v)}}
		x := &own.of
		if s.log == nil && s.t.single(v) { // which lies on the tape
			own.num[0], x.Data = x.Data[0], own.num[:]
		}
		s.taken = append(s.taken, taken{x, v})
		own.value = tensor.Value{Kind: tensor.KindTensor, Tensor: x}
		return &own.value
	case *sparse:
		return &tensor.Value{Kind: tensor.KindSparse, Sparse: v.compute()}
	case *tuple:
		out := &tensor.Value{Kind: tensor.KindList}
		for i, e := range v.elems {
			out.List = append(out.List, s.take(e, path+"["+itoa(i)+"]", missing))
		}
		return out
	case *record:
		out := &tensor.Value{Kind: tensor.KindRecord}
		for i, e := range v.elems {
			p := v.names[i]
			if path != "" {
				p = path + "." + p
			}
			out.Fields = append(out.Fields, tensor.Field{Name: v.names[i], Value: s.take(e, p, missing)})
		}
		return out
	case *none:
		if missing != nil {
			*missing = append(*missing, Reason{path, v.why})
		}
		if v.why == noneItself {
			return tensor.None("")
		}
		return tensor.None(v.why)
	}
	what, hint := describe(v), ""
	switch v := v.(type) {
	case callable:
		hint = "a call is written f(…)"
	case string:
		what = "the string " + strconv.Quote(expr.Brief(v))
	}
	panic(&Misuse{Kind: "type", Msg: "the target is " + what + ", not a number", Hint: hint, Pos: expr.NoPos})
}

// AsError finds the positioned error in an error chain.
func AsError(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}
