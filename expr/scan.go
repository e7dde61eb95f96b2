package expr

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"nabla/expr/cells"
)

// A scanner cuts a text into tokens. It is a small value: a copy looks ahead.
type scanner struct {
	prog *Program
	text string
	pos  int
	last Kind // of the token before pos; a line end after an unfinished statement is a blank
	span Span // of that token
}

const bom = "\ufeff"

// newScanner is one at the beginning of a program, behind a byte order mark.
func newScanner(prog *Program) scanner {
	s := scanner{prog: prog, text: prog.Text}
	if strings.HasPrefix(s.text, bom) {
		s.pos = len(bom)
	}
	return s
}

// next returns the token at pos and moves behind it. A character that begins no token
// is thrown.
func (s *scanner) next() Token {
	newline := s.skip()
	if newline >= 0 {
		s.last, s.span = Newline, Span{Pos(newline), Pos(s.pos)}
		return Token{Newline, s.span, "\n"}
	}
	start := s.pos
	k := s.token()
	s.last, s.span = k, Span{Pos(start), Pos(s.pos)}
	if k == EOF {
		s.span = endOf(s.text)
	}
	return Token{k, s.span, s.text[start:s.pos]}
}

// before reports whether the next token may begin with c, looking at the first byte that is no
// blank. Behind a comment or a character beyond ASCII, which may be a blank, it may.
func (s *scanner) before(c byte) bool {
	for i := s.pos; i < len(s.text); i++ {
		switch b := s.text[i]; b {
		case ' ', '\t', '\r', '\n':
		default:
			return b == c || b == '#' || b >= utf8.RuneSelf
		}
	}
	return false
}

// endOf is the place of what is missing at the end: behind the last line that has text.
func endOf(text string) Span {
	end := Pos(len(strings.TrimRight(text, "\r\n")))
	return Span{end, end}
}

// skip passes over blanks and comments. It stops behind a line end that ends a
// statement and returns where that is, or -1.
func (s *scanner) skip() int {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == '\n':
			s.pos++
			if s.last.endsStatement() {
				return len(strings.TrimSuffix(s.text[:s.pos-1], "\r"))
			}
		case c == ' ', c == '\t', c == '\r' && strings.HasPrefix(s.text[s.pos:], "\r\n"):
			s.pos++
		case c == '#':
			for s.pos < len(s.text) && s.text[s.pos] != '\n' && !strings.HasPrefix(s.text[s.pos:], "\r\n") {
				s.pos += s.printable()
			}
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s.text[s.pos:])
			if !unicode.Is(unicode.Zs, r) {
				return -1
			}
			s.pos += n
		default:
			return -1
		}
	}
	return -1
}

// endsStatement says whether a statement can end with this token. After any other a line
// end means nothing, so that an operator or a comma at the end of a line continues it.
func (k Kind) endsStatement() bool {
	switch k {
	case Ident, Number, String, Rparen, Rbrack, Rbrace, KwReset, KwVar:
		return true
	}
	return false
}

// token moves over one token and says what it is.
func (s *scanner) token() Kind {
	if s.pos == len(s.text) {
		return EOF
	}
	r, _ := utf8.DecodeRuneInString(s.text[s.pos:])
	switch {
	case isWordStart(r):
		return s.word()
	case isDigit(s.at(0)), s.at(0) == '.' && isDigit(s.at(1)):
		return s.number()
	case r == '"', r == '\'':
		return s.str(byte(r))
	case r == ';':
		s.pos++
		return Newline
	}
	if kind, text := sign(s.text[s.pos:]); text != "" {
		s.pos += len(text)
		return kind
	}
	n := s.printable()
	s.fail(s.pos, s.pos+n, s.instead(r, n), "unexpected character %s", s.text[s.pos:s.pos+n])
	return EOF
}

// latex is what to write for a command of LaTeX whose name begins text, or "".
func latex(text string) string {
	for _, d := range []string{"frac{d}{d", "frac{d^2", "frac{dy}{d", "frac{df}{d", `frac{\partial`} {
		if strings.HasPrefix(text, d) {
			return "write grad(y, x)"
		}
	}
	for _, c := range []struct{ name, write string }{
		{"frac", "write a / b for \\frac{a}{b}"},
		{"sqrt", "write sqrt(x)"},
		{"dfrac", "write a / b for \\dfrac{a}{b}"},
		{"cdot", "write *"},
		{"times", "write *"},
		{"div", "write /"},
		{"le", "write <="},
		{"leq", "write <="},
		{"ge", "write >="},
		{"geq", "write >="},
		{"ne", "write !="},
		{"neq", "write !="},
		{"to", "write ->"},
		{"infty", "write inf"},
		{"left", "leave it out"},
		{"right", "leave it out"},
		{"mathrm", "leave it out"},
		{"operatorname", "leave it out"},
		{"text", "leave it out"},
		{"quad", "leave it out"},
		{"lvert", "write abs(x) for |x|"},
		{"vert", "write abs(x) for |x|"},
		{"lVert", "write norm(x)"},
		{"Vert", "write norm(x)"},
		{"lfloor", "write floor(x)"},
		{"lceil", "write ceil(x)"},
		{"sum", "write sum(x), of a whole tensor: sum(arange(1, n + 1)^2)"},
		{"prod", "write prod(x), of a whole tensor: prod(arange(1, n + 1))"},
		{"int", Foreign("integrate")},
		{"lim", Foreign("limit")},
		{"binom", Foreign("binom")},
		{"begin", Foreign("Matrix")},
		{"partial", "write grad(y, x)"},
		{"nabla", "write grad(y, x)"},
	} {
		if rest, ok := strings.CutPrefix(text, c.name); ok && (rest == "" || !isLetter(rest[0])) {
			return c.write
		}
	}
	return ""
}

// endsLine says whether nothing but spaces stands before the next line.
func endsLine(text string) bool {
	text = strings.TrimLeft(text, " \t\r")
	return text == "" || text[0] == '\n'
}

// word = ( letter | "_" ) { letter | digit | mark | "_" } .
func (s *scanner) word() Kind {
	start := s.pos
	for s.pos < len(s.text) {
		r, n := utf8.DecodeRuneInString(s.text[s.pos:])
		if !isWordStart(r) && (r < utf8.RuneSelf && !isDigit(byte(r)) || !unicode.In(r, unicode.Nd, unicode.M) || cells.Invisible(r)) {
			break
		}
		s.pos += n
	}
	if s.last == Dot {
		return Ident // r.in is a field, whatever the word means elsewhere
	}
	k, _ := word(s.text[start:s.pos])
	return k
}

// number = ( digits [ "." [ digits ] ] | "." digits ) [ ( "e" | "E" ) [ "+" | "-" ] digits ] .
func (s *scanner) number() Kind {
	start := s.pos
	if c := s.at(1) | 0x20; s.at(0) == '0' && (c == 'x' || (c == 'b' || c == 'o') && isDigit(s.at(2))) {
		base := map[byte]string{'x': "hexadecimal", 'o': "octal", 'b': "binary"}[c]
		s.pos += 2
		s.digits(isAlnum) // 0xZZ is shown whole
		hint := "write it in decimal"
		if n, err := strconv.ParseUint(s.text[start:s.pos], 0, 64); err == nil {
			hint += ": " + strconv.FormatUint(n, 10)
		}
		s.fail(start, s.pos, hint, "%s: there are no %s (0%c) numbers", Brief(s.text[start:s.pos]), base, c)
	}
	s.digits(isDigit)
	if s.text[start] == '0' && s.pos > start+1 {
		whole := s.text[start:s.pos]
		hint := "write " + cmp.Or(strings.TrimLeft(whole, "0_"), "0")
		if len(whole) == 3 && (s.last == Comma && int(s.span.End) == start || s.last == Number) {
			hint = "digits are grouped with _, as in 1_000"
		}
		s.fail(start, s.pos, hint, "%s is not a number: it begins with a zero", Brief(whole))
	}
	if s.at(0) == '.' {
		s.pos++
		s.digits(isDigit)
	}
	if s.at(0)|0x20 == 'e' {
		n := 1
		if c := s.at(1); c == '+' || c == '-' {
			n = 2
		}
		if isDigit(s.at(n)) {
			s.pos += n
			s.digits(isDigit)
		} else if r, _ := utf8.DecodeRuneInString(s.text[s.pos+n:]); n == 2 && !isWordStart(r) && r != '(' {
			s.fail(start, s.pos+n, "write 1e3 for 1000", "%s is not a number: its exponent has no digits", s.text[start:s.pos+n])
		}
	}
	if s.at(0) == '.' && isDigit(s.at(1)) {
		dot := s.pos
		s.pos++
		s.digits(isDigit)
		hint := "a number has one point, and none in its exponent"
		if s.text[dot-1] == '.' {
			hint = numbersFromTo
		}
		s.fail(dot, s.pos, hint, "unexpected %s after the number %s", Brief(s.text[dot:s.pos]), Brief(s.text[start:dot]))
	}
	return Number
}

// digits = digit { [ "_" ] digit } . Something stands in front: a digit, a point, 0x or e.
func (s *scanner) digits(is func(byte) bool) {
	for is(s.at(0)) || s.at(0) == '_' && is(s.text[s.pos-1]) && is(s.at(1)) {
		s.pos++
	}
	if s.at(0) == '_' && is(s.text[s.pos-1]) {
		s.fail(s.pos, s.pos+1, "digits are grouped as in 1_000", "a _ in a number must stand between two digits")
	}
}

// str = `"` { char } `"` | "'" { char } "'" .
func (s *scanner) str(quote byte) Kind {
	start := s.pos
	if quote == '\'' && s.last == Dot {
		s.fail(start, start+1, "write .T for a transpose", "unexpected ' after a dot")
	}
	if quote == '\'' && start > 0 && int(s.span.End) == start && s.last.endsStatement() && s.last != String {
		name := Brief(s.text[s.span.Start:s.span.End])
		hint := "write " + name + ".T for a transpose, grad(f) for a derivative"
		switch {
		case s.at(1) == '(':
			hint = "write grad(" + name + ")(…) for the derivative of " + name
		case s.at(1) == '\'' && s.at(2) == '(':
			hint = "write grad(grad(" + name + "))(…) for the second derivative of " + name
		case s.at(1) == '\'':
			hint = "write grad(grad(" + name + ", x), x) for a second derivative"
		}
		if s.last == Rparen {
			hint = "write (…).T for a transpose, grad(y, x) for a derivative"
		}
		if s.last == Number {
			hint = "digits are grouped with _, as in 1_000"
		}
		s.fail(start, start+1, hint, "unexpected ' after %s", name)
	}
	for s.pos++; s.pos < len(s.text) && s.text[s.pos] != '\n'; {
		switch s.text[s.pos] {
		case quote:
			s.pos++
			return String
		case '\\':
			s.pos++
			if s.pos < len(s.text) && s.text[s.pos] != '\n' {
				s.pos += s.printable()
			}
		default:
			if strings.HasPrefix(s.text[s.pos:], "\r\n") {
				s.pos++
				continue
			}
			s.pos += s.printable()
		}
	}
	s.fail(start, s.pos, "a string stands in a pair of quotes", "the string is not closed: expected %c before the end of the line", quote)
	return EOF
}

// unquote is the value of a string as written. Its escapes are Go's.
func unquote(text string) (string, error) {
	body := text[1 : len(text)-1]
	if !strings.Contains(body, `\`) {
		return body, nil
	}
	var b strings.Builder
	for body != "" {
		if strings.HasPrefix(body, `\"`) || strings.HasPrefix(body, `\'`) {
			b.WriteByte(body[1])
			body = body[2:]
			continue
		}
		r, multibyte, tail, err := strconv.UnquoteChar(body, 0)
		if err != nil {
			return "", err
		}
		if r < utf8.RuneSelf || !multibyte {
			b.WriteByte(byte(r))
		} else {
			b.WriteRune(r)
		}
		body = tail
	}
	return b.String(), nil
}

// printable returns the length of the character at pos. One that cannot be seen is an
// error wherever it stands, in a comment too: it could make a program look like another.
func (s *scanner) printable() int {
	r, n := utf8.DecodeRuneInString(s.text[s.pos:])
	switch {
	case r == utf8.RuneError && n == 1:
		hint := ""
		if s.pos == 0 && s.text[0] >= 0xfe {
			hint = "UTF-16 begins so: save it as UTF-8"
		}
		s.fail(s.pos, s.pos+1, hint, "the byte 0x%02x is not UTF-8", s.text[s.pos])
	case r == '\t':
	case r == '\r':
		s.fail(s.pos, s.pos+n, "a line ends with a line feed, \\n, or with both", "a carriage return, \\r, within a line")
	case r == 0:
		s.fail(s.pos, s.pos+n, "UTF-16 has such: save it as UTF-8", "unexpected character %s, which cannot be seen", cells.Escape(r))
	case cells.Invisible(r):
		s.fail(s.pos, s.pos+n, "delete it", "unexpected character %s, which cannot be seen", cells.Escape(r))
	}
	return n
}

// at is the byte i places on, and 0 behind the end.
func (s *scanner) at(i int) byte {
	if s.pos+i < len(s.text) {
		return s.text[s.pos+i]
	}
	return 0
}

// fail throws a syntax error about the bytes start up to end.
func (s *scanner) fail(start, end int, hint, format string, args ...any) {
	panic(bailout{&Error{
		Prog: s.prog, Where: Span{Pos(start), Pos(end)}, Mark: Pos(start),
		Kind: "syntax", Msg: fmt.Sprintf(format, args...), Hint: hint,
	}})
}

// A bailout carries a mistake out of the scanner and the parser.
type bailout struct{ *Error }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isAlnum(c byte) bool  { return isLetter(c) || isDigit(c) }

func isWordStart(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || isLetter(byte(r))
	}
	return unicode.IsLetter(r) && !cells.Invisible(r)
}
