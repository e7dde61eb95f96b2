package cmd_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nabla/cmd"
)

const (
	programs = "testdata/programs/"
	adbench  = "testdata/inputs/adbench/"
)

// run is a command line of words, run from the root of the repository, and its JSON.
func run(t *testing.T, args ...string) (result map[string]any) {
	t.Helper()
	var out, err bytes.Buffer
	if code := cmd.Main(append(args, "-f", "json"), strings.NewReader(""), &out, &err); code != 0 {
		t.Fatalf("nabla %s: exit %d, want 0: %s", strings.Join(args, " "), code, &err)
	}
	if e := json.Unmarshal(out.Bytes(), &result); e != nil {
		t.Fatalf("nabla %s: %v in %s", strings.Join(args, " "), e, &out)
	}
	return result
}

// flat lists the numbers of v in the order of its axes, of a record in the order of names.
func flat(v any, names ...string) (numbers []float64) {
	switch v := v.(type) {
	case float64:
		return []float64{v}
	case nil:
		return []float64{math.NaN()}
	case []any:
		for _, e := range v {
			numbers = append(numbers, flat(e, names...)...)
		}
	case map[string]any:
		for _, n := range names {
			if e, ok := v[n]; ok {
				numbers = append(numbers, flat(e, names...)...)
			}
		}
	}
	return numbers
}

// near says that got is want to within tol of the largest number in want, or of size when that is larger.
func near(t *testing.T, what string, got, want []float64, tol, size float64) {
	t.Helper()
	if len(got) != len(want) || len(want) == 0 {
		t.Errorf("%s has %d numbers, want %d", what, len(got), len(want))
		return
	}
	for _, w := range want {
		size = max(size, math.Abs(w))
	}
	worst, at := 0., 0
	for i := range want {
		off := math.Abs(got[i] - want[i])
		if math.IsNaN(off) {
			off = math.Inf(1)
		}
		if off > worst {
			worst, at = off, i
		}
	}
	if worst > tol*size {
		t.Errorf("%s: element %d is %v, want %v within %.3g of %.3g; off by %.2g of it", what, at, got[at], want[at], tol, size, worst/size)
	}
}

// TestADBench compares objectives and derivatives of ADBench's problems with truth.json, which PyTorch
// computed from the same files. A tolerance is relative to the largest element of what is compared.
func TestADBench(t *testing.T) {
	t.Chdir("..")
	text, err := os.ReadFile(adbench + "truth.json")
	if err != nil {
		t.Fatal(err)
	}
	var truth map[string]map[string]any
	if err := json.Unmarshal(text, &truth); err != nil {
		t.Fatal(err)
	}

	const tol = 1e-12
	gmm := []string{"alphas", "means", "icf"}
	lstm := []string{"main", "extra"}
	// PyTorch's hand puts sines and cosines into a float32 matrix and takes the derivatives back through
	// it, so truth carries roundings of 2^-24. With the same casts in the program the objective agrees to 4e-16.
	const single = 0x1p-24
	for _, row := range []struct {
		truth, program, document, op string
		wrt                          []string
		key                          string // of the derivative in truth
		tol                          float64
	}{
		{"gmm_test", "gmm", "gmm_test", "grad", gmm, "gradient", tol},
		{"gmm_1k_gmm_d2_K5", "gmm", "gmm_d2_K5", "grad", gmm, "gradient", tol},
		{"gmm_1k_gmm_d2_K25", "gmm", "gmm_d2_K25", "grad", gmm, "gradient", tol},
		{"gmm_1k_gmm_d10_K5", "gmm", "gmm_d10_K5", "grad", gmm, "gradient", tol},
		{"lstm_lstm_l2_c1024", "lstm", "lstm_l2_c1024", "grad", lstm, "gradient", tol},
		{"lstm_lstm_l4_c1024", "lstm", "lstm_l4_c1024", "grad", lstm, "gradient", tol},
		{"hand_test", "hand", "hand_test", "jacobian", []string{"theta"}, "jacobian", single},
		{"hand_simple_small_hand1_t26_c100", "hand", "hand1_t26_c100", "jacobian", []string{"theta"}, "jacobian", single},
	} {
		t.Run(row.truth, func(t *testing.T) {
			want := truth[row.truth]
			got := run(t, row.op, "-p", programs+row.program+".nabla", "-i", adbench+row.document+".json")
			near(t, "the objective", flat(got["value"]), flat(want["objective"]), row.tol, 0)
			near(t, "the "+row.op, flat(got[row.op], row.wrt...), flat(want[row.key]), row.tol, 0)
		})
	}

	for _, row := range []struct{ truth, document string }{
		{"ba_test", "ba_test"},
		{"ba_ba1_n49_m7776_p31843", "ba1_n49_m7776_p31843"},
		{"ba_ba2_n21_m11315_p36455", "ba2_n21_m11315_p36455"},
	} {
		t.Run(row.truth, func(t *testing.T) {
			want := truth[row.truth]
			got := run(t, "jacobian", "-p", programs+"ba.nabla", "-i", adbench+row.document+".json")
			block := got["jacobian"].(map[string]any)
			// The residual, and with it the derivative by w, is a difference of numbers as large as these.
			size := slices.Max(flat(want["inputs"].(map[string]any)["feat"]))
			near(t, "the residual", flat(got["value"]), flat(want["reproj_err"]), tol, size)
			near(t, "the block of w", flat(block["w"]), flat(want["block_w_2"]), tol, size)
			near(t, "the block of cam", flat(block["cam"]), flat(want["block_cam_2x11"]), tol, 0)
			near(t, "the block of X", flat(block["X"]), flat(want["block_X_2x3"]), tol, 0)

			got = run(t, "grad", "-p", programs+"ba.nabla", "-i", adbench+row.document+".json", "--of", "confidence", "-w", "w")
			near(t, "the confidence", flat(got["value"]), flat(want["weight_err"]), tol, 0)
			near(t, "d confidence/dw", flat(got["grad"], "w"), flat(want["d_weight_err"]), tol, 0)
		})
	}
}

// TestObservations gives ba.nabla two observations at once: the blocks are those of each alone.
func TestObservations(t *testing.T) {
	t.Chdir("..")
	program := programs + "ba.nabla"
	cameras := []string{
		"[1.8, 0.6, -0.6, 9, 2.9, 2.8, 211, -0.3, -14, 0.05, 0.07]",
		"[-0.7, -1.1, -0.8, 3.4, 3.9, 5.3, 419, 5.8, -8.5, 0.08, 0.003]",
	}
	points := []string{"[4, 5.5, 1.4]", "[7.2, 0.1, 3]"}
	seen := []string{"[-525, 161]", "[271, 834]"}
	pair := func(s []string) string { return "[" + strings.Join(s, ",") + "]" }
	both := run(t, "batch-jacobian", "-p", program, "-a", "cam="+pair(cameras), "-a", "X="+pair(points), "-a", "w=[[0.4],[0.7]]", "--const", "feat="+pair(seen))["batch_jacobian"].(map[string]any)
	for i, w := range []string{"0.4", "0.7"} {
		alone := run(t, "jacobian", "-p", program, "-a", "cam="+cameras[i], "-a", "X="+points[i], "-a", "w="+w, "--const", "feat="+seen[i])["jacobian"].(map[string]any)
		for _, name := range []string{"cam", "X", "w"} {
			near(t, "block "+name, flat(both[name].([]any)[i]), flat(alone[name]), 1e-14, 0)
		}
	}
}

// TestPrograms compares the other programs with numbers from elsewhere: closed forms, and differences
// of plain scalar code at 60 digits.
func TestPrograms(t *testing.T) {
	t.Chdir("..")
	const tol = 1e-13 // rounding of some hundred operations, relative to the largest element
	greeks := []string{"spot", "strike", "rate", "volatility", "time"}
	call := "-a spot=100,strike=105,rate=0.02,volatility=0.25,time=0.5"
	for _, row := range []struct {
		program, args string
		wrt           []string
		want          string
	}{
		// Newton's first step from (-1.2, 1) and the gradient there are in every textbook.
		{"rosenbrock", "grad -a x=[-1.2,1]", []string{"x"}, "24.2; -215.6 -88"},
		{"rosenbrock", "grad -a x=[1,1,1,1]", []string{"x"}, "0; 0 0 0 0"},
		{"rosenbrock", "hessian -a x=[-1.2,1]", []string{"x"}, "24.2; 1330 480 480 200"},
		{"newton", "jacobian -a a=1 --const b=100", []string{"a"}, "1 1; 1 2"},
		{"newton", "jacobian -a a=1.5 --const b=10", []string{"a"}, "1.5 2.25; 1 3"},
		// With q = 1 - rate c: sum(c start^2 q^40)/2 and -20 sum(c^2 start^2 q^39).
		{"descent", "grad -a rate=0.1 --const start=[1,-2],c=[1,4],steps=20", []string{"rate"}, "0.007390452164712925; -0.32846691709738135"},
		// E, 1/(1 - ecc cos E) and sin(E)/(1 - ecc cos E) of the root at 40 digits.
		{"kepler", "grad -a M=1.2,ecc=0.6", []string{"M", "ecc"}, "1.7861416032743136; 0.8863591446259845 0.8658866168465396"},
		{"kepler", "grad -a M=0,ecc=0.9", []string{"M", "ecc"}, "0; 10 0"},
		{"black_scholes", "grad " + call, greeks, "5.376620585926436; 0.44787105818926265 -0.3753379545999984 19.705242616499916 27.968309488171304 7.780287076702823"},
		{"black_scholes", "hessian -w spot " + call, greeks, "5.376620585926436; 0.022374647590537044"},
		{"logistic_regression", "grad", []string{"w", "b"}, "0.565856547371779; -0.39554737596142575 -0.2804958743703635 -0.11165658787071582"},
		{"logistic_regression", "hessian -w w", []string{"w"}, "0.565856547371779; 0.3563119216572841 0.03313228205909706 0.03313228205909706 0.21878409554897002"},
		{"mlp", "grad", []string{"layers", "w", "b"}, `0.7528498274238649;
			0.008354347395745759 -0.03514715429791381 0.013353538833065417 -0.005954994881007484 0.051490015373846405 2.218524423067832e-05
			-0.04707967128056137 0.03912235948832189 0.007232746105581001
			0.05839681138046285 -0.05839681138046285 -0.07515736661910086 0.07515736661910086 0.009451925068249606 -0.009451925068249606
			0.04007194014572954 -0.04007194014572954`},
		{"ode", "grad", []string{"birth", "eaten", "fed", "death", "start"}, "11.588128667830885; -12.515624914218016 35.0914182392624 131.8204534240125 -45.590092742479555 0.8652768971820383 2.276856619389902"},
		{"attention", "grad", []string{"query", "key", "value", "out"}, `1.240666365829382;
			0.0002803742403501226 -0.0011562659660082338 0.0004091286788262091 -0.0006878199605559246 -0.0025336737915992837 0.0026146178812253783 -0.00020976042577374373 0.0007611055386028072
			0.012262059227297664 -0.008186054364250593 0.0015349598667700227 -0.0011661232520082368 0.017417850925183668 -0.010519652976689957 -0.007472421414636424 0.005003236080272441
			0.001999848008447854 0.0022596639501952626 0.00265839684863363 -0.0016813903228269577 0.001499515392677442 -0.00017661609724915826 -0.0011989997270347187 -0.0014621175343444556
			0.00042057703040672027 -0.03752643411175823 -0.00371059635178835 0.00993765162418337 -0.001389670575110727 -0.004249085639213719 -0.00034998165265188075 0.02386943200838753
			-0.10775234188187198 -0.04119891674559244 0.05801382880485405 -0.03206925425494648 0.10234081943803697 0.04770786462159956 0.07079675263268595 0.026291946054416575
			0.13196003036474446 -0.07088370183730454 -0.18216135362517005 0.09109008074397043 -0.2411049665053507 0.11614151803527653 -0.09034785760646995 0.048212006593291445
			-0.09110819530167352 0.20078953755344092 0.22827470050540719 0.24452679275406342 0.05656074764358322 -0.10915106536100154 -0.11698909942468702 -0.15280652260648578
			0.029937109140278296 -0.11156562222298069 -0.12111524332200696 -0.10045747545123088 0.17585162555385767 -0.22241532491638757 -0.31564725331125865 -0.3626919216489304`},
	} {
		t.Run(row.program+" "+row.args, func(t *testing.T) {
			args := append(strings.Fields(row.args), "-p", programs+row.program+".nabla")
			if !slices.Contains(args, "-a") {
				args = append(args, "-i", "testdata/inputs/"+row.program+".json")
			}
			value, derivative, _ := strings.Cut(row.want, ";")
			got := run(t, args...)
			near(t, "the value", flat(got["value"]), numbers(t, value), tol, 0)
			near(t, "the "+args[0], flat(got[args[0]], row.wrt...), numbers(t, derivative), tol, 0)
		})
	}
}

func numbers(t *testing.T, text string) (out []float64) {
	t.Helper()
	for _, w := range strings.Fields(text) {
		var f float64
		if err := json.Unmarshal([]byte(w), &f); err != nil {
			t.Fatalf("%q: %v", w, err)
		}
		out = append(out, f)
	}
	return out
}

// TestProgramComments runs the commands that the comment at the top of each program tells to type.
func TestProgramComments(t *testing.T) {
	t.Chdir("..")
	files, err := filepath.Glob(programs + "*.nabla")
	if err != nil || len(files) == 0 {
		t.Fatalf("programs: %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		commands := 0
		for line := range strings.Lines(string(text)) {
			words, ok := strings.CutPrefix(line, "#   nabla ")
			if !ok {
				continue
			}
			commands++
			words = strings.ReplaceAll(words, "'", "") // for the shell, to which brackets are patterns
			var out, stderr bytes.Buffer
			if code := cmd.Main(strings.Fields(words), strings.NewReader(""), &out, &stderr); code != 0 || out.Len() == 0 || stderr.Len() != 0 {
				t.Errorf("%s: nabla %s: exit %d, %d bytes, says %q; want exit 0 and only a result", file, strings.TrimSpace(words), code, out.Len(), &stderr)
			}
			if !strings.Contains(words, "-p "+file) {
				t.Errorf("%s: nabla %s runs another program", file, strings.TrimSpace(words))
			}
		}
		if commands == 0 {
			t.Errorf("%s: no command to run it in its comment", file)
		}
	}
}
