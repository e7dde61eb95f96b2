//go:build !unix

package output

import "io/fs"

func umask() fs.FileMode { return 0 }
