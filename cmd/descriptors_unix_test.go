//go:build unix

package cmd

import (
	"strings"
	"syscall"
	"testing"
)

// Where no file can be opened the answer is an error, and no trace of Go's runtime.
func TestScarce(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Skip(err)
	}
	low := limit
	low.Cur = 3
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Skip(err)
	}
	var out, err strings.Builder
	code := Main([]string{"eval", "1"}, strings.NewReader(""), &out, &err)
	syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
	if code != exitData || out.Len() > 0 || !strings.Contains(err.String(), "too few files may be open: 3") {
		t.Errorf("with 3 files: exit %d, stdout %q, stderr %q, want exit %d and the reason", code, out.String(), err.String(), exitData)
	}
}
