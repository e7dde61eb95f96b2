//go:build ignore

// Convert turns ADBench's data files into documents that nabla reads:
//
//	go run convert.go DIR    # DIR holds ba, gmm, hand and lstm, as in ADBench's data
//
// A number keeps the text it has in the file, so that nothing is rounded on the way. What the
// benchmark differentiates with respect to is trainable; data and constants are not.
package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// instances are the files to convert and the documents they become.
var instances = []struct {
	file, document string
	convert        func(fields *fields, dir string) document
}{
	{"gmm/test.txt", "gmm_test", gmm},
	{"gmm/1k/gmm_d2_K5.txt", "gmm_d2_K5", gmm},
	{"gmm/1k/gmm_d2_K25.txt", "gmm_d2_K25", gmm},
	{"gmm/1k/gmm_d10_K5.txt", "gmm_d10_K5", gmm},
	{"ba/test.txt", "ba_test", ba},
	{"ba/ba1_n49_m7776_p31843.txt", "ba1_n49_m7776_p31843", ba},
	{"ba/ba2_n21_m11315_p36455.txt", "ba2_n21_m11315_p36455", ba},
	{"lstm/lstm_l2_c1024.txt", "lstm_l2_c1024", lstm},
	{"lstm/lstm_l4_c1024.txt", "lstm_l4_c1024", lstm},
	{"hand/test.txt", "hand_test", hand},
	{"hand/simple_small/hand1_t26_c100.txt", "hand1_t26_c100", hand},
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: go run convert.go DIR")
	}
	for _, in := range instances {
		doc := in.convert(read(filepath.Join(os.Args[1], in.file), " \n"), os.Args[1])
		if err := os.WriteFile(in.document+".json", doc.json(), 0o666); err != nil {
			log.Fatal(err)
		}
	}
}

// gmm is a mixture of K Gaussians in d dimensions over n points: weights, means, inverse
// covariance factors, the points, and the two parameters of the Wishart prior.
func gmm(f *fields, _ string) document {
	d, k, n := f.count(), f.count(), f.count()
	return document{
		{name: "alphas", rows: f.rows(1, k), trainable: true, vector: true},
		{name: "means", rows: f.rows(k, d), trainable: true},
		{name: "icf", rows: f.rows(k, d*(d+1)/2), trainable: true},
		{name: "x", rows: f.rows(n, d)},
		{name: "gamma", rows: f.rows(1, 1), scalar: true},
		{name: "m", rows: f.rows(1, 1), scalar: true},
	}
}

// ba is one observation of one point by one camera; the file's counts say how often the
// benchmark repeats it.
func ba(f *fields, _ string) document {
	f.rows(1, 3)
	return document{
		{name: "cam", rows: f.rows(1, 11), trainable: true, vector: true},
		{name: "X", rows: f.rows(1, 3), trainable: true, vector: true},
		{name: "w", rows: f.rows(1, 1), trainable: true, scalar: true},
		{name: "feat", rows: f.rows(1, 2), vector: true},
	}
}

// lstm is a stack of cells and a text, a character a row of bits.
func lstm(f *fields, _ string) document {
	layers, chars, bits := f.count(), f.count(), f.count()
	return document{
		{name: "main", rows: f.rows(2*layers, 4*bits), trainable: true},
		{name: "extra", rows: f.rows(3, bits), trainable: true},
		{name: "state", rows: f.rows(2*layers, bits)},
		{name: "sequence", rows: f.rows(chars, bits)},
	}
}

// hand is a model of bones and skinned vertices, points with the vertices they are to meet, and
// the pose. Vertices that no point asks for are left out.
func hand(f *fields, dir string) document {
	points, angles := f.count(), f.count()
	var vertex []int
	target := array{name: "points"}
	for range points {
		vertex = append(vertex, f.count())
		target.rows = append(target.rows, f.rows(1, 3)...)
	}
	theta := array{name: "theta", rows: f.rows(1, angles), trainable: true, vector: true}

	parent := array{name: "parent", rows: [][]string{nil}, vector: true, dtype: "int64"}
	relative, inverse := array{name: "relative"}, array{name: "inverse"}
	bones := lines(filepath.Join(dir, "hand/model/bones.txt"))
	for _, l := range bones {
		b := strings.Split(l, ":")
		parent.rows[0] = append(parent.rows[0], b[1])
		relative.rows = append(relative.rows, b[2:18])
		inverse.rows = append(inverse.rows, b[18:34])
	}

	position, weight := array{name: "position"}, array{name: "weight"}
	vertices := lines(filepath.Join(dir, "hand/model/vertices.txt"))
	for _, i := range vertex {
		v := &fields{at: filepath.Join(dir, "vertices.txt"), text: strings.Split(vertices[i], ":")}
		position.rows = append(position.rows, v.rows(1, 3)...)
		v.rows(1, 5)
		w := strings.Fields(strings.Repeat("0 ", len(bones)))
		for range v.count() {
			bone := v.count()
			w[bone] = v.rows(1, 1)[0][0]
		}
		weight.rows = append(weight.rows, w)
	}
	return document{theta, target, position, weight, parent, relative, inverse}
}

// fields are the numbers of a file in the order in which they are read.
type fields struct {
	at   string
	text []string
}

func read(path, separators string) *fields {
	b, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	return &fields{path, strings.FieldsFunc(string(b), func(r rune) bool { return strings.ContainsRune(separators, r) })}
}

func lines(path string) []string { return read(path, "\r\n").text }

func (f *fields) count() int {
	s := f.rows(1, 1)[0][0]
	n, err := strconv.Atoi(s)
	if err != nil {
		log.Fatalf("%s: a count is %q", f.at, s)
	}
	return n
}

func (f *fields) rows(n, size int) [][]string {
	if n*size > len(f.text) {
		log.Fatalf("%s: ends %d numbers early", f.at, n*size-len(f.text))
	}
	rows := make([][]string, n)
	for i := range rows {
		rows[i], f.text = f.text[:size], f.text[size:]
	}
	return rows
}

// An array is one value of a document, a matrix unless it says otherwise.
type array struct {
	name                      string
	rows                      [][]string
	trainable, vector, scalar bool
	dtype                     string
}

type document []array

// json writes a row of a matrix a line.
func (d document) json() []byte {
	var b bytes.Buffer
	for i, a := range d {
		b.WriteString(map[bool]string{true: "{", false: ",\n "}[i == 0])
		fmt.Fprintf(&b, "%q: ", a.name)
		if !a.trainable {
			b.WriteString(`{"data": `)
		}
		for j, row := range a.rows {
			text := strings.Join(row, ", ")
			if !a.scalar {
				text = "[" + text + "]"
			}
			if !a.scalar && !a.vector {
				text = map[bool]string{true: "[", false: ",\n  "}[j == 0] + text
			}
			b.WriteString(text)
		}
		if !a.scalar && !a.vector {
			b.WriteString("]")
		}
		if a.dtype != "" {
			fmt.Fprintf(&b, `, "dtype": %q`, a.dtype)
		}
		if !a.trainable {
			b.WriteString(`, "trainable": false}`)
		}
	}
	b.WriteString("}\n")
	return b.Bytes()
}
