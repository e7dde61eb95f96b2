//go:build !purego

package kernels

// cpuid is the CPUID instruction; xgetbv reads XCR0, the registers that the
// operating system saves.
func cpuid(leaf, sub uint32) (a, b, c, d uint32)
func xgetbv() (low, high uint32)

var hasAVX2, hasAVX512 = detect()

func detect() (avx2, avx512 bool) {
	const (
		fma, osxsave, avx = 1 << 12, 1 << 27, 1 << 28                     // leaf 1, ecx
		avx2Bit, bmi2     = 1 << 5, 1 << 8                                // leaf 7, ebx
		f, dq, cd, bw, vl = 1 << 16, 1 << 17, 1 << 28, 1 << 30, 1 << 31   // leaf 7, ebx
		ymm, zmm          = 1<<1 | 1<<2, 1<<1 | 1<<2 | 1<<5 | 1<<6 | 1<<7 // XCR0
		need1             = fma | osxsave | avx
		need7, need7wide  = avx2Bit | bmi2, f | dq | cd | bw | vl
	)
	top, _, _, _ := cpuid(0, 0)
	if top < 7 {
		return
	}
	_, _, c, _ := cpuid(1, 0)
	if c&need1 != need1 {
		return
	}
	saved, _ := xgetbv()
	_, b, _, _ := cpuid(7, 0)
	avx2 = saved&ymm == ymm && b&need7 == need7
	avx512 = avx2 && saved&zmm == zmm && b&need7wide == need7wide
	return
}
