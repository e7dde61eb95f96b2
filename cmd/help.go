package cmd

import (
	"cmp"
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nabla/expr"
)

// The topics of help are texts of 80 columns.
//
//go:embed help/*.txt
var helpTexts embed.FS

// topics are what help explains beside the commands, and by what words else it is asked for.
var topics = []struct{ name, also string }{
	{"syntax", "language lang grammar program programs expression expressions operator operators statement statements keyword keywords loop loops " +
		"constant constants pi tau inf infinity nan none newaxis function lambda tuple tuples record records comment comments index indexing slice slices slicing " +
		"broadcast broadcasting derivative derivatives gradients custom-gradients partial numpy jax torch pytorch"},
	{"input", "inputs value values data file files document documents stdin csv variable variables source sources"},
	{"output", "outputs stdout stderr result results formats json npy npz mtx conditions condition warning warnings"},
	{"quoting", "quotes shell shells bash zsh escaping"},
	{"exit-codes", "exit code codes error errors status"},
	{"tensorflow", "tf gradienttape tape tapes keras"},
}

// topicNames are those of topics: a constant, since tables that are computed cost every start.
const topicNames = "syntax, input, output, quoting, exit-codes, tensorflow"

func newHelp(s streams, row *command) *cobra.Command {
	return base(row, func(args []string) error { return runHelp(s.out, args) })
}

func runHelp(w io.Writer, args []string) error {
	if len(args) == 0 {
		return writeOverview(w)
	}
	word := strings.Join(args, "-")
	switch word {
	case "functions", "operation", "operations", "kink", "kinks", "tie", "ties", "subgradient", "subgradients":
		word = "ops"
	case "ci", "test", "tests", "testing":
		word = "check"
	case "batch", "batches", "rows":
		word = "batch-jacobian"
	case "memory":
		word = "max-memory"
	case "timeouts":
		word = "timeout"
	case "flag", "flags", "option", "options", "command", "commands", "topic", "topics", "usage", "help":
		return writeOverview(w)
	}
	if c := find(word); c != nil {
		return writeHelp(w, c, c.new(streams{}, c))
	}
	if topic := topicOf(word); topic != "" {
		return writeTopic(w, topic)
	}
	if name := strings.TrimLeft(word, "-"); strings.Contains(name, "-") && writeFlag(w, name) { // --max-memory is max - memory, too
		return nil
	}
	if text := strings.Join(args, " "); find(args[0]) == nil && isFormula(text) {
		return usage("write nabla "+quoted(text)+" --at x=3 for its derivative; nabla help syntax explains the language", "no help for %s", text)
	}
	everything := "there is help for every command, flag and operation, and for " + topicNames
	if len(args) > 1 {
		hint := "write nabla help " + args[0]
		if find(args[0]) == nil && !isOp(args[0]) && !strings.HasPrefix(args[0], "-") {
			for _, a := range args { // a while loop, the custom gradient, npz files
				topic := topicOf(a)
				if expr.Keyword(a) {
					topic = "syntax"
				}
				if topic != "" {
					return writeTopic(w, topic)
				}
			}
			hint = everything
		}
		return usage(hint, "help takes one word, and there is %s, too", quoted(args[1]))
	}
	switch {
	case isOp(word):
		return runOps(&opsOptions{streams: streams{out: w}, Args: args, Format: "table"})
	case expr.Keyword(word), strings.Trim(word, "+-*/^@%<>=!&|.:,;[](){}?") == "": // an operator
		return writeTopic(w, "syntax")
	case writeFlag(w, strings.TrimLeft(word, "-")):
		return nil
	}
	var known []string
	for _, t := range topics {
		known = append(append(known, t.name), strings.Fields(t.also)...)
	}
	for _, c := range commands {
		known = append(known, c.name)
	}
	hint := cmp.Or(expr.Foreign(word), expr.DidYouMean(word, append(known, callable()...)), everything)
	return usage(hint, "no help for %s", word)
}

// topicOf is the topic that a word asks for, or "".
func topicOf(word string) string {
	word = strings.ToLower(word)
	for _, t := range topics {
		if t.name == word || slices.Contains(strings.Fields(t.also), word) {
			return t.name
		}
	}
	return ""
}

// isFormula reports whether a word is a program, and more than a name or a number.
func isFormula(text string) bool {
	_, err := expr.Parse("", text)
	return err == nil && strings.ContainsAny(strings.TrimLeft(text, "-"), "^*/+-()@= ")
}

// writeTopic is the text of a topic.
func writeTopic(w io.Writer, name string) error {
	text, err := helpTexts.ReadFile("help/" + name + ".txt")
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// writeFlag is the help of a flag, if there is one of this name, and the commands that have it; of
// each of several flags of the name.
func writeFlag(w io.Writer, name string) bool {
	var helps []string
	of := map[string][]string{}
	for _, c := range commands {
		flags := c.new(streams{}, c).Flags()
		f := flags.Lookup(name)
		if f == nil && len(name) == 1 {
			f = flags.ShorthandLookup(name)
		}
		if f == nil {
			continue
		}
		help := flagHelp(f)
		if of[help] == nil {
			helps = append(helps, help)
		}
		of[help] = append(of[help], c.name)
	}
	for i, help := range helps {
		if i > 0 {
			io.WriteString(w, "\n")
		}
		io.WriteString(w, help+"\n"+wrapped("A flag of nabla "+strings.Join(of[help], ", ")+".", 0)+"\n")
	}
	return len(helps) > 0
}

// writeOverview is nabla help.
func writeOverview(w io.Writer) error {
	var b strings.Builder
	b.WriteString("nabla differentiates expressions, exactly.\n\n")
	b.WriteString("  $ nabla 'x^2 * sin(x)' --at x=3\n")
	b.WriteString("  $ nabla hessian 'sum(x^4)' --at x=[1,2,3] -f json\n\n")
	b.WriteString("usage: nabla [COMMAND] EXPR [FLAGS]      without a command: grad\n")
	group := ""
	for _, c := range commands {
		if c.group != group {
			b.WriteString("\n")
			group = c.group
		}
		fmt.Fprintf(&b, "  %-15s %s\n", c.name, c.doc)
	}
	b.WriteString("\nThe flags that matter most\n")
	b.WriteString("  -a, --at NAME=VALUE   a variable, such as x=3 or w=@w.npy\n")
	b.WriteString("  -i, --in FILE         values from a JSON, NPZ or CSV file; - is stdin\n")
	b.WriteString("  -w, --wrt NAMES       what to differentiate by\n")
	b.WriteString("  -f, --format FORMAT   " + strings.Join(formatNames(), ", ") + "\n")
	b.WriteString("  -o, --out FILE        write a file\n")
	b.WriteString("\nnabla COMMAND --help lists all flags of a command.\n")
	b.WriteString("nabla help WORD explains a command, a flag or an operation, and\n" + topicNames + ".\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// writeHelp is the help of one command.
func writeHelp(w io.Writer, row *command, c *cobra.Command) error {
	var b strings.Builder
	name := "nabla " + row.name
	fmt.Fprintf(&b, "%s: %s\n\n", name, row.doc)
	usage := name
	if row.args != "" {
		usage += " " + row.args
	}
	fmt.Fprintf(&b, "usage: %s [FLAGS]\n", usage)
	if len(row.aliases) > 0 {
		fmt.Fprintf(&b, "also:  nabla %s\n", strings.Join(row.aliases, ", nabla "))
	}
	for _, text := range []string{row.long, row.example} {
		if text != "" {
			b.WriteString("\n" + strings.Trim(text, "\n") + "\n")
		}
	}
	var groups []string
	flags := map[string][]*pflag.Flag{}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		group := "Other"
		if g := f.Annotations["group"]; len(g) > 0 {
			group = g[0]
		}
		if flags[group] == nil && group != "Other" {
			groups = append(groups, group)
		}
		flags[group] = append(flags[group], f)
	})
	for _, group := range groups {
		fmt.Fprintf(&b, "\n%s\n", group)
		for _, f := range flags[group] {
			b.WriteString(flagHelp(f))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// flagHelp is a flag in a help, within 80 columns.
func flagHelp(f *pflag.Flag) string {
	const indent = 28
	left := "      --" + f.Name
	if f.Shorthand != "" {
		left = "  -" + f.Shorthand + ", --" + f.Name
	}
	value, doc := usageOf(f)
	if value != "" {
		left += " " + value
	}
	switch f.DefValue {
	case "", "[]", "false", "0", "0s":
	default:
		doc += " (" + f.DefValue + ")"
	}
	gap := strings.Repeat(" ", max(indent-len(left), 0))
	if len(left) > indent-2 {
		gap = "\n" + strings.Repeat(" ", indent)
	}
	return left + gap + wrapped(doc, indent) + "\n"
}
