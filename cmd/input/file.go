package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"nabla/expr"
	"nabla/output/npy"
	"nabla/tape/tensor"
)

// document reads a file of -i: JSON, or an archive of which every array is a variable.
func (s *Source) document(name string) (*Document, error) {
	in, err := s.look(name)
	if err != nil {
		return nil, err
	}
	defer in.close()
	switch {
	case in.isNPY() || hasExt(name, ".npy"):
		return nil, &Error{File: in.name, Msg: "an NPY file holds one array without a name", Hint: "write --at x=@" + name}
	case in.isNPZ() || hasExt(name, ".npz"):
		return s.archive(in, true)
	}
	named := isFrame(in.head)
	if !named && isTable(in.head) {
		return nil, &Error{File: in.name, Msg: "a table of numbers holds one array without a name", Hint: "write --at x=@" + name}
	}
	if named || calledTable(name, in.head) {
		text, err := in.text()
		if err != nil {
			return nil, err
		}
		f, err := readColumns(in.name, "", "", text)
		if err != nil {
			return nil, in.known(err)
		}
		return f.document()
	}
	if c := firstByte(in.head); c != '{' && c != 0 {
		doc, err := ReadJSON(in.name, in.head)
		return doc, in.known(err)
	}
	text, err := in.text()
	if err != nil {
		return nil, err
	}
	return readJSON(in.name, text, s.Threads)
}

// file reads the value in a file, or the part of it after a colon: @w.npz:layer1.w.
func (s *Source) file(spec, path string) (*tensor.Value, []string, error) {
	name, key, _ := cutPart(spec)
	in, err := s.look(name)
	if err != nil {
		return nil, nil, err
	}
	defer in.close()
	switch {
	case hasExt(name, ".npy") || in.isNPY() && !hasExt(name, ".npz"):
		if key != "" {
			return nil, nil, &Error{File: in.name, Msg: "there is no " + printable(key) + ": an NPY file is one array"}
		}
		t, notes, err := npy.Read(in.binary(), s.MaxBytes)
		if err != nil {
			return nil, nil, in.wrap(err)
		}
		return tensor.Of(t), in.notes(notes), nil
	case hasExt(name, ".npz") || in.isNPZ():
		return s.entry(in, name, key)
	}
	text, err := in.text()
	if err != nil {
		return nil, nil, err
	}
	streamed := name == "-" && key != "" && firstByte(text) != '{' && firstByte(text) != '[' // a column of it
	if streamed && !hasExt(name, ".json") || holdsTable(name, text) {
		return tableOf(in, path, key, text)
	}
	v, err := s.jsonOf(in, spec, path, text)
	return v, nil, err
}

// tableOf is the table in a text, or the column of it that a key names.
func tableOf(in *stream, path, key string, text []byte) (*tensor.Value, []string, error) {
	if key == "" {
		v, notes, err := readTable(in.name, path, text)
		return v, notes, in.known(err)
	}
	f, err := readColumns(in.name, path, key, text)
	if err != nil {
		return nil, nil, in.known(err)
	}
	v, notes := f.value()
	return v, notes, nil
}

// jsonOf is the JSON of a text, or the part of it that spec names.
func (s *Source) jsonOf(in *stream, spec, path string, text []byte) (*tensor.Value, error) {
	name, key, _ := cutPart(spec)
	v, err := readJSONValue(in.name, path, text, s.Threads)
	if err != nil && key != "" { // beside the part there may stand what are no values, as in a result
		if part, valid := partText(text, key); part != nil {
			v, err = readJSONValue(in.name, path, part, s.Threads)
			if e, ok := err.(*Error); ok {
				e.Path, e.Line, e.Excerpt = strings.Replace(e.Path, path, key, 1), 0, "" // of the part alone
			}
			return v, err
		} else if valid {
			return nil, &Error{File: in.name, Msg: "there is no " + key}
		}
	}
	err = in.known(err)
	if e, ok := err.(*Error); ok && e.Hint == "" && name != "-" && !hasExt(name, ".json") {
		e.Hint = "values are JSON, NPY, NPZ or a table of numbers; a program is given with -p " + name
	}
	if e, ok := err.(*Error); ok && e.Hint == "" && key == "" && firstByte(text) == '{' && json.Valid(text) {
		e.Hint = "@" + spec + ":NAME reads a part"
	}
	if err != nil || key == "" {
		return v, err
	}
	part, ok := partOf(v, key)
	if !ok {
		return nil, &Error{File: in.name, Msg: "there is no " + key, Hint: expr.DidYouMean(key, fieldNames(v))}
	}
	return part, nil
}

// tables are the extensions of tables of numbers.
var tables = []string{".csv", ".tsv", ".txt", ".dat"}

// firstByte is the first byte of a text that says something, or 0.
func firstByte(head []byte) byte {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	if len(head) == 0 {
		return 0
	}
	return head[0]
}

// holdsTable reports whether a file of this name is a table.
func holdsTable(name string, text []byte) bool {
	return !hasExt(name, ".json") && (calledTable(name, text) || isTable(text) || isFrame(text))
}

// calledTable reports whether the name of a file says that it is a table, and nothing in how it begins that
// it is JSON.
func calledTable(name string, head []byte) bool {
	if !hasExt(name, tables...) || firstByte(head) == '{' {
		return false
	}
	_, inside, array := bytes.Cut(head[:min(len(head), 64)], []byte("["))
	c := firstByte(inside)
	return !array || firstByte(head) != '[' || !(c-'0' <= 9 || c == '-' || c == '[' || c == '{')
}

func hasExt(name string, exts ...string) bool {
	for _, ext := range exts {
		if strings.EqualFold(filepath.Ext(name), ext) {
			return true
		}
	}
	return false
}

// cutPart splits FILE:PART, behind a file of values.
func cutPart(spec string) (file, part string, ok bool) {
	if i := strings.LastIndexByte(spec, ':'); i > 0 && (spec[:i] == "-" || hasExt(spec[:i], ".npz", ".npy", ".json") || hasExt(spec[:i], tables...)) {
		return spec[:i], spec[i+1:], true
	}
	return spec, "", false
}

func fieldNames(v *tensor.Value) (names []string) {
	for _, f := range v.Fields {
		names = append(names, f.Name)
	}
	return names
}

// isTable reports whether a text of no known kind is a table: numbers, and more than one.
func isTable(text []byte) bool {
	c := firstByte(text)
	if c == '"' {
		_, _, ok := cell(text, bytes.IndexByte(text, c))
		return ok && bytes.Count(text, []byte{c}) > 2
	}
	return (c-'0' <= 9 || c == '-' || c == '+' || c == '.' || c == '#') && len(bytes.FieldsFunc(text[:min(len(text), 4096)], func(r rune) bool {
		return r == ',' || r == ';' || r < 0x80 && isSpace(byte(r))
	})) > 1
}

// isFrame reports whether a text of no known kind begins with the names of columns, and numbers
// below each.
func isFrame(text []byte) bool {
	found := false
	tableLines(text, func(line []byte, at, next int) *Error {
		found = next < len(text) && line[0] != '{' && line[0] != '[' && isHeader(line, text[next:])
		return &Error{} // the first line is enough
	})
	return found
}

// entry is one array of an archive, which the user calls file; without a key, the only one.
func (s *Source) entry(in *stream, file, key string) (*tensor.Value, []string, error) {
	a, err := in.zip()
	if err != nil {
		return nil, nil, err
	}
	if key == "" {
		if len(a.Names) != 1 {
			e := &Error{File: in.name, Msg: "holds " + expr.Plural(len(a.Names), "array")}
			if len(a.Names) > 0 {
				e.Msg += ": " + clip([]byte(strings.Join(a.Names, ", ")))
				e.Hint = "write @" + file + ":" + a.Names[0]
			}
			if slices.Contains(a.Names, "format") && slices.Contains(a.Names, "shape") { // as --sparse writes them, too
				e.Hint = "it is a sparse matrix: np.save writes an NPY file of its .toarray()"
			}
			return nil, nil, e
		}
		key = a.Names[0]
	}
	t, notes, err := a.Read(key, s.MaxBytes)
	if err != nil {
		err = in.wrap(err)
		if e, ok := err.(*Error); ok && errors.Is(err, npy.ErrNoEntry) {
			e.Hint = expr.DidYouMean(key, a.Names)
		}
		return nil, nil, err
	}
	return tensor.Of(t), in.notes(notes), nil
}

// archive is the document of which every array in the archive is a variable. Those of texts
// and objects, which stand beside the numbers of many an archive, can be left out with a note.
func (s *Source) archive(in *stream, leaveOut bool) (*Document, error) {
	a, err := in.zip()
	if err != nil {
		return nil, err
	}
	doc := &Document{Name: in.name}
	for _, name := range a.Names {
		if problem := badName(name); problem != "" {
			return nil, &Error{File: in.name, Msg: problem}
		}
		t, notes, err := a.Read(name, s.MaxBytes)
		if leaveOut && len(a.Names) > 1 && errors.Is(err, npy.ErrNotReal) {
			doc.Notes = append(doc.Notes, printable(in.name+": left out: "+err.Error()))
			continue
		}
		if err != nil {
			return nil, in.wrap(err)
		}
		doc.Notes = append(doc.Notes, in.notes(notes)...)
		if problem := doc.place(name, tensor.Of(t), in.name); problem != "" {
			return nil, &Error{File: in.name, Msg: problem}
		}
	}
	return doc, nil
}
