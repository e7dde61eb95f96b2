package pages

import (
	"testing"
	"unsafe"
)

// TestHuge: of a large buffer the number is touched with which a large page begins, which nobody has touched, and no other;
// of a small one none.
func TestHuge(t *testing.T) {
	const sevens = 7
	for _, n := range []int{leastHuge/8 - 1, leastHuge / 8, 1 << 18, 1<<18 + 1, 1 << 20} {
		smallUntil.Store(0)
		m := make([]float64, n)
		for i := range m {
			m[i] = sevens
		}
		Huge(m)
		touched := 0
		for i, v := range m {
			if v == sevens {
				continue
			}
			touched++
			if at := uintptr(unsafe.Pointer(&m[i])); v != 0 || at%hugePage != 0 {
				t.Errorf("of %d numbers number %d, %d bytes into a large page, is %v", n, i, at%hugePage, v)
			}
		}
		switch {
		case 8*n < leastHuge && touched > 0, touched > (8*n+hugePage-1)/hugePage:
			t.Errorf("of %d numbers %d are touched", n, touched)
		case 8*n >= hugePage && touched == 0:
			t.Errorf("of %d numbers none is touched: whether large pages are quick is not tried", n)
		}
	}
}
