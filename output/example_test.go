package output_test

import (
	"os"

	"nabla/output"
	"nabla/tape/tensor"
)

func ExampleWrite() {
	r := &output.Result{Op: "grad", Expr: "x^2", Targets: []output.Target{{
		Value:   tensor.Of(tensor.Scalar(9)),
		Payload: &tensor.Value{Kind: tensor.KindRecord, Fields: []tensor.Field{{Name: "x", Value: tensor.Of(tensor.Scalar(6))}}},
	}}}
	output.Write(os.Stdout, r, output.Options{})
	output.Write(os.Stdout, r, output.Options{Format: "json"})
	output.Write(os.Stdout, r, output.Options{Raw: true})
	// Output:
	//  value  │ 9
	// ────────┼───
	//  grad.x │ 6
	// {"op":"grad","expr":"x^2","value":9,"grad":{"x":6}}
	// 6
}
