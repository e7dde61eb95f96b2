package cmd

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"nabla/expr/cells"
)

// A reportForm is a form in which check says what it found: case by case, with what stands in
// front of them and behind them, which may be nil.
type reportForm struct {
	name   string
	before func(b *bytes.Buffer, f *findings)
	each   func(b *bytes.Buffer, f *findings, r *checked)
	behind func(b *bytes.Buffer, f *findings)
}

var reportForms = []reportForm{
	{"text", nil, textCase, textSum},
	{"json", jsonHead, jsonCase, jsonEnd},
	{"tap", tapHead, tapCase, nil},
	{"junit", junitHead, junitCase, junitEnd},
	{"github", nil, githubCase, githubSum},
}

func reportNames() []string { return []string{"text", "json", "tap", "junit", "github"} }

// Findings are what is known of the cases so far: their texts, which wait until the whole is known,
// and what they come to.
type findings struct {
	*checkOptions
	reportForm
	text   spool
	cases  int
	shown  int // cases that have a text
	errs   int // cases that could not be run
	failed int // cases that fail, these among them
	counts map[verdict]int
	code   int // that of a comparison that fails, or else of the first case that could not be run
}

func newFindings(o *checkOptions) *findings {
	f := &findings{checkOptions: o, counts: map[verdict]int{}}
	f.reportForm = reportForms[slices.IndexFunc(reportForms, func(f reportForm) bool { return f.name == o.Report })]
	return f
}

// add adds a case.
func (f *findings) add(c *checked) {
	had := f.text.Len()
	f.each(&f.text.Buffer, f, c)
	if f.text.Len() > had {
		f.shown++
	}
	f.cases++
	for _, c := range c.List {
		f.counts[c.Verdict]++
		if f.fails(c.Verdict) {
			f.code = exitNo
		}
	}
	if c.Err != nil {
		f.errs++
		f.code = cmp.Or(f.code, reportOf(c.Err).code)
	}
	if f.fault(c) {
		f.failed++
	}
	f.text.settle()
}

// compared is how many comparisons there are, and how many of them fail.
func (f *findings) compared() (all, failed int) {
	for v, n := range f.counts {
		all += n
		if f.fails(v) {
			failed += n
		}
	}
	return all, failed
}

// write writes the report. The first Write, though it may be of nothing, sees that no file has changed.
func (f *findings) write() error {
	var before bytes.Buffer
	if f.before != nil {
		f.before(&before, f)
	}
	if f.behind != nil {
		f.behind(&f.text.Buffer, f)
	}
	if _, err := f.out.Write(before.Bytes()); err != nil {
		return err
	}
	return f.text.copyTo(f.out)
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

// fails reports whether a verdict makes a check fail, as --strict or its absence has it.
func (o *checkOptions) fails(v verdict) bool { return v == mismatch || o.Strict && v != ok }

// fault reports whether a case fails.
func (o *checkOptions) fault(r *checked) bool { return r.Err != nil || o.fails(r.verdict()) }

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

// textSum closes a report for people with how many comparisons hold.
func textSum(b *bytes.Buffer, f *findings) {
	if sum := f.summary(); sum != "" {
		if f.shown > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(folded(sum, 0, width(f.out)) + "\n")
	}
}

// summary is how many comparisons hold; "" where all do and nobody wants to know.
func (f *findings) summary() string {
	head := "ok"
	if f.errs > 0 {
		head = "NOT ok"
	}
	var parts []string
	for _, v := range []verdict{mismatch, kink, inconclusive} {
		if n := f.counts[v]; n > 0 {
			if f.fails(v) {
				head = "NOT ok"
			}
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	if f.errs > 0 {
		parts = append(parts, fmt.Sprintf("%d could not be run", f.errs))
	}
	if f.Quiet && len(parts) == 0 {
		return ""
	}
	all, _ := f.compared()
	sum := fmt.Sprintf("%s: %d of %d comparisons hold", head, f.counts[ok], all)
	if f.cases > 1 {
		sum += fmt.Sprintf(" in %d cases", f.cases)
	}
	if len(parts) > 0 {
		sum += ", " + strings.Join(parts, ", ")
	}
	return sum
}

// textCase is one case for people, as a table of at most 80 columns.
func textCase(b *bytes.Buffer, f *findings, r *checked) {
	if f.Quiet && !f.fault(r) {
		return
	}
	if f.shown > 0 {
		b.WriteByte('\n')
	}
	room := width(f.out)
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
		comparisonTable(b, slices.DeleteFunc(slices.Clone(r.List), func(c comparison) bool { return c.Against != against }), column, f.checkOptions)
	}
	for _, n := range r.Notes {
		b.WriteString("  " + folded("note: "+n, 2, room) + "\n")
	}
	if f.Verbose && r.Tokens != "" {
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
			texts := c.cells(most)
			rows, says = append(rows, texts), append(says, [2]string{string(c.Verdict), c.Why})
		}
		if len(list) < len(group) {
			last := &says[len(says)-1][1]
			*last = strings.TrimPrefix(*last+", "+standsFor(group), ", ")
		}
	}
	beside := 0
	for _, s := range says {
		beside = max(beside, 2+cells.Width(s[0]))
	}
	for i, line := range aligned(fitting(rows, room, beside)) {
		verdict, why := says[i][0], says[i][1]
		line = strings.TrimRight(line+"  "+verdict, " ")
		if why != "" {
			if cells.Width(line)+2+cells.Width(why) > room {
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

// cells are what was compared, in so many digits or in as many as a small mismatch takes.
func (c *comparison) cells(digits int) []string {
	if math.IsNaN(c.Tape) && math.IsNaN(c.Other) && c.Verdict != ok || c.Why == "none, both" {
		return []string{c.What, "", "", "", ""}
	}
	if c.Verdict == mismatch && c.diff() < 1e-6*math.Abs(c.Tape) {
		digits = 15
	}
	difference := size(c.diff())
	if c.Tape == c.Other {
		difference = "0"
	}
	return []string{c.What, number(c.Tape, digits), number(c.Other, digits), difference, size(c.Tol)}
}

// standsFor says of which comparisons only the worst are shown.
func standsFor(group []comparison) string {
	bad := 0
	for _, c := range group {
		if c.Verdict != ok {
			bad++
		}
	}
	if bad > 0 {
		return fmt.Sprintf("%d of %d do not hold", bad, len(group))
	}
	return fmt.Sprintf("the worst of %d", len(group))
}
