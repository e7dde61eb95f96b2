package tape

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"nabla/tape/tensor"
	"nabla/tape/unbounded"
)

// exact is a number that was computed with 400 bits: what unbounded numbers round.
func exact(v unbounded.Number) *big.Float {
	x := new(big.Float).SetPrec(400).SetFloat64(v.M)
	return x.SetMantExp(x, int(v.E))
}

func whole(v float64) *big.Float                { return new(big.Float).SetPrec(400).SetFloat64(v) }
func together(x, y *big.Float) *big.Float       { return whole(0).Add(x, y) }
func times(x, y *big.Float) *big.Float          { return whole(0).Mul(x, y) }
func over(x, y *big.Float) *big.Float           { return whole(0).Quo(x, y) }
func halved(x *big.Float, times int) *big.Float { return whole(0).SetMantExp(x, -times) }

// exactExp is the power series where it is short, squared as often as it was halved.
func exactExp(x *big.Float) *big.Float {
	n := max(0, x.MantExp(nil)+10)
	h, term, sum := halved(x, n), whole(1), whole(1)
	for i := 1.; i < 40; i++ {
		term = over(times(term, h), whole(i))
		sum = together(sum, term)
	}
	for range n {
		sum = times(sum, sum)
	}
	return sum
}

// exactLog solves exp(y) = x by Halley's method, which triples the digits.
func exactLog(x *big.Float) *big.Float {
	m, e := whole(0), x.MantExp(nil)
	near, _ := m.SetMantExp(x, -e).Float64()
	y := whole(math.Log(near) + float64(e)*math.Ln2)
	for range 4 {
		at := exactExp(y)
		y = together(y, over(times(whole(2), together(x, whole(0).Neg(at))), together(x, at)))
	}
	return y
}

func exactPow(x, y *big.Float) *big.Float { return exactExp(times(y, exactLog(x))) }

// Whatever leaves the range, operations without bounds are those of the formulas.
func TestUnboundedOps(t *testing.T) {
	one, sqrt := whole(1), func(x *big.Float) *big.Float { return whole(0).Sqrt(x) }
	exp := func(k float64) func(x, y, z *big.Float) *big.Float { // of k*x
		return func(x, y, z *big.Float) *big.Float { return exactExp(times(whole(k), x)) }
	}
	itself := func(x, y, z *big.Float) *big.Float { return x }
	inverse := func(x, y, z *big.Float) *big.Float { return over(one, x) }
	sinh := func(sign float64) func(x, y, z *big.Float) *big.Float {
		return func(x, y, z *big.Float) *big.Float {
			return halved(together(exactExp(x), times(whole(sign), exactExp(whole(0).Neg(x)))), 1)
		}
	}
	hypot := func(x, y *big.Float) *big.Float { return sqrt(together(times(x, x), times(y, y))) }
	up := func(v float64) bool { return v > 0 }
	below := func(most float64) func(v float64) bool { return func(v float64) bool { return math.Abs(v) < most } }
	tiny := func(v float64) bool { return math.Abs(v) < 0x1p-60 }
	any := func(float64) bool { return true }
	rng := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		name string
		of   func(x, y, z *big.Float) *big.Float
		when func(x float64) bool // the numbers that it is looked at for
		args int
	}{
		{"add", func(x, y, z *big.Float) *big.Float { return together(x, y) }, any, 2},
		{"subtract", func(x, y, z *big.Float) *big.Float { return together(x, whole(0).Neg(y)) }, any, 2},
		{"multiply", func(x, y, z *big.Float) *big.Float { return times(x, y) }, any, 2},
		{"zmul", func(x, y, z *big.Float) *big.Float { return times(x, y) }, any, 2},
		{"divide", func(x, y, z *big.Float) *big.Float { return over(x, y) }, any, 2},
		{"fma", func(x, y, z *big.Float) *big.Float { return together(times(x, y), z) }, any, 3},
		{"negative", func(x, y, z *big.Float) *big.Float { return whole(0).Neg(x) }, any, 1},
		{"square", func(x, y, z *big.Float) *big.Float { return times(x, x) }, any, 1},
		{"reciprocal", func(x, y, z *big.Float) *big.Float { return over(one, x) }, any, 1},
		{"log_slope", func(x, y, z *big.Float) *big.Float { return over(one, x) }, up, 1},
		{"abs", func(x, y, z *big.Float) *big.Float { return whole(0).Abs(x) }, any, 1},
		{"where", func(x, y, z *big.Float) *big.Float { return y }, any, 3},
		{"sqrt", func(x, y, z *big.Float) *big.Float { return sqrt(x) }, up, 1},
		{"rsqrt", func(x, y, z *big.Float) *big.Float { return over(one, sqrt(x)) }, up, 1},
		{"hypot", func(x, y, z *big.Float) *big.Float { return hypot(x, y) }, any, 2},
		{"unit", func(x, y, z *big.Float) *big.Float { return over(x, hypot(x, y)) }, any, 2},
		{"turn", func(x, y, z *big.Float) *big.Float { return over(x, together(times(x, x), times(y, y))) }, any, 2},
		{"gamma", inverse, tiny, 1}, {"digamma", func(x, y, z *big.Float) *big.Float { return over(whole(-1), x) }, tiny, 1},
		{"lgamma", func(x, y, z *big.Float) *big.Float { return exactLog(over(one, whole(0).Abs(x))) }, tiny, 1},
		{"one_minus_square", func(x, y, z *big.Float) *big.Float { return together(one, whole(0).Neg(times(x, x))) }, any, 1},
		{"log", func(x, y, z *big.Float) *big.Float { return exactLog(x) }, up, 1},
		{"log2", func(x, y, z *big.Float) *big.Float { return over(exactLog(x), whole(math.Ln2)) }, up, 1},
		{"log10", func(x, y, z *big.Float) *big.Float { return over(exactLog(x), whole(math.Ln10)) }, up, 1},
		{"cbrt", func(x, y, z *big.Float) *big.Float { return exactPow(x, over(one, whole(3))) }, up, 1},
		{"exp2", func(x, y, z *big.Float) *big.Float { return exactPow(whole(2), x) }, below(1 << 19), 1},
		{"sech", func(x, y, z *big.Float) *big.Float { return over(one, sinh(1)(x, y, z)) }, below(1 << 18), 1},
		{"csch", func(x, y, z *big.Float) *big.Float { return over(one, sinh(-1)(x, y, z)) }, func(v float64) bool { return math.Abs(v) > 1 && math.Abs(v) < 1<<18 }, 1},
		{"expm1_inverse", func(x, y, z *big.Float) *big.Float { return over(one, together(exactExp(x), whole(-1))) }, func(v float64) bool { return v > 1 && v < 1<<18 }, 1},
		{"exp", exp(1), below(1 << 19), 1},
		{"sinh", sinh(-1), func(v float64) bool { return math.Abs(v) > 1 && math.Abs(v) < 1<<19 }, 1},
		{"cosh", sinh(1), below(1 << 19), 1},
		{"expm1", func(x, y, z *big.Float) *big.Float { return together(exactExp(x), whole(-1)) }, func(v float64) bool { return math.Abs(v) > 0x1p-90 && math.Abs(v) < 1<<19 }, 1},
		{"expm1", itself, tiny, 1},
		{"sech2", func(x, y, z *big.Float) *big.Float { c := sinh(1)(x, y, z); return over(one, times(c, c)) }, below(1 << 18), 1},
		{"sigmoid", func(x, y, z *big.Float) *big.Float { return over(one, together(one, exactExp(whole(0).Neg(x)))) }, below(1 << 19), 1},
		{"sigmoid_slope", func(x, y, z *big.Float) *big.Float {
			c := sinh(1)(halved(x, 1), y, z)
			return over(one, halved(times(c, c), -2))
		}, below(1 << 19), 1},
		{"softplus", func(x, y, z *big.Float) *big.Float { return exactLog(together(one, exactExp(x))) }, below(200), 1},
		{"softplus", exp(1), func(v float64) bool { return v > -2e5 && v < -200 }, 1},
		{"gauss", func(x, y, z *big.Float) *big.Float { return exactExp(whole(0).Neg(times(x, x))) }, below(1e3), 1},
		{"normpdf", func(x, y, z *big.Float) *big.Float {
			return times(whole(1/math.Sqrt(2*math.Pi)), exactExp(halved(times(x, whole(0).Neg(x)), 1)))
		}, below(1e3), 1},
		{"csc", inverse, tiny, 1}, {"cot", inverse, tiny, 1}, {"csch", inverse, tiny, 1}, {"coth", inverse, tiny, 1}, {"sin", itself, tiny, 1}, {"tan", itself, tiny, 1}, {"asin", itself, tiny, 1}, {"atan", itself, tiny, 1}, {"tanh", itself, tiny, 1}, {"asinh", itself, tiny, 1}, {"atanh", itself, tiny, 1},
		{"log1p", func(x, y, z *big.Float) *big.Float { return exactLog(together(one, x)) }, func(v float64) bool { return v > 0x1p-90 }, 1},
		{"log1p", itself, tiny, 1},
		{"log1p_slope", func(x, y, z *big.Float) *big.Float { return over(one, together(one, x)) }, up, 1},
		{"atan_slope", func(x, y, z *big.Float) *big.Float { return over(one, together(one, times(x, x))) }, any, 1},
		{"power", func(x, y, z *big.Float) *big.Float { return exactPow(x, y) }, up, 2},
		{"power_derivative", func(n, x, y *big.Float) *big.Float {
			d := exactPow(x, together(y, whole(0).Neg(n)))
			for i := whole(0); i.Cmp(n) < 0; i = together(i, one) {
				d = times(d, together(y, whole(0).Neg(i)))
			}
			return d
		}, any, 3},
	} {
		op := table.find(c.name)
		bad := 0
		for range 400 {
			var x [3]unbounded.Number
			for i := range c.args {
				e := []int{2, 12, 70, 320, 520, 900, 1200, 3000}[rng.IntN(8)]
				x[i] = unbounded.Number{M: math.Copysign(1+rng.Float64(), rng.Float64()-0.5), E: int64(rng.IntN(2*e+1) - e)}
			}
			if strings.HasPrefix(c.name, "power") {
				y := math.Round(64*(rng.Float64()*20-10)) / 64
				x[c.args-1] = unbounded.Of(y)
				x[c.args-2].M = math.Abs(x[c.args-2].M)
				if c.args == 3 {
					x[0] = unbounded.Of(float64(rng.IntN(6)))
				}
			}
			if !c.when(x[0].Float()) {
				continue
			}
			got, ok := unbounded.Apply(op.Name, x[0], x[1], x[2])
			if !ok { // then float64 does as well, where it can be given the arguments
				var v [3]float64
				for i := range c.args {
					v[i] = x[i].Float()
				}
				got = unbounded.Of(op.one(v))
			}
			want := c.of(exact(x[0]), exact(x[1]), exact(x[2]))
			off := func() *big.Float { return together(exact(got), whole(0).Neg(want)) }
			if !got.Finite() || whole(0).Abs(off()).Cmp(halved(whole(0).Abs(want), 40)) > 0 {
				if bad++; bad < 4 {
					t.Errorf("%s of %v: %v (without bounds: %v), want %.17g", c.name, x[:c.args], got, ok, want)
				}
			}
		}
	}
}

// Derivatives of every operation come out without bounds as they do on the tape.
func TestUnboundedDerivatives(t *testing.T) {
	for _, op := range All() {
		if !op.elementwise() || op.Try.n == 0 || !op.passes(op.Try.n-1) {
			continue
		}
		for _, p := range pointsOf(op) {
			names := "x, y, z"[:3*len(p)-2]
			var at []string
			for i, v := range p {
				at = append(at, fmt.Sprintf("%c=%v", "xyz"[i], v))
			}
			s := &session{q: question(t, "grad", op.Name+"("+names+")", at...)}
			if _, err := s.answered(); err != nil {
				t.Fatalf("%s: %v", op.Name, err)
			}
			for _, a := range s.targets {
				eachLeaf(a.payload, func(v value) {
					r, ok := v.(Ref)
					if !ok {
						return
					}
					all, _ := s.t.unbounded([]Ref{r}, nil, mostUnbounded)
					if got, want := all[0][0].Float(), s.t.num[r]; got != want && want == want {
						t.Errorf("derivative of %s at %v: %v without bounds, %v on the tape", op.Name, p, got, want)
					}
				})
			}
		}
	}
}

// Where factors leave the range on the way, derivatives are those of the formula. The
// numbers are from mpmath with 60 digits.
func TestRegain(t *testing.T) {
	for _, c := range []struct {
		op, text, at string
		want         string // of the derivatives by x, or of the Hessian's rows
	}{
		{"hessian", "1/x^2", "1e76", "5.999999999999999e-304"}, // of -2e-304 and what underflowed
		{"grad", "1/x^2", "1e100", "-2e-300"},
		{"grad", "sqrt(1 + expm1(x)^2)", "800", "Inf"}, // float64 has exp(800)/inf
		{"grad", "cbrt(exp(x))", "1e10", "Inf"},
		{"hessian", "cbrt(exp(x))", "800", "7.204756897009963e+114"},
		{"grad", "exp(x)/(1 + exp(x))", "1e10", "0"},
		{"hessian", "silu(exp(x)/(1 + exp(x)))", "1e9", "0"},
		{"grad", "atan(1/x)", "1e-200", "-1"},
		{"grad", "atan(y/x)", "1e-200 1", "-1 1e-200"},
		{"grad", "1/cosh(x)", "700", "-1.9719353087519542e-304"},
		{"grad", "1/cosh(x)^2", "300", "-2.1203172424034487e-260"},
		{"grad", "x/sinh(x)", "700", "-1.378382780817616e-301"},
		{"grad", "x/expm1(x)", "700", "-6.891913904088079e-302"},
		{"grad", "atan(exp(x))", "700", "9.859676543759771e-305"},
		{"grad", "x^-0.3*1e20", "1e250", "-3.0000000000000194e-306"},
		{"grad", "sqrt(x/y)", "1e200 1e-100", "5e-51 -4.9999999999999995e+249"},
		{"grad", "x^3*y^-3", "1e-90 1e-90", "3.0000000000000003e+90 -3.0000000000000003e+90"},
		{"grad", "x*y/(x^2 + y^2)", "1e100 1e-100", "-1e-300 1e-100"},
		{"hessian", "1/sqrt(x^2 + y^2)", "1e-100 1e-100", "1.7677669529663687e+299 5.303300858899106e+299 5.303300858899106e+299 1.7677669529663687e+299"},
		{"hessian", "x*y/(x + y)", "1e-200 1e-200", "-2.5e+199 2.5e+199 2.5e+199 -2.5e+199"},
		{"grad", "where(x*y > 0, log(x*y), 0*x*y)", "1e-200 1e-200", "0 0"}, // of the branch that float64 takes
		{"grad", "max(x*y, 1e-300)/y", "1e-200 1e-200", "0 -1e+100"},
		{"grad", "max(x*y, -1)*1e300", "1e-200 1e200", "Inf 1e+100"},
		{"hessian", "where(x*y > 1e-300, x*y, 0)/(x*y)*x^2", "1e-80 1e-80", "2 0 0 0"}, // a condition
		{"grad", "relu(nan*x)^2", "1", "NaN"},
		{"grad", "gamma(x)", "-181.00000000000003", "3.404470772486109e-305"}, // gamma is 9.7e-319
		{"grad", "cbrt(gamma(x))", "180", "1.7945704499645683e+109"},
		{"hessian", "1/(csc(x)^2)^(3/2)", "1e-310", "6e-310"}, // csc is infinite
		{"grad", "exp2(x)", "1024", "1.2460659279417838e+308"},
		{"hessian", "-3/8*(1e10 - 4*sin(x)^2)^(2/3)*y", "1e-300 1", "0.0009283177667225558 9.283177667225558e-304 9.283177667225558e-304 0"},
		{"hessian", "x^y*1e-300", "1e-310 1e-17", "-9.999999999999991e+302 9999999999.999887 9999999999.999887 5.095124084169704e-295"},
		{"grad", "atan2(x^2, x)", "1e154", "1e-308"},
		{"grad", "digamma(x*y)", "1e-100 1e-100", "1e300 1e300"},
		{"grad", "polygamma(2, x)*y^4", "1e-80 1e-80", "6 -8"},
		{"grad", "gamma(x)*y^2", "1e-310 1e-310", "-1 2"},
		{"grad", "gamma(x)*gamma(1 - x)", "247234.625", "4.4249535294672819"},
		{"grad", "beta(x^2, y)", "1e-90 0.001", "-2e270 -1000001.6425331959"}, // 1/x^4 on the way
		{"grad", "beta(x*y, x)", "1e-200 1e10", "-Inf -1e180"},
		{"hessian", "beta(x, y)*1e-300", "1e-170 1e-170", "2e210 2.4041138063191878e-300 2.4041138063191878e-300 2e210"},
		{"grad", "betaln(x^2, 0.25)", "1e-170", "-2e170"}, // x^2 is 0
		{"hessian", "betaln(x, y)*1e-200", "1e-200 1e-200", "7.5e199 -2.5e199 -2.5e199 7.5e199"},
		{"grad", "log(erfc(x))", "30", "-60.033296398756228"}, // erfc is 0
		{"grad", "log(normcdf(x))", "-50", "50.01998403190564"},
		{"grad", "sum([x, 1])/x^2", "1e100", "-1e-200"},                  // more than numbers
		{"grad", "1e200*exp(x)*1e200", "-500", "7.124576406741286e+182"}, // written factors meet first on the way back
		{"hessian", "1e200*exp(x)*1e200", "-500", "7.124576406741286e+182"},
		{"grad", "1e-200*exp(x)/1e200", "500", "1.4035922178528375e-183"},
		{"grad", "exp(x)/1e200/1e200", "500", "1.4035922178528375e-183"},
		{"grad", "1e-200*x^3*1e-200", "1e130", "3e-140"},
		{"hessian", "digamma(x*1e300)", "1.06", "-0.88999644001423994"}, // of -1/x^2 far out
		{"hessian", "polygamma(1, x*1e200)*1e200", "1.06", "1.6792385660646036"},
		{"hessian", "digamma(1e200/x)", "1.06", "0.88999644001423986"},
		{"hessian", "erfcx(x*1e128)", "1.06", "9.4740890726531995e-129"},
		{"hessian", "xlogy(2, x^4*1e300)", "1.06", "-7.1199715201139191"},                                         // neither x nor a value tells
		{"grad", "p = 1e-300*x; for i in range(100) { p = p*y }; log(p)", "1e-20 1.5", "1e20 66.666666666666667"}, // a loop as one instruction
		{"grad", "p = x; for i in range(20) { p = p*y }; p*1e-300*1e-200", "1e200 1e20", "1e-100 2e81"},
		{"grad", "u = x; for i in range(100) { u = sqrt(u)^2*0.5 }; u", "0", "7.888609052210118e-31"}, // a limit
		{"hessian", "exp(-x)*y^exp(x)", "-1e6 0.045", "Inf 0 0 -493.82716049382717"},
		{"grad", "x^11/(1 + x^12)", "1e25", "-1e-50"}, // neither does here, only what is on the way
		{"grad", "1/x^5*x^5", "1e50", "0"},
	} {
		var at []string
		for i, v := range floats(c.at) {
			at = append(at, fmt.Sprintf("%c=%v", "xyz"[i], v))
		}
		got := numbers(ask(t, c.op, c.text, at...).Targets[0].Payload)
		for i, want := range floats(c.want) {
			if off := ulps(got[i], want); off > 16 {
				t.Errorf("%s of %s at %s: %v, want %s", c.op, c.text, c.at, got, strings.ReplaceAll(c.want, " ", ", "))
				break
			}
		}
	}
}

// The same of programs over tensors: numbers that move, are added up and multiplied.
func TestRegainTensors(t *testing.T) {
	for _, c := range []struct{ op, text, at, want string }{
		{"hessian", "sqrt(sum(x^2))", "x=[3e-156, 4e-156]", "1.28e155 -9.6e154 -9.6e154 7.2e154"},
		{"hessian", "sqrt(sum(x^2))", "x=[3e156, 4e156]", "1.28e-157 -9.6e-158 -9.6e-158 7.2e-158"},
		{"hvp", "sqrt(sum(x^2))", "x=[3e-156, 4e-156]", "1.28e155 -9.6e154"},
		{"grad", "sqrt(sum(x^2))", "x=[3e156, 4e156]", "0.6 0.8"},
		{"jvp", "sqrt(sum(x^2))", "x=[3e156, 4e156]", "0.6"},
		{"grad", "sqrt(sum((roll(x, 1) + x)^2))", "x=[3e156, 5e156]", "1.4142135623730951 1.4142135623730951"},
		{"jvp", "sqrt(sum(x[[1, 0]]^2))", "x=[3e156, 4e156]", "0.6"},
		{"grad", "sum(x^11/(1 + x^12))", "x=[1e25, 1e26]", "-1e-50 -1e-52"},
		{"grad", "1/mean(1/x)", "x=[1e160, 2e160]", "0.8888888888888888 0.2222222222222222"},
		{"hessian", "1/mean(1/x)", "x=[1e160, 2e160]", "-5.925925925925926e-161 2.962962962962963e-161 2.962962962962963e-161 -1.4814814814814815e-161"},
		{"jacobian", "x/sum(x^2)", "x=[1e150, 2e150]", "1.2e-301 -1.6e-301 -1.6e-301 -1.2e-301"},
		{"batch_jacobian", "x/sum(x^2, axis=1, keepdims=true)", "x=[[1e150, 2e150], [1, 2]]", "1.2e-301 -1.6e-301 -1.6e-301 -1.2e-301 0.12 -0.16 -0.16 -0.12"},
		{"grad", "sum((x @ x.T)[::-1]*[[1, 2], [3, 4]])/1e300", "x=[[1e160, 1], [1, 2e160]]", "6e-140 1e-139 5e-140 8e-140"},
		{"grad", "norm(x)^2/sum(x)^2", "x=[1e200, 1e200, 2e200]", "-6.25e-202 -6.25e-202 6.25e-202"},                                                                                                   // 2 x/S^2 - 2 n/S^3
		{"grad", "sum(norm(x, 2, 0)^3)/sum(x)^3", "x=[[3e200, 5e200], [4e200, 12e200]]", "-0.017740885416666668e-200 -0.006890190972222222e-200 -0.016655815972222224e-200 0.012858072916666666e-200"}, // 3 n x/S^3 - 3 sum(n^3)/S^4
	} {
		q := question(t, c.op, c.text, c.at)
		if c.op == "jvp" || c.op == "hvp" {
			v, _ := Eval("{x: [1, 0]}", 0, 0, 0)
			q.With = v
		}
		a, err := q.Answer()
		if err != nil {
			t.Errorf("%s of %s: %v", c.op, c.text, err)
			continue
		}
		got := numbers(a.Targets[0].Payload)
		for i, want := range floats(c.want) {
			if off := ulps(got[i], want); off > 64 && !(math.Abs(got[i]-want) <= 1e-15*math.Abs(got[0])) {
				t.Errorf("%s of %s at %s: %v, want %s", c.op, c.text, c.at, got, c.want)
				break
			}
		}
	}
}

// TestRegainFar: however far out, what comes back is regained.
func TestRegainFar(t *testing.T) {
	for _, c := range []struct {
		text    string
		x, want float64
	}{
		{"log2(exp2(x))", 2e6, 1},
		{"log(2^x)", 2000, math.Ln2},
		{"log(2^x)", 1e12, math.Ln2},
		{"log(x^1000)", 2000, 0.5},
		{"log(x^x)", 2e6, 15.508657738524217},     // 1 + log(x)
		{"log(gamma(x))", 2e6, 14.5086574885242},  // digamma(x)
		{"log(erfc(x))", 2000, -4000.00049999988}, // -2x - 1/x + 1/x³
		{"log(normcdf(-x))", 2000, -2000.00049999975},
		{"log(exp(x))", 1e16, 1},
		{"2^x/(1 + 2^x)", 2e6, 0},
	} {
		a := ask(t, "grad", c.text, fmt.Sprintf("x=%g", c.x))
		if got := numbersOf(a.Targets[0].Payload)[0]; !(math.Abs(got-c.want) <= 1e-14*math.Abs(c.want)) {
			t.Errorf("the slope of %s at %g is %v, want %v", c.text, c.x, got, c.want)
		}
	}
}

// TestRegainMany: among many numbers what left the range is regained where it is seen, and where the
// inputs do not explain it.
func TestRegainMany(t *testing.T) {
	const n = 3 * mostExposed
	for _, row := range []struct {
		text string
		want func(x, all float64) float64
	}{
		{"sum(log(exp(x)))", func(x, all float64) float64 { return 1 }},
		{"sum(sqrt(exp(x)))", func(x, all float64) float64 { return math.Exp(x/2) / 2 }},
		{"log(sum(exp(x)))", func(x, all float64) float64 { return math.Exp(x-800) / all }},
		{"y = exp(x) @ ones(" + itoa(n) + ", 2); sum(log(y))", func(x, all float64) float64 { return 2 * math.Exp(x-800) / all }},
	} {
		x, all := tensor.New(n), 0.0
		for i := range x.Data {
			x.Data[i] = 600 + 200*float64(i)/(n-1)
			all += math.Exp(x.Data[i] - 800)
		}
		ask := func() []float64 {
			q := question(t, "grad", row.text)
			q.Inputs = []Input{{Name: "x", Value: tensor.Of(x)}}
			a, err := q.Answer()
			if err != nil {
				t.Fatal(err)
			}
			return numbersOf(a.Targets[0].Payload)
		}
		for i, v := range ask() {
			if want := row.want(x.Data[i], all); !(math.Abs(v-want) <= 1e-12*want) {
				t.Errorf("%s: element %d, at %v, is %v, want %v", row.text, i, x.Data[i], v, want)
				break
			}
		}
		x.Data[7] = math.NaN()
		if v := ask()[n-1]; v-v == 0 && v != 0 {
			t.Errorf("%s beside a NaN: the last element is %v, which takes as long as without", row.text, v)
		}
	}
}
