//go:build unix

package cmd

import (
	"fmt"
	"os"
	"syscall"
)

// scarce reports that too few files may be open. Go's runtime needs two descriptors to
// wait for anything, a file or a timer, and ends the process with a trace where it gets
// none; an input and an output are two more.
func scarce() error {
	const needed, plenty = 4, 1024
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil || uint64(limit.Cur) >= plenty {
		return nil
	}
	for range needed {
		fd, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err == syscall.EMFILE {
			return &failure{code: exitData, kind: "data", msg: fmt.Sprintf("too few files may be open: %d", limit.Cur), hint: "ulimit -n raises it"}
		}
		if err == nil {
			defer syscall.Close(fd)
		}
	}
	return nil
}
