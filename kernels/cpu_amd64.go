//go:build !purego

package kernels

// cpuid is the CPUID instruction; xgetbv reads XCR0, the registers that the
// operating system saves.
func cpuid(leaf, sub uint32) (a, b, c, d uint32)
func xgetbv() (low, high uint32)

// hasAVX2 is about Haswell and later, hasAVX512 about Skylake-X and Zen 4. They
// are asked once each; CPUID is slow, 5 µs in a virtual machine.
func hasAVX2() bool {
	const (
		fma, popcnt, osxsave, avx = 1 << 12, 1 << 23, 1 << 27, 1 << 28 // leaf 1, c
		avx2, bmi2                = 1 << 5, 1 << 8                     // leaf 7, b
		ymm                       = 1<<1 | 1<<2                        // XCR0
	)
	if _, _, c, _ := cpuid(1, 0); !all(c, fma|popcnt|osxsave|avx) {
		return false // and leaf 7 might not be there
	}
	saved, _ := xgetbv()
	_, leaf7, _, _ = cpuid(7, 0)
	return all(saved, ymm) && all(leaf7, avx2|bmi2)
}

// hasAVX512 is asked after hasAVX2 has said yes.
func hasAVX512() bool {
	const (
		f, dq, cd, bw, vl = 1 << 16, 1 << 17, 1 << 28, 1 << 30, 1 << 31 // leaf 7, b
		zmm               = 1<<1 | 1<<2 | 1<<5 | 1<<6 | 1<<7            // XCR0
	)
	saved, _ := xgetbv()
	return all(saved, zmm) && all(leaf7, f|dq|cd|bw|vl)
}

var leaf7 uint32 // b, from hasAVX2

func all(x, bits uint32) bool { return x&bits == bits }
