package kernels

import (
	_ "embed"
	"strconv"
	"strings"
)

// The measured worst errors, in ulp, over the reference tables: name and error a line,
// written by the accuracy tests.
var (
	//go:embed testdata/accuracy_exp.txt
	accuracyExp string
	//go:embed testdata/accuracy_trig.txt
	accuracyTrig string
	//go:embed testdata/accuracy_incomplete.txt
	accuracyIncomplete string
)

// Accuracy is the largest error in ulp that was measured for the kernel called name, in
// lower case; false where none was.
func Accuracy(name string) (ulp float64, ok bool) {
	for _, list := range []string{accuracyExp, accuracyTrig, accuracyIncomplete} {
		for line := range strings.Lines(list) {
			if n, v, cut := strings.Cut(strings.TrimSpace(line), " "); cut && n == name {
				ulp, err := strconv.ParseFloat(v, 64)
				return ulp, err == nil
			}
		}
	}
	return 0, false
}
