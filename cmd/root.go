package cmd

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nabla/expr"
)

// A command is one row of the table: help, completion, dispatch and did-you-mean are
// views of it.
type command struct {
	name    string
	aliases []string
	args    string
	doc     string
	group   string
	new     func(s streams, c *command) *cobra.Command
	long    string // more about it, for its help
	example string
}

// commands are all rows: derivatives and tools.
var commands []*command

var tools = []*command{
	{name: "check", args: "EXPR|CASES.json", doc: "does the derivative hold? against a referee, or a claim", group: "tools", new: newCheck, long: checkLong, example: checkExample},
	{name: "explain", args: "EXPR", doc: "the tape with values; why a gradient is none, zero or NaN", group: "tools", new: newExplain, long: explainLong, example: explainExample},
	{name: "diff", args: "A B", doc: "two result files: the worst first, what it looks like", group: "tools", new: newDiff, long: diffLong, example: diffExample},
	{name: "plot", args: "EXPR", doc: "y and dy/dx over a range; a matrix as colours", group: "tools", new: newPlot, long: plotLong, example: plotExample},
	{name: "ops", args: "[NAME]", doc: "every operation: signature, derivative, kinks", group: "tools", new: newOps, long: opsLong, example: opsExample},
	{name: "version", doc: "which nabla this is", group: "about", new: newVersion},
	{name: "completion", args: "bash|zsh|fish|powershell", doc: "completion for a shell", group: "about", new: newCompletion, long: completionLong},
	{name: "help", args: "[WORD]", doc: "a command, a flag, an operation or a topic", group: "about", new: newHelp},
}

// Completion and help look at the table, so it cannot be its own initialiser.
func init() { commands = slices.Concat(derivatives, tools) }

// find is the command that a word names.
func find(word string) *command {
	for _, c := range commands {
		if c.name == word || slices.Contains(c.aliases, word) {
			return c
		}
	}
	return nil
}

// nearCommand is the command that a word misspells, or "".
func nearCommand(word string) string {
	other := map[string]string{"value": "eval", "derivative": "grad", "derive": "grad", "differentiate": "grad", "d": "grad",
		"draw": "plot", "graph": "plot", "test": "check", "functions": "ops"}
	if c := other[word]; c != "" {
		return c
	}
	var names []string
	for _, c := range commands {
		names = append(append(names, c.name), c.aliases...)
		if len(c.name) > 2 && strings.HasPrefix(word, c.name) {
			return c.name // gradient, evaluate
		}
	}
	return expr.Nearest(word, names)
}

// commandsWith are the commands that have a flag.
func commandsWith(flag string) (names []string) {
	for _, c := range commands {
		if c.new(streams{}, c).Flags().Lookup(flag) != nil {
			names = append(names, c.name)
		}
	}
	return names
}

// onlyOnce are flags that ask for one thing, so that a second value would silently take what the
// first one asks for. Of settings, such as --threads, the last is meant: it stands behind those of an alias.
var onlyOnce = []string{"--out", "--expect", "--show", "--op", "--order"}

// execute runs a command line. Only the command that is asked for is built: a command
// line of fifty flags costs more than most derivatives.
func execute(args []string, s streams, r *reporter) error {
	r.json.Store(wantsJSON(args))
	if len(args) > 0 && strings.HasPrefix(args[0], "__complete") {
		return complete(args, s)
	}
	row, c, args, named := choose(args, s)
	if row.name == "help" && len(args) == 1 && len(args[0]) > 1 && args[0][0] == '-' && !strings.HasPrefix("--help", args[0]) && args[0] != "-h" {
		return runHelp(s.out, args) // of a flag
	}
	flags, words, err := scan(args, c.Flags())
	if err != nil {
		return err
	}
	if err := noFlag(row, args, c.Flags()); err != nil {
		return err
	}
	if len(flags) > 0 && slices.Contains(flags, "--help") || slices.Contains(flags, "-h") {
		if !named {
			return writeOverview(s.out)
		}
		return writeHelp(s.out, row, c)
	}
	if !named && len(flags)+len(words) == 0 {
		writeOverview(s.err)
		return &failure{code: exitUsage}
	}
	if !named && len(words) > 0 {
		if err := mistyped(words, flags); err != nil {
			return err
		}
	}
	if row.args == "" && len(words) > 0 {
		return usage("", "%s takes no argument, and there is %s", row.name, quoted(words[0]))
	}
	asked := map[string]string{}
	for _, f := range flags {
		name, value, given := strings.Cut(f, "=")
		if given && strings.Trim(value, ", ") == "" && !slices.Contains([]string{"--at", "--const", "--with", "--expr"}, name) {
			return usage("is a variable of the shell empty?", "%s has an empty value", name)
		}
		if !slices.Contains(onlyOnce, name) {
			continue
		}
		if first, twice := asked[name]; twice && first != value {
			return usage("leave one of them out", "%s is given twice: %s and %s", name, first, value)
		}
		asked[name] = value
	}
	// Cobra would add commands for completion and look for one among them first.
	if err := c.Flags().Parse(flags); err != nil {
		return flagProblem(err)
	}
	if help, _ := c.Flags().GetBool("help"); help { // --help=true
		return writeHelp(s.out, row, c)
	}
	return c.RunE(c, words)
}

// choose finds the command, and builds it: the first word that is no flag, wherever it
// stands, or grad.
func choose(args []string, s streams) (row *command, c *cobra.Command, rest []string, named bool) {
	at := -1
	switch {
	case len(args) == 0:
	case find(args[0]) != nil: // as nearly always
		at = 0
	case args[0] == "--version":
		row = find("version")
		return row, row.new(s, row), args[1:], true
	}
	grad := find("grad")
	if at < 0 {
		c = grad.new(s, grad)
		at = firstWord(args, c.Flags())
	}
	if at >= 0 {
		if row := find(args[at]); row != nil {
			return row, row.new(s, row), slices.Delete(slices.Clone(args), at, at+1), true
		}
	}
	return grad, c, args, false
}

// firstWord is where the first word stands that is no flag and no flag's value, or -1.
func firstWord(args []string, known *pflag.FlagSet) int {
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		switch _, _, f := classify(args[i], known); f {
		case formNext:
			i++
		case formWord:
			return i
		}
	}
	return -1
}

// mistyped reports a command that is misspelt: gard x^2. A word alone may be an expression
// too, if something gives it a value.
func mistyped(words, flags []string) error {
	word := words[0]
	switch {
	case len(words) == 1 && (word == "-?" || word == "/?"):
		return usage("write nabla --help", "unknown flag %s", word)
	case len(words) == 1 && word == "-V" && !hasData(flags):
		return usage("write nabla --version", "unknown flag -V")
	}
	if word == "" || strings.Trim(strings.ToLower(word), "abcdefghijklmnopqrstuvwxyz-") != "" || word[0] == '-' {
		return nil
	}
	near := nearCommand(word)
	switch {
	case len(words) > 1 && near != "", len(words) == 1 && near != "" && !hasData(flags):
		return usage("", "unknown command %s: did you mean %s?", word, near)
	case len(words) > 1:
		return usage("nabla help lists the commands; an expression is one word: quote it", "unknown command %s", word)
	}
	return nil
}

func hasData(flags []string) bool {
	return slices.ContainsFunc(flags, func(f string) bool {
		return strings.HasPrefix(f, "--at=") || strings.HasPrefix(f, "--in=") || strings.HasPrefix(f, "--const=")
	})
}

// wantsJSON reports whether errors are wanted as JSON too. It is asked before the flags
// are understood, because they may be the error.
func wantsJSON(args []string) bool {
	for i, a := range args {
		switch a {
		case "-f", "--format", "--report":
			return i+1 < len(args) && strings.HasSuffix(args[i+1], "json")
		case "-fjson", "-fndjson", "--format=json", "--format=ndjson", "-f=json", "--report=json":
			return true
		case "--":
			return false
		}
	}
	return false
}

// flagProblem is what is wrong with the value of a flag, in our words instead of pflag's.
func flagProblem(err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return usage("", "%s", err.Error())
	}
	f := bad.GetFlag()
	wants := map[string]string{
		"int": "a whole number", "uint64": "a whole number, not negative", "float64": "a number",
		"duration": "a duration such as 500ms, 10s or 2m", "bool": "true or false",
	}[f.Value.Type()]
	hint := ""
	if _, err := strconv.ParseFloat(bad.GetValue(), 64); err == nil && f.Value.Type() == "duration" {
		hint = "write " + bad.GetValue() + "s"
	}
	if errors.Is(err, strconv.ErrRange) {
		switch {
		case f.Value.Type() == "uint64":
			wants = fmt.Sprintf("too large, %d at most", uint64(math.MaxUint64))
		case strings.HasPrefix(bad.GetValue(), "-"):
			wants = "too small"
		default:
			wants = "too large"
		}
	}
	return usage(hint, "--%s %s: it is %s", f.Name, bad.GetValue(), wants)
}

// base makes a cobra command of a row.
func base(row *command, run func(args []string) error) *cobra.Command {
	c := &cobra.Command{
		Short: row.doc, Aliases: row.aliases,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error { return run(args) },
	}
	c.Flags().SortFlags = false
	c.Flags().BoolP("help", "h", false, "this help")
	return c
}

// A group is a heading of the flags in a command's help.
const (
	groupInput  = "Input"
	groupEngine = "Engine"
	groupOutput = "Output"
)

// under puts the flags that bind adds under a heading.
func under(f *pflag.FlagSet, group string, bind func(*pflag.FlagSet)) {
	bind(f)
	heading := map[string][]string{"group": {group}}
	f.VisitAll(func(flag *pflag.Flag) {
		if flag.Annotations == nil && flag.Name != "help" {
			flag.Annotations = heading
		}
	})
}

// usageOf is what a flag's value is called, which stands in back quotes at the start of
// its usage, and what the flag is for.
func usageOf(f *pflag.Flag) (value, doc string) {
	if value, doc, ok := strings.Cut(strings.TrimPrefix(f.Usage, "`"), "` "); ok {
		return value, doc
	}
	return "", f.Usage
}

// texts is the value of a flag that may be given several times. Pflag's own would make a
// CSV writer for each flag, to print a default that there is not.
type texts []string

func (t *texts) Set(s string) error { *t = append(*t, s); return nil }
func (t *texts) String() string     { return "" }
func (*texts) Type() string         { return "stringArray" } // completion offers such a flag again

// manyVar adds a flag that may be given several times.
func manyVar(f *pflag.FlagSet, p *[]string, name, short, usage string) {
	f.VarP((*texts)(p), name, short, usage)
}
