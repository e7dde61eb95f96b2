package kernels

import "testing"

func TestAccuracy(t *testing.T) {
	for name, bound := range map[string]float64{"exp": 1, "sin": 1, "lgamma": 4} {
		if v, ok := Accuracy(name); !ok || v <= 0 || v > bound {
			t.Errorf("Accuracy(%q) = %v, %v; want at most %v", name, v, ok, bound)
		}
	}
	if _, ok := Accuracy("no such kernel"); ok {
		t.Error("an unknown kernel has an accuracy")
	}
}
