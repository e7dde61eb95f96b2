package expr

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// What a user sees, whole.
func TestRender(t *testing.T) {
	long := strings.Repeat("a + ", 40)
	for _, row := range []struct{ name, text, want string }{
		{"", "x + * y", `
expected an expression, found *
    x + * y
        ^
    hint: a value is missing in front of *`},
		{"", "2sin(x)", `
expected an operator between 2 and sin
    2sin(x)
     ^~~
    hint: write 2*sin(…)`},
		{"model.nabla", "sin(x", `
expected ), found the end (model.nabla:1:6)
    sin(x
         ^
    hint: close the ( of column 4`},
		{"", "y = 2\nx +\n* y\n", `
expected an expression, found * (line 3, column 1)
    * y
    ^
    hint: a value is missing in front of *`},
		{"model.nabla", "y = 2\n  x + $", `
unexpected character $, in line 2 (model.nabla:2:7)
      x + $
          ^`},
		{"", "if x > 0 {\n", `
expected }, found the end
    if x > 0 {
              ^
    hint: close the { of column 10`},
		{"", "\tx +\t$", "\nunexpected character $\n    \tx +\t$\n    \t   \t^"}, // tabs stay, so that the mark aligns
		{"", "日本 + $", "\nunexpected character $\n    日本 + $\n           ^"},     // wide characters take two cells
		{"", "a\u0302 + $", "\nunexpected character $\n    a\u0302 + $\n        ^"},
		{"", "x + \u202ey", `
unexpected character U+202E, which cannot be seen
    x + <U+202E>y
        ^~~~~~~~
    hint: delete it`},
		{"", "\ufeffx\r\n+ \xff\r\n", `
the byte 0xff is not UTF-8 (line 2, column 3)
    + <0xff>
      ^~~~~~`},
		{"", long + "$" + long, `
unexpected character $
    …+ a + a + a + a + a + a + a + a + $a + a + a + a + a + a + a + a + a +…
                                       ^
    hint: a name stands without $`},
		{"", "$" + long, `
unexpected character $
    $a + a + a + a + a + a + a + a + a + a + a + a + a + a + a + a + a + a…
    ^
    hint: a name stands without $`},
		{"", long, "\nexpected an expression, found the end\n" +
			"    …" + long[len(long)-70:] + "\n" + strings.Repeat(" ", 75) + "^\n    hint: a value is missing behind +"},
	} {
		_, err := Parse(row.name, row.text)
		if err == nil {
			t.Errorf("Parse(%q) found no mistake", row.text)
			continue
		}
		got, want := err.(*Error).Render(), row.want[1:]
		if got != want {
			t.Errorf("the error of %q is\n%s\nwant\n%s", row.text, got, want)
		}
	}
}

// Errors of those who run a program: a span around the mark, and a note.
func TestRenderNote(t *testing.T) {
	x, prog, err := ParseExpr("", "sum(x @ w)")
	if err != nil {
		t.Fatal(err)
	}
	b := x.(*Call).Args[0].Value.(*Binary)
	_, tabs, err := ParseExpr("", "sum(x\t@ w)")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		e    Error
		want string
	}{
		{Error{Prog: prog, Where: b.Where(), Mark: b.Mark(), Msg: "shapes (7, 5) and (4, 3) do not multiply", Note: "inner sizes 5 and 4 differ"},
			"shapes (7, 5) and (4, 3) do not multiply\n    sum(x @ w)\n        ~~^~~  inner sizes 5 and 4 differ"},
		{Error{Prog: tabs, Where: Span{4, 9}, Mark: 6, Msg: "no"}, "no\n    sum(x\t@ w)\n        ~\t^~~"}, // a tab inside the span, too
		{Error{Prog: prog, Where: x.Where(), Mark: x.Mark(), Msg: "no", Hint: "did you mean sin?"},
			"no\n    sum(x @ w)\n    ^~~~~~~~~~\n    hint: did you mean sin?"},
		{Error{Prog: prog, Where: Span{NoPos, NoPos}, Mark: NoPos, Msg: "no", Note: "why", Hint: "how"}, "no: why\n    hint: how"},
		{Error{Mark: 3, Msg: "no"}, "no"},
		{Error{Prog: prog, Where: Span{0, 3}, Mark: 8, Msg: "no"}, "no\n    sum(x @ w)\n            ^"}, // a mark outside its span stands alone
		{Error{Prog: prog, Where: Span{0, 99}, Mark: 99, Msg: "no"}, "no"},
	} {
		if got := row.e.Render(); got != row.want {
			t.Errorf("Render =\n%s\nwant\n%s", got, row.want)
		}
	}
}

// Whatever the mistake, the mark stands below the source and the line stays short.
func TestRenderShape(t *testing.T) {
	mark := regexp.MustCompile(`^\s*~*\^~*.*$`)
	for _, row := range mistakes {
		_, err := Parse("", row.text)
		lines := strings.Split(err.(*Error).Render(), "\n")
		if row.text == "" { // there is nothing to mark
			continue
		}
		if len(lines) < 3 || !mark.MatchString(lines[2]) {
			t.Errorf("the error of %.40q has no mark in its third line: %q", row.text, lines)
			continue
		}
		for _, l := range lines[1:3] {
			if n := utf8.RuneCountInString(l); n > 4+window+8 {
				t.Errorf("the error of %.40q shows a line of %d characters, want at most %d", row.text, n, window)
			}
		}
	}
}

func TestSuggest(t *testing.T) {
	ops := strings.Fields("sinh sin cos tan tanh exp log log1p sum softmax softplus alpha matmul max min X")
	for _, row := range []struct{ name, want string }{
		{"sine", "sin"},
		{"Sin", "sin"},
		{"SOFTMAX", "softmax"},
		{"alhpa", "alpha"}, // two letters exchanged
		{"softmx", "softmax"},
		{"sofptlus", "softplus"},
		{"exps", "exp"},
		{"logp1", "log1p"},
		{"x", "X"},
		{"y", ""}, // as far from everything as its own length
		{"mix", "min"},
		{"ab", ""},
		{"convolve", ""},
		{"sin", "sinh"}, // never the name itself
		{"", ""},
	} {
		if got := Suggest(row.name, ops); got != row.want {
			t.Errorf("Suggest(%q) = %q, want %q", row.name, got, row.want)
		}
	}
	if got, want := DidYouMean("sine", ops), "did you mean sin?"; got != want {
		t.Errorf("DidYouMean(sine) = %q, want %q", got, want)
	}
	if got := DidYouMean("convolve", ops); got != "" {
		t.Errorf("DidYouMean(convolve) = %q, want nothing", got)
	}
}

func TestNearest(t *testing.T) {
	for _, row := range []struct{ word, candidates, want string }{
		{"hess", "hessian hessp", "hessp"}, // the shortest that it begins
		{"mat", "matb mata", "mata"},
		{"mat", "mata matb", "mata"},
		{"sot", "sort", "sort"},      // misspelt
		{"so", "sort soft", ""},      // of two letters too much begins
		{"sort", "sort", ""},         // never the word itself
		{"sn", "sum sin son", "sin"}, // of three letters, the middle one left out
		{"sn", "sine sum", ""},
	} {
		if got := Nearest(row.word, strings.Fields(row.candidates)); got != row.want {
			t.Errorf("Nearest(%q) of %s = %q, want %q", row.word, row.candidates, got, row.want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, row := range []struct {
		a, b string
		want int
	}{
		{"sin", "sin", 0},
		{"sin", "sine", 1},
		{"sin", "son", 1},
		{"sin", "isn", 1},
		{"sin", "in", 1},
		{"abcd", "badc", 2},
		{"θ", "φ", 1}, // characters, not bytes
		{"a", "abcd", 3},
		{strings.Repeat("a", 1000), "a", 3},
	} {
		if got := distance(row.a, row.b); got != row.want {
			t.Errorf("distance(%.20q, %q) = %d, want %d", row.a, row.b, got, row.want)
		}
	}
}

// What to write for a word of another language.
func TestForeign(t *testing.T) {
	for _, row := range []struct{ word, hint string }{
		{"softmin", "softmax(-x)"},
		{"band_part", "tril("},
		{"random_normal", "randn("},
		{"c", "write [1, 2, 3]"},
		{"seq", "linspace(0, 1, 11)"},
		{"ifelse", "write where(c, x, y)"},
		{"syms", "leave it out"},
		{"t", "x.T"},
		{"map", "vmap(f)(x)"},
		{"I", "eye(n)"},
		{"nrow", "x.shape[0]"},
		{"ncol", "x.shape[1]"},
		{"length", "x.size"},
		{"trigamma", "polygamma(1, x)"},
		{"sind", "write sin(radians(x))"},
		{"acsc", "write asin(1/x)"},
		{"max_pool", "max_pool1d(x, size) or max_pool2d(x, size)"},
		{"nll_loss", "sparse_softmax_cross_entropy"},
		{"fsolve", "x - f/grad(f, x)"},
		{"besselj", "not there"},
		{"jit", "leave out jit"},
		{"gpu", "no GPU here"}, // not glu
		{"newton", "x - f/grad(f, x)"},
		{"linearize", "write jvp(f)(x, v)"},
		{"plogis", "write sigmoid(x)"},
		{"lchoose", "betaln"},
		{"softmax_cross_entropy_with_logits", "write softmax_cross_entropy(logits, labels)"},
		{"let", "leave out let"},
		{"select", "where(c1, x1, where(c2, x2, y))"}, // lists of conditions in NumPy, one in others
		{"cosec", "write csc(x)"},                     // not cos
		{"sqr", "write x^2"},                          // not sqrt
		{"bucketize", "write digitize(x, bins)"},
		{"cdist", "newaxis"}, // not cast
		{"x", ""},
	} {
		if got := Foreign(row.word); !strings.Contains(got, row.hint) || (got == "") != (row.hint == "") {
			t.Errorf("for %s one is told %q, want %q", row.word, got, row.hint)
		}
	}
	seen := map[string]bool{}
	for line := range strings.Lines(foreignText) {
		words, write, ok := strings.Cut(line, ": ")
		if !ok || strings.TrimSpace(write) == "" {
			t.Errorf("no fix in %q", line)
		}
		for w := range strings.FieldsSeq(words) {
			if seen[w] {
				t.Errorf("%s has two fixes", w)
			}
			seen[w] = true
		}
	}
}
