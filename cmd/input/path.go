package input

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"nabla/tape/tensor"
)

// parsePath splits a path such as layers[0].w; false when s is none.
//
//	path = name { "." name | "[" digits "]" } .
func parsePath(s string) ([]step, bool) {
	var path []step
	rest := s
	for {
		n := nameLen(rest)
		if n == 0 {
			return nil, false
		}
		path = append(path, step{name: rest[:n]})
		rest = rest[n:]
		for len(rest) > 1 && rest[0] == '[' {
			end := 1
			for end < len(rest) && rest[end]-'0' <= 9 {
				end++
			}
			i, err := strconv.Atoi(rest[1:end])
			if err != nil || end == len(rest) || rest[end] != ']' {
				return nil, false
			}
			path = append(path, step{index: i})
			rest = rest[end+1:]
		}
		if rest == "" {
			return path, true
		}
		if rest[0] != '.' {
			return nil, false
		}
		rest = rest[1:]
	}
}

// nameLen is the length of the name that s begins with: letters of any script, digits and _.
func nameLen(s string) int {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsMark(r) && (i == 0 || !unicode.IsDigit(r)) {
			return i
		}
	}
	return len(s)
}

// Resolve finds the value at a path such as model.w or p[0]. A name that is itself
// written with dots, as in an archive, is found first.
func Resolve(vars []Variable, path string) (*tensor.Value, bool) {
	for _, v := range vars {
		if v.Name == path {
			return v.Value, true
		}
	}
	steps, ok := parsePath(path)
	if !ok {
		return nil, false
	}
	for _, v := range vars {
		if v.Name == steps[0].name {
			return descend(v.Value, steps[1:])
		}
	}
	return nil, false
}

// descend follows a path into a value.
func descend(v *tensor.Value, path []step) (*tensor.Value, bool) {
	for _, s := range path {
		switch {
		case s.name != "" && v.Kind == tensor.KindRecord:
			if v = v.Get(s.name); v == nil {
				return nil, false
			}
		case s.name == "" && v.Kind == tensor.KindList && s.index < len(v.List):
			v = v.List[s.index]
		default:
			return nil, false
		}
	}
	return v, true
}

// place adds a value under a name. A dotted name such as layer1.w builds, or joins, the
// record layer1. It says what is wrong when something stands there already.
func (d *Document) place(name string, v *tensor.Value, from string) (problem string) {
	root, path := name, []step(nil)
	if strings.ContainsAny(name, ".[") {
		if steps, ok := parsePath(name); ok {
			root, path = steps[0].name, steps[1:]
		}
	}
	at, ok := d.find(root)
	if !ok {
		if len(path) > 0 {
			leaf := v
			v = new(tensor.Value)
			if problem := d.graft(v, path, leaf); problem != "" {
				return problem
			}
		}
		d.Vars = append(d.Vars, variable(root, v, from))
		return ""
	}
	old := &d.Vars[at]
	if problem := d.graft(old.Value, path, v); problem != "" {
		if problem == taken {
			return twice(name, old.From, from)
		}
		return problem
	}
	if part := variable(name, v, from); part.Trainable {
		old.Trainable, old.Const = true, false
	}
	return ""
}

// badName says why a name would not be seen as one: it is empty, or something in it would give
// orders to a terminal, or write over other text there; or "".
func badName(name string) string {
	if name == "" {
		return "a name is empty"
	}
	for _, r := range name {
		if r >= ' ' && r < 0x7f {
			continue
		}
		if unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return fmt.Sprintf("the name %s has the character U+%04X, which cannot be seen", quote(name), r)
		}
	}
	return ""
}

// Has reports whether there is a value for a name, or for a part of it: an archive may write
// layer1.w.
func (d *Document) Has(name string) bool {
	if _, ok := d.find(name); ok {
		return true
	}
	return slices.ContainsFunc(d.Vars, func(v Variable) bool {
		rest, ok := strings.CutPrefix(v.Name, name)
		return ok && strings.HasPrefix(rest, ".")
	})
}

// find is the index of a variable. Past a few, a map keeps a document of many names linear.
func (d *Document) find(name string) (int, bool) {
	const few = 16
	if len(d.Vars) <= few {
		i := slices.IndexFunc(d.Vars, func(v Variable) bool { return v.Name == name })
		return i, i >= 0
	}
	if d.index == nil {
		d.index = make(map[string]int)
	}
	for i := len(d.index); i < len(d.Vars); i++ {
		d.index[d.Vars[i].Name] = i
	}
	i, ok := d.index[name]
	return i, ok
}

// field is the field of a record, or nil. Past a few, a map keeps records of many dotted names linear.
func (d *Document) field(root *tensor.Value, name string) *tensor.Value {
	const few = 16
	if len(root.Fields) <= few {
		return root.Get(name)
	}
	index := d.fields[root]
	if index == nil {
		if d.fields == nil {
			d.fields = map[*tensor.Value]map[string]int{}
		}
		index = map[string]int{}
		d.fields[root] = index
	}
	for i := len(index); i < len(root.Fields); i++ {
		index[root.Fields[i].Name] = i
	}
	if i, ok := index[name]; ok {
		return root.Fields[i].Value
	}
	return nil
}

const taken = "taken"

// mostHoles is how many entries of a list may be left out.
const mostHoles = 1 << 16

// graft puts v at path below root, making records and lists on the way. A list grows by one at a
// time, unless parts may be left out.
func (d *Document) graft(root *tensor.Value, path []step, v *tensor.Value) (problem string) {
	if len(path) == 0 {
		if root.Kind != tensor.KindNone {
			return taken
		}
		*root = *v
		return ""
	}
	s := path[0]
	if s.name != "" {
		if root.Kind == tensor.KindNone {
			root.Kind = tensor.KindRecord
		}
		if root.Kind != tensor.KindRecord {
			return taken
		}
		next := d.field(root, s.name)
		if next == nil {
			next = new(tensor.Value)
			if problem := d.graft(next, path[1:], v); problem != "" {
				return problem
			}
			root.Fields = append(root.Fields, tensor.Field{Name: s.name, Value: next})
			return ""
		}
		return d.graft(next, path[1:], v)
	}
	if root.Kind == tensor.KindNone {
		root.Kind, root.Open = tensor.KindList, d.partial
	}
	if root.Kind != tensor.KindList {
		return taken
	}
	if n := len(root.List); s.index > n && !(d.partial && s.index < mostHoles) {
		return "entry " + strconv.Itoa(n) + " of the list must come before entry " + strconv.Itoa(s.index)
	}
	for len(root.List) <= s.index {
		root.List = append(root.List, new(tensor.Value))
	}
	return d.graft(root.List[s.index], path[1:], v)
}

// twice says that a name has two values.
func twice(name, a, b string) string {
	if a == b {
		return quoteName(name) + " is given twice"
	}
	return quoteName(name) + " is given twice: " + a + " and " + b
}

// partOf finds the part of v at a path, which begins with a field of v. A field of just that
// name comes first, whatever signs are in it.
func partOf(v *tensor.Value, path string) (*tensor.Value, bool) {
	for _, f := range v.Fields {
		if f.Name == path {
			return f.Value, true
		}
	}
	steps, ok := parsePath(path)
	if !ok {
		return nil, false
	}
	return descend(v, steps)
}

// partText is the text of a part of a JSON document, nil where there is none; valid says whether the
// document is one.
func partText(text []byte, path string) (part []byte, valid bool) {
	if !json.Valid(text) {
		return nil, false
	}
	steps, ok := parsePath(path)
	for _, s := range steps {
		var fields map[string]json.RawMessage
		var list []json.RawMessage
		switch {
		case s.name != "" && json.Unmarshal(text, &fields) == nil && fields[s.name] != nil:
			text = fields[s.name]
		case s.name == "" && json.Unmarshal(text, &list) == nil && s.index < len(list):
			text = list[s.index]
		default:
			return nil, true
		}
	}
	if !ok {
		return nil, true
	}
	return text, true
}
