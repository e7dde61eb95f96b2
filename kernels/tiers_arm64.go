//go:build !purego

package kernels

// tables are the tiers of this architecture, slowest first. Every arm64 CPU has
// NEON.
var tables = []table{
	{name: "generic"},
	{name: "neon", families: []func() []override{neonArith, neonReduce, neonExp, neonTrig, neonSingle}},
}
