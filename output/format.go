package output

import (
	"bufio"
	"path/filepath"
	"strings"
)

// A Format is one row of the table of formats.
type Format struct {
	Name   string
	Ext    []string // file extensions that choose it
	Doc    string
	Binary bool // never goes to a terminal
	write  func(w *bufio.Writer, r *Result, o *Options) error
}

// Formats lists what -f accepts; the first is the default.
var Formats []Format

var formatRows = []Format{
	{"table", []string{"txt"}, "for people: matrices, aligned on the decimal point", false, writeTable},
	{"json", []string{"json"}, "one object, nested like the sources", false, writeJSON},
	{"ndjson", []string{"ndjson", "jsonl"}, "the same object on one line", false, writeNDJSON},
	{"npy", []string{"npy"}, "one array, for NumPy", true, writeNPY},
	{"npz", []string{"npz"}, "an array for each source, for NumPy", true, writeNPZ},
	{"csv", []string{"csv"}, "one matrix as rows, or name, index, value", false, writeCSV},
	{"raw", []string{"dat"}, "numbers only, a matrix row a line", false, writeRaw},
	{"md", []string{"md", "markdown"}, "the table in Markdown", false, writeMarkdown},
	{"mtx", []string{"mtx"}, "one sparse matrix in MatrixMarket coordinates", false, writeMTX},
}

func init() { Formats = formatRows } // the writers name Formats in their errors

// FormatOf is the name of the format that a file's extension asks for.
func FormatOf(filename string) (string, bool) {
	ext := strings.ToLower(strings.TrimPrefix(filepath.Ext(filename), "."))
	for _, f := range Formats {
		for _, e := range f.Ext {
			if e == ext && ext != "" {
				return f.Name, true
			}
		}
	}
	return "", false
}

// Misnamed says whether a file of this name, written in a format, would be taken for one of
// another, and of which. A text may be called .txt or .dat.
func Misnamed(filename, format string) (other string, yes bool) {
	other, ok := FormatOf(filename)
	switch {
	case !ok || other == format:
		return other, false
	case format == "npy" || format == "npz":
		return other, true
	}
	switch other {
	case "json", "ndjson":
		return other, format != "json" && format != "ndjson"
	case "npy", "npz", "csv", "mtx":
		return other, true
	}
	return other, false
}

func formatNames() string {
	names := make([]string, len(Formats))
	for i, f := range Formats {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}

// A FormatError says that a format cannot hold this result.
type FormatError struct{ Format, Why string }

func (e *FormatError) Error() string { return "format " + e.Format + " " + e.Why }
func (*FormatError) ExitCode() int   { return 2 }
