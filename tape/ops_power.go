package tape

import "nabla/kernels"

// powerRows are the written powers that are products: whole ones and halves, of few factors, each with
// the derivative and the kinks of power. Those of 2, 3, 4 and -1 have names of their own.
var powerRows = []Op{
	{Name: "power_5", Exponent: 5, Hidden: true, Args: "x", Doc: "x^5, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.Power5, kernels.Power5Of), Try: at(-2, 0, 1.5)},
	{Name: "power_6", Exponent: 6, Hidden: true, Args: "x", Doc: "x^6, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.Power6, kernels.Power6Of), Try: at(-2, 0, 1.5)},
	{Name: "power_7", Exponent: 7, Hidden: true, Args: "x", Doc: "x^7, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.Power7, kernels.Power7Of), Try: at(-2, 0, 1.5)},
	{Name: "power_8", Exponent: 8, Hidden: true, Args: "x", Doc: "x^8, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.Power8, kernels.Power8Of), Try: at(-2, 0, 1.5)},
	{Name: "power_9", Exponent: 9, Hidden: true, Args: "x", Doc: "x^9, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.Power9, kernels.Power9Of), Try: at(-2, 0, 1.5)},
	{Name: "power_10", Exponent: 10, Hidden: true, Args: "x", Doc: "x^10, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.Power10, kernels.Power10Of), Try: at(-2, 0, 1.5)},
	{Name: "power_11", Exponent: 11, Hidden: true, Args: "x", Doc: "x^11, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.Power11, kernels.Power11Of), Try: at(-2, 0, 1.5)},
	{Name: "power_12", Exponent: 12, Hidden: true, Args: "x", Doc: "x^12, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.Power12, kernels.Power12Of), Try: at(-2, 0, 1.5)},
	{Name: "power_13", Exponent: 13, Hidden: true, Args: "x", Doc: "x^13, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.Power13, kernels.Power13Of), Try: at(-2, 0, 1.5)},
	{Name: "power_14", Exponent: 14, Hidden: true, Args: "x", Doc: "x^14, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.Power14, kernels.Power14Of), Try: at(-2, 0, 1.5)},
	{Name: "power_15", Exponent: 15, Hidden: true, Args: "x", Doc: "x^15, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.Power15, kernels.Power15Of), Try: at(-2, 0, 1.5)},
	{Name: "power_16", Exponent: 16, Hidden: true, Args: "x", Doc: "x^16, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.Power16, kernels.Power16Of), Try: at(-2, 0, 1.5)},
	{Name: "power_-2", Exponent: -2, Hidden: true, Args: "x", Doc: "x^-2, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.PowerMinus2, kernels.PowerMinus2Of), Kinks: kinksOfPoles, Try: at(-2, 0.3, 1.5)},
	{Name: "power_-3", Exponent: -3, Hidden: true, Args: "x", Doc: "x^-3, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.PowerMinus3, kernels.PowerMinus3Of), Kinks: kinksOfPoles, Try: at(-2, 0.3, 1.5)},
	{Name: "power_-4", Exponent: -4, Hidden: true, Args: "x", Doc: "x^-4, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.PowerMinus4, kernels.PowerMinus4Of), Kinks: kinksOfPoles, Try: at(-2, 0.3, 1.5)},
	{Name: "power_-5", Exponent: -5, Hidden: true, Args: "x", Doc: "x^-5, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.PowerMinus5, kernels.PowerMinus5Of), Kinks: kinksOfPoles, Try: at(-2, 0.3, 1.5)},
	{Name: "power_-6", Exponent: -6, Hidden: true, Args: "x", Doc: "x^-6, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.PowerMinus6, kernels.PowerMinus6Of), Kinks: kinksOfPoles, Try: at(-2, 0.3, 1.5)},
	{Name: "power_-7", Exponent: -7, Hidden: true, Args: "x", Doc: "x^-7, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.PowerMinus7, kernels.PowerMinus7Of), Kinks: kinksOfPoles, Try: at(-2, 0.3, 1.5)},
	{Name: "power_-8", Exponent: -8, Hidden: true, Args: "x", Doc: "x^-8, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.PowerMinus8, kernels.PowerMinus8Of), Kinks: kinksOfPoles, Try: at(-2, 0.3, 1.5)},
	{Name: "power_-9", Exponent: -9, Hidden: true, Args: "x", Doc: "x^-9, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.PowerMinus9, kernels.PowerMinus9Of), Kinks: kinksOfPoles, Try: at(-2, 0.3, 1.5)},
	{Name: "power_-10", Exponent: -10, Hidden: true, Args: "x", Doc: "x^-10, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.PowerMinus10, kernels.PowerMinus10Of), Kinks: kinksOfPoles, Try: at(-2, 0.3, 1.5)},
	{Name: "power_0.5", Exponent: 0.5, Hidden: true, Args: "x", Doc: "x^0.5, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.PowerHalf, kernels.PowerHalfOf), Kinks: kinksOfSquareRoot, Try: at(0.25, 2, 9)},
	{Name: "power_1.5", Exponent: 1.5, Hidden: true, Args: "x", Doc: "x^1.5, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.Power3Halves, kernels.Power3HalvesOf), Kinks: kinksOfRoots, Try: at(0.25, 2, 9)},
	{Name: "power_2.5", Exponent: 2.5, Hidden: true, Args: "x", Doc: "x^2.5, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.Power5Halves, kernels.Power5HalvesOf), Kinks: kinksOfRoots, Try: at(0.25, 2, 9)},
	{Name: "power_3.5", Exponent: 3.5, Hidden: true, Args: "x", Doc: "x^3.5, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.Power7Halves, kernels.Power7HalvesOf), Kinks: kinksOfRoots, Try: at(0.25, 2, 9)},
	{Name: "power_-0.5", Exponent: -0.5, Hidden: true, Args: "x", Doc: "x^-0.5, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.PowerMinusHalf, kernels.PowerMinusHalfOf), Kinks: kinksOfRootPoles, Try: at(0.25, 2, 9)},
	{Name: "power_-1.5", Exponent: -1.5, Hidden: true, Args: "x", Doc: "x^-1.5, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.PowerMinus3Halves, kernels.PowerMinus3HalvesOf), Kinks: kinksOfRootPoles, Try: at(0.25, 2, 9)},
	{Name: "power_-2.5", Exponent: -2.5, Hidden: true, Args: "x", Doc: "x^-2.5, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.PowerMinus5Halves, kernels.PowerMinus5HalvesOf), Kinks: kinksOfRootPoles, Try: at(0.25, 2, 9)},
	{Name: "power_-3.5", Exponent: -3.5, Hidden: true, Args: "x", Doc: "x^-3.5, rounded as if once", Partial: powerSlope, Kernel: unary(&kernels.PowerMinus7Halves, kernels.PowerMinus7HalvesOf), Kinks: kinksOfRootPoles, Try: at(0.25, 2, 9)},
}

// powers are powerRows, which know a function that knows them.
var powers []Op

var (
	kinksOfPoles = []Kink{{"x == 0", "a pole", false}}
	kinksOfRoots = []Kink{{"x < 0", "a negative number to a fractional power is not real", false}}

	kinksOfSquareRoot = []Kink{{"x < 0", "a negative number to a fractional power is not real", false}, {"x == 0", "a vertical tangent", false}}
	kinksOfRootPoles  = []Kink{{"x < 0", "a negative number to a fractional power is not real", false}, {"x == 0", "a pole", false}}
)

// powerOf is the row of x^c, or nil.
func powerOf(c float64) *Op {
	for i := range powers {
		if powers[i].Exponent == c {
			return &powers[i]
		}
	}
	return nil
}

// powerSlope is c x^(c-1).
func powerSlope(t *Tape, r Ref, i int) Ref {
	c := t.ins[r].Op().Exponent
	return t.Apply(opMul, t.Const(c), t.Apply(opPow, t.Args(r)[0], t.Const(c-1)))
}

// said is the name of the operation in a message: a written power is a power.
func (op *Op) said() string {
	if op.Exponent != 0 {
		return opPow.Name
	}
	return op.Name
}
