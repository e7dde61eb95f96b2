package cmd

import (
	"bytes"
	"cmp"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nabla/expr"
	"nabla/output"
	"nabla/output/plot"
	"nabla/tape"
)

const completionLong = `
  bash        nabla completion bash > /etc/bash_completion.d/nabla
  zsh         nabla completion zsh > "${fpath[1]}/_nabla"
  fish        nabla completion fish > ~/.config/fish/completions/nabla.fish
  powershell  nabla completion powershell | Out-String | Invoke-Expression`

func newCompletion(s streams, row *command) *cobra.Command {
	return base(row, func(args []string) error {
		if len(args) != 1 {
			return usage("nabla completion bash|zsh|fish|powershell", "which shell?")
		}
		root := tree(s)
		switch args[0] {
		case "bash":
			return bashCompletion(root, s.out)
		case "zsh":
			return firstEquals(s.out, root.GenZshCompletion)
		case "fish":
			return firstEquals(s.out, func(w io.Writer) error { return root.GenFishCompletion(w, true) })
		case "powershell":
			return root.GenPowerShellCompletionWithDesc(s.out)
		}
		shells := []string{"bash", "zsh", "fish", "powershell"}
		return usage(cmp.Or(expr.DidYouMean(args[0], shells), "there is one for "+strings.Join(shells, ", ")), "no completion for %s", args[0])
	})
}

// firstEquals writes cobra's script, which takes --at=x= for the flag of --at=x=@FILE.
func firstEquals(w io.Writer, write func(io.Writer) error) error {
	var script bytes.Buffer
	if err := write(&script); err != nil {
		return err
	}
	_, err := io.WriteString(w, strings.ReplaceAll(script.String(), "-.*=", "-[^=]*="))
	return err
}

// bashCompletion writes cobra's script, which takes the words of the line from the package
// bash-completion. Where that is not installed the words stand between spaces.
func bashCompletion(root *cobra.Command, w io.Writer) error {
	var script bytes.Buffer
	if err := root.GenBashCompletionV2(&script, true); err != nil {
		return err
	}
	const taken = `    _get_comp_words_by_ref "$@" cur prev words cword
`
	const or = `    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
    ` + taken + `    else
        local line="${COMP_LINE:0:COMP_POINT}"
        read -ra words <<< "$line"
        [[ "$line" == *" " ]] && words+=("")
        cword=$((${#words[@]} - 1))
        cur="${words[cword]}" prev="${words[cword - 1]}"
        _filedir() { COMPREPLY=(); } # the shell itself knows files
    fi
`
	text := strings.Replace(script.String(), taken, or, 1)
	text = strings.ReplaceAll(text, "_init_completion -n =:", "_init_completion -n =:@") // bash cuts words at @, too
	_, err := io.WriteString(w, text)
	return err
}

// atFile completes the file of NAME=@FILE.
func atFile(_ *cobra.Command, _ []string, typed string) (list []string, then cobra.ShellCompDirective) {
	then = cobra.ShellCompDirectiveNoFileComp
	i := strings.LastIndexByte(typed, '@') + 1
	if i == 0 || strings.ContainsAny(typed[:i], ", ") { // what bash would write with \ before it, and twice
		return nil, then | cobra.ShellCompDirectiveNoSpace
	}
	dir, begin := filepath.Split(typed[i:])
	entries, _ := os.ReadDir(cmp.Or(dir, ".")) // what cannot be read has nothing to offer
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, begin) || name[0] == '.' && begin == "" {
			continue
		}
		if e.IsDir() {
			name += "/"
			then |= cobra.ShellCompDirectiveNoSpace
		}
		list = append(list, typed[:i]+dir+name)
	}
	return list, then
}

// tree is all commands under one root, as only completion needs them.
func tree(s streams) *cobra.Command {
	root := &cobra.Command{Use: "nabla", SilenceErrors: true, SilenceUsage: true}
	root.CompletionOptions.DisableDefaultCmd = true
	arguments := map[string]cobra.CompletionFunc{
		"completion": oneWord("bash", "zsh", "fish", "powershell"),
		"help":       oneWord(helpWords()...),
		"ops":        oneWord(opNames()...),
		"check":      files("json"),
		"diff":       files("json", "npy", "npz", "csv"),
	}
	for _, row := range commands {
		c := row.new(s, row)
		c.Use = row.name
		completeFlags(c)
		c.ValidArgsFunction = cobra.NoFileCompletions
		if f := arguments[row.name]; f != nil {
			c.ValidArgsFunction = f
		}
		root.AddCommand(c)
		if row.name == "help" {
			root.SetHelpCommand(c)
		}
	}
	return root
}

// completeFlags says what may follow the flags of a command.
func completeFlags(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) { // completion shows their usage and marks them
		var value string
		value, f.Usage = usageOf(f)
		f.Annotations = maps.Clone(f.Annotations)
		switch list := strings.Split(value, "|"); {
		case len(list) > 1:
			c.RegisterFlagCompletionFunc(f.Name, oneWord(list...))
		case !strings.Contains(value, "FILE") && !slices.Contains([]string{"at", "const", "with", "op"}, f.Name):
			c.RegisterFlagCompletionFunc(f.Name, cobra.NoFileCompletions)
		}
	})
	if c.Flags().Lookup("in") != nil {
		c.MarkFlagFilename("in", "json", "npz", "csv", "tsv", "ndjson", "jsonl")
		c.MarkFlagFilename("program", "nabla")
	}
	for _, name := range []string{"at", "const", "with"} {
		if c.Flags().Lookup(name) != nil {
			c.RegisterFlagCompletionFunc(name, atFile)
		}
	}
	if c.Flags().Lookup("op") != nil {
		c.RegisterFlagCompletionFunc("op", oneWord(derivativeNames()...))
	}
	if c.Flags().Lookup("out") != nil {
		c.MarkFlagFilename("out", extensions(c)...)
	}
}

// extensions are those of the files that a command writes.
func extensions(c *cobra.Command) (list []string) {
	if c.Name() == "plot" {
		for _, f := range plot.Formats {
			list = append(list, f.Name)
		}
		return append(list, "txt")
	}
	for _, f := range output.Formats {
		list = append(list, f.Ext...)
	}
	return list
}

// oneWord completes one of a list.
func oneWord(list ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
}

// files completes the name of a file with one of these extensions.
func files(extensions ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(extensions, cobra.ShellCompDirectiveFilterFileExt)
}

// helpWords are the topics of help and the commands.
func helpWords() (names []string) {
	for _, t := range topics {
		names = append(names, t.name)
	}
	for _, row := range commands {
		if row.name != "help" {
			names = append(names, row.name)
		}
	}
	return names
}

func opNames() (names []string) {
	for _, op := range tape.All() {
		names = append(names, op.Name)
	}
	return names
}

// complete answers the hidden command by which the scripts of completion ask.
func complete(args []string, s streams) error {
	root := tree(s)
	isFirst := func(c *command) bool { return c.name == args[1] || slices.Contains(c.aliases, args[1]) }
	if len(args) > 1 && !slices.ContainsFunc(commands, isFirst) && (len(args) > 2 || strings.HasPrefix(args[1], "-")) {
		args = slices.Insert(slices.Clone(args), 1, "grad") // nabla EXPR is nabla grad EXPR, and so is nabla -a x=3 EXPR
	}
	root.SetArgs(args)
	root.SetOut(s.out)
	root.SetErr(s.err)
	return root.Execute()
}
