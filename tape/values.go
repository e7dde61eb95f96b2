package tape

// Values computes rs, together, and keeps their values.
func (t *Tape) Values(rs []Ref) {
	for _, r := range rs {
		t.force(r)
	}
}
