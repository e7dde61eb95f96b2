package cmd

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"nabla/output"
	"nabla/tape/tensor"
)

// jsonHead begins one object, with an object for each case.
func jsonHead(b *bytes.Buffer, f *findings) {
	all, failed := f.compared()
	fmt.Fprintf(b, `{"op":"check","ok":%v,"checked":%d,"failed":%d,"cases":[`, f.failed == 0, all, failed)
}

func jsonEnd(b *bytes.Buffer, _ *findings) { b.WriteString("]}\n") }

// jsonCase is one case.
func jsonCase(b *bytes.Buffer, f *findings, r *checked) {
	if f.cases > 0 {
		b.WriteByte(',')
	}
	b.WriteString(`{"name":`)
	jsonString(b, caseName(r))
	b.WriteString(`,"expr":`)
	jsonString(b, r.Expr)
	if r.Err != nil {
		p := reportOf(r.Err)
		b.WriteString(`,"error":`)
		b.Write(output.AppendError(nil, p.code, p.kind, p.msg, p.line, p.col, p.hint))
		b.WriteByte('}')
		return
	}
	var heads []string
	for _, against := range r.sides() {
		head, _ := r.side(against)
		heads = append(heads, head)
	}
	b.WriteString(`,"sides":`)
	jsonString(b, strings.Join(heads, "; "))
	b.WriteString(`,"verdict":`)
	jsonString(b, string(r.verdict()))
	b.WriteString(`,"results":[`)
	jsonList(b, len(r.List), func(i int) { jsonComparison(b, &r.List[i]) })
	b.WriteString("]}")
}

// jsonComparison is one comparison of a case.
func jsonComparison(b *bytes.Buffer, c *comparison) {
	b.WriteString(`{"what":`)
	jsonString(b, c.What)
	b.WriteString(`,"against":`)
	jsonString(b, c.Against)
	for _, f := range []struct {
		key string
		x   float64
	}{{"tape", c.Tape}, {"other", c.Other}, {"error", c.Err}, {"difference", c.diff()}, {"allowed", c.Tol}} {
		fmt.Fprintf(b, `,"%s":`, f.key)
		b.Write(output.AppendJSONNumber(nil, f.x, tensor.Float64))
	}
	b.WriteString(`,"verdict":`)
	jsonString(b, string(c.Verdict))
	if c.Why != "" {
		b.WriteString(`,"why":`)
		jsonString(b, c.Why)
	}
	b.WriteByte('}')
}

// tapHead is for the Test Anything Protocol.
func tapHead(b *bytes.Buffer, f *findings) { fmt.Fprintf(b, "TAP version 14\n1..%d\n", f.cases) }

// tapCase is one test.
func tapCase(b *bytes.Buffer, f *findings, r *checked) {
	word := "ok"
	if f.fault(r) {
		word = "not ok"
	}
	fmt.Fprintf(b, "%s %d - %s\n", word, f.cases+1, strings.NewReplacer("\n", "; ", "#", `\#`, `\`, `\\`).Replace(caseName(r)))
	if r.Err != nil {
		fmt.Fprintf(b, "  # %s\n", strings.ReplaceAll(reportOf(r.Err).text, "\n", "\n  # "))
	}
	for _, c := range r.bad() {
		fmt.Fprintf(b, "  # %s: %s\n", c.Verdict, explainBad(&c))
	}
}

// junitHead is XML as JUnit writes it.
func junitHead(b *bytes.Buffer, f *findings) {
	fmt.Fprintf(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"nabla check\" tests=\"%d\" failures=\"%d\" errors=\"%d\">\n", f.cases, f.failed-f.errs, f.errs)
}

func junitEnd(b *bytes.Buffer, _ *findings) { b.WriteString("</testsuite>\n") }

// junitCase is one test.
func junitCase(b *bytes.Buffer, f *findings, r *checked) {
	fmt.Fprintf(b, "  <testcase classname=\"nabla check\" name=\"%s\" time=\"%.6f\">", output.XMLText(caseName(r)), r.Took.Seconds())
	switch {
	case r.Err != nil:
		p := reportOf(r.Err)
		fmt.Fprintf(b, "<error message=\"%s\">%s</error>", output.XMLText(p.msg), output.XMLText(p.text))
	case f.fault(r):
		var text []string
		for _, c := range r.bad() {
			text = append(text, string(c.Verdict)+": "+explainBad(&c))
		}
		fmt.Fprintf(b, "<failure message=\"%s\">%s</failure>", output.XMLText(text[0]), output.XMLText(strings.Join(text, "\n")))
	}
	b.WriteString("</testcase>\n")
}

// githubCase is one annotation for a case that fails: GitHub shows ten.
func githubCase(b *bytes.Buffer, f *findings, r *checked) {
	if !f.fault(r) {
		return
	}
	escape := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	place := ""
	if len(f.Args) == 1 && strings.HasSuffix(f.Args[0], ".json") {
		place = "file=" + property.Replace(f.Args[0]) + ","
		if r.Line > 0 {
			place += "line=" + strconv.Itoa(r.Line) + ","
		}
	}
	var text []string
	if r.Err != nil {
		text = append(text, reportOf(r.Err).text)
	}
	for _, c := range r.bad() {
		text = append(text, explainBad(&c))
	}
	fmt.Fprintf(b, "::error %stitle=nabla check %s::%s\n", place, property.Replace(caseName(r)), escape.Replace(strings.Join(text, "\n")))
}

// githubSum says how many cases hold.
func githubSum(b *bytes.Buffer, f *findings) {
	fmt.Fprintf(b, "%d of %d cases hold\n", f.cases-f.failed, f.cases)
}

// caseName is a name for reports that need one.
func caseName(r *checked) string {
	if r.Name != "" {
		return r.Name
	}
	return r.Expr
}

// explainBad says in one line what is wrong with a comparison.
func explainBad(c *comparison) string {
	text := c.What + ": "
	if !math.IsNaN(c.Tape) || !math.IsNaN(c.Other) {
		text += fmt.Sprintf("tape %s, %s %s, difference %s, allowed %s", number(c.Tape, 15), c.Against, number(c.Other, 15), size(c.diff()), size(c.Tol))
	}
	if c.Why != "" {
		text = strings.TrimSuffix(text, " ") + " (" + c.Why + ")"
	}
	return text
}

// bad are the comparisons to show that are not ok.
func (r *checked) bad() (list []comparison) {
	for _, group := range sources(r.List) {
		for _, c := range shown(group, false) {
			if c.Verdict != ok {
				list = append(list, c)
			}
		}
	}
	return list
}
