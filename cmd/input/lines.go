package input

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
)

// Lines reads one document a line, in memory that does not grow with their number.
type Lines struct {
	name string
	r    *bufio.Reader
	max  int64
	long []byte // a line that is longer than the reader's buffer, while it is read
	line int
	at   int64 // where the next line begins
	done bool
	in   io.Closer
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
	if in.size >= 0 { // a pipe may have nothing yet
		if in.head, _ = in.r.Peek(8); in.isNPY() || in.isNPZ() || bytes.HasPrefix(in.head, []byte("\x1f\x8b")) {
			in.close()
			return nil, in.known(&Error{File: in.name, Msg: "--each reads a JSON document a line, and this is no text"})
		}
		if calledTable(s.In[0], in.head) {
			in.close()
			return nil, &Error{File: s.In[0], Msg: "--each reads a JSON document a line, and this is a table", Hint: "without --each every column is a variable, of as many numbers as there are rows"}
		}
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

// A Block is some lines as they stand in the input.
type Block struct {
	name string
	text []byte // the lines that are still to come
	line int    // the number of the one before them
	at   int64  // where in the input they begin
	err  error  // what came in place of the line after them
	buf  []byte

	Empty, FirstEmpty int // lines that Next skipped, and the number of the first
}

// Len is the number of bytes that are still to come.
func (b *Block) Len() int { return len(b.text) }

// Read reads lines into b: those that are there already, up to size bytes of them, but
// one at least. At the end err is io.EOF.
func (l *Lines) Read(b *Block, size int) error {
	if l.done {
		return io.EOF
	}
	b.name, b.line, b.at, b.err, b.text, b.Empty = l.name, l.line, l.at, nil, nil, 0
	have, _ := l.r.Peek(min(l.r.Buffered(), size))
	if n := bytes.LastIndexByte(have, '\n') + 1; n > 0 && int64(n) <= l.max {
		b.buf = append(b.buf[:0], have[:n]...)
		b.text = b.buf
		l.r.Discard(n)
		l.at += int64(n)
		l.line += bytes.Count(b.text, []byte{'\n'})
		return nil
	}
	text, err := l.read()
	l.line++
	l.done = err != nil
	switch {
	case err != nil && err != io.EOF:
		b.err = FileError(l.name, err)
	case l.at-b.at > l.max:
		l.done = true
		b.err = &Error{File: l.name, Msg: fmt.Sprintf("line %d is larger than the limit of %d bytes", l.line, l.max)}
	default:
		if len(l.long) > 0 {
			b.buf, l.long = l.long, b.buf[:0]
		} else {
			b.buf = append(b.buf[:0], text...)
		}
		b.text = b.buf
	}
	return nil
}

// Documents reads the documents of blocks, one after the other, in the same memory.
type Documents struct{ p parser }

// Next reads the next line of a block that is not blank, and its number. At the end err is
// io.EOF; a line that is no document is an *Error, after which reading can go on. The
// document is valid until the next call.
func (d *Documents) Next(b *Block) (line int, doc *Document, err error) {
	for len(b.text) > 0 {
		text, at := b.text, b.at
		n := bytes.IndexByte(text, '\n') + 1
		if n == 0 {
			n = len(text)
		}
		b.text = text[n:]
		b.at += int64(n)
		b.line++
		text = bytes.TrimSuffix(text[:n], []byte{'\n'})
		if len(bytes.TrimLeft(text, " \t\r")) == 0 {
			if b.Empty++; b.Empty == 1 {
				b.FirstEmpty = b.line
			}
			continue
		}
		p := &d.p
		if p.pool == nil {
			p.pool = &pool{}
		}
		p.file, p.first, p.base, p.b = b.name, b.line, at, text
		if doc, err = p.read(); err != nil && at == 0 {
			err = Known(text, err)
		}
		return b.line, doc, err
	}
	if err, b.err = b.err, nil; err != nil {
		return b.line + 1, nil, err
	}
	return b.line, nil, io.EOF
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
	l.long = append(l.long, part...)
	for n := int64(len(part)); err == bufio.ErrBufferFull && n <= l.max; n += int64(len(part)) {
		part, err = l.r.ReadSlice('\n')
		l.at += int64(len(part))
		if keep {
			if cap(l.long)-len(l.long) < len(part) { // twice as much: append's quarter copies it four times
				l.long = slices.Grow(l.long, len(l.long))
			}
			l.long = append(l.long, part...)
		}
	}
	if err == bufio.ErrBufferFull {
		err = nil // longer than the limit
	}
	return l.long, err
}
