package input_test

import (
	"fmt"

	"nabla/cmd/input"
)

func ExampleReadJSON() {
	doc, err := input.ReadJSON("model.json", []byte(`{"x": [1, 2], "layer": {"w": [[1, 2], [3, 4]], "b": 0}}`))
	fmt.Println(len(doc.Vars), err)
	w, _ := input.Resolve(doc.Vars, "layer.w")
	fmt.Println(w.Tensor.Shape, w.Tensor.Data)

	_, err = input.ReadJSON("ragged.json", []byte(`{"x": [[1, 2], [3]]}`))
	fmt.Println(err)
	// Output:
	// 2 <nil>
	// (2, 2) [1 2 3 4]
	// ragged.json: x[1]: row 1 has 1 element where 2 are expected (line 1, column 18, byte 17)
}

func ExampleSplitAssignments() {
	list, _ := input.SplitAssignments("x=[1, 2], layer.w=@w.npy")
	for _, a := range list {
		fmt.Println(a.Name, "is", a.Text)
	}
	// Output:
	// x is [1, 2]
	// layer.w is @w.npy
}
