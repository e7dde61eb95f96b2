package cmd

import (
	"embed"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nabla/expr"
)

// The topics of help are texts of 80 columns.
//
//go:embed help/*.txt
var helpTexts embed.FS

// topics are what help explains beside the commands.
var topics = []struct{ name, doc string }{
	{"syntax", "the language of expressions and programs"},
	{"input", "values, files, documents, sources"},
	{"output", "formats, JSON, tables, conditions"},
	{"quoting", "shells, and how to get an expression past them"},
	{"exit-codes", "what the exit code says"},
}

// topicNames are those of topics: a constant, since tables that are computed cost every start.
const topicNames = "syntax, input, output, quoting, exit-codes"

func newHelp(s streams, row *command) *cobra.Command {
	return base(row, func(args []string) error { return runHelp(s.out, args) })
}

func runHelp(w io.Writer, args []string) error {
	if len(args) == 0 {
		return writeOverview(w)
	}
	word := args[0]
	if len(args) > 1 {
		return usage("write nabla help "+word, "help takes one word, and there is %s, too", quoted(args[1]))
	}
	if c := find(word); c != nil {
		return writeHelp(w, c, c.new(streams{}, c))
	}
	var known []string
	for _, t := range topics {
		if t.name == word {
			text, err := helpTexts.ReadFile("help/" + word + ".txt")
			if err != nil {
				return err
			}
			_, err = w.Write(text)
			return err
		}
		known = append(known, t.name)
	}
	for _, c := range commands {
		known = append(known, c.name)
	}
	hint := expr.DidYouMean(word, known)
	if hint == "" {
		hint = "there is help for every command, and for " + topicNames
	}
	return usage(hint, "no help for %s", word)
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
	b.WriteString("\nnabla help COMMAND has the rest; nabla help syntax the language.\n")
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
