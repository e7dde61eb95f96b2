package cmd

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// machineMemory is what the machine has, or the container.
func machineMemory() int64 {
	total := int64(8 << 30)
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		total = int64(uint64(info.Totalram) * uint64(info.Unit))
	}
	// Package os would set up its poller for this.
	fd, err := unix.Open("/sys/fs/cgroup/memory.max", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return total
	}
	defer unix.Close(fd)
	var b [64]byte
	n, _ := unix.Read(fd, b[:])
	if limit, err := strconv.ParseInt(strings.TrimSpace(string(b[:max(n, 0)])), 10, 64); err == nil {
		total = min(total, limit)
	}
	return total
}
