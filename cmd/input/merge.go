package input

import (
	"cmp"

	"nabla/tape/tensor"
)

// Merge is d and what e adds to it. Records join; what both have is an error. Neither changes.
func (d *Document) Merge(e *Document) (*Document, error) {
	m := &Document{
		Name: cmp.Or(d.Name, e.Name), Expr: d.Expr, HasExpr: d.HasExpr, Wrt: d.Wrt, Of: d.Of, With: d.With,
		Vars: append(make([]Variable, 0, len(d.Vars)+len(e.Vars)), d.Vars...), Notes: append(append([]string(nil), d.Notes...), e.Notes...),
	}
	both := func(what string) error { // a document without a name is what the flags say
		return &Error{Msg: twice(what, cmp.Or(d.Name, "--"+what), e.Name)}
	}
	if e.HasExpr {
		if d.HasExpr {
			return nil, both("expr")
		}
		m.Name, m.Expr, m.HasExpr = e.Name, e.Expr, true
	}
	for _, list := range []struct {
		name   string
		to     *[]string
		values []string
	}{{"wrt", &m.Wrt, e.Wrt}, {"of", &m.Of, e.Of}} {
		if list.values != nil {
			if *list.to != nil {
				return nil, both(list.name)
			}
			*list.to = list.values
		}
	}
	if e.With != nil {
		if d.With != nil {
			return nil, both("with")
		}
		m.With = e.With
	}
	for _, v := range e.Vars {
		i, ok := m.find(v.Name)
		if !ok {
			m.Vars = append(m.Vars, v)
			continue
		}
		old := m.Vars[i]
		joined, clash := join(v.Name, old.Value, v.Value)
		if clash != "" {
			return nil, &Error{Msg: twice(clash, old.From, v.From)}
		}
		m.Vars[i] = variable(v.Name, joined, old.From)
	}
	return m, nil
}

// join is the record that has the fields of both, or the path of what both have.
func join(path string, a, b *tensor.Value) (v *tensor.Value, clash string) {
	if a.Kind != tensor.KindRecord || b.Kind != tensor.KindRecord {
		return nil, path
	}
	v = &tensor.Value{Kind: tensor.KindRecord, Fields: append([]tensor.Field(nil), a.Fields...)}
	for _, f := range b.Fields {
		old := v.Get(f.Name)
		if old == nil {
			v.Fields = append(v.Fields, f)
			continue
		}
		both, clash := join(path+"."+f.Name, old, f.Value)
		if clash != "" {
			return nil, clash
		}
		for i := range v.Fields {
			if v.Fields[i].Name == f.Name {
				v.Fields[i].Value = both
			}
		}
	}
	return v, ""
}
