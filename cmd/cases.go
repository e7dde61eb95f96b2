package cmd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"

	"nabla/cmd/input"
	"nabla/expr"
	"nabla/tape/tensor"
)

// A caseText is a case as a file of cases writes it.
type caseText struct {
	Name   string          `json:"name"`
	Expr   string          `json:"expr"`
	At     json.RawMessage `json:"at"`
	Wrt    nameList        `json:"wrt"`
	Of     nameList        `json:"of"`
	Claim  json.RawMessage `json:"claim"`
	Expect json.RawMessage `json:"expect"`
	RTol   *float64        `json:"rtol"`
	ATol   *float64        `json:"atol"`
	Order  *int            `json:"order"`
}

var caseKeys = []string{"name", "expr", "at", "wrt", "of", "claim", "expect", "rtol", "atol", "order"}

// A nameList is ["x", "y"] or "x, y".
type nameList []string

func (l *nameList) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*l = names([]string{s})
		return nil
	}
	if json.Unmarshal(b, (*[]string)(l)) != nil {
		return errors.New(`names are a list such as ["x", "y"], or a text`)
	}
	return nil
}

// readCases reads a list of cases.
func (o *checkOptions) readCases(file string) ([]checkCase, error) {
	src := input.Source{Stdin: o.input(), Options: input.Options{MaxBytes: o.limit}}
	text, err := src.Text(file)
	if err != nil {
		return nil, err
	}
	file = input.Called(file)
	var list []json.RawMessage
	given := text
	if text, err = unmarshal(file, text, &list); err != nil {
		return nil, err
	}
	if err := input.Distinct(file, given); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, &input.Error{File: file, Msg: "there is no case in it", Hint: `a case is {"name": …, "expr": …, "at": {…}}`}
	}
	var cases []checkCase
	from := 0
	for i, raw := range list {
		from += bytes.Index(text[from:], raw)
		var t caseText
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		err := d.Decode(&t)
		if err != nil {
			err = asGiven(jsonProblem(file, text, from, err), given)
		}
		from += len(raw)
		if t.Name == "" {
			t.Name = fmt.Sprintf("case %d", i+1)
		}
		c := checkCase{name: t.Name, text: t.Expr, err: err}
		if err == nil {
			if c, err = o.readCase(file, &t); err != nil {
				if e, ok := err.(*input.Error); ok && e.Line > 0 { // in the values
					e.Offset += int64(from - len(raw) + max(bytes.Index(raw, t.At), 0))
				}
				c.err = asGiven(err, given)
			}
		}
		c.name, c.line = visible(c.name), 1+bytes.Count(text[:from-len(raw)], []byte{'\n'})
		cases = append(cases, c)
	}
	return cases, nil
}

// readCase is a case of a file: what it does not say is as the flags say.
func (o *checkOptions) readCase(file string, t *caseText) (c checkCase, err error) {
	c = checkCase{name: t.Name, text: t.Expr, rtol: o.RTol, atol: o.ATol, order: o.Order, of: t.Of, expectOp: "grad"}
	if t.RTol != nil {
		c.rtol = *t.RTol
	}
	if t.ATol != nil {
		c.atol = *t.ATol
	}
	if t.Order != nil {
		c.order = *t.Order
	}
	if c.order != 1 && c.order != 2 {
		return c, &input.Error{File: file, Path: "order", Msg: "it is 1 or 2, not " + strconv.Itoa(c.order)}
	}
	if !(c.rtol >= 0) || !(c.atol >= 0) {
		return c, &input.Error{File: file, Msg: "a tolerance is at least 0"}
	}
	if strings.TrimSpace(t.Expr) == "" {
		return c, &input.Error{File: file, Msg: "there is no expr", Hint: `a case is {"name": …, "expr": …, "at": {…}}`}
	}
	if c.prog, err = expr.Parse("", t.Expr); err != nil {
		return c, err
	}
	src := input.Source{At: o.At, Const: o.Const, Eval: o.constant}
	var at string
	values := new(input.Document)
	switch {
	case t.At == nil:
	case json.Unmarshal(t.At, &at) == nil:
		src.At = append(src.At, at)
	default:
		if values, err = input.ReadJSON(file, t.At); err != nil {
			return c, err
		}
	}
	if c.doc, err = src.Load(); err != nil {
		return c, err
	}
	if c.doc, err = c.doc.Merge(values); err != nil {
		return c, err
	}
	if t.Wrt != nil {
		c.doc.Wrt = t.Wrt
	}
	if t.Claim != nil {
		if c.claims, err = claimsOf(t.Claim); err != nil {
			return c, &input.Error{File: file, Path: "claim", Msg: err.Error(), Hint: `a claim is "x=2*x" or {"x": "2*x"}`}
		}
	}
	if t.Expect != nil {
		c.expect, c.expectOp, err = expected(file, t.Expect)
	}
	return c, err
}

// claimsOf reads "x=2*x" or {"x": "2*x"}.
func claimsOf(text json.RawMessage) (list []input.Assignment, err error) {
	var s string
	if json.Unmarshal(text, &s) == nil {
		return input.SplitAssignments(s)
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, errors.New("there is no expression by name")
	}
	d := json.NewDecoder(bytes.NewReader(text)) // in order of appearance
	d.Token()
	for d.More() {
		name, _ := d.Token()
		var v any
		d.Decode(&v)
		list = append(list, input.Assignment{Name: fmt.Sprint(name), Text: fmt.Sprint(v)})
	}
	return list, nil
}

// plainSyntax says in our words what the library says of a character that may not stand there.
func plainSyntax(msg string) string {
	for _, w := range [][2]string{
		{"looking for beginning of value", "where a value should begin"},
		{"looking for beginning of object key string", "where a key should stand"},
		{"after top-level value", "behind the end of the document"},
		{"after object key:value pair", "where , or } should stand"},
		{"after object key", "where : should stand"},
		{"after array element", "where , or ] should stand"},
	} {
		if begin, ok := strings.CutSuffix(msg, w[0]); ok {
			return strings.Replace(begin, "invalid character", "unexpected", 1) + w[1]
		}
	}
	return msg
}

// jsonProblem is a mistake in a file of cases, in the JSON that begins at from.
func jsonProblem(file string, text []byte, from int, err error) error {
	e := &input.Error{File: file, Msg: strings.TrimPrefix(err.Error(), "json: "), Err: err}
	if key, ok := strings.CutPrefix(e.Msg, "unknown field "); ok {
		key = strings.Trim(key, `"`)
		e.Msg = "unknown key " + quoted(key)
		e.Hint = cmp.Or(expr.DidYouMean(key, caseKeys), "a case has "+strings.Join(caseKeys, ", "))
		if i := bytes.Index(text[from:], []byte(`"`+key+`"`)); i >= 0 {
			e.Locate(text, from+i)
		}
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	at := int64(-1)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), e.Msg == "unexpected end of JSON input":
		rest := bytes.TrimRight(text, " \t\r\n")
		at = int64(len(rest) - from)
		if e.Msg = "the text ends before the document does"; len(rest) == 0 {
			e.Msg = "the document is empty"
		}
	case errors.As(err, &syntax):
		at = syntax.Offset - 1 // it counts the character, too
		e.Msg = cmp.Or(input.Encoding(text[from:]), plainSyntax(e.Msg))
		if from+int(at) == 0 {
			input.Known(text, e)
		}
		if begins := text[from+int(at):]; bytes.HasPrefix(begins, []byte("N")) || bytes.HasPrefix(begins, []byte("I")) {
			e.Hint = "write NaN, Infinity or -Infinity"
		}
	case errors.As(err, &kind):
		at = int64(literal(text[from:], int(kind.Offset-1)))
		e.Path = kind.Field
		is := strings.NewReplacer("a array", "an array", "a object", "an object").Replace("a " + kind.Value)
		switch wanted := kind.Type.Kind(); {
		case wanted == reflect.Slice && kind.Field == "":
			e.Msg = "the cases are a list, and this is " + is
			e.Hint = "write [{\"name\": …, \"expr\": …, \"at\": {…}}]"
		case wanted == reflect.Struct:
			e.Msg = "a case is an object, and this is " + is
		case strings.HasPrefix(kind.Value, "number "):
			e.Msg = strings.TrimPrefix(kind.Value, "number ") + " is out of range"
			if wanted == reflect.Int {
				e.Msg = strings.TrimPrefix(kind.Value, "number ") + " where a whole number should stand"
			}
		default:
			e.Msg = is + " where " + map[reflect.Kind]string{
				reflect.String: "a text", reflect.Float64: "a number", reflect.Int: "a whole number",
			}[wanted] + " should stand"
		}
	}
	if at >= 0 {
		e.Locate(text, from+int(at))
	}
	return e
}

// literal is where a string, a number or a word begins, of which at is the last byte.
func literal(text []byte, at int) int {
	i := min(at, len(text)-1)
	if i >= 0 && text[i] == '"' {
		for i--; i >= 0; i-- { // a quote in it has an odd number of backslashes in front
			if text[i] == '"' && (i-len(bytes.TrimRight(text[:i], `\`)))%2 == 0 {
				return i
			}
		}
		return at
	}
	for i > 0 && bytes.IndexByte([]byte("0123456789+-.eEtrufalsn"), text[i-1]) >= 0 {
		i--
	}
	return max(i, 0)
}

// readExpected reads results to judge.
func readExpected(o *checkOptions, file string) (*tensor.Value, string, error) {
	src := input.Source{Options: input.Options{MaxBytes: o.limit}}
	v, text, notes, err := src.Result(file)
	o.note(o.Quiet, notes)
	if err != nil || v != nil {
		return v, "grad", err
	}
	return expected(file, text)
}

// expected reads a result of nabla in JSON, or gradients by source.
func expected(file string, text []byte) (*tensor.Value, string, error) {
	v, err := decodeResult(file, text)
	if err != nil {
		return nil, "", err
	}
	op := "grad"
	if m, ok := v.(map[string]any); ok {
		for _, c := range derivatives {
			name := strings.ReplaceAll(c.name, "-", "_")
			if payload, ok := m[name]; ok && (m["op"] == name || len(m) == 1) {
				v, op = payload, name
				break
			}
		}
	}
	result, err := fromJSON(v)
	if err != nil {
		return nil, "", &input.Error{File: file, Msg: err.Error()}
	}
	if result.Kind == tensor.KindRecord && len(result.Fields) == 0 {
		return nil, "", &input.Error{File: file, Msg: "nothing is expected in it", Hint: `write {"x": 6}, or what nabla grad -f json prints`}
	}
	return result, op, nil
}

// decodeResult reads a result in JSON.
func decodeResult(file string, text []byte) (v any, err error) {
	if v, ok := input.Tree(text); ok {
		return v, nil
	}
	if _, err = unmarshal(file, text, &v); err != nil {
		return nil, err
	}
	return v, input.Distinct(file, text)
}

// unmarshal is that of package json, but that NaN and the infinities may stand bare, as Python
// writes them, and a byte order mark at the beginning. It returns the text that package json reads.
func unmarshal(file string, given []byte, to any) (text []byte, err error) {
	if err = json.Unmarshal(given, to); err == nil {
		return given, nil
	}
	text = quoteBare(given)
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		copy(text, "   ")
	}
	if err = json.Unmarshal(text, to); err != nil {
		return nil, asGiven(jsonProblem(file, text, 0, err), given)
	}
	return text, nil
}

// asGiven is a mistake in what unmarshal made of a text, with its place in the text itself.
func asGiven(err error, given []byte) error {
	if e, ok := err.(*input.Error); ok && e.Line > 0 {
		e.Locate(given, sort.Search(len(given), func(i int) bool { return int64(len(quoteBare(given[:i+1]))) > e.Offset }))
	}
	return err
}

// quoteBare puts NaN, Infinity and -Infinity between quotes where they stand bare.
func quoteBare(text []byte) (out []byte) {
	for i := 0; i < len(text); {
		n := 1
		switch c := text[i]; {
		case c == '"':
			for i+n < len(text) && text[i+n] != '"' {
				if text[i+n] == '\\' {
					n++
				}
				n++
			}
			n = min(n+1, len(text)-i)
		case c == 'N' || c == 'I' || c == '-':
			for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
				if bytes.HasPrefix(text[i:], []byte(word)) {
					out = append(append(append(out, '"'), word...), '"')
					i += len(word)
					n = 0
					break
				}
			}
		}
		out = append(out, text[i:i+n]...)
		i += n
	}
	return out
}

// fromJSON turns a result in JSON back into a value.
func fromJSON(x any) (*tensor.Value, error) {
	switch x := x.(type) {
	case nil:
		return tensor.None("null"), nil
	case *tensor.Value:
		return x, nil
	case bool:
		t := &tensor.Tensor{DType: tensor.Bool, Data: []float64{0}}
		if x {
			t.Data[0] = 1
		}
		return tensor.Of(t), nil
	case float64:
		return tensor.Of(tensor.Scalar(x)), nil
	case string:
		switch x {
		case "NaN":
			return tensor.Of(tensor.Scalar(math.NaN())), nil
		case "Infinity":
			return tensor.Of(tensor.Scalar(math.Inf(1))), nil
		case "-Infinity":
			return tensor.Of(tensor.Scalar(math.Inf(-1))), nil
		}
		return nil, &leafError{msg: fmt.Sprintf("%q is not a number", x)}
	case map[string]any:
		v := &tensor.Value{Kind: tensor.KindRecord}
		for name, e := range x {
			f, err := fromJSON(e)
			if err != nil {
				return nil, below("."+name, err)
			}
			v.Fields = append(v.Fields, tensor.Field{Name: name, Value: f})
		}
		sortFields(v.Fields)
		return v, nil
	case []any:
		var list []*tensor.Value
		for i, e := range x {
			v, err := fromJSON(e)
			if err != nil {
				return nil, below("["+strconv.Itoa(i)+"]", err)
			}
			list = append(list, v)
		}
		return stacked(list), nil
	}
	return nil, &leafError{msg: fmt.Sprintf("%v is no result", x)}
}

// A leafError is what is wrong with a value in a result, and the path to it.
type leafError struct{ path, msg string }

func (e *leafError) Error() string {
	if e.path == "" {
		return e.msg
	}
	return strings.TrimPrefix(e.path, ".") + ": " + e.msg
}

// below is an error under one step more.
func below(step string, err error) error {
	if e, ok := err.(*leafError); ok {
		e.path = step + e.path
	}
	return err
}

func sortFields(fields []tensor.Field) {
	slices.SortFunc(fields, func(a, b tensor.Field) int { return strings.Compare(a.Name, b.Name) })
}

// stacked is a tensor of tensors of one shape, or a list.
func stacked(list []*tensor.Value) *tensor.Value {
	out := &tensor.Tensor{Shape: tensor.Shape{len(list)}}
	for i, v := range list {
		if v.Kind != tensor.KindTensor || i > 0 && !v.Tensor.Shape.Equal(out.Shape[1:]) {
			return &tensor.Value{Kind: tensor.KindList, List: list}
		}
		if i == 0 {
			out.Shape = append(out.Shape, v.Tensor.Shape...)
		}
		out.Data = append(out.Data, v.Tensor.Data...)
	}
	return tensor.Of(out)
}
