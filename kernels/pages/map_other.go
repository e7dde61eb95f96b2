//go:build !linux

package pages

import "os"

// Map is false: reading has to do.
func Map(*os.File, int64, int) ([]float64, bool) { return nil, false }

// Check is nil: nothing is mapped.
func Check() error { return nil }

// Forget has nothing to forget.
func Forget() {}

// Fault is nil: nothing is mapped.
func Fault(any) error { return nil }
