package expr_test

import (
	"fmt"

	"nabla/expr"
)

func ExampleParse() {
	p, err := expr.Parse("", "f(t) = t^2 * sin(t); f(x) + a")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(expr.Print(p))
	fmt.Println("inputs:", expr.FreeNames(p))
	// Output:
	// f(t) = t^2 * sin(t)
	// f(x) + a
	// inputs: [x a]
}

func ExampleError_Render() {
	_, err := expr.Parse("", "y = 3x^2")
	fmt.Println(err.(*expr.Error).Render())
	// Output:
	// expected an operator between 3 and x
	//     y = 3x^2
	//          ^
	//     hint: write 3*x
}
