package tape_test

import (
	"fmt"

	"nabla/expr"
	"nabla/tape"
	"nabla/tape/tensor"
)

// The gradient of a program with respect to its inputs: y = x² + 3xz at x = 2, z = 5.
func ExampleQuestion_Answer() {
	prog, _ := expr.Parse("", "y = x^2 + 3*x*z")
	q := &tape.Question{Prog: prog, Op: "grad", Inputs: []tape.Input{
		{Name: "x", Value: tensor.Of(tensor.Scalar(2))},
		{Name: "z", Value: tensor.Of(tensor.Scalar(5))},
	}}
	a, err := q.Answer()
	if err != nil {
		fmt.Println(err)
		return
	}
	y := a.Targets[0]
	fmt.Println("y =", y.Value.Tensor.Item())
	for _, f := range y.Payload.Fields {
		fmt.Println("dy/d"+f.Name, "=", f.Value.Tensor.Item()) // 2x + 3z and 3x
	}
	// Output:
	// y = 34
	// dy/dx = 19
	// dy/dz = 6
}

// A source without a derivative gives none and the reason, not a zero.
func ExampleQuestion_Answer_none() {
	prog, _ := expr.Parse("", "floor(x)")
	a, _ := (&tape.Question{Prog: prog, Op: "grad", Inputs: []tape.Input{{Name: "x", Value: tensor.Of(tensor.Scalar(2.5))}}}).Answer()
	fmt.Println(a.Targets[0].Unconnected[0].Why)
	// Output:
	// floor is not differentiable at 1:1
}

// A tape records first and computes when a number is wanted.
func ExampleTape_Gradient() {
	t := tape.New()
	x := t.Input("x", tensor.Scalar(3), true)
	square, _ := tape.Lookup("square")
	y := t.Apply(square, x)
	g := t.Gradient([]tape.Ref{y}, []tape.Ref{x})[0]
	fmt.Println(t.Force(y).Item(), t.Force(g).Item())
	// Output:
	// 9 6
}

// Derivatives are more tape, so they nest: the second derivative of x³ at 2 is 6x.
func ExampleTape_Gradient_second() {
	t := tape.New()
	x := t.Input("x", tensor.Scalar(2), true)
	power, _ := tape.Lookup("power")
	y := t.Apply(power, x, t.Const(3))
	first := t.Gradient([]tape.Ref{y}, []tape.Ref{x})
	second := t.Gradient(first, []tape.Ref{x})
	fmt.Println(t.Force(first[0]).Item(), t.Force(second[0]).Item())
	// Output:
	// 12 12
}

// The Jacobian of the elementwise square is diagonal.
func ExampleTape_Jacobian() {
	t := tape.New()
	x := t.Input("x", tensor.From([]float64{1, 2}, 2), true)
	square, _ := tape.Lookup("square")
	j := t.Jacobian(t.Apply(square, x), []tape.Ref{x}, "")[0]
	t.Values([]tape.Ref{j})
	fmt.Println(t.Shape(j), t.Force(j).Data)
	// Output:
	// (2, 2) [2 0 0 4]
}

// Eval reads a value as a program writes it.
func ExampleEval() {
	v, _ := tape.Eval("[1, 2^10, sqrt(9)]", tensor.Float64, 0, 0)
	fmt.Println(v.Tensor.Shape, v.Tensor.Data)
	// Output:
	// (3,) [1 1024 3]
}
