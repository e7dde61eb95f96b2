package assert

import (
	"math"
	"strings"
	"testing"

	"nabla/tape/tensor"
)

func TestEval(t *testing.T) {
	facts := Facts{"value": 4.0, "norm": 3e-7, "finite": true, "nnz": 3.0, "grad.x": 6.0, "grad.layer.w": 0.5, "x": 6.0, "max": 2.0, "v": several(3), "grad.v": several(3)}
	rows := []struct {
		cond string
		want bool
	}{
		{"norm < 1e-6 && finite && nnz == 3", true},
		{"norm < 1e-7", false},
		{"finite", true},
		{"!finite", false},
		{"not finite or nnz == 3", true},
		{"abs(value-4) < 1e-12", true},
		{"abs(value-5) < 1e-12", false},
		{"grad.x == 6", true},
		{"grad.layer.w == 0.5", true},
		{"x^2 == 36", true},       // ^ is power
		{"-value^2 == -16", true}, // and binds tighter than minus
		{"value > 3 ? nnz == 3 : norm > 1", true},
		{"max(value, x) == 6", true}, // the function
		{"max == 2", true},           // the fact
		{"sqrt(value) == 2 && log(exp(x)) == x", true},
		{"nan != nan", true},
		{"true", true},
	}
	for _, r := range rows {
		if got, err := Eval(r.cond, facts); err != nil || got != r.want {
			t.Errorf("%s = %v, %v, want %v", r.cond, got, err, r.want)
		}
	}
	for cond, want := range map[string]string{
		"nrom < 1":      `no fact nrom`,
		"grad.y < 1":    `no fact grad.y`,
		"nrm(norm) < 1": `no function nrm for conditions`,
		"grad.v < 1":    `grad.v is a tensor of 3 numbers`,
		"v[0] < 1":      `v is a tensor of 3 numbers`,
		"norm":          "is a number",
		"norm <":        "",
		"frob(x) < 1":   "frob",
		"grad(x) == 1":  "grad",
		"finite + 1":    "is a number",
	} {
		if got, err := Eval(cond, facts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s = %v, %v, want an error with %q", cond, got, err, want)
		}
	}
}

func TestShow(t *testing.T) {
	facts := Facts{"norm": 2.0, "finite": true, "max": 3.0, "grad.x": math.Inf(1)}
	for cond, want := range map[string]string{
		"norm < 1":               "norm is 2",
		"norm < 1 && norm > 0":   "norm is 2", // once
		"finite && grad.x < max": "finite is true, grad.x is inf, max is 3",
		"max(norm, 1) < pi":      "norm is 2", // max is the function
		"1 < 0":                  "",
	} {
		if got := facts.Show(cond); got != want {
			t.Errorf("the facts of %q are %q, want %q", cond, got, want)
		}
	}
}

func TestOf(t *testing.T) {
	payload := &tensor.Value{Kind: tensor.KindRecord, Fields: []tensor.Field{
		{Name: "x", Value: tensor.Of(tensor.Scalar(-12))},
		{Name: "w", Value: tensor.Of(tensor.From([]float64{3, 4, 0}, 3))},
		{Name: "b", Value: tensor.None("unconnected")},
		{Name: "layer", Value: &tensor.Value{Kind: tensor.KindRecord, Fields: []tensor.Field{{Name: "k", Value: tensor.Of(tensor.Scalar(0))}}}},
	}}
	facts := Of("grad", tensor.Of(tensor.Scalar(7)), payload)
	for _, cond := range []string{
		"norm == 13", "max == 4", "min == -12", "absmax == 12", "finite", "size == 5", "zeros == 2", "nnz == 3",
		"nan == 0", "none == 1", "value == 7", "x == -12", "grad.x == x", "grad.layer.k == 0", "layer.k == 0",
	} {
		if got, err := Eval(cond, facts); err != nil || !got {
			t.Errorf("%s = %v, %v, want true", cond, got, err)
		}
	}
	if _, err := Eval("w < 1", facts); err == nil {
		t.Error("w < 1 of a vector has an answer, want an error")
	}
	if got := Of("eval", nil, tensor.Of(tensor.From([]float64{math.NaN(), math.Inf(1)}, 2))); got["finite"] != false || got["nan"] != 1.0 {
		t.Errorf("facts of [NaN, inf] = %v, want not finite, one NaN", got)
	}
}
