package assert_test

import (
	"fmt"

	"nabla/cmd/assert"
	"nabla/tape/tensor"
)

func ExampleEval() {
	gradient := &tensor.Value{Kind: tensor.KindRecord, Fields: []tensor.Field{{Name: "x", Value: tensor.Of(tensor.Scalar(6))}}}
	facts := assert.Of("grad", tensor.Of(tensor.Scalar(9)), gradient)
	fmt.Println(assert.Eval("value == 9 && abs(grad.x - 6) < 1e-12 && finite", facts))
	fmt.Println(assert.Eval("norm < 1e-6", facts))
	// Output:
	// true <nil>
	// false <nil>
}
