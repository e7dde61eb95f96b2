package cmd

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
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
		{math.Inf(1), 100, 0.2, false, inconclusive}, // differences that grow and grow
		{math.Inf(1), 100, 0, false, mismatch},       // a part of an infinity is infinite, and would allow it
		{1, 0, 0, true, kink},
	} {
		got := judged(r.tape, difference.Estimate{Value: r.estimate, Err: r.err, Kink: r.kink}, c)
		if got.Verdict != r.want {
			t.Errorf("%v against %v ± %v is %s, want %s", r.tape, r.estimate, r.err, got.Verdict, r.want)
		}
	}
}

// TestReports: names of cases pass through the reports that programs read, with what these
// take for signs of their own.
func TestReports(t *testing.T) {
	names := []string{"plain", "a # TODO, b: c", `back\slash`, "<&\"'> ]]>", "two\nlines", "100%"}
	var cases []string
	for i, name := range names {
		text, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		claim := []string{"2*x", "3*x", "2*x*"}[i%3] // holds, does not, is no program
		cases = append(cases, `{"name": `+string(text)+`, "expr": "x^2", "at": {"x": 3}, "claim": {"x": "`+claim+`"}}`)
	}
	in := "[" + strings.Join(cases, ",\n") + "]"
	code, out, _ := run(in, "check", "-", "--report", "junit")
	var suite struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Cases    []struct {
			Name    string  `xml:"name,attr"`
			Class   string  `xml:"classname,attr"`
			Time    float64 `xml:"time,attr"`
			Failure *struct {
				Message string `xml:"message,attr"`
			} `xml:"failure"`
			Error *struct {
				Message string `xml:"message,attr"`
			} `xml:"error"`
		} `xml:"testcase"`
	}
	if err := xml.Unmarshal([]byte(out), &suite); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	if code != exitNo || suite.Tests != 6 || suite.Failures != 2 || suite.Errors != 2 || len(suite.Cases) != 6 {
		t.Fatalf("exit %d, %d tests, %d failures, %d errors", code, suite.Tests, suite.Failures, suite.Errors)
	}
	for i, c := range suite.Cases {
		if c.Name != names[i] || c.Class != "nabla check" || c.Time < 0 || (c.Failure != nil) != (i%3 == 1) || (c.Error != nil) != (i%3 == 2) {
			t.Errorf("case %d is %+v", i, c)
		}
		if c.Failure != nil && !strings.HasPrefix(c.Failure.Message, "mismatch: d/dx: tape 6, claim 9") || c.Error != nil && c.Error.Message == "" {
			t.Errorf("case %d says %+v %+v", i, c.Failure, c.Error)
		}
	}
	_, out, _ = run(in, "check", "-", "--report", "tap")
	for i, want := range []string{"ok 1 - plain\n", "not ok 2 - a \\# TODO, b: c\n", "not ok 3 - back\\\\slash\n", "ok 4 - <&\"'> ]]>\n", "not ok 5 - two; lines\n", "not ok 6 - 100%\n"} {
		if !strings.Contains(out, "\n"+want) {
			t.Errorf("case %d: no line %q in\n%s", i, want, out)
		}
	}
	_, out, _ = run(in, "check", "-", "--report", "github")
	for _, want := range []string{"title=nabla check a # TODO%2C b%3A c::d/dx: tape 6", "title=nabla check two%0Alines::", "title=nabla check 100%25::"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
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

// A heapMeter keeps how much memory is held when the first thing is written to it.
type heapMeter struct{ held uint64 }

func (m *heapMeter) Write(p []byte) (int, error) {
	if m.held == 0 {
		m.held = heap()
	}
	return len(p), nil
}

func heap() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// TestPointsMemory: points are drawn, judged and told one by one, and none is kept.
func TestPointsMemory(t *testing.T) {
	const points, most = 4000, 1 << 20 // all of them at once take 2 MB
	before := heap()
	var m heapMeter
	if code := Main([]string{"check", "x^2 * sin(x)", "-q", "--points", strconv.Itoa(points)}, strings.NewReader(""), &m, io.Discard); code != exitOK {
		t.Fatalf("exit %d", code)
	}
	if m.held > before+most {
		t.Errorf("%d points hold %d bytes when the report is written, more than %d", points, m.held-before, most)
	}
}

// TestSpool: a long text goes to a file, and comes back whole.
func TestSpool(t *testing.T) {
	for _, tmp := range []string{t.TempDir(), "/no/such/directory"} { // without a file it stays in memory
		t.Setenv("TMPDIR", tmp)
		t.Setenv("TMP", tmp)
		var s spool
		var want strings.Builder
		for i := 0; want.Len() < 3*inMemory; i++ {
			line := strings.Repeat(strconv.Itoa(i), 1000) + "\n"
			want.WriteString(line)
			s.WriteString(line)
			if s.settle(); tmp != "/no/such/directory" && s.Len() >= inMemory {
				t.Fatalf("%d bytes in memory, more than %d", s.Len(), inMemory)
			}
		}
		var got strings.Builder
		if err := s.copyTo(&got); err != nil || got.String() != want.String() {
			t.Errorf("with files in %s: %v, %d bytes, want %d", tmp, err, got.Len(), want.Len())
		}
		s.close()
		if left, _ := os.ReadDir(tmp); len(left) > 0 {
			t.Errorf("%v is left in %s", left[0].Name(), tmp)
		}
	}
}
