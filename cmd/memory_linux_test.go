package cmd

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Under ulimit -v a program that would need more is refused: the runtime would end the
// process with a dump.
func TestAddressSpace(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command")
	}
	nabla := filepath.Join(t.TempDir(), "nabla")
	if out, err := exec.Command("go", "build", "-o", nabla, "nabla").CombinedOutput(); err != nil {
		t.Skipf("go build: %v: %s", err, out)
	}
	for _, r := range []struct{ text, want string }{
		{"y = ones(100)*x; for i in range(10000000) { y = sin(y) }; sum(y)", "the program records more than"},
		{"sum(ones(1000000000)*x)", "does not fit into the limit"},
		{"x^2", "6"},
	} {
		for _, kib := range []int{1_700_000, 2_000_000, 2_500_000} {
			out, _ := exec.Command("sh", "-c", "ulimit -v "+strconv.Itoa(kib)+"; exec \"$0\" \"$1\" --at x=3 -r", nabla, r.text).CombinedOutput()
			if !strings.Contains(string(out), r.want) || strings.Contains(string(out), "goroutine") {
				t.Errorf("%s in %d KiB says %.300q, want %s", r.text, kib, out, r.want)
			}
		}
	}
}
