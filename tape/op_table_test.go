package tape

import "testing"

// TestRows reads every signature, rule and body: a row that cannot be read is a panic.
func TestRows(t *testing.T) {
	for _, op := range table {
		op.signature()
		for i, g := range op.Grad {
			if g != "" {
				op.partialRule(i)
			}
		}
		if op.Body != "" {
			op.body()
		}
		if op.Doc == "" {
			t.Errorf("%s has no doc", op.Name)
		}
	}
}
