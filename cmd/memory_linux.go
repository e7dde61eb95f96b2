package cmd

import (
	"strconv"
	"strings"
	"syscall"
)

// machineMemory is what the machine has, or the container.
func machineMemory() int64 {
	total := int64(8 << 30)
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) == nil {
		total = int64(uint64(info.Totalram) * uint64(info.Unit))
	}
	// Package os would set up its poller for this.
	fd, err := syscall.Open("/sys/fs/cgroup/memory.max", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return total
	}
	defer syscall.Close(fd)
	var b [64]byte
	n, _ := syscall.Read(fd, b[:])
	if limit, err := strconv.ParseInt(strings.TrimSpace(string(b[:max(n, 0)])), 10, 64); err == nil {
		total = min(total, limit)
	}
	return total
}
