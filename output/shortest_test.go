package output

import (
	"math/big"
	"testing"
)

// TestPower10: the powers are those of exact arithmetic rounded up, or up to two units more.
func TestPower10(t *testing.T) {
	for k := -292; k <= 355; k++ {
		num, den := big.NewInt(1), big.NewInt(1)
		if k >= 0 {
			num.Exp(big.NewInt(10), big.NewInt(int64(k)), nil)
		} else {
			den.Exp(big.NewInt(10), big.NewInt(int64(-k)), nil)
		}
		if e := log2of10(k) - 127; e >= 0 {
			den.Lsh(den, uint(e))
		} else {
			num.Lsh(num, uint(-e))
		}
		want, rest := num.QuoRem(num, den, new(big.Int))
		if rest.Sign() > 0 {
			want.Add(want, big.NewInt(1))
		}
		hi, lo := power10(k)
		got := new(big.Int).SetUint64(hi)
		got.Lsh(got, 64).Add(got, new(big.Int).SetUint64(lo))
		if d := new(big.Int).Sub(got, want); d.Sign() < 0 || d.Cmp(big.NewInt(2)) > 0 {
			t.Errorf("10^%d is %x, want %x or up to two more", k, got, want)
		}
	}
}
