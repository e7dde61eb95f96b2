package cmd

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nabla/output"
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
			return root.GenBashCompletionV2(s.out, true)
		case "zsh":
			return root.GenZshCompletion(s.out)
		case "fish":
			return root.GenFishCompletion(s.out, true)
		case "powershell":
			return root.GenPowerShellCompletionWithDesc(s.out)
		}
		return oneOf("shell", args[0], "bash", "zsh", "fish", "powershell")
	})
}

// tree is all commands under one root, as only completion needs them.
func tree(s streams) *cobra.Command {
	root := &cobra.Command{Use: "nabla", SilenceErrors: true, SilenceUsage: true}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{Use: "none", Hidden: true})
	values := map[string][]string{
		"format":      formatNames(),
		"mode":        {"auto", "forward", "reverse"},
		"dtype":       {"float64", "float32"},
		"unconnected": {"none", "zero"},
		"conventions": {"default"},
		"color":       {"auto", "always", "never"},
		"progress":    {"auto", "always", "never"},
		"report":      reportNames(),
	}
	arguments := map[string][]string{
		"completion": {"bash", "zsh", "fish", "powershell"},
	}
	for _, t := range topics {
		arguments["help"] = append(arguments["help"], t.name)
	}
	for _, op := range tape.All() {
		arguments["ops"] = append(arguments["ops"], op.Name)
	}
	var extensions []string
	for _, f := range output.Formats {
		extensions = append(extensions, f.Ext...)
	}
	for _, row := range commands {
		if row.name != "help" {
			arguments["help"] = append(arguments["help"], row.name)
		}
	}
	for _, row := range commands {
		c := row.new(s, row)
		c.Use = row.name
		c.Flags().VisitAll(func(f *pflag.Flag) { // completion shows their usage and marks them
			_, f.Usage = usageOf(f)
			f.Annotations = maps.Clone(f.Annotations)
		})
		for name, list := range values {
			if c.Flags().Lookup(name) != nil {
				c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp))
			}
		}
		if c.Flags().Lookup("in") != nil {
			c.MarkFlagFilename("in", "json", "npz", "ndjson", "jsonl")
			c.MarkFlagFilename("program", "nabla")
		}
		if c.Flags().Lookup("out") != nil {
			c.MarkFlagFilename("out", extensions...)
		}
		c.ValidArgsFunction = cobra.NoFileCompletions
		if list := arguments[row.name]; list != nil {
			c.ValidArgsFunction = cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
		}
		if row.name == "check" {
			c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
			}
		}
		root.AddCommand(c)
	}
	return root
}

// complete answers the hidden command by which the scripts of completion ask.
func complete(args []string, s streams) error {
	root := tree(s)
	if len(args) > 2 && !slices.ContainsFunc(commands, func(c *command) bool { return c.name == args[1] || slices.Contains(c.aliases, args[1]) }) && !strings.HasPrefix(args[1], "-") {
		args = slices.Insert(slices.Clone(args), 1, "grad") // nabla EXPR is nabla grad EXPR
	}
	root.SetArgs(args)
	root.SetOut(s.out)
	root.SetErr(s.err)
	return root.Execute()
}
