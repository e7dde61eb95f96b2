package input

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"nabla/tape/tensor"
)

// show prints a value so that rows can say what they expect: shape and dtype where they
// are not those of a plain number, lists in parentheses, records in braces.
func show(v *tensor.Value) string {
	switch v.Kind {
	case tensor.KindNone:
		return "none"
	case tensor.KindList:
		var parts []string
		for _, e := range v.List {
			parts = append(parts, show(e))
		}
		return "(" + strings.Join(parts, " ") + ")"
	case tensor.KindRecord:
		var parts []string
		for _, f := range v.Fields {
			parts = append(parts, f.Name+":"+show(f.Value))
		}
		return "{" + strings.Join(parts, " ") + "}"
	}
	t := v.Tensor
	s := ""
	if len(t.Shape) == 0 {
		s = strconv.FormatFloat(t.Item(), 'g', -1, 64)
	} else {
		s = fmt.Sprint(t.Shape, t.Data)
	}
	if t.DType != tensor.Float64 {
		s += " " + t.DType.String()
	}
	if v.Frozen != "" {
		s += " frozen"
	}
	return s
}

func showDoc(d *Document) string {
	var parts []string
	if d.HasExpr {
		parts = append(parts, strconv.Quote(d.Expr))
	}
	for _, v := range d.Vars {
		parts = append(parts, v.Name+"="+show(v.Value))
	}
	if d.Wrt != nil {
		parts = append(parts, fmt.Sprint("wrt ", d.Wrt))
	}
	if d.Of != nil {
		parts = append(parts, fmt.Sprint("of ", d.Of))
	}
	if d.With != nil {
		parts = append(parts, "with "+show(d.With))
	}
	return strings.Join(parts, ", ")
}

var documents = []struct{ text, want string }{
	{`{}`, ``},
	{`{"x": 3}`, `x=3`},
	{"\ufeff{\"x\": 3}\n", `x=3`},
	{` { "x" : [ 1 , 2 ] } `, `x=(2,) [1 2]`},
	{`{"x": -0.0}`, `x=-0`},
	{`{"x": 1e-400, "y": -1e-400}`, `x=0, y=-0`}, // underflow is rounding
	{`{"x": [[1,2],[3,4]], "b": [0]}`, `x=(2, 2) [1 2 3 4], b=(1,) [0]`},
	{`{"x": [[],[]]}`, `x=(2, 0) []`},
	{`{"x": []}`, `x=(0,) []`},
	{`{"x": [[[1],[2]],[[3],[4]]]}`, `x=(2, 2, 1) [1 2 3 4]`},
	{`{"\u0078": 2, "θ": 1, "\ud835\udfd9": 1}`, `x=2, θ=1, 𝟙=1`},
	{`{"x": [NaN, Infinity, -Infinity, "NaN", "Infinity", "-Infinity"]}`, `x=(6,) [NaN +Inf -Inf NaN +Inf -Inf]`},
	{`{"x": "inf", "y": ["-inf"]}`, `x=+Inf, y=(1,) [-Inf]`},
	{`{"x": NaN, "y": "-Infinity"}`, `x=NaN, y=-Inf`},
	{`{"x": true, "y": [true, false]}`, `x=1 bool, y=(2,) [1 0] bool`},

	{`{"x": {"data": 10, "dtype": "int64"}}`, `x=10 int64`},
	{`{"x": {"data": [9007199254740992, -9007199254740992.0], "dtype": "int64"}}`, `x=(2,) [9.007199254740992e+15 -9.007199254740992e+15] int64`},
	{`{"x": {"data": [1, -0.0, 3e2], "dtype": "int64"}}`, `x=(3,) [1 0 300] int64`},
	{`{"x": {"dtype": "float32", "data": [0.1]}}`, `x=(1,) [0.10000000149011612] float32`},
	{`{"x": {"data": ["NaN", "Infinity"], "dtype": "float32"}}`, `x=(2,) [NaN +Inf] float32`},
	{`{"x": {"data": [0, 1, true, false], "dtype": "bool"}}`, `x=(4,) [0 1 1 0] bool`},
	{`{"x": {"data": [true, 1], "dtype": "int64"}}`, `x=(2,) [1 1] int64`},
	{`{"x": {"shape": [2, 3], "data": [1,2,3,4,5,6]}}`, `x=(2, 3) [1 2 3 4 5 6]`},
	{`{"x": {"shape": [2, 1], "data": [[1],[2]]}}`, `x=(2, 1) [1 2]`},
	{`{"x": {"shape": [], "data": [7]}}`, `x=7`},
	{`{"x": {"shape": [], "data": 7}}`, `x=7`},
	{`{"x": {"shape": [1, 1], "data": 7}}`, `x=(1, 1) [7]`},
	{`{"x": {"shape": [0, 3], "data": []}}`, `x=(0, 3) []`},
	{`{"x": {"shape": [2, 0, 3], "data": [[], []]}}`, `x=(2, 0, 3) []`}, // as NumPy's tolist writes it
	{`{"x": {"data": [[1,2,3]], "trainable": false}}`, `x=(1, 3) [1 2 3] frozen`},
	{`{"x": {"data": 3, "trainable": true}}`, `x=3`},

	{`{"m": {"w": [[1,2]], "b": 0}}`, `m={w:(1, 2) [1 2] b:0}`},
	{`{"m": {"w": {"data": 1, "trainable": false}, "b": 0}}`, `m={w:1 frozen b:0}`},
	{`{"m": {"w": [1], "b": 0, "trainable": false}}`, `m={w:(1,) [1] frozen b:0 frozen}`},
	{`{"m": {}}`, `m={}`},
	{`{"m": {"shape": [1, 2]}}`, `m={shape:(2,) [1 2]}`}, // without data, any name will do
	{`{"p": [{"data": [[1]]}, {"data": [0, 0]}]}`, `p=((1, 1) [1] (2,) [0 0])`},
	{`{"p": [[1,2], {"w": 1}]}`, `p=((2,) [1 2] {w:1})`},
	{`{"p": [[1,2], [3], {"w": 1}]}`, `p=((2,) [1 2] (1,) [3] {w:1})`}, // ragged, but a list
	{`{"p": [1, [2, {"w": [[1],[2]]}], 3]}`, `p=(1 (2 {w:(2, 1) [1 2]}) 3)`},
	{`{"p": ["NaN", {"data": 1}]}`, `p=(NaN 1)`},
	{`{"p": [1, "NaN", [2, {"a[{": 1}]]}`, `p=(1 NaN (2 {a[{:1}))`},

	{`{"expr": "x^2", "values": {"x": 3}, "wrt": ["x"], "of": "y, z", "with": {"x": [1,0]}}`,
		`"x^2", x=3, wrt [x], of [y z], with {x:(2,) [1 0]}`},
	{`{"with": {"shape": [2], "data": [1, 2]}, "values": {"data": 1, "with": 2}}`, `data=1, with=2, with (2,) [1 2]`},
	{`{"expr": "x\n+1"}`, `"x\n+1"`},
	{`{"wrt": [], "values": {}}`, `wrt []`},
	{`{"expr": 3, "values": [1]}`, `expr=3, values=(1,) [1]`},    // no question: names like any other
	{`{"of": {"a": 3}, "wrt": {"]": 2}}`, `of={a:3}, wrt={]:2}`}, // nor here
	{`{"x": 1, "with": [3], "y": 2}`, `x=1, with=(1,) [3], y=2`},
	{`{"a.w": 1, "b[0]": 2, "a.b": 3, "b[1].x": 4}`, `a={w:1 b:3}, b=(2 {x:4})`},
	{`{"my name": 1}`, `my name=1`},
}

func TestReadJSON(t *testing.T) {
	for _, row := range documents {
		doc, err := ReadJSON("d.json", []byte(row.text))
		if err != nil {
			t.Errorf("%s: %v, want %s", row.text, err, row.want)
		} else if got := showDoc(doc); got != row.want {
			t.Errorf("%s = %s, want %s", row.text, got, row.want)
		}
	}
}

var badDocuments = []struct{ text, want, hint string }{
	{``, `the document is empty (line 1, column 1, byte 0)`, ``},
	{" \n ", `the document is empty (line 2, column 2, byte 3)`, ``},
	{`[1, 2, 3]`, `the document is an array, and an object is needed (line 1, column 1, byte 0)`, `write {"x": […]}`},
	{`3`, `the document is a number, and an object is needed (line 1, column 1, byte 0)`, `write {"x": …}`},
	{`"x"`, `the document is a string, and an object is needed (line 1, column 1, byte 0)`, `write {"x": …}`},
	{`:3`, `unexpected ':' where an object should begin (line 1, column 1, byte 0)`, ``},
	{`x=3`, `unexpected 'x' where an object should begin (line 1, column 1, byte 0)`, `write {"x": …}`},
	{"\x00\x00", `unexpected byte 0x00 where an object should begin (line 1, column 1, byte 0)`, ``},
	{"\xff\xfe{\x00", `the text is UTF-16, and UTF-8 is needed (line 1, column 1, byte 0)`, ``},
	{`{"x": 1} xyz`, `unexpected 'xyz' after the document (line 1, column 10, byte 9)`, ``},
	{"{\"x\": 1}\n{\"x\": 2}", `unexpected '{' after the document (line 2, column 1, byte 9)`, `with --each every line is a document`},
	{`{"x": 1 /* c */}`, `unexpected '/' where a ',' or '}' should stand (line 1, column 9, byte 8)`, `JSON has no comments`},
	{`{"x": 1 "y": 2}`, `unexpected '"' where a ',' or '}' should stand (line 1, column 9, byte 8)`, `a comma is missing`},
	{`{"x" 1}`, `x: unexpected '1' where a ':' should follow the name 'x' (line 1, column 6, byte 5)`, ``},
	{`{'x': 1}`, `unexpected ''' where a name should stand (line 1, column 2, byte 1)`, `a name stands in double quotes`},
	{`{x: 1}`, `unexpected 'x' where a name should stand (line 1, column 2, byte 1)`, `a name stands in double quotes`},
	{`{_x: 1}`, `unexpected '_x' where a name should stand (line 1, column 2, byte 1)`, `a name stands in double quotes`},
	{`{-x: 1}`, `unexpected '-x' where a name should stand (line 1, column 2, byte 1)`, ``},
	{`]`, `unexpected ']' where an object should begin (line 1, column 1, byte 0)`, ``},
	{strings.Repeat("\x80", 100), `unexpected '…' where an object should begin (line 1, column 1, byte 0)`, ``}, // no character begins
	{`{"x": 1,}`, `unexpected '}' after a comma (line 1, column 9, byte 8)`, `remove the comma`},
	{`{"x": [1,2,]}`, `x[2]: unexpected ']' after a comma (line 1, column 12, byte 11)`, `remove the comma`},
	{`{"x": [1,,2]}`, `x[1]: unexpected ',' where a value should stand (line 1, column 10, byte 9)`, ``},
	{`{"x": [1 2]}`, `x: unexpected '2' where a ',' or ']' should stand (line 1, column 10, byte 9)`, `a comma is missing`},
	{`{"x": [{"w": 1} {"w": 2}]}`, `x: unexpected '{' where a ',' or ']' should stand (line 1, column 17, byte 16)`, `a comma is missing`},
	{`{"x": [1,2`, `x: the text ends where a ',' or ']' should stand (line 1, column 11, byte 10)`, ``},
	{`{"x": [1,`, `x[1]: the text ends where a value should stand (line 1, column 10, byte 9)`, ``},
	{`{"x": 1`, `the text ends where a ',' or '}' should stand (line 1, column 8, byte 7)`, ``},
	{`{"x":`, `x: the text ends where a value should stand (line 1, column 6, byte 5)`, ``},
	{`{"x`, `the string that begins here has no end (line 1, column 2, byte 1)`, ``},
	{`{`, `the text ends where a name should stand (line 1, column 2, byte 1)`, ``},

	{`{"x": [[1,2],[3]]}`, `x[1]: row 1 has 1 element where 2 are expected (line 1, column 16, byte 15)`, asList},
	{`{"x": [[[1],[2]],[[3],[4,5]]]}`, `x[1][1]: row 1 has 2 elements where 1 is expected (line 1, column 27, byte 26)`, asList},
	{`{"x": [[1],[]]}`, `x[1]: row 1 has 0 elements where 1 is expected (line 1, column 13, byte 12)`, asList},
	{`{"x": [[],[1]]}`, `x[1]: row 1 has 1 element where 0 are expected (line 1, column 13, byte 12)`, asList},
	{`{"x": [1,[2]]}`, `x[1]: an array where the elements before are numbers (line 1, column 10, byte 9)`, asList},
	{`{"x": [[],[[]]]}`, `x[1][0]: an array where the elements before are numbers (line 1, column 12, byte 11)`, asList},
	{`{"x": [[1],2]}`, `x[1]: a number where the elements before are arrays (line 1, column 12, byte 11)`, asList},
	{`{"x": [1, true]}`, `x: numbers and booleans mix (line 1, column 11, byte 10)`, ``},
	{`{"x": {"data": [true, 1]}}`, `x.data: numbers and booleans mix (line 1, column 23, byte 22)`, ``},
	{`{"x": [[true, false], [true, 1.5]]}`, `x: numbers and booleans mix (line 1, column 30, byte 29)`, ``},
	{`{"": 3, "x": 2}`, `a name is empty (line 1, column 2, byte 1)`, ``},
	{`{"a": {"": 3}}`, `a: a name is empty (line 1, column 8, byte 7)`, ``},
	{`{"values": {"": 3}}`, `a name is empty (line 1, column 13, byte 12)`, ``},
	{`{"x": [1, null]}`, `x[1]: null is not a number (line 1, column 11, byte 10)`, `a missing number is written "NaN"`},
	{`{"x": null}`, `x: null is not a number (line 1, column 7, byte 6)`, `a missing number is written "NaN"`},
	{`{"x": "nan"}`, `x: 'nan' is not a number (line 1, column 7, byte 6)`, `write "NaN"`},
	{`{"x": nan}`, `x: 'nan' is not a number (line 1, column 7, byte 6)`, `write NaN`},
	{`{"x": "-Inf"}`, `x: '-Inf' is not a number (line 1, column 7, byte 6)`, `write "-Infinity"`},
	{`{"x": inf}`, `x: 'inf' is not a number (line 1, column 7, byte 6)`, `write Infinity`},
	{`{"x": None}`, `x: None is not a number (line 1, column 7, byte 6)`, `a missing number is written "NaN"`},
	{`{"x": ["3a"]}`, `x[0]: '3a' is not a number (line 1, column 8, byte 7)`, ``},
	{`{"x": ["3"]}`, `x[0]: '3' is not a number (line 1, column 8, byte 7)`, `write it without quotes`},
	{`{"x": True}`, `x: 'True' is not a number (line 1, column 7, byte 6)`, `write true`},
	{`{"x": oops}`, `x: 'oops' is not a number (line 1, column 7, byte 6)`, ``},

	{`{"x": 01}`, `x: '01' is not a number: it begins with a zero (line 1, column 7, byte 6)`, ``},
	{`{"x": [1, -01]}`, `x[1]: '-01' is not a number: it begins with a zero (line 1, column 11, byte 10)`, ``},
	{`{"x": +1}`, `x: '+1' is not a number: it begins with '+' (line 1, column 7, byte 6)`, `remove the sign`},
	{`{"x": 0x10}`, `x: '0x10' is not a number: JSON has no hexadecimal (line 1, column 7, byte 6)`, ``},
	{`{"x": [0x10]}`, `x[0]: '0x10' is not a number: JSON has no hexadecimal (line 1, column 8, byte 7)`, ``},
	{`{"x": .5}`, `x: '.5' is not a number: a digit comes before the point (line 1, column 7, byte 6)`, `write 0.5`},
	{`{"x": 1.}`, `x: '1.' is not a number: a digit follows the point (line 1, column 7, byte 6)`, `write 1.0`},
	{`{"x": 1.e5}`, `x: '1.e5' is not a number: a digit follows the point (line 1, column 7, byte 6)`, `write 1.0e5`},
	{`{"x": 1e}`, `x: '1e' is not a number (line 1, column 7, byte 6)`, ``},
	{`{"x": -}`, `x: '-' is not a number (line 1, column 7, byte 6)`, ``},
	{`{"x": 1_000}`, `x: '1_000' is not a number (line 1, column 7, byte 6)`, `write 1000`},
	{`{"x": 1e400}`, `x: 1e400 is out of range of float64 (line 1, column 7, byte 6)`, `infinity is written "Infinity"`},
	{`{"x": [[1, -1e309]]}`, `x[0][1]: -1e309 is out of range of float64 (line 1, column 12, byte 11)`, `infinity is written "Infinity"`},

	{`{"x": 1, "x": 2}`, `x is given twice (line 1, column 10, byte 9)`, ``},
	{`{"m": {"w": 1, "w": 2}}`, `m.w is given twice (line 1, column 16, byte 15)`, ``},
	{`{"m": {"w": 1}, "m.w": 2}`, `m.w is given twice (line 1, column 17, byte 16)`, ``},
	{`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"c":1}`, `c is given twice (line 1, column 56, byte 55)`, ``}, // of many names the first eight are looked at one by one
	{`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"i":1}`, `i is given twice (line 1, column 62, byte 61)`, ``},
	{`{"x\`, `the text ends inside a string (line 1, column 4, byte 3)`, ``},
	{`{"x\q": 1}`, `unknown escape '\q' (line 1, column 4, byte 3)`, `a backslash is written \\`},
	{`{"\ud800": 1}`, `\ud800 is half of a surrogate pair (line 1, column 3, byte 2)`, ``},
	{`{"\ud800\u0041": 1}`, `\ud800 is half of a surrogate pair (line 1, column 3, byte 2)`, ``},
	{`{"\u12g4": 1}`, `four hexadecimal digits should follow \u (line 1, column 3, byte 2)`, ``},
	{"{\"a\tb\": 1}", `byte 0x09 in a string (line 1, column 4, byte 3)`, `write \u0009`},
	{"{\"a\xffb\": 1}", `byte 0xff is not UTF-8 (line 1, column 4, byte 3)`, ``},

	{`{"x": {"data": [1,2,3], "shape": [2,2]}}`, `x.shape: shape (2, 2) takes 4 numbers, and data has 3 (line 1, column 34, byte 33)`, ``},
	{`{"x": {"data": [[1,2]], "shape": [2,1]}}`, `x.shape: data has shape (1, 2), and shape says (2, 1) (line 1, column 34, byte 33)`, ``},
	{`{"x": {"data": [[], []], "shape": [2, 1, 0]}}`, `x.shape: data has shape (2, 0), and shape says (2, 1, 0) (line 1, column 35, byte 34)`, ``},
	{`{"x": {"data": [1], "shape": [1, -1]}}`, `x.shape[1]: a size is a whole number that is not negative (line 1, column 34, byte 33)`, ``},
	{`{"x": {"data": [1], "shape": [1.5]}}`, `x.shape[0]: a size is a whole number that is not negative (line 1, column 31, byte 30)`, ``},
	{`{"x": {"data": [1], "shape": [true]}}`, `x.shape[0]: a size is a whole number that is not negative (line 1, column 31, byte 30)`, ``},
	{`{"x": {"data": [1], "shape": [1e300]}}`, `x.shape[0]: a size of 1e+300 is too large (line 1, column 31, byte 30)`, ``},
	{`{"x": {"data": [1], "shape": 1}}`, `x.shape: a shape is a list of sizes such as [2, 3] (line 1, column 30, byte 29)`, ``},
	{`{"x": {"data": [1], "shape": [2147483647, 2147483647, 2147483647]}}`, `x.shape: shape (2147483647, 2147483647, 2147483647) is too large (line 1, column 30, byte 29)`, ``},
	{`{"x": {"data": [1], "shape": [1, 1e18]}}`, `x.shape[1]: a size of 1e+18 is too large (line 1, column 34, byte 33)`, ``},
	{`{"x": {"data": [1, [2]]}}`, `x.data[1]: an array where the elements before are numbers (line 1, column 20, byte 19)`, asList},
	{`{"x": {"data": [[9007199254740992], [-9007199254740993]], "dtype": "int64"}}`, `x.data[1][0]: -9007199254740993 is beyond 2^53, where whole numbers are no longer exact (line 1, column 38, byte 37)`, `without "dtype": "int64" it is read as the nearest float64`}, // which is read as 2^53
	{`{"a": {"x\u001b[31m": 1}}`, `a: the name 'x<U+001B>[31m' has the character U+001B, which cannot be seen (line 1, column 8, byte 7)`, ``},
	{`{"x\u202e": 1}`, `the name 'x<U+202E>' has the character U+202E, which cannot be seen (line 1, column 2, byte 1)`, ``},
	{`{"x": {"data": [1.5], "dtype": "int64"}}`, `x.data[0]: 1.5 is not a whole number, as int64 wants (line 1, column 17, byte 16)`, ``},
	{`{"x": {"data": [[1, 2], [3, 9007199254740993e3]], "dtype": "int64"}}`, `x.data[1][1]: 9007199254740993e3 is beyond 2^53, where whole numbers are no longer exact (line 1, column 29, byte 28)`, `without "dtype": "int64" it is read as the nearest float64`},
	{`{"x": {"data": [1, 1e39], "dtype": "float32"}}`, `x.data[1]: 1e39 is out of range of float32 (line 1, column 20, byte 19)`, ``},
	{`{"x": {"data": 2, "dtype": "bool"}}`, `x.data: 2 is neither true nor false, 1 nor 0 (line 1, column 16, byte 15)`, ``},
	{`{"x": {"data": 2, "trainable": "no"}}`, `x.trainable: trainable is true or false, without quotes (line 1, column 32, byte 31)`, ``},
	{`{"x": {"data": [2], "shape": "1"}}`, `x.shape: a shape is a list of sizes such as [2, 3] (line 1, column 30, byte 29)`, ``},
	{`{"x": {"data": 2, "dtype": "float16"}}`, `x.dtype: 'float16' is not a dtype: float64, float32, int64 or bool (line 1, column 28, byte 27)`, `did you mean float32?`},
	{`{"x": {"data": 2, "trainable": 0}}`, `x: trainable is true or false (line 1, column 19, byte 18)`, ``},
	{`{"x": {"data": 2, "shpae": [1]}}`, `x: unknown key 'shpae' beside data; a tensor has data, shape, dtype and trainable (line 1, column 19, byte 18)`, `did you mean shape?`},
	{`{"x": {"data": 2, "dtpye": "bool"}}`, `x.dtpye: 'bool' is not a number (line 1, column 28, byte 27)`, `did you mean dtype?`},
	{`{"x": {"data": {"y": 2}}}`, `x.data: data is not one tensor: an object stands in it (line 1, column 16, byte 15)`, ``},
	{`{"x": {"dtype": "bool"}}`, `x: a dtype without data (line 1, column 7, byte 6)`, `write {"data": …, "dtype": "bool"}`},

	{`{"expr": "x", "valeus": {"x": 1}}`, `unknown key 'valeus' beside expr, values, wrt, of and with (line 1, column 15, byte 14)`, `did you mean values?`},
	{`{"x": 3, "expr": "x"}`, `unknown key 'x' beside expr, values, wrt, of and with (line 1, column 2, byte 1)`, `variables stand under "values"`},
	{`{"exprr": "x", "values": {"x": 1}}`, `exprr: 'x' is not a number (line 1, column 11, byte 10)`, `did you mean expr?`},
	{`{"x": 3, "wrt": ["x"]}`, `a list of names beside values (line 1, column 10, byte 9)`, `put the values under "values": {"values": {"x": 3}, "wrt": ["x"]}`},
	{`{"expr": "x", "sources": ["x"]}`, `unknown key 'sources' beside expr, values, wrt, of and with (line 1, column 15, byte 14)`, `write "wrt"`},
	{`{"program": "x"}`, `program: 'x' is not a number (line 1, column 13, byte 12)`, `write "expr"`},
	{`{"expr": null}`, `expr is a program in quotes (line 1, column 10, byte 9)`, `write "expr": "x^2"`},
	{`{"expr": ["x", "y"]}`, `expr is a program in quotes (line 1, column 10, byte 9)`, `write "expr": "x^2"`},
	{`{"expr": "x", "wrt": ["x", 3]}`, `wrt: unexpected '3' where a name should stand (line 1, column 28, byte 27)`, ``},
	{`{"expr": "x", "wrt": "x,,y"}`, `wrt: a name is missing (line 1, column 22, byte 21)`, ``},
	{`{"expr": "x", "wrt": 3}`, `wrt is a list of names (line 1, column 22, byte 21)`, `write "wrt": ["x", "y"]`},
	{`{"wrt": 3, "expr": "x"}`, `wrt is a list of names (line 1, column 9, byte 8)`, `write "wrt": ["x", "y"]`},
}

func TestReadJSONErrors(t *testing.T) {
	for _, row := range badDocuments {
		_, err := ReadJSON("", []byte(row.text))
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: error %v, want %s", row.text, err, row.want)
			continue
		}
		if e.Error() != row.want || e.Hint != row.hint {
			t.Errorf("%s:\n got %s | %s\nwant %s | %s", row.text, e, e.Hint, row.want, row.hint)
		}
		if e.ExitCode() != 4 {
			t.Errorf("%s: exit code %d, want 4", row.text, e.ExitCode())
		}
	}
}

func TestExcerpt(t *testing.T) {
	long := `{"x": [` + strings.Repeat("1,", 5_000_000) + "oops]}"
	_, err := ReadJSON("long.json", []byte(long))
	e := err.(*Error)
	if want := "long.json: x[5000000]: 'oops' is not a number (line 1, column 10000008, byte 10000007)"; e.Error() != want {
		t.Errorf("got %s, want %s", e, want)
	}
	if want := "…" + strings.Repeat("1,", 34) + "oops]}"; e.Excerpt != want || e.Mark != 69 {
		t.Errorf("excerpt %q mark %d, want %q mark 69", e.Excerpt, e.Mark, want)
	}
	_, err = ReadJSON("", []byte("{\n  \"θθ\": 1,\n  \"y\u0301\u00ad\": 01,\n \"z\": 2}"))
	if e := err.(*Error); e.Line != 3 || e.Col != 10 || e.Mark != 8 || e.Excerpt != "  \"y\u0301·\": 01," {
		t.Errorf("line %d, column %d, mark %d, excerpt %q", e.Line, e.Col, e.Mark, e.Excerpt)
	}
}

func TestExcerptOfBlanks(t *testing.T) {
	_, err := ReadJSON("", []byte("{\"x\":\t01,\r \"y\": 2}"))
	if e, want := err.(*Error), `{"x": 01,  "y": 2}`; e.Excerpt != want || e.Mark != 6 {
		t.Errorf("excerpt %q mark %d, want %q mark 6", e.Excerpt, e.Mark, want)
	}
}

func TestDeepNesting(t *testing.T) {
	for _, row := range []struct{ open, want string }{
		{`[`, "x: arrays nest deeper than 64 (line 1, column 71, byte 70)"},
		{`{"x":`, "x: objects and lists nest deeper than 1000 (line 1, column 5002, byte 5001)"},
		{`[{"x":`, "x: objects and lists nest deeper than 1000 (line 1, column 3002, byte 3001)"},
	} {
		_, err := ReadJSON("", []byte(`{"x": `+strings.Repeat(row.open, 200_000)))
		if err == nil || err.Error() != row.want {
			t.Errorf("%s…: %.100v, want %s", row.open, err, row.want)
		}
	}
}

// Many names, many rows with an object at the end of each, many small tensors: all linear.
func TestLinear(t *testing.T) {
	if testing.Short() {
		t.Skip()
	}
	names := func(n int, form string) string {
		var s strings.Builder
		for i := range n {
			if i > 0 {
				s.WriteByte(',')
			}
			fmt.Fprintf(&s, form, i)
		}
		return s.String()
	}
	for _, text := range []string{
		"{" + names(200_000, `"a%d": 1`) + "}",
		"{" + names(200_000, `"m.a%d": 1`) + "}",
		`{"m": {` + names(200_000, `"a%d": [1,2]`) + "}}",
		`{"m": [` + names(200_000, `[%d, {"a": 1}]`) + "]}",
		`{"m": ` + strings.Repeat(`[[1,2,3,4,5,6,7,8],`, 900) + `{"a": [` + names(500_000, "%d") + "]}" + strings.Repeat("]", 900) + "}",
	} {
		if _, err := ReadJSON("", []byte(text)); err != nil {
			t.Errorf("%.40s…: %.200v", text, err)
		}
	}
}

// The acceptance files, and what their messages must say.
func TestFiles(t *testing.T) {
	for _, row := range []struct {
		file string
		want []string // of the message; none when the file is fine
	}{
		{"json_ragged", []string{"x", "row", "2", "1"}},
		{"json_ragged-depth", []string{"x"}},
		{"json_dup-key", []string{"x", "twice"}},
		{"json_string-nan", []string{"x"}},
		{"json_nested-object", nil}, // a record; whoever uses it as a tensor complains
		{"json_top-array", []string{"object"}},
		{"json_top-number", []string{"object"}},
		{"json_empty-file", []string{"empty"}},
		{"json_trailing-garbage", []string{"after"}},
		{"json_two-docs", []string{"after"}},
		{"json_comment", []string{"/"}},
		{"json_leading-zero", []string{"01"}},
		{"json_plus-sign", []string{"+"}},
		{"json_hex", []string{"0x"}},
		{"json_big-exp", []string{"1e400", "range"}},
		{"json_neg-zero", nil},
		{"json_missing-key", nil},
		{"json_case-key", nil},
		{"json_empty-2d", nil},
		{"json_unicode-key", nil},
		{"json_bad-escape", []string{`\q`}},
		{"json_lone-surrogate", []string{`\ud800`}},
	} {
		text, err := os.ReadFile(filepath.Join("../../testdata/inputs", row.file+".json"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = ReadJSON(row.file, text)
		if (err == nil) != (row.want == nil) {
			t.Errorf("%s: error %v", row.file, err)
		}
		for _, want := range row.want {
			if err != nil && !strings.Contains(strings.TrimPrefix(err.Error(), row.file), want) {
				t.Errorf("%s: %v does not mention %s", row.file, err, want)
			}
		}
	}
}

// Whatever is written is read: random records, lists and tensors with random space between.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var text strings.Builder
	space := func() { text.WriteString([]string{"", "", " ", "\n", "\t \r\n"}[r.IntN(5)]) }
	each := func(n int, brackets string, item func(i int)) {
		text.WriteByte(brackets[0])
		space()
		for i := range n {
			if i > 0 {
				text.WriteByte(',')
				space()
			}
			item(i)
			space()
		}
		text.WriteByte(brackets[1])
	}
	var numbers func(shape tensor.Shape, data []float64)
	numbers = func(shape tensor.Shape, data []float64) {
		if len(shape) == 0 {
			text.WriteString(strconv.FormatFloat(data[0], "eg"[r.IntN(2)], -1, 64))
			return
		}
		row := shape[1:].Size()
		each(shape[0], "[]", func(i int) { numbers(shape[1:], data[i*row:(i+1)*row]) })
	}
	var value func(depth int) *tensor.Value
	value = func(depth int) *tensor.Value {
		switch k := r.IntN(6); {
		case k < 2 && depth < 5:
			v := &tensor.Value{Kind: tensor.KindRecord}
			each(r.IntN(4), "{}", func(i int) {
				name := "f" + strconv.Itoa(i)
				fmt.Fprintf(&text, "%q:", name)
				space()
				v.Fields = append(v.Fields, tensor.Field{Name: name, Value: value(depth + 1)})
			})
			return v
		case k == 2 && depth < 5: // an object among the entries makes it a list
			v := &tensor.Value{Kind: tensor.KindList}
			n := 1 + r.IntN(4)
			which := r.IntN(n)
			each(n, "[]", func(i int) {
				if i == which {
					text.WriteString(`{"z":`)
					v.List = append(v.List, &tensor.Value{Kind: tensor.KindRecord, Fields: []tensor.Field{{Name: "z", Value: value(depth + 1)}}})
					text.WriteByte('}')
					return
				}
				v.List = append(v.List, value(depth+1))
			})
			return v
		}
		var shape tensor.Shape
		for range r.IntN(4) {
			if n := r.IntN(4); n > 0 || len(shape) > 0 {
				shape = append(shape, n)
				if n == 0 {
					break
				}
			}
		}
		x := tensor.New(shape...)
		for i := range x.Data {
			x.Data[i] = math.Float64frombits(r.Uint64()&^(2047<<52) | uint64(r.IntN(2047))<<52)
		}
		numbers(shape, x.Data)
		return tensor.Of(x)
	}
	for range 5000 {
		text.Reset()
		text.WriteString(`{"x":`)
		want := value(0)
		text.WriteString(`}`)
		doc, err := ReadJSON("", []byte(text.String()))
		if err != nil {
			t.Fatalf("%s\n%v", text.String(), err)
		}
		if got := show(doc.Vars[0].Value); got != show(want) {
			t.Fatalf("%s\n= %s\nwant %s", text.String(), got, show(want))
		}
	}
}

// FuzzJSON holds the reader against encoding/json: what both read is bit for bit the same,
// and what the reader takes beyond JSON is only NaN and the infinities.
func FuzzJSON(f *testing.F) {
	for _, row := range documents {
		f.Add([]byte(row.text))
	}
	for _, row := range badDocuments {
		f.Add([]byte(row.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, err := ReadJSON("f", text)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || strings.Contains(err.Error(), "\n") || len(e.Excerpt) > 3*window {
				t.Fatalf("%q: %v, excerpt %q", text, err, e.Excerpt)
			}
			return
		}
		text = []byte(strings.TrimPrefix(string(text), "\ufeff"))
		var want map[string]any
		d := json.NewDecoder(strings.NewReader(string(text)))
		d.UseNumber()
		if d.Decode(&want) != nil {
			if !strings.Contains(string(text), "NaN") && !strings.Contains(string(text), "Infinity") {
				t.Fatalf("%q is no JSON, and was read as %s", text, showDoc(doc))
			}
			return
		}
		if doc.HasExpr || want["values"] != nil {
			return
		}
		for name := range want {
			if strings.ContainsAny(name, ".[") {
				return // joins what other names begin
			}
		}
		for name, w := range want {
			v, ok := Resolve(doc.Vars, name)
			if !ok {
				t.Fatalf("%q: %s is missing", text, name)
			}
			same(t, name, v, w)
		}
	})
}

func same(t *testing.T, path string, v *tensor.Value, want any) {
	switch v.Kind {
	case tensor.KindRecord:
		m := want.(map[string]any)
		for _, f := range v.Fields {
			same(t, path+"."+f.Name, f.Value, m[f.Name])
		}
	case tensor.KindList:
		for i, e := range v.List {
			same(t, path, e, want.([]any)[i])
		}
	case tensor.KindTensor:
		if m, ok := want.(map[string]any); ok {
			if m["dtype"] != nil {
				return
			}
			want = m["data"]
		}
		flat := flatten(nil, want)
		if len(flat) != v.Tensor.Size() || v.Tensor.Shape.Size() != v.Tensor.Size() {
			t.Fatalf("%s has shape %v and %d numbers, want %d", path, v.Tensor.Shape, v.Tensor.Size(), len(flat))
		}
		for i, w := range flat {
			if got := v.Tensor.Data[i]; math.Float64bits(got) != math.Float64bits(w) && (got == got || w == w) {
				t.Fatalf("%s, number %d = %v, want %v", path, i, got, w)
			}
		}
	}
}

func flatten(flat []float64, v any) []float64 {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			flat = flatten(flat, e)
		}
		return flat
	case bool:
		if v {
			return append(flat, 1)
		}
		return append(flat, 0)
	case string:
		f, _ := strconv.ParseFloat(v, 64)
		return append(flat, f)
	}
	f, _ := strconv.ParseFloat(string(v.(json.Number)), 64)
	return append(flat, f)
}
