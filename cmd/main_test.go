package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"nabla/tape"
)

// TestMain takes away what the environment of whoever tests may say of the output.
func TestMain(m *testing.M) {
	for _, name := range []string{"COLUMNS", "NO_COLOR", "NABLA_DEBUG"} {
		os.Unsetenv(name)
	}
	os.Exit(m.Run())
}

func run(in string, args ...string) (code int, out, err string) {
	var o, e bytes.Buffer
	code = Main(args, strings.NewReader(in), &o, &e)
	return code, o.String(), e.String()
}

func TestCommandLines(t *testing.T) {
	for _, c := range []struct {
		args        string // separated by space; ␣ is a space in a word
		in          string
		code        int
		stdout, err string // patterns; "" is nothing at all
	}{
		// what is an expression, and what a flag
		{"x^2 -a x=3 -r", "", 0, "^6\n$", ""},
		{"-x^2 -a x=3 -r", "", 0, "^-6\n$", ""},
		{"-exp(-x^2) -a x=0 -r", "", 0, "^-?0\n$", ""},   // -e xp(-x^2) to pflag
		{"-floor(x)*x -a x=1.5 -r", "", 0, "^-1\n$", ""}, // not --format
		{"-3*x -a x=1 -r", "", 0, "^-3\n$", ""},
		{"-(x) -a x=1 -r", "", 0, "^-1\n$", ""},
		{"--x -a x=1 -r", "", 0, "^1\n$", ""},
		{"grad -r -a x=1 -- -x", "", 0, "^-1\n$", ""},
		{"grad -ax=3 x^2 -fraw", "", 0, "^6\n$", ""},
		{"grad -a=x=3 x^2 -f=raw", "", 0, "^6\n$", ""},
		{"-r -a x=3 grad x^2", "", 0, "^6\n$", ""}, // flags before the command
		{"-qr x^2 -a x=3", "", 0, "^6\n$", ""},     // a cluster
		{"-qrf raw x^2 -a x=3", "", 0, "^6\n$", ""},
		{"-a*x -a a=2,x=3 -w x -r", "", 0, "^-2\n$", ""}, // not --at '*x'
		{"eval -1 -r", "", 0, "^-1\n$", ""},
		{"vjp x^2 -a x=3 --with -1 -r", "", 0, "^-6\n$", ""}, // a value may begin with -
		{"x^2 -a x=3 -r -a", "", 2, "", "^nabla: -a needs a value\n    hint: write --at NAME=VALUE\n$"},
		{"grad x --wrt", "", 2, "", "--wrt needs a value"},
		{"--hesian x^2", "", 2, "", "unknown flag --hesian\n.*nabla hessian"},
		{"x --fromat json", "", 2, "", "did you mean --format"},
		{"eval x --order 2", "", 2, "", "it is a flag of nabla grad"},
		{"x^2 --mode fats", "", 2, "", "one of auto, forward, reverse"},
		{"x^2 -f jsn", "", 2, "", "did you mean json"},
		{"x^2 --mode \x1b[31mred", "", 2, "", "^nabla: --mode <U\\+001B>\\[31mred: it is one of"}, // no orders to a terminal
		{"x^2 --order 99999999999999999999", "", 2, "", "--order 99999999999999999999: it is too large"},
		{"x^2 --seed x", "", 2, "", "--seed x: it is a whole number"},
		{"x^2 --seed 18446744073709551616", "", 2, "", "--seed 18446744073709551616: it is too large, 18446744073709551615 at most"},
		{"x^2 -a x=3 -o a.json -o b.json", "", 2, "", "--out is given twice: a.json and b.json"}, // a script waits for the first
		{"x^2 -a x=3 -r --seed 1 --seed 2", "", 0, "^6\n$", "^$"},                                // an alias may have the first
		{"x^2 --max-memory lots", "", 2, "", "lots is no size"},
		{"x^2 --conventions keras -a x=1", "", 2, "", "one of default, tf, jax, torch"},

		// which command
		{"gard x^2", "", 2, "", "^nabla: unknown command gard: did you mean grad\\?\n$"},
		{"gard", "", 2, "", "did you mean grad"},
		{"gard -a gard=3 -r", "", 0, "^1\n$", ""}, // a name may look like a command
		{"frobnicate x^2", "", 2, "", "unknown command frobnicate"},
		{"x y+1", "", 2, "", "unknown command x"},
		{"x+1 y+1", "", 2, "", "two programs.*\n.*quote"},
		{"", "", 2, "", "usage: nabla"},
		{"-h", "", 0, "usage: nabla", ""},
		{"help", "", 0, "usage: nabla", ""},
		{"help hessian", "", 0, "--diagonal", ""},
		{"hessian -h", "", 0, "--diagonal", ""},
		{"help quotin", "", 2, "", "did you mean quoting"},
		{"help grad nosuch", "", 2, "", "one word, and there is 'nosuch'"},
		{"version", "", 0, "^nabla .*kernels ", ""},
		{"--version", "", 0, "^nabla ", ""},

		// the program: exactly one
		{"grad", "", 2, "", "no expression"},
		{"grad x -e x -a x=1", "", 2, "", "two programs"},
		{"help sin", "", 0, "sin\\(x\\): sine", ""},
		{"help language", "", 0, "^The language", ""},
		{"help exit codes", "", 0, "^Scripts may", ""},
		{"help while", "", 0, "^The language", ""},
		{"help functions", "", 0, "^nabla ops", ""},
		{"help --each", "", 0, "--each .*\n\nA flag of nabla eval", ""},
		{"help -i", "", 0, "-i, --in FILE", ""},
		{"help custom_gradient", "", 2, "", "hint: write gradient f"},
		{"help grad hessian", "", 2, "", "help takes one word"},
		{"help --max-memory", "", 0, "--max-memory SIZE", ""},
		{"help x^2", "", 2, "", "no help for x\\^2\n.*nabla 'x\\^2' --at x=3 .*nabla help syntax"},
		{"help x + 1", "", 2, "", "no help for x \\+ 1\n.*nabla help syntax"},
		{"help flags", "", 0, "nabla COMMAND --help lists all flags", ""},
		{"help options", "", 0, "nabla COMMAND --help lists all flags", ""},
		{"help custom gradient", "", 0, "^The language", ""},
		{"help while loop", "", 0, "^The language", ""},
		{"help npz files", "", 0, "^How results", ""},
		{"help error codes", "", 0, "^Scripts may", ""},
		{"help kinks", "", 0, "^nabla ops", ""},
		{"help ties", "", 0, "^nabla ops", ""},
		{"help memory", "", 0, "--max-memory", ""},
		{"help timeouts", "", 0, "--timeout", ""},
		{"help batch", "", 0, "^nabla batch-jacobian", ""},
		{"help ci", "", 0, "^nabla check", ""},
		{"help infinity", "", 0, "^The language", ""},
		{"help gradeint", "", 2, "", "did you mean gradients"}, // what topics are asked for by, too
		{"help no such thing", "", 2, "", "one word, and there is 'such', too\n.*there is help for every command"},
		{"help @", "", 0, "^The language", ""},
		{"explain x^2 -a x=3 -v", "", 0, "\ntree\n.*\n\ntape\n", ""},
		{"explain x[::-1] -a x=[1,2]", "", 0, " x\\[::-1\\]\n", ""},
		{"jvp sum(p.w)*p.v*q -a p={w:[1,2],v:3},q=2 --with p.w=1 -r", "", 0, "^12\n$", ""}, // what has no tangent stands still, in structures too
		{"jvp sum(p.w)*q -a p={w:[1,2],v:3},q=2 --with p.w=1 -w p.w -r", "", 0, "^4\n$", ""},
		{"hvp sum(p.w)^2*q -a p={w:[1,2],v:3},q=2 --with q=1,p.w=[1,0] -f json", "", 0, `"p":{"w":\[10,10\],"v":null},"q":6`, ""},
		{"jvp q[0]^2*q[1] -a q=(1,2) --with q[1]=1 -r", "", 0, "^1\n$", ""}, // of tuples, too
		{"jvp q[0]^2*q[1] -a q=(1,2) --with q[0]=1 -w q[0] -r", "", 0, "^4\n$", ""},
		{"jvp q[0]^2*q[1] -a q=(1,2) --with q[1]=1 -w q[1] -r", "", 0, "^1\n$", ""},
		{"jvp q[0].a^2*q[1] -a q=({a:1},2) --with q[0].a=1 -r", "", 0, "^4\n$", ""},
		{"jvp q[0]^2*q[1] -a q=(1,2) --with q[2]=1 -r", "", 2, "", "--with q.2.: q has 2 parts"},
		{"jvp q[0]^2*q[1] -a q=(1,2) --with q=(1,) -r", "", 2, "", "--with has 1 part for q, which has 2"}, // what is written whole is whole
		{"vjp (x,x^2) -a x=3 --with (1,) -r", "", 2, "", "--with has 1 part for the target, which has 2"},
		{"grad (x,x^2) -a x=3 --with (1,2,3) -r", "", 2, "", "--with has 3 parts for the target, which has 2"},
		{"vjp y=(x,x^2);y -a x=3 --with (1,2,3) -r", "", 2, "", "--with has 3 parts for y, which has 2"},
		{"jvp q[0]^2*q[1] -a q=(1,2) --with q[99999999999]=1 -r", "", 4, "", "entry 0 of the list must come before"},
		{"jvp sum(x^2) -a x=[1,2] --with x[0]=1 -r", "", 3, "", "the tangent is a tuple of 1, for one tensor"},
		{"grad {a:x,b:x^2} -a x=[1,2] --with {b:2,a:1} -r", "", 0, "^5 9\n$", ""},
		{"grad {a:x,b:x^2} -a x=[1,2] --with {b:1} -r", "", 0, "^2 4\n$", ""},
		{"grad y={a:x,b:x^2};y -a x=[1,2] --with y.b=1 -r", "", 0, "^2 4\n$", ""},
		{"grad y=(x,x^2);y -a x=[1,2] --with y[1]=1 -r", "", 0, "^2 4\n$", ""},
		{"grad {a:x,b:x^2} -a x=[1,2] --with {c:1} -r", "", 2, "", "--with c: it is not a part of the target(.|\n)*the parts of the target are a, b"},
		{"jvp sum(p.w)*q -a p={w:[1,2],v:3},q=2 --with p.v=1 -w p.w -r", "", 2, "", "--with p.v: it is not a source(.|\n)*p.w"},
		{"jvp sum(p.w)*q -a p={w:[1,2],v:3},q=2 --with p.z=1 -r", "", 2, "", "--with p.z: it is not a source"},
		{"jvp x^2 -a x=1", "", 2, "", "needs a tangent for each source(.|\n)*hint: --with x=…, in its shape"},
		{"hvp x*y -a x=1,y=2", "", 2, "", "hint: --with 'x=…, y=…', each in"},
		{"plot x^2 -r x=-2:2", "", 2, "", "^nabla: nabla plot has no flag -r\n.*write --range x=-2:2\n$"},
		{"plot x*y --range x=-1:1", "", 4, "", "y has no value(.|\n)*--range y=LOW:HIGH draws"},
		{"plot -q nan*eye(2)", "", 0, "9 is 1, \\? is nan\n", ""},
		{"plot eye(2)", "", 0, "9 is 1\n", ""},
		{"f␣:=␣x^2 -a x=3", "", 4, "", "a name is bound by =: f = …"},
		{"plot x^2 x=-2:2", "", 2, "", "two programs.*\n.*--range x=-2:2\n$"},
		{"explain x^3+x^-2 -a x=2", "", 0, "power\\(%0, 3\\)(.|\n)*power\\(%0, -2\\)", ""}, // not cube
		{"grad -i -", `{"expr":3}`, 4, "", "expr is a program in quotes"},
		{"grad x -i -", `{"expr":"x","values":{"x":1}}`, 2, "", "two programs"},
		{"-i - -r", `{"expr":"x^2","values":{"x":4}}`, 0, "^8\n$", ""},
		{"grad -p nowhere.nabla", "", 4, "", "nowhere.nabla: no such file"},
		{"grad x^2 -i x=main.go", "", 4, "", "no such file\n.*given with --at x=@main.go\n$"},

		// data
		{"grad x^2", "", 4, "", "^nabla: x has no value\n    x\\^2\n    \\^\n    hint: --at x=…\n$"},
		{"grad x*y*z -a y=1", "", 4, "", "x and z have no value\n.*\n    \\^\n.*--at 'x=…, z=…'"},
		{"grad x^2 -i -", `{"X": 3}`, 4, "", "x has no value.*called X"},
		{"grad alpha*x+alhpa -a x=1,alpha=2", "", 3, "", "unknown name alhpa\n.*\n +\\^~~~~\n.*did you mean alpha"},
		{"grad alpha*x+alhpa -a x=1", "", 3, "", "unknown name alhpa"},
		{"grad " + strings.Repeat("x", 101), "", 4, "", "^nabla: x*…x* has no value\n.*\n.*\n    hint: -i FILE reads it"},
		{"grad x^2 --each -i - -o e.npy", "{\"x\": 1}", 2, "", "--each does not write npy"},
		{"grad theta1*theta2 -a theta1=1", "", 4, "", "theta2 has no value"}, // two names, no slip
		{"--hessian x^2 -a x=1", "", 2, "", "unknown flag --hessian\n.*write nabla hessian"},
		{"grad x^2 --x=3", "", 2, "", "unknown flag --x\n.*--at x=3"},
		{"hvp x^2 --v x=1 -a x=3", "", 2, "", "^nabla: nabla hvp has no flag --v\n.*nabla hvp --help"},
		{"grad x^2 x=3", "", 2, "", "two programs.*\n.*--at 'x=3'"},
		{"grad x^2 -a x=3␣y=4", "", 4, "", "--at: x: .*\n.*\n.*\n.*a comma before y="},
		{"grad x^2 -a x=x.npy", "", 4, "", "hint: .*@x.npy"},
		{"grad x^2 --timeout 10", "", 2, "", "--timeout 10: .*\n.*write 10s"},
		{"check x^2 -a x=3 --claim y=2*x", "", 3, "", "claim y: the program has no y"},
		{"check x^2 -a x=3 --claim x=2*", "", 3, "", "claim x:1:3"},
		{"check x^2 -a x=3 --claim x=@c.json", "", 2, "", "claim x: '@c.json' is no expression\n.*--expect FILE"}, // it was told that there are no decorators
		{"check x^2 -a x=3 --claim x=none", "", 1, "the tape has a number, the claim none", ""},
		{"check x^2 -a x=3 --claim x=(1,{a:2})", "", 1, "the tape has a number, the claim a tuple of 2", ""},
		{"check sum(x^2) -a x=[1,2] --claim x={a:2,b:2}", "", 1, "the tape has a tensor of shape \\(2,\\), the claim a record of a, b", ""},
		{"check x^2 -a x=3 --points -1", "", 2, "", "--points"},
		{"check x^2*y -a x=1,y=2 --claim x=2*x*y;y=x^2", "", 3, "", "a claim ends in an expression"},
		{"check s=sin(x);s^2 -a x=1 --claim x=2*s*cos(x)", "", 4, "", "s has no value (?s).*no names that the program binds"},
		{"check 2+3 --points 3", "", 2, "^$", "nothing to differentiate by"},
		{"check float32(x)*x -a x=1.1", "", 0, "ok: 2 of 2", ""},                                      // differences of what is rounded would say 1.1
		{"check std(x)*3+exp(x[0]) -a x=float32([1.1,2.3,-0.7])", "", 0, "ok: 4 of 4", ""},            // a float64, of what is rounded to float32
		{"check sum(x*w) -a w=[1,2] -a x=float32(1) --points 2 --rtol 1e-9", "", 0, "ok: 8 of 8", ""}, // both sides have the x drawn
		{"plot", "", 2, "", "write nabla plot"},
		{"plot x=[1,2,3];y=(1,[2,3]) --of x,y", "", 2, "", "the target is not one tensor"},
		{"plot x=[1,2,3];y=none --of x,y", "", 2, "", "the target is none"},
		{"plot x=[[1,2],[3,4]];y=x --of x,y", "", 2, "", "2 targets: a heat map shows one"},
		{"plot {a:[1,3,1]}", "", 0, "index\\s*$", ""},
		{"plot x^2 -a x=0:3", "", 2, "", "--at x=0:3: .*\n.*write --range x=0:3"},
		{"version x", "", 2, "", "version takes no argument"},
		{"grad x+y -a y=1,х=2", "", 4, "", "x has no value: the input х looks like it.*\n.*\n    \\^\n.*U\\+0445|u0445"}, // a Cyrillic х
		{"grad np.sin(x) -a x=1", "", 3, "", "there are no modules.*\n.*\n    \\^~~~~~\n.*write sin\\(…\\)"},
		{"grad np.pi*x -a x=1", "", 3, "", "there are no modules.*\n.*\n    \\^~~~~\n.*write pi"},
		{"grad x[np.newaxis] -a x=1", "", 3, "", "there are no modules.*\n.*\n.*\n.*write None"},
		{"grad x -a x=tf.linspace(0,1,3)", "", 4, "", "there are no modules: write linspace\\(0,1,3\\)"},
		{"grad layer/w -i -", `{"layer/w": 2}`, 4, "", "'layer/w' is no name in a program"},
		{"grad x -i -", `{"": 2}`, 4, "", "a name is empty"},
		{"grad dy/dx", "", 4, "", "grad\\(y, x\\)"},
		{"grad x^2 -p p.nabla", "", 4, "", "p.nabla: no such file"},
		{"grad x.reshape(2,1) -a x=[1,2]", "", 3, "", "write reshape\\(x, …\\)"},
		{"x^2 -a x=3 --with y=2", "", 2, "", "--with y: it is not a target\n.*\n.*\n.*--with VALUE"},
		{"version --json", "", 2, "", "unknown flag --json\n    hint: --help lists"},
		{"grad tf.math.sinn(x) -a x=1", "", 3, "", "there are no modules.*\n.*\n    \\^~~~~~~~~~~~\n.*did you mean sin"},
		{"grad x^2 -a x=@", "", 2, "", "--at x: '@' names no file"},
		{"grad sinn(x)", "", 3, "", "unknown function sinn"}, // before the missing x
		{"grad x^2 -a x=abc", "", 4, "", "--at: x: 'abc' is not a number"},
		{"grad x^2 -a x=1/0␣+", "", 4, "", "\n +\\^"},
		{"grad x^2 -a x=1 -a x=2", "", 4, "", "x is given twice"},
		{"grad x^2 -a x=@-", "7", 0, "14", ""},
		{"grad x^2 -i - -a y=@-", "7", 2, "", "stdin can be read once"},
		{"grad sum(x^2) -i -", `{"x": {"a": 1}}`, 4, "", "object"},
		{"grad sum(x^2) -i -", `{"x": [1, [2]]}`, 4, "", "(?s)x.*\n +\\^"},
		{"grad x^2 -a x=1 -w q", "", 3, "", "q"},
		{"grad x^2 -a x=1 --watch q", "", 2, "", "no such input"},

		{"--each -i - -r", "{\"expr\":\"x^2\",\"values\":{\"x\":3}}\n{\"values\":{\"x\":1}}\n{\"expr\":\"x\",\"values\":{\"x\":1}}\n", 4, `^6\n\{"line":2,"error":\{.*no expr in this line.*\n1\n$`, "1 line could"},
		{"--each -i - -r", "{\"x\":1}\n{\"x\":2}\n", 2, "", "no expression"},
		{"check -", `[{"expr":"x","at":{"x":None}}]`, 4, "", `(?s)unexpected 'N' where a value should begin.*\^.*hint: write NaN`},
		{"check -", "\ufeff" + `[{"expr":"x+y","at":{"x":NaN,"y":[Infinity,-Infinity,oops]}}]`, 4, "", `unexpected 'o' .*\(line 1, column 55, byte 56\)`},
		{"check -", "\ufeff" + `[{"expr":"x^2","at":{"x":3},"expect":{"grad":{"x":6}}}]`, 0, `ok: 1 of 1`, ``},
		{"check -", `[{"expr":"x^2","at":{"x":1},"order":0}]`, 4, "order: it is 1 or 2, not 0", ""},
		{"check -", `[{"expr":"x^2","at":{"x":3},"claim":"x=2*x","expect":{"x":7}}]`, 1, "(?s)the claim\n +tape +claim .*what is expected\n +tape +expected ", ""},
		{"eval reshape(x,()) -a x=[1]", "", 0, "^1\n$", ""},
		{"eval x*() -a x=[1]", "", 3, "", "the shape of a number is written \\[\\]"},
		{"eval cast(x,int64) -a x=1", "", 0, "^1\n$", ""},
		{"eval cast(x,y) -a x=1,y=2", "", 3, "", `hint: write "y"`},
		{"eval cast(x,int32) -a x=1", "", 4, "", "int32 has no value\n.*\n.*\n.*write int64; the dtypes are"},
		{"vjp y=x^2;z=x --of y,z --with y=10,z=1 -a x=3 -r", "", 0, "^60\n\n?1\n$", ""},
		{"check -", "\xff\xfe[\x00]\x00", 4, "", "the text is UTF-16"},
		{"grad x -i " + strings.Repeat("long", 1000), "", 4, "", "^nabla: .{300}….{300}\n$"},

		// the program's mistakes
		{"grad x=3 -a x=1", "", 3, "", "x=3\n    ~\\^~\n.*x == 3"}, // a question, not an assignment
		{"grad x^2*sinn(x) -a x=3", "", 3, "", "sinn.*\n.*\n +\\^~~~\n.*did you mean sin"},
		{"hessian x^2 -a x=[1,2]", "", 3, "", "scalar.*\\(2,\\)"},
		{"grad 2x -a x=1 -f json", "", 3, "", `(?m)^\{"error":\{"code":3,"kind":"syntax".*"column":2`},
		{"grad x@w -a x=[[1,2]],w=[[1,2]] -f json", "", 3, "", `"kind":"shape"`},

		// running, and the answer no
		{"jacobian x^2 -a x=linspace(0,1,100000) --max-memory 1GiB", "", 5, "", "GiB"},
		{"eval ones(100000,100000) --max-memory 1G", "", 5, "", "."},
		{"x^x -a x=2 -A abs(value-4)<1e-12 -r", "", 0, ".", ""},
		{"x^x -a x=2 -A value>5 -r", "", 1, "^6.77", "assertion is false: value>5"},
		{"x^2 -a x=1 -A nrom<1", "", 2, "", "no fact nrom\n    nrom<1\n    \\^~~~\n.*did you mean norm"},
		{"x^2 -a x=1 -A norm<1 -r", "", 1, "^2", "assertion is false: norm<1 \\(norm is 2\\)"},
		{"x^x -a x=2 -A foo>5 -r", "", 2, "", "no fact"},
		{"x^x -a x=2 -A foo> -r", "", 2, "", "expected an expression"},
		{"stop_gradient(x) -a x=2 --strict -r -q", "", 1, ".", "--strict: the derivative .*x is none"},

		// output
		{"x^2 -a x=3 -o /nonexistent/a.json", "", 6, "", "there is no directory"},
		{"x^2 -a x=3 -o a.xyz", "", 2, "", "names no format"},
		{"x^2*y -a x=3,y=2 -f npy", "", 2, "", "npz"},
		{"x^2 -a x=3 -r -f json", "", 2, "", "do not go together"},
		{"x*x -i - -r", `{"x": {"data": 10, "dtype": "int64"}}`, 0, ".", "^nabla: warning: .*int64.*\n$"},
		{"x*x -i - -r -q", `{"x": {"data": 10, "dtype": "int64"}}`, 0, ".", ""},
		{"x^2 -a x=3 -r --stats", "", 0, "6", "nabla: stats: "},
		{"x^2 -a x=3,y=1 -w x -r -v", "", 0, "6", "y is given and not used"},

		// a line in, a line out
		{"x^2 --each -i -", "{\"x\":1}\n\n{\"x\":oops}\n{\"x\":3}\n", 4, "^.*\"x\":2}}\n{\"line\":3,\"error\":{\"code\":4.*\n.*\"x\":6}}\n$", "1 line could not be answered, the first is line 3"},
		{"x^2+c --each -i - -a c=1 -w x -r", "{\"x\":1}\n{\"x\":2}", 0, "^2\n4\n$", ""},
		{"x^2 --each", "", 2, "", "--each needs an input"},
		{"2^3 --each -i -", "{}\n{\"x\":1}\n", 2, "^$", "nothing to differentiate by"}, // a mistake of the command; of a later line, one of the data
		{"x=2;x^2 --each -i -", "{\"y\":1}\n{}\n{\"y\":2}\n", 4, `^.*\n{"line":2,"error":{"code":4,.*nothing to differentiate by.*\n.*"y":null}.*\n$`, "1 line could"},
		{"jvp 4 --with x=1 --each -i -", "{\"x\":1}\n{\"y\":1}\n{\"x\":2}\n", 4, `"jvp":null.*\n{"line":2,"error":{"code":4,.*--with x: it is not a source.*\n.*"jvp":null`, "1 line could"},
		{"jvp x^2 --each -i - --with x=1", `{"values":{"x":1},"with":{"x":2}}`, 4, "with is given twice: --with and stdin", "1 line could"},
		{"x^2 --each -i - -f npy", "{}", 2, "", "does not write npy"},
		{"--each -i - -r", "{\"expr\":\"x^2\",\"values\":{\"x\":1}}\n{\"expr\":\"x^3\",\"values\":{\"x\":1}}\n", 0, "^2\n3\n$", ""},
		{"x^2 --each -i - -A x<5 -r", "{\"x\":1}\n{\"x\":3}\n", 1, "^2\n6\n$", "assertion is false"},

		// check
		{"check x^2*sin(x) -a x=3", "", 0, "govaluate", ""},
		{"check x^2 -a x=3 --claim x=2*x", "", 0, "ok", ""},
		{"check x^2 -a x=3 --claim x=3*x", "", 1, "mismatch", ""},
		{"check x^2 -a x=3 --claim y=3*x", "", 3, "", "y"},
		{"check sqrt(x) -a x=0 --claim x=5", "", 1, "inf +5 +inf +5e-6 +mismatch", ""}, // a part of an infinity is infinite
		{"check x^2 -a x=3 --claim x=inf", "", 1, "mismatch", ""},
		{"check sqrt(x) -a x=0 --claim x=inf", "", 0, "1 of 1", ""},
		{"check x^3 -a x=3 --order 2 --claim x=6*x", "", 0, "d²/dx² +18 +18 ", ""},
		{"check x^3 -a x=3 --order 2 --claim x=3*x^2", "", 1, "d²/dx² +18 +27 .*mismatch", ""}, // the first derivative
		{"check sum(x^3) -a x=[1,2] --order 2 --claim x=diag(6*x)", "", 0, "4 of 4", ""},
		{"check sum(x^3) -a x=[1,2] --order 2 --claim x=6*x", "", 1, "shape \\(2, 2\\), the claim \\(2,\\)", ""},
		{"check y^2 -a y=3 --const x=2 --order 2 --claim x=0", "", 0, "1 of 1", ""},
		{"check -", `[{"expr": "x^3", "at": "x=3", "claim": "x=6*x", "order": 2}, {"expr": "x^2*y", "at": "x=2, y=1", "expect": {"x": {"x": 2, "y": 4}}, "order": 2}]`, 0, "3 of 3 comparisons hold in 2 cases", ""},
		{"check abs(x) -a x=0", "", 0, "kink", ""},
		{"check abs(x) -a x=0 --strict", "", 1, "kink", ""},
		{"check sin(x)*y --points 3 --seed 1", "", 0, "9 of 9 comparisons hold in 3 cases", ""},
		{"check x^2 -a x=3 --report yaml", "", 2, "", "one of text"},
		{"check nowhere.json", "", 4, "", "no such file"},
		{"check prod(x) -a x=[1,2,3] --order 2", "", 0, "7 of 7", ""},
		{"check tanh(w@x) -a w=[[1,2],[3,4]],x=[.1,.2]", "", 0, "d\\[1\\]/d", ""},
		{"check st(x)=round(x)\ngradient␣st(x;␣g)=g\nst(x) -a x=2.7", "", 1, "cannot know", ""},
		{"check sum(x^3) -a x=linspace(-1,1,1000)", "", 0, "v1|the worst of 8", ""},
		{"check -", `[{"expr":"x*y*z","at":"x=2,y=3,z=5","wrt":["x","y"],"claim":"x=y*z,y=x*z"}]`, 0, "2 of 2", ""},
		{"check - --report json", `[{"expr":"sinn(x)","at":"x=1"}]`, 3, `"expr":"sinn\(x\)","error":{"code":3,.*did you mean sin`, ""},
		{"check -", `[{"expr":"x*y","at":"x=2,y=3","wrt":["x",1]}]`, 4, `names are a list such as`, ""},
		{"check sum(pad(x,1,mode=\"reflect\")*[1,2,3,4,5]) -a x=[1,2,3]", "", 0, "gonum differences of its own values: govaluate has no pad(?s).*ok: 3 of 3", ""},

		{"plot x*ones(8) --range x=0:1:2", "", 0, "y\\[7\\]", ""},
		{"plot x*ones(9) --range x=0:1:2", "", 2, "", "9 curves are too many"},

		// explain, ops
		{"explain x^2*sin(x) -a x=3", "", 0, "adjoint", ""},
		{"explain stop_gradient(x)*y -a x=1,y=2", "", 0, "x has no derivative: stop_gradient", ""},
		{"explain x -a x=1 --stats --watched", "", 0, "adjoint", "nabla: watched: x\nnabla: stats: 2 instructions"},
		{"check x -a x=1 --stats", "", 0, "ok", "nabla: stats: .*s, "},
		{"x --each -i - --stats", `{"x":1}`, 0, "1", "nabla: stats: .*s, "},
		{"explain x^2 -a x=3 -f dot", "", 0, "^digraph", ""},
		{"explain x^2 -a x=3 -f json", "", 0, `^\{"op":"explain"`, ""},
		{"explain 1+1", "", 0, "add|2", ""},
		{"ops tanh", "", 0, "d/dx", ""},
		{"ops tanhh", "", 3, "", "did you mean tanh"},
		{"ops floor", "", 0, "not differentiable", ""},
		{"ops grad", "", 0, "gradient", ""},
		{"completion bash", "", 0, "__complete", ""},
		{"completion bash", "", 0, `read -ra words <<< "\$line"`, ""}, // without the package bash-completion
		{"completion bash", "", 0, "_init_completion -n =:@ ", ""},    // as in --at x=@FILE
		{"completion zsh", "", 0, `=~ '-\[\^=\]\*='`, ""},             // the flag of --at=x=@FILE is --at=
		{"completion fish", "", 0, `match -r -- '-\[\^=\]\*='`, ""},   // so, too
		{"__complete grad --timeout 1", "", 0, "^:4\n$", "NoFile"},    // no file
		{"completion", "", 2, "", "which shell"},
		{"__complete x --at x=@../testdata/gui", "", 0, "^x=@../testdata/guide.json\n:4\n", "."},
		{"__complete vjp x --with @../testdata/in", "", 0, "^@../testdata/inputs/\n:6\n", "."}, // it goes on
		{"__complete x --at y=1,x=@../testdata/gui", "", 0, "^:6\n", "."},
		{"__complete x --const c=", "", 0, "^:6\n", "."},
		{"__complete plot x --kind h", "", 0, "^line\nheat\npatches\n", "."},
		{"__complete explain x -f d", "", 0, "^table\njson\ndot\n", "."},
		{"__complete grad x --conventions t", "", 0, "^default\ntf\njax\ntorch\n", "."},
		{"__complete diff a", "", 0, "npz", "."},
		{"__complete explain x --op j", "", 0, "^eval\ngrad\njacobian\n", "."},
		{"__complete plot x -o p", "", 0, "^png\nsvg\npdf\ntxt\n:8\n", "."},
		{"__complete grad x -o p", "", 0, "^txt\njson\n", "."},
		{"diff a b -f yaml", "", 2, "", "--format yaml"},
		{"completion tcsh", "", 2, "", "bash, zsh"},
		{"__complete he", "", 0, "hessian", "."},
		{"__complete --fo", "", 0, "^--format\t", "."},
		{"__complete -a x=3 --wr", "", 0, "^--wrt\t", "."},
		{"__complete grad -f n", "", 0, "npz", "."},
	} {
		var args []string
		for _, a := range strings.Fields(strings.ReplaceAll(c.args, "\n", "␤")) {
			args = append(args, strings.NewReplacer("␣", " ", "␤", "\n").Replace(a))
		}
		code, out, err := run(c.in, args...)
		if code != c.code {
			t.Errorf("nabla %s: exit %d, want %d\n%s%s", c.args, code, c.code, out, err)
			continue
		}
		for _, s := range []struct{ name, got, want string }{{"stdout", out, c.stdout}, {"stderr", err, c.err}} {
			if s.want == "" && s.got != "" || s.want != "" && !regexp.MustCompile(s.want).MatchString(s.got) {
				t.Errorf("nabla %s: %s is %q, want /%s/", c.args, s.name, s.got, s.want)
			}
		}
	}
}

// broken is a stream that takes so many bytes and then fails.
type broken struct {
	n   int
	err error
}

func (b *broken) Write(p []byte) (int, error) {
	if b.n -= len(p); b.n < 0 {
		return 0, b.err
	}
	return len(p), nil
}

// manyNames are questions of a document of many names: a program lacks one value however many others there are, and
// so many may be what it is differentiated by.
var manyNames = []struct {
	expr, doc, says string
	code            int
}{
	{"x^2", `{%s}`, "given and not used: v0, v1, v2, ", 4},
	{"v1^2", `{"values": {%s}, "wrt": [%s]}`, "", 0},
}

// askOfMany asks question i of n names.
func askOfMany(t testing.TB, i, n int) {
	t.Helper()
	values, names := []byte(`"v0": 1`), []byte(`"v0"`)
	for i := range n - 1 {
		values = fmt.Appendf(values, `,"v%d":1`, i+1)
		names = fmt.Appendf(names, `,"v%d"`, i+1)
	}
	r := manyNames[i]
	doc := strings.Replace(strings.Replace(r.doc, "%s", string(values), 1), "%s", string(names), 1)
	if code, _, err := run(doc, r.expr, "-i", "-", "-f", "json"); code != r.code || !strings.Contains(err, r.says) {
		t.Errorf("%s and %d names: exit %d, %.200s", r.expr, n, code, err)
	}
}

func TestManyNames(t *testing.T) {
	for i := range manyNames {
		askOfMany(t, i, 10_000)
	}
}

// BenchmarkManyNames takes as long for each of many names as of few.
func BenchmarkManyNames(b *testing.B) {
	for i, r := range manyNames {
		for _, n := range []int{1_000, 10_000, 60_000} {
			b.Run(fmt.Sprintf("%s/%d", r.expr, n), func(b *testing.B) {
				for b.Loop() {
					askOfMany(b, i, n)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/name")
			})
		}
	}
}

func TestBrokenStdout(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		said string
	}{
		{syscall.EPIPE, 141, ""}, // as any filter
		{syscall.ENOSPC, 6, "nabla: output: no space left on device\n"},
		{&os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EBADF}, 6, "nabla: output: bad file descriptor\n"},
	} {
		for _, args := range [][]string{{"x^2", "-a", "x=3"}, {"x^2", "--each", "-i", "-"}, {"check", "x", "-a", "x=1"}, {"help"}} {
			var e bytes.Buffer
			code := Main(args, strings.NewReader("{\"x\":1}\n"), &broken{0, c.err}, &e)
			if code != c.code || e.String() != c.said {
				t.Errorf("nabla %v with stdout %v: exit %d, stderr %q, want %d, %q", args, c.err, code, &e, c.code, c.said)
			}
		}
	}
}

func TestTimeout(t *testing.T) {
	start := time.Now()
	code, out, err := run("", "eval", "y = 1\nwhile y > 0 { y = y + 1 }\ny", "--timeout", "100ms")
	if took := time.Since(start); code != 5 || out != "" || !strings.Contains(err, "time limit") || took > 2*time.Second {
		t.Errorf("an endless loop: exit %d after %v, %q, want 5 and the time limit", code, took, err)
	}
	// It is shown what ran, not what was read last.
	_, _, err = run("", "y = x; for i in range(1000000000) { y = sin(y)*x }; y", "-a", "x=1", "--timeout", "100ms")
	if !strings.Contains(err, "\n"+strings.Repeat(" ", 44)+"~~~~~~^~\n") {
		t.Errorf("a long loop ends with %s, which does not point to its body", err)
	}
}

// slow takes its time with the first bytes.
type slow struct {
	bytes.Buffer
	begun bool
}

func (w *slow) Write(p []byte) (int, error) {
	if !w.begun {
		w.begun = true
		time.Sleep(3*grace + time.Second)
	}
	return w.Buffer.Write(p)
}

// An answer that is there in time is written whole, however long its reader takes; after
// the time limit none begins.
func TestTimeoutWhole(t *testing.T) {
	var out slow
	var said bytes.Buffer
	code := Main([]string{"eval", "arange(50000)", "-r", "--timeout", "1s"}, strings.NewReader(""), &out, &said)
	if n := len(strings.Fields(out.String())); code != 0 || n != 50000 {
		t.Errorf("a slow reader: exit %d, %d numbers, %q, want 0 and 50000", code, n, &said)
	}
	// Of lines, those that are begun are finished.
	out = slow{}
	said.Reset()
	code = Main([]string{"eval", "arange(50000)*x", "--each", "-i", "-", "--timeout", "1s"}, strings.NewReader("{\"x\":1}\n{\"x\":2}\n"), &out, &said)
	if text := out.String(); !strings.HasSuffix(text, "]}\n") || code != 0 && code != 5 {
		t.Errorf("lines for a slow reader: exit %d, %d bytes that end in %q, want whole lines", code, len(text), text[max(0, len(text)-10):])
	}
	// A reader that takes nothing more outlasts the time limit, not the patience.
	defer func(p time.Duration) { patience = p }(patience)
	patience = 100 * time.Millisecond
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	said.Reset()
	start := time.Now()
	code = Main([]string{"eval", "arange(50000)", "-r", "--timeout", "1s"}, strings.NewReader(""), w, &said)
	if took := time.Since(start); code != 6 || !strings.Contains(said.String(), "output: the time limit is reached, and nobody has read on for 100ms") || took < time.Second {
		t.Errorf("a reader that stopped: exit %d after %v, %q, want 6 and why", code, took, &said)
	}
	r.Close() // what still writes ends
	w.Close()
	var b bytes.Buffer
	s := &stdout{w: &b}
	if !s.shut() {
		t.Error("an untouched output is not shut")
	}
	if _, err := s.Write([]byte("late")); err == nil || b.Len() > 0 {
		t.Errorf("after the time limit %q is written, error %v", &b, err)
	}
}

// A signal that ends the process by itself would leave what -o has begun.
func TestWritesFile(t *testing.T) {
	for args, want := range map[string]bool{
		"grad x^2 -o g.json": true, "-o=g.json x": true, "x^2 --out g.json": true, "--out=g.json x": true, "jac x -qo g.npy": true,
		"grad x^2 -r": false, "eval o": false, "x --of y": false,
	} {
		if got := writesFile(strings.Fields(args)); got != want {
			t.Errorf("%s writes a file: %v, want %v", args, got, want)
		}
	}
}

func TestInterrupt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot signal itself there")
	}
	for _, c := range []struct {
		sig  syscall.Signal
		code int
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}, {syscall.SIGHUP, 129}, {syscall.SIGQUIT, 131}} {
		if signal.Ignored(c.sig) { // the test runs under nohup
			continue
		}
		heard := make(chan os.Signal, 1) // so that a machine that stalls before Main listens does not end the test
		signal.Notify(heard, c.sig)
		defer signal.Stop(heard)
		for _, args := range []string{"eval|y = 1\nwhile y > 0 { y = y + 1 }\ny|-o|y.json", "x^2|--each|-i|-|-o|y.ndjson", "x^2|--each|-i|-|-o|y.ndjson|-j|1"} {
			t.Chdir(t.TempDir())
			done := make(chan struct{})
			go func() {
				wait := 100 * time.Millisecond
				for {
					select {
					case <-done:
						return
					case <-time.After(wait):
					}
					if self, err := os.FindProcess(os.Getpid()); err == nil {
						self.Signal(c.sig)
					}
					wait = time.Second // the first may have come before anybody listened
				}
			}()
			var out, err bytes.Buffer
			code := Main(strings.Split(args, "|"), endless("{\"x\":1}\n"), &out, &err)
			close(done)
			if code != c.code || out.Len()+err.Len() > 0 {
				t.Errorf("%s, %v: exit %d, want %d; %s%s", args, c.sig, code, c.code, &out, &err)
			}
			if left, _ := os.ReadDir("."); len(left) > 0 {
				t.Errorf("%s, %v left %v", args, c.sig, left)
			}
		}
	}
}

// endless is a text without end.
type endless string

func (e endless) Read(p []byte) (n int, err error) {
	for n+len(e) <= len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

// COLUMNS may be anything.
func TestWidth(t *testing.T) {
	for _, columns := range []string{"1000000000", "1", "0", "-7", "99999999999999999999", "wide"} {
		t.Setenv("COLUMNS", columns)
		for _, args := range []string{"plot x^2", "eval ones(50)", "ops", "--help"} {
			if code, out, err := run("", strings.Fields(args)...); code != 0 || len(out) > 1<<20 {
				t.Errorf("COLUMNS=%s, %s: exit %d, %d bytes, %s", columns, args, code, len(out), err)
			}
		}
	}
}

// A line of explain fits the width, from 40 columns on.
func TestExplainWidth(t *testing.T) {
	for _, columns := range []int{40, 50, 80} {
		t.Setenv("COLUMNS", strconv.Itoa(columns))
		code, out, err := run("", "explain", "somelongname^2 * sin(another_name) @ M",
			"-a", "somelongname=[[1, 2, 3]]", "-a", "another_name=randn(3, 3)", "-a", "M=randn(3, 2)")
		if code != 0 {
			t.Fatalf("explain: exit %d, %s", code, err)
		}
		for line := range strings.Lines(out) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > columns {
				t.Errorf("COLUMNS=%d: a line of %d: %s", columns, n, line)
			}
		}
	}
}

// The tables of check and diff fit 40 columns, and leave out no column where they need not.
func TestComparisonWidth(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"A.json": `{"x": [1, 2, 3.123456789]}`, "B.json": `{"x": [1, 2.1, 3]}`} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, columns := range []int{40, 80} {
		t.Setenv("COLUMNS", strconv.Itoa(columns))
		for _, args := range []string{"check x^2*sin(y) -a x=3,y=2 --claim x=5", "check sum(abs(x))*y -a x=[0,1],y=2", "diff A.json B.json"} {
			_, out, err := run("", strings.Fields(args)...)
			for line := range strings.Lines(out) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > columns {
					t.Errorf("COLUMNS=%d, %s: a line of %d: %s", columns, args, n, line)
				}
			}
			if whole := strings.Contains(out, "allowed") || strings.Contains(out, "ulp"); whole != (columns == 80) || err != "" {
				t.Errorf("COLUMNS=%d, %s: the last column is shown: %v%s\n%s", columns, args, whole, err, out)
			}
		}
	}
}

// A program whose tree would not fit into the limit is not read.
func TestProgramLimit(t *testing.T) {
	text := strings.Repeat("y = x\n", 100_000) + "y"
	for _, r := range []struct {
		limit string
		code  int
	}{{"10M", 5}, {"1G", 0}} {
		code, out, err := run(text, "grad", "-p", "-", "-a", "x=3", "-r", "--max-memory", r.limit)
		if code != r.code || code != 0 && (out != "" || !strings.Contains(err, "stdin: the program is longer than")) {
			t.Errorf("600 KB of program in %s: exit %d, want %d; %s", r.limit, code, r.code, err)
		}
	}
}

// What has no end is not read when it is no program from the beginning.
func TestProgramEndless(t *testing.T) {
	in, w := io.Pipe()
	go func() {
		for n, err := 0, error(nil); err == nil && n < 1<<20; n += 4096 {
			_, err = w.Write(make([]byte, 4096))
		}
		w.CloseWithError(errors.New("read on"))
	}()
	var out, said bytes.Buffer
	code := Main([]string{"grad", "-p", "-", "-a", "x=3"}, in, &out, &said)
	in.Close()
	if code != 3 || !strings.Contains(said.String(), "unexpected character U+0000") {
		t.Errorf("zeros without an end: exit %d, %s", code, said.String())
	}
}

// A tape is refused before its plan would not fit: operations on tensors, however short, cost several
// times what those on numbers do.
func TestTapeLimit(t *testing.T) {
	const tensors, numbers = "l = [x]; for i in range(100000) { l = l + roll(l, i)*x }; sum(l)", "f(n) = n <= 1 ? sin(x) : f(n-1)*1.01 + f(n-2); f(18)"
	for _, r := range []struct {
		text, limit string
		code        int
	}{{tensors, "200M", 5}, {numbers, "1M", 5}, {numbers, "40M", 0}} {
		code, out, err := run("", "grad", r.text, "-a", "x=1e-9", "-r", "--max-memory", r.limit)
		if code != r.code || code != 0 && (out != "" || !strings.Contains(err, "records more than") && !strings.Contains(err, "would record about")) {
			t.Errorf("%s in %s: exit %d, want %d; %s", r.text, r.limit, code, r.code, err)
		}
	}
}

func TestPanicIsInternal(t *testing.T) {
	r := &reporter{w: new(bytes.Buffer)}
	if code := r.report(&internalError{"index out of range", nil}); code != 5 || !strings.Contains(r.w.(*bytes.Buffer).String(), "please report") {
		t.Errorf("a panic: exit %d, %q", code, r.w)
	}
}

// TestEachIsLazy demands an answer before the next line is there.
func TestEachIsLazy(t *testing.T) {
	in, feed := io.Pipe()
	read, out := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- Main([]string{"x^2", "--each", "-i", "-", "-r"}, in, out, io.Discard)
		out.Close()
	}()
	b := make([]byte, 16)
	for _, c := range []struct{ in, want string }{{"{\"x\":1}\n", "2\n"}, {"{\"x\":5}\n", "10\n"}} {
		if _, err := io.WriteString(feed, c.in); err != nil {
			t.Fatal(err)
		}
		n, err := read.Read(b)
		if got := string(b[:n]); err != nil || got != c.want {
			t.Errorf("--each after %q gives %q (%v), want %q", c.in, got, err, c.want)
		}
	}
	feed.Close()
	if code := <-done; code != 0 {
		t.Errorf("exit %d, want 0", code)
	}
}

// A table that will take long says so before it is there.
func TestLongTable(t *testing.T) {
	defer func(n int) { longTable = n }(longTable)
	longTable = 3
	for _, r := range []struct {
		args string
		want bool
	}{{"eval ones(4)", true}, {"eval ones(3)", false}, {"x^2 -a x=[1,2]", true}, {"eval ones(4) -r", false}, {"eval ones(4) -q", false}} {
		_, _, err := run("", strings.Fields(r.args)...)
		if got := strings.Contains(err, "numbers takes long: -r"); got != r.want {
			t.Errorf("nabla %s tells that it takes long: %v, want %v", r.args, got, r.want)
		}
	}
}

func TestOutFile(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ file, want string }{
		{"a.json", `"grad":{"x":6}`}, {"a.csv", "6"}, {"a.npy", "NUMPY"}, {"a.md", "|"}, {"a.txt", "grad.x"},
	} {
		if code, out, err := run("", "x^2", "-a", "x=3", "-o", c.file); code != 0 || out != "" {
			t.Errorf("-o %s: exit %d, stdout %q, stderr %q", c.file, code, out, err)
		}
		b, err := os.ReadFile(c.file)
		if err != nil || !strings.Contains(string(b), c.want) {
			t.Errorf("%s has %q (%v), want %q in it", c.file, b, err, c.want)
		}
	}
	before, _ := os.ReadFile("a.json")
	run("", "grad", "sinn(x)", "-a", "x=3", "-o", "a.json")
	if after, err := os.ReadFile("a.json"); errors.Is(err, os.ErrNotExist) || !bytes.Equal(before, after) {
		t.Errorf("an error changed a.json to %q", after)
	}
}

// TestHelp looks at the help of every command.
func TestHelp(t *testing.T) {
	for _, row := range commands {
		c := row.new(streams{}, row)
		if c.Flags().Lookup("help") == nil || row.doc == "" {
			t.Errorf("command %s has no help", row.name)
		}
		code, out, err := run("", row.name, "--help")
		if code != 0 || !strings.Contains(out, row.doc) {
			t.Errorf("nabla %s --help: exit %d, %q", row.name, code, err)
		}
		narrow(t, row.name, "--help")
	}
	narrow(t, "--help")
	for _, topic := range topics {
		narrow(t, "help", topic.name)
	}
	overview := narrow(t, "help")
	for _, want := range []string{"  $ nabla 'x^2 * sin(x)' --at x=3\n", "  $ nabla hessian ", "usage: nabla ", "\n  -a, --at NAME=VALUE "} {
		if !strings.Contains(overview, want) {
			t.Errorf("nabla help lacks %q:\n%s", want, overview)
		}
	}
	listing := narrow(t, "ops")
	for _, op := range tape.All() {
		_, group, ok := strings.Cut("\n"+listing, "\n"+op.Group()+"\n")
		group, _, _ = strings.Cut(group, "\n\n")
		if !ok || !strings.Contains("\n"+group, "\n  "+op.Signature()) {
			t.Errorf("nabla ops lacks %s under %s", op.Signature(), op.Group())
		}
	}
	narrow(t, append([]string{"ops"}, callable()...)...)
}

// narrow runs a command that prints at most 80 columns.
func narrow(t *testing.T, args ...string) string {
	code, out, err := run("", args...)
	if code != 0 {
		t.Errorf("nabla %.60s: exit %d, %s", args, code, err)
	}
	for line := range strings.Lines(out) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
			t.Errorf("nabla %.60s: a line of %d columns: %s", args, n, line)
		}
	}
	return out
}

// TestNoTier: the name of kernels that are not there is no word for the best of them.
func TestNoTier(t *testing.T) {
	for name, want := range map[string]int{"": 0, "generic": 0, "sse9": 2} {
		t.Setenv("NABLA_CPU", name)
		var out, err strings.Builder
		if code := Main([]string{"x", "-a", "x=1"}, nil, &out, &err); code != want || code != 0 && !strings.Contains(err.String(), "this CPU runs generic") {
			t.Errorf("NABLA_CPU=%s: exit %d, want %d: %s", name, code, want, err.String())
		}
	}
}
