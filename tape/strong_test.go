package tape

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"nabla/tape/tensor"
)

// untaken are functions of square matrices X, of each by itself where they have leading axes, that are NaN
// where X is.
var untaken = []string{
	"X @ X", "mT(X) @ [1, 2]", "inv(X)", "solve(X, X + 1)", "solve(X, [[1], [2]])", "det(X)", "logdet(X @ mT(X))", "slogdet(X)[1]",
	"cholesky(X @ mT(X))", "cho_solve(X, X)", "triangular_solve(X, X)", "triangular_solve(X, X, lower=false, trans=true)",
	"eigvalsh(X)", "eigh(X)[1]^2", "svdvals(X)", "svd(X)[0]^2", "svd(X)[2]^2", "pinv(X)", "pinv(X[..., :1])", "cond(X)", "expm(X)", "expm(expm(X)/100)",
	"qr(X)[0]", "qr(X)[1]", "qr(X[..., :1])[0]", "qr(X[..., :1, :])[1]", "lstsq(X, X^2)", "lstsq(X[..., :1], X)", "lstsq(X[..., :1, :], X[..., :1, :])",
	"matrix_power(X, 3)", "matrix_power(X, -2)", "matrix_power(X, 0)*X",
	"matrix_norm(X, 2)", "matrix_norm(X, -2)", `matrix_norm(X, "nuc")`, "norm(X, axis=(-1, -2))", "matrix_norm(X, 1)", "vector_norm(X, 3, axis=-1)",
	"einsum(\"...ij,...jk->...ki\", X, X)", "einsum(\"...ij,...ij->...\", X, X)", "trace(X)", "kron(X, X)", "tensordot(X, X, 1)", "inner(X, X)", "outer(X, X)",
	"conv1d(reshape(X, (-1, 2, 2)), ones(3, 2, 2))", "conv1d(X, ones(1, 2, 1)*2)", "median(X, axis=-1)", "cumprod(X, axis=-1)", "cumprod(X, axis=-2)", "cumsum(X, axis=-1)", "logcumsumexp(X)", "cummax(X, axis=-1)",
	"prod(X, axis=-1)", "softmax(X)", "log_softmax(X)", "logsumexp(X, axis=-1)", "var(X, axis=-1)", "std(X, axis=-1)", "sort(X)", "top_k(X, 1)", "max(X, axis=-1)",
	"quantile(X, 0.3, axis=-1)", "max_pool1d(X, 2)", "X / X", "X^X", "atan2(X, 2)", "diff(X)", "cov(X)", "trapezoid(X)", "layer_norm(X)", "X[..., [1, 0], :]", "cross(X, X + [1, 2])",
	"convolve(ravel(X), ravel(X))", "polyval(ravel(X), 2)",
}

// A wanted derivative of a program, along or with something.
type wanted struct{ op, with, want string }

var derivativesOfSquares = []wanted{
	{"grad", "", "[[-3, -4], [-4.5, -8]]"},
	{"hessian", "", "{A: [[[[2, 0], [0, 0]], [[0, 2], [0, 0]]], [[[0, 0], [2, 0]], [[0, 0], [0, 2]]]]}"},
	{"jvp", "[[1, 2], [3, 4]]", "-56.5"},
	{"hvp", "[[1, 2], [3, 4]]", "[[2, 4], [6, 8]]"},
}

// hold reports what a derivative of a program is that is not the wanted one, and any warning.
func (w wanted) hold(t *testing.T, text, at string) {
	q := question(t, w.op, text, at)
	if w.with != "" {
		q.With, _ = Eval(w.with, tensor.Float64, 1, 0)
	}
	a, err := q.Answer()
	if err != nil {
		t.Errorf("%s of %s: %v", w.op, text, err)
		return
	}
	if got := payload(a); got != w.want {
		t.Errorf("%s of %s = %s, want %s", w.op, text, got, w.want)
	}
	for _, x := range a.Warnings {
		t.Errorf("%s of %s warns of %s: %s", w.op, text, x.Op, x.Msg)
	}
}

// TestNotTaken holds derivatives of what is not taken to 0, whatever it goes through.
func TestNotTaken(t *testing.T) {
	for _, f := range untaken {
		for _, around := range []string{
			"X = sqrt(A); where(sum(A) > 100, sum(%s), sum(A^2))",
			"X = sqrt(A); y = %s; where(isnan(y), 0, y); where(isnan(sum(y)), sum(A^2), sum(y))",
		} {
			text := fmt.Sprintf(around, f)
			for _, want := range derivativesOfSquares {
				want.hold(t, text, "A=[[-1.5, -2], [-2.25, -4]]")
			}
		}
	}
}

// TestSomeTaken holds derivatives of functions of matrices of which some are taken to those of the taken ones
// alone, but for the order in which they are added up.
func TestSomeTaken(t *testing.T) {
	const (
		some  = "A=[[[3, 1], [0.5, 2]], [[-1.5, -2], [-2.25, -4]], [[2, 0.25], [1, 5]]]"
		taken = "A=[[[3, 1], [0.5, 2]], [[2, 0.25], [1, 5]]]"
	)
	for _, f := range untaken {
		if !strings.Contains(f, "X[..., ") && regexp.MustCompile(`kron|tensordot|inner|outer|ravel|cov|X, X.1, 2|polyval|trace|trapezoid|conv1d.res|\[1\]\^2`).MatchString(f) {
			continue // not of each matrix by itself
		}
		for _, op := range []string{"grad", "hessian", "jvp", "hvp"} {
			with, apart := "", ""
			if op == "jvp" || op == "hvp" {
				with, apart = "[[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 1], [2, 3]]]", "[[[1, 2], [3, 4]], [[9, 1], [2, 3]]]"
			}
			ask := func(text, at, with string) []float64 {
				q := question(t, op, text, at)
				if with != "" {
					q.With, _ = Eval(with, tensor.Float64, 1, 0)
				}
				a, err := q.Answer()
				if err != nil {
					t.Errorf("%s of %s: %v", op, text, err)
					return nil
				}
				return numbers(a.Targets[0].Payload)
			}
			got := ask("X = sqrt(A); y = "+f+"; sum(where([true, false, true], sum(reshape(y, (3, -1)), axis=1), 0))", some, with)
			want := ask("X = sqrt(A); y = "+f+"; sum(sum(reshape(y, (2, -1)), axis=1))", taken, apart)
			var whole []float64 // with zeros for what is not taken
			switch op {
			case "jvp":
				whole = want
			case "hessian":
				for i := range 3 * 4 {
					for j := range 3 * 4 {
						v := 0.0
						if i/4 != 1 && j/4 != 1 && len(want) == 64 {
							v = want[(i/8*4+i%4)*8+j/8*4+j%4]
						}
						whole = append(whole, v)
					}
				}
			default:
				for i := range 3 * 4 {
					v := 0.0
					if i/4 != 1 && len(want) == 8 {
						v = want[i/8*4+i%4]
					}
					whole = append(whole, v)
				}
			}
			for i := range whole {
				if i >= len(got) || got[i] != whole[i] && !(math.Abs(got[i]-whole[i]) <= 1e-14*(1+math.Abs(whole[i]))) {
					t.Errorf("%s of %s = %v, want %v", op, f, got, whole)
					break
				}
			}
		}
	}
}

// TestNotTakenElsewhere holds it where a factorisation fails for the derivative alone, in loops, and where
// the program itself takes the derivative.
func TestNotTakenElsewhere(t *testing.T) {
	for _, text := range []string{
		"where(sum(A) > 100, logdet(A[[0, 0]]), sum(A^2))", // -inf, and singular
		"where(sum(A) > 100, sum(qr(A[[0, 0]]*[1, 0])[1]), sum(A^2))",
		"y = 0*A; for k in range(40) { y = where(sum(A) > 100, sqrt(A) @ A, A^2/40 + y) }; sum(y)",
		"y = 0*A; for k in range(40) { y = where(sum(A) > 100, inv(sqrt(A)), A^2/40 + y) }; sum(y)",
		"y = 0*A; for k in range(70) { y = where(sum(A) > 100, sqrt(A) @ A, A^2/70 + y) }; sum(y)", // one instruction
		"y = 0*A; for k in range(70) { y = where(sum(A) > 100, inv(sqrt(A)), A^2/70 + y) }; sum(y)",
		"y = 0*A; for k in range(70) { y = where(sum(A) > 100, sum(convolve(log(A[0]), A[1])) + prod(sqrt(A)), A^2/70 + y) }; sum(y)",
		"f(B) = where(sum(B) > 100, sum(sqrt(B) @ B), sum(B^3)); sum(grad(f)(A))/3",
		"vmap(B -> where(sum(B) > 100, sum(sqrt(B) @ mT(B)), sum(B^2)))(A[:, newaxis])[0] + sum(A[1]^2)",
	} {
		for _, want := range derivativesOfSquares {
			want.hold(t, text, "A=[[-1.5, -2], [-2.25, -4]]")
		}
	}
	const singular = "f(A) = where(sum(A) > 100, logdet(A), sum(A)); grad(f)([[1, 2], [2, 4]])"
	if a := ask(t, "eval", singular); write(a.Targets[0].Value) != "[[1, 1], [1, 1]]" {
		t.Errorf("%s = %s", singular, write(a.Targets[0].Value))
	}
}
