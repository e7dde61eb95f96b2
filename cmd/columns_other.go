//go:build !unix

package cmd

import "os"

func columns(*os.File) int { return 0 }

// isTerminal takes every character device but the one that swallows for a terminal.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	null, none := os.Stat(os.DevNull)
	return err != nil || none != nil || !os.SameFile(info, null)
}
