//go:build !linux

package pages

// Huge does nothing here.
func Huge[T float32 | float64 | byte]([]T) {}
