package expr

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What stands alone as a statement, and is neither the value of its block nor a name or a call.
func TestDecimalComma(t *testing.T) {
	for _, row := range []struct {
		text string
		want bool
	}{
		{"1,5*x", true},
		{"y = x; 1,100", true},
		{"1, 5*x", false}, // who leaves a blank means two
		{"(1,5)", false},
		{"x^2,3*x", false},
		{"1,x", false},
		{"a, b = 1,5", false},
		{"f(1,5)", false},
		{"1,5*x; x", false}, // no target
		{"", false},
	} {
		p, err := Parse("", row.text)
		if row.text == "" {
			p, err = &Program{}, nil
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := DecimalComma(p) != nil; got != row.want {
			t.Errorf("DecimalComma of %q = %v, want %v", row.text, got, row.want)
		}
	}
}

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
		{"for i in xs { x + i }", "x + i"}, // a loop has no value
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
