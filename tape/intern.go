package tape

import (
	"slices"

	"nabla/tape/tensor"
)

// few interned things are found by looking at all of them; of more there is a map.
const few = 16

// shapeID is the number of a shape. None has more axes than a Jacobian of inputs: 50,000 would fill the memory.
func (t *Tape) shapeID(s tensor.Shape) int32 {
	if len(s) == 0 {
		return 0
	}
	if most := 2 * tensor.MaxRank; len(s) > most {
		panic(&Misuse{Kind: "shape", Pos: t.pos, Msg: "a tensor has at most " + itoa(most) + " axes"})
	}
	return intern(&t.shapes, &t.shapeIDs, s)
}

// intern is the number of s in list, where it is put if it is new.
func intern[S ~[]T, T int | int32](list *[]S, ids *map[string]int32, s S) int32 {
	if len(*list) <= few {
		for i, x := range *list {
			if slices.Equal(x, s) {
				return int32(i)
			}
		}
	} else {
		if *ids == nil {
			*ids = map[string]int32{}
			for i, x := range *list {
				(*ids)[string(intsKey(nil, x))] = int32(i)
			}
		}
		var room [64]byte
		key := intsKey(room[:0], s)
		if id, ok := (*ids)[string(key)]; ok {
			return id
		}
		(*ids)[string(key)] = int32(len(*list))
	}
	*list = append(*list, slices.Clone(s))
	return int32(len(*list) - 1)
}

// intsKey appends to b what tells s from others.
func intsKey[T int | int32](b []byte, s []T) []byte {
	for _, v := range s {
		b = append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24), byte(int64(v)>>32))
	}
	return b
}

func (t *Tape) setID(axes []int32) int32 {
	if len(axes) == 0 {
		return 0
	}
	return intern(&t.sets, &t.setIDs, axes)
}

// union is the batch of what varies along a and along b.
func (t *Tape) union(a, b int32) int32 {
	switch {
	case a == b || b == 0:
		return a
	case a == 0:
		return b
	}
	key := [2]int32{a, b}
	if id, ok := t.unions[key]; ok {
		return id
	}
	s := append(slices.Clone(t.sets[a]), t.sets[b]...)
	slices.Sort(s)
	id := t.setID(slices.Compact(s))
	if t.unions == nil {
		t.unions = map[[2]int32]int32{}
	}
	t.unions[key] = id
	return id
}

// minus is the batch a without the axes of b.
func (t *Tape) minus(a, b int32) int32 {
	if a == 0 || b == 0 {
		return a
	}
	var s []int32
	for _, x := range t.sets[a] {
		if !slices.Contains(t.sets[b], x) {
			s = append(s, x)
		}
	}
	return t.setID(s)
}

// NewAxis opens a batch axis of the given size.
func (t *Tape) NewAxis(size int) int {
	t.axes = append(t.axes, size)
	return len(t.axes) - 1
}

func (t *Tape) newAttr(a Attr) int32 {
	t.attrs = append(t.attrs, a)
	return int32(len(t.attrs) - 1)
}
