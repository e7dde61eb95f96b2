package cmd

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Under ulimit -v and -d a program that would need more is refused: the runtime would end the
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
		{"y = ones(100)*x; for i in range(10000000) { y = sin(y) }; jacobian(sum(y), x)", "the 10000000 steps of this loop would record about"},
		{"sum(ones(1000000000)*x)", "does not fit into the limit"},
		{"x^2", "6"},
	} {
		for _, limit := range []string{"-v 1700000", "-v 2000000", "-v 2500000", "-d 500000"} {
			out, _ := exec.Command("sh", "-c", "ulimit "+limit+"; exec \"$0\" \"$1\" --at x=3 -r", nabla, r.text).CombinedOutput()
			if !strings.Contains(string(out), r.want) || strings.Contains(string(out), "goroutine") {
				t.Errorf("%s under ulimit %s says %.300q, want %s", r.text, limit, out, r.want)
			}
		}
	}
}

// What is free is more than nothing and less than the machine has, and bounds a part of it.
func TestFree(t *testing.T) {
	has := free()
	if has < 1<<20 || has > 1<<62 {
		t.Fatalf("%d bytes are free", has)
	}
	if most, err := memory("100%"); err != nil || most > machineMemory() || most > free()+1<<30 {
		t.Errorf("100%% of the memory is %d bytes, %v; %d are free", most, err, free())
	}
	if n, err := memory("123GiB"); err != nil || n != 123<<30 {
		t.Errorf("123GiB are %d bytes, %v", n, err)
	}
}
