//go:build !purego && (linux || darwin)

package kernels

import (
	"slices"
	"sync"
)

// kept are the machines that were made last, the latest asked for first: a question that
// is asked anew asks for the same ones. What it takes to make one is ten microseconds of
// the system's and one for each line.
var kept struct {
	sync.Mutex
	list []keptMachine
}

// A keptMachine is a machine and all that it was made from.
type keptMachine struct {
	width   length
	layout  []int32
	lines   []Line
	machine *Machine
}

const (
	mostKept      = 64
	mostKeptLines = 512 // of a machine; longer ones take long to run, too
)

// madeBefore is the machine that was made before of these lines and this layout, or nil.
func madeBefore(layout []int32, lines []Line) *Machine {
	kept.Lock()
	defer kept.Unlock()
	for i := range kept.list {
		k := &kept.list[i]
		if k.width == widest() && slices.Equal(k.layout, layout) && slices.Equal(k.lines, lines) {
			found := *k
			copy(kept.list[1:i+1], kept.list[:i])
			kept.list[0] = found
			return found.machine
		}
	}
	return nil
}

// remember keeps a machine, if it was made.
func remember(layout []int32, lines []Line, x *Machine) *Machine {
	if x != nil && len(lines) <= mostKeptLines {
		kept.Lock()
		defer kept.Unlock()
		if len(kept.list) == mostKept {
			kept.list = slices.Delete(kept.list, mostKept-1, mostKept)
		}
		kept.list = slices.Insert(kept.list, 0, keptMachine{widest(), slices.Clone(layout), slices.Clone(lines), x})
	}
	return x
}
