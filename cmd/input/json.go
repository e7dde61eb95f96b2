// Package input turns what a user supplies into tensors: JSON documents, NPY and
// NPZ files, tables of numbers, and assignments such as x=[1,2] on the command line.
// Nothing is guessed: what is not a number, not rectangular or given twice is an
// error with its file, path and place.
package input

import (
	"cmp"
	"slices"
	"strings"

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

	index   map[string]int                   // of Vars by name, once there are many
	fields  map[*tensor.Value]map[string]int // of records that grow by dotted names, once there are many
	partial bool                             // entries of lists may be left out
}

// Options bound a reader. The zero value has sensible bounds.
type Options struct {
	MaxBytes int64 // of one file, or of one line with Lines
	Threads  int   // that read a text; one, if it is 0
}

const maxDepth = 1000 // of objects and lists

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
	return readJSON(name, text, 1)
}

func readJSON(name string, text []byte, threads int) (doc *Document, err error) {
	return (&parser{file: name, first: 1, b: text, threads: threads}).read()
}

// readJSONValue reads a text that is one value; path is what messages call it.
func readJSONValue(name, path string, text []byte, threads int) (v *tensor.Value, err error) {
	p := &parser{file: name, first: 1, b: text, path: []step{{name: path}}, threads: threads}
	defer p.catch(&err)
	p.begin()
	v = p.value()
	p.finish()
	return v, nil
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
	count [tensor.MaxRank + 1]int // elements read so far
	dims  [tensor.MaxRank + 1]int // elements expected; unknown before the first array of the depth has ended
	mixed int                     // where it turns from numbers to booleans or back, or none

	arena   []float64 // the unused rest of the block that tensors are cut from
	numbers int       // numbers that may still come; -1 before they are counted
	lists   bitset    // where arrays begin that hold an object; nil before anyone asked
	threads int       // that read numbers ahead, this one among them
	ahead   ahead

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
	p.i, p.path, p.depth, p.lists, p.arena, p.ahead.end = 0, p.path[:0], 0, nil, nil, 0
	p.pool.again()
	p.begin()
	switch c := p.b[p.i]; {
	case c == '[':
		p.fail(p.i, "the document is an array, and an object is needed", `write {"x": […]}`)
	case c == '-' || c-'0' <= 9:
		p.fail(p.i, "the document is a number, and an object is needed", `write {"x": …}`)
	case c == '"':
		p.fail(p.i, "the document is a string, and an object is needed", `write {"x": …}`)
	case c|0x20 >= 'a' && c|0x20 <= 'z': // x=3, or the head of a table
		p.unexpected(p.i, "where an object should begin", `write {"x": …}`)
	case c != '{':
		p.unexpected(p.i, "where an object should begin", "")
	}
	doc = p.document()
	p.finish()
	return doc, nil
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
			p.fail(p.i, NotProgram, WriteProgram)
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

// none is the place of what stands nowhere.
const none = -1

// variable reads the value of a name and adds it to doc.
func (p *parser) variable(doc *Document, name string, at int) {
	v := p.value()
	if err := doc.place(name, v, p.file); err != "" {
		p.path = nil
		p.fail(at, err, "")
	}
}

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
		p.fail(p.i, NotProgram, WriteProgram)
	case "values":
		p.fail(p.i, "values is an object of names and values", `write "values": {"x": 3}`)
	case "wrt", "of":
		p.fail(p.i, key+" is a list of names", `write "`+key+`": ["x", "y"]`)
	}
	p.fail(at, "unknown key "+quote(key)+" beside expr, values, wrt, of and with",
		cmp.Or(didYouMean(key, questionKeys), `variables stand under "values"`))
}

// NotProgram is what is wrong with an expr that is anything else, WriteProgram the hint.
const (
	NotProgram   = "expr is a program in quotes"
	WriteProgram = `write "expr": "x^2"`
)

// didYouMean is the hint for a key that nearly is one of some, or is what others call it; or "".
func didYouMean(key string, keys []string) string {
	if slices.Contains(keys, "expr") && elsewhere[key] != "" {
		return `write "` + elsewhere[key] + `"`
	}
	return expr.DidYouMean(key, keys)
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

// namesNext reports whether a list of names follows: a string, or an array that is empty or begins with one.
func (p *parser) namesNext() bool {
	if p.peek() == '"' {
		return true
	}
	if p.peek() != '[' {
		return false
	}
	i := afterSpace(p.b, p.i+1)
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

// variable makes a Variable of v.
func variable(name string, v *tensor.Value, from string) Variable {
	if v.Kind == tensor.KindTensor { // most are
		return Variable{Name: name, Value: v, Trainable: v.Frozen == "", From: from}
	}
	trainable := false
	v.Leaves("", func(_ string, leaf *tensor.Value) { trainable = trainable || leaf.Frozen == "" })
	return Variable{Name: name, Value: v, Trainable: trainable, From: from}
}
