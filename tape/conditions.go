package tape

import (
	"slices"

	"nabla/expr"
)

// conditions are the values that decided what ran, the first two at each place in the program:
// what stands on both sides of && has one place.
type conditions struct {
	refs   []Ref
	places []expr.Pos
	leads  []uint8 // by value: the first of the refs that is computed from it, from the last, counted from 1
	of     int     // how many refs leads knows of
}

// note keeps a condition at a place.
func (c *conditions) note(r Ref, at expr.Pos) {
	const most = 16
	if len(c.refs) == most {
		return
	}
	if i := slices.Index(c.places, at); i >= 0 && slices.Contains(c.places[i+1:], at) {
		return
	}
	c.refs, c.places = append(c.refs, r), append(c.places, at)
}

// from is the place of the first condition that is computed from one of the values.
func (c *conditions) from(t *Tape, values []Ref) (at expr.Pos, ok bool) {
	if len(c.refs) == 0 {
		return expr.NoPos, false
	}
	if c.of != len(c.refs) {
		c.of, c.leads = len(c.refs), make([]uint8, slices.Max(c.refs)+1)
		for i, r := range c.refs {
			c.leads[r] = max(c.leads[r], uint8(len(c.refs)-i))
		}
		for r := Ref(len(c.leads) - 1); r >= 0; r-- {
			for _, a := range t.Args(r) {
				c.leads[a] = max(c.leads[a], c.leads[r])
			}
		}
	}
	first := uint8(0)
	for _, r := range values {
		if int(r) < len(c.leads) {
			first = max(first, c.leads[r])
		}
	}
	if first == 0 {
		return expr.NoPos, false
	}
	return c.places[len(c.refs)-int(first)], true
}
