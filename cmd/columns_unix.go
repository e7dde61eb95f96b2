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
