//go:build !linux

package pages

import "os"

// Map is false: reading has to do.
func Map(*os.File, int64, int) ([]float64, bool) { return nil, false }

// Faulted is false: nothing is mapped.
func Faulted(any) (string, bool) { return "", false }
