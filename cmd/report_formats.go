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

// jsonReport writes one object, with an object for each case.
func jsonReport(b *bytes.Buffer, o *checkOptions, all []checked) {
	n, bad := 0, 0
	good := true
	for i := range all {
		n += len(all[i].List)
		for _, c := range all[i].List {
			if o.fails(c.Verdict) {
				bad++
			}
		}
		good = good && !o.failed(&all[i])
	}
	fmt.Fprintf(b, `{"op":"check","ok":%v,"checked":%d,"failed":%d,"cases":[`, good, n, bad)
	jsonList(b, len(all), func(i int) { jsonCase(b, &all[i]) })
	b.WriteString("]}\n")
}

// jsonCase is one case.
func jsonCase(b *bytes.Buffer, r *checked) {
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

// tapReport is for the Test Anything Protocol.
func tapReport(b *bytes.Buffer, o *checkOptions, all []checked) {
	fmt.Fprintf(b, "TAP version 14\n1..%d\n", len(all))
	for i := range all {
		r := &all[i]
		word := "ok"
		if o.failed(r) {
			word = "not ok"
		}
		fmt.Fprintf(b, "%s %d - %s\n", word, i+1, strings.NewReplacer("\n", "; ", "#", `\#`, `\`, `\\`).Replace(caseName(r)))
		if r.Err != nil {
			fmt.Fprintf(b, "  # %s\n", strings.ReplaceAll(reportOf(r.Err).text, "\n", "\n  # "))
		}
		for _, c := range r.bad() {
			fmt.Fprintf(b, "  # %s: %s\n", c.Verdict, explainBad(&c))
		}
	}
}

// junitReport is XML as JUnit writes it.
func junitReport(b *bytes.Buffer, o *checkOptions, all []checked) {
	failures, errs := 0, 0
	for i := range all {
		switch {
		case all[i].Err != nil:
			errs++
		case o.failed(&all[i]):
			failures++
		}
	}
	fmt.Fprintf(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"nabla check\" tests=\"%d\" failures=\"%d\" errors=\"%d\">\n", len(all), failures, errs)
	for i := range all {
		r := &all[i]
		fmt.Fprintf(b, "  <testcase classname=\"nabla check\" name=\"%s\" time=\"%.6f\">", output.XMLText(caseName(r)), r.Took.Seconds())
		switch {
		case r.Err != nil:
			p := reportOf(r.Err)
			fmt.Fprintf(b, "<error message=\"%s\">%s</error>", output.XMLText(p.msg), output.XMLText(p.text))
		case o.failed(r):
			var text []string
			for _, c := range r.bad() {
				text = append(text, string(c.Verdict)+": "+explainBad(&c))
			}
			fmt.Fprintf(b, "<failure message=\"%s\">%s</failure>", output.XMLText(text[0]), output.XMLText(strings.Join(text, "\n")))
		}
		b.WriteString("</testcase>\n")
	}
	b.WriteString("</testsuite>\n")
}

// githubReport prints one annotation a case: GitHub shows ten.
func githubReport(b *bytes.Buffer, o *checkOptions, all []checked) {
	escape := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	file := ""
	if len(o.Args) == 1 && strings.HasSuffix(o.Args[0], ".json") {
		file = "file=" + property.Replace(o.Args[0]) + ","
	}
	bad := 0
	for i := range all {
		r := &all[i]
		if !o.failed(r) {
			continue
		}
		bad++
		var text []string
		if r.Err != nil {
			text = append(text, reportOf(r.Err).text)
		}
		for _, c := range r.bad() {
			text = append(text, explainBad(&c))
		}
		place := file
		if place != "" && r.Line > 0 {
			place += "line=" + strconv.Itoa(r.Line) + ","
		}
		fmt.Fprintf(b, "::error %stitle=nabla check %s::%s\n", place, property.Replace(caseName(r)), escape.Replace(strings.Join(text, "\n")))
	}
	fmt.Fprintf(b, "%d of %d cases hold\n", len(all)-bad, len(all))
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
