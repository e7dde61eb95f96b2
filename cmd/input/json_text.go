package input

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

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

// pathString writes a path: model.layers[0].w.
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

func (p *parser) space() { p.i = afterSpace(p.b, p.i) }

// afterSpace is the first byte of b from i on that is no space, or the end.
func afterSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
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
		if problem := badName(key); problem != "" {
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
