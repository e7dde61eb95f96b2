package expr

import (
	"strings"
	"testing"
)

// fullPrint is a program with parentheses around every operator.
func fullPrint(p *Program) string {
	w := printer{full: true}
	w.stmts(p.Stmts)
	return strings.TrimSuffix(w.String(), "\n")
}

func TestPrecedence(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"-x^2", "-(x^2)"},   // unary minus binds looser than power
		{"2^3^2", "2^(3^2)"}, // right associative
		{"2**3**2", "2^(3^2)"},
		{"2^-1", "2^(-1)"},
		{"2^-x^2", "2^(-(x^2))"},
		{"-2^-x*y", "(-(2^(-x))) * y"},
		{"a - b - c", "(a - b) - c"},
		{"a / b * c", "(a / b) * c"},
		{"a + b * c", "a + (b * c)"},
		{"(a + b) * c", "(a + b) * c"},
		{"a @ b @ c", "(a @ b) @ c"},
		{"a // b % c", "(a // b) % c"},
		{"-a * b", "(-a) * b"},
		{"a * -b", "a * (-b)"},
		{"!a^2", "!(a^2)"},
		{"!a == b", "(!a) == b"},
		{"not a == b", "!(a == b)"},
		{"not a && b", "(!a) && b"},
		{"not not a", "!(!a)"},
		{"a or b and c", "a || (b && c)"},
		{"a || b && not c < d", "a || (b && (!(c < d)))"},
		{"a < b + 1", "a < (b + 1)"},
		{"a ? b : c ? d : e", "a ? b : (c ? d : e)"},
		{"a ? b ? c : d : e", "a ? (b ? c : d) : e"},
		{"a || b ? c : d", "(a || b) ? c : d"},
		{"x -> x^2", "x -> (x^2)"},
		{"x -> y -> x + y", "x -> (y -> (x + y))"},
		{"(a, b) -> a @ b", "(a, b) -> (a @ b)"},
		{"() -> 1", "() -> 1"},
		{"(x -> x)(3)", "(x -> x)(3)"},
		{"(f)(x)", "f(x)"},
		{"grad(f)(x)", "grad(f)(x)"},
		{"x.T[0]^2", "x.T[0]^2"},
		{"t[0].loss", "t[0].loss"},
		{"-x.T", "-x.T"},
		{"x[1:, ::2, ..., newaxis, None, -1]", "x[1:, ::2, ..., newaxis, newaxis, -1]"},
		{"x[:n+1]", "x[:n + 1]"},
		{"x[a:b:c]", "x[a:b:c]"},
		{"sum(x, axis=0)", "sum(x, axis=0)"},
		{`einsum('ij,jk->ik', a, b)`, `einsum("ij,jk->ik", a, b)`},
		{"{loss: l, acc: a + b*c}", "{loss: l, acc: a + (b * c)}"},
		{"(a, b)", "a, b"},
		{"(a,)", "(a,)"},
		{"q, r = f(x)", "q, r = f(x)"},
		{"True", "true"},
		{"x · y × z − 1", "((x * y) * z) - 1"},
		{"var(x, axis=0)", "var(x, axis=0)"},
		{"x +\n  y", "x + y"},
		{"f(x,\n\n  y)", "f(x, y)"},
		{"{a: 1,\n b: 2\n}", "{a: 1, b: 2}"},
		{"\ufeffx # comment\r\n\r\n+y", "x\n+y"},
		{"var v = 1; v += 2; v := v - 1", "var v = 1\nv += 2\nv := v - 1"},
		{"f(a, b) = a*b", "f(a, b) = a * b"},
		{"gradient f(a, b; g) = g*b, g*a", "gradient f(a, b; g) = g * b, g * a"},
		{"f(x) { y = x; y }", "f(x) {\n    y = x\n    y\n}"},
		{"if a < b { 1 }\nelse if c { 2 } else { }", "if a < b {\n    1\n} else if c {\n    2\n} else {\n}"},
		{"for a, b in xs { s = a }", "for a, b in xs {\n    s = a\n}"},
		{"while (({a: 1}).a) { reset }", "while ({a: 1}).a {\n    reset\n}"},
		{"no_gradient { watch x, y; unwatch x }", "no_gradient {\n    watch x, y\n    unwatch x\n}"},
	} {
		p, err := Parse("", row.text)
		if err != nil {
			t.Errorf("Parse(%q): %v", row.text, err)
			continue
		}
		if got := fullPrint(p); got != row.want {
			t.Errorf("Parse(%q) = %s, want %s", row.text, got, row.want)
		}
	}
}
