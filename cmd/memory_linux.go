package cmd

import (
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// machineMemory is what the machine has, or the container, or what the shell's ulimit leaves.
func machineMemory() int64 {
	return min(installed(), allowed())
}

// allowed is what the limits of the process (ulimit -v and -d) leave of its address space
// and of its data: half of what it has not taken yet, after the threads that will come. The
// runtime takes address space in pieces of 64 MiB, leaves gaps between what grows, and ends
// the process when there is none left.
func allowed() int64 {
	least := uint64(1 << 62)
	for _, what := range []struct {
		limit  int
		has    int    // which number of /proc/self/statm says what the process has of it, in pages
		thread uint64 // what a thread takes
	}{{syscall.RLIMIT_AS, 0, threadSpace}, {syscall.RLIMIT_DATA, 5, threadData}} {
		var limit syscall.Rlimit
		if syscall.Getrlimit(what.limit, &limit) != nil || limit.Cur >= 1<<62 {
			continue
		}
		left := limit.Cur
		if has := strings.Fields(readFile("/proc/self/statm")); what.has < len(has) {
			pages, _ := strconv.ParseUint(has[what.has], 10, 64)
			left -= min(left, pages*uint64(syscall.Getpagesize()))
		}
		procs := runtime.GOMAXPROCS(0)
		if most := max(1, int(left/(4*what.thread))); procs > most { // threads that find no room end the process, too
			procs = most
			runtime.GOMAXPROCS(procs)
		}
		left -= min(left, uint64(procs+1)*what.thread)
		least = min(least, max(left/2, 1<<20)) // 0 would be no limit
	}
	return int64(least)
}

// free is what the system says can be had without taking it from others, page cache
// included, or as much as can be. It is in the third line of meminfo:
//
//	MemAvailable:   12345678 kB
func free() int64 {
	if f := strings.Fields(readFile("/proc/meminfo")); len(f) > 7 && f[6] == "MemAvailable:" {
		if n, err := strconv.ParseInt(f[7], 10, 64); err == nil && n > 0 {
			return n << 10
		}
	}
	return 1 << 62
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
	var b [256]byte
	n, _ := syscall.Read(fd, b[:])
	return string(b[:max(n, 0)])
}
