// Nabla differentiates expressions: exactly, on the command line.
package main

import (
	"os"

	"nabla/cmd"
)

// A closed stdout (>&-) is no error here, and cannot be: before any code of ours, Go's runtime puts /dev/null in its
// place, opened as those open it who want nothing to be printed (subprocess.DEVNULL of Python has the same flags).
func main() { os.Exit(cmd.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
