package referee

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nabla/expr"
	"nabla/tape/tensor"
)

// Source gives one source at the base point, and the numbers of the target as a function
// of its numbers: what there is to difference. A source is an input,
// a part of one ("layers[0].w"), or a name that the program binds.
func (f *Frozen) Source(vars map[string]*tensor.Value, path string) (x *tensor.Tensor, y func(x []float64) ([]float64, error), err error) {
	root := rootOf(path, vars)
	base, bound := vars[root], f.pins[root] > 0
	if bound {
		base = f.end[root]
	}
	if base == nil {
		return nil, nil, fmt.Errorf("no source %s", path)
	}
	base.Leaves(root, func(p string, leaf *tensor.Value) {
		if p == path && leaf.Kind == tensor.KindTensor {
			x = leaf.Tensor
		}
	})
	if x == nil {
		return nil, nil, fmt.Errorf("source %s is not a tensor", path)
	}
	y = func(x []float64) ([]float64, error) {
		moved := map[string]*tensor.Value{root: replace(base, root, path, x)}
		var v *tensor.Value
		var err error
		if bound {
			v, err = f.evalPinned(vars, moved)
		} else {
			for k, v := range vars {
				if k != root {
					moved[k] = v
				}
			}
			v, err = f.Eval(moved)
		}
		if err != nil {
			return nil, err
		}
		var out []float64
		v.Leaves("", func(_ string, leaf *tensor.Value) {
			if leaf.Kind == tensor.KindTensor {
				out = append(out, leaf.Tensor.Data...)
			}
		})
		return out, nil
	}
	return &tensor.Tensor{DType: x.DType, Shape: x.Shape, Data: slices.Clone(x.Data)}, y, nil
}

// rootOf is the name of the variable that path leads into: its first word, or one that is
// itself written with dots and brackets, as documents may name theirs.
func rootOf(path string, vars map[string]*tensor.Value) string {
	root, _, _ := strings.Cut(strings.ReplaceAll(path, "[", "."), ".")
	if vars[root] != nil {
		return root
	}
	long := ""
	for name := range vars {
		if rest, ok := strings.CutPrefix(path, name); ok && len(name) > len(long) && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			long = name
		}
	}
	return cmp.Or(long, root)
}

// replace is v with other numbers in the tensor at path; nothing of v is changed.
func replace(v *tensor.Value, at, path string, x []float64) *tensor.Value {
	if !strings.HasPrefix(path, at) {
		return v
	}
	out := *v
	switch v.Kind {
	case tensor.KindTensor:
		if at == path {
			out.Tensor = &tensor.Tensor{DType: v.Tensor.DType, Shape: v.Tensor.Shape, Data: x}
		}
	case tensor.KindList:
		out.List = slices.Clone(v.List)
		for i, e := range v.List {
			out.List[i] = replace(e, at+"["+strconv.Itoa(i)+"]", path, x)
		}
	case tensor.KindRecord:
		out.Fields = slices.Clone(v.Fields)
		for i, e := range v.Fields {
			out.Fields[i].Value = replace(e.Value, at+"."+e.Name, path, x)
		}
	}
	return &out
}

// Custom lists the functions whose gradient the program defines itself, where a
// difference and a derivative may disagree on purpose.
func (e *Evaluator) Custom() (names []string) {
	expr.Walk(e.prog, func(n any) bool {
		if g, ok := n.(*expr.GradDef); ok {
			names = append(names, g.Name)
		}
		return true
	})
	return names
}
