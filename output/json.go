package output

import (
	"bufio"
	"io"
	"strings"
	"unicode/utf8"

	"nabla/tape/tensor"
)

// writeJSON writes {"op":…,"expr":…,"value":…,"grad":{…},"unconnected":{…},"warnings":[…]}.
// The payload's key is the operation, its inside mirrors the sources, null is
// not connected. It is one line unless a person reads it.
func writeJSON(w *bufio.Writer, r *Result, o *Options) error {
	j := &jsonWriter{w: w, threads: o.Threads, pretty: o.Terminal && !o.Compact}
	j.result(r)
	return j.end()
}

// writeNDJSON is writeJSON on one line, whoever reads it.
func writeNDJSON(w *bufio.Writer, r *Result, o *Options) error {
	j := &jsonWriter{w: w, threads: o.Threads}
	j.result(r)
	return j.end()
}

// AppendNDJSON appends the line that the format ndjson is. A result of several targets
// says so.
func AppendNDJSON(b []byte, r *Result) []byte {
	j := jsonWriter{b: b}
	j.result(r)
	return append(j.b, '\n')
}

// A jsonWriter appends to a buffer and empties it into w, if there is one, when many
// numbers come. Its methods take the column at which the text that they append begins;
// only the pretty form looks at it.
type jsonWriter struct {
	w       io.Writer
	b       []byte
	threads int
	pretty  bool
	err     error
}

// flush writes what has been gathered. Without a writer it is kept.
func (j *jsonWriter) flush() {
	if j.w == nil {
		return
	}
	if j.err == nil {
		_, j.err = j.w.Write(j.b)
	}
	j.b = j.b[:0]
}

// many appends what part appends for 0 to n.
func (j *jsonWriter) many(n int, part func(b []byte, from, to int) []byte) {
	if len(j.b) > partLength { // values that are small each
		j.flush()
	}
	if j.w == nil || n <= partLength {
		j.b = part(j.b, 0, n)
		return
	}
	j.flush()
	if j.err == nil {
		j.err = inParts(j.w, j.threads, n, part)
	}
}

func (j *jsonWriter) end() error {
	j.b = append(j.b, '\n')
	j.flush()
	return j.err
}

// An object is one that is being written: its keys stand in column at + 2.
type object struct {
	j    *jsonWriter
	at   int
	some bool
}

func (j *jsonWriter) object(at int) object {
	j.b = append(j.b, '{')
	return object{j: j, at: at}
}

// key appends a key and returns the column of its value.
func (o *object) key(name string) int {
	j := o.j
	if o.some {
		j.b = append(j.b, ',')
	}
	o.some = true
	j.line(o.at + 2)
	n := len(j.b)
	j.b = append(AppendString(j.b, name), ':')
	if !j.pretty {
		return 0
	}
	j.b = append(j.b, ' ')
	return o.at + 2 + utf8.RuneCount(j.b[n:])
}

// end closes the object and returns to column at.
func (o *object) end() {
	if o.some {
		o.j.line(o.at)
	}
	o.j.b = append(o.j.b, '}')
}

// line begins a new line at a column, if lines are wanted.
func (j *jsonWriter) line(at int) {
	if !j.pretty {
		return
	}
	j.b = append(j.b, '\n')
	for range at {
		j.b = append(j.b, ' ')
	}
}

// result is an object of what was asked, what came out and what is said about it.
func (j *jsonWriter) result(r *Result) {
	o := j.object(0)
	o.key("op")
	j.b = AppendString(j.b, r.Op)
	o.key("expr")
	j.b = AppendString(j.b, r.Expr)
	if r.Several {
		o.key("targets")
		all := j.object(2)
		for i := range r.Targets {
			all.key(r.Targets[i].Name)
			one := j.object(4)
			j.target(r.Op, &r.Targets[i], 6, &one)
			one.end()
		}
		all.end()
	} else if len(r.Targets) == 1 {
		j.target(r.Op, &r.Targets[0], 2, &o)
	}
	if len(r.Warnings) > 0 {
		at := o.key("warnings")
		j.list(len(r.Warnings), at, true, func(i, at int) { j.warning(&r.Warnings[i], at) })
	}
	o.end()
}

// target adds a target's value and derivatives to an object.
func (j *jsonWriter) target(op string, t *Target, at int, o *object) {
	if t.Value != nil {
		j.value(t.Value, at, o.key("value"))
	}
	if t.Payload != nil {
		j.value(t.Payload, at, o.key(op))
	}
	if len(t.Unconnected) > 0 {
		o.key("unconnected")
		why := j.object(at)
		for _, u := range t.Unconnected {
			why.key(u.Path)
			j.b = AppendString(j.b, u.Why)
		}
		why.end()
	}
}

// warning is a warning with its place, as far as it has one.
func (j *jsonWriter) warning(w *Warning, at int) {
	o := j.object(at)
	if w.Op != "" {
		o.key("op")
		j.b = AppendString(j.b, w.Op)
	}
	o.key("message")
	j.b = AppendString(j.b, w.Message)
	for _, p := range []struct {
		name string
		n    int
	}{{"line", w.Line}, {"column", w.Column}} {
		if p.n != 0 {
			o.key(p.name)
			j.b = AppendNumber(j.b, float64(p.n), tensor.Int64)
		}
	}
	if w.Element != nil {
		o.key("element")
		j.list(len(w.Element), 0, false, func(i, _ int) {
			j.b = AppendNumber(j.b, float64(w.Element[i]), tensor.Int64)
		})
		if w.Known {
			o.key("value")
			j.b = AppendJSONNumber(j.b, w.Value, tensor.Float64)
		}
	}
	o.end()
}

// list appends [ items ], each on its own line if tall.
func (j *jsonWriter) list(n, at int, tall bool, item func(i, at int)) {
	j.b = append(j.b, '[')
	for i := range n {
		if i > 0 {
			j.comma(at+1, tall)
		}
		item(i, at+1)
	}
	j.b = append(j.b, ']')
}

// comma separates two items of a list.
func (j *jsonWriter) comma(at int, tall bool) {
	j.b = append(j.b, ',')
	if !j.pretty {
		return
	}
	if tall {
		j.line(at)
	} else {
		j.b = append(j.b, ' ')
	}
}

// value appends v at column at; if it is an object, its closing brace stands at column outer.
func (j *jsonWriter) value(v *tensor.Value, outer, at int) {
	switch v.Kind {
	case tensor.KindNone:
		j.b = append(j.b, "null"...)
	case tensor.KindTensor:
		j.tensor(v.Tensor.Shape, v.Tensor.Data, v.Tensor.DType, at)
	case tensor.KindSparse:
		j.sparse(v.Sparse, outer)
	case tensor.KindList:
		j.list(len(v.List), at, !flat(v.List), func(i, at int) { j.value(v.List[i], at, at) })
	case tensor.KindRecord:
		o := j.object(outer)
		for _, f := range v.Fields {
			j.value(f.Value, outer+2, o.key(f.Name))
		}
		o.end()
	}
}

// sparse appends a matrix as its entries, under SciPy's names for them.
func (j *jsonWriter) sparse(s *tensor.Sparse, outer int) {
	o := j.object(outer)
	o.key("shape")
	j.tensor(tensor.Shape{2}, []float64{float64(s.Rows), float64(s.Cols)}, tensor.Int64, 0)
	vector := func(name string, d tensor.DType, at func(i, k int) float64) {
		o.key(name)
		j.b = append(j.b, '[')
		j.many(len(s.Data), func(b []byte, from, to int) []byte {
			entries(s, from, to, func(i, k int) {
				if k > 0 {
					b = append(b, ',')
					if j.pretty {
						b = append(b, ' ')
					}
				}
				b = AppendJSONNumber(b, at(i, k), d)
			})
			return b
		})
		j.b = append(j.b, ']')
	}
	vector("row", tensor.Int64, func(i, _ int) float64 { return float64(i) })
	vector("col", tensor.Int64, func(_, k int) float64 { return float64(s.Col[k]) })
	vector("data", s.DType, func(_, k int) float64 { return s.Data[k] })
	o.end()
}

// flat reports whether every value is a number or null.
func flat(list []*tensor.Value) bool {
	for _, v := range list {
		if v.Kind == tensor.KindTensor && len(v.Tensor.Shape) == 0 || v.Kind == tensor.KindNone {
			continue
		}
		return false
	}
	return true
}

// tensor appends nested arrays, the innermost ones on one line, the outer ones under each other as NumPy does.
func (j *jsonWriter) tensor(shape tensor.Shape, data []float64, d tensor.DType, at int) {
	if len(data) == 0 && len(shape) > 1 {
		j.list(shape[0], at, true, func(_, at int) { j.tensor(shape[1:], data, d, at) })
		return
	}
	switch {
	case len(shape) == 0:
		j.b = AppendJSONNumber(j.b, data[0], d)
		return
	case len(shape) == 1 && len(data) <= partLength: // nothing to be made for it: such are the lines of --each
		j.b = append(j.b, '[')
		for i, v := range data {
			if i > 0 {
				j.comma(0, false)
			}
			j.b = AppendJSONNumber(j.b, v, d)
		}
		j.b = append(j.b, ']')
		return
	}
	for range shape {
		j.b = append(j.b, '[')
	}
	j.many(len(data), nested(shape, data, d, j.pretty, at).part)
	for range shape {
		j.b = append(j.b, ']')
	}
}

// AppendJSONNumber appends a number, or a string for what JSON has no number for.
func AppendJSONNumber(b []byte, v float64, d tensor.DType) []byte {
	switch {
	case v-v == 0:
		return AppendNumber(b, v, d)
	case v != v:
		return append(b, `"NaN"`...)
	case v > 0:
		return append(b, `"Infinity"`...)
	}
	return append(b, `"-Infinity"`...)
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Only what JSON demands is escaped, so
// that a program reads as it was typed; bytes that are not UTF-8 become U+FFFD.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	n := 0 // what is plain goes over as it is
	for n < len(s) && s[n] >= ' ' && s[n] < 0x7f && s[n] != '"' && s[n] != '\\' {
		n++
	}
	b, s = append(b, s[:n]...), s[n:]
	for _, r := range s { // a byte that is not UTF-8 comes as U+FFFD
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ' || r == 0x7f:
			if i := strings.IndexRune("\n\t\r\b\f", r); i >= 0 {
				b = append(b, '\\', "ntrbf"[i])
			} else {
				b = append(b, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
			}
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}
