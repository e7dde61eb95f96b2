package input

import (
	"nabla/kernels/pages"
	"nabla/tape/tensor"
)

// A pool is the memory of documents that are read one after the other, each in place of
// the one before. A nil pool gives every document memory of its own.
type pool struct {
	doc    Document
	leaves supply[leaf]
	values supply[tensor.Value]
	blocks [2][]float64
	given  int // of the blocks
	names  map[string]string
}

// A leaf is a value that is a tensor, with room for what most of them are.
type leaf struct {
	value  tensor.Value
	tensor tensor.Tensor
	one    [1]float64
	dims   [4]int
}

// A supply hands out the same things again after each reset.
type supply[T any] struct {
	all []*T
	n   int
}

// next is one that nothing uses.
func (s *supply[T]) next() *T {
	if s.n == len(s.all) {
		s.all = append(s.all, new(T))
	}
	s.n++
	return s.all[s.n-1]
}

// poolMost is how many things of a kind a pool keeps: a line is seldom larger, and one
// that is must not be remembered for ever.
const (
	poolMost    = 1 << 12
	poolNumbers = 1 << 20
)

func (s *supply[T]) reset() {
	if s.n > poolMost {
		s.all = nil
	}
	s.n = 0
}

// again takes back everything.
func (p *pool) again() {
	if p == nil {
		return
	}
	p.given = 0
	p.leaves.reset()
	p.values.reset()
}

// document is an empty one; without a pool it is new.
func (p *pool) document() *Document {
	if p == nil {
		return &Document{}
	}
	p.doc = Document{Vars: p.doc.Vars[:0]}
	return &p.doc
}

// leaf is the value of a new tensor, of shape () so far.
func (p *pool) leaf() *leaf {
	var x *leaf
	if p == nil {
		x = new(leaf)
	} else {
		x = p.leaves.next()
	}
	x.tensor = tensor.Tensor{}
	x.value = tensor.Value{Kind: tensor.KindTensor, Tensor: &x.tensor}
	return x
}

// value is a new list or record.
func (p *pool) value(k tensor.Kind) *tensor.Value {
	if p == nil {
		return &tensor.Value{Kind: k}
	}
	v := p.values.next()
	*v = tensor.Value{Kind: k, List: v.List[:0], Fields: v.Fields[:0]}
	return v
}

// numbers is room for n numbers; asked a second time, for one document, it is another.
func (p *pool) numbers(n int) []float64 {
	if p == nil || n > poolNumbers {
		m := make([]float64, n)
		pages.Huge(m)
		return m[:0]
	}
	b := &p.blocks[min(p.given, 1)]
	p.given++
	if cap(*b) < n || p.given > len(p.blocks) {
		*b = make([]float64, 0, n)
	}
	return (*b)[:0:n]
}

// name is the text of b; the few names that all documents share are one string each.
func (p *pool) name(b []byte) string {
	if p == nil {
		return string(b)
	}
	if s, ok := p.names[string(b)]; ok {
		return s
	}
	s := string(b)
	if p.names == nil || len(p.names) > poolMost {
		p.names = map[string]string{}
	}
	if len(s) < 64 {
		p.names[s] = s
	}
	return s
}
