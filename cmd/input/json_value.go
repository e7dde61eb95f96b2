package input

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"nabla/expr"
	"nabla/tape/tensor"
)

// value = number | tensor | object | list .
func (p *parser) value() *tensor.Value {
	switch p.peek() {
	case '{':
		return p.object()
	case '[':
		v := p.array()
		if p.mixed != none {
			p.fail(p.mixed, mixes, "")
		}
		return v
	}
	return p.scalar()
}

const mixes = "numbers and booleans mix"

// scalar is a tensor of shape ().
func (p *parser) scalar() *tensor.Value {
	f, end, ok := number(p.b, p.i)
	isBool := false
	if !ok {
		f, isBool, end = p.word(p.i, 0)
	} else if f-f != 0 {
		p.outOfRange(p.i, end, 0)
	}
	p.i = end
	p.glued()
	x := p.pool.leaf()
	x.one[0] = f
	x.tensor.Data = x.one[:]
	if isBool {
		x.tensor.DType = tensor.Bool
	}
	return &x.value
}

// list = "[" value { "," value } "]" .
func (p *parser) list() *tensor.Value {
	v := p.pool.value(tensor.KindList)
	p.elements(func() { v.List = append(v.List, p.value()) })
	return v
}

// An object is what is read of an object before it is known whether it is a tensor.
type object struct {
	record    *tensor.Value
	dtype     string
	trainable bool
	mixed     int // where data turns from numbers to booleans or back, or none

	// Where the keys of a tensor stand, and the first other one; 0 when they do not, as the brace comes first.
	dataAt, dtypeAt, shapeAt, otherAt int
}

// object is a record, or a tensor when it has the key "data". "trainable": false in
// a record stands for all its leaves.
func (p *parser) object() *tensor.Value {
	at := p.i
	o := object{record: p.pool.value(tensor.KindRecord), trainable: true, mixed: none}
	p.fields(func(key string, keyAt int) { p.member(&o, key, keyAt) })
	frozen := ""
	if !o.trainable {
		frozen = "trainable is false in " + p.file
	}
	if o.dataAt == 0 {
		if o.dtypeAt > 0 {
			p.fail(at, "a dtype without data", `write {"data": …, "dtype": "`+o.dtype+`"}`)
		}
		freeze(o.record, frozen)
		return o.record
	}
	end := p.i
	data := p.tensorOf(&o)
	p.i = end
	data.Frozen = frozen
	return data
}

// member reads the value of a key of an object.
func (p *parser) member(o *object, key string, keyAt int) {
	c := p.peek()
	switch {
	case key == "dtype" && c == '"':
		o.dtypeAt = p.i
		o.dtype = p.str()
		return
	case key == "trainable" && (c == 't' || c == 'f'):
		from := p.i
		t := p.scalar().Tensor
		if t.DType != tensor.Bool {
			p.fail(from, "trainable is true or false", "")
		}
		o.trainable = t.Item() != 0
		return
	case key == "trainable" && c == '"' && nonFinite(p.b[p.i:]) == nil:
		p.fail(p.i, "trainable is true or false, without quotes", "")
	case key == "shape" && c == '"' && nonFinite(p.b[p.i:]) == nil:
		p.fail(p.i, "a shape is a list of sizes such as [2, 3]", "")
	case key == "data":
		o.dataAt = p.i
	case key == "shape":
		o.shapeAt = p.i
	case o.otherAt == 0:
		o.otherAt = keyAt
	}
	p.misspelt(key, tensorKeys)
	var v *tensor.Value
	if key == "data" && c == '[' {
		v = p.array() // numbers and booleans may mix where a dtype says what they are
		o.mixed = p.mixed
	} else {
		v = p.value()
	}
	o.record.Fields = append(o.record.Fields, tensor.Field{Name: key, Value: v})
}

// tensorOf is the tensor that an object with the key "data" is.
func (p *parser) tensorOf(o *object) *tensor.Value {
	if o.otherAt > 0 {
		p.i = o.otherAt
		key := p.str()
		switch key {
		case "dtype":
			p.fail(o.otherAt, "a dtype is one of float64, float32, int64 and bool, in quotes", "")
		case "trainable":
			p.fail(o.otherAt, "trainable is true or false", "")
		}
		p.fail(o.otherAt, "unknown key "+quote(key)+" beside data; a tensor has data, shape, dtype and trainable",
			expr.DidYouMean(key, tensorKeys))
	}
	data := o.record.Get("data")
	if data.Kind != tensor.KindTensor {
		p.fail(o.dataAt, "data is not one tensor: an object stands in it", "", step{name: "data"})
	}
	t := data.Tensor
	if o.mixed != none && o.dtypeAt == 0 {
		p.fail(o.mixed, mixes, "", step{name: "data"})
	}
	nested := t.Shape
	if o.shapeAt > 0 {
		t.Shape = p.shape(t, o.record.Get("shape"), o.shapeAt)
	}
	if o.dtypeAt > 0 {
		p.convert(t, nested, o.dtype, o.dtypeAt, o.dataAt)
		data.Said = true
	}
	return data
}

// shape is the shape that at says, if t's numbers fit it.
func (p *parser) shape(t *tensor.Tensor, v *tensor.Value, at int) tensor.Shape {
	if v.Kind != tensor.KindTensor || len(v.Tensor.Shape) != 1 {
		p.fail(at, "a shape is a list of sizes such as [2, 3]", "", step{name: "shape"})
	}
	s := make(tensor.Shape, v.Tensor.Size())
	for i, f := range v.Tensor.Data {
		if !(f >= 0) || f != math.Trunc(f) || v.Tensor.DType != tensor.Float64 {
			p.fail(p.element(at, i), "a size is a whole number that is not negative", "", step{name: "shape"}, step{index: i})
		}
		if f > min(1<<53, math.MaxInt) {
			p.fail(p.element(at, i), "a size of "+strconv.FormatFloat(f, 'g', -1, 64)+" is too large", "", step{name: "shape"}, step{index: i})
		}
		s[i] = int(f)
	}
	n, ok := s.CheckedSize()
	switch {
	case len(s) > tensor.MaxRank:
		p.fail(at, fmt.Sprintf("a tensor has at most %d axes", tensor.MaxRank), "", step{name: "shape"})
	case !ok:
		p.fail(at, "shape "+s.String()+" is too large", "", step{name: "shape"})
	case n != t.Size():
		p.fail(at, fmt.Sprintf("shape %v takes %s, and data has %d", s, expr.Plural(n, "number"), t.Size()), "", step{name: "shape"})
	case len(t.Shape) > 1 && !t.Shape.Equal(s) && !begins(s, t.Shape):
		p.fail(at, fmt.Sprintf("data has shape %v, and shape says %v", t.Shape, s), "", step{name: "shape"})
	}
	return s
}

// begins reports whether lists nested as nested, which end at a size of 0, may be of shape s:
// behind it nothing is written.
func begins(s, nested tensor.Shape) bool {
	n := len(nested)
	return n < len(s) && nested[n-1] == 0 && nested.Equal(s[:n])
}

// convert makes t, whose data stands nested in the text, a tensor of the dtype that at names.
func (p *parser) convert(t *tensor.Tensor, nested tensor.Shape, name string, at, dataAt int) {
	d, ok := tensor.ParseDType(name)
	if !ok {
		p.fail(at, quote(name)+" is not a dtype: float64, float32, int64 or bool",
			expr.DidYouMean(name, []string{"float64", "float32", "int64", "bool"}), step{name: "dtype"})
	}
	i, why := cast(t, d)
	if i < 0 {
		if i, why = p.rounded(t, dataAt); i < 0 {
			return
		}
	}
	path := make([]step, 1+len(nested))
	path[0].name = "data"
	for a, k := len(nested), i; a > 0; a-- {
		path[a].index = k % nested[a-1]
		k /= nested[a-1]
	}
	place := p.element(dataAt, i)
	hint := ""
	if why == beyond {
		hint = `without "dtype": "int64" it is read as the nearest float64`
	}
	p.fail(place, clip(p.token(place))+" "+why, hint, path...)
}

// rounded finds a whole number that became 2^53 when it was read, and was more.
func (p *parser) rounded(t *tensor.Tensor, at int) (bad int, why string) {
	if t.DType != tensor.Int64 {
		return none, ""
	}
	last := 0 // whose text begins at at
	for i, f := range t.Data {
		if math.Abs(f) != 1<<53 {
			continue
		}
		at, last = p.element(at, i-last), i
		text, _, _ := strings.Cut(string(p.token(at)), ".0")
		if strings.TrimPrefix(text, "-") != "9007199254740992" {
			return i, beyond
		}
	}
	return none, ""
}

const beyond = "is beyond 2^53, where whole numbers are no longer exact"

// cast rounds t to d. When an element does not fit, it says which, and why.
func cast(t *tensor.Tensor, d tensor.DType) (bad int, why string) {
	for i, f := range t.Data {
		switch d {
		case tensor.Float32:
			r := float64(float32(f))
			if r-r != 0 && f-f == 0 {
				return i, "is out of range of float32"
			}
			t.Data[i] = r
		case tensor.Int64:
			if f > 1<<53 || f < -1<<53 {
				return i, beyond
			}
			if f != math.Trunc(f) || f != f {
				return i, "is not a whole number, as int64 wants"
			}
			t.Data[i] = f + 0 // -0 is no integer
		case tensor.Bool:
			if f != 0 && f != 1 {
				return i, "is neither true nor false, 1 nor 0"
			}
			t.Data[i] = f + 0
		}
	}
	t.DType = d
	return none, ""
}

// element finds where the i-th number stands in the tensor that begins at at.
func (p *parser) element(at, i int) int {
	inside := false
	for ; at < len(p.b); at++ {
		switch c := p.b[at]; {
		case isSpace(c) || c == ',' || c == '[' || c == ']':
			inside = false
		case !inside:
			if i == 0 {
				return at
			}
			i--
			inside = true
		}
	}
	return at
}

// freeze marks every leaf of v, unless why is "".
func freeze(v *tensor.Value, why string) {
	if why != "" {
		v.Leaves("", func(_ string, leaf *tensor.Value) { leaf.Frozen = why })
	}
}
