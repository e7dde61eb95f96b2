//go:build !linux

package cmd

// machineMemory is a guess: what a small machine has.
func machineMemory() int64 { return 8 << 30 }
