package difference_test

import (
	"fmt"
	"math"

	"nabla/cmd/difference"
)

func ExampleSettings_Derivative() {
	e := difference.Settings{}.Derivative(func(x float64) (float64, error) { return math.Sqrt(x), nil }, 4, 1)
	fmt.Printf("%.9f, error below 1e-12: %v\n", e.Value, e.Err < 1e-12)

	k := difference.Settings{}.Derivative(func(x float64) (float64, error) { return math.Abs(x), nil }, 0, 1)
	fmt.Printf("kink: %v, from the left %.0f, from the right %.0f\n", k.Kink, k.OneSided[0], k.OneSided[1])
	// Output:
	// 0.250000000, error below 1e-12: true
	// kink: true, from the left -1, from the right 1
}
