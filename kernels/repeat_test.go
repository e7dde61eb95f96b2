package kernels

import (
	"math"
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

// TestRepeatUnlike holds calls that are not kernels of slices alone to what they are for: sums,
// extremes, fillings, lanes, and numbers that move. Extremes that are 0 are left to Go.
func TestRepeatUnlike(t *testing.T) {
	const sum, largest, least, inLanes, number = 0, 1, 2, 3, 4 // places of numbers
	eachTier(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 8))
		for n := 1; n < 130; n++ {
			for _, special := range []float64{1, math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)} {
				x, filled, moved := make([]float64, n), make([]float64, n+1), make([]float64, n+1)
				for i := range x {
					x[i] = rng.NormFloat64()
				}
				if x[rng.IntN(n)] = special; special == 0 {
					for i := range x { // extremes are zeros, of either sign
						x[i] = []float64{0, special, -x[i] * x[i]}[rng.IntN(3)]
					}
				}
				filled[n], moved[n] = 7, 7
				var moves []MovedNumber
				for i, k := range rng.Perm(n)[:(n+1)/2] {
					moves = append(moves, MovedNumber{To: int32(k), From: int32(i)})
				}
				var lanes Lanes
				numbers := make([]float64, 5)
				numbers[number] = special
				const atX, atFilled, atMoved, atLanes = 5, 6, 7, 8
				at := []unsafe.Pointer{unsafe.Pointer(&numbers[sum]), unsafe.Pointer(&numbers[largest]), unsafe.Pointer(&numbers[least]), unsafe.Pointer(&numbers[inLanes]), unsafe.Pointer(&numbers[number]),
					unsafe.Pointer(&x[0]), unsafe.Pointer(&filled[0]), unsafe.Pointer(&moved[0]), unsafe.Pointer(&lanes)}
				calls := []RepeatedCall{
					SumTo(sum, atX).Of(n, 0), CallOf(Max, largest, atX).Of(n, 0), CallOf(Min, least, atX).Of(n, 0), CallOf(Fill, atFilled, number).Of(n, 0),
					CallOf(SumLanes, atLanes, atX).Of(n, 0), SumTo(inLanes, atLanes).Of(len(lanes), 0), Moved(atMoved, atX, moves), CallOf(Copy, sum, sum).Of(1, 0),
				}
				stops := 0
				for first, left := 0, 1; left > 0; stops++ {
					var call int
					if call, _, left = Repeat(calls, first, at, nil, left); left == 0 {
						break
					}
					switch first = call + 1; call {
					case 0:
						numbers[sum] = Sum(x)
					case 1:
						numbers[largest] = Max(x)
					case 2:
						numbers[least] = Min(x)
					case 3:
						Fill(filled[:n], special)
					case 4:
						SumLanes(&lanes, x)
					case 5:
						numbers[inLanes] = lanes.Fold()
					case 6:
						for _, m := range moves {
							moved[m.To] = x[m.From]
						}
					}
				}
				total := Sum(x)
				for i, want := range []float64{total, Max(x), Min(x), total, special} {
					if !same(numbers[i], want) {
						t.Fatalf("%v: number %d is %v, want %v", x, i, numbers[i], want)
					}
				}
				want := make([]float64, n)
				for _, m := range moves {
					want[m.To] = x[m.From]
				}
				for i := range n {
					if !same(filled[i], special) || !same(moved[i], want[i]) {
						t.Fatalf("element %d of %d is filled with %v, want %v; moved there is %v, want %v", i, n, filled[i], special, moved[i], want[i])
					}
				}
				if filled[n] != 7 || moved[n] != 7 {
					t.Fatalf("%d numbers reach beyond their end", n)
				}
				zeros := 0
				for _, v := range numbers[largest : least+1] {
					if v == 0 {
						zeros++
					}
				}
				if runtime.GOARCH == "amd64" && tier > 1 && stops != zeros {
					t.Fatalf("%v: %d stops, want one for each of %d extremes that are 0", x, stops, zeros)
				}
			}
		}
	})
}
