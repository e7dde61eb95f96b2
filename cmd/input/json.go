// Package input turns what a user supplies into tensors: JSON documents, NPY and
// NPZ files, tables of numbers, and assignments such as x=[1,2] on the command line.
// Nothing is guessed: what is not a number, not rectangular or given twice is an
// error with its file, path and place.
package input

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"nabla/expr"
	"nabla/tape/tensor"
)

// A Variable is one named input.
type Variable struct {
	Name      string
	Value     *tensor.Value
	Trainable bool   // some leaf is not frozen
	Const     bool   // given as a constant: no leaf is trainable
	From      string // where it came from, as a message says it: "data.json", "--at x=3"
}

// A Document is a question, or the part of one that a file holds.
type Document struct {
	Name    string // of the file; of several, the one with the expression
	Expr    string
	HasExpr bool
	Vars    []Variable // in order of appearance
	Wrt, Of []string
	With    *tensor.Value // a record by source, or one value; nil when there is none
	Notes   []string      // what the user should know though all was read

	index map[string]int // of Vars by name, once there are many
}

// Options bound a reader. The zero value has sensible bounds.
type Options struct {
	MaxBytes int64 // of one file, or of one line with Lines
}

const (
	maxDepth = 1000 // of objects and lists
	maxRank  = 64   // of a tensor
)

// ReadJSON reads a document: a map of names to values, or a question
//
//	{"expr": …, "values": {…}, "wrt": […], "of": […], "with": …}
//
// which is told from a map by an "expr" that is a string or "values" that are an object.
//
//	value  = number | tensor | object | list .
//	tensor = "[" [ element { "," element } ] "]" .            numbers, or tensors of one shape
//	object = { "data": tensor, "shape", "dtype", "trainable" } | a record of values .
//	list   = "[" value { "," value } "]" .                    when an object stands anywhere inside
func ReadJSON(name string, text []byte) (doc *Document, err error) {
	return (&parser{file: name, first: 1, b: text}).read()
}

// readJSONValue reads a text that is one value; path is what messages call it.
func readJSONValue(name, path string, text []byte) (v *tensor.Value, err error) {
	p := &parser{file: name, first: 1, b: text, path: []step{{name: path}}}
	defer p.catch(&err)
	p.begin()
	v = p.value()
	p.finish()
	return v, nil
}

// A parser reads one text, in one pass. It bails out by panic with a *Error.
type parser struct {
	file  string
	first int   // the line of the file on which b begins
	base  int64 // where in the file b begins
	b     []byte
	i     int
	path  []step // to the value being read
	depth int

	// Of the tensor being read, by depth, the outermost array being 1:
	count [maxRank + 1]int // elements read so far
	dims  [maxRank + 1]int // elements expected; unknown before the first array of the depth has ended
	mixed int              // where it turns from numbers to booleans or back, or none

	arena   []float64 // the unused rest of the block that tensors are cut from
	numbers int       // numbers that may still come; -1 before they are counted
	lists   bitset    // where arrays begin that hold an object; nil before anyone asked

	pool *pool // what documents are made of; nil when each keeps its own
}

// A step is one part of a path: a field, or with no name an index.
type step struct {
	name  string
	index int
}

// read reads a document. It begins anew each time, in the memory it has.
func (p *parser) read() (doc *Document, err error) {
	defer p.catch(&err)
	p.i, p.path, p.depth, p.lists, p.arena = 0, p.path[:0], 0, nil, nil
	p.pool.again()
	p.begin()
	switch c := p.b[p.i]; {
	case c == '[':
		p.fail(p.i, "the document is an array, and an object is needed", `write {"x": […]}`)
	case c == '-' || c-'0' <= 9:
		p.fail(p.i, "the document is a number, and an object is needed", `write {"x": …}`)
	case c == '"':
		p.fail(p.i, "the document is a string, and an object is needed", `write {"x": …}`)
	case c != '{':
		p.unexpected(p.i, "where an object should begin", "")
	}
	doc = p.document()
	p.finish()
	return doc, nil
}

// catch turns a panic with an *Error into a return.
func (p *parser) catch(err *error) {
	switch e := recover().(type) {
	case nil:
	case *Error:
		*err = e
	default:
		panic(e)
	}
}

// fail stops with an error at byte at; more steps follow the path that leads there.
func (p *parser) fail(at int, msg, hint string, more ...step) {
	panic(p.fault(at, msg, hint, more...))
}

func (p *parser) fault(at int, msg, hint string, more ...step) *Error {
	e := &Error{File: p.file, Path: pathString(append(p.path, more...)), Msg: msg, Hint: hint}
	e.locate(p.b, at, p.first, p.base)
	return e
}

func pathString(path []step) string {
	var s strings.Builder
	for i, at := range path {
		switch {
		case at.name == "" && i > 0:
			fmt.Fprintf(&s, "[%d]", at.index)
		case i > 0:
			s.WriteByte('.')
			fallthrough
		default:
			s.WriteString(at.name)
		}
	}
	return s.String()
}

// begin skips what may stand before a value and refuses what can hold none.
func (p *parser) begin() {
	p.numbers = -1
	if bytes.HasPrefix(p.b, []byte("\ufeff")) {
		p.i = 3
	}
	if problem := Encoding(p.b); problem != "" {
		p.fail(0, problem, "")
	}
	p.space()
	if p.i == len(p.b) {
		p.fail(p.i, "the document is empty", "")
	}
}

// Encoding is what is wrong with the encoding that a text begins with, or "".
func Encoding(text []byte) string {
	if bytes.HasPrefix(text, []byte{0xff, 0xfe, 0, 0}) {
		return "the text is UTF-32, and UTF-8 is needed"
	}
	if bytes.HasPrefix(text, []byte{0xff, 0xfe}) || bytes.HasPrefix(text, []byte{0xfe, 0xff}) {
		return "the text is UTF-16, and UTF-8 is needed"
	}
	return ""
}

// finish refuses what follows the document.
func (p *parser) finish() {
	p.space()
	if p.i < len(p.b) {
		p.path = nil
		hint := ""
		if p.b[p.i] == '{' {
			hint = "with --each every line is a document"
		}
		p.glued()
		p.unexpected(p.i, "after the document", hint)
	}
}

func (p *parser) space() {
	for p.i < len(p.b) && isSpace(p.b[p.i]) {
		p.i++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// peek is the next byte that is no space, or 0 at the end.
func (p *parser) peek() byte {
	p.space()
	if p.i == len(p.b) {
		return 0
	}
	return p.b[p.i]
}

// document = "{" [ name ":" value { "," name ":" value } ] "}" .
func (p *parser) document() *Document {
	doc := p.pool.document()
	doc.Name = p.file
	question := false
	stray, named, with := none, none, 0 // where a name stands that is no part of a question, where a list of names; with's place
	p.fields(func(key string, at int) {
		switch {
		case key == "expr" && p.peek() == '"':
			doc.Expr, doc.HasExpr, question = p.str(), true, true
		case key == "values" && p.peek() == '{':
			question = true
			was := p.path
			p.path = p.path[len(p.path):] // a variable's path begins with its own name
			p.fields(func(key string, at int) { p.variable(doc, key, at) })
			p.path = was
		case (key == "wrt" || key == "of") && p.namesNext():
			named = at
			if list := p.names(); key == "wrt" {
				doc.Wrt = list
			} else {
				doc.Of = list
			}
		case key == "with":
			// In a plain map this is a variable like any other; which it is, the end tells.
			doc.With, with = p.value(), len(doc.Vars)
		case question:
			p.stray(at)
		case key == "expr" && (p.peek() == 'n' || p.peek() == '[' && p.namesNext()):
			p.path = nil
			p.fail(p.i, NotProgram, `write "expr": "x^2"`)
		default:
			p.misspelt(key, questionKeys)
			if stray == none {
				stray = at
			}
			p.variable(doc, key, at)
		}
	})
	p.path = p.path[:0]
	switch {
	case question && stray != none:
		p.stray(stray)
	case !question && named != none:
		p.fail(named, "a list of names beside values", `put the values under "values": {"values": {"x": 3}, "wrt": ["x"]}`)
	case !question && doc.With != nil:
		doc.Vars = slices.Insert(doc.Vars, with, variable("with", doc.With, p.file))
		doc.With, doc.index = nil, nil
	}
	return doc
}

var (
	questionKeys = []string{"expr", "values", "wrt", "of", "with"}
	tensorKeys   = []string{"data", "shape", "dtype", "trainable"}

	// elsewhere says what keys of a question are called by who has not read how they are called.
	elsewhere = map[string]string{
		"program": "expr", "expression": "expr", "formula": "expr", "code": "expr", "function": "expr",
		"at": "values", "inputs": "values", "vars": "values", "variables": "values", "params": "values",
		"sources": "wrt", "by": "wrt", "targets": "of", "target": "of", "tangent": "with", "tangents": "with", "vector": "with",
	}
)

// NotProgram is what is wrong with an expr that is anything else.
const NotProgram = "expr is a program in quotes"

// none is the place of what stands nowhere.
const none = -1

// stray stops at the key that begins at at, which belongs to no question.
func (p *parser) stray(at int) {
	p.i = at
	key := p.str()
	p.path = nil
	if p.peek() == ':' {
		p.i++
	}
	p.space()
	switch key {
	case "expr":
		p.fail(p.i, NotProgram, `write "expr": "x^2"`)
	case "values":
		p.fail(p.i, "values is an object of names and values", `write "values": {"x": 3}`)
	case "wrt", "of":
		p.fail(p.i, key+" is a list of names", `write "`+key+`": ["x", "y"]`)
	}
	p.fail(at, "unknown key "+quote(key)+" beside expr, values, wrt, of and with",
		cmp.Or(didYouMean(key, questionKeys), `variables stand under "values"`))
}

// didYouMean is the hint for a key that nearly is one of some, or is what others call it; or "".
func didYouMean(key string, keys []string) string {
	if slices.Contains(keys, "expr") && elsewhere[key] != "" {
		return `write "` + elsewhere[key] + `"`
	}
	return expr.DidYouMean(key, keys)
}

// variable reads the value of a name and adds it to doc.
func (p *parser) variable(doc *Document, name string, at int) {
	v := p.value()
	if err := doc.place(name, v, p.file); err != "" {
		p.path = nil
		p.fail(at, err, "")
	}
}

// fields reads an object, calling field after each key; the path then ends with that key.
func (p *parser) fields(field func(key string, at int)) {
	p.enter()
	p.i++ // {
	var seen names
	for first := true; ; first = false {
		c := p.peek()
		if c == '}' && first {
			break
		}
		at := p.i
		if c != '"' {
			p.badKey()
		}
		key := p.str()
		if problem := unsafeName(key); problem != "" {
			p.fail(at, problem, "")
		}
		p.path = append(p.path, step{name: key})
		if !seen.add(key) {
			name := quoteName(pathString(p.path))
			p.path = nil
			p.fail(at, name+" is given twice", "")
		}
		if p.peek() != ':' {
			p.unexpected(p.i, "where a ':' should follow the name "+quote(key), "")
		}
		p.i++
		field(key, at)
		p.path = p.path[:len(p.path)-1]
		c = p.peek()
		if c == '}' {
			break
		}
		if c != ',' {
			p.glued()
			p.unexpected(p.i, "where a ',' or '}' should stand", p.missingComma())
		}
		p.i++
	}
	p.i++ // }
	p.depth--
}

// Distinct refuses a name that stands twice in one object of a text that is JSON, in which NaN
// and the infinities may stand bare: package json would keep the last one.
func Distinct(name string, text []byte) (err error) {
	p := &parser{file: name, first: 1, b: text}
	defer p.catch(&err)
	p.begin()
	p.skip()
	return nil
}

// skip passes over a value that is known to be well-formed.
func (p *parser) skip() {
	switch p.peek() {
	case '{':
		p.fields(func(string, int) { p.skip() })
	case '[':
		p.enter()
		for p.i++; p.peek() != ']'; {
			if p.skip(); p.peek() == ',' {
				p.i++
			}
		}
		p.i++
		p.depth--
	case '"':
		p.str()
	default:
		p.i += len(p.token(p.i))
	}
}

// enter counts the depth of objects and lists.
func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.path = p.path[:min(1, len(p.path))]
		p.fail(p.i, fmt.Sprintf("objects and lists nest deeper than %d", maxDepth), "")
	}
}

func quoteName(s string) string {
	if s == "" {
		return `""`
	}
	return printable(s)
}

// badKey stops where a key should stand.
func (p *parser) badKey() {
	switch c := p.peek(); {
	case c == '\'':
		p.unexpected(p.i, "where a name should stand", "a name stands in double quotes")
	case c == '}':
		p.fail(p.i, "unexpected '}' after a comma", "remove the comma")
	case c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z':
		p.unexpected(p.i, "where a name should stand", "a name stands in double quotes")
	}
	p.unexpected(p.i, "where a name should stand", "")
}

// missingComma is the hint when a value follows a value.
func (p *parser) missingComma() string {
	switch c := p.peek(); {
	case c == '"' || c == '[' || c == '{' || c == '-' || c-'0' <= 9:
		return "a comma is missing"
	case c == '=':
		return "a ':' stands between name and value"
	}
	return ""
}

// A names finds out which name comes twice: by looking at all of a few, by a map when there are many.
type names struct {
	few  [8]string
	n    int // names in few, while many is nil
	many map[string]bool
}

// add adds a name, or returns false when it is there already.
func (s *names) add(name string) bool {
	if s.many == nil {
		if slices.Contains(s.few[:s.n], name) {
			return false
		}
		if s.n < len(s.few) {
			s.few[s.n] = name
			s.n++
			return true
		}
		s.many = make(map[string]bool)
		for _, old := range s.few {
			s.many[old] = true
		}
	}
	if s.many[name] {
		return false
	}
	s.many[name] = true
	return true
}

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

// elements reads an array that is not empty, calling element at each of its values.
func (p *parser) elements(element func()) {
	p.enter()
	p.i++ // [
	for n := 0; ; n++ {
		p.path = append(p.path, step{index: n})
		element()
		p.path = p.path[:len(p.path)-1]
		c := p.peek()
		if c == ']' {
			break
		}
		if c != ',' {
			p.glued()
			p.unexpected(p.i, "where a ',' or ']' should stand", p.missingComma())
		}
		p.i++
	}
	p.i++ // ]
	p.depth--
}

// object is a record, or a tensor when it has the key "data". "trainable": false in
// a record stands for all its leaves.
func (p *parser) object() *tensor.Value {
	at := p.i
	v := p.pool.value(tensor.KindRecord)
	var dtype string
	var dataAt, dtypeAt, shapeAt, otherAt int // where these stand; 0 when they do not, as the brace comes first
	trainable, mixed := true, none
	p.fields(func(key string, keyAt int) {
		c := p.peek()
		switch {
		case key == "dtype" && c == '"':
			dtypeAt = p.i
			dtype = p.str()
			return
		case key == "trainable" && (c == 't' || c == 'f'):
			from := p.i
			t := p.scalar().Tensor
			if t.DType != tensor.Bool {
				p.fail(from, "trainable is true or false", "")
			}
			trainable = t.Item() != 0
			return
		case key == "trainable" && c == '"' && nonFinite(p.b[p.i:]) == nil:
			p.fail(p.i, "trainable is true or false, without quotes", "")
		case key == "shape" && c == '"' && nonFinite(p.b[p.i:]) == nil:
			p.fail(p.i, "a shape is a list of sizes such as [2, 3]", "")
		case key == "data":
			dataAt = p.i
		case key == "shape":
			shapeAt = p.i
		case otherAt == 0:
			otherAt = keyAt
		}
		p.misspelt(key, tensorKeys)
		var f *tensor.Value
		if key == "data" && c == '[' {
			f = p.array() // numbers and booleans may mix where a dtype says what they are
			mixed = p.mixed
		} else {
			f = p.value()
		}
		v.Fields = append(v.Fields, tensor.Field{Name: key, Value: f})
	})
	end := p.i
	frozen := ""
	if !trainable {
		frozen = "trainable is false in " + p.file
	}
	if dataAt == 0 {
		if dtypeAt > 0 {
			p.fail(at, "a dtype without data", `write {"data": …, "dtype": "`+dtype+`"}`)
		}
		freeze(v, frozen)
		return v
	}
	if otherAt > 0 {
		p.i = otherAt
		key := p.str()
		switch key {
		case "dtype":
			p.fail(otherAt, "a dtype is one of float64, float32, int64 and bool, in quotes", "")
		case "trainable":
			p.fail(otherAt, "trainable is true or false", "")
		}
		p.fail(otherAt, "unknown key "+quote(key)+" beside data; a tensor has data, shape, dtype and trainable",
			expr.DidYouMean(key, tensorKeys))
	}
	data := v.Get("data")
	if data.Kind != tensor.KindTensor {
		p.fail(dataAt, "data is not one tensor: an object stands in it", "", step{name: "data"})
	}
	t := data.Tensor
	if mixed != none && dtypeAt == 0 {
		p.fail(mixed, mixes, "", step{name: "data"})
	}
	nested := t.Shape
	if shapeAt > 0 {
		t.Shape = p.shape(t, v.Get("shape"), shapeAt)
	}
	if dtypeAt > 0 {
		p.convert(t, nested, dtype, dtypeAt, dataAt)
	}
	p.i = end
	data.Frozen = frozen
	return data
}

// misspelt stops when a string stands where only a value can, and the key it stands at is
// nearly one that takes a string.
func (p *parser) misspelt(key string, keys []string) {
	if p.peek() != '"' || nonFinite(p.b[p.i:]) != nil {
		return
	}
	at := p.i
	if hint := didYouMean(key, keys); hint != "" {
		p.fail(at, quote(p.str())+" is not a number", hint)
	}
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
	case len(s) > maxRank:
		p.fail(at, fmt.Sprintf("a tensor has at most %d axes", maxRank), "", step{name: "shape"})
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

// variable makes a Variable of v.
func variable(name string, v *tensor.Value, from string) Variable {
	if v.Kind == tensor.KindTensor { // most are
		return Variable{Name: name, Value: v, Trainable: v.Frozen == "", From: from}
	}
	trainable := false
	v.Leaves("", func(_ string, leaf *tensor.Value) { trainable = trainable || leaf.Frozen == "" })
	return Variable{Name: name, Value: v, Trainable: trainable, From: from}
}

// namesNext reports whether a list of names follows: a string, or an array that is empty or begins with one.
func (p *parser) namesNext() bool {
	if p.peek() == '"' {
		return true
	}
	if p.peek() != '[' {
		return false
	}
	i := p.i + 1
	for i < len(p.b) && isSpace(p.b[i]) {
		i++
	}
	return i < len(p.b) && (p.b[i] == '"' || p.b[i] == ']')
}

// names = string | "[" [ string { "," string } ] "]" . A string may hold several, with commas.
func (p *parser) names() (list []string) {
	if p.peek() == '"' {
		at := p.i
		for name := range strings.SplitSeq(p.str(), ",") {
			if name = strings.TrimSpace(name); name == "" {
				p.fail(at, "a name is missing", "")
			}
			list = append(list, name)
		}
		return list
	}
	list = []string{}
	p.i++
	for p.peek() != ']' || len(list) > 0 {
		if p.peek() != '"' {
			p.unexpected(p.i, "where a name should stand", "")
		}
		list = append(list, strings.TrimSpace(p.str()))
		if p.peek() == ']' {
			break
		}
		if p.peek() != ',' {
			p.unexpected(p.i, "where a ',' or ']' should stand", p.missingComma())
		}
		p.i++
	}
	p.i++
	return list
}

// str reads the string that begins at p.i.
func (p *parser) str() string {
	start := p.i + 1
	i := start
	for i < len(p.b) && p.b[i] != '"' && p.b[i] != '\\' && p.b[i] >= ' ' && p.b[i] < utf8.RuneSelf {
		i++
	}
	if i < len(p.b) && p.b[i] == '"' {
		p.i = i + 1
		return p.pool.name(p.b[start:i])
	}
	s := append([]byte(nil), p.b[start:i]...)
	for {
		if i >= len(p.b) {
			p.fail(start-1, "the string that begins here has no end", "")
		}
		switch c := p.b[i]; {
		case c == '"':
			p.i = i + 1
			return string(s)
		case c == '\\':
			s, i = p.escape(s, i)
		case c < ' ':
			p.fail(i, fmt.Sprintf("byte 0x%02x in a string", c), fmt.Sprintf(`write \u%04x`, c))
		case c < utf8.RuneSelf:
			s = append(s, c)
			i++
		default:
			r, n := utf8.DecodeRune(p.b[i:])
			if r == utf8.RuneError && n == 1 {
				p.fail(i, fmt.Sprintf("byte 0x%02x is not UTF-8", c), "")
			}
			s = append(s, p.b[i:i+n]...)
			i += n
		}
	}
}

// escape = "\" ( `"` | "\" | "/" | "b" | "f" | "n" | "r" | "t" | "u" hex hex hex hex ) .
func (p *parser) escape(s []byte, i int) ([]byte, int) {
	if i+1 >= len(p.b) {
		p.fail(i, "the text ends inside a string", "")
	}
	c := p.b[i+1]
	if at := strings.IndexByte(`"\/bfnrt`, c); at >= 0 {
		return append(s, "\"\\/\b\f\n\r\t"[at]), i + 2
	}
	if c != 'u' {
		_, n := utf8.DecodeRune(p.b[i+1:])
		p.fail(i, "unknown escape "+quote(string(p.b[i:i+1+n])), `a backslash is written \\`)
	}
	r := p.hex(i)
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(s, r), i + 6
	}
	if bytes.HasPrefix(p.b[i+6:], []byte(`\u`)) {
		if full := utf16.DecodeRune(r, p.hex(i+6)); full != utf8.RuneError {
			return utf8.AppendRune(s, full), i + 12
		}
	}
	p.fail(i, string(p.b[i:i+6])+" is half of a surrogate pair", "")
	return nil, 0
}

// hex reads the four digits of the \u at i.
func (p *parser) hex(i int) rune {
	if i+6 <= len(p.b) {
		if r, err := strconv.ParseUint(string(p.b[i+2:i+6]), 16, 16); err == nil {
			return rune(r)
		}
	}
	p.fail(i, `four hexadecimal digits should follow \u`, "")
	return 0
}
