//go:build !purego && (amd64 || arm64)

package kernels

// step is how many elements are done one by one where a kernel stopped.
const step = 8

// patched is a kernel that returns how many elements it did before it met one that
// it cannot do; of does that one and those beside it.
func patched(kernel func(dst, x []float64) int, of func(float64) float64) unary {
	return func(dst, x []float64) {
		for i := kernel(dst, x); i < len(dst); i += kernel(dst[i:], x[i:]) {
			for end := min(i+step, len(dst)); i < end; i++ {
				dst[i] = of(x[i])
			}
		}
	}
}

// patchedTwin is patched for a kernel with two results.
func patchedTwin(kernel func(y, z, x []float64) int, of func(float64) (y, z float64)) twin {
	return func(y, z, x []float64) {
		for i := kernel(y, z, x); i < len(y); i += kernel(y[i:], z[i:], x[i:]) {
			for end := min(i+step, len(y)); i < end; i++ {
				y[i], z[i] = of(x[i])
			}
		}
	}
}

// patchedBinary is patched for a kernel with two arguments.
func patchedBinary(kernel func(dst, x, y []float64) int, of func(x, y float64) float64) binary {
	return func(dst, x, y []float64) {
		for i := kernel(dst, x, y); i < len(dst); i += kernel(dst[i:], x[i:], y[i:]) {
			for end := min(i+step, len(dst)); i < end; i++ {
				dst[i] = of(x[i], y[i])
			}
		}
	}
}

type (
	scaling = func(dst, x []float64, s float64)
	filling = func(dst []float64, v float64)
	axpying = func(dst []float64, a float64, x []float64)
)
