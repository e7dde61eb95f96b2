//go:build !amd64 || purego

package kernels

import "unsafe"

func run(*Call, int, *unsafe.Pointer, int) (ran, done int) { return 0, 0 }

func entryOf(unsafe.Pointer) (code uintptr, done int64) { return 0, 0 }
