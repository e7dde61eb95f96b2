package cmd

import (
	"encoding/json"
	"math"
	"testing"

	"nabla/cmd/difference"
)

func TestJudged(t *testing.T) {
	c := &checkCase{atol: 0, rtol: 0.01}
	for _, r := range []struct {
		tape, estimate, err float64
		kink                bool
		want                verdict
	}{
		{100, 100, 0, false, ok},
		{100, 101, 0, false, ok},             // within rtol
		{100, 102, 0, false, mismatch},       // beyond it, and the estimate is sure
		{100, 102, 0.01, false, mismatch},    // ten times its error does not reach
		{100, 102, 0.2, false, inconclusive}, // it may be the estimate
		{100, 101, 0.2, false, ok},           // an unsure estimate that agrees
		{100, 104, 0.2, false, mismatch},
		{100, math.NaN(), math.Inf(1), false, inconclusive}, // none could be taken
		{100, 100, math.NaN(), false, inconclusive},
		{math.NaN(), 100, 0, false, mismatch},
		{math.Inf(1), 100, 0, false, mismatch}, // a part of an infinity is infinite, and would allow it
		{1, 0, 0, true, kink},
	} {
		got := judged(r.tape, difference.Estimate{Value: r.estimate, Err: r.err, Kink: r.kink}, c)
		if got.Verdict != r.want {
			t.Errorf("%v against %v ± %v is %s, want %s", r.tape, r.estimate, r.err, got.Verdict, r.want)
		}
	}
}

// TestOpsJSON: the whole listing reads back, and every row has what a reader looks for.
func TestOpsJSON(t *testing.T) {
	_, out, _ := run("", "ops", "-f", "json")
	var rows []struct{ Name, Signature, Group, Doc string }
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Name == "" || r.Signature == "" || r.Group == "" || r.Doc == "" {
			t.Errorf("the row of %s is %+v", r.Name, r)
		}
	}
	if len(rows) < 200 {
		t.Errorf("%d rows", len(rows))
	}
}
