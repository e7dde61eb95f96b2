package tape

import "nabla/kernels"

func init() {
	const no = "a comparison is not differentiable"
	register("comparisons and logic", []*Op{
		{Name: "less", Args: "x, y", Doc: "x < y", Stops: no, Kernel: kernels.Lt, One: kernels.LtOf, Gives: givesBool},
		{Name: "less_equal", Args: "x, y", Doc: "x <= y", Stops: no, Kernel: kernels.Le, One: kernels.LeOf, Gives: givesBool},
		{Name: "greater", Args: "x, y", Doc: "x > y", Stops: no, Kernel: kernels.Gt, One: kernels.GtOf, Gives: givesBool},
		{Name: "greater_equal", Args: "x, y", Doc: "x >= y", Stops: no, Kernel: kernels.Ge, One: kernels.GeOf, Gives: givesBool},
		{Name: "equal", Args: "x, y", Doc: "x == y", Stops: no, Kernel: kernels.Eq, One: kernels.EqOf, Gives: givesBool},
		{Name: "not_equal", Args: "x, y", Doc: "x != y", Stops: no, Kernel: kernels.Ne, One: kernels.NeOf, Gives: givesBool},
		{Name: "logical_and", Args: "x, y", Doc: "both hold", Stops: no, Kernel: kernels.And, One: kernels.AndOf, Gives: givesBool},
		{Name: "logical_or", Args: "x, y", Doc: "one or both hold", Stops: no, Kernel: kernels.Or, One: kernels.OrOf, Gives: givesBool},
		{Name: "logical_xor", Args: "x, y", Doc: "exactly one holds", Body: "(x != 0) != (y != 0)"},
		{Name: "logical_not", Alias: []string{"not"}, Args: "x", Doc: "does not hold", Stops: no, Kernel: kernels.Not, One: kernels.NotOf, Gives: givesBool},
		{Name: "isnan", Args: "x", Doc: "is it NaN", Stops: no, Kernel: kernels.IsNaN, One: kernels.IsNaNOf, Gives: givesBool},
		{Name: "isinf", Args: "x", Doc: "is it infinite", Stops: no, Kernel: kernels.IsInf, One: kernels.IsInfOf, Gives: givesBool},
		{Name: "isfinite", Args: "x", Doc: "is it a finite number", Stops: no, Kernel: kernels.IsFinite, One: kernels.IsFiniteOf, Gives: givesBool},
	})
}
