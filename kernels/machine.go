package kernels

import (
	"math"
	"slices"
	"sync"
	"unsafe"
)

// A Do is what a Line does to its arguments.
type Do uint8

// The kernel of its name says what a Do does: DoLogSlope does LogSlope. They stand in the
// order of how many arguments they take.
const (
	DoNothing Do = iota
	DoCopy
	DoNeg
	DoAbs
	DoSign
	DoSqrt
	DoRecip
	DoLogSlope
	DoLog1pSlope
	DoSquare
	DoCube
	DoFourth
	DoFloor
	DoCeil
	DoTrunc
	DoRound
	DoFloat32
	DoNot
	DoIsNaN
	DoIsInf
	DoIsFinite
	DoAdd
	DoSub
	DoMul
	DoDiv
	DoZMul
	DoMaximum
	DoMinimum
	DoLt
	DoLe
	DoGt
	DoGe
	DoEq
	DoNe
	DoAnd
	DoOr
	DoFMA
	DoWhere
	DoLoad // an element of an array, by its number; in Steps
	DoLeaf // a function; in Steps
	DoSum  // adds to the Lanes at Dst; in Fuse
	DoOdd  // leaves a NaN or an infinity in the Lanes at Dst where there is one; in Fuse
	DoNear // brings the elements of Dst that are Far on into the cache; in Fuse
	DoMine // DoNear, to write them
)

// A Line is an operation of straight-line code on columns of float64: element i of Dst
// becomes what Do makes of the elements i of Arg. Columns are known by numbers.
type Line struct {
	Do    Do
	Dst   int32
	Arg   [3]int32
	Keep  bool  // somebody else reads Dst; otherwise only lines do, and it may never be written
	Aside bool  // in Fuse: Dst begins at a multiple of 64 bytes, and is written past the caches
	Array int32 // DoLoad: which
	Far   int32 // DoNear, DoMine: how many elements ahead
	Leaf  Leaf  // DoLeaf: the function
}

// A Column says where a column of Fuse lies.
type Column uint8

const (
	InLine Column = iota // a known distance from others that are in line, too
	Apart
	Along  // in FuseRows: apart, and tiles go along it
	OfTile // in FuseRows: apart, and a Number of which each tile has the next
	Number // in line; all its elements are the first, which alone is there
	Nought // a Number, known to be +0
	Known  // a Number, known to be neither a zero nor NaN

	Wide       // in Fuse32: apart, and of float64
	WideNumber // in Fuse32: likewise, all its elements being the first
)

// NumberOf is the Column of a Number that is known to be v.
func NumberOf(v float64) Column {
	switch {
	case math.Float64bits(v) == 0:
		return Nought
	case v == 0 || v != v:
		return Number
	}
	return Known
}

// isNumber reports whether all elements are one.
func (c Column) isNumber() bool { return c >= OfTile && c <= Known }

// A Piece is a part of the elements of columns, from the end of the one before up to End. Some
// columns are read elsewhere in it.
type Piece struct {
	End   int
	Reads []Read
}

// A Read says where a column is read: its element i is element i+By of column From.
type Read struct {
	Column, From int32
	By           int
}

// read says where the piece has a column; nil: where it is.
func (x *Piece) read(p int32) *Read {
	if i := slices.IndexFunc(x.Reads, func(r Read) bool { return r.Column == p }); i >= 0 {
		return &x.Reads[i]
	}
	return nil
}

// args is how many arguments a Line has.
func (l *Line) args() int {
	switch {
	case l.Do == DoLeaf:
		return l.Leaf.args
	case l.Do >= DoNear:
		return 0
	case l.Do == DoLoad || l.Do == DoSum || l.Do == DoOdd || l.Do < DoAdd:
		return 1
	case l.Do < DoFMA:
		return 2
	}
	return 3
}

// A Leaf is a function of up to three numbers that machine code can call.
type Leaf struct {
	code    uintptr
	args    int
	vectors int // how many registers of vectors it may change, from the first on
}

// restLanes is StepLanes where there is no machine code.
const restLanes = 8

// LeafOf is the leaf of a kernel's scalar twin, of one, two or three arguments; false: it
// has none here.
func LeafOf[F any](twin F, args int) (Leaf, bool) {
	f := *(*unsafe.Pointer)(unsafe.Pointer(&twin))
	code := leafOf(f)
	if code == 0 {
		return Leaf{}, false
	}
	return Leaf{code, args, max(args, leafVectors(f))}, true
}

// DoOf is what the kernel behind a door does, or DoNothing where machine code cannot do
// it in a few instructions. The door is a *func of slices: &Add.
func DoOf(door any) Do {
	doorsOnce.Do(findDoors)
	return doors[door]
}

// What kernels do, by their doors; found when first asked for.
var (
	doorsOnce sync.Once
	doors     map[any]Do
)

func findDoors() {
	doors = map[any]Do{
		&Copy: DoCopy, &Neg: DoNeg, &Abs: DoAbs, &Sign: DoSign, &Sqrt: DoSqrt, &Recip: DoRecip, &LogSlope: DoLogSlope,
		&Log1pSlope: DoLog1pSlope, &Square: DoSquare, &Cube: DoCube, &Fourth: DoFourth, &Floor: DoFloor, &Ceil: DoCeil, &Trunc: DoTrunc, &Round: DoRound,
		&Float32: DoFloat32, &Not: DoNot, &IsNaN: DoIsNaN, &IsInf: DoIsInf, &IsFinite: DoIsFinite,
		&Add: DoAdd, &Sub: DoSub, &Mul: DoMul, &Div: DoDiv, &ZMul: DoZMul, &Maximum: DoMaximum, &Minimum: DoMinimum,
		&Lt: DoLt, &Le: DoLe, &Gt: DoGt, &Ge: DoGe, &Eq: DoEq, &Ne: DoNe, &And: DoAnd, &Or: DoOr, &FMA: DoFMA, &Where: DoWhere,
	}
}

// DoLink is what a link of a pair does; LinkSubFrom does DoSub, of its arguments swapped.
func DoLink(l Link) Do { return [...]Do{DoAdd, DoSub, DoMul, DoZMul, DoSub}[l] }
