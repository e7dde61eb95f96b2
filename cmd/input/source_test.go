package input

import (
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nabla/output/npy"
	"nabla/tape/tensor"
)

func TestSplitAssignments(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{`x=3`, `x:3@2`},
		{` x = 3 `, `x:3@5`},
		{`x=1, y=2`, `x:1@2 y:2@7`},
		{`x=1,y=2,z=3`, `x:1@2 y:2@6 z:3@10`},
		{`x=[1,2], y=f(a, b=2)`, `x:[1,2]@2 y:f(a, b=2)@11`}, // commas in brackets end nothing
		{`x=1,2`, `x:1,2@2`},                                 // nor does one before no NAME=
		{`x=a==b, c==d`, `x:a==b, c==d@2`},                   // == is no assignment
		{`s="a, b=1", t=2`, `s:"a, b=1"@2 t:2@14`},           // nor inside a string
		{`layer1.w=[[1]], p[0].b=2`, `layer1.w:[[1]]@9 p[0].b:2@23`},
		{`θ=1, w_1=2`, `θ:1@3 w_1:2@10`},
		{`x=@a,b.json, y=@-`, `x:@a,b.json@2 y:@-@15`},
		{`x=@odd).npy, y=1`, `x:@odd).npy@2 y:1@15`},
		{`abc`, `'abc' is no assignment`},
		{``, `'' is no assignment`},
		{`=3`, `'=3' is no assignment`},
		{`x==3`, `'x==3' is no assignment`},
		{`2x=3`, `'2x=3' is no assignment`},
		{`x[a]=3`, `'x[a]=3' is no assignment`},
		{`x[]=3`, `'x[]=3' is no assignment`},
		{`x[-1]=3`, `'x[-1]=3' is no assignment`}, // a place to put a value is counted from the front
		{`x.=3`, `'x.=3' is no assignment`},
		{`x=`, `x is given no value`},
		{`x=, y=2`, `x is given no value`},
	} {
		list, err := SplitAssignments(row.text)
		got := fmt.Sprint(err)
		if err == nil {
			var parts []string
			for _, a := range list {
				parts = append(parts, fmt.Sprintf("%s:%s@%d", a.Name, a.Text, a.Offset))
				if row.text[a.Offset:][:len(a.Text)] != a.Text {
					t.Errorf("%s: %s does not stand at %d", row.text, a.Text, a.Offset)
				}
			}
			got = strings.Join(parts, " ")
		} else if code := err.(*UsageError).ExitCode(); code != 2 {
			t.Errorf("%s: exit code %d, want 2", row.text, code)
		}
		if got != row.want {
			t.Errorf("SplitAssignments(%s) = %s, want %s", row.text, got, row.want)
		}
	}
}

// TestRepaired: the sign that was meant, where what follows is a value.
func TestRepaired(t *testing.T) {
	for text, want := range map[string]string{
		"x:3": "write x=3", "x==3": "write x=3", "x 3": "write x=3", "x <- 3": "write x=3", "x: [1, 2]": "write x=[1, 2]",
		"x:abc": "", "=3": "", "x": "", "x:": "",
	} {
		if got := repaired(text); got != want {
			t.Errorf("repaired(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestReadTable(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"1,2,3\n4,5,6\n", `(2, 3) [1 2 3 4 5 6]`},
		{"1 2\n \t\n3 4\n", `(2, 2) [1 2 3 4]`}, // a line of blanks
		{"1 2\r\n\r\n# more\n3\t4 # here\r\n", `(2, 2) [1 2 3 4]`},
		{"\ufeff1; 2\n+3;.5", `(2, 2) [1 2 3 0.5]`},
		{"1\n2\n3", `(3,) [1 2 3]`},
		{"1,2\r3,4\r", `(2, 2) [1 2 3 4]`}, // as old Macs wrote
		{"\"1\",\"-2e3\"\n3,\"4\"\n", `(2, 2) [1 -2000 3 4]`},
		{"\"1\"2,3", `t.csv: x[0][0]: '"1"2' is not a number (line 1, column 1, byte 0)`},
		{"\"1,5\",2\n", `t.csv: x[0][0]: '"1,5"' is not a number (line 1, column 1, byte 0)`},
		{"1\n\"2\n", `t.csv: x[1][0]: '"2' is not a number (line 2, column 1, byte 2)`},
		{"1 2 3", `(3,) [1 2 3]`},
		{"7", `7`},
		{" nan -inf\n", `(2,) [NaN -Inf]`},
		{"1,2\n3\n", `t.csv: x[1]: row 1 has 1 number where 2 are expected (line 2, column 1, byte 4)`},
		{"a,b\n1,2\n", `(2,) [1 2], t.csv: left out: the names of the columns, a,b`},
		{"\ufeff# of 2024\n\n,\"price, usd\"\r\n0 1\n", `t.csv: x[0][0]: a number is missing (line 3, column 1, byte 14)`},
		{",a\r\n\r\n0,1\n1,2\n", `(2, 2) [0 1 1 2], t.csv: left out: the names of the columns, ,a, t.csv: the first column has no name, as one that numbers the rows: [:, 1:] leaves it out`},
		{"t  v\n1 2\n3 4", `(2, 2) [1 2 3 4], t.csv: left out: the names of the columns, t  v`},
		{"\n\n1 2\n", `(2,) [1 2]`},
		{strings.Repeat("\n", 1<<20) + "1", `1`}, // in time
		{"y\n1", `1, t.csv: left out: the names of the columns, y`},
		{"a,b\nc,d\n1,2\n", `t.csv: x[0][0]: 'a' is not a number (line 1, column 1, byte 0)`},
		{"a,b\n1,2\nc,d\n3,4\n", `t.csv: x[1][0]: 'c' is not a number (line 3, column 1, byte 8)`}, // one header, at the top
		{"a,2\n1,2\n", `t.csv: x[0][0]: 'a' is not a number (line 1, column 1, byte 0)`},           // a slip, no header
		{"a,b\n1,2,3\n", `t.csv: x[0][0]: 'a' is not a number (line 1, column 1, byte 0)`},
		{"a,b\n1,\n", `t.csv: x[0][1]: a number is missing (line 2, column 3, byte 6)`}, // names, and the cell that is wrong
		{"a,b\n1,x\n", `t.csv: x[0][1]: 'x' is not a number (line 2, column 3, byte 6)`},
		{"\xff\xfe\n1\n", `t.csv: x[0][0]: '<0xff><0xfe>' is not a number (line 1, column 1, byte 0)`},
		{"1,,2\n", `t.csv: x[0][1]: a number is missing (line 1, column 3, byte 2)`},
		{"1,2,\n", `t.csv: x[0][2]: a number is missing (line 1, column 5, byte 4)`},
		{",1\n", `t.csv: x[0][0]: a number is missing (line 1, column 1, byte 0)`},
		{"1\n0x10\n", `t.csv: x[1][0]: '0x10' is not a number (line 2, column 1, byte 2)`},
		{"1e999", `t.csv: x[0][0]: 1e999 is out of range of float64 (line 1, column 1, byte 0)`},
		{"1,5;2,5", `t.csv: x[0]: numbers are separated by ';' here, and by ',' before (line 1, column 4, byte 3)`}, // not 1, 5, 2, 5
		{"1;2\n3,4", `t.csv: x[1]: numbers are separated by ',' here, and by ';' before (line 2, column 2, byte 5)`},
		{"1,5\t2,5", `t.csv: x[0]: numbers are separated by space here, and by ',' before (line 1, column 4, byte 3)`},
		{"1 , 2 ,3\n4,\t5, 6\n", `(2, 3) [1 2 3 4 5 6]`},
		{"# none\n\n", `t.csv: x: the table is empty (line 3, column 1, byte 8)`},
	} {
		v, notes, err := readTable("t.csv", "x", []byte(row.text))
		got := fmt.Sprint(err)
		if err == nil {
			got = strings.Join(append([]string{show(v)}, notes...), ", ")
		}
		if got != row.want {
			t.Errorf("table %q = %s, want %s", row.text, got, row.want)
		}
	}
}

// TestReadColumns: the columns of a table by their names, or the one asked for.
func TestReadColumns(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, row := range []struct{ file, text, column, want string }{
		{"t.csv", "a,b\n1,2\n3,4\n", "", "a (2,) [1 3], b (2,) [2 4]"},
		{"t.csv", "a,b\n1,2\n3,4\n", "b", "b (2,) [2 4]"},
		{"t.csv", "a,b\n1,2\n", "b", "b (1,) [2]"}, // a column is a vector
		{"t.csv", "\ufeff# of 2024\r\n\r\n\"a\"; b # two\r\n1;2\r\n3;4\r\n", "", "a (2,) [1 3], b (2,) [2 4]"},
		{"t.tsv", "a\tb c\n1\t2\n", "b c", "b c (1,) [2]"},
		{"t.txt", "a  b\n 1 2\n3\t4", "", "a (2,) [1 3], b (2,) [2 4]"},
		{"t.csv", "n,\"price, net\"\n\"x, #1\",\"2\"\ny,3\n", "price, net", "price, net (2,) [2 3]"},
		{"t.csv", "n,p\nx,2\ny,3\n", "", "p (2,) [2 3]; t.csv: columns left out, as they hold no numbers: n"},
		{"t.csv", "a\x1b,p\nx,2\ny,3\n", "", "p (2,) [2 3]; t.csv: columns left out, as they hold no numbers: a·"},
		{"t.txt", ` {"p": [1, 2]}`, "", "p (2,) [1 2]"}, // JSON, whatever it is called
		{"t.txt", "[p],q\n1,2\n3,4\n", "", "[p] (2,) [1 3], q (2,) [2 4]"},
		{"t.csv", ",p\n0,2\n1,3\n", "", "p (2,) [2 3]; t.csv: columns left out, as they hold no numbers: one without a name"},
		{"t.csv", "p,q\n1,NA\n,3\n", "", "p (2,) [1 NaN], q (2,) [NaN 3]; t.csv: p: 1 missing number of 2 read as nan; t.csv: q: 1 missing number of 2 read as nan"},
		{"t.csv", "p,q\n1,NA\n2,3\n", "p", "p (2,) [1 2]"},
		{"t.csv", "p,q\nNA,1\nx,2\n", "", "q (2,) [1 2]; t.csv: columns left out, as they hold no numbers: p"},
		{"t.csv", "p,q\n,1\n,2\n", "", "q (2,) [1 2]; t.csv: columns left out, as they hold no numbers: p"},
		{"t.csv", "w.a,w.b\n1,2\n", "", "w {a:(1,) [1] b:(1,) [2]}"},
		{"t.csv", "p,q\r1,2\r", "", "p (1,) [1], q (1,) [2]"},
		{"t.csv", "p,q\n1,2\nx,3\n", "", "t.csv: p[1]: 'x' is not a number (line 3, column 1, byte 8)"},
		{"t.csv", "p,q\n1,2\nx,3\n", "p", "t.csv: x[1]: 'x' is not a number (line 3, column 1, byte 8)"},
		{"t.csv", "p,q\n1e400,2\n", "", "t.csv: p[0]: 1e400 is out of range of float64 (line 2, column 1, byte 4)"}, // a number, no text
		{"t.csv", "p,q\n1,2\n3\n", "", "t.csv: row 1 has 1 cell where 2 are expected (line 3, column 1, byte 8)"},
		{"t.csv", "p,q\n1,\"2\n", "", "t.csv: a quote that is not closed in its line (line 2, column 3, byte 6)"},
		{"t.csv", "\"p,q\n1,2\n", "", "t.csv: a quote that is not closed in its line (line 1, column 1, byte 0)"},
		{"t.csv", "p,q\n1,x\n", "p", "p (1,) [1]"}, // of others it is not asked
		{"t.csv", "p,q\nx,2\n", "p", "t.csv: x[0]: 'x' is not a number (line 2, column 1, byte 4)"},
		{"t.csv", "p,\"q\n1,2\n", "", "t.csv: a quote that is not closed in its line (line 1, column 3, byte 2)"},
		{"t.csv", "p;q\n1,5;2\n", "", "q (1,) [2]; t.csv: columns left out, as they hold no numbers: p; a decimal comma is written as a point"},
		{"t.csv", "n,p\n5\" pipe,1\n\"a \"\"b\"\", c\",2\n", "", "p (2,) [1 2]; t.csv: columns left out, as they hold no numbers: n"},
		{"t.csv", "p,p\n1,2\n", "", "t.csv: p is given twice (line 1, column 3, byte 2)"},
		{"t.csv", "p,p\n1,2\n", "p", "t.csv: x: there are two columns 'p' (line 1, column 3, byte 2)"},
		{"t.csv", "p,q\n1,2\n", "r", "t.csv: there is no column 'r'"},
		{"t.csv", "p,q\n", "", "t.csv: the table is empty (line 2, column 1, byte 4)"},
		{"t.csv", "p,q\nx,y\n", "", "t.csv: no column holds numbers"},
		{"t.csv", "1,2\n3,4\n", "", "t.csv: a table of numbers holds one array without a name"},
		{"t.csv", "1,2\n3,4\n", "p", "t.csv: x: the first line names no columns (line 1, column 1, byte 0)"},
		{"t.csv", "p,2\n3,4\n", "p", "t.csv: x: the first line names no columns (line 1, column 3, byte 2)"},
		{"-", "a,b\n1,2\n3,4\n", "", "a (2,) [1 3], b (2,) [2 4]"},
		{"-", "a,b\n1,2\n3,4\n", "b", "b (2,) [2 4]"},
		{"-", "[\n1\n]", "", "stdin: the document is an array, and an object is needed (line 1, column 1, byte 0)"}, // no name over a number
	} {
		s := Source{In: []string{row.file}, Stdin: strings.NewReader(row.text)}
		if row.column != "" {
			s.In, s.At = nil, []string{"x=@" + row.file + ":" + row.column}
		}
		if err := os.WriteFile(row.file, []byte(row.text), 0o644); err != nil {
			t.Fatal(err)
		}
		doc, err := s.Load()
		got := fmt.Sprint(err)
		if err == nil {
			var vars []string
			for _, v := range doc.Vars {
				name := v.Name
				if row.column != "" {
					name = row.column
				}
				vars = append(vars, name+" "+show(v.Value))
			}
			got = strings.Join(append([]string{strings.Join(vars, ", ")}, doc.Notes...), "; ")
		}
		if got != row.want {
			t.Errorf("%s %q, column %q = %s\nwant %s", row.file, row.text, row.column, got, row.want)
		}
	}
}

// TestColumnsAreTheTable: without their names, the columns are those of the table.
func TestColumnsAreTheTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, sep := range []string{",", ";", "\t", " ", " , "} {
		for range 20 {
			rows, cols := 2+rng.IntN(5), 2+rng.IntN(5)
			var names, lines []string
			for j := range cols {
				names = append(names, "c"+strconv.Itoa(j))
			}
			for range rows {
				var cells []string
				for range cols {
					cells = append(cells, strconv.FormatFloat(rng.NormFloat64(), 'g', -1, 64))
				}
				lines = append(lines, strings.Join(cells, sep))
			}
			text := strings.Join(append([]string{strings.Join(names, sep)}, lines...), "\n")
			table, _, err := readTable("t.csv", "x", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			for j, name := range names {
				f, err := readColumns("t.csv", "x", name, []byte(text))
				if err != nil {
					t.Fatal(err)
				}
				v, _ := f.value()
				for i, x := range v.Tensor.Data {
					if want := table.Tensor.Data[i*cols+j]; x != want || len(v.Tensor.Data) != rows {
						t.Fatalf("%q: %s[%d] = %v, want %v", text, name, i, x, want)
					}
				}
			}
		}
	}
}

// TestReadTableHints: what to do about a cell that is no number.
func TestReadTableHints(t *testing.T) {
	for text, want := range map[string]string{
		"a,b\n1,2,3": "as many names", "a,b\n1,x\n": "@t.csv:NAME reads one", "a;b\n1;x": "@t.csv:NAME reads one", "name,index,value\nx,,1\n": "-f npz", "1%,2%": "0.01", "1,b\n1,2": "", "a": "", "a,b": "no row follows", "a;b\n\n": "no row follows",
		"NA,NA\n1,2": "nan", "\"1,000\",2\n": "thousands stand without commas", "\"3,4\n": "not closed", "'1','2'\n3,4": "without quotes", "\"1,5\";2": "decimal comma", "1,2,\n": "remove the ',' at the end",
		"1,2,\n3,4,\n": "remove the ','", "1,\n2,3\n": "nan", "1;2\n3;\n": "nan", "1;2\n3;4;\n": "remove the ';'", "1,\n2\n": "remove", // another row tells
		`"a",2` + "\n": "", "1,NA\n2,3": "nan", "n/a,1\n2,3": "nan", "1,2\n3,x\n": "", "1,5;2,5": "decimal comma",
	} {
		_, _, err := readTable("t.csv", "x", []byte(text))
		if e, ok := err.(*Error); !ok || !strings.Contains(e.Hint, want) || want == "" && e.Hint != "" {
			t.Errorf("table %q: %v, hint %q, want %q", text, err, e.Hint, want)
		}
	}
}

// TestKnown: what a file is, where its first bytes tell.
func TestKnown(t *testing.T) {
	t.Chdir(t.TempDir())
	for text, hint := range map[string]string{
		"\x1f\x8b\x08\x00": "compressed", "\x89HDF\r\n": "HDF5", "\x80\x04\x95": "pickle", "<!DOCTYPE html>": "HTML",
		"\xff\xfe1\x00": "UTF-8", "?": "",
	} {
		if err := os.WriteFile("x.json", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, s := range []Source{{In: []string{"x.json"}}, {At: []string{"x=@x.json"}}} {
			_, err := s.Load()
			e, ok := err.(*Error)
			if !ok || !strings.Contains(e.Hint, hint) || hint == "" && e.Hint != "" {
				t.Errorf("%q: %v, want a hint of %q", text, err, hint)
			}
		}
	}
	s := Source{In: []string{"x.npy"}}
	if err := os.WriteFile("x.npy", []byte("\x93NUMPY\x01\x00"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lines(); err == nil || !strings.Contains(err.Error(), "this is no text") {
		t.Errorf("lines of an NPY file: %v", err)
	}
}

// A world is a folder with files, among which the tests of Load run.
func world(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	var array, archive, zipped, record bytes.Buffer
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	a := tensor.From([]float64{1, 2, 3, 4}, 2, 2)
	check(npy.Write(&array, a))
	check(npy.WriteNPZ(&archive, []npy.Entry{{Name: "w", Tensor: a}, {Name: "layer.b", Tensor: tensor.Scalar(5)}, {Name: "layer.w", Tensor: a}}))
	check(npy.WriteNPZ(&zipped, []npy.Entry{{Name: "only", Tensor: tensor.Scalar(6)}}))
	z := zip.NewWriter(&record) // of what WriteNPZ does not write
	for name, text := range map[string]string{"w.npy": array.String(), "rec.npy": "\x93NUMPY\x01\x00\x43\x00{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (0,), }\n"} {
		file, err := z.Create(name)
		check(err)
		_, err = file.Write([]byte(text))
		check(err)
	}
	check(z.Close())
	for name, text := range map[string]string{
		"x.json": `{"x": 3}`, "y.json": `{"y": {"data": [1, 2], "trainable": false}}`, "m.json": `{"m": {"w": 1}}`, "n.json": `{"m": {"v": 2}}`,
		"q.json": `{"expr": "x^2", "values": {"x": 3}, "wrt": ["x"], "with": {"x": 1}}`,
		"v.json": `[[1, 2], [3]]`, "s.json": ` 7 `, "t.csv": "1,2\n3,4\n", "plain": "1\n2\n", "empty.json": "",
		"a.npy": array.String(), "g.npz": archive.String(), "one.npz": zipped.String(), "zip.npy": zipped.String(), "npy.npz": array.String(), "rec.npz": record.String(), "two.npy": array.String() + array.String(),
		"no.npy": `{"x": 3}`, "far.json": "\ufeff\r\n" + strings.Repeat(" ", 1<<17) + `{"x": 3}`, "a:b.json": "1", "cut.npy": array.String()[:140],
	} {
		check(os.WriteFile(name, []byte(text), 0o644))
	}
	check(os.Mkdir("dir", 0o755))
}

// eval is a stand-in for the language: plain numbers and arrays.
func eval(text, origin string) (*tensor.Value, error) {
	v, err := readJSONValue("", "", []byte(text), 1)
	if err != nil {
		return nil, errors.New("syntax")
	}
	return v, nil
}

func TestLoad(t *testing.T) {
	world(t)
	in := func(names ...string) Source { return Source{In: names} }
	at := func(texts ...string) Source { return Source{At: texts} }
	checkLoad(t, []loadRow{
		{Source{}, ``, 0},
		{in("x.json"), `x=3`, 0},
		{in("far.json"), `x=3`, 0}, // it begins behind what is looked at first
		{in("-"), `s=1`, 0},
		{in("x.json", "y.json"), `x=3, y=(2,) [1 2] frozen`, 0},
		{in("q.json", "y.json"), `"x^2", x=3, y=(2,) [1 2] frozen, wrt [x], with {x:1}`, 0},
		{in("g.npz"), `w=(2, 2) [1 2 3 4], layer={b:5 w:(2, 2) [1 2 3 4]}`, 0},
		{in("rec.npz"), `w=(2, 2) [1 2 3 4]`, 0}, // the record is left out
		{Source{In: []string{"x.json"}, At: []string{"y=2, z=[1,2]"}, Const: []string{"c=4"}}, `x=3, y=2, z=(2,) [1 2], c=4 frozen`, 0},
		{Source{In: []string{"m.json"}, At: []string{"m.b=2", "p[0]=1", "p[1].w=2"}}, `m={w:1 b:2}, p=(1 {w:2})`, 0},
		{Source{In: []string{"m.json"}, Const: []string{"m.b=2"}}, `m={w:1 b:2 frozen}`, 0},
		{in("m.json", "n.json"), `m={w:1 v:2}`, 0}, // the fields of both
		{at("x=@a.npy"), `x=(2, 2) [1 2 3 4]`, 0},
		{at("x=file:a.npy"), `x=(2, 2) [1 2 3 4]`, 0},
		{at("x=@g.npz:layer.b, y=@one.npz"), `x=5, y=6`, 0},
		{at("x=@s.json, y=@x.json, z=@x.json:x"), `x=7, y={x:3}, z=3`, 0},
		{at("x=@t.csv, y=@plain"), `x=(2, 2) [1 2 3 4], y=(2,) [1 2]`, 0},
		{at("x=@a:b.json"), `x=1`, 0},
		{Source{With: []string{"x=[1,0], m.w=2"}}, `with {x:(2,) [1 0] m:{w:2}}`, 0},
		{Source{With: []string{"[3,4]"}}, `with (2,) [3 4]`, 0},
		{Source{With: []string{"@s.json"}}, `with 7`, 0},
		{Source{Each: true, In: []string{"-"}, At: []string{"x=1"}}, `x=1`, 0},

		{in("none.json"), `none.json: no such file`, 4},
		{in("dir"), `dir: is a directory`, 4},
		{in("empty.json"), `empty.json: the document is empty (line 1, column 1, byte 0)`, 4},
		{in("a.npy"), `a.npy: an NPY file holds one array without a name`, 4},
		{in("no.npy"), `no.npy: an NPY file holds one array without a name`, 4},
		{in("npy.npz"), `npy.npz: an NPY file holds one array without a name`, 4},
		{in("t.csv"), `t.csv: a table of numbers holds one array without a name`, 4},
		{in("x.json", "x.json"), `x is given twice`, 4},
		{in("m.json", "n.json", "m.json"), `m.w is given twice`, 4},
		{in("q.json", "q.json"), `expr is given twice`, 4},
		{Source{In: []string{"x.json"}, At: []string{"x=2"}}, `x is given twice: x.json and --at x=2`, 4},
		{Source{In: []string{"m.json"}, At: []string{"m=2"}}, `m is given twice: m.json and --at m=2`, 4},
		{Source{In: []string{"m.json"}, At: []string{"m.w=2"}}, `m.w is given twice: m.json and --at m.w=2`, 4},
		{Source{In: []string{"m.json"}, At: []string{"m.w.x=2"}}, `m.w.x is given twice: m.json and --at m.w.x=2`, 4},
		{at("x=1", "x=2"), `x is given twice: --at x=1 and --at x=2`, 4},
		{at("p[1]=1"), `entry 0 of the list must come before entry 1`, 4},
		{at("x=abc"), `--at: x: 'abc' is not a number`, 4},
		{at("x=1 +"), `--at: x: syntax`, 4},
		{at("abc"), `--at: 'abc' is no assignment`, 2},
		{Source{Const: []string{"c="}}, `--const: c is given no value`, 2},
		{at("x=@empty.json"), `empty.json: x: the document is empty (line 1, column 1, byte 0)`, 4},
		{at("x=@v.json"), `v.json: x[1]: row 1 has 1 element where 2 are expected (line 1, column 12, byte 11)`, 4},
		{at("x=@x.json:y"), `x.json: there is no y`, 4},
		{at("x=@a.npy:y"), `a.npy: there is no y: an NPY file is one array`, 4},
		{at("x=@t.csv:"), `--at x: nothing follows the colon of '@t.csv:'`, 2}, // an empty variable of the shell
		{at("x=@cut.npy"), `cut.npy: data cut short: 32 bytes expected, 12 found`, 4},
		{at("x=@zip.npy"), `zip.npy: looks like a zip (npz) file, not an NPY file`, 4},
		{at("x=@npy.npz"), `npy.npz: looks like an NPY file, not a zip (npz) file`, 4},
		{at("x=@g.npz"), `g.npz: holds 3 arrays: w, layer.b, layer.w`, 4},
		{at("x=@rec.npz:rec"), `rec.npz: array "rec": a record (structured dtype) is not a real number`, 4},
		{at("x=@two.npy"), `two.npy: 160 extra bytes after the data (float64 (2, 2) is 32 bytes)`, 4},
		{at("x=@g.npz:v"), `g.npz: no such array: "v" (there are w, layer.b, layer.w)`, 4},
		{Source{At: []string{"x=@a.npy"}, Options: Options{MaxBytes: 16}}, `a.npy: shape (2, 2) needs 32 bytes of memory, 16 are allowed`, 5},
		{Source{In: []string{"q.json"}, Options: Options{MaxBytes: 16}}, `q.json: is larger than the limit of 16 bytes`, 5},
		{Source{In: []string{"-"}, At: []string{"y=@-"}}, `stdin can be read once, and -i - and y=@- both want it`, 2},
		{at("x=@-, y=@-"), `stdin can be read once, and x=@- and y=@- both want it`, 2},
		{in("-", "-"), `stdin can be read once, and -i - and -i - both want it`, 2},
		{Source{With: []string{"1", "2"}}, `--with: a value without a name stands alone`, 2},
		{Source{In: []string{"q.json"}, With: []string{"1"}}, `with is given twice: q.json and --with`, 4},
	})
}

// A loadRow is what a Source gives: a document, or an error and its exit code.
type loadRow struct {
	source Source
	want   string
	code   int
}

func checkLoad(t *testing.T, rows []loadRow) {
	t.Helper()
	for _, row := range rows {
		row.source.Stdin = strings.NewReader(`{"s": 1}`)
		row.source.Eval = eval
		doc, err := row.source.Load()
		what := fmt.Sprintf("-i %v --at %v --const %v --with %v", row.source.In, row.source.At, row.source.Const, row.source.With)
		if err == nil {
			if got := showDoc(doc); got != row.want || row.code != 0 {
				t.Errorf("%s = %s, want %s", what, got, row.want)
			}
			continue
		}
		code := err.(interface{ ExitCode() int }).ExitCode()
		if err.Error() != row.want || code != row.code {
			t.Errorf("%s: exit %d, %v, want exit %d, %s", what, code, err, row.code, row.want)
		}
	}
}

// TestManyFields: of many dotted names below one, too, each is there once, and what comes twice is told.
func TestManyFields(t *testing.T) {
	names := make([]string, 40)
	for i := range names {
		names[i] = fmt.Sprintf("m.f%d=%d", i, i)
	}
	doc, err := (&Source{At: names, Eval: eval}).Load()
	if err != nil {
		t.Fatal(err)
	}
	if m := doc.Vars[0].Value; len(doc.Vars) != 1 || len(m.Fields) != len(names) || m.Get("f39") == nil || m.Get("f39").Tensor.Item() != 39 {
		t.Errorf("40 fields of one record give %s", showDoc(doc))
	}
	for _, again := range []string{"m.f0=1", "m.f20=1", "m.f39=1"} {
		if _, err := (&Source{At: append(slices.Clone(names), again), Eval: eval}).Load(); err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(again, "=1")+" is given twice") {
			t.Errorf("%s beside 40 fields: %v, want that it is given twice", again, err)
		}
	}
}

// TestLinesClose: the file of lines is closed with them; standard input is not theirs.
func TestLinesClose(t *testing.T) {
	world(t)
	l, err := (&Source{Each: true, In: []string{"x.json"}}).Lines()
	if err != nil {
		t.Fatal(err)
	}
	if first, again := l.Close(), l.Close(); first != nil || !errors.Is(again, os.ErrClosed) {
		t.Errorf("closed twice: %v and %v, want %v the second time", first, again, os.ErrClosed)
	}
	if l, err = (&Source{Each: true, In: []string{"-"}, Stdin: strings.NewReader("{}")}).Lines(); err != nil || l.Close() != nil || l.Close() != nil {
		t.Errorf("lines of standard input: %v", err)
	}
}

func TestNearFile(t *testing.T) {
	world(t)
	_, err := (&Source{In: []string{"x.jsn"}}).Load()
	if e := err.(*Error); e.Hint != "did you mean x.json?" {
		t.Errorf("the hint for x.jsn is %q, want x.json", e.Hint)
	}
}

func TestFlags(t *testing.T) {
	s := Source{At: []string{"x=1"}, Const: []string{"c=2, m.w=3"}, Eval: eval}
	doc, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Variable{
		{Name: "x", Trainable: true, From: "--at x=1"},
		{Name: "c", Const: true, From: "--const c=2"},
		{Name: "m", From: "--const m.w=3"},
	} {
		got := doc.Vars[i]
		if got.Value = nil; got != want {
			t.Errorf("variable %d is %+v, want %+v", i, got, want)
		}
	}
	if v, ok := Resolve(doc.Vars, "m.w"); !ok || v.Frozen != "given with --const" {
		t.Errorf("m.w is %v, want it frozen", v)
	}
	for _, path := range []string{"m.v", "m[0]", "y", "x[0]", "x.y", "m.", ""} {
		if v, ok := Resolve(doc.Vars, path); ok {
			t.Errorf("Resolve(%q) = %v, want nothing", path, v)
		}
	}
}

// The NPY files of the acceptance cases end as those cases ask.
func TestNPYFiles(t *testing.T) {
	fine := "ok-f8 v3 fortran i8 i8-big u1 zero-size one-tuple header-order nan-payload"
	either := "f2 extra-data shape-no-comma header-extra-key native-eq"
	files, _ := filepath.Glob("../../testdata/inputs/*.npy")
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".npy")
		doc, err := (&Source{At: []string{"x=@" + file}}).Load()
		var e *Error
		switch {
		case err == nil && !strings.Contains(fine+either, name):
			t.Errorf("%s is read as %s", name, showDoc(doc))
		case err != nil && (!errors.As(err, &e) || e.ExitCode() != 4 || strings.Contains(" "+fine+" ", " "+name+" ")):
			t.Errorf("%s: %v", name, err)
		}
		if name == "i8-big" && err == nil && len(doc.Notes) == 0 {
			t.Errorf("%s: no note that numbers are not exact", name)
		}
	}
}

func TestZipBomb(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, _ := z.Create("x.npy")
	io.WriteString(w, "\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': (1000000,), }"+strings.Repeat(" ", 54)+"\n")
	w.Write(make([]byte, 8_000_000))
	z.Close()
	s := Source{At: []string{"x=@-"}, Stdin: &b, Options: Options{MaxBytes: 1 << 20}}
	if _, err := s.Load(); err == nil {
		t.Error("8 MB from an archive of a few kB pass a limit of 1 MB")
	}
}

// A text is held to the limit with the numbers that it becomes, and while its end is unknown.
func TestTextBound(t *testing.T) {
	const limit = 1_000_000
	for _, row := range []struct {
		text io.Reader
		want string
		code int
	}{
		{strings.NewReader("[" + strings.Repeat("1,", 90_000) + "1]"), "", 0},                                               // 0.18 MB and 0.72
		{strings.NewReader("[" + strings.Repeat("1,", 120_000) + "1]"), "shape (120000,) needs 1200003 bytes of memory", 5}, // 0.24 + 0.96
		{strings.NewReader(strings.Repeat("1 2\n", 60_000)), "shape (120000,) needs 1200000 bytes of memory", 5},            // a table
		{strings.NewReader("[" + strings.Repeat("1.2345678901234567,", 20_000) + "1]"), "", 0},                              // few numbers in a long text
		{&endless{line: "1,"}, "stdin: is larger than the limit of 1000000 bytes", 4},                                       //
		{&endless{line: `["a"`}, "stdin: is larger than the limit of 1000000 bytes", 4},                                     //
	} {
		s := Source{At: []string{"x=@-"}, Stdin: row.text, Options: Options{MaxBytes: limit}}
		_, err := s.Load()
		var e *Error
		if row.want == "" && err == nil {
			continue
		}
		if !errors.As(err, &e) || row.want == "" || !strings.Contains(e.Error(), row.want) || e.ExitCode() != row.code {
			t.Errorf("error %v, want %s, exit code %d", err, row.want, row.code)
		}
	}
}

// A reading reads lines one by one.
type reading struct {
	*Lines
	block Block
	docs  Documents
}

func readingOf(name string, r io.Reader, max int64) *reading {
	return &reading{Lines: &Lines{name: name, r: bufio.NewReaderSize(r, 1<<16), max: max}}
}

func (l *reading) next() (line int, doc *Document, err error) {
	for {
		if line, doc, err = l.docs.Next(&l.block); err != io.EOF {
			return line, doc, err
		}
		if err := l.Read(&l.block, 1); err != nil {
			return l.line, nil, err
		}
	}
}

func TestLines(t *testing.T) {
	text := "{\"x\": 0}\n\n{\"x\": 1}\r\n{\"x\": oops}\n  \n{\"x\": [1,\n{\"x\": 2}"
	l := readingOf("stdin", strings.NewReader(text), defaultMax)
	var got []string
	for {
		n, doc, err := l.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			got = append(got, fmt.Sprint(n, " ", err))
			continue
		}
		got = append(got, fmt.Sprint(n, " ", showDoc(doc)))
	}
	want := []string{"1 x=0", "3 x=1", "4 stdin: x: 'oops' is not a number (line 4, column 7, byte 26)",
		"6 stdin: x[1]: the line ends where a value should stand (line 6, column 10, byte 44)", "7 x=2"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestForeignLines: of what is no text the first line tells what it is.
func TestForeignLines(t *testing.T) {
	for text, want := range map[string]string{"\x1f\x8b\x08\n{}": "gunzip", "\xff\xfe{\x00\n\x00": "UTF-8", "{}\n\x1f\x8b": ""} {
		l := readingOf("stdin", strings.NewReader(text), defaultMax)
		for {
			_, _, err := l.next()
			if err == io.EOF {
				break
			}
			if e, ok := err.(*Error); ok && !strings.Contains(e.Hint, want) {
				t.Errorf("%q: hint %q, want one with %q", text, e.Hint, want)
			} else if !ok && err != nil {
				t.Errorf("%q: %v", text, err)
			}
			if want != "" {
				break // only the first line has the mark
			}
		}
	}
}

// endless gives the same line over and over, or one line without end.
type endless struct {
	line string
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.line[e.at%len(e.line)]
		e.at++
	}
	return len(p), nil
}

func TestLinesBound(t *testing.T) {
	for _, row := range []struct{ line, want string }{
		{"\x00", "line 1 is larger than the limit of 1000000 bytes"},
		{`{"x":1}`, "line 1 is larger than the limit of 1000000 bytes"},
	} {
		l := readingOf("stdin", &endless{line: row.line}, 1e6)
		if _, _, err := l.next(); err == nil || err.(*Error).Msg != row.want {
			t.Errorf("%q for ever: %v, want %s", row.line, err, row.want)
		}
		if _, _, err := l.next(); err != io.EOF {
			t.Errorf("%q for ever: then %v, want the end", row.line, err)
		}
	}
	l := readingOf("stdin", &endless{line: "{\"x\": " + strings.Repeat(" ", 100_000) + "3}\n"}, defaultMax)
	for range 100 {
		if _, doc, err := l.next(); err != nil || showDoc(doc) != "x=3" {
			t.Fatal(err)
		}
	}
	if cap(l.long)+cap(l.block.buf) > 1<<20 {
		t.Errorf("the buffers grew to %d bytes", cap(l.long)+cap(l.block.buf))
	}
}

// A line is answered when it is there, not when the input ends.
func TestLinesLive(t *testing.T) {
	r, w := io.Pipe()
	s := Source{In: []string{"-"}, Each: true, Stdin: r}
	go io.WriteString(w, "{\"x\": 1}\n")
	l, err := s.Lines()
	if err != nil {
		t.Fatal(err)
	}
	if n, doc, err := (&reading{Lines: l}).next(); err != nil || n != 1 || showDoc(doc) != "x=1" {
		t.Errorf("line %d: %v, want x=1", n, err)
	}
}

func FuzzAssignments(f *testing.F) {
	for _, s := range []string{"x=1, y=2", "layer1.w=[1,2],p[0]=3", `s="a,b=", t=2`, "x==1", "θ=(1,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		list, err := SplitAssignments(s)
		for _, a := range list {
			if _, ok := parsePath(a.Name); !ok || a.Text == "" || s[a.Offset:][:len(a.Text)] != a.Text {
				t.Errorf("%q gives %+v", s, a)
			}
		}
		if (err == nil) == (len(list) == 0) {
			t.Errorf("%q gives %v and %v", s, list, err)
		}
	})
}
