// Package output turns results into bytes. It knows tensors, never a tape.
//
// Formats is the one table of formats: flags, file extensions, completion and
// help are views of it. Every format but the table is the shortest text that
// reads back to the same bits, and every format is byte-stable: the same result
// gives the same bytes, on every machine.
package output

import (
	"bufio"
	"io"

	"nabla/tape/tensor"
)

// A Result is what a command answers.
type Result struct {
	Op       string // "eval", "grad", "jacobian", "batch_jacobian", "hessian", "jvp", "vjp", "hvp"
	Expr     string // the program, as given
	Targets  []Target
	Several  bool // the targets were asked for by name: JSON puts them under "targets"; more than one always are
	Warnings []Warning
}

// A Target is one value that was asked for, and what came of differentiating it.
type Target struct {
	Name        string
	Value       *tensor.Value // KindNone prints as null; nil is left out
	Payload     *tensor.Value // nil for eval; else nested like the sources, the Hessian twice; jvp has the target's shape
	Stream      *Stream       // in place of Payload, when that is too large
	Unconnected []Reason      // the nones of Payload, or of the value that eval gives, in order
}

// Size is how many numbers a result holds.
func (r *Result) Size() (n int) {
	for _, t := range r.Targets {
		for _, v := range []*tensor.Value{t.Value, t.Payload} {
			if v == nil {
				continue
			}
			v.Leaves("", func(_ string, leaf *tensor.Value) {
				switch leaf.Kind {
				case tensor.KindTensor:
					n += leaf.Tensor.Size()
				case tensor.KindSparse:
					n += len(leaf.Sparse.Data)
				}
			})
		}
	}
	return n
}

// oneOf is how one of several arrays of a result is chosen, for a format that holds one.
func (r *Result) oneOf() string {
	switch {
	case r.Several:
		return " with --of"
	case r.Op == "eval":
		return " in the program"
	}
	return " with --wrt"
}

// A Reason says why a source has no gradient.
type Reason struct {
	Path string // dotted: "model.w", "p[0]"
	Why  string
}

// A Warning is something that the result does not say by itself: a NaN and
// where it was born, rows of a batch that are not independent.
type Warning struct {
	Op           string // the operation it speaks of, if it speaks of one
	Message      string
	Line, Column int     // in the program; zero is nowhere
	Element      []int   // the index of the element, if it speaks of one
	Value        float64 // the value there; printed only beside Element, and when it is known
	Known        bool
}

// Options says how to write. The zero value is a table as a pipe wants it.
type Options struct {
	Format    string // a name of Formats; "" is the table
	Precision int    // significant digits of the table; 0 means 6
	Compact   bool   // JSON on one line even on a terminal
	Raw       bool   // numbers only: the same as Format "raw"
	Terminal  bool   // the reader is a person: indented JSON, large tensors elided, wide ones cut
	Color     bool
	Threads   int // that may format numbers; 0 is one
	Width     int // columns of the terminal; 0 means 80
}

// Write writes r in the format that o names. What cannot be said in that format
// is a *FormatError, found before the first byte is written.
func Write(w io.Writer, r *Result, o Options) error {
	if o.Raw {
		o.Format = "raw"
	}
	if o.Format == "" {
		o.Format = Formats[0].Name
	}
	for i := range Formats {
		f := &Formats[i]
		if f.Name != o.Format {
			continue
		}
		if f.Binary && o.Terminal {
			return &FormatError{f.Name, "is binary and does not go to a terminal: name a file with -o, or pipe it"}
		}
		if len(r.Targets) > 1 && !r.Several {
			named := *r
			named.Several = true
			r = &named
		}
		if f.Name != "npy" || r.stream() == nil {
			var err error
			if r, err = r.gathered(); err != nil {
				return err
			}
		}
		b := bufio.NewWriterSize(w, 1<<16)
		if err := f.write(b, r, &o); err != nil {
			return err
		}
		return b.Flush()
	}
	return &FormatError{o.Format, "is not a format; there are " + formatNames()}
}
