package kernels

import "testing"

func TestArith(t *testing.T) {
	for _, k := range []struct {
		name   string
		kernel *binary
		of     func(x, y float64) float64
	}{
		{"Add", &Add, AddOf},
		{"Sub", &Sub, SubOf},
		{"Mul", &Mul, MulOf},
		{"Div", &Div, DivOf},
	} {
		t.Run(k.name, func(t *testing.T) { checkBinary(t, k.name, k.kernel, k.of, edges) })
	}
}

func TestShortArgument(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		defer func() {
			if recover() == nil {
				t.Error("Add of a short argument did not panic")
			}
		}()
		Add(make([]float64, 9), make([]float64, 9), make([]float64, 8))
	})
}
