//go:build !amd64 || purego || !(linux || darwin)

package kernels

// A Machine is machine code of lines, which there is not here.
type Machine struct{}

// Fuse has nothing to give here.
func Fuse([]Line, int, func(int32) Column) (*Machine, Call) { return nil, Call{} }

// Fuse32 has nothing to give here.
func Fuse32([]Line, int, func(int32) Column) (*Machine, Call) { return nil, Call{} }

// FuseRows has nothing to give here.
func FuseRows([]Line, int, func(int32) Column) (*Machine, Call) { return nil, Call{} }

// FusePieces has nothing to give here.
func FusePieces([]Line, int, func(int32) Column, []Piece) (*Machine, Call) { return nil, Call{} }

// MakeSteps has nothing to give here.
func MakeSteps([]Line) *Machine { return nil }

// MakeLanes has nothing to give here.
func MakeLanes([]Line) *Machine { return nil }

// StepLanes is how many points are worth taking at once.
func StepLanes() int { return restLanes }

// Steps does none.
func (*Machine) Steps(_ []float64, _ [][]float64, from, _ int) int { return from }
