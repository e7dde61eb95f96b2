package tape

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"nabla/tape/tensor"
)

// BenchmarkMatrices are factorisations beside the product of two matrices of the size, which
// says what the machine can do.
func BenchmarkMatrices(b *testing.B) {
	for _, r := range []struct{ name, op, text, kind string }{
		{"product", "eval", "(A @ (2*A))[0, 0]", "positive"},
		{"lu", "eval", "logdet(A)", "positive"},
		{"solve1", "eval", "solve(A, b)[0]", "positive"},
		{"solve", "eval", "solve(A, 2*A)[0, 0]", "positive"},
		{"inv", "eval", "inv(A)[0, 0]", "positive"},
		{"cholesky", "eval", "cholesky(A)[0, 0]", "positive"},
		{"triangular", "eval", "triangular_solve(A, 2*A)[0, 0]", "positive"},
		{"qr", "eval", "qr(A)[0][0, 0]", "any"},
		{"lstsq", "eval", "lstsq(A, b)[0]", "any"},
		{"expm", "eval", "expm(A/100)[0, 0]", "any"},
		{"grad-logdet", "grad", "logdet(A)", "positive"},
		{"grad-det", "grad", "det(A/100)", "any"},
		{"grad-solve", "grad", "sum(solve(A, b))", "positive"},
		{"grad-cholesky", "grad", "sum(cholesky(A))", "positive"},
		{"grad-qr", "grad", "sum(qr(A)[1])", "any"},
		{"grad-expm", "grad", "sum(expm(A/100))", "any"},
	} {
		for _, n := range []int{100, 300, 1000, 2000} {
			b.Run(fmt.Sprintf("%s/%d", r.name, n), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, uint64(n)))
				in := map[string]*tensor.Tensor{"A": drawnMatrix(rng, tensor.Shape{n, n}, r.kind), "b": drawnMatrix(rng, tensor.Shape{n}, "any")}
				q := matrixQuestion(b, r.op, r.text, in)
				for b.Loop() {
					matrixAnswer(b, q, r.text)
				}
			})
		}
	}
}

// BenchmarkBatches are gradients through many small matrices.
func BenchmarkBatches(b *testing.B) {
	for _, r := range []struct{ name, text, kind string }{
		{"logdet", "sum(logdet(A))", "positive"},
		{"det", "sum(det(A))", "any"},
		{"inv", "sum(inv(A)^2)", "positive"},
		{"solve", "sum(solve(A, b[..., newaxis])^2)", "positive"},
		{"cholesky", "sum(cholesky(A)^3)", "positive"},
		{"eigvalsh", "sum(eigvalsh(A)^2)", "positive"},
		{"svdvals", "sum(svdvals(A)^3)", "any"},
	} {
		for _, s := range [][2]int{{2000, 3}, {1000, 5}, {300, 10}, {50, 30}, {1, 60}} {
			b.Run(fmt.Sprintf("%s/%dx%d", r.name, s[0], s[1]), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, uint64(s[1])))
				many, one := tensor.New(s[0], s[1], s[1]), drawnMatrix(rng, tensor.Shape{s[1], s[1]}, r.kind)
				for i := range many.Data {
					many.Data[i] = one.Data[i%len(one.Data)]
				}
				q := matrixQuestion(b, "grad", r.text, map[string]*tensor.Tensor{"A": many, "b": drawnMatrix(rng, tensor.Shape{s[0], s[1]}, "any")})
				for b.Loop() {
					matrixAnswer(b, q, r.text)
				}
			})
		}
	}
}
