package input

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestAhead: what is read ahead on several threads changes neither a document nor what is said of its mistakes.
func TestAhead(t *testing.T) {
	was := [...]int{aheadNumbers, aheadText, aheadLeast, aheadPiece}
	defer func() { aheadNumbers, aheadText, aheadLeast, aheadPiece = was[0], was[1], was[2], was[3] }()
	rng := rand.New(rand.NewPCG(7, 7))
	used := 0
	for round := range 6000 {
		text := []byte(randomJSON(rng))
		for range rng.IntN(3) {
			if k := rng.IntN(len(text)); rng.IntN(2) == 0 {
				text[k] = `,[]{}:"0123456789.-eE NIat`[rng.IntN(26)]
			} else {
				text = append(text[:k], text[k+rng.IntN(min(3, len(text)-k)):]...)
			}
		}
		want, wantErr := readJSON("t", text, 1)
		aheadNumbers, aheadText, aheadLeast, aheadPiece = rng.IntN(4), 5+rng.IntN(200), 1, 1+rng.IntN(30)
		p := &parser{file: "t", first: 1, b: text, threads: 1 + rng.IntN(3)}
		got, gotErr := p.read()
		if p.ahead.piece > 0 || p.ahead.run > 0 {
			used++
		}
		if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) || wantErr == nil && showDoc(got) != showDoc(want) {
			t.Fatalf("round %d, %q:\n%v, %v, want\n%v, %v", round, text, got, gotErr, want, wantErr)
		}
	}
	if used < 1000 {
		t.Errorf("only %d texts were read ahead", used)
	}
}

// randomJSON is a document of tensors, some of which are none.
func randomJSON(rng *rand.Rand) string {
	numbers := []string{"1", "-2.5", "1e3", "0.25", "12345678901234567890", "-0", "1e999", "NaN", "-Infinity", "true", "null", "01", `"a,1,2"`}
	space := func() string { return []string{"", "", "", " ", "\n ", "\t"}[rng.IntN(6)] }
	var array func(depth, n int) string
	array = func(depth, n int) string {
		elements := make([]string, n-rng.IntN(40)/39)
		for i := range elements {
			if elements[i] = numbers[min(rng.IntN(len(numbers)), rng.IntN(4+rng.IntN(200)))]; depth > 1 {
				elements[i] = array(depth-1, n)
			}
			elements[i] = space() + elements[i] + space()
		}
		return "[" + strings.Join(elements, ",") + "]"
	}
	fields := make([]string, 1+rng.IntN(3))
	for i := range fields {
		value := array(1+rng.IntN(3), 1+rng.IntN(6))
		if rng.IntN(5) == 0 {
			value = `{"data": ` + value + `, "note": "[1, 2, 3]"}`
		}
		fields[i] = fmt.Sprintf(`"v%d":%s%s`, i, space(), value)
	}
	return "{" + strings.Join(fields, ",") + "}"
}
