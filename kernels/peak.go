package kernels

import (
	"math"
	"sync"
	"time"
)

// Peak measures how many floating-point operations a second this machine can do on so
// many threads at once: fused multiply-adds on registers alone, the best of some runs of
// each. Benchmarks quote it.
func Peak(threads int) (sum float64) {
	Choose()
	best := make([]float64, threads)
	var wg sync.WaitGroup
	for i := range best {
		wg.Go(func() {
			for range 50 {
				start := time.Now()
				n := fmas(20000)
				best[i] = max(best[i], n/time.Since(start).Seconds())
			}
		})
	}
	wg.Wait()
	for _, v := range best {
		sum += v
	}
	return sum
}

// fmas does n rounds of independent fused multiply-adds and returns their operations.
var fmas = func(n int) float64 {
	var a, b, c, d float64
	x := float64(n)
	for range n {
		a, b, c, d = math.FMA(a, x, x), math.FMA(b, x, x), math.FMA(c, x, x), math.FMA(d, x, x)
	}
	if a+b+c+d == 1 {
		return 0
	}
	return 8 * float64(n)
}
