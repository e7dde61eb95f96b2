package input

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// Every number is the one strconv reads.
func TestNumber(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	check := func(s string) {
		want, err := strconv.ParseFloat(s, 64)
		if err != nil && !math.IsInf(want, 0) {
			t.Fatal(err)
		}
		got, end, ok := number([]byte(s+","), 0)
		if !ok || end != len(s) || math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("number(%s) = %v, %d, %v, want %v, %d", s, got, end, ok, want, len(s))
		}
	}
	for _, s := range strings.Fields(`0 -0 0.0 1 -1 12345678 123456789012345678901234567890 9007199254740993 9007199254740992.5
		0.1 1e23 8.5e22 1e22 1e-22 5e-324 2.4e-324 1.7976931348623157e308 1e309 -1e400 1e-400 0e999999999999 1E+5 1e-05
		0.000000000000000000000000000000000000000001 18446744073709551615e27 18446744073709551615e-27 9999999999999999999
		4503599627370496.5 4503599627370497.5 9007199254740991.4999999999 36028797018963970 72057594037927940e1 0.12345678 0.1234567812345678`) {
		check(s)
	}
	for range 300_000 {
		switch r.IntN(4) {
		case 0:
			check(strconv.FormatFloat(math.Float64frombits(r.Uint64()&^(2047<<52)|uint64(900+r.IntN(250))<<52), "eg"[r.IntN(2)], -1, 64))
		case 1: // a tie between two neighbours, or just beside one
			m := 1<<53 | r.Uint64()>>11 | 1
			check(fmt.Sprintf("%d", m<<r.IntN(10)+uint64(r.IntN(3))-1))
		case 2:
			check(fmt.Sprintf("%de%d", r.Uint64()>>r.IntN(64), r.IntN(70)-35))
		case 3:
			check(fmt.Sprintf("-%d.%0*de%d", r.Uint32N(1000), 1+r.IntN(18), r.Uint64N(10), r.IntN(40)-20))
		}
	}
}

// scale agrees with strconv wherever it is used, halves included.
func TestScale(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for exp := -27; exp <= 27; exp++ {
		for range 10_000 {
			m := r.Uint64() >> r.IntN(12)
			if exp > 0 && r.IntN(2) == 0 {
				m = (1<<53|r.Uint64()>>11)>>r.IntN(3) | 1
			}
			want, _ := strconv.ParseFloat(fmt.Sprintf("%de%d", m, exp), 64)
			if got := scale(m, exp); got != want {
				t.Fatalf("scale(%d, %d) = %v, want %v", m, exp, got, want)
			}
		}
	}
}

func BenchmarkJSON(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, row := range []struct {
		name   string
		number func() string
	}{
		{"full", func() string { return strconv.FormatFloat(r.NormFloat64(), 'g', -1, 64) }},
		{"short", func() string { return strconv.FormatFloat(math.Round(r.NormFloat64()*1000)/1000, 'g', -1, 64) }},
		{"int", func() string { return strconv.Itoa(r.IntN(10)) }},
		{"tiny", func() string { return strconv.FormatFloat(r.NormFloat64()*1e-30, 'g', -1, 64) }},
	} {
		var s strings.Builder
		s.WriteString(`{"x": [`)
		for i := range 1000 {
			s.WriteString(",["[min(1, 1-min(i, 1)):])
			for j := range 300 {
				if j > 0 {
					s.WriteByte(',')
				}
				s.WriteString(row.number())
			}
			s.WriteByte(']')
		}
		s.WriteString(`]}`)
		text := []byte(s.String())
		b.Run(row.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ReadJSON("", text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	pairs := []byte(`{"x": [[1.5, 2]` + strings.Repeat(`, [1.5, 2]`, 100000) + `]}`)
	b.Run("pairs", func(b *testing.B) { // an array opens and closes for every other number
		b.SetBytes(int64(len(pairs)))
		for b.Loop() {
			if _, err := ReadJSON("", pairs); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("line", func(b *testing.B) { // what --each reads
		l := readingOf("", &endless{line: `{"x": 0.25, "y": [1, 2, 3]}` + "\n"}, defaultMax)
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := l.next(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
