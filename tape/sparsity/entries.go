package sparsity

import "slices"

// Entries are the rows of a pattern one by one, ascending: row i has the columns
// Col[Ptr[i]:Ptr[i+1]].
type Entries struct{ Ptr, Col []int32 }

// Row lists the columns of row i; it shares them.
func (e *Entries) Row(i int) []int32 { return e.Col[e.Ptr[i]:e.Ptr[i+1]] }

// tidy sorts each row and leaves out what is there twice.
func (e *Entries) tidy() {
	to := int32(0)
	from := int32(0)
	for i := range len(e.Ptr) - 1 {
		end := e.Ptr[i+1]
		row := e.Col[from:end]
		for k := 1; k < len(row); k++ {
			if row[k] <= row[k-1] {
				slices.Sort(row)
				row = slices.Compact(row)
				break
			}
		}
		if to != from {
			copy(e.Col[to:], row)
		}
		to += int32(len(row))
		e.Ptr[i+1] = to
		from = end
	}
	e.Col = e.Col[:to]
}

// Transposed lists the columns, cols in number, as rows.
func (e *Entries) Transposed(cols int) *Entries {
	out, _ := e.Turned(nil, cols)
	return out
}

// Widest is the largest number of entries in a row.
func (e *Entries) Widest() int {
	most := int32(0)
	for i := 1; i < len(e.Ptr); i++ {
		most = max(most, e.Ptr[i]-e.Ptr[i-1])
	}
	return int(most)
}

// Behind is the pattern of a value that depends by rel on one that depends by e on the
// source; nil when there is too much of it.
func (e *Entries) Behind(rel *Pattern, cols int) *Pattern {
	r := rel.Listed()
	if r == nil {
		return nil
	}
	out := &Entries{Ptr: make([]int32, 1, rel.Rows+1)}
	limit := mostEntries * (rel.Rows + cols)
	for i := range rel.Rows {
		from := len(out.Col)
		args := r.Row(i)
		for _, a := range args {
			out.Col = append(out.Col, e.Row(int(a))...)
		}
		if row := out.Col[from:]; len(args) > 1 {
			slices.Sort(row)
			out.Col = out.Col[:from+len(slices.Compact(row))]
		}
		if len(out.Col) > limit {
			return nil
		}
		out.Ptr = append(out.Ptr, int32(len(out.Col)))
	}
	return &Pattern{Rows: rel.Rows, Cols: cols, List: out}
}

// Turned is Transposed, with the numbers at the entries, if there are any.
func (e *Entries) Turned(data []float64, cols int) (*Entries, []float64) {
	out := &Entries{Ptr: make([]int32, cols+1), Col: make([]int32, len(e.Col))}
	moved := make([]float64, len(data))
	for _, j := range e.Col {
		out.Ptr[j+1]++
	}
	next := int32(0)
	for i := 1; i < len(out.Ptr); i++ {
		next, out.Ptr[i] = next+out.Ptr[i], next
	}
	for i := range len(e.Ptr) - 1 {
		for k := e.Ptr[i]; k < e.Ptr[i+1]; k++ {
			to := &out.Ptr[e.Col[k]+1]
			if out.Col[*to] = int32(i); len(data) > 0 {
				moved[*to] = data[k]
			}
			*to++
		}
	}
	return out, moved
}
