package kernels

import (
	"os"
	"sync"
)

// To add an assembly kernel for Exp:
//
//  1. Write its body in _asm/exp, in the operations of _asm/kit, which makes it a
//     kernel of each tier: the loop, the tail and the check of lengths come from
//     there. Run go generate -run exp; exp_avx2_amd64.s, exp_avx512_amd64.s,
//     exp_neon_arm64.s and the declarations beside them appear.
//  2. Name it in the family's lists, in exp_amd64.go and exp_arm64.go:
//
//     func avx512Exp() []override { return []override{&at[unary]{&Exp, expAVX512}, …} }
//
//  3. Test it: checkUnary(t, "Exp", &Exp, ExpOf, xs) runs a kernel on every tier
//     of this CPU against the scalar twin, at every length, alignment and aliasing.
//
// A kernel is exported as a variable, so that the choice between tiers is made
// once, by Choose; what it is declared with is the portable kernel.

type (
	unary   = func(dst, x []float64)
	binary  = func(dst, x, y []float64)
	ternary = func(dst, x, y, z []float64)
	twin    = func(y, z, x []float64) // two results
)

// A table is one tier: what it makes faster than the tables before it. What it
// does not name falls through to them.
type table struct {
	name      string
	have      func() bool // whether this CPU runs it, given the tables before it; nil: yes
	families  []func() []override
	overrides []override // of its families, once there is a choice
}

// An override is a kernel beside the door it goes behind.
type override interface{ swap() }

type at[F any] struct {
	door *F
	f    F
}

// swap puts the kernel behind the door and keeps what was there: a second swap
// undoes the first.
func (a *at[F]) swap() { *a.door, a.f = a.f, *a.door }

// short is where an assembly kernel goes whose argument is shorter than dst.
//
//lint:ignore U1000 assembly calls it
func short() { panic("kernels: an argument is shorter than dst") }

// tier counts the tables in use.
var tier int

// use swaps tables in or out until the first n are in use.
func use(n int) {
	for ; tier < n; tier++ {
		for _, o := range tables[tier].overrides {
			o.swap()
		}
	}
	for ; tier > n; tier-- {
		for _, o := range tables[tier-1].overrides {
			o.swap()
		}
	}
}

// best is the number of tables to use: up to the one called name, or all that
// this CPU runs.
func best(name string) int {
	n := 0
	for n < len(tables) && (tables[n].have == nil || tables[n].have()) {
		n++
		if tables[n-1].name == name {
			break
		}
	}
	return n
}

// Choose makes the choice between tiers, the first time it is called, and must be called
// before the first kernel that is worth it. A one-liner over single numbers never does: to
// ask the CPU (twice CPUID, 10 µs each or more in a virtual machine) and to put 200 kernels
// behind their doors, on pages that the process has to copy, takes 50 to 80 µs.
func Choose() { choice.Do(choose) }

var choice sync.Once

// choose takes the tier that NABLA_CPU names, or the best.
func choose() {
	for i := range tables {
		t := &tables[i]
		for _, family := range t.families {
			t.overrides = append(t.overrides, family()...)
		}
	}
	use(best(os.Getenv("NABLA_CPU")))
}

// Chosen reports whether there is a choice.
func Chosen() bool { return tier > 0 }

// Tiers names the tiers that this CPU runs, the best last.
func Tiers() (names []string) {
	for _, t := range tables[:best("")] {
		names = append(names, t.name)
	}
	return names
}

// Tier is the name of the tier in use: generic, avx2, avx512 or neon. The
// environment variable NABLA_CPU selects a lower one than the CPU's best.
func Tier() string {
	Choose()
	return tables[tier-1].name
}
