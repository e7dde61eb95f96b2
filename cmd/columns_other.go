//go:build !unix

package cmd

import "os"

func columns(*os.File) int { return 0 }
