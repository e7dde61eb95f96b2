//go:build linux && cgo

package cmd

// threadSpace is the address space that a thread of libc reserves: 64 MiB for its malloc
// and its stack.
const threadSpace = 72 << 20
