package input

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// Lines reads one document a line, in memory that does not grow with their number.
type Lines struct {
	name string
	r    *bufio.Reader
	max  int64
	long []byte // a line that is longer than the reader's buffer
	line int
	at   int64 // where the next line begins
	done bool
	in   io.Closer
	p    parser
}

// NewLines reads lines from r, which messages call name.
func NewLines(name string, r io.Reader, o Options) *Lines {
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMax
	}
	return &Lines{name: name, r: bufio.NewReaderSize(r, 1<<16), max: o.MaxBytes}
}

// Lines opens the one input of s that is read line by line.
func (s *Source) Lines() (*Lines, error) {
	switch len(s.In) {
	case 0:
		return nil, &UsageError{"--each needs an input", "write -i FILE, or -i - for stdin"}
	case 1:
	default:
		return nil, &UsageError{"--each reads one input, and -i is given " + fmt.Sprint(len(s.In)) + " times", ""}
	}
	if err := s.checkStdin(); err != nil {
		return nil, err
	}
	in, err := s.open(s.In[0])
	if err != nil {
		return nil, err
	}
	l := &Lines{name: in.name, r: in.r, max: in.max}
	if in.file != nil {
		l.in = in.file
	}
	return l, nil
}

// Close closes the file, if there is one.
func (l *Lines) Close() error {
	if l.in != nil {
		return l.in.Close()
	}
	return nil
}

// Next reads the next line that is not blank, and its number. At the end err is io.EOF;
// a line that is no document is an *Error, after which reading can go on.
func (l *Lines) Next() (line int, doc *Document, err error) {
	for !l.done {
		base := l.at
		text, err := l.read()
		l.line++
		if err == io.EOF {
			l.done = true
		} else if err != nil {
			l.done = true
			return l.line, nil, fileError(l.name, err)
		}
		if l.at-base > l.max {
			l.done = true
			return l.line, nil, &Error{File: l.name, Msg: fmt.Sprintf("line %d is larger than the limit of %d bytes", l.line, l.max)}
		}
		text = bytes.TrimSuffix(text, []byte{'\n'})
		if len(bytes.TrimLeft(text, " \t\r")) == 0 {
			continue
		}
		p := &l.p
		p.file, p.first, p.base, p.b = l.name, l.line, base, text
		doc, err = p.read()
		return l.line, doc, err
	}
	return l.line, nil, io.EOF
}

// read is the next line with its end, valid until the next call. Of a line that is too
// long, or begins like no document, it keeps only the beginning.
func (l *Lines) read() ([]byte, error) {
	part, err := l.r.ReadSlice('\n')
	l.at += int64(len(part))
	if err != bufio.ErrBufferFull {
		return part, err
	}
	keep := firstByte(part) == '{'
	l.long = append(l.long[:0], part...)
	for n := int64(len(part)); err == bufio.ErrBufferFull && n <= l.max; n += int64(len(part)) {
		part, err = l.r.ReadSlice('\n')
		l.at += int64(len(part))
		if keep {
			l.long = append(l.long, part...)
		}
	}
	if err == bufio.ErrBufferFull {
		err = nil // longer than the limit
	}
	return l.long, err
}
