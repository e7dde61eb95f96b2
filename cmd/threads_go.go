//go:build linux && !race

package cmd

// threadSpace is the address space of a thread: Go's own ones share the heap's.
const threadSpace = 1 << 20

// threadData is what of it can be written.
const threadData = threadSpace
