package cmd

// What the helps of the commands say beyond the table.
const (
	evalExample = `
  $ nabla eval 'sum(x^2)' --at x=[1,2,3]
  $ nabla eval 'solve(A, b)' -i system.json -f json`

	gradLong = `
A target that is not a scalar stands for its sum. A source that the target does
not depend on gives none, and the JSON says why.`
	gradExample = `
  $ nabla grad 'x^2 * sin(x)' --at x=3
  $ nabla grad 'mean((x @ w - y)^2)' -i data.npz -w w -o g.npy
  $ nabla grad 'x^x' --at x=2 --order 2 -r`

	jacobianExample = `
  $ nabla jacobian 'x * sum(x)' --at x=[1,2,3]
  $ nabla jacobian 'tanh(w @ x)' --at 'w=randn(3,4), x=randn(4)' -w x`

	batchLong = `
Target and source have a leading axis of one size, and row b of the target
depends on row b of the source alone. Where rows mix, a warning names the
operation that mixes them.`
	batchExample = `
  $ nabla batch-jacobian 'elu(x @ a)' --at 'x=randn(7,5), a=randn(5,6)' -w x`

	hessianExample = `
  $ nabla hessian 'prod(x)' --at x=[2,3,4]
  $ nabla hessian 'sum(x^4)' --at x=@x.npy --diagonal -o h.npy`

	withLong = `
The product with a vector is computed without ever forming the matrix.`
	jvpExample = `
  $ nabla jvp 'tanh(w @ x)' --at 'w=eye(2), x=[1,2]' -w x --with x=[1,0]`
	vjpExample = `
  $ nabla vjp 'x^2' --at x=[1,2] --with [3,4]
  $ nabla vjp 'y = x^2; z = sin(x)' --at x=[1,2] --of y,z --with y=[3,4],z=1`
	hvpExample = `
  $ nabla hvp 'sum(x^4)' --at x=[1,2,3] --with x=[1,0,0]`
)
