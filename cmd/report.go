package cmd

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"nabla/output"
	"nabla/tape/tensor"
)

// reports are the forms in which check says what it found.
var reports = []struct {
	name  string
	write func(b *bytes.Buffer, o *checkOptions, all []checked)
}{
	{"text", textReport},
	{"json", jsonReport},
	{"tap", tapReport},
	{"junit", junitReport},
	{"github", githubReport},
}

func reportNames() []string { return []string{"text", "json", "tap", "junit", "github"} }

func writeReport(o *checkOptions, all []checked) error {
	var b bytes.Buffer
	for _, r := range reports {
		if r.name == o.Report {
			r.write(&b, o, all)
		}
	}
	_, err := o.out.Write(b.Bytes())
	return err
}

// verdict is the worst of a case.
func (r *checked) verdict() verdict {
	order := []verdict{mismatch, inconclusive, kink}
	for _, v := range order {
		if slices.ContainsFunc(r.List, func(c comparison) bool { return c.Verdict == v }) {
			return v
		}
	}
	return ok
}

// failed reports whether a case fails as --strict or its absence has it.
func (r *checked) failed(strict bool) bool {
	return r.Err != nil || r.verdict() == mismatch || strict && r.verdict() != ok
}

// badness sorts comparisons worst first.
func badness(c *comparison) float64 {
	d := c.diff() / c.Tol
	if math.IsNaN(d) {
		d = math.MaxFloat64
	}
	switch c.Verdict {
	case mismatch:
		return d * 1e6
	case ok:
		return min(d, 1) - 2
	}
	return 1e5
}

// shown are the comparisons of one source that a report shows: all that are not ok, up to
// a few, or the worst one.
func shown(list []comparison, all bool) []comparison {
	if all {
		return list
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b comparison) int {
		switch x, y := badness(&a), badness(&b); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	n := 0
	for n < len(list) && n < 10 && list[n].Verdict != ok {
		n++
	}
	return list[:max(n, 1)]
}

// sources groups comparisons.
func sources(list []comparison) (groups [][]comparison) {
	at := map[string]int{}
	for _, c := range list {
		key := c.Against + " " + c.Source
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}

const sidesReferee = "tape against govaluate + gonum differences (Ridders)"

// sides are what the tape was compared with, in the order of appearance.
func (r *checked) sides() (all []string) {
	for _, c := range r.List {
		if !slices.Contains(all, c.Against) {
			all = append(all, c.Against)
		}
	}
	if len(all) == 0 {
		return []string{"referee"}
	}
	return all
}

// side is the head of the table of the comparisons with a side, and of its column.
func (r *checked) side(against string) (head, column string) {
	switch {
	case against == "claim":
		return "tape against the claim", against
	case against == "expected":
		return "tape against what is expected", against
	case r.Own != "":
		return "tape against gonum differences of its own values: " + r.Own, "differences"
	}
	return sidesReferee, "govaluate"
}

func textReport(b *bytes.Buffer, o *checkOptions, all []checked) {
	counts := map[verdict]int{}
	failures := 0
	for i := range all {
		r := &all[i]
		if r.Err != nil {
			failures++
		}
		for _, c := range r.List {
			counts[c.Verdict]++
		}
		if o.Quiet && !r.failed(o.Strict) {
			continue
		}
		if i > 0 && b.Len() > 0 {
			b.WriteByte('\n')
		}
		textCase(b, o, r)
	}
	total := 0
	for _, n := range counts {
		total += n
	}
	var parts []string
	for _, v := range []verdict{mismatch, kink, inconclusive} {
		if counts[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[v], v))
		}
	}
	if failures > 0 {
		parts = append(parts, fmt.Sprintf("%d could not be run", failures))
	}
	if o.Quiet && len(parts) == 0 {
		return
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	head := "ok"
	if counts[mismatch] > 0 || failures > 0 {
		head = "NOT ok"
	}
	sum := fmt.Sprintf("%s: %d of %d comparisons hold", head, counts[ok], total)
	if len(all) > 1 {
		sum += fmt.Sprintf(" in %d cases", len(all))
	}
	if len(parts) > 0 {
		sum += ", " + strings.Join(parts, ", ")
	}
	b.WriteString(folded(sum, 0, width(o.out)) + "\n")
}

// textCase is one case as a table of at most 80 columns.
func textCase(b *bytes.Buffer, o *checkOptions, r *checked) {
	room := width(o.out)
	if r.Name != "" {
		b.WriteString(strings.Join(strings.Fields(r.Name), " ") + "\n")
	}
	if r.Err != nil {
		b.WriteString("  " + strings.ReplaceAll(reportOf(r.Err).text, "\n", "\n  ") + "\n")
		return
	}
	for _, against := range r.sides() {
		head, column := r.side(against)
		b.WriteString(folded(head, 0, room) + "\n")
		comparisonTable(b, slices.DeleteFunc(slices.Clone(r.List), func(c comparison) bool { return c.Against != against }), column, o)
	}
	for _, n := range r.Notes {
		b.WriteString("  " + folded("note: "+n, 2, room) + "\n")
	}
	if o.Verbose && r.Tokens != "" {
		b.WriteString("  govaluate was given\n")
		for line := range strings.Lines(r.Tokens) {
			b.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
		}
	}
}

// comparisonTable is comparisons with one side, a row each: those that are shown.
func comparisonTable(b *bytes.Buffer, comparisons []comparison, other string, o *checkOptions) {
	rows, says := [][]string{{"", "tape", other, "difference", "allowed"}}, [][2]string{{}} // beside each row its verdict, and why
	room, most := cmp.Or(width(o.out), 80), 9
	if room < 50 {
		most = 7
	}
	for _, group := range sources(comparisons) {
		list := shown(group, o.Verbose)
		for _, c := range list {
			digits := most
			if c.Verdict == mismatch && c.diff() < 1e-6*math.Abs(c.Tape) {
				digits = 15
			}
			cells := []string{c.What, number(c.Tape, digits), number(c.Other, digits), size(c.diff()), size(c.Tol)}
			if c.Tape == c.Other {
				cells[3] = "0"
			}
			if math.IsNaN(c.Tape) && math.IsNaN(c.Other) && c.Verdict != ok || c.Why == "none, both" {
				cells = []string{c.What, "", "", "", ""}
			}
			rows, says = append(rows, cells), append(says, [2]string{string(c.Verdict), c.Why})
		}
		if rest := len(group) - len(list); rest > 0 {
			bad := 0
			for _, c := range group {
				if c.Verdict != ok {
					bad++
				}
			}
			why := fmt.Sprintf("the worst of %d", len(group))
			if bad > 0 {
				why = fmt.Sprintf("%d of %d do not hold", bad, len(group))
			}
			last := &says[len(says)-1][1]
			*last = strings.TrimPrefix(*last+", "+why, ", ")
		}
	}
	beside := 0
	for _, s := range says {
		beside = max(beside, 2+utf8.RuneCountInString(s[0]))
	}
	for i, line := range aligned(fitting(rows, room, beside)) {
		verdict, why := says[i][0], says[i][1]
		line = strings.TrimRight(line+"  "+verdict, " ")
		if why != "" {
			if utf8.RuneCountInString(line)+2+utf8.RuneCountInString(why) > room {
				line += "\n     "
				why = folded(why, 5, room)
			} else {
				line += ": "
			}
			line += why
		}
		b.WriteString(line + "\n")
	}
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

func jsonReport(b *bytes.Buffer, o *checkOptions, all []checked) {
	str := func(s string) { b.Write(output.AppendString(nil, s)) }
	num := func(x float64) {
		switch {
		case math.IsNaN(x):
			b.WriteString(`"NaN"`)
		case math.IsInf(x, 1):
			b.WriteString(`"Infinity"`)
		case math.IsInf(x, -1):
			b.WriteString(`"-Infinity"`)
		default:
			b.Write(output.AppendNumber(nil, x, tensor.Float64))
		}
	}
	n, bad := 0, 0
	good := true
	for i := range all {
		n += len(all[i].List)
		for _, c := range all[i].List {
			if c.Verdict == mismatch {
				bad++
			}
		}
		good = good && !all[i].failed(o.Strict)
	}
	fmt.Fprintf(b, `{"op":"check","ok":%v,"checked":%d,"failed":%d,"cases":[`, good, n, bad)
	for i := range all {
		r := &all[i]
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"name":`)
		str(caseName(r))
		b.WriteString(`,"expr":`)
		str(r.Expr)
		if r.Err != nil {
			p := reportOf(r.Err)
			b.WriteString(`,"error":`)
			b.Write(output.AppendError(nil, p.code, p.kind, p.msg, p.line, p.col, p.hint))
			b.WriteByte('}')
			continue
		}
		b.WriteString(`,"sides":`)
		var heads []string
		for _, against := range r.sides() {
			head, _ := r.side(against)
			heads = append(heads, head)
		}
		str(strings.Join(heads, "; "))
		b.WriteString(`,"verdict":`)
		str(string(r.verdict()))
		b.WriteString(`,"results":[`)
		for j, c := range r.List {
			if j > 0 {
				b.WriteByte(',')
			}
			b.WriteString(`{"what":`)
			str(c.What)
			b.WriteString(`,"against":`)
			str(c.Against)
			for _, f := range []struct {
				key string
				x   float64
			}{{"tape", c.Tape}, {"other", c.Other}, {"error", c.Err}, {"difference", c.diff()}, {"allowed", c.Tol}} {
				fmt.Fprintf(b, `,"%s":`, f.key)
				num(f.x)
			}
			b.WriteString(`,"verdict":`)
			str(string(c.Verdict))
			if c.Why != "" {
				b.WriteString(`,"why":`)
				str(c.Why)
			}
			b.WriteByte('}')
		}
		b.WriteString("]}")
	}
	b.WriteString("]}\n")
}

func tapReport(b *bytes.Buffer, o *checkOptions, all []checked) {
	fmt.Fprintf(b, "TAP version 14\n1..%d\n", len(all))
	for i := range all {
		r := &all[i]
		word := "ok"
		if r.failed(o.Strict) {
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

func junitReport(b *bytes.Buffer, o *checkOptions, all []checked) {
	failures, errs := 0, 0
	for i := range all {
		switch {
		case all[i].Err != nil:
			errs++
		case all[i].failed(o.Strict):
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
		case r.failed(o.Strict):
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
		if !r.failed(o.Strict) {
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
