package input

import "bytes"

// Tree reads a text that is JSON of any form: an object as a map, an array of numbers of one
// shape as a *tensor.Value, another array as a list; NaN and the infinities may stand bare. It
// is false for what is none, which package json then says more of.
func Tree(text []byte) (v any, ok bool) {
	p := &parser{first: 1, b: text}
	var err error
	func() {
		defer p.catch(&err)
		p.begin()
		v = p.tree()
		p.finish()
	}()
	return v, err == nil
}

// tree = object | array | string | "null" | number | word .
func (p *parser) tree() any {
	switch p.peek() {
	case '{':
		m := map[string]any{}
		p.fields(func(key string, _ int) { m[key] = p.tree() })
		return m
	case '[':
		if v := p.whole(); v != nil {
			if p.mixed != none {
				panic(p.fault(p.mixed, mixes, ""))
			}
			return v
		}
		list := []any{}
		p.elements(func() { list = append(list, p.tree()) })
		return list
	case '"':
		return p.str()
	case 'n':
		if bytes.HasPrefix(p.b[p.i:], []byte("null")) {
			p.i += len("null")
			p.glued()
			return nil
		}
	}
	return p.scalar()
}
