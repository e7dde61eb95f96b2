package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"nabla/tape/tensor"
)

// maxHeader is a hundred times what NumPy itself will read.
const maxHeader = 1 << 20

var errHeaderShort = errors.New("header cut short")

// readHeader reads everything before the data.
func readHeader(r io.Reader) (*header, error) {
	var start [12]byte
	n, err := io.ReadFull(r, start[:len(magic)])
	got := string(start[:n])
	switch {
	case err != nil && err != io.EOF && err != io.ErrUnexpectedEOF:
		return nil, err
	case n == 0:
		return nil, errors.New("empty file")
	case strings.HasPrefix(got, "PK"):
		return nil, errors.New("looks like a zip (npz) file, not an NPY file")
	case !strings.HasPrefix(magic, got):
		return nil, fmt.Errorf("not an NPY file: it begins with %q", got)
	case n < len(magic):
		return nil, errHeaderShort
	}
	if err := fill(r, start[:2]); err != nil {
		return nil, err
	}
	major, minor, wide := start[0], start[1], 2
	if major < 1 || major > 3 {
		return nil, fmt.Errorf("NPY version %d.%d is not known (1.0, 2.0 and 3.0 are)", major, minor)
	}
	if major > 1 {
		wide = 4
	}
	clear(start[:])
	if err := fill(r, start[:wide]); err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint32(start[:])
	if length > maxHeader {
		return nil, fmt.Errorf("header of %d bytes (at most %d)", length, maxHeader)
	}
	text := make([]byte, length)
	if err := fill(r, text); err != nil {
		return nil, err
	}
	return parseHeader(string(text))
}

// fill reads all of b, or says that the header is cut short.
func fill(r io.Reader, b []byte) error {
	_, err := io.ReadFull(r, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errHeaderShort
	}
	return err
}

// parseHeader reads the dict, its keys in any order: each of the three once, nothing else.
//
//	header = "{" [ entry { "," entry } [ "," ] ] "}" .
//	entry  = string ":" ( string | "True" | "False" | tuple ) .
//	tuple  = "(" [ int { "," int } [ "," ] ] ")" .
func parseHeader(text string) (h *header, err error) {
	p := &literal{rest: text}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case syntax:
			h, err = nil, errors.New(string(e))
		case refused:
			h, err = nil, e.error
		default:
			panic(e)
		}
	}()
	h = &header{}
	keys := map[string]func(){
		"descr":         func() { p.check(h.setType(p.descr())) },
		"fortran_order": func() { h.fortran = p.bool() },
		"shape":         func() { h.shape = p.shape() },
	}
	p.want("{")
	for !p.have("}") {
		key := p.string()
		read := keys[key]
		if read == nil {
			p.fail("header has a key %q that is twice there or not NPY's", key)
		}
		delete(keys, key)
		p.want(":")
		read()
		if !p.have(",") {
			p.want("}")
			break
		}
	}
	if strings.Trim(p.rest, " \t\r\n\x00") != "" {
		p.fail("header goes on after its dict: %.20q", p.rest)
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if keys[key] != nil {
			p.fail("header lacks %q", key)
		}
	}
	if len(h.shape) > tensor.MaxRank {
		p.fail("shape has %d axes, and a tensor has at most %d", len(h.shape), tensor.MaxRank)
	}
	if _, ok := h.shape.CheckedSize(); !ok {
		p.fail("shape %v is larger than any memory", h.shape)
	}
	return h, nil
}

// printable is text of a stranger, fit for one line of a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

// A literal is what is left of a Python literal.
type literal struct{ rest string }

// A syntax is the panic that leaves the parser with an error.
type syntax string

func (p *literal) fail(format string, args ...any) { panic(syntax(fmt.Sprintf(format, args...))) }

// refused is what cannot be read though it is well written.
type refused struct{ error }

func (p *literal) check(err error) {
	if err != nil {
		panic(refused{err})
	}
}

// have skips tok if it is next.
func (p *literal) have(tok string) bool {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	rest, ok := strings.CutPrefix(p.rest, tok)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *literal) want(tok string) {
	if !p.have(tok) {
		p.fail("header is not a Python dict: %q expected before %.20q", tok, p.rest)
	}
}

// string reads a string of Python.
func (p *literal) string() string {
	for _, prefix := range []string{"u'", "u\"", "b'", "b\""} { // Python 2 wrote these
		if strings.HasPrefix(strings.TrimLeft(p.rest, " \t\r\n"), prefix) {
			p.have(prefix[:1])
		}
	}
	for _, quote := range []string{"'", `"`} {
		if p.have(quote) {
			s, rest, ok := strings.Cut(p.rest, quote)
			if !ok {
				p.fail("header has a string without an end")
			}
			p.rest = rest
			return s
		}
	}
	p.fail("header is not a Python dict: a string expected before %.20q", p.rest)
	return ""
}

// descr is a string; a list describes the fields of a record.
func (p *literal) descr() string {
	if p.have("[") {
		p.check(fmt.Errorf("a record (structured dtype) %w", ErrNotReal))
	}
	return p.string()
}

func (p *literal) bool() bool {
	if p.have("True") {
		return true
	}
	p.want("False")
	return false
}

// shape reads a tuple of sizes.
func (p *literal) shape() tensor.Shape {
	whole := p.rest
	bad := func() {
		text, _, _ := strings.Cut(strings.TrimSpace(whole), ")")
		if strings.HasPrefix(text, "(") {
			text += ")"
		}
		p.fail("shape %.60s is not a tuple of whole numbers", printable(text))
	}
	if !p.have("(") {
		bad()
	}
	s := tensor.Shape{}
	for !p.have(")") {
		p.have("")
		end := 0
		for end < len(p.rest) && (p.rest[end] >= '0' && p.rest[end] <= '9' || p.rest[end] == '-' && end == 0) {
			end++
		}
		n, err := strconv.Atoi(p.rest[:end])
		if err != nil && errors.Is(err, strconv.ErrRange) {
			p.fail("shape has an axis of %s, larger than any memory", p.rest[:end])
		}
		if err != nil || n < 0 {
			bad()
		}
		p.rest = p.rest[end:]
		p.have("L") // Python 2's long
		s = append(s, n)
		if p.have(",") {
			continue
		}
		if len(s) == 1 || !p.have(")") { // (6) is a number in brackets
			bad()
		}
		break
	}
	return s
}

// appendHeader appends all that stands before the data.
func appendHeader(b []byte, d tensor.DType, shape tensor.Shape) []byte {
	t := types[d]
	order := byte('<')
	if t.size == 1 {
		order = '|'
	}
	return headerOf(b, fmt.Sprintf("%c%c%d", order, t.kind, t.size), shape)
}

// headerOf is appendHeader for any dtype, as NumPy describes it.
func headerOf(b []byte, descr string, shape tensor.Shape) []byte {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %v, }", descr, shape)
	pad := (64 - (len(magic)+4+len(text)+1)%64) % 64
	b = append(b, magic...)
	b = append(b, 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(text)+pad+1))
	b = append(b, text...)
	b = append(b, strings.Repeat(" ", pad)...)
	return append(b, '\n')
}
