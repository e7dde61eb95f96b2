package input

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestPlainLines: lines of nothing but numbers, which are read at once, have the numbers and the
// mistakes that lines with a cell in quotes have, which are cut into cells.
func TestPlainLines(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	words := []string{"1", "-2.5e-3", "0", "-0", "1e400", "+1", ".5", "1.", "nan", "inf", "", "NA", "0x1", "1_0", "1.5abc", "12345678901234567890", " 7 ", "\t8", "9\t", "x"}
	for range rounds {
		cols, sep := 1+rng.IntN(3), []string{",", ";", "\t", " "}[rng.IntN(4)]
		var plain, cut strings.Builder
		for _, b := range []*strings.Builder{&plain, &cut} {
			b.WriteString(strings.Join([]string{"q", "a", "b", "c"}[:cols+1], sep) + "\n")
		}
		for range 1 + rng.IntN(4) {
			cells := make([]string, cols+rng.IntN(20)/19)
			for i := range cells {
				cells[i] = words[min(rng.IntN(len(words)), rng.IntN(len(words)))]
			}
			rest := strings.Join(cells, sep) + []string{"", "", " ", "\r"}[rng.IntN(4)] + "\n"
			plain.WriteString("1" + sep + rest)
			cut.WriteString(`"1"` + sep + rest)
		}
		got, gotErr := columnsOf(plain.String())
		want, wantErr := columnsOf(cut.String())
		if got != want || (gotErr == nil) != (wantErr == nil) || gotErr != nil && gotErr.(*Error).Msg != wantErr.(*Error).Msg {
			t.Fatalf("%q: %s, %v\n%q: %s, %v", plain.String(), got, gotErr, cut.String(), want, wantErr)
		}
	}
}

// rounds is how many random tables are read.
const rounds = 5000

// columnsOf is what there is to know of the columns of a table.
func columnsOf(text string) (string, error) {
	f, err := readColumns("t.csv", "", "", []byte(text))
	if err != nil {
		return "", err
	}
	return fmt.Sprint(f.names, f.data, f.text, f.missing, f.rows), nil
}
