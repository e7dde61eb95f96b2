package tape

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// Within the range, unbounded numbers have the bits of float64.
func TestUnboundedBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		a := math.Ldexp(rng.Float64()-0.5, rng.IntN(60)-30)
		b := math.Ldexp(rng.Float64()-0.5, rng.IntN(60)-30)
		x, y := unbound(a), unbound(b)
		for i, c := range [][2]float64{
			{x.float(), a}, {x.add(y).float(), a + b}, {x.sub(y).float(), a - b}, {x.mul(y).float(), a * b}, {x.div(y).float(), a / b},
			{x.mul(x).sqrt().float(), math.Sqrt(a * a)},
		} {
			if c[0] != c[1] {
				t.Fatalf("operation %d of %v and %v: %v, want %v", i, a, b, c[0], c[1])
			}
		}
	}
	inf, nan := math.Inf(1), math.NaN()
	special := []float64{0, math.Copysign(0, -1), 1, -3, inf, -inf, nan, 5e-324, math.MaxFloat64}
	for _, a := range special {
		for _, b := range special {
			x, y := unbound(a), unbound(b)
			for i, c := range [][2]float64{{x.add(y).float(), a + b}, {x.mul(y).float(), a * b}, {x.div(y).float(), a / b}} {
				if c[0] != c[1] && (c[0] == c[0] || c[1] == c[1]) {
					t.Errorf("operation %d of %v and %v: %v, want %v", i, a, b, c[0], c[1])
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
					if got, want := s.t.unbounded([]Ref{r})[0].float(), s.t.num[r]; got != want && want == want {
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
		{"grad", "sum([x, 1])/x^2", "1e100", "-1e-200"},                                // more than numbers
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
