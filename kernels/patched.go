//go:build !purego && (amd64 || arm64)

package kernels

import "unsafe"

// patches are the patched kernels, as function values, and the kernels they patch.
var patches [][2]unsafe.Pointer

// noted notes that f patches the kernel.
func noted[F, K any](kernel K, f F) F {
	patches = append(patches, [2]unsafe.Pointer{*(*unsafe.Pointer)(unsafe.Pointer(&f)), *(*unsafe.Pointer)(unsafe.Pointer(&kernel))})
	return f
}

// step is how many elements are done one by one where a kernel stopped.
const step = 8

// patched is a kernel that returns how many elements it did before it met one that
// it cannot do; of does that one and those beside it.
func patched(kernel func(dst, x []float64) int, of func(float64) float64) unary {
	return noted(kernel, func(dst, x []float64) {
		for i := kernel(dst, x); i < len(dst); i += kernel(dst[i:], x[i:]) {
			for end := min(i+step, len(dst)); i < end; i++ {
				dst[i] = of(x[i])
			}
		}
	})
}

// patchedTwin is patched for a kernel with two results.
func patchedTwin(kernel func(y, z, x []float64) int, of func(float64) (y, z float64)) twin {
	return noted(kernel, func(y, z, x []float64) {
		for i := kernel(y, z, x); i < len(y); i += kernel(y[i:], z[i:], x[i:]) {
			for end := min(i+step, len(y)); i < end; i++ {
				y[i], z[i] = of(x[i])
			}
		}
	})
}

// patchedBinary is patched for a kernel with two arguments.
func patchedBinary(kernel func(dst, x, y []float64) int, of func(x, y float64) float64) binary {
	return noted(kernel, func(dst, x, y []float64) {
		for i := kernel(dst, x, y); i < len(dst); i += kernel(dst[i:], x[i:], y[i:]) {
			for end := min(i+step, len(dst)); i < end; i++ {
				dst[i] = of(x[i], y[i])
			}
		}
	})
}

// patchedTernary is patched for a kernel with three arguments.
func patchedTernary(kernel func(dst, x, y, z []float64) int, of func(x, y, z float64) float64) ternary {
	return noted(kernel, func(dst, x, y, z []float64) {
		for i := kernel(dst, x, y, z); i < len(dst); i += kernel(dst[i:], x[i:], y[i:], z[i:]) {
			for end := min(i+step, len(dst)); i < end; i++ {
				dst[i] = of(x[i], y[i], z[i])
			}
		}
	})
}

// step32 is how many elements a kernel of float64 does where one of float32 stopped.
const step32 = 32

// patched32 is patched for float32.
func patched32(kernel func(dst, x []float32) int, wide *unary) unary32 {
	return noted(kernel, func(dst, x []float32) {
		for i := kernel(dst, x); i < len(dst); i += kernel(dst[i:], x[i:]) {
			end := min(i+step32, len(dst))
			widened(wide, dst[i:end], x[i:end])
			i = end
		}
	})
}

// patchedTwin32 is patchedTwin for float32.
func patchedTwin32(kernel func(y, z, x []float32) int, wide *twin) twin32 {
	return noted(kernel, func(y, z, x []float32) {
		for i := kernel(y, z, x); i < len(y); i += kernel(y[i:], z[i:], x[i:]) {
			end := min(i+step32, len(y))
			widenedTwin(wide, y[i:end], z[i:end], x[i:end])
			i = end
		}
	})
}

type (
	scaling       = func(dst, x []float64, s float64)
	filling       = func(dst []float64, v float64)
	axpying       = func(dst []float64, a float64, x []float64)
	rotating      = func(x, y []float64, s, tau float64)
	accumulating4 = func(dst, x, y, z, w []float64)
	axpying4      = func(dst []float64, a, b, c, d float64, x, y, z, w []float64)
	filling32     = func(dst []float32, v float32)
	widening      = func(dst []float64, x []float32)
	narrowing     = func(dst []float32, x []float64)
)
