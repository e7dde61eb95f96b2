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

// writeReport writes the report that is asked for.
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

// fails reports whether a verdict makes a check fail, as --strict or its absence has it.
func (o *checkOptions) fails(v verdict) bool { return v == mismatch || o.Strict && v != ok }

// failed reports whether a case fails.
func (o *checkOptions) failed(r *checked) bool { return r.Err != nil || o.fails(r.verdict()) }

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

// textReport is for people: a table for each case, and how many comparisons hold.
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
		if o.Quiet && !o.failed(r) {
			continue
		}
		if i > 0 && b.Len() > 0 {
			b.WriteByte('\n')
		}
		textCase(b, o, r)
	}
	if sum := o.summary(counts, failures, len(all)); sum != "" {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(folded(sum, 0, width(o.out)) + "\n")
	}
}

// summary is how many comparisons hold; "" where all do and nobody wants to know.
func (o *checkOptions) summary(counts map[verdict]int, failures, cases int) string {
	total := 0
	for _, n := range counts {
		total += n
	}
	head := "ok"
	if failures > 0 {
		head = "NOT ok"
	}
	var parts []string
	for _, v := range []verdict{mismatch, kink, inconclusive} {
		if counts[v] > 0 {
			if o.fails(v) {
				head = "NOT ok"
			}
			parts = append(parts, fmt.Sprintf("%d %s", counts[v], v))
		}
	}
	if failures > 0 {
		parts = append(parts, fmt.Sprintf("%d could not be run", failures))
	}
	if o.Quiet && len(parts) == 0 {
		return ""
	}
	sum := fmt.Sprintf("%s: %d of %d comparisons hold", head, counts[ok], total)
	if cases > 1 {
		sum += fmt.Sprintf(" in %d cases", cases)
	}
	if len(parts) > 0 {
		sum += ", " + strings.Join(parts, ", ")
	}
	return sum
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
