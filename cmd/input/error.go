package input

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"nabla/expr/cells"
	"nabla/output/npy"
)

// The exit codes of this room: a mistake on the command line, one in the data, too little memory.
const (
	exitUsage = 2
	exitData  = 4
	exitRun   = 5
)

// An Error is a mistake in the data a user supplied, with its place.
type Error struct {
	File    string // the file, "stdin", or the flag it came by
	Path    string // the value in it: x, layer1.w, x[1][0]; "" for the document itself
	Offset  int64  // of the byte in File, from 0
	Line    int    // from 1; 0 when the mistake has no place in a text
	Col     int    // in characters, from 1
	Msg     string // one line, lower case, no full stop
	Hint    string // the likely fix, or ""
	Excerpt string // the line, or what of it is around the place where it is long
	Mark    int    // where in Excerpt the caret stands, in cells
	Err     error  // what lies beneath, or nil
}

// Error says file, path, what is wrong and where, in one line.
func (e *Error) Error() string {
	var s strings.Builder
	for _, part := range []string{e.File, e.Path} {
		if part != "" {
			s.WriteString(printable(part))
			s.WriteString(": ")
		}
	}
	s.WriteString(e.Msg)
	if e.Line > 0 {
		fmt.Fprintf(&s, " (line %d, column %d, byte %d)", e.Line, e.Col, e.Offset)
	}
	return s.String()
}

// ExitCode is that of bad data, or of too little memory for good data.
func (e *Error) ExitCode() int {
	var limit *npy.LimitError
	var coded interface{ ExitCode() int }
	if errors.As(e.Err, &limit) || errors.As(e.Err, &coded) && coded.ExitCode() == exitRun {
		return exitRun
	}
	return exitData
}

func (e *Error) Unwrap() error { return e.Err }

// A UsageError is a mistake in how the flags were put together.
type UsageError struct {
	Msg, Hint string
}

func (e *UsageError) Error() string { return e.Msg }

// ExitCode is that of a wrong command line.
func (*UsageError) ExitCode() int { return exitUsage }

// window is how many bytes of a line an Excerpt shows: with its indent they fit into 80 columns.
const window = 74

// Locate says that e stands at byte at of a file's text.
func (e *Error) Locate(text []byte, at int) { e.locate(text, at, 1, 0) }

// locate fills in line, column and excerpt of e, which stands at byte at of text.
// The text began at line first of its file, base bytes in.
func (e *Error) locate(text []byte, at, first int, base int64) {
	at = min(max(at, 0), len(text))
	start := bytes.LastIndexByte(text[:at], '\n') + 1
	e.Offset = base + int64(at)
	e.Line = first + bytes.Count(text[:at], []byte{10})
	e.Col = utf8.RuneCount(text[start:at]) + 1

	end := min(len(text), at+window)
	if i := bytes.IndexByte(text[at:end], '\n'); i >= 0 {
		end = at + i
	}
	lo, hi := start, end
	if end-start > window {
		lo = max(start, min(at-window/2, end-window))
		hi = min(end, lo+window)
	}
	for lo < at && !utf8.RuneStart(text[lo]) {
		lo++
	}
	for hi > at && hi < len(text) && !utf8.RuneStart(text[hi]) {
		hi--
	}
	before, after := printable(string(text[lo:at])), printable(string(text[at:hi]))
	if lo > start {
		before = "…" + before
	}
	if hi < len(text) && text[hi] != '\n' {
		after += "…"
	}
	e.Excerpt, e.Mark = before+after, cells.Width(before)
}

// printable shows what does not print as one visible character, so that a message
// stays on its line and its caret under its place.
func printable(s string) string {
	plain := func(r rune) bool { return r != utf8.RuneError && strconv.IsPrint(r) }
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case plain(r):
			return r
		case r == '\t' || r == '\r' || r == '\n':
			return ' '
		default:
			return '·'
		}
	}, s)
}

// quote shows a piece of a text in a message, cut when it is long.
func quote(s string) string {
	const most = 40
	if len(s) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return "'" + cells.Show(s) + "'"
}
