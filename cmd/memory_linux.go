package cmd

import (
	"strconv"
	"strings"
	"syscall"
)

// machineMemory is what the machine has, or the container, or what the shell's ulimit leaves.
func machineMemory() int64 {
	return min(installed(), allowed())
}

// allowed is what the limits of the process leave of its address space, of which the
// runtime holds a part before it uses it.
func allowed() int64 {
	const addresses, data = syscall.RLIMIT_AS, syscall.RLIMIT_DATA
	least := uint64(1 << 62)
	for _, what := range []int{addresses, data} {
		var limit syscall.Rlimit
		if syscall.Getrlimit(what, &limit) != nil || limit.Cur >= 1<<62 {
			continue
		}
		used := uint64(0)
		if what == addresses {
			used = addressSpace()
		}
		least = min(least, limit.Cur-min(limit.Cur, used))
	}
	return int64(least)
}

// addressSpace is how much of it the process has.
func addressSpace() uint64 {
	b := readFile("/proc/self/statm")
	pages, _, _ := strings.Cut(b, " ")
	n, _ := strconv.ParseUint(pages, 10, 64)
	return n * uint64(syscall.Getpagesize())
}

// installed is the memory of the machine, or of the container.
func installed() int64 {
	total := int64(8 << 30)
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) == nil {
		total = int64(uint64(info.Totalram) * uint64(info.Unit))
	}
	if limit, err := strconv.ParseInt(strings.TrimSpace(readFile("/sys/fs/cgroup/memory.max")), 10, 64); err == nil {
		total = min(total, limit)
	}
	return total
}

// readFile is the beginning of a small file, or "". Package os would set up its poller for this.
func readFile(name string) string {
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer syscall.Close(fd)
	var b [64]byte
	n, _ := syscall.Read(fd, b[:])
	return string(b[:max(n, 0)])
}
