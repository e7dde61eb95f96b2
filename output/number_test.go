package output

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"nabla/tape/tensor"
)

func TestAppendNumber(t *testing.T) {
	negZero := math.Copysign(0, -1)
	for _, row := range []struct {
		v    float64
		d    tensor.DType
		want string
	}{
		{6, tensor.Float64, "6"}, // not 6.0
		{negZero, tensor.Float64, "-0"},
		{negZero, tensor.Float32, "-0"},
		{0.1, tensor.Float64, "0.1"},
		{-0.25, tensor.Float64, "-0.25"},
		{0.30000000000000004, tensor.Float64, "0.30000000000000004"},
		{1e-6, tensor.Float64, "0.000001"}, // the last plain one
		{9.5e-7, tensor.Float64, "9.5e-7"},
		{-1e-7, tensor.Float64, "-1e-7"},
		{1e-10, tensor.Float64, "1e-10"},
		{5e-324, tensor.Float64, "5e-324"},
		{1e20, tensor.Float64, "100000000000000000000"},
		{1e21, tensor.Float64, "1e+21"},
		{math.MaxFloat64, tensor.Float64, "1.7976931348623157e+308"},
		{1 << 53, tensor.Float64, "9007199254740992"},
		{123456789.123456, tensor.Float64, "123456789.123456"}, // 15 digits: the fast path's widest
		{float64(float32(0.1)), tensor.Float32, "0.1"},         // not 0.10000000149011612
		{float64(float32(1e-9)), tensor.Float32, "1e-9"},
		{9007199254740992, tensor.Int64, "9007199254740992"},
		{1e21, tensor.Int64, "1000000000000000000000"},
		{math.Copysign(0, -1), tensor.Int64, "0"},
		{1, tensor.Bool, "true"},
		{0, tensor.Bool, "false"},
		{math.NaN(), tensor.Float64, "nan"},
		{math.Inf(1), tensor.Float64, "inf"},
		{math.Inf(-1), tensor.Float32, "-inf"},
	} {
		if got := string(AppendNumber(nil, row.v, row.d)); got != row.want {
			t.Errorf("text of %v as %v = %s, want %s", row.v, row.d, got, row.want)
		}
	}
}

// samples is how many random numbers a test writes: emulated processors take long.
func samples() int {
	if testing.Short() {
		return 10_000
	}
	return 200_000
}

// What is found here must be what strconv finds: the shortest text, and the same bits back.
func TestAppendNumberIsShortest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	check := func(v float64) {
		t.Helper()
		got := string(AppendNumber(nil, v, tensor.Float64))
		if want := strconvText(v); got != want {
			t.Fatalf("text of %v (%#x) = %s, want %s", v, math.Float64bits(v), got, want)
		}
	}
	for exp := range uint64(2047) { // and the ends of each power of 2
		for _, fraction := range []uint64{0, 1, 2, 3, 1<<52 - 1, 1<<52 - 2, 1 << 51, r.Uint64() >> 12} {
			check(math.Float64frombits(exp<<52 | fraction))
		}
	}
	for e := -323; e < 308; e++ {
		v, _ := strconv.ParseFloat("1e"+strconv.Itoa(e), 64)
		check(v)
		check(math.Nextafter(v, 0))
		check(math.Nextafter(v, 1e308))
	}
	for range samples() {
		digits := r.Uint64N(1e18) / uint64(math.Pow10(r.IntN(18)))
		v, _ := strconv.ParseFloat(strconv.FormatUint(digits, 10)+"e-"+strconv.Itoa(r.IntN(20)), 64)
		check(v)
		check(-v)
		check(math.Nextafter(v, math.Inf(1)))
		if v := math.Float64frombits(r.Uint64()); v-v == 0 {
			check(v)
		}
		check(r.NormFloat64())
	}
}

// strconvText is strconv's shortest text in JavaScript's layout.
func strconvText(v float64) string {
	if m := math.Abs(v); m == 0 || m >= 1e-6 && m < 1e21 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strings.NewReplacer("e-0", "e-", "e+0", "e+").Replace(strconv.FormatFloat(v, 'e', -1, 64))
}

func BenchmarkNumber(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, row := range []struct {
		name string
		next func() float64
	}{
		{"full", r.NormFloat64},
		{"short", func() float64 { return float64(r.IntN(20000)-10000) / 1000 }},
		{"whole", func() float64 { return float64(r.IntN(1000)) }},
	} {
		x := make([]float64, 4096)
		for i := range x {
			x[i] = row.next()
		}
		b.Run(row.name, func(b *testing.B) {
			var buf []byte
			n := 0
			for i := range b.N {
				buf = AppendNumber(buf[:0], x[i&4095], tensor.Float64)
				n += len(buf)
			}
			b.SetBytes(int64(n / b.N))
		})
	}
}

// TestTextPlain holds plain texts of rounded numbers to strconv's.
func TestTextPlain(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range samples() {
		digits := 1 + rng.IntN(16)
		v := rng.NormFloat64() * math.Pow(10, float64(rng.IntN(15)-6))
		if rng.IntN(4) == 0 {
			v = math.Round(v*1000) / 1000 * (1 + 1e-16*float64(rng.IntN(5)))
		}
		m := math.Abs(v)
		if m >= 1e9 || m < 1e-5 || v == math.Trunc(v) {
			continue
		}
		_, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', digits-1, 64), "e")
		e, _ := strconv.Atoi(exponent)
		want := trimZeros(strconv.FormatFloat(v, 'f', max(0, digits-1-e), 64))
		if got := Text(v, tensor.Float64, digits); got != want {
			t.Fatalf("Text(%v, %d) = %s, want %s", v, digits, got, want)
		}
	}
}
