// Nabla differentiates expressions: exactly, on the command line.
package main

import (
	"os"

	"nabla/cmd"
)

func main() { os.Exit(cmd.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
