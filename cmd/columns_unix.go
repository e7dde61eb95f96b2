//go:build unix

package cmd

import (
	"os"

	"golang.org/x/sys/unix"
)

// columns is the width of a terminal, or 0.
func columns(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}

// isTerminal tells a terminal from devices such as /dev/null and /dev/full.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}
