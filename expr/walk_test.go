package expr

import (
	"fmt"
	"slices"
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

// What stands alone as a statement, and is neither the value of its block nor a name or a call.
func TestIdle(t *testing.T) {
	rows := []struct{ text, idle string }{
		{"y = x\n+ 2*x\ny", "+ 2*x"},
		{"y == x; y", "y == x"},
		{"y = 1; x + y", ""},
		{"x + 1; y = 1", "x + 1"},
		{"x; f(x); x^2", ""},
		{"if c { x + 1 } else { x - 1 }", ""},
		{"if c { x + 1 } else { x - 1 }; x", "x + 1|x - 1"},
		{"while c { x = 1; x == 2 }", "x == 2"},
		{"f(a) { a^2; a^3 }; no_gradient { f(1)*2 }", "a^2|f(1)*2"},
	}
	for _, row := range rows {
		p, err := Parse("", row.text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range Idle(p) {
			got = append(got, row.text[x.Where().Start:x.Where().End])
		}
		if strings.Join(got, "|") != row.idle {
			t.Errorf("Idle of %q = %q, want %q", row.text, got, row.idle)
		}
	}
}

// Walk visits nodes in the order of the text, and no deeper than it is told to.
func TestWalk(t *testing.T) {
	var p *Program
	for _, row := range []struct{ text, names string }{
		{"if a { b } else if c { d } else { e }; while f { g }; for h, i in j { k }", "a b c d e f g h i j k"},
		{"f(a) = b; gradient f(a; g) = c*g; no_gradient { d }; watch e; v += w; reset", "b c g d e v w"},
		{"if c { y = a + b*d - f(e, k=g).h[i:j] }\nlist = [(l, m), {n: -o}]; z ? (p -> q) : r", "c y a b d f e g i j list l m o z q r"},
	} {
		var err error
		if p, err = Parse("", row.text); err != nil {
			t.Fatal(err)
		}
		var names []string
		Walk(p, func(n any) bool {
			if n, ok := n.(*Name); ok {
				names = append(names, n.Name)
			}
			return true
		})
		if got := strings.Join(names, " "); got != row.names {
			t.Errorf("Walk of %q visits %s, want %s", row.text, got, row.names)
		}
	}
	var kinds []string
	Walk(p.Stmts[0], func(n any) bool {
		kinds = append(kinds, strings.TrimPrefix(fmt.Sprintf("%T", n), "*expr."))
		b, ok := n.(*Binary)
		return !ok || b.Op != Plus
	})
	want := []string{"If", "Name", "Block", "Bind", "Name", "Binary", "Binary", "Index", "Field", "Call", "Name", "Name", "Name", "Name", "Name"}
	if !slices.Equal(kinds, want) {
		t.Errorf("Walk visits %v, want %v", kinds, want)
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

func TestSplitList(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"a", "a"},
		{"a, b ,c", "a|b|c"},
		{"f(a, b), c[1, 2],", "f(a, b)|c[1, 2]"}, // commas inside brackets do not cut
		{" , ", ""},
		{"", ""},
	} {
		if got := strings.Join(SplitList(row.text), "|"); got != row.want {
			t.Errorf("SplitList(%q) = %q, want %q", row.text, got, row.want)
		}
	}
}
