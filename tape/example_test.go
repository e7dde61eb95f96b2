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

// The Hessian is the Jacobian of the gradient: of x²z it is [[2z, 2x], [2x, 0]].
func ExampleTape_Jacobian_hessian() {
	t := tape.New()
	x, z := t.Input("x", tensor.Scalar(3), true), t.Input("z", tensor.Scalar(5), true)
	srcs := []tape.Ref{x, z}
	for _, g := range t.Gradient([]tape.Ref{product(t, x, x, z)}, srcs) {
		for _, h := range t.Jacobian(g, srcs, "") {
			if h == tape.None { // no path leads there
				fmt.Print("none ")
				continue
			}
			fmt.Print(t.Force(h).Item(), " ")
		}
	}
	// Output:
	// 10 6 6 none
}

// A vector-Jacobian product: of the products x·z, by the upstream gradient [1, 10].
func ExampleTape_VJP() {
	t := tape.New()
	x := t.Input("x", tensor.From([]float64{2, 3}, 2), true)
	z := t.Input("z", tensor.From([]float64{5, 7}, 2), true)
	upstream := t.Tensor(tensor.From([]float64{1, 10}, 2))
	gs := t.VJP([]tape.Ref{product(t, x, z)}, []tape.Ref{upstream}, []tape.Ref{x, z})
	fmt.Println(t.Force(gs[0]).Data, t.Force(gs[1]).Data)
	// Output:
	// [5 70] [2 30]
}

// A Jacobian-vector product: how fast x·z moves when x moves by [1, 0] and z by [0, 1].
func ExampleTape_JVP() {
	t := tape.New()
	x := t.Input("x", tensor.From([]float64{2, 3}, 2), true)
	z := t.Input("z", tensor.From([]float64{5, 7}, 2), true)
	vs := []tape.Ref{t.Tensor(tensor.From([]float64{1, 0}, 2)), t.Tensor(tensor.From([]float64{0, 1}, 2))}
	moves := t.JVP([]tape.Ref{product(t, x, z)}, []tape.Ref{x, z}, vs)
	fmt.Println(t.Force(moves[0]).Data)
	// Output:
	// [5 3]
}

// A Hessian-vector product, without the Hessian, which for x²z is [[2z, 2x], [2x, 0]].
func ExampleTape_HVP() {
	t := tape.New()
	x, z := t.Input("x", tensor.Scalar(3), true), t.Input("z", tensor.Scalar(5), true)
	hs := t.HVP(product(t, x, x, z), []tape.Ref{x, z}, []tape.Ref{t.Const(1), t.Const(10)})
	fmt.Println(t.Force(hs[0]).Item(), t.Force(hs[1]).Item()) // 2z + 10·2x and 2x
	// Output:
	// 70 6
}

// product multiplies values elementwise.
func product(t *tape.Tape, x tape.Ref, more ...tape.Ref) tape.Ref {
	multiply, _ := tape.Lookup("multiply")
	for _, y := range more {
		x = t.Apply(multiply, x, y)
	}
	return x
}

// vmap applies a function to each row, and its derivative comes row by row.
func ExampleQuestion_Answer_vmap() {
	fmt.Println(gradient("vmap(r -> r @ r)(x)", tensor.From([]float64{1, 2, 3, 4}, 2, 2)))
	// Output:
	// [5 25] [2 4 6 8]
}

// A program may say what the gradient of its function is: here half of the true one, in terms of
// the upstream gradient g.
func ExampleQuestion_Answer_customGradient() {
	fmt.Println(gradient("f(a) = a^2; gradient f(a; g) = g * a; f(x)", tensor.Scalar(3)))
	// Output:
	// [9] [3]
}

// No gradient passes stop_gradient: of x·x it is x, not 2x.
func ExampleQuestion_Answer_stopGradient() {
	fmt.Println(gradient("x * stop_gradient(x)", tensor.Scalar(3)))
	// Output:
	// [9] [3]
}

// gradient answers with the numbers of a program at x, and of its gradient.
func gradient(text string, x *tensor.Tensor) (value, grad []float64) {
	prog, err := expr.Parse("", text)
	if err != nil {
		panic(err)
	}
	a, err := (&tape.Question{Prog: prog, Op: "grad", Inputs: []tape.Input{{Name: "x", Value: tensor.Of(x)}}}).Answer()
	if err != nil {
		panic(err)
	}
	y := a.Targets[0]
	return y.Value.Tensor.Data, y.Payload.Get("x").Tensor.Data
}

// Eval reads a value as a program writes it.
func ExampleEval() {
	v, _ := tape.Eval("[1, 2^10, sqrt(9)]", tensor.Float64, 0, 0)
	fmt.Println(v.Tensor.Shape, v.Tensor.Data)
	// Output:
	// (3,) [1 1024 3]
}
