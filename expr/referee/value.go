package referee

import (
	"fmt"
	"math"
	"sort"

	"nabla/tape/tensor"
)

// A value is a float64, a bool, a *tensor.Tensor of at least one axis, a string,
// or one of these. None of them is a slice of interfaces: govaluate would spread it.
type (
	tuple  struct{ elems []any }
	record struct{ fields []field }
	field  struct {
		name  string
		value any
	}
	none    struct{ why string }
	keyword struct {
		name  string
		value any
	}
	slice struct{ lo, hi, step any } // a string where left out
)

// get is a field, nil if there is none.
func (r *record) get(name string) any {
	for _, f := range r.fields {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

func kindOf(v any) string {
	switch v := v.(type) {
	case float64, bool:
		return "a scalar"
	case *tensor.Tensor:
		return fmt.Sprintf("a tensor of shape %v", v.Shape)
	case string:
		return "a string"
	case tuple:
		return "a tuple"
	case *record:
		return "a record"
	case none:
		return "none"
	case callable:
		return "a function"
	}
	return fmt.Sprintf("a %T", v)
}

func fromValue(v *tensor.Value) any {
	if v == nil {
		return none{}
	}
	switch v.Kind {
	case tensor.KindTensor:
		t := v.Tensor
		if len(t.Shape) > 0 {
			if t.DType == tensor.Float32 {
				t = &tensor.Tensor{Shape: t.Shape, Data: t.Data}
			}
			return t
		}
		if t.DType == tensor.Bool {
			return t.Data[0] != 0
		}
		return t.Data[0]
	case tensor.KindList:
		var out tuple
		for _, e := range v.List {
			out.elems = append(out.elems, fromValue(e))
		}
		return out
	case tensor.KindRecord:
		out := &record{}
		for _, f := range v.Fields {
			out.fields = append(out.fields, field{f.Name, fromValue(f.Value)})
		}
		return out
	}
	return none{v.Why}
}

func toValue(v any) *tensor.Value {
	switch v := v.(type) {
	case float64, bool:
		return tensor.Of(toTensor(v))
	case *tensor.Tensor:
		return tensor.Of(v)
	case tuple:
		out := &tensor.Value{Kind: tensor.KindList}
		for _, e := range v.elems {
			out.List = append(out.List, toValue(e))
		}
		return out
	case *record:
		out := &tensor.Value{Kind: tensor.KindRecord}
		for _, f := range v.fields {
			out.Fields = append(out.Fields, tensor.Field{Name: f.name, Value: toValue(f.value)})
		}
		return out
	case none:
		return tensor.None(v.why)
	}
	unsupported("value for " + kindOf(v))
	return nil
}

// toTensor reads v as an array; a tuple of equal shapes is stacked.
func toTensor(v any) *tensor.Tensor {
	switch v := v.(type) {
	case float64:
		return tensor.Scalar(v)
	case bool:
		return &tensor.Tensor{DType: tensor.Bool, Data: []float64{b2f(v)}}
	case *tensor.Tensor:
		return v
	case tuple:
		parts := make([]*tensor.Tensor, len(v.elems))
		for i, e := range v.elems {
			parts[i] = toTensor(e)
		}
		return stack(parts, 0)
	}
	fail("%s is not a tensor", kindOf(v))
	return nil
}

// simple turns a tensor without axes into the number or bool that it is.
func simple(t *tensor.Tensor) any {
	if len(t.Shape) > 0 {
		return t
	}
	if t.DType == tensor.Bool {
		return t.Data[0] != 0
	}
	return t.Data[0]
}

func b2f(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// truth reads a condition.
func truth(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case float64:
		return v != 0
	case *tensor.Tensor:
		if len(v.Data) == 1 {
			return v.Data[0] != 0
		}
	}
	fail("%s is not a condition", kindOf(v))
	return false
}

// number reads a scalar.
func number(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case bool:
		return b2f(v)
	case *tensor.Tensor:
		if len(v.Data) == 1 {
			return v.Data[0]
		}
	}
	fail("%s is not a number", kindOf(v))
	return 0
}

func integer(v any) int {
	x := number(v)
	if x != math.Trunc(x) || math.Abs(x) > 1<<53 {
		fail("%v is not a whole number", x)
	}
	return int(x)
}

// integers reads a number, a tuple or a vector as whole numbers.
func integers(v any) []int {
	switch v := v.(type) {
	case tuple:
		out := make([]int, len(v.elems))
		for i, e := range v.elems {
			out[i] = integer(e)
		}
		return out
	case *tensor.Tensor:
		out := make([]int, len(v.Data))
		for i, x := range v.Data {
			out[i] = integer(x)
		}
		return out
	}
	return []int{integer(v)}
}

// items takes a tuple or the leading axis of a tensor apart.
func items(v any) []any {
	switch v := v.(type) {
	case tuple:
		return v.elems
	case *tensor.Tensor:
		out := make([]any, v.Shape[0])
		for i := range out {
			out[i] = simple(at(v, i))
		}
		return out
	}
	fail("%s has no axis to walk", kindOf(v))
	return nil
}

// at is t[i] along the leading axis.
func at(t *tensor.Tensor, i int) *tensor.Tensor {
	rest := t.Shape[1:]
	n := rest.Size()
	return &tensor.Tensor{DType: t.DType, Shape: rest, Data: t.Data[i*n : (i+1)*n]}
}

func keys(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
