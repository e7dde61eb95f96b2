package kernels

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"
)

// TestRepeat holds steps of a recurrence, whose values lie in rows or by turns in two places, to
// the same steps kernel by kernel. One of the kernels stops at elements that Go must do.
func TestRepeat(t *testing.T) {
	const steps = 7
	eachTier(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 6))
		for _, n := range []int{1, 3, 4, 8, 13, 16, 24, 25, 29, 33, 41, 48, 57, 64, 65, 72, 73, 131, 150} {
			for _, rows := range []int{1, 2, 9} {
				size := rows * n
				numbers := func(count int) []float64 {
					v := make([]float64, count)
					for i := range v {
						v[i] = rng.NormFloat64()
					}
					return v
				}
				w, x, h := numbers(n*n), numbers(steps*size), numbers(2*size)
				x[3*size+size/2] = 1e9
				var right Right[float64]
				right.Pack(make([]float64, PackedSize[float64](n, n)), w, n, false, n, n)

				// h = sin(h @ w + x[i]), from the last row to the first; out has all
				want, now := make([]float64, steps*size), slices.Clone(h[:size])
				for i := steps - 1; i >= 0; i-- {
					to := want[i*size:][:size]
					right.Multiply(to, n, now, n, rows)
					Add(to, to, x[i*size:][:size])
					Sin(to, to)
					copy(now, to)
				}

				out, product := make([]float64, steps*size), make([]float64, size)
				const inH, outH, inX, atOut, atProduct, apart = 0, 1, 2, 3, 4, 5
				at := []unsafe.Pointer{unsafe.Pointer(&h[0]), unsafe.Pointer(&h[size]),
					unsafe.Pointer(&x[(steps-1)*size]), unsafe.Pointer(&out[(steps-1)*size]), unsafe.Pointer(&product[0])}
				at = append(at, at[atProduct], at[inX]) // a part of the table, for Add
				far := 8 * size
				moves := []Move{{inX, [2]int{-far, -far}}, {apart + 1, [2]int{-far, -far}}, {atOut, [2]int{-far, -far}}, {inH, [2]int{far, -far}}, {outH, [2]int{-far, far}}}
				value := func(place int) []float64 { return unsafe.Slice((*float64)(at[place]), size) }
				calls := right.Repeated(atProduct, inH, rows)
				panels := len(calls)
				calls = append(calls, CallOf(Add, 0, 0, 1).Of(size, apart), CallOf(Sin, atOut, atProduct).Of(size, 0), RepeatedCall{})
				stops := 0
				for first, left := 0, steps; left > 0; {
					var call, done int
					if call, done, left = Repeat(calls, first, at, moves, left); left == 0 {
						break
					}
					stops++
					switch call - panels {
					case 0:
						Add(value(atProduct), value(atProduct), value(inX))
					case 1:
						Sin(value(atOut)[done:], value(atProduct)[done:])
					case 2:
						copy(value(outH), value(atOut))
					default:
						right.Multiply(value(atProduct), n, value(inH), n, rows)
					}
					first = call + 1
				}
				for i := range want {
					if !same(out[i], want[i]) {
						t.Fatalf("%d×%d: element %d of step %d is %v, want %v", rows, n, i%size, i/size, out[i], want[i])
					}
				}
				if runtime.GOARCH == "amd64" && tier > 1 && stops != steps+1 {
					t.Errorf("%d×%d: %d stops in %d steps, want one more", rows, n, stops, steps)
				}
			}
		}
	})
}
