package referee_test

import (
	"fmt"

	"nabla/expr"
	"nabla/expr/referee"
	"nabla/tape/tensor"
)

func ExampleEvaluator_Eval() {
	p, _ := expr.Parse("", "y = x^2; -y + 2^-1")
	e, _ := referee.Compile(p)
	v, _ := e.Eval(map[string]*tensor.Value{"x": tensor.Of(tensor.Scalar(3))})
	fmt.Println(v.Tensor.Item())
	fmt.Print(e.Text()) // what govaluate was given
	// Output:
	// -8.5
	// y = (x ** 2)
	// ((-y) + (2 ** (-1)))
}
