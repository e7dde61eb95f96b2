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
	Binary bool     // never goes to a terminal
	write  func(w *bufio.Writer, r *Result, o *Options) error
}

// Formats lists what -f accepts; the first is the default.
var Formats []Format

var formatRows = []Format{
	{"table", []string{"txt"}, false, writeTable},               // for people: matrices, aligned on the decimal point
	{"json", []string{"json"}, false, writeJSON},                // one object, nested like the sources
	{"ndjson", []string{"ndjson", "jsonl"}, false, writeNDJSON}, // the same object on one line
	{"npy", []string{"npy"}, true, writeNPY},                    // one array, for NumPy
	{"npz", []string{"npz"}, true, writeNPZ},                    // an array for each source, for NumPy
	{"csv", []string{"csv"}, false, writeCSV},                   // one matrix as rows, or name, index, value
	{"raw", []string{"dat"}, false, writeRaw},                   // numbers only, a matrix row a line
	{"md", []string{"md", "markdown"}, false, writeMarkdown},    // the table in Markdown
	{"mtx", []string{"mtx"}, false, writeMTX},                   // one sparse matrix in MatrixMarket coordinates
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
