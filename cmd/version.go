package cmd

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"nabla/tape"
)

func newVersion(s streams, row *command) *cobra.Command {
	return base(row, func([]string) error {
		_, err := fmt.Fprintf(s.out, "nabla %s, %s, %s/%s, kernels %s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, tape.Tier())
		return err
	})
}

// version is that of the module, or the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	commit, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if commit == "" {
		return "(devel)"
	}
	return "(devel " + commit + dirty + ")"
}
