package tape

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"nabla/expr"
)

// A loop whose steps record more and more, or as many as do not fit, is refused early, by what its
// first steps were; one that fits is not.
func TestForesee(t *testing.T) {
	const grows = "t = x; for i in range(%d) { t = grad(sin(t)*t, x) }; t"
	for _, row := range []struct {
		text, want string
		limit      int64
		recorded   int64
	}{
		{fmt.Sprintf(grows, 60), "the 60 steps of this loop would record about", 4e9, 0},
		{fmt.Sprintf(grows, 60), "high orders", 100e6, 0},
		{fmt.Sprintf(grows, 60), "more than the 1 MiB that recording may take by itself", 1 << 40, 1 << 20},
		{fmt.Sprintf(grows, 6), "", 100e6, 0},
		{"s = x; for i in range(300) { s = s + grad(sin(x*i)*rand(1)[0], x) }; s", "", 20e6, 0},
		{"t = x; n = 0; while n < 60 { n = n + 1; t = grad(sin(t)*t, x) }; t", "high orders", 20e6, 0},
		{"t = x; for i in range(1e9) { t = t + rand(1)[0] }; t", "as many each", 20e6, 0},
		{"t = x; for i in range(1e4) { t = t + rand(1)[0] }; t", "", 100e6, 0},
		{"t = x; for i in range(60) { if i % 20 > 17 { for j in range(300) { t = t + rand(1)[0] } } }; t", "", 100e6, 0},
		{"t = x; for i in range(60) { t = t + rand(1)[0]; if i % 20 > 17 { for j in range(300) { t = t + rand(1)[0] } } }; t", "", 100e6, 0},
		{"t = x" + strings.Repeat("; t = t + rand(1)[0]", 3000) + "; for i in range(900) { t = t + rand(1)[0] }; t", "", 12e6, 0},
		{"t = x; for i in range(1e15) { t = sin(t) }; t", "would take about 232 days", 20e6, 0},
		{"v = x*ones(9, 9); for i in range(1e15) { v = tanh(v @ v) }; sum(v)", " days", 20e6, 0},
		{"t = x; for i in range(1e7) { for j in range(1e9) { t = sin(t) } }; t", "operations", 20e6, 0},
	} {
		q := question(t, "grad", row.text, "x=0.4")
		q.Limit, q.Recorded = row.limit, row.recorded
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := q.Answer()
		runtime.ReadMemStats(&after)
		switch e, ok := AsError(err); {
		case err == nil:
			if row.want != "" {
				t.Errorf("%q in %d bytes has an answer, want %q", row.text, row.limit, row.want)
			}
		case !ok || e.ExitCode() != 5 || row.want == "" || !strings.Contains(err.Error()+e.At.Hint, row.want):
			t.Errorf("%q in %d bytes: %v, %+v, want %q", row.text, row.limit, err, e, row.want)
		case e.At.Mark == expr.NoPos:
			t.Errorf("%q in %d bytes: no place", row.text, row.limit)
		}
		if took := after.TotalAlloc - before.TotalAlloc; row.recorded == 0 && took > min(2*uint64(row.limit)+20e6, 500e6) {
			t.Errorf("%q in %d bytes took %d", row.text, row.limit, took)
		}
	}
}
