package tensor

import (
	"cmp"
	"strconv"
	"strings"
)

// A Kind says which of its forms a Value has.
type Kind uint8

const (
	KindNone   Kind = iota // no value: an unconnected source; Why says the reason
	KindTensor             // Tensor
	KindList               // List: a tuple, or a JSON list of things that are not one tensor
	KindRecord             // Fields, in order of appearance
	KindSparse             // Sparse: a matrix of an answer, where those were asked for
)

// A Value is what a name stands for: one tensor, or a structure of them. Input
// documents, sources and results all have this form, so that a gradient can
// come back in the structure of its source.
type Value struct {
	Kind   Kind
	Tensor *Tensor
	Sparse *Sparse
	List   []*Value
	Fields []Field
	Why    string // KindNone: why there is no value
	Frozen string // KindTensor: why it is no source though it is real, or ""
	Said   bool   // KindTensor: its dtype was asked for, and is not the default
	Open   bool   // KindList: entries were given by their numbers, and those behind the last have no value
}

// A Field is one entry of a record.
type Field struct {
	Name  string
	Value *Value
}

// Of wraps one tensor.
func Of(t *Tensor) *Value { return &Value{Kind: KindTensor, Tensor: t} }

// None is a missing value and the reason for it.
func None(why string) *Value { return &Value{Why: why} }

// Get finds the field of a record, or nil.
func (v *Value) Get(name string) *Value {
	for _, f := range v.Fields {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// At is what stands at a path, as Leaves writes them, or nil.
func (v *Value) At(path string) *Value {
	if x := v.Get(path); x != nil || path == "" {
		return cmp.Or(x, v)
	}
	into := func(part string, x *Value) *Value {
		switch rest, ok := strings.CutPrefix(path, part); {
		case !ok:
		case rest == "" || rest[0] == '[':
			return x.At(rest)
		case rest[0] == '.':
			return x.At(rest[1:])
		}
		return nil
	}
	for _, f := range v.Fields {
		if x := into(f.Name, f.Value); x != nil {
			return x
		}
	}
	for i, e := range v.List {
		if x := into("["+strconv.Itoa(i)+"]", e); x != nil {
			return x
		}
	}
	return nil
}

// Leaves calls visit for every tensor and none in v, in order, with its path:
// root, then ".name" for fields and "[i]" for list entries.
func (v *Value) Leaves(root string, visit func(path string, leaf *Value)) {
	switch v.Kind {
	case KindList:
		for i, e := range v.List {
			e.Leaves(root+"["+strconv.Itoa(i)+"]", visit)
		}
	case KindRecord:
		for _, f := range v.Fields {
			f.Value.Leaves(Join(root, f.Name), visit)
		}
	default:
		visit(root, v)
	}
}

// Join is the path of a field: "layer.w", or the name alone at the root.
func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
