package input

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"nabla/expr"
	"nabla/kernels/pages"
	"nabla/output/npy"
	"nabla/tape/tensor"
)

// A Source is where the user said the values are. All of it may be empty.
type Source struct {
	In    []string // -i: documents and archives, "-" for stdin
	At    []string // --at: assignments
	Const []string // --const: assignments of constants
	With  []string // --with: assignments, or one value alone
	Each  bool     // In is read line by line, by Lines

	Stdin  io.Reader
	Reader string // what has read stdin before, such as "-p -", or ""
	// Eval evaluates a constant expression; origin says where it stands, such as "--at x".
	Eval func(text, origin string) (*tensor.Value, error)
	Options
}

// Load reads all that s names into one document. Nothing overrides anything: a name
// with two values is an error.
func (s *Source) Load() (*Document, error) {
	if err := s.checkStdin(); err != nil {
		return nil, err
	}
	doc := new(Document)
	if !s.Each {
		for _, name := range s.In {
			next, err := s.document(name)
			if err != nil {
				return nil, err
			}
			if doc, err = doc.Merge(next); err != nil {
				return nil, err
			}
		}
	}
	for _, group := range []struct {
		flag   string
		values []string
		frozen string
	}{
		{"--at", s.At, ""},
		{"--const", s.Const, "given with --const"},
	} {
		for _, text := range group.values {
			list, err := SplitAssignments(text)
			if err != nil {
				return nil, flagged(group.flag, err)
			}
			for _, a := range list {
				if err := s.assign(doc, group.flag, a, group.frozen); err != nil {
					return nil, err
				}
			}
		}
	}
	return doc, s.with(doc)
}

// flagged says which flag a usage error is about.
func flagged(flag string, err error) error {
	var e *UsageError
	if errors.As(err, &e) {
		return &UsageError{flag + ": " + e.Msg, e.Hint}
	}
	return err
}

// checkStdin refuses to read stdin twice, before anything is read.
func (s *Source) checkStdin() error {
	var users []string
	if s.Reader != "" {
		users = append(users, s.Reader)
	}
	for _, name := range s.In {
		if name == "-" {
			users = append(users, "-i -")
		}
	}
	for _, texts := range [][]string{s.At, s.Const, s.With} {
		for _, text := range texts {
			list, err := SplitAssignments(text)
			if err != nil {
				list = []Assignment{{Text: strings.TrimSpace(text)}}
			}
			for _, a := range list {
				if name, ok := fileName(a.Text); ok && (name == "-" || strings.HasPrefix(name, "-:")) {
					users = append(users, strings.TrimPrefix(a.Name+"=@"+name, "="))
				}
			}
		}
	}
	if len(users) > 1 {
		return &UsageError{"stdin can be read once, and " + users[0] + " and " + users[1] + " both want it", "put one of them in a file"}
	}
	return nil
}

// fileName is the file that a value names: @FILE or file:FILE.
func fileName(text string) (string, bool) {
	if name, ok := strings.CutPrefix(text, "@"); ok {
		return name, true
	}
	return strings.CutPrefix(text, "file:")
}

func (s *Source) assign(doc *Document, flag string, a Assignment, frozen string) error {
	v, notes, err := s.value(flag, a.Name, a.Text)
	if err != nil {
		return err
	}
	freeze(v, frozen)
	doc.Notes = append(doc.Notes, notes...)
	from := flag + " " + a.Name + "=" + clip([]byte(a.Text))
	if problem := doc.place(a.Name, v, from); problem != "" {
		return &Error{Msg: problem}
	}
	if i, ok := doc.find(a.Name); ok && frozen != "" {
		doc.Vars[i].Const = true
	}
	return nil
}

// value is what the text of an assignment stands for.
func (s *Source) value(flag, name, text string) (*tensor.Value, []string, error) {
	if file, ok := fileName(text); ok {
		if file == "" {
			return nil, nil, &UsageError{strings.TrimSpace(flag+" "+name) + ": " + quote(text) + " names no file", "write @FILE, or @- for stdin"}
		}
		if whole, part, ok := cutPart(file); ok && part == "" {
			return nil, nil, &UsageError{strings.TrimSpace(flag+" "+name) + ": nothing follows the colon of " + quote(text), "write @" + whole + ":NAME, or @" + whole + " for all of it"}
		}
		return s.file(file, name)
	}
	origin := strings.TrimSpace(flag + " " + name)
	if s.Eval == nil {
		return nil, nil, &Error{File: flag, Path: name, Msg: quote(text) + " cannot be evaluated here"}
	}
	v, err := s.Eval(text, origin)
	if err == nil {
		if n := topLevel(text); n > 1 && flag != "--with" {
			return nil, nil, &Error{File: flag, Path: name, Msg: fmt.Sprintf("%s is %d values without brackets", quote(text), n),
				Hint: "a tensor is written [1, 2], a tuple (1, 2); the decimal sign is a point, digits are grouped with _, as in 1_000"}
		}
		return v, nil, nil
	}
	e := &Error{File: flag, Path: name, Msg: err.Error(), Err: err}
	if path, ok := parsePath(text); ok && len(path) == 1 {
		e.Msg = quote(text) + " is not a number"
		e.Hint = "a value is a constant expression such as 3, pi/4 or [1, 2]; @" + text + " is a file"
		e.Hint = cmp.Or(spelled(text), e.Hint)
	} else if text == "-" {
		e.Hint = "stdin is written @-"
	} else if strings.HasSuffix(text, ",") {
		e.Hint = "remove the comma"
	} else if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~/") || hasExt(text, ".npy", ".npz", ".json", ".csv", ".tsv", ".txt") {
		e.Hint = "the value in a file is written @" + text
	} else if number := withoutUnit(text); number != "" {
		e.Hint = "a value has no unit: write " + number
	} else if next := glued(text); next != "" {
		e.Hint = "put a comma before " + next
	} else if name, _ := strings.CutPrefix(e.Msg, "unknown name "); name != e.Msg {
		e.Hint = cmp.Or(spelled(name), "a value uses numbers and constants, no other names")
		if strings.Contains(text, name+".") {
			e.Hint = "there are no modules: write " + bare(strings.NewReplacer(name+".random.", "", name+".math.", "", name+".", "").Replace(text))
		}
	} else if strings.Contains(text, ";") && !strings.Contains(text, "=") && strings.HasSuffix(e.Msg, "not a program") {
		e.Hint = "a tensor is written [1, 2]"
	}
	return nil, nil, e
}

// withoutUnit is the number in front of a unit, as in 3.5 km or 20%, or "".
func withoutUnit(text string) string {
	number := strings.TrimSpace(strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZµΩ°$€%"))
	if _, err := strconv.ParseFloat(number, 64); err != nil {
		return ""
	}
	switch unit := strings.TrimSpace(text[len(number):]); unit {
	case "", "e", "pi", "tau", "x", "i", "j":
		return ""
	case "%":
		return number + "/100"
	}
	return number
}

// spelled is how NaN or an infinity of JSON is written in an expression, or "".
func spelled(word string) string {
	if word = strings.ToLower(quotedWord(word)); word == "" {
		return ""
	}
	return "write " + strings.Replace(word, "infinity", "inf", 1)
}

// topLevel is how many values stand side by side in a text without brackets around them.
func topLevel(text string) (n int) {
	for at := 0; at <= len(text); n++ {
		at = valueEnd(text, at, func(int) bool { return true }) + 1
	}
	return n
}

// bare is the value in the call of another library that makes a tensor of it, as in
// tensor([1, 2], requires_grad=True), or the text itself.
func bare(text string) string {
	for _, f := range []string{"array(", "asarray(", "tensor(", "constant(", "Variable(", "matrix("} {
		if value, ok := strings.CutPrefix(text, f); ok {
			value = value[:valueEnd(value, 0, func(int) bool { return true })]
			if open := strings.Count(value, "("); strings.Count(value, ")") > open {
				value = value[:strings.LastIndexByte(value, ')')]
			}
			return value
		}
	}
	return text
}

// glued is the second NAME= of a value that ends before it, or "".
func glued(text string) string {
	depth := 0
	for i, c := range text {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		if depth == 0 && (c == ' ' || c == ';') {
			if name, _, ok := assignee(text, i+1); ok {
				return name + "="
			}
		}
	}
	return ""
}

// with reads the --with flags.
func (s *Source) with(doc *Document) error {
	if len(s.With) == 0 {
		return nil
	}
	if doc.With != nil {
		return &Error{Msg: "with is given twice: " + doc.Name + " and --with"}
	}
	named := new(Document)
	for _, text := range s.With {
		if _, _, ok := assignee(text, 0); !ok {
			v, notes, err := s.value("--with", "", strings.TrimSpace(text))
			if err != nil {
				return err
			}
			if len(s.With) > 1 {
				return &UsageError{"--with: a value without a name stands alone", "write NAME=VALUE for each"}
			}
			doc.With, doc.Notes = v, append(doc.Notes, notes...)
			return nil
		}
		list, err := SplitAssignments(text)
		if err != nil {
			return flagged("--with", err)
		}
		for _, a := range list {
			if err := s.assign(named, "--with", a, ""); err != nil {
				return err
			}
		}
	}
	doc.With = &tensor.Value{Kind: tensor.KindRecord}
	for _, v := range named.Vars {
		doc.With.Fields = append(doc.With.Fields, tensor.Field{Name: v.Name, Value: v.Value})
	}
	doc.Notes = append(doc.Notes, named.Notes...)
	return nil
}

// Merge is d and what e adds to it. Records join; what both have is an error. Neither changes.
func (d *Document) Merge(e *Document) (*Document, error) {
	m := &Document{
		Name: cmp.Or(d.Name, e.Name), Expr: d.Expr, HasExpr: d.HasExpr, Wrt: d.Wrt, Of: d.Of, With: d.With,
		Vars: append(make([]Variable, 0, len(d.Vars)+len(e.Vars)), d.Vars...), Notes: append(append([]string(nil), d.Notes...), e.Notes...),
	}
	both := func(what string) error { return &Error{Msg: twice(what, d.Name, e.Name)} }
	if e.HasExpr {
		if d.HasExpr {
			return nil, both("expr")
		}
		m.Name, m.Expr, m.HasExpr = e.Name, e.Expr, true
	}
	for _, list := range []struct {
		name   string
		to     *[]string
		values []string
	}{{"wrt", &m.Wrt, e.Wrt}, {"of", &m.Of, e.Of}} {
		if list.values != nil {
			if *list.to != nil {
				return nil, both(list.name)
			}
			*list.to = list.values
		}
	}
	if e.With != nil {
		if d.With != nil {
			return nil, both("with")
		}
		m.With = e.With
	}
	for _, v := range e.Vars {
		i, ok := m.find(v.Name)
		if !ok {
			m.Vars = append(m.Vars, v)
			continue
		}
		old := m.Vars[i]
		joined, clash := join(v.Name, old.Value, v.Value)
		if clash != "" {
			return nil, &Error{Msg: twice(clash, old.From, v.From)}
		}
		m.Vars[i] = variable(v.Name, joined, old.From)
	}
	return m, nil
}

// join is the record that has the fields of both, or the path of what both have.
func join(path string, a, b *tensor.Value) (v *tensor.Value, clash string) {
	if a.Kind != tensor.KindRecord || b.Kind != tensor.KindRecord {
		return nil, path
	}
	v = &tensor.Value{Kind: tensor.KindRecord, Fields: append([]tensor.Field(nil), a.Fields...)}
	for _, f := range b.Fields {
		old := v.Get(f.Name)
		if old == nil {
			v.Fields = append(v.Fields, f)
			continue
		}
		both, clash := join(path+"."+f.Name, old, f.Value)
		if clash != "" {
			return nil, clash
		}
		for i := range v.Fields {
			if v.Fields[i].Name == f.Name {
				v.Fields[i].Value = both
			}
		}
	}
	return v, ""
}

// A stream is an opened input.
type stream struct {
	name string // for messages
	head []byte // the first bytes, once looked at
	size int64  // of the file, or -1
	hint int64  // how much there is to read in a regular file
	file *os.File
	r    *bufio.Reader
	max  int64
}

const defaultMax = 1 << 31

// open opens a file, or stdin as "-".
func (s *Source) open(name string) (*stream, error) {
	in := &stream{name: name, size: -1, max: s.MaxBytes}
	if in.max <= 0 {
		in.max = defaultMax
	}
	var r io.Reader
	if name == "-" {
		if in.name = Called(name); s.Stdin == nil {
			return nil, &Error{File: in.name, Msg: "there is none to read"}
		}
		r = s.Stdin
	} else {
		f, err := os.Open(name)
		if err != nil {
			return nil, FileError(name, err)
		}
		info, err := f.Stat()
		if err == nil && info.IsDir() {
			err = errors.New("is a directory")
		}
		if err != nil {
			f.Close()
			return nil, FileError(name, err)
		}
		if info.Mode().IsRegular() {
			in.size = info.Size()
		}
		in.file, r = f, f
	}
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			in.hint = info.Size() // stdin, too, may be a file
			if at, err := f.Seek(0, io.SeekCurrent); err == nil {
				in.hint -= at
			}
		}
	}
	in.r = bufio.NewReaderSize(r, 1<<16)
	return in, nil
}

// Called is what messages call a file: stdin for "-".
func Called(name string) string {
	if name == "-" {
		return "stdin"
	}
	return name
}

// look opens an input and looks at how it begins.
func (s *Source) look(name string) (*stream, error) {
	in, err := s.open(name)
	if err != nil {
		return nil, err
	}
	if in.head, err = in.r.Peek(512); err != nil && err != io.EOF {
		in.close()
		return nil, FileError(in.name, err)
	}
	return in, nil
}

func (in *stream) close() {
	if in.file != nil {
		in.file.Close()
	}
}

// FileError says in plain words why a file cannot be read.
func FileError(name string, err error) error {
	e := &Error{File: name, Msg: err.Error(), Err: err}
	var path *fs.PathError
	if errors.As(err, &path) {
		e.Msg = path.Err.Error()
	}
	if errors.Is(err, fs.ErrNotExist) {
		e.Msg = "no such file"
		var names []string
		if dir, err := os.Open(filepath.Dir(name)); err == nil {
			names, _ = dir.Readdirnames(1000)
			dir.Close()
		}
		e.Hint = expr.DidYouMean(filepath.Base(name), names)
		if hint := meant(name); hint != "" {
			e.Hint = hint
		}
	}
	return e
}

// meant is the hint for what stands where the name of a file should: a document, a value, an
// expression; or "".
func meant(name string) string {
	_, err := strconv.ParseFloat(name, 64)
	_, assigned, ok := strings.Cut(name, "=")
	ext := filepath.Ext(name)
	switch {
	case len(ext) > 1 && nameLen(ext[1:]) == len(ext)-1: // data(1).json
		return ""
	case strings.HasPrefix(name, "{"):
		return "a document is read from a file, or with -i - from stdin"
	case err == nil:
		return "a value is given with --at x=" + name
	case ok && assigned != "" && !strings.ContainsAny(name, "/\\"):
		return "a value is given with --at " + name
	case strings.ContainsAny(name, "^*()+[]"):
		return "an expression is an argument of its own, or stands behind -e"
	}
	return ""
}

func (in *stream) isNPY() bool { return bytes.HasPrefix(in.head, []byte("\x93NUMPY")) }
func (in *stream) isNPZ() bool { return bytes.HasPrefix(in.head, []byte("PK\x03\x04")) }

// known adds to an error what kind of file this is.
func (in *stream) known(err error) error { return Known(in.head, err) }

// Known adds to an error what kind of file this is, where its first bytes tell.
func Known(head []byte, err error) error {
	e, ok := err.(*Error)
	if !ok {
		return err
	}
	for _, k := range []struct{ begins, hint string }{
		{"\x1f\x8b", "it is compressed: gunzip -c unpacks it for a pipe, and - reads stdin"},
		{"BZh", "it is compressed with bzip2: unpack it first"},
		{"\xfd7zXZ", "it is compressed with xz: unpack it first"},
		{"\x28\xb5\x2f\xfd", "it is compressed with zstd: unpack it first"},
		{"\x89HDF", "it is HDF5: np.savez writes an NPZ file of its arrays"},
		{"\x80\x02", "it is a pickle of Python: np.savez writes an NPZ file of its arrays"},
		{"\x80\x03", "it is a pickle of Python: np.savez writes an NPZ file of its arrays"},
		{"\x80\x04", "it is a pickle of Python: np.savez writes an NPZ file of its arrays"},
		{"\x80\x05", "it is a pickle of Python: np.savez writes an NPZ file of its arrays"},
		{"\xff\xfe", "save it as UTF-8"},
		{"\xff\xfe\x00\x00", "save it as UTF-8"},
		{"\xfe\xff", "save it as UTF-8"},
		{"<", "it is HTML or XML, not data"},
		{"MATLAB 5.0", "it is a file of MATLAB: scipy.io.loadmat reads it, np.savez writes an NPZ file of its arrays"},
		{"PAR1", "it is Parquet: np.savez writes an NPZ file of its columns"},
		{"\x89PNG", "it is a picture: np.save writes an NPY file of its numbers"},
		{"\xff\xd8\xff", "it is a picture: np.save writes an NPY file of its numbers"},
		{"%%MatrixMarket", "it is Matrix Market: scipy.io.mmread reads it, np.save writes an NPY file of its .toarray()"},
	} {
		if bytes.HasPrefix(head, []byte(k.begins)) {
			e.Hint = k.hint
		}
	}
	return e
}

// text reads all. What cannot begin a text ends the reading at once, for the parser to
// complain about, so that an endless device costs nothing.
func (in *stream) text() ([]byte, error) {
	if in.size > in.max {
		return nil, in.tooLarge()
	}
	if bytes.IndexByte(in.head, 0) >= 0 {
		return in.head, nil
	}
	b, err := in.all(true)
	if err != nil {
		return nil, err
	}
	return b, in.fits(b)
}

// all reads to the end, in memory that stays within the limit; of a text no further than
// to a byte that ends it for every parser.
func (in *stream) all(text bool) ([]byte, error) {
	b := make([]byte, 0, max(min(in.hint, in.max)+1, 1<<16)) // one byte more, to see the end without growing
	pages.Huge(b[:cap(b)])
	for {
		if len(b) == cap(b) { // the old and the new stand side by side while it grows
			n := min(2*int64(cap(b)), in.max-int64(cap(b)))
			if n <= int64(cap(b)) {
				return nil, in.tooLarge()
			}
			b = append(make([]byte, 0, n), b...)
		}
		n, err := in.r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case err == io.EOF:
			return b, nil
		case err != nil:
			return nil, FileError(in.name, err)
		case int64(len(b)) > in.max:
			return nil, in.tooLarge()
		case text && bytes.IndexByte(b[len(b)-n:], 0) >= 0:
			return b, nil
		}
	}
}

// fits reports a text whose numbers would not stand in memory beside it: a digit and its
// comma become eight bytes.
func (in *stream) fits(text []byte) error {
	size := int64(len(text))
	if 5*size <= in.max {
		return nil
	}
	n := int64(bytes.Count(text, []byte{','}))
	if c := firstByte(text); c != '{' && c != '[' { // a table
		for _, sep := range " \t\n;" {
			n += int64(bytes.Count(text, []byte{byte(sep)}))
		}
	}
	if need := size + 8*n; need > in.max {
		shape := tensor.Shape{int(n)}
		return in.wrap(&npy.LimitError{Shape: shape, Need: need, Limit: in.max})
	}
	return nil
}

func (in *stream) tooLarge() error {
	e := &Error{File: in.name, Msg: fmt.Sprintf("is larger than the limit of %d bytes", in.max), Hint: "--max-memory raises the limit"}
	if in.size >= 0 { // what does not end is no data at all
		e.Err = &npy.LimitError{Need: in.size, Limit: in.max}
	}
	return e
}

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
	if named || hasExt(name, tables...) {
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
	return ReadJSON(in.name, text)
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
	if !hasExt(name, ".json") && (hasExt(name, tables...) || isTable(text) || isFrame(text) || streamed) {
		if key != "" {
			f, err := readColumns(in.name, path, key, text)
			if err != nil {
				return nil, nil, in.known(err)
			}
			v, notes := f.value()
			return v, notes, nil
		}
		v, notes, err := readTable(in.name, path, text)
		return v, notes, in.known(err)
	}
	v, err := readJSONValue(in.name, path, text)
	err = in.known(err)
	if e, ok := err.(*Error); ok && e.Hint == "" && name != "-" && !hasExt(name, ".json") {
		e.Hint = "values are JSON, NPY, NPZ or a table of numbers; a program is given with -p " + name
	}
	if err != nil || key == "" {
		return v, nil, err
	}
	part, ok := partOf(v, key)
	if !ok {
		return nil, nil, &Error{File: in.name, Msg: "there is no " + key, Hint: expr.DidYouMean(key, fieldNames(v))}
	}
	return part, nil, nil
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

// binary is the stream for a reader that asks a file for its size.
func (in *stream) binary() io.Reader {
	if in.file != nil {
		if _, err := in.file.Seek(0, io.SeekStart); err == nil && in.size >= 0 {
			return in.file
		}
	}
	if in.hint > 0 {
		return npy.Sized(in.r, in.hint)
	}
	return in.r
}

// wrap names the file in an error of package npy.
func (in *stream) wrap(err error) error {
	e := &Error{File: in.name, Msg: err.Error(), Err: err}
	switch limit := (*npy.LimitError)(nil); {
	case errors.Is(err, npy.ErrNotReal) && strings.Contains(e.Msg, "complex"):
		e.Hint = "a.real and a.imag can be read"
	case errors.Is(err, npy.ErrNotReal):
		e.Hint = "where its elements are numbers, a.astype(float) can be read"
	case errors.As(err, &limit):
		e.Hint = "--max-memory raises the limit"
	case strings.Contains(e.Msg, "compression algorithm"):
		e.Hint = "np.savez and np.savez_compressed write what can be read"
	case strings.Contains(e.Msg, "valid zip file"), strings.Contains(e.Msg, "checksum"), strings.Contains(e.Msg, "cut short"),
		strings.Contains(e.Msg, "extra bytes"), strings.HasPrefix(e.Msg, "header of"):
		e.Hint = "the file is damaged, or was not written to its end"
	case bytes.HasPrefix(in.head, []byte("{")):
		e.Hint = "it begins like JSON: call it .json"
	}
	return e
}

func (in *stream) notes(n *npy.Notes) (list []string) {
	for _, w := range n.Warnings() {
		list = append(list, printable(in.name)+": "+w)
	}
	return list
}

// zip opens the stream as an archive.
func (in *stream) zip() (*npy.Archive, error) {
	if in.size >= 0 {
		a, err := npy.OpenNPZ(in.file, in.size)
		if err != nil {
			return nil, in.wrap(err)
		}
		return a, nil
	}
	b, err := in.all(false)
	if err != nil {
		return nil, err
	}
	a, err := npy.OpenNPZ(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, in.wrap(err)
	}
	return a, nil
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
		if problem := unsafeName(name); problem != "" {
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

// Text reads a file of text, or stdin as "-".
func (s *Source) Text(name string) ([]byte, error) {
	in, err := s.look(name)
	if err != nil {
		return nil, err
	}
	defer in.close()
	return in.text()
}

// Result reads a file of results: an NPY file, an archive as a record, a table of numbers;
// or else the text, for a reader of JSON that knows what results look like.
func (s *Source) Result(name string) (v *tensor.Value, text []byte, notes []string, err error) {
	in, err := s.look(name)
	if err != nil {
		return nil, nil, nil, err
	}
	defer in.close()
	switch {
	case in.isNPZ() || hasExt(name, ".npz"):
		doc, err := s.archive(in, false)
		if err != nil {
			return nil, nil, nil, err
		}
		v = &tensor.Value{Kind: tensor.KindRecord}
		for _, x := range doc.Vars {
			v.Fields = append(v.Fields, tensor.Field{Name: x.Name, Value: x.Value})
		}
		return v, nil, doc.Notes, nil
	case in.isNPY() || hasExt(name, ".npy"):
		t, notes, err := npy.Read(in.binary(), s.MaxBytes)
		if err != nil {
			return nil, nil, nil, in.wrap(err)
		}
		return tensor.Of(t), nil, in.notes(notes), nil
	}
	if text, err = in.text(); err != nil {
		return nil, nil, nil, err
	}
	if !hasExt(name, ".json") && (hasExt(name, tables...) || isTable(text) || isFrame(text)) {
		v, notes, err = readTable(in.name, "", text)
		return v, nil, notes, err
	}
	return nil, text, nil, nil
}
