//go:build !amd64 || purego

package kernels

import "unsafe"

func leafOf(unsafe.Pointer) uintptr { return 0 }

func leafVectors(unsafe.Pointer) int { return 0 }
