package input

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strings"

	"nabla/expr"
	"nabla/tape/tensor"
)

// array is a tensor, or a list when an object stands anywhere inside it.
func (p *parser) array() *tensor.Value {
	if v := p.whole(); v != nil {
		return v
	}
	return p.list()
}

// whole reads an array as a tensor; nil where it has to be a list. Nearly all are tensors, and it is
// read as one at first; whatever contradicts that asks once for all arrays of the text which of them
// hold objects, so that no byte is read over and over.
func (p *parser) whole() *tensor.Value {
	start := p.i
	if p.lists.has(start) {
		return nil
	}
	v, err := p.tensor()
	if err == nil {
		return v
	}
	if p.lists == nil {
		p.lists = findLists(p.b)
	}
	if !p.lists.has(start) {
		panic(err)
	}
	return nil
}

const unknown = -1

// tensor = "[" [ element { "," element } ] "]" . Elements are numbers or tensors, all of
// one shape. It returns an error when the array would have to be a list.
// It is one function: opening, numbers and closing as three, with their state in a struct, took
// about 1.3 times as long for rows of two (BenchmarkJSON/pairs, Zen 3).
func (p *parser) tensor() (*tensor.Value, *Error) {
	depth, deepest, leaf := 0, 0, unknown // leaf is the depth at which numbers stand
	bools := 0
	p.mixed = none
	b, i := p.b, p.i
	out := p.room()
	for {
		i = afterSpace(b, i)
		if i < len(b) && b[i] == '[' {
			if leaf != unknown && depth >= leaf {
				return nil, p.fault(i, "an array where the elements before are numbers", asList, p.here(depth)...)
			}
			if depth == tensor.MaxRank {
				return nil, p.fault(i, fmt.Sprintf("arrays nest deeper than %d", tensor.MaxRank), "")
			}
			depth++
			p.count[depth] = 0
			if depth > deepest {
				deepest, p.dims[depth] = depth, unknown
			}
			if i = afterSpace(b, i+1); i == len(b) || b[i] != ']' {
				continue
			}
			if leaf == unknown {
				leaf = depth // [[], []] has shape (2, 0)
			}
		} else if more, end := p.expected(i, len(out)); len(more) > 0 && (leaf == depth || leaf == unknown) {
			leaf = depth
			if len(out)+len(more) > cap(out) {
				out = p.grow(out, len(more))
			}
			out, i = append(out, more...), end
			p.count[depth] += len(more)
		} else {
			f, end, ok := number(b, i)
			if leaf == depth && ok && f-f == 0 {
				n := len(out)
				out, i, f, end, ok = p.row(out, i, f, end)
				p.count[depth] += len(out) - n
			}
			if !ok {
				if i < len(b) && b[i] == '[' {
					continue
				}
				if i < len(b) && b[i] == '{' {
					return nil, p.fault(i, "an object in a tensor", "", p.here(depth)...)
				}
				var isBool bool
				f, isBool, end = p.word(i, depth)
				if isBool {
					if bools < len(out) && p.mixed == none {
						p.mixed = i
					}
					bools++
				}
			} else if f-f != 0 {
				p.outOfRange(i, end, depth)
			}
			if leaf != depth {
				if leaf != unknown {
					return nil, p.fault(i, "a number where the elements before are arrays", asList, p.here(depth)...)
				}
				leaf = depth
			}
			if len(out) == cap(out) {
				out = p.grow(out, 1)
			}
			out = append(out, f)
			p.count[depth]++
			i = end
		}
		// A value has ended: at i stands a comma, or the end of one array or more.
		for {
			if i = afterSpace(b, i); i < len(b) && b[i] == ',' {
				i++
				break
			}
			if i == len(b) || b[i] != ']' {
				p.unclosed(i, depth)
			}
			n := p.count[depth]
			if want := p.dims[depth]; want == unknown {
				p.dims[depth] = n
			} else if n != want {
				return nil, p.fault(i, fmt.Sprintf("row %d has %s where %d %s expected", p.count[depth-1], expr.Plural(n, "element"), want, areIs(want)),
					asList, p.here(depth-1)...)
			}
			i++
			if depth--; depth == 0 {
				v := p.finished(out, p.dims[1:deepest+1], bools)
				p.i = i
				return v, nil
			}
			p.count[depth]++
		}
	}
}

// row reads the numbers from f on, which is b[i:end], that a comma follows at once, as most
// programs write a row, while there is room for them, but some thousands at most. It returns the first that it
// leaves.
func (p *parser) row(out []float64, i int, f float64, end int) (_ []float64, at int, _ float64, _ int, ok bool) {
	b := p.b
	most := min(cap(out), len(out)+aheadNumbers)
	for ok = true; ok && f-f == 0 && end < len(b) && b[end] == ',' && len(out) < most; {
		out = append(out, f)
		i = afterSpace(b, end+1)
		if i+1 < len(b) && b[i+1] == ',' && b[i]-'0' <= 9 { // one digit
			f, end = float64(b[i]-'0'), i+1
			continue
		}
		f, end, ok = number(b, i)
	}
	return out, i, f, end, ok
}

// unclosed stops at byte i, where a comma or the end of the array at this depth is missing.
func (p *parser) unclosed(i, depth int) {
	p.i = i
	list := len(p.path) + depth - 1
	p.count[depth]--
	p.path = append(p.path, p.here(depth)...)
	p.glued()
	p.path = p.path[:list] // it is the array that goes on in a wrong way
	p.unexpected(i, "where a ',' or ']' should stand", p.missingComma())
}

// here is the path of the element being read at a depth.
func (p *parser) here(depth int) []step {
	path := make([]step, depth)
	for d := range path {
		path[d].index = p.count[d+1]
	}
	return path
}

const asList = `a tensor is rectangular; for a list of several, write each as {"data": …}`

func areIs(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// finished makes the tensor of out, whose text begins at p.i, and takes its numbers from the arena.
func (p *parser) finished(out []float64, dims []int, bools int) *tensor.Value {
	x := p.pool.leaf()
	t := &x.tensor
	t.Shape, t.Data = append(x.dims[:0], dims...), out[:len(out):len(out)]
	p.arena = out[len(out):]
	p.numbers -= len(out)
	if bools > 0 && bools == len(out) {
		t.DType = tensor.Bool
	} else if bools > 0 && p.mixed == none {
		p.mixed = p.element(p.i, bools) // booleans first, a number later
	}
	return &x.value
}

// room is the free part of the arena. A text with n commas holds at most n+1 numbers,
// so that two blocks serve a document of any size: a small one, and once that is full
// of good numbers, one for all that may come.
func (p *parser) room() []float64 {
	if p.numbers < 0 {
		p.numbers = bytes.Count(p.b, []byte{','}) + 1
		p.arena = p.pool.numbers(min(p.numbers, 4096))
	}
	return p.arena[:0]
}

// grow moves the numbers of the tensor being read to a block that holds the rest of the text, or n more.
func (p *parser) grow(out []float64, n int) []float64 {
	return append(p.pool.numbers(max(p.numbers, len(out)+n)), out...)
}

// outOfRange stops at the number b[at:end], which is too large for a float64.
func (p *parser) outOfRange(at, end, depth int) {
	p.fail(at, clip(p.b[at:end])+" is out of range of float64", `infinity is written "Infinity"`, p.here(depth)...)
}

// clip shortens a token for a message.
func clip(token []byte) string {
	const most = 32
	if len(token) > most {
		return string(token[:most]) + "…"
	}
	return string(token)
}

// A wordValue is a word that stands for a number.
type wordValue struct {
	text         string
	bits         uint64 // of the number: infinities would be computed at every start
	isBool       bool
	bare, quoted bool // how it may be written
}

const (
	one, nan      = 0x3ff0_0000_0000_0000, 0x7ff8_0000_0000_0001
	inf, minusInf = 0x7ff0_0000_0000_0000, 0xfff0_0000_0000_0000
)

// wordValues are all of them. A quoted "nan" is not among them: in many a file it is a
// cell that somebody left empty, which an infinity never is.
var wordValues = []wordValue{
	{"true", one, true, true, false},
	{"false", 0, true, true, false},
	{"NaN", nan, false, true, true},
	{"Infinity", inf, false, true, true},
	{"-Infinity", minusInf, false, true, true},
	{"inf", inf, false, false, true},
	{"-inf", minusInf, false, false, true},
}

// word reads what stands for a number at i and is none: NaN, "Infinity", true. It stands so deep in a tensor.
func (p *parser) word(i, depth int) (f float64, isBool bool, end int) {
	if i < len(p.b) && p.b[i] == '"' {
		if w := nonFinite(p.b[i:]); w != nil {
			return math.Float64frombits(w.bits), false, i + len(w.text) + 2
		}
		p.i = i
		p.path = append(p.path, p.here(depth)...)
		s := p.str()
		hint := ""
		if w := quotedWord(s); w != "" {
			hint = `write "` + w + `"`
		} else if _, end, ok := number([]byte(s), 0); ok && end == len(s) {
			hint = "write it without quotes"
		}
		p.fail(i, quote(s)+" is not a number", hint)
	}
	token := p.token(i)
	for _, w := range wordValues {
		if w.bare && w.text == string(token) {
			return math.Float64frombits(w.bits), w.isBool, i + len(token)
		}
	}
	p.path = append(p.path, p.here(depth)...)
	p.i = i
	p.notNumber(i)
	return 0, false, 0
}

// nonFinite is the quoted word that b begins with, or nil.
func nonFinite(b []byte) *wordValue {
	for i := range wordValues {
		w := &wordValues[i]
		if n := len(w.text); w.quoted && len(b) >= n+2 && string(b[1:n+1]) == w.text && b[n+1] == '"' {
			return w
		}
	}
	return nil
}

// quotedWord is the word that s means to say: nan, inf, +Infinity.
func quotedWord(s string) string {
	switch strings.ToLower(s) {
	case "nan", "-nan", "+nan":
		return "NaN"
	case "inf", "infinity", "+inf", "+infinity":
		return "Infinity"
	case "-inf", "-infinity":
		return "-Infinity"
	}
	return ""
}

// token is the run of letters, digits and signs at i.
func (p *parser) token(i int) []byte {
	end := i
	for end < len(p.b) && isWord(p.b[end]) {
		end++
	}
	return p.b[i:end]
}

func isWord(c byte) bool {
	return c-'0' <= 9 || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '.' || c == '+' || c == '-' || c >= 0x80
}

// notNumber stops at i, where a number should stand, and says why what stands there is none.
func (p *parser) notNumber(i int) {
	token := string(p.token(i))
	lower := strings.ToLower(token)
	digits := strings.TrimLeft(lower, "+-")
	whole, rest, point := strings.Cut(digits, ".")
	is := quote(token) + " is not a number"
	switch {
	case token == "":
		p.unexpected(i, "where a value should stand", "")
	case lower == "null" || lower == "none" || lower == "nil":
		p.fail(i, token+" is not a number", `a missing number is written "NaN"`)
	case lower == "true" || lower == "false":
		p.fail(i, is, "write "+lower)
	case quotedWord(lower) != "":
		p.fail(i, is, "write "+quotedWord(lower))
	case token[0] == '+':
		p.fail(i, is+": it begins with '+'", "remove the sign")
	case strings.HasPrefix(digits, "0x"):
		p.fail(i, is+": JSON has no hexadecimal", "")
	case len(digits) > 1 && digits[0] == '0' && digits[1]-'0' <= 9:
		p.fail(i, is+": it begins with a zero", "")
	case point && whole == "":
		p.fail(i, is+": a digit comes before the point", "write 0"+clip([]byte(digits)))
	case point && whole[0]-'0' <= 9 && (rest == "" || rest[0]-'0' > 9):
		p.fail(i, is+": a digit follows the point", "write "+clip([]byte(strings.Replace(token, ".", ".0", 1))))
	}
	hint := ""
	if plain := strings.ReplaceAll(token, "_", ""); plain != token {
		if _, end, ok := number([]byte(plain), 0); ok && end == len(plain) {
			hint = "write " + clip([]byte(plain))
		}
	}
	p.fail(i, is, hint)
}

// glued stops when what stands at p.i continues a number: 0x10, 1_000, 2x.
func (p *parser) glued() {
	i := p.i
	if i == 0 || i == len(p.b) || !isWord(p.b[i]) || p.b[i-1]-'0' > 9 {
		return
	}
	for i > 0 && isWord(p.b[i-1]) {
		i--
	}
	p.notNumber(i)
}

// unexpected stops at byte i, which does not belong there.
func (p *parser) unexpected(i int, where, hint string) {
	if i >= len(p.b) {
		if p.pool != nil { // a line of --each
			p.fail(i, "the line ends "+where, "a document stands on one line, as jq -c writes it")
		}
		p.fail(i, "the text ends "+where, "")
	}
	what := quote(string(p.token(i)))
	switch c := p.b[i]; {
	case c == '/' || c == '#':
		what = quote(string(c))
		hint = cmp.Or(hint, "JSON has no comments")
	case c < ' ' || c == 0x7f:
		what = fmt.Sprintf("byte 0x%02x", c)
	case !isWord(c):
		what = quote(string(rune(c)))
	}
	if c := p.b[i]; c == ']' || c == '}' {
		j := i
		for j > 0 && isSpace(p.b[j-1]) {
			j--
		}
		if j > 0 && p.b[j-1] == ',' {
			p.fail(i, "unexpected "+what+" after a comma", "remove the comma")
		}
	}
	p.fail(i, "unexpected "+what+" "+where, hint)
}

// A bitset is a set of byte offsets.
type bitset []uint64

func (s bitset) has(i int) bool { return s != nil && s[i/64]>>(i%64)&1 == 1 }

// findLists is the set of places where an array begins that holds an object at any depth.
func findLists(b []byte) bitset {
	s := make(bitset, len(b)/64+1)
	var open []int // arrays, and objects as -1
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '[':
			open = append(open, i)
		case '{':
			// An array around this object is a list; so is all around a list, which is marked already.
			for k := len(open) - 1; k >= 0 && open[k] >= 0 && !s.has(open[k]); k-- {
				s[open[k]/64] |= 1 << (open[k] % 64)
			}
			open = append(open, -1)
		case ']', '}':
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		}
		if len(open) > 2*maxDepth {
			break // the reader stops there
		}
	}
	return s
}
