package tape

import "nabla/kernels"

const no = "a comparison is not differentiable"

var logicRows = []Op{
	{Name: "less", Args: "x, y", Doc: "x < y", Stops: no, Kernel: binary(&kernels.Lt, kernels.LtOf), Gives: givesBool},
	{Name: "less_equal", Args: "x, y", Doc: "x <= y", Stops: no, Kernel: binary(&kernels.Le, kernels.LeOf), Gives: givesBool},
	{Name: "greater", Args: "x, y", Doc: "x > y", Stops: no, Kernel: binary(&kernels.Gt, kernels.GtOf), Gives: givesBool},
	{Name: "greater_equal", Args: "x, y", Doc: "x >= y", Stops: no, Kernel: binary(&kernels.Ge, kernels.GeOf), Gives: givesBool},
	{Name: "equal", Args: "x, y", Doc: "x == y", Stops: no, Kernel: binary(&kernels.Eq, kernels.EqOf), Gives: givesBool},
	{Name: "not_equal", Args: "x, y", Doc: "x != y", Stops: no, Kernel: binary(&kernels.Ne, kernels.NeOf), Gives: givesBool},
	{Name: "logical_and", Args: "x, y", Doc: "both hold", Stops: no, Kernel: binary(&kernels.And, kernels.AndOf), Gives: givesBool},
	{Name: "logical_or", Args: "x, y", Doc: "one or both hold", Stops: no, Kernel: binary(&kernels.Or, kernels.OrOf), Gives: givesBool},
	{Name: "logical_xor", Args: "x, y", Doc: "exactly one holds", Body: "(x != 0) != (y != 0)"},
	{Name: "logical_not", Alias: []string{"not"}, Args: "x", Doc: "does not hold", Stops: no, Kernel: unary(&kernels.Not, kernels.NotOf), Gives: givesBool},
	{Name: "isnan", Alias: []string{"is_nan"}, Args: "x", Doc: "is it NaN", Stops: no, Kernel: unary(&kernels.IsNaN, kernels.IsNaNOf), Gives: givesBool},
	{Name: "isinf", Alias: []string{"is_inf"}, Args: "x", Doc: "is it infinite", Stops: no, Kernel: unary(&kernels.IsInf, kernels.IsInfOf), Gives: givesBool},
	{Name: "isposinf", Args: "x", Doc: "is it inf", Body: "x == inf"},
	{Name: "isneginf", Args: "x", Doc: "is it -inf", Body: "x == -inf"},
	{Name: "signbit", Args: "x", Doc: "is it below 0, or -0", Body: "copysign(1, x) < 0"},
	{Name: "isclose", Args: "x, y, #rtol=1e-5, #atol=1e-8", Doc: "is x within atol + rtol |y| of y", Body: "where(isfinite(x) && isfinite(y), abs(x - y) <= atol + rtol*abs(y), x == y)"},
	{Name: "allclose", Args: "x, y, #rtol=1e-5, #atol=1e-8", Doc: "is all of x close to y", Body: "all(isclose(x, y, rtol, atol))"},
	{Name: "isfinite", Alias: []string{"is_finite"}, Args: "x", Doc: "is it a finite number", Stops: no, Kernel: unary(&kernels.IsFinite, kernels.IsFiniteOf), Gives: givesBool},
}
