//go:build linux && race

package cmd

// threadSpace is the address space that a thread of libc, on which the race detector
// stands, reserves: 64 MiB for its malloc and its stack.
const threadSpace = 72 << 20

// threadData is what of it can be written at once: the stack.
const threadData = 9 << 20
