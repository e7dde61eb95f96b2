package expr

import (
	"strings"
	"testing"
)

func TestFreeNames(t *testing.T) {
	for _, row := range []struct{ text, names, called string }{
		{"y = x * x; z = y * y; z", "x", ""},
		{"w @ x + b", "w x b", ""}, // in order of appearance
		{"x = 2*x; x^2", "x", ""},  // read before it is bound
		{"x = 3; x^2", "", ""},
		{"sin(x) + sin(y)", "x y", "sin"},
		{"vmap(sin)(x)", "sin x", "vmap"}, // used as a value: the caller knows it is an operation
		{"f(a) = a*k; f(x)", "k x", ""},   // parameters are not free, what the body reads is
		{"f(a) = a*k; k = 3; f(x)", "x", ""},
		{"f(n) { n < 1 ? 1 : n*f(n-1) }; f(m)", "m", ""},
		{"f(a) { t = a; t*t }; t", "t", ""}, // bound inside, free outside
		{"x -> x*y", "y", ""},
		{"(a, b) -> z -> a*z + c", "c", ""},
		{"grad(f)(x)", "f x", "grad"},
		{"v += 1; v := 2", "v", ""}, // state that nothing declares is an input
		{"var v = 1; v += x", "x", ""},
		{"q, r = f(x); q*r", "x", "f"},
		{"for i in range(n) { s = i*k }; s", "n k", "range"},
		{"s = 0; for a, b in xs { s = s + a*b }; s", "xs", ""},
		{"while c { c = g(c); t = 1 }; t", "c", "g"}, // a loop is taken to run
		{"if c { y = 1 } else { y = 2 }; y", "c", ""},
		{"if c { y = 1 }; y", "c y", ""},                // one branch may not bind it
		{"if c { a = 1 } else { b = 1 }; b", "c b", ""}, // the other branch may not, either
		{"if c { y = 1 } else if d { y = 2 } else { y = z }; y", "c d z", ""},
		{"if c { y = 1 } else if d { y = 2 }; y", "c d y", ""},
		{"if c { y = 1; y } else { y }", "c y", ""},
		{"no_gradient { y = x }; y", "x", ""},
		{"watch x; unwatch y", "x y", ""},
		{"gradient f(a; g) = g*h*a; f(x)", "h x", "f"},
		{"sum(x, axis=k)", "x k", "sum"}, // the names of arguments are not read
		{"{loss: l, acc: a}.loss", "l a", ""},
		{"x[i, a:b:c, newaxis]", "x i a b c", ""},
		{"c ? a : b", "c a b", ""},
		{"f = x -> x + k; f(y)", "k y", ""},
		{"f(a) = g(a); g(a) = a*k; f(x)", "k x", ""},
	} {
		p, err := Parse("", row.text)
		if err != nil {
			t.Errorf("Parse(%q): %v", row.text, err)
			continue
		}
		if got := strings.Join(FreeNames(p), " "); got != row.names {
			t.Errorf("FreeNames of %q = %q, want %q", row.text, got, row.names)
		}
		if got := strings.Join(Callees(p), " "); got != row.called {
			t.Errorf("Callees of %q = %q, want %q", row.text, got, row.called)
		}
	}
}

// What a branch may have bound need not be given; it is still what the program reads.
func TestNeeded(t *testing.T) {
	for _, row := range []struct{ text, names, called string }{
		{"if c { y = x }; y", "c x", ""},
		{"if c { y = 1 } else if d { y = 2 }; y", "c d", ""},
		{"if c { y = 1; y } else { y }", "c y", ""}, // the other branch has not run
		{"if c { if d { y = 1 } }; y + z", "c d z", ""},
		{"if c { y = 1 }; if d { y = 2 } else { y = 3 }; y", "c d", ""},
		{"y + 1; if c { y = 1 }", "y c", ""},
		{"if c { y = 1 }; y + 1; f(y)", "c", "f"},
		{"if c { f(x) = x }; f(1)", "c", ""},
		{"g(x) { if x > 0 { r = x }; r }; g(a)", "a", ""},
	} {
		p, err := Parse("", row.text)
		if err != nil {
			t.Errorf("Parse(%q): %v", row.text, err)
			continue
		}
		if got := strings.Join(Needed(p), " "); got != row.names {
			t.Errorf("Needed of %q = %q, want %q", row.text, got, row.names)
		}
		if got := strings.Join(Callees(p), " "); got != row.called {
			t.Errorf("Callees of %q = %q, want %q", row.text, got, row.called)
		}
	}
}

func TestBinds(t *testing.T) {
	for _, row := range []struct {
		text, name string
		want       bool
	}{
		{"y = x", "y", true},
		{"y = x", "x", false},
		{"a, b = x", "b", true},
		{"v += 1; v := 2", "v", false}, // state is bound by var
		{"var v = 1", "v", true},
		{"for i in x { t = i }", "i", true},
		{"for i in x { t = i }", "t", true},
		{"if c { y = 1 }", "y", true},
		{"f(a) = a", "f", true},
		{"f(a) = a", "a", false},
		{"f(a) { t = a; t }", "t", true},
	} {
		p, err := Parse("", row.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Binds(p, row.name); got != row.want {
			t.Errorf("Binds(%q, %s) = %v, want %v", row.text, row.name, got, row.want)
		}
	}
}
