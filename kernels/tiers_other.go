//go:build (!amd64 && !arm64) || purego

package kernels

// tables are the tiers of this architecture: portable Go alone.
var tables = []table{{name: "generic"}}
