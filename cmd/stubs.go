package cmd

import "github.com/spf13/cobra"

func newExplain(s streams, row *command) *cobra.Command {
	return base(row, func([]string) error { return nil })
}
func newOps(s streams, row *command) *cobra.Command {
	return base(row, func([]string) error { return nil })
}
func newVersion(s streams, row *command) *cobra.Command {
	return base(row, func([]string) error { return nil })
}
func newCompletion(s streams, row *command) *cobra.Command {
	return base(row, func([]string) error { return nil })
}
func complete(args []string, s streams) error { return nil }

const explainLong, explainExample, opsLong, opsExample, completionLong = "", "", "", "", ""
