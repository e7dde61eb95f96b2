package output

import (
	"io"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"nabla/tape/tensor"
)

// partLength is how many numbers are formatted at a time: 10 to 200 KB of text.
const partLength = 1 << 13

// inParts writes what part appends for 0 to n, a part at a time: several of them side by
// side if there are threads, in order all the same. It ends with the first error of w, or
// panic of part.
func inParts(w io.Writer, threads, n int, part func(b []byte, from, to int) []byte) error {
	at := func(b []byte, i int) []byte { return part(b[:0], i*partLength, min((i+1)*partLength, n)) }
	parts := (n + partLength - 1) / partLength
	if threads = min(threads, parts); threads <= 1 {
		var b []byte
		for i := range parts {
			b = at(b, i)
			if _, err := w.Write(b); err != nil {
				return err
			}
		}
		return nil
	}
	quit := make(chan struct{})
	defer close(quit)
	var failed atomic.Pointer[any]
	full, empty := make([]chan []byte, threads), make([]chan []byte, threads)
	for k := range threads { // one thread takes every so many'th part, a part ahead of what is written
		full[k], empty[k] = make(chan []byte, 1), make(chan []byte, 2)
		empty[k] <- nil
		empty[k] <- nil
		go func() {
			debug.SetPanicOnFault(true) // the numbers may be those of a file
			defer func() {
				if p := recover(); p != nil {
					failed.Store(&p)
					close(full[k])
				}
			}()
			for i := k; i < parts; i += threads {
				select {
				case b := <-empty[k]:
					full[k] <- at(b, i)
				case <-quit:
					return
				}
			}
		}()
	}
	for i := range parts {
		b, ok := <-full[i%threads]
		if !ok {
			panic(*failed.Load())
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		empty[i%threads] <- b
	}
	return nil
}

// A spread is how the numbers of a tensor stand in a text. Between two of them stands
// between[k] when k axes end there.
type spread struct {
	shape   tensor.Shape
	dtype   tensor.DType
	data    []float64
	between []string
	number  func(b []byte, v float64, d tensor.DType) []byte
}

// part appends the numbers from … to, each but the first of all behind what parts it from the one before.
func (s *spread) part(b []byte, from, to int) []byte {
	row := 1
	if n := len(s.shape); n > 0 {
		row = s.shape[n-1]
	}
	next := s.between[0]
	for i := from; i < to; {
		if i > 0 {
			b = append(b, s.between[s.ends(i)]...)
		}
		b = s.number(b, s.data[i], s.dtype)
		end := min(to, i-i%row+row)
		for i++; i < end; i++ {
			b = append(b, next[0])
			if len(next) > 1 {
				b = append(b, next[1:]...)
			}
			b = s.number(b, s.data[i], s.dtype)
		}
	}
	return b
}

// ends is how many axes end before number i.
func (s *spread) ends(i int) (k int) {
	for a := len(s.shape) - 1; a > 0 && i%s.shape[a] == 0; a-- {
		i /= s.shape[a]
		k++
	}
	return k
}

// rowsOf is the spread of rows as lines, with a blank line between matrices.
func rowsOf(t *tensor.Tensor, sep string) *spread {
	s := &spread{t.Shape, plainType(t.DType), t.Data, []string{sep, "\n"}, AppendNumber}
	for range len(t.Shape) {
		s.between = append(s.between, "\n\n")
	}
	return s
}

// nested is the spread of nested arrays, of which the outermost begins at a column.
func nested(shape tensor.Shape, data []float64, d tensor.DType, pretty bool, at int) *spread {
	s := &spread{shape, d, data, []string{","}, AppendJSONNumber}
	if pretty {
		s.between[0] = ", "
	}
	for k := 1; k < len(shape); k++ {
		line := ","
		if pretty {
			line = ",\n" + strings.Repeat(" ", at+len(shape)-k)
		}
		s.between = append(s.between, strings.Repeat("]", k)+line+strings.Repeat("[", k))
	}
	return s
}
