package output

import (
	"strings"

	"nabla/expr/cells"
	"nabla/tape/tensor"
)

// A block is one tensor of a result, or the lack of one, under its name. The
// flat formats (raw, csv, npz, the tables) are lists of blocks.
type block struct {
	name string         // the path that jq would take: "grad.layer.w", "value[0]"
	path string         // the same below the payload: "layer.w"; arrays of an archive are named by it
	x, y string         // the two sources of a block of a Hessian
	t    *tensor.Tensor // nil is none, if s is nil too
	s    *tensor.Sparse // in place of t
	why  string         // the reason of none

	// A family of blocks in one table, which only the tables make.
	rows, cols []string
	cell       func(i, j int) (*block, float64)
}

// blocks lists what the command was asked for: every target's payload, or its value if there is none.
func (r *Result) blocks() []block {
	var list []block
	for i := range r.Targets {
		t := &r.Targets[i]
		v, root := t.answer(r.Op)
		if r.Several {
			if root == "value" {
				root = t.Name
			} else {
				root = t.Name + "." + root
			}
		}
		from := len(list)
		list = appendBlocks(list, v, root, t.Unconnected)
		if r.Several {
			for i := from; i < len(list); i++ {
				b := &list[i]
				b.path = strings.TrimSuffix(t.Name+"."+b.path, ".")
				if v.Kind == tensor.KindList {
					b.path = b.name
				}
			}
		}
	}
	return list
}

// Empty lists, in the words of the tables, what holds no number: a format of numbers alone
// has no line for it.
func (r *Result) Empty() (list []string) {
	for _, b := range r.blocks() {
		switch {
		case b.s != nil && len(b.s.Data) == 0:
			list = append(list, b.name+" "+describeEntries(b.s))
		case b.t != nil && len(b.t.Data) == 0:
			list = append(list, b.name+" "+describeEmpty(b.t))
		}
	}
	return list
}

// answer is what the target's command was asked for, and its key.
func (t *Target) answer(op string) (*tensor.Value, string) {
	switch {
	case t.Payload != nil:
		return t.Payload, op
	case t.Value != nil:
		return t.Value, "value"
	}
	return tensor.None(""), "value"
}

// appendBlocks appends the leaves of v, named below root.
func appendBlocks(list []block, v *tensor.Value, root string, reasons []Reason) []block {
	from := len(list)
	why := make(map[string]string, len(reasons))
	for _, r := range reasons {
		why[r.Path] = r.Why
	}
	v.Leaves(root, func(name string, leaf *tensor.Value) {
		b := block{name: name, t: leaf.Tensor, s: leaf.Sparse, why: leaf.Why}
		b.path = strings.TrimPrefix(strings.TrimPrefix(name, root), ".")
		if leaf.Kind != tensor.KindTensor {
			b.t = nil
			if w, ok := why[b.path]; ok {
				b.why = w
			}
		}
		list = append(list, b)
	})
	pair(list[from:], root, v)
	return list
}

// pair finds the two sources of each block of a Hessian, a record of records of
// the same form: the first path is the first source twice, and the first row of
// paths names the others. The diagonal alone has no such form and stays as it is.
func pair(list []block, root string, v *tensor.Value) {
	n := 0
	for n*n < len(list) {
		n++
	}
	if v.Kind != tensor.KindRecord || !strings.HasSuffix("."+root, ".hessian") || n == 0 || n*n != len(list) {
		return
	}
	first := list[0].path
	prefix := first[:len(first)/2] + "."
	if first != prefix+first[:len(first)/2] {
		return
	}
	sources := make([]string, n)
	for i := range sources {
		sources[i] = strings.TrimPrefix(list[i].path, prefix)
	}
	for i := range list {
		if list[i].path != sources[i/n]+"."+sources[i%n] {
			return
		}
	}
	for i := range list {
		list[i].x, list[i].y = sources[i/n], sources[i%n]
	}
}

// arrays are the blocks that hold numbers; that there is none of them is an error.
func arrays(r *Result, format string) ([]block, error) {
	all := r.blocks()
	var list []block
	for _, b := range all {
		if b.t != nil || b.s != nil {
			if b.path == "" || b.path[0] == '[' {
				b.path = r.key() + b.path
			}
			list = append(list, b)
		}
	}
	if len(list) > 0 {
		return list, nil
	}
	why := "holds numbers, and this result has none"
	if len(all) > 0 {
		why += ": " + all[0].name + " is not connected"
		if all[0].why != "" {
			why += " (" + all[0].why + ")"
		}
	}
	return nil, &FormatError{format, why}
}

// key is the name of what was asked for.
func (r *Result) key() string {
	if r.Op == "eval" {
		return "value"
	}
	return r.Op
}

// title is the block's name for people.
func (b *block) title() string {
	name := b.name
	if b.x != "" {
		name = strings.TrimSuffix(name, b.x+"."+b.y) + b.x + " · " + b.y
	}
	return cells.Show(name)
}

// names joins the names of blocks, the first few of them.
func names(list []block) string {
	var b strings.Builder
	for i, x := range list {
		if i == 4 {
			b.WriteString(", …")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(x.path)
	}
	return b.String()
}
