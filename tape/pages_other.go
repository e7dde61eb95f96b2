//go:build !linux

package tape

func hugePages[T real]([]T) {}
