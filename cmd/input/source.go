package input

import (
	"errors"
	"io"
	"strings"

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

// with reads the --with flags.
func (s *Source) with(doc *Document) error {
	if len(s.With) == 0 {
		return nil
	}
	if doc.With != nil {
		return &Error{Msg: "with is given twice: " + doc.Name + " and --with"}
	}
	named := &Document{partial: true}
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

// fileName is the file that a value names: @FILE or file:FILE.
func fileName(text string) (string, bool) {
	if name, ok := strings.CutPrefix(text, "@"); ok {
		return name, true
	}
	return strings.CutPrefix(text, "file:")
}

// flagged says which flag a usage error is about.
func flagged(flag string, err error) error {
	var e *UsageError
	if errors.As(err, &e) {
		return &UsageError{flag + ": " + e.Msg, e.Hint}
	}
	return err
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
	if holdsTable(name, text) {
		v, notes, err = readTable(in.name, "", text)
		return v, nil, notes, err
	}
	return nil, text, nil, nil
}
