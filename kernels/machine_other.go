//go:build !amd64 || purego || !unix

package kernels

// A Machine is machine code of lines, which there is not here.
type Machine struct{}

// Fuse has nothing to give here.
func Fuse([]Line, int, func(int32) Column) (*Machine, Call) { return nil, Call{} }

// MakeSteps has nothing to give here.
func MakeSteps([]Line) *Machine { return nil }

// Steps is not called here.
func (*Machine) Steps([]float64, [][]float64, int, int) int { panic("kernels: no machine code") }
