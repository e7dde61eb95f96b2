package kernels

import (
	"bufio"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var reference = flag.String("reference", "testdata", "folder of NAME.ulp files to measure errors against")

// A truth is a row of a NAME.ulp file: the function of args is value plus tail
// ulps of value.
type truth struct {
	args        []float64
	value, tail float64
}

// truths reads the rows of a function, which _table/oracle.py has computed to
// more than a hundred digits.
func truths(t *testing.T, name string) []truth {
	t.Helper()
	f, err := os.Open(filepath.Join(*reference, name+".ulp"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []truth
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		var r truth
		for _, s := range fields[:len(fields)-1] {
			b, err := strconv.ParseUint(s, 16, 64)
			if err != nil {
				t.Fatalf("%s: %v", f.Name(), err)
			}
			r.args = append(r.args, math.Float64frombits(b))
		}
		n := len(r.args) - 1
		r.args, r.value = r.args[:n], r.args[n]
		if r.tail, err = strconv.ParseFloat(fields[n+1], 64); err != nil {
			t.Fatalf("%s: %v", f.Name(), err)
		}
		rows = append(rows, r)
	}
	return rows
}

// ulps is the distance of got from the truth in units of the true value's last place.
func (r truth) ulps(got float64) float64 {
	a := math.Abs(r.value)
	unit := math.Nextafter(a, math.Inf(1)) - a
	if a == math.MaxFloat64 {
		unit = 0x1p971
	}
	d := math.Abs((got-r.value)/unit - r.tail)
	if d != d {
		return math.Inf(1)
	}
	return d
}

// checkUlps fails where f errs by more than bound ulp; it prints the worst error and returns it.
func checkUlps(t *testing.T, name string, bound float64, f func(args []float64) float64) float64 {
	t.Helper()
	worst, at := 0.0, truth{}
	for _, r := range truths(t, name) {
		if u := r.ulps(f(r.args)); u > worst || u != u {
			worst, at = u, r
		}
	}
	where := fmt.Sprintf("%s%x = %x, want %x %+.3f ulp", name, at.args, f(at.args), at.value, at.tail)
	t.Logf("%s: at most %.3f ulp: %s", name, worst, where)
	if worst > bound {
		t.Errorf("%s errs by %.3f ulp, want at most %.3f: %s", name, worst, bound, where)
	}
	return worst
}
