//go:build unix

package output

import (
	"io/fs"
	"sync"
	"syscall"
)

// umask is the mask of new files. It can only be read by setting it, so it is read once.
var umask = sync.OnceValue(func() fs.FileMode {
	m := syscall.Umask(0)
	syscall.Umask(m)
	return fs.FileMode(m)
})
