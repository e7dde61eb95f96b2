package expr

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// fullPrint is a program with parentheses around every operator.
func fullPrint(p *Program) string {
	w := printer{full: true}
	w.stmts(p.Stmts)
	return strings.TrimSuffix(w.String(), "\n")
}

// precedence says how texts are read: the same with parentheses around every operator.
var precedence = []struct{ text, want string }{
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
	{"f((), axis=(), g=() -> 1)", "f((), axis=(), g=() -> 1)"}, // the shape of one number, and no axes
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
	{"x.in\ny.if", "x.in\ny.if"},     // after a dot no word is a keyword
	{"f(in=1, x=2)", "f(in=1, x=2)"}, // nor before = in a call
	{"{if: 1}.if", "{if: 1}.if"},     // nor in a record
	{"vmap(var)(x)", "vmap(var)(x)"}, // the operation, not the keyword
	{"var var_x = 1", "var var_x = 1"},
	{"f(x -> x, y)", "f(x -> x, y)"}, // a lambda ends at a comma
	{"c ? x -> x : y", "c ? (x -> x) : y"},
	{"x = a ?\nb :\nc", "x = a ? b : c"},
	{"(a\n+ b)", "a + b"}, // a line end means nothing in brackets
	{"a\n+ b", "a\n+b"},   // outside it ends the statement
	{"y = 1 # y\n# nothing\n\n;;\nz = 2", "y = 1\nz = 2"},
	{"if a\n{ 1 }\n# why\n\nelse\n{ 2 }", "if a {\n    1\n} else {\n    2\n}"},
	{"[[1, 2], [3, 4],]", "[[1, 2], [3, 4]]"},
	{"[]", "[]"},
	{"θ_1·ŷ + नमस्ते", "(θ_1 * ŷ) + नमस्ते"}, // letters of any script, with their marks
	{"1.e5 + .5 + 1_0.0_1e+1_0", "(1.e5 + .5) + 1_0.0_1e+1_0"},
	{"(2).T", "(2).T"},
	{"f(x)[0](y).z", "f(x)[0](y).z"},
	{"x\u00a0+ y", "x + y"}, // a blank copied from a page
	{"x[f(1, 2):, (a ? b : c):d]", "x[f(1, 2):, (a ? b : c):d]"},
	{"x[a ? b : c]", "x[a ? b : c]"},
	{"x[(None)]", "x[newaxis]"},
	{"f(x) = a, b", "f(x) = a, b"},
	{"(a, b) = c", "a, b = c"},
	{"f('it\\'s \"\\t')", `f("it's \"\t")`},
	{"for i in ({a: 1}, 2) { }", "for i in ({a: 1}), 2 {\n}"},
	{"for i in [{a: 1}] { }", "for i in [{a: 1}] {\n}"},
	{"if ({a: 1}.a) + 1 == b { }", "if ({a: 1}.a + 1) == b {\n}"},
	{"gradient var(x; g) = g", "gradient var(x; g) = g"},
	{"g() = 1; g()", "g() = 1\ng()"},
	{"x == True and not False", "(x == true) && (!false)"},
}

func TestPrecedence(t *testing.T) {
	for _, row := range precedence {
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

// differ says where two trees differ, leaving places and the spelling of numbers aside.
func differ(x, y reflect.Value) string {
	if x.Kind() != y.Kind() || x.Type() != y.Type() {
		return fmt.Sprintf("%v, not %v", x.Type(), y.Type())
	}
	switch x.Kind() {
	case reflect.Interface, reflect.Pointer:
		if x.IsNil() || y.IsNil() {
			if x.IsNil() != y.IsNil() {
				return fmt.Sprintf("nil %v: %v, not %v", x.Type(), x.IsNil(), y.IsNil())
			}
			return ""
		}
		return differ(x.Elem(), y.Elem())
	case reflect.Slice:
		if x.Len() != y.Len() {
			return fmt.Sprintf("%d of %v, not %d", x.Len(), x.Type(), y.Len())
		}
		for i := range x.Len() {
			if d := differ(x.Index(i), y.Index(i)); d != "" {
				return d
			}
		}
	case reflect.Struct:
		for i := range x.NumField() {
			f := x.Type().Field(i)
			if f.Type == reflect.TypeFor[Span]() || f.Type == reflect.TypeFor[Pos]() || x.Type() == reflect.TypeFor[Num]() && f.Name == "Text" {
				continue
			}
			if d := differ(x.Field(i), y.Field(i)); d != "" {
				return x.Type().Name() + "." + f.Name + ": " + d
			}
		}
	default:
		if !x.Equal(y) {
			return fmt.Sprintf("%v, not %v", x, y)
		}
	}
	return ""
}

// TestPlaces reads the text of every node again: it must be that node.
func TestPlaces(t *testing.T) {
	for _, row := range precedence {
		p, err := Parse("", row.text)
		if err != nil {
			t.Fatal(err)
		}
		checkPlaces(t, p)
	}
}

func checkPlaces(t *testing.T, p *Program) {
	text := func(s Span) string { return p.Text[s.Start:s.End] }
	name := func(s string, at Pos) {
		if !strings.HasPrefix(p.Text[at:], s) {
			t.Errorf("in %q a name stands at %d, want %s", p.Text, at, s)
		}
	}
	Walk(p, func(n any) bool {
		switch n := n.(type) {
		case *Str:
			if s, _ := unquote(text(n.Span)); s != n.Value {
				t.Errorf("%q is the string %q, want %q", text(n.Span), n.Value, s)
			}
			return true
		case *Tuple:
			if p.Text[n.Start] != '(' || p.Text[n.End-1] != ')' {
				return true // without its parentheses it is no expression
			}
		case *Call:
			for _, a := range n.Args {
				name(a.Name, a.NamePos)
			}
			if p.Text[n.End-1] != ')' {
				t.Errorf("in %q the call %q does not end with )", p.Text, text(n.Span))
			}
		case *Index:
			name("[", n.Lbrack)
		case *Field:
			name(n.Name, n.NamePos)
		case *Record:
			for _, f := range n.Fields {
				name(f.Name, f.NamePos)
			}
		case *FuncDef:
			name(n.Name, n.NamePos)
		case *GradDef:
			name(n.Name, n.NamePos)
		case *Bind:
			if k := scanAt(p.Text, n.OpPos); k != n.Op {
				t.Errorf("in %q %s stands at %d, want %s", p.Text, k, n.OpPos, n.Op)
			}
		}
		switch n := n.(type) {
		case *Program, *Block: // the block of a definition with = has no braces
		case *Bind, *FuncDef, *GradDef, *If, *While, *For, *NoGradient, *Reset, *Watch, *ExprStmt:
			at := n.(Stmt).Where()
			again, err := Parse("", text(at))
			if err != nil {
				t.Errorf("in %q the text %q of a %T does not parse: %v", p.Text, text(at), n, err)
			} else if d := differ(reflect.ValueOf(again.Stmts[0]), reflect.ValueOf(n)); d != "" {
				t.Errorf("in %q the text %q is another tree: %s", p.Text, text(at), d)
			}
		case Expr:
			if u, ok := n.(*Tuple); ok && len(u.Elems) == 0 {
				break // an expression in a call alone
			}
			if b, ok := n.(*Binary); ok && scanAt(p.Text, b.OpPos) != b.Op {
				t.Errorf("in %q %s stands at %d, want %s", p.Text, scanAt(p.Text, b.OpPos), b.OpPos, b.Op)
			}
			again, _, err := ParseExpr("", "("+text(n.Where())+")") // it may stand on several lines
			if err != nil {
				t.Errorf("in %q the text %q of a %T does not parse: %v", p.Text, text(n.Where()), n, err)
			} else if d := differ(reflect.ValueOf(again), reflect.ValueOf(n)); d != "" {
				t.Errorf("in %q the text %q is another tree: %s", p.Text, text(n.Where()), d)
			}
		}
		return true
	})
}

// scanAt is the kind of the token at a place.
func scanAt(text string, at Pos) Kind {
	s := newScanner(&Program{Text: text})
	s.pos = int(at)
	return s.token()
}

// Mistakes, where the caret stands, and what the message and the hint must say.
var mistakes = []struct {
	text string
	line int
	col  int
	want string
	hint string
}{
	// what is typed wrong most often
	{"", 1, 1, "empty expression", "such as x^2"},
	{"   ", 1, 1, "empty expression", ""},
	{"# nothing\n", 1, 1, "empty expression", ""},
	{"x + * y", 1, 5, "expected an expression, found *", ""},
	{"sin(x", 1, 6, "expected ), found the end", ""},
	{"x * ()", 1, 6, "expected an expression, found )", ""},
	{"atan2(x,)", 1, 9, "expected an expression, found )", ""},
	{"atan2(,x)", 1, 7, "expected an expression, found ,", ""},
	{"1e+", 1, 1, "1e+ is not a number", ""},
	{"1.2.3", 1, 4, "unexpected .3 after", ""},
	{"0xZZ", 1, 1, "0xZZ: there are no hexadecimal (0x) numbers", "decimal"},
	{"0x1F + y", 1, 1, "0x1F", "decimal"},
	{"0b101", 1, 1, "0b101: there are no binary (0b) numbers", "decimal"},
	{"0o17", 1, 1, "0o17: there are no octal (0o) numbers", "decimal"},
	{"0b", 1, 2, "between 0 and b", "0*b"},
	{".", 1, 1, "found .", ""},
	{"x == ", 1, 6, "expected an expression", ""},
	{"[1, 2", 1, 6, "expected ]", ""},
	{"(x]", 1, 3, "expected ), found ]", ""},
	{"for + 1", 1, 1, "for is a keyword", ""},
	{"x +\n* y", 2, 1, "found *", ""},
	{"\tx + $", 1, 6, "unexpected character $", ""},
	{"x + 1e999", 1, 5, "1e999 is out of range of float64", "inf"},
	{"x + \u202ey", 1, 5, "U+202E", "delete"},

	// characters
	{"y = x\ry", 1, 6, "carriage return", "line feed"},
	{"\xff\xfex\x00", 1, 1, "0xff", "UTF-16"},
	{"x\x00^\x00", 1, 2, "U+0000", "UTF-16"},
	{"x # \u202e", 1, 5, "U+202E", ""},    // in a comment, too
	{"f(\"\u2066\")", 1, 4, "U+2066", ""}, // and in a string
	{"x\x00y", 1, 2, "U+0000", ""},
	{"x\ry", 1, 2, "carriage return", "line feed"},
	{"x\u200b + y", 1, 2, "U+200B", ""},
	{"x\ufe0e + y", 1, 2, "U+FE0E", ""}, // a variation selector: x in other clothes
	{"\u3164 + y", 1, 1, "U+3164", ""},  // a letter that is blank
	{"x + \ufeffy", 1, 5, "U+FEFF", ""}, // a byte order mark anywhere but in front
	{"\ufeffx + $", 1, 5, "$", ""},      // in front it takes no column
	{"a\r\nb + $\r\n", 2, 5, "$", ""},
	{"θ + $", 1, 5, "$", ""}, // columns count characters
	{"x \xff", 1, 3, "0xff", ""},
	{"x²", 1, 2, "²", "write ^2"},
	{"x⁻¹", 1, 2, "⁻", "x^-1"},
	{"x₁", 1, 2, "₁", "x_1"},
	{"½x", 1, 1, "½", "(1/2)"}, // as an exponent, too
	{"∑x", 1, 1, "∑", "sum(x)"},
	{"∂f", 1, 1, "∂", "grad(y, x)"},
	{"x′", 1, 2, "′", "grad(f)"},
	{"２*x", 1, 1, "２", "0 to 9"},
	{"x＋y", 1, 2, "＋", "write +"},
	{"a ≤ b", 1, 3, "≤", "write <="},
	{"a & b", 1, 3, "&", "write &&"},
	{"|x|", 1, 1, "|", "write abs(x)"},
	{"x + |y|", 1, 5, "|", "write abs(x)"},
	{"a | b", 1, 3, "|", "write ||"},
	{"a ~= b", 1, 3, "~", "write !="},
	{"A'", 1, 2, "'", "write A.T"},
	{"f('x", 1, 3, "expected ' before the end of the line", ""},
	{"f('x\n')", 1, 3, "expected '", ""},
	{`f("\q")`, 1, 3, "escape", `\n`},
	{`"abc"`, 1, 1, "a string can only be an argument", ""},
	{`1 + "abc"`, 1, 5, "a string can only be an argument", "einsum("},
	{"min(x, y[0) + 1", 1, 11, "expected ], found )", "close the [ of column 9 first"},
	{"y = 1\nmin(x, y[0) + 1", 2, 11, "expected ], found )", "close the [ of column 9 first"},
	{"[x, y)", 1, 6, "expected ], found )", "close the [ of column 1 first"},
	{"norm([x, y, axis=0)", 1, 17, "expected ], found =", ""},
	{`einsum("ij->ji" [[1]])`, 1, 17, "expected ), found [", "separated by commas"},
	{"var v 0", 1, 7, "expected =, found 0", "write var v = 0"},
	{"gradient f(a; g) 2*g", 1, 18, "expected =, found 2", "write gradient f(x; g) = …"},
	{"else { 1 }", 1, 1, "else has no if", "write if c { … } else { … }"},
	{`f("a" + "b")`, 1, 7, "expected ), found +", ""},
	{"f(\"a\\\nb\")", 1, 3, "the string is not closed", ""}, // a \ does not continue it
	{`x"a"`, 1, 2, `between x and "a"`, `write x("a") for a call`},

	// numbers
	{"1_", 1, 2, "between two digits", ""},
	{"x + 007", 1, 5, "007 is not a number: it begins with a zero", "write 7"}, // octal elsewhere
	{"00.5", 1, 1, "00 is not a number", "write 0"},
	{"[1,000]", 1, 4, "000 is not a number", "1_000"},
	{"1__0", 1, 2, "between two digits", ""},
	{"2e", 1, 2, "between 2 and e", "2*e"},
	{"2e+x", 1, 2, "between 2 and e", "2*e"},
	{strings.Repeat("1", 100000), 1, 1, "out of range", ""},

	// products
	{"2x", 1, 2, "between 2 and x", "write 2*x"},
	{"x > 0 then 1 else 2", 1, 7, "between 0 and then", "c ? a : b"},
	{"if 2x > 3 { x }", 1, 5, "between 2 and x", "write 2*x"},
	{"while x > 3(y) { x }", 1, 12, "between 3 and (", "write 3*(…)"},
	{"2 x", 1, 3, "between 2 and x", "write 2*x"},
	{"2(x)", 1, 2, "between 2 and (", "write 2*(…)"},
	{"2sin(x)", 1, 2, "between 2 and sin", "write 2*sin(…)"},
	{"a + 3b", 1, 6, "between 3 and b", "write 3*b"},
	{"x y", 1, 3, "between x and y", "write x*y, or x(y) for a call"},
	{"(a + b)(c)", 1, 8, "between (a + b) and (", "write (a + b)*(…)"},
	{"x 2", 1, 3, "between x and 2", "write x*2"},
	{"return x", 1, 8, "between return and x", "leave out return"},
	{"let y = x", 1, 5, "between let and y", "leave out let"},
	{"custom_gradient f(x; g) = g", 1, 17, "between custom_gradient and f", "write gradient f(x; g)"},
	{"with tape { x }", 1, 6, "between with and tape", "no_gradient"},
	{"exp(1j*x)", 1, 6, "between 1 and j", "no complex numbers"},
	{"n!", 1, 2, "found !", "gamma(n + 1)"},
	{"y = if x > 0 { 1 }", 1, 5, "found if, which is a keyword", "c ? a : b"},
	{"y = watch(x)", 1, 5, "found watch, which is a keyword", "watch x, y stands by itself"},
	{"@tf.custom_gradient", 1, 1, "found @", "gradient f(x; g) = …"},
	{"[1, 2; 3, 4]", 1, 6, "expected ], found ;", "[[1, 2], [3, 4]]"},
	{"cond(x > 0, lambda: x)", 1, 19, "expected ), found :", "x -> …"},
	{"x(:)", 1, 3, "found :", "x[1:]"},
	{"@(x) x^2", 1, 1, "found @", "x -> …"},
	{"sin.(x)", 1, 5, "expected a name after the dot, found (", "each element"},
	{"x^{2}", 1, 4, "expected a field's name", "in parentheses"},
	{"e^{x}", 1, 5, "expected :", "in parentheses"},
	{"{x, y}", 1, 3, "expected :", "a list [a, b]"},
	{"x |> sin", 1, 3, "|", "f(x) for x |> f"},
	{"\\frac{x}{2}", 1, 1, "", "a / b"},
	{"x \\cdot x", 1, 3, "", "write *"},
	{"[i^2 for i in range(3)]", 1, 6, "expected ], found for", "whole tensors"},
	{"sum(x^i for i in range(3))", 1, 9, "expected ), found for", "vmap"},
	{"f = fn(a) a^2", 1, 11, "between fn(a) and a", "x -> …"},
	{"f = (a) => a^2", 1, 9, "found =", "x -> …"},
	{"d/dx x^2", 1, 6, "between dx and x", "grad(y, x)"},
	{`w["b"]`, 1, 3, "a string is no index", "r.b"},
	{"[1 2]", 1, 4, "between 1 and 2", "separated by commas: 1, 2"},
	{"sin(x y)", 1, 7, "between x and y", "x, y with a comma"},
	{"{a: 1} {b: 2}", 1, 8, "unexpected {", ""},

	// operators
	{"a < b < c", 1, 7, "comparisons do not chain", "write a < b && b < c"},
	{"0 <= i+1 == n*2 && m", 1, 10, "comparisons do not chain", "write 0 <= i+1 && i+1 == n*2"},
	{"a < b <", 1, 7, "comparisons do not chain", "write a < b && b < c"},
	{"x + not y", 1, 5, "not", "!x"},
	{"x *= 2", 1, 3, "there is no operator *=", "write x = x * …, or := for"},
	{"x[0] /= 2", 1, 6, "there is no operator /=", "write v = v / …, or := for"},
	{"x === y", 1, 3, "there is no operator ===", "write =="},
	{"x !== y", 1, 3, "there is no operator !==", "write !="},
	{"x <> y", 1, 4, "expected an expression, found >", "write !="},
	{"x %*% y", 1, 4, "expected an expression, found *", "write @"},
	{"x =< y", 1, 4, "expected an expression, found <", "write <="},
	{"x => y", 1, 4, "expected an expression, found >", "write >="},
	{"x /* c */", 1, 4, "expected an expression, found *", "a comment begins with #"},
	{"x / *y", 1, 5, "expected an expression, found *", ""},
	{"x++", 1, 4, "expected an expression", ""},
	{"c ? a", 1, 6, "expected :", "c ? a : b"},
	{"a + b -> c", 1, 7, "expected names before ->, found a + b", "parentheses"},
	{"()", 1, 2, "found )", ""},
	{"x * ()", 1, 6, "found )", ""},
	{"(), 1", 1, 2, "found )", ""},
	{"f(x * ())", 1, 8, "found )", ""},
	{"f(() + 1)", 1, 4, "found )", ""},
	{"f((()))", 1, 5, "found )", ""},
	{"x[]", 1, 3, "found ]", "x[:]"},
	{")", 1, 1, "found )", "nothing open"},
	{"} x", 1, 1, "found }", "nothing open"},
	{"x.", 1, 3, "expected a name after the dot", ""},
	{"x.1", 1, 2, "between x and .1", "x[1]"},
	{"f(axis=0, x)", 1, 11, "without a name stands behind axis=", "before axis="},
	{"f(axis=0, axis=1)", 1, 11, "axis is given twice", "leave one of them out"},
	{"no_gradient { y = x^2 } y", 1, 25, "found y", "separated by ;"},
	{"with no_gradient { y = x^2 }", 1, 6, "found no_gradient", "leave out with"},
	{"{a: 1, a: 2}", 1, 8, "a is given twice", ""},
	{"{}", 1, 2, "expected a field's name", "{name: value}"},
	{"{a: 1,", 1, 7, "expected a field's name", ""},
	{"{a: 1, \"b\": 2}", 1, 8, "expected a field's name", ""},
	{"f('a''b')", 1, 6, "expected ), found 'b'", ""},
	{"{x = 1}", 1, 4, "expected :", "{name: value}"},
	{"(a, a) -> a", 1, 5, "a is given twice", ""},
	{"z = (y +\n\nx\n", 3, 2, "expected ), found the end", "the ( of line 1"},

	// statements
	{"x[0] = 3", 1, 6, "cannot assign to x[0]", "tensors do not change"},
	{"x[0] := 3", 1, 6, "cannot assign to x[0]", "tensors do not change"},
	{"[a, b] = x", 1, 8, "cannot assign to [a, b]", "a, b = …"},
	{"x + 1 = 3", 1, 7, "cannot assign to x + 1", "=="},
	{"(f(x)) = 3", 1, 8, "cannot assign", ""},
	{"x = 3 = 4", 1, 7, "expected an operator or the end of the statement, found =", "=="},
	{"a, a = 1, 2", 1, 4, "a is given twice", ""},
	{"f(x) = {\n x^2 }", 1, 8, "found a block", "written f(x) { … }, without ="},
	{"f(x):\n x^2", 1, 5, "found :", "f(x) = …"},
	{"x: 3", 1, 2, "found :", "write x = …"},
	{"y = 1:5", 1, 6, "found :", "write arange(a, b) for the numbers from a to below b"},
	{"y = 1..5", 1, 7, "unexpected .5 after the number 1.", "write arange(a, b) for the numbers from a to below b"},
	{"y = a if c else b", 1, 7, "found if", "write c ? a : b"},
	{"for i in 1:10 { }", 1, 11, "expected {", "range(a, b)"},
	{"y = x\n  * 3", 2, 3, "found *", "end that one with the operator"},
	{"// a comment", 1, 1, "found //", "begins with #"},
	{"x\n% a comment", 2, 1, "found %", "begins with #"},
	{"x \\\n + 3", 1, 3, "unexpected character", "leave it out"},
	{"$x", 1, 1, "unexpected character $", "without $"},
	{"x .* y", 1, 4, "after the dot", "write *"},
	{"sin^2(x)", 1, 6, "between 2 and (", "sin(…)^2"},
	{"sin**2(x)", 1, 7, "between 2 and (", "sin(…)^2"},
	{"2i", 1, 2, "between 2 and i", "no complex numbers"},
	{"x 2(3)", 1, 3, "between x and 2", "write x*2,"},
	{"x .5", 1, 3, "between x and .5", "write x*.5"}, // a blank between: no element
	{"x.5", 1, 2, "between x and .5", "write x[5] for an element"},
	{"x mod y", 1, 3, "between x and mod", "write %"},
	{"reset x", 1, 1, "reset is a keyword", "stands alone"},
	{"f(x) {\nx\n", 2, 2, "expected }", "the { of line 1"},
	{"a, b += 1", 1, 6, "to one name", ""},
	{"f(a, a) = 1", 1, 6, "a is given twice", ""},
	{"f(1) = 1", 1, 3, "must be names", ""},
	{"true = 1", 1, 1, "true is a constant", ""},
	{"f(a, true) = a", 1, 6, "true is a constant", ""},
	{"false -> 1", 1, 1, "false is a constant", ""},
	{"for true in x { true }", 1, 5, "true is a constant", ""},
	{"var false = 1", 1, 5, "false is a constant", ""},
	{"watch = 1", 1, 1, "watch is a keyword", ""},
	{"var = 1", 1, 1, "var is a keyword", ""},
	{"y = in", 1, 5, "in, which is a keyword", ""},
	{"reset + 1", 1, 1, "reset is a keyword", ""},
	{"watch x, if", 1, 10, "if is a keyword", ""},
	{"var v := 1", 1, 7, "expected =", "var v ="},
	{"else { }", 1, 1, "else has no if", ""},
	{"if x = 3 { }", 1, 6, "expected {, found =", "=="},
	{"if {a: 1}.a { }", 1, 4, "found {", "parentheses"},
	{"if x", 1, 5, "expected {, found the end", "braces"},
	{"if x > 1 { y", 1, 13, "expected }, found the end", "close the { of column 10"},
	{"if (x > 0) x else y", 1, 12, "expected {, found x", "braces"},
	{"if x { 1 } else y", 1, 17, "expected {, found y", "braces"},
	{"while x 1", 1, 9, "expected {, found 1", "braces"},
	{"for (i = 0; i < 3; i++) { }", 1, 1, "no parentheses", "for i in range(n)"},
	{"for (a, b) in x { }", 1, 1, "no parentheses", "for a, b in pairs"},
	{"if x { 1 } 2", 1, 12, "expected an operator or the end", ""},
	{"f(x) {\n x^2", 2, 5, "expected }, found the end", ""},
	{"x }", 1, 3, "found }", "nothing open"},
	{"x)", 1, 2, "found )", "nothing open"},
	{"y = a +\n b )", 2, 4, "found )", "nothing open"},
	{"if; x", 1, 3, "expected an expression, found ;", ""},
	{"if == 1", 1, 1, "if is a keyword", "for a value choose another name"},
	{"gradient(y, x)", 1, 1, "gradient is a keyword", "grad(y, x)"},
	{"gradient f(x) = 1", 1, 13, "expected ;", "upstream"},
	{"gradient f(x; g) = 1, 2", 1, 1, "f has 1 argument, its gradient 2 expressions", "one expression for each"},
	{"gradient f(x; x) = 1", 1, 15, "x is given twice", ""},

	// other notations
	{"sqrt x", 1, 6, "between sqrt and x", "write sqrt(x) for a call, or sqrt*x"},
	{"2*sqrt sin(x)", 1, 8, "between sqrt and sin", "write sqrt(sin(…)) for a call"},
	{"exp(sin x)", 1, 9, "between sin and x", "write sin(x) for a call, or sin*x, or sin, x with a comma"},
	{"sin^-1(x)", 1, 7, "between 1 and (", "arcsin(x) for the inverse, sin(x)^-1 for 1/sin(x)"},
	{"f^-1(x)", 1, 5, "between 1 and (", "write 1*(…)"},
	{"sin⁻¹(x)", 1, 4, "⁻", "arcsin(x)"},
	{"log⁻¹(x)", 1, 4, "⁻", "write log(x)^-1"},
	{"sin²(x)", 1, 4, "²", "write sin(…)^2"},
	{"f'(x)", 1, 2, "'", "write grad(f)(…) for the derivative of f"},
	{"∫x", 1, 1, "∫", "it differentiates"},
	{"“x”", 1, 1, "“", "leave out the quotes"},
	{"`x`", 1, 1, "`", "leave out the quotes"},
	{"x + “y”", 1, 5, "“", "write \""},
	{`"x^2"`, 1, 1, "a string", "leave out the quotes"},
	{`x + "x"`, 1, 5, "a string", ""},
	{"=SIN(A1)", 1, 1, "found =", "leave out the = in front"},
	{"if(x > 0, x, -x)", 1, 17, "expected {", "c ? a : b"},
	{"solve(x^2 = 4, x)", 1, 11, "expected ), found =", "write == to compare"},
	{"from math import sin", 1, 6, "between from and math", "leave out from"},
	{"lim x", 1, 5, "between lim and x", "it differentiates"},
	{"IF(x; y)", 1, 5, "expected ), found ;", "by commas"},
	{"f(x) := x^2", 1, 6, "cannot assign to f(x)", "a function is written f(x) = …"},
	{"f[x_] := x^2", 1, 7, "cannot assign to f[x_]", "a function is written f(x) = …"},
	{"x^2, x=3", 1, 7, "cannot assign to x^2", "--at x=…"},
	{"x^2 at x=3", 1, 5, "between 2 and at", "--at x=3"},
	{"x^2 for x=3", 1, 5, "found for", "--at x=3"},
	{"x^2 wrt x", 1, 5, "between 2 and wrt", "--wrt x"},
	{"50%", 1, 4, "found the end", "x/100"},
	{"x^^2", 1, 3, "found ^", "write ^"},
	{"x***2", 1, 4, "found *", "write **"},
	{"x_{1}", 1, 3, "unexpected {", "x_1"},
	{"x{1}", 1, 2, "unexpected {", "x[…]"},
	{"1 000", 1, 3, "000", "grouped with _"},
	{"0x10", 1, 1, "0x10", "decimal: 16"},
	{"x + ((y\n)", 2, 2, "expected )", "the ( of line 1"},
	{"θ + (y", 1, 7, "expected )", "close the ( of column 5"},
	{"f''(x)", 1, 2, "'", "write grad(grad(f))(…) for the second derivative of f"},
	{"y''", 1, 2, "'", "write grad(grad(y, x), x)"},
	{"A.'", 1, 3, "' after a dot", ".T"},
	{"'x", 1, 1, "not closed", "a pair of quotes"},
	{"d^2/dx^2 x^3", 1, 10, "between 2 and x", "grad(grad(y, x), x)"},
	{"x^2 sin y", 1, 5, "between 2 and sin", "write 2*sin(y)"},
	{"3x10^8", 1, 2, "between 3 and x10", "write 3*10^…"},
	{"sin^2 x", 1, 7, "between 2 and x", "write sin(x)^2, or 2*x"},
	{"@. sin(x)", 1, 1, "found @", "leave out @."},
	{"#^2 &", 1, 1, "empty expression", "# begins a comment"},
	{"(#^2)&[x]", 1, 10, "found the end", "# begins a comment: a value is missing behind ("},
	{"f[x_] = x^2", 1, 7, "cannot assign to f[x_]", "a function is written f(x) = …"},
	{"f(3) = x", 1, 3, "must be names", "=="},
	{"x in [1, 2]", 1, 3, "found in", "any(x == [1, 2])"},
	{"x %in% y", 1, 4, "found in", "any(x == [1, 2])"},
	{"x %/% y", 1, 4, "found /", "write // for a quotient"},
	{"x %>% sin", 1, 4, "found >", "write f(x)"},
	{"x =/= y", 1, 4, "found /", "write !="},
	{"(y := x)", 1, 4, "expected ), found :=", "a statement of its own"},
	{"x(1:2)", 1, 4, "expected ), found :", "x[1:]"},
	{"[1:10]", 1, 3, "expected ], found :", "arange(a, b)"},
	{"λx: x^2", 1, 3, "found :", "a function is written x -> …"},
	{`\(x) x^2`, 1, 1, `\`, "a function is written x -> …"},
	{`A\b`, 1, 2, `\`, "write solve(A, b)"},
	{`\|x\|`, 1, 1, `\`, "write norm(x)"},
	{`2\pi`, 1, 2, `\`, "stands without"},
	{`x \leq 2`, 1, 3, `\`, "write <="},
	{`\sum_{i=1}^n i`, 1, 1, `\`, "write sum(x), of a whole tensor"},
	{`\int_0^1 x dx`, 1, 1, `\`, "it differentiates"},
	{"$$x^2$$", 1, 1, "$", "without $$"},
	{"⌊x⌋", 1, 1, "⌊", "write floor(x)"},
	{"∥x∥", 1, 1, "∥", "write norm(x)"},
	{"x∘y", 1, 2, "∘", "write f(g(x))"},
	{"1.2.3", 1, 4, "unexpected .3", "one point"},
	{"1__0", 1, 2, "a _", "1_000"},
	{"1e+", 1, 1, "1e+", "1e3"},
	{"x + * y", 1, 5, "found *", "a value is missing in front of *"},
	{"atan2(x, ", 1, 10, "found the end", "a value is missing behind ,"},
	{"x ?", 1, 4, "found the end", "a value is missing behind ?"},
	{"y =", 1, 4, "found the end", "a value is missing behind ="},
	{"v^T A v", 1, 5, "between T and A", "a transpose is written x.T"},
	{"<v, v>", 1, 1, "found <", "write dot(x, y)"},
	{"f(a, b=2) = a", 1, 8, "must be names", "no defaults"},
	{"50% * x", 1, 5, "found *", "x/100"},
	{"y = x^2, x = 3", 1, 12, "found =", "statements are separated by ;"},
	{"x = 3, y = x^2", 1, 10, "found =", "statements are separated by ;"},
	{"y = x^2 z = y*2", 1, 9, "between 2 and z", "statements are separated by ;"},
	{"y = x z = y", 1, 7, "between x and z", "statements are separated by ;"},
	{"y = sin(x) y += 1", 1, 12, "between sin(x) and y", "statements are separated by ;"},
	{"y = x/2 f(a, b) = (a + 1)*b", 1, 9, "between 2 and f", "statements are separated by ;"},
	{"f(a) = a^2 f(x)", 1, 12, "between 2 and f", "write 2*f(…)"},
	{"2x = 6", 1, 2, "between 2 and x", "write 2*x"},
	{"sum(x axis=0)", 1, 7, "between x and axis", "arguments are separated by commas: x, axis=…"},
	{"double y = x*x; y", 1, 8, "between double and y", "leave out double"},
	{"let y = x", 1, 5, "between let and y", "leave out let"},
	{"f <- function(a) {\n a^2\n}", 1, 18, "unexpected {", "f(x) = …"},
	{"sum_{i=1}^n i", 1, 5, "unexpected {", "write sum(x), of a whole tensor"},
	{"x^2 @ x=3", 1, 8, "cannot assign to x^2 @ x", "--at x=3"},
	{"x^2 |_{x=3}", 1, 5, "|", "--at x=3"},
	{"ln|x|", 1, 3, "|", "write abs(x) for |x|"},
	{"log₁₀(x)", 1, 4, "₁", "write log10(x)"},
	{`\(x^2\)`, 1, 1, `\`, `without \( and \)`},
	{`\frac{d}{dx} x^2`, 1, 1, `\`, "write grad(y, x)"},
	{"frac{x}{2}", 1, 5, "unexpected {", "write a / b"},
	{"max{x, 0}", 1, 4, "unexpected {", "write max(…) for a call"},
	{"stop_recording { y = x }", 1, 16, "unexpected { after stop_recording", "write no_gradient { … }"},
	{"log_{2}(x)", 1, 5, "unexpected {", "write log2(x)"},
	{"[1 2; 3 4]", 1, 4, "between 1 and 2", "[[1, 2], [3, 4]]"},
	{"1 2 3", 1, 3, "between 1 and 2", "several numbers are written [1, 2]"},
	{"2 300", 1, 3, "between 2 and 300", "as in 2_300"},
	{"50%*x", 1, 4, "found *", "x/100"},
	{"50%/x", 1, 4, "found /", "x/100"},
	{"50% || x", 1, 5, "found ||", "x/100"},
	{"sin²(x)", 1, 4, "²", "write sin(…)^2"},
	{"(a:b)", 1, 3, "found :", ""}, // nothing stands before that could be indexed
	{"x %*% y", 1, 4, "found *", "write @"},
	{"5 km + x", 1, 3, "between 5 and km", "has no unit"},
	{"sin(30 deg)", 1, 8, "between 30 and deg", "radians(30)"},
	{"sin(30°)", 1, 7, "°", "radians(x)"},
	{"1.5f*x", 1, 4, "between 1.5 and f", "write 1.5, or 1.5*f"},
	{"1.5d3*x", 1, 4, "between 1.5 and d3", "write 1.5e3"},
	{"1/2x", 1, 4, "between 2 and x", "write (2*x) to divide by both"},
	{"sin 2x", 1, 5, "between sin and 2", "write sin(2*x)"},
	{"x AND y", 1, 3, "between x and AND", "write &&"},
	{"NOT x", 1, 5, "between NOT and x", "write !x"},
	{"(x^2)'", 1, 6, "' after )", "write (…).T"},
	{"grad x^2", 1, 6, "between grad and x", "write grad(y, x)"},
	{"x^2 // the square", 1, 12, "between the and square", "a comment begins with #"},
	{"x^2 -- the square", 1, 12, "between the and square", "a comment begins with #"},
	{"std::max(x, 0)", 1, 4, "found :", "leave out std::"},
	{"{x^2 | x in [1, 2]}", 1, 3, "found ^", "operations take whole tensors"},
	{"x ∈ [1, 2]", 1, 3, "∈", "any(x == [1, 2])"},
	{"x ± 1", 1, 3, "±", "[x - a, x + a]"},
	{"[1, 2] . [x, y]", 1, 10, "found [", "write dot(x, y)"},

	// nesting
	{strings.Repeat("(", 20000), 1, 10001, "nested too deeply", ""},
	{strings.Repeat("f(", 20000), 1, 20001, "nested too deeply", ""},
	{strings.Repeat("-", 20000) + "x", 1, 10000, "nested too deeply", ""},
	{strings.Repeat("x^", 50000) + "x", 1, 20001, "nested too deeply", ""},
	{strings.Repeat("!", 9000) + strings.Repeat("(", 2000), 1, 10001, "nested too deeply", ""},
	{"f" + strings.Repeat("(x)", 20000), 1, 30002, "nested too deeply", ""},
	{strings.Repeat("(", 200) + "f" + strings.Repeat(strings.Repeat(".T", 100)+")", 200), 1, 0, "nested too deeply", ""},
	{"if c { }" + strings.Repeat(" else if c { }", 20000), 1, 0, "nested too deeply", ""},
	{strings.Repeat("if c { ", 20000), 1, 0, "nested too deeply", ""},
	{strings.Repeat("x -> ", 20000) + "x", 1, 0, "nested too deeply", ""},
	{strings.Repeat("c ? a : ", 20000) + "x", 1, 0, "nested too deeply", ""},
}

func TestMistakes(t *testing.T) {
	for _, row := range mistakes {
		text := row.text
		if len(text) > 60 {
			text = text[:60] + "…"
		}
		_, err := Parse("", row.text)
		e, ok := err.(*Error)
		if !ok {
			t.Errorf("Parse(%q) gave %v, want the error %q", text, err, row.want)
			continue
		}
		if line, col := e.LineCol(); row.col > 0 && (line != row.line || col != row.col) {
			t.Errorf("Parse(%q) complains at %d:%d, want %d:%d (%s)", text, line, col, row.line, row.col, e.Msg)
		}
		if !strings.Contains(e.Msg, row.want) || !strings.Contains(e.Hint, row.hint) {
			t.Errorf("Parse(%q) says %q, hint %q, want %q, hint %q", text, e.Msg, e.Hint, row.want, row.hint)
		}
		if e.Prog == nil || e.Kind != "syntax" || len(e.Msg) > 200 || len(e.Render()) > 1000 {
			t.Errorf("Parse(%q) gave an error of kind %q with %d bytes, want a short one of kind syntax", text, e.Kind, len(e.Render()))
		}
	}
}

// What is long but not deep takes time in proportion.
func TestLong(t *testing.T) {
	many := func(n int, unit, sep string) string { return strings.Repeat(unit+sep, n-1) + unit }
	for _, row := range []struct{ name, text string }{
		{"sum of 200000", many(200000, "x", "+")},
		{"sum in parentheses", many(100000, "(x)", "-")},
		{"mixed operators", many(50000, "x*y*z < 1 && a", "||")},
		{"statements", many(100000, "x = x*x", "\n")},
		{"list of 200000", "[" + many(200000, "1", ", ") + "]"},
		{"call of 100000", "f(" + many(100000, "x", ",") + ")"},
		{"record", "{" + strings.Join(numbered(50000, "a%d: 1"), ",") + "}"},
		{"named arguments", "f(" + strings.Join(numbered(50000, "a%d=1"), ",") + ")"},
		{"a fraction of 100000 zeros", "0." + strings.Repeat("0", 100000) + "1"},
		{"a name of a million letters", strings.Repeat("x", 1000000)},
		{"a million line ends", strings.Repeat("\n", 1000000) + "x"},
		{"deep and just allowed", strings.Repeat("(", 4900) + "-x" + strings.Repeat(")", 4900)},
		{"power", many(9000, "x", "^")},
		{"lists in lists", strings.Repeat("[", 9000) + strings.Repeat("]", 9000)},
		{"calls in calls", strings.Repeat("f(", 9000) + "x" + strings.Repeat(")", 9000)},
		{"calls of calls", "f" + strings.Repeat("(x)", 9000)},
		{"functions in functions", strings.Repeat("x -> ", 9000) + "x"},
		{"blocks in blocks", strings.Repeat("if x { ", 2000) + "x" + strings.Repeat(" }", 2000)},
		{"else if", "if x { }" + strings.Repeat(" else if x { }", 4000)},
	} {
		const enough = 10 * time.Second // a hundred times what it takes
		took, err := timeOfParse(row.text)
		for try := 1; try < 3 && err == nil && took > enough; try++ { // another process may have had the processor
			took, err = timeOfParse(row.text)
		}
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
		} else if took > enough {
			t.Errorf("%s took %v, want time linear in its length", row.name, took)
		}
	}
}

// timeOfParse is how long it takes to parse a text, to print that and to parse it again.
func timeOfParse(text string) (time.Duration, error) {
	start := time.Now()
	p, err := Parse("", text)
	if err != nil {
		return 0, err
	}
	again, err := Parse("", Print(p))
	if err != nil {
		return 0, fmt.Errorf("its print does not parse: %w", err)
	}
	FreeNames(again)
	return time.Since(start), nil
}

func numbered(n int, format string) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(format, i)
	}
	return list
}

func TestParseExpr(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"pi/4", "pi / 4"},
		{"\n[[1,2],[3,4]]\n", "[[1, 2], [3, 4]]"},
		{"x = 3", "error: expected the end, found ="},
		{"1, 2", "error: expected the end, found ,"},
		{"1; 2", "error: expected the end, found 2"},
		{"", "error: empty expression"},
	} {
		x, prog, err := ParseExpr("", row.text)
		got := ""
		if err != nil {
			got = "error: " + err.Error()
		} else {
			got = Sprint(x)
		}
		if got != row.want || prog == nil || prog.Text != row.text {
			t.Errorf("ParseExpr(%q) = %s, want %s", row.text, got, row.want)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	text := strings.Repeat("y = sin(x)^2 + a[1:, 0]*exp(-x/2) - 1.5e-3\n", 1000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("", text); err != nil {
			b.Fatal(err)
		}
	}
}
