package tape

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// doubling are functions of which each calls the one before twice.
func doubling(n int, twice string) string {
	text := "f0(x) = sin(x)\n"
	for i := range n {
		text += fmt.Sprintf("f%d(x) = "+strings.ReplaceAll(twice, "f(", fmt.Sprintf("f%d(", i))+"\n", i+1)
	}
	return text + fmt.Sprintf("f%d(x)", n)
}

// Functions that call each other 2^n times are computed once for each argument.
func TestMemo(t *testing.T) {
	for _, row := range []struct {
		text       string
		value, der float64 // at 0.4
	}{
		{doubling(60, "f(x) + f(x)"), math.Ldexp(math.Sin(0.4), 60), math.Ldexp(math.Cos(0.4), 60)},
		{doubling(60, "{ a = f(x); b = f(x); a/2 + b/2 }"), math.Sin(0.4), math.Cos(0.4)},
		{"fib(n) = n < 2 ? n : fib(n-1) + fib(n-2)\nfib(80)*x", 23416728348467685 * 0.4, 23416728348467685},
		{"p(n, x) = n == 0 ? 1 : n == 1 ? x : 2*x*p(n-1, x) - p(n-2, x)\np(50, x)", math.Cos(50 * math.Acos(0.4)), 50 * math.Sin(50*math.Acos(0.4)) / math.Sin(math.Acos(0.4))}, // Chebyshev's
	} {
		a := ask(t, "grad", strings.ReplaceAll(row.text, "= {", "{"), "x=0.4")
		value, der := a.Targets[0].Value.Tensor.Data[0], a.Targets[0].Payload.Get("x").Tensor.Data[0]
		if math.Abs(value-row.value) > 1e-12*math.Abs(row.value) || math.Abs(der-row.der) > 1e-12*math.Abs(row.der) { // some hundred roundings
			t.Errorf("%s: %v and %v, want %v and %v", row.text[len(row.text)-40:], value, der, row.value, row.der)
		}
	}
}

// With a memo from the first call on, calls give what they give without one.
func TestMemoForgets(t *testing.T) {
	defer func(n int) { memoFrom = n }(memoFrom)
	for _, text := range []string{
		"f(a) = a*k\nk = 2; y = f(x); k = 3; y + f(x)",                               // a name has another value
		"f(a) { a*k }\ns = 0; for k in range(9) { s = s + f(x) }; s",                 // in a loop
		"f(a) = a*k\ny = x; k = 1; for i in range(4) { y = y + f(x); k = k + y }; y", //
		"var v = 2; f(a) = a*v\ny = f(x); v := 3; y + f(x)",                          // a variable
		"var v = 2; f(a) { v := v + 1; a*v }\nf(x) + f(x)",                           // which it changes itself
		"f(a) = a*rand(1)[0]\nf(x) + f(x)*f(x)",                                      // random numbers
		"g(a) = f(a); f(a) = a*a\ny = g(x); f(a) = a*a*a\ny + g(x)",                  // another function
		"f(a) = sin(a)\ny = f(x); no_gradient { z = f(x) }; y*z",                     // without a gradient
		"f(a) = sin(a)\nno_gradient { z = f(x) }; y = f(x); y*z",                     //
		"f(a) = sin(a)\ny = f(x); reset; y*f(x)",                                     // forgotten
		"f(a) = sin(a)\ny = f(x); z = f(x); grad(y*z, y)",                            // two names are two sources
		"f(a) { b = a*a; grad(b*a, b) }\nf(x) + f(x)",                                // sources of its own
		"f(a, b) = grad(a*b, a)\ny = x*1.5; f(y, y) + f(x, y) + f(y, x)",             //
		"f(a) = k -> a*k\nf(x)(2) + f(x)(3)",                                         // functions
		"f(a) = (a, a*a)\ny, z = f(x); u, v = f(x); y*v + z*u",                       // tuples
		"f(a) { g(b) = a*b; g(x) }\nf(x) + f(x*2) + f(2) + f(3)",                     // of a scope
		"f(a) { k = a; for i in range(9) { k = k*a }; k }\nf(x) + f(x)*f(2*x)",       // loops
		"f(a) = a > 0 ? a*a : a\nsum(vmap(a -> f(a) + f(a))([x, -x]))",               // points that disagree
		"f(a) = sum(a)*a\nsum(vmap(a -> f(a) + f(x))([x, 2*x])) + f(x)",              //
		"h(a) = a*a\ngradient h(a; g) = 3*g\ny = h(x) + h(x); y",                     // a gradient of its own
		"h(a) = a*a\ny = h(x)\ngradient h(a; g) = 3*g\ny + h(x)",                     //
		"f(a) = h(a) + h(a); h(a) = a*a\ny = f(x)\ngradient h(a; g) = 3*g\ny + f(x)", // within it
		"f(a) = abs(a - 0.4)\nf(x) + f(x)",                                           // a kink
		"y = 2*x; f(a) = y*a\nu = f(x); unwatch y\nu + f(x)",                         //
	} {
		memoFrom = math.MaxInt
		want, wantErr := question(t, "grad", text, "x=0.4").Answer()
		memoFrom = 0
		got, err := question(t, "grad", text, "x=0.4").Answer()
		if wantErr != nil || err != nil {
			t.Errorf("%q: %v, want %v", text, err, wantErr)
			continue
		}
		if g, w := fmt.Sprint(got.Targets[0].Value.Tensor.Data, reasons(got)), fmt.Sprint(want.Targets[0].Value.Tensor.Data, reasons(want)); g != w {
			t.Errorf("%q with a memo is %s, without one %s", text, g, w)
		}
		if g, w := got.Targets[0].Payload.Get("x"), want.Targets[0].Payload.Get("x"); g.Kind != w.Kind || g.Tensor != nil && math.Abs(g.Tensor.Data[0]-w.Tensor.Data[0]) > 1e-14*math.Abs(w.Tensor.Data[0]) { // sums of cotangents have another order
			t.Errorf("the derivative of %q with a memo is %v, without one %v", text, g.Tensor, w.Tensor)
		}
	}
}

// reasons are those of the nones of an answer.
func reasons(a *Answer) (why []string) {
	for _, r := range a.Targets[0].Unconnected {
		why = append(why, fmt.Sprint(r))
	}
	return why
}

// What calls functions without end, and records nothing, is told so.
func TestMostCalls(t *testing.T) {
	defer func(n int) { mostCalls = n }(mostCalls)
	mostCalls = 100_000
	for _, text := range []string{
		"t(f) = y -> f(f(y))\na = t\n" + strings.Repeat("a = t(a)\n", 25) + "a(y -> y)(x)",
		"f(a, n) { n == 0 ? a : f(f(f(a, n - 1), n - 1) + rand(1)[0]*0, n - 1) }\nf(x, 30)",
	} {
		_, err := question(t, "grad", text, "x=0.4").Answer()
		if e, ok := AsError(err); !ok || e.ExitCode() != 5 || !strings.Contains(err.Error(), "were called 100000 times") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
