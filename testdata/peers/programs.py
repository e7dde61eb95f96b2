"""The programs that scan.py compares: (name, operation, text, shapes of the inputs, the function in JAX or None).

A text without a loop is Python as well, but for ^ and semicolons, so JAX's function is made of it; others bring
theirs, of the same inputs. Inputs are normal numbers, those whose name ends in _ uniform ones from 0.5 to 1.5, those whose
name begins with k whole ones from 0 to 9. The first input is the one that is derived by, or those named in wrt.
"""

PROGRAMS = []


def add(name, text, shapes, op='grad', wrt=None, jax=None):
    PROGRAMS.append((name, op, text, shapes, wrt or [next(iter(shapes))], jax))


def label(n):
    return f'{n:.0e}'.replace('e+0', 'e')


# One number at a time.
for f in ['sin(x)', 'cos(x)*x', 'exp(x)', 'tanh(x)', 'sigmoid(x)', 'softplus(x)', 'x^3', 'relu(x)', 'abs(x)', 'silu(x)', 'gelu(x)', 'erf(x)',
          'log1p(x^2)', 'atan(x)', 'where(x > 0, x, 0.01*x)', 'clip(x, -1, 1)^2', 'x/(1 + abs(x))', 'exp(-x^2)', 'cosh(x)', 'asinh(x)', 'log_ndtr(x)', 'sinc(x)',
          'expm1(x)', 'log_sigmoid(x)', 'elu(x)', 'sin(x)*cos(x) + x', '1/(1 + x^2)', 'x*exp(-x)', 'sqrt(1 + x^2)', 'minimum(x, x^2)', 'erfc(x)']:
    for n in (1000, 100_000):
        add(f'{f} {label(n)}', f'sum({f})', {'x': (n,)})
for f in ['log(p_)', 'sqrt(p_)', 'p_^2.5', 'p_^p_', 'lgamma(p_)', 'digamma(p_)', 'p_*log(p_)', '1/p_', 'log2(p_)', 'cbrt(p_)', 'i0(p_)', 'i1(p_)',
          'i0e(p_)', 'i1e(p_)', 'erfinv(p_ - 1)', 'ndtri(p_/2)', 'polygamma(1, p_)', 'entr(p_)', 'gammainc(2.5, p_)', 'betainc(2.5, 1.5, p_/2)']:
    for n in (1000, 100_000):
        add(f'{f} {label(n)}', f'sum({f})', {'p_': (n,)})
for f in ['x*y', 'maximum(x, y)', 'hypot(x, y)', 'logaddexp(x, y)', 'atan2(x, y)', '(x - y)^2', 'x/(1 + y^2)', 'exp(x)*sin(y)', 'xlogy(x, 1 + y^2)']:
    for n in (1000, 100_000):
        add(f'{f} {label(n)}', f'sum({f})', {'x': (n,), 'y': (n,)}, wrt=['x', 'y'])
for f in ['beta(p_, q_)', 'betaln(p_, q_)', 'gammainc(p_, q_)', 'p_^q_', 'xlog1py(p_, q_)']:
    for n in (1000, 100_000):
        add(f'{f} {label(n)}', f'sum({f})', {'p_': (n,), 'q_': (n,)}, wrt=['p_', 'q_'])
for f in ['sin(x)', 'tanh(x)', 'relu(x)', 'exp(-x^2)', 'x^2', 'softplus(x)']:
    add(f'{f} 1e6', f'sum({f})', {'x': (1_000_000,)})

# Rows, columns, and what lies between them.
for name, text in [('mean', 'sum(mean(x, axis={})^2)'), ('std', 'sum(std(x, axis={}))'), ('var', 'sum(var(x, axis={})^2)'),
                   ('logsumexp', 'sum(logsumexp(x, axis={}))'), ('max', 'sum(max(x, axis={}))'), ('norm', 'sum(sqrt(sum(x^2, axis={})))'),
                   ('softmax', 'sum(softmax(x, axis={})*y)'), ('log_softmax', 'sum(log_softmax(x, axis={})*y)'), ('cumsum', 'sum(cumsum(x, axis={})^2)'),
                   ('cumprod', 'sum(cumprod(1 + 0.01*x, axis={}))'), ('sort', 'sum(sort(x, axis={})*y)'), ('median', 'sum(median(x, axis={})^2)'),
                   ('sums', 'sum(sin(sum(x, axis={})))'), ('standardized', 'sum((x - mean(x, axis={}, keepdims=true))/std(x, axis={}, keepdims=true)*y)')]:
    for m, n in [(100, 100), (1000, 300), (40, 8000), (8000, 40)]:
        for axis in (0, 1):
            shapes = {'x': (m, n), 'y': (m, n)} if 'y' in text else {'x': (m, n)}
            add(f'{name} {m}x{n} along {axis}', text.format(axis, axis), shapes)
for name, text in [('mean', 'sum(mean(x, axis=1)^2)'), ('std', 'sum(std(x, axis=1))'), ('softmax', 'sum(softmax(x, axis=1)^2)'), ('max', 'sum(max(x, axis=1)^2)')]:
    add(f'{name} 30x40x50 along 1', text, {'x': (30, 40, 50)})

# Losses and models.
add('cross entropy 256x10', '-mean(sum(log_softmax(x, axis=-1)*y, axis=-1))', {'x': (256, 10), 'y': (256, 10)})
add('cross entropy 4096x1000', '-mean(sum(log_softmax(x, axis=-1)*y, axis=-1))', {'x': (4096, 1000), 'y': (4096, 1000)})
add('Kullback-Leibler 100x50', 'p = softmax(x, axis=-1); q = softmax(y, axis=-1); mean(sum(p*(log(p) - log(q)), axis=-1))', {'x': (100, 50), 'y': (100, 50)})
add('huber 1e4', 'd = abs(x - y); mean(where(d < 1, 0.5*d^2, d - 0.5))', {'x': (10_000,), 'y': (10_000,)})
add('hinge 1e4x20', 'mean(maximum(0, 1 - y*(x @ w)))', {'w': (20,), 'x': (10_000, 20), 'y': (10_000,)})
for m, n in [(200, 10), (10_000, 50), (1000, 1000)]:
    add(f'logistic regression {m}x{n}', 'mean(softplus(-y*(x @ w + b))) + 0.01*sum(w^2)', {'w': (n,), 'b': (1,), 'x': (m, n), 'y': (m,)}, wrt=['w', 'b'])
    add(f'Poisson regression {m}x{n}', 'z = x @ w/30; mean(exp(z) - y*z)', {'w': (n,), 'x': (m, n), 'y': (m,)})
    add(f'least squares {m}x{n}', 'mean((x @ w - y)^2)', {'w': (n,), 'x': (m, n), 'y': (m,)})
add('Gaussian mixture 1000x2, 8', 'sum(logsumexp(log_softmax(a) - 0.5*sum(((x[:, newaxis, :] - m)/s_)^2, axis=-1) - sum(log(s_), axis=-1), axis=1))',
    {'m': (8, 2), 's_': (8, 2), 'a': (8,), 'x': (1000, 2)}, wrt=['m', 's_', 'a'])
add('pairwise distances 200x3', 'd = x[:, newaxis, :] - x; sum(sqrt(sum(d^2, axis=-1) + 1))', {'x': (200, 3)})
add('Lennard-Jones 60', 'd = x[:, newaxis, :] - x; r = sum(d^2, axis=-1) + eye(60); s = r^-3; sum(triu(s^2 - s, 1))', {'x': (60, 3)})
add('kernel matrix 200x5', 'd = sum((x[:, newaxis, :] - x)^2, axis=-1); sum(exp(-d/2))', {'x': (200, 5)})
add('contrastive 128x64', 'z = x/sqrt(sum(x^2, axis=1, keepdims=true)); mean(logsumexp(z @ z.T/0.1, axis=1))', {'x': (128, 64)})
for b, d, h in [(1, 8, 16), (32, 32, 64), (256, 128, 128), (512, 784, 100)]:
    add(f'two layers {b}x{d}, {h}', 'mean((tanh(x @ w + b) @ v - t)^2)', {'w': (d, h), 'b': (h,), 'v': (h, 4), 'x': (b, d), 't': (b, 4)}, wrt=['w', 'b', 'v'])
    add(f'rectified layers {b}x{d}, {h}', 'mean((relu(relu(x @ w + b) @ u) @ v - t)^2)', {'w': (d, h), 'b': (h,), 'u': (h, h), 'v': (h, 4), 'x': (b, d), 't': (b, 4)},
        wrt=['w', 'b', 'u', 'v'])
for s, d in [(16, 8), (64, 32), (256, 64)]:
    add(f'attention {s}x{d}', f'q = x @ a; k = x @ b; v = x @ c; sum((softmax(q @ k.T/{d ** 0.5}, axis=-1) @ v)^2)',
        {'a': (d, d), 'b': (d, d), 'c': (d, d), 'x': (s, d)}, wrt=['a', 'b', 'c', 'x'])
add('heads of attention 8x64x16', 's = softmax(q @ swapaxes(k_, 1, 2)/4, axis=-1); sum((s @ v)^2)', {'q': (8, 64, 16), 'k_': (8, 64, 16), 'v': (8, 64, 16)}, wrt=['q', 'k_', 'v'])
add('layer norm 512x256', 'm = mean(x, axis=-1, keepdims=true); z = (x - m)/sqrt(var(x, axis=-1, keepdims=true) + 1e-5); sum((z*g + b)*y)',
    {'x': (512, 256), 'g': (256,), 'b': (256,), 'y': (512, 256)}, wrt=['x', 'g', 'b'])
add('batch norm 512x64', 'z = (x - mean(x, axis=0))/sqrt(var(x, axis=0) + 1e-5); sum((z*g + b)*y)', {'x': (512, 64), 'g': (64,), 'b': (64,), 'y': (512, 64)}, wrt=['x', 'g', 'b'])
add('root mean square norm 512x256', 'sum(x/sqrt(mean(x^2, axis=-1, keepdims=true) + 1e-5)*y)', {'x': (512, 256), 'y': (512, 256)})
add('embedding 1000x32, 500', 'sum(tanh(e[k])^2)', {'e': (10, 32), 'k': (500,)})
add('mixture of experts 64x16, 4', 'g = softmax(x @ r, axis=-1); sum((sum(g[:, :, newaxis]*einsum("bi,eij->bej", x, w), axis=1))^2)', {'w': (4, 16, 16), 'r': (16, 4), 'x': (64, 16)}, wrt=['w', 'r'])
add('residual blocks 64x32', 'h = x + tanh(x @ a) @ b; h = h + tanh(h @ a) @ b; h = h + tanh(h @ a) @ b; sum(h^2)', {'a': (32, 32), 'b': (32, 32), 'x': (64, 32)}, wrt=['a', 'b'])
add('gated unit 128x64', 'sum((sigmoid(x @ a)*tanh(x @ b))^2)', {'a': (64, 64), 'b': (64, 64), 'x': (128, 64)}, wrt=['a', 'b'])
add('variational autoencoder 64x32', 'h = tanh(x @ a); m = h @ b; s = h @ c; z = m + exp(0.5*s)*n; mean((z @ d - x)^2) - 0.5*mean(1 + s - m^2 - exp(s))',
    {'a': (32, 32), 'b': (32, 8), 'c': (32, 8), 'd': (8, 32), 'x': (64, 32), 'n': (64, 8)}, wrt=['a', 'b', 'c', 'd'])
add('Gaussian process 60', 'k_ = exp(-0.5*(x[:, newaxis] - x)^2/l_[0]^2) + 0.1*eye(60); 0.5*sum(y*solve(k_, y)) + 0.5*slogdet(k_)[1]', {'l_': (1,), 'x': (60,), 'y': (60,)},)
add('portfolio 50', 'w = softmax(x); sum(w*m) - 0.5*w @ (s @ s.T) @ w', {'x': (50,), 'm': (50,), 's': (50, 50)})
add('Black-Scholes 1e4', 'd = (log(s_) + 0.5*v_^2)/v_; sum(s_*0.5*(1 + erf(d/sqrt(2))) - 0.5*(1 + erf((d - v_)/sqrt(2))))', {'s_': (10_000,), 'v_': (10_000,)}, wrt=['s_', 'v_'])
add('total variation 100x100', 'sum(sqrt((x[1:, :-1] - x[:-1, :-1])^2 + (x[:-1, 1:] - x[:-1, :-1])^2 + 1e-3))', {'x': (100, 100)})
add('total variation 1000x1000', 'sum(abs(x[1:, :] - x[:-1, :])) + sum(abs(x[:, 1:] - x[:, :-1]))', {'x': (1000, 1000)})
add('Rosenbrock 1000', 'sum(100*(x[1:] - x[:-1]^2)^2 + (1 - x[:-1])^2)', {'x': (1000,)})
add('polynomial 1e4', 'sum(1 + x*(2 + x*(3 + x*(4 + x*(5 + x*6)))))', {'x': (10_000,)})

# Shapes.
add('transposed 1000x1000', 'sum(x.T*y)', {'x': (1000, 1000), 'y': (1000, 1000)})
add('transposed 100x100', 'sum(sin(x.T)*y)', {'x': (100, 100), 'y': (100, 100)})
add('axes exchanged 20x30x40', 'sum(transpose(x, (2, 0, 1))*y)', {'x': (20, 30, 40), 'y': (40, 20, 30)})
add('concatenated 500x200', 'sum(concatenate([x, y, x*y], axis=1)^3)', {'x': (500, 200), 'y': (500, 200)}, wrt=['x', 'y'])
add('concatenated rows 500x200', 'sum(concatenate([x, y], axis=0)^3)', {'x': (500, 200), 'y': (500, 200)}, wrt=['x', 'y'])
add('stacked 1e4', 'sum(stack([x, y, x + y])^3)', {'x': (10_000,), 'y': (10_000,)}, wrt=['x', 'y'])
add('outer 500', 'sum(sin(outer(x, y)))', {'x': (500,), 'y': (500,)}, wrt=['x', 'y'])
add('outer sum 1000', 'sum((x[:, newaxis] + y)^2)', {'x': (1000,), 'y': (1000,)}, wrt=['x', 'y'])
add('outer difference 300', 'sum(abs(x[:, newaxis] - x))', {'x': (300,)})
add('cross 1e4', 'sum(cross(x, y)^2)', {'x': (10_000, 3), 'y': (10_000, 3)}, wrt=['x', 'y'])
add('tiled 100x100', 'sum(tile(x, (3, 4))*y)', {'x': (100, 100), 'y': (300, 400)})
add('repeated 1e4', 'sum(repeat(x, 5)*y)', {'x': (10_000,), 'y': (50_000,)})
add('rolled 1e5', 'sum(x*roll(x, 1))', {'x': (100_000,)})
add('padded 300x300', 'sum(pad(x, 1)[1:, 1:]^3)', {'x': (300, 300)})
add('diagonal 500', 'sum(diagonal(x @ x.T))', {'x': (200, 500)})
add('triangle 500', 'sum(tril(x)^2)', {'x': (500, 500)})
add('flipped 1e5', 'sum(x*flip(x)*y)', {'x': (100_000,), 'y': (100_000,)})
add('strided 1e5', 'sum(x[::2]*x[1::2])', {'x': (100_000,)})
add('taken 1e4', 'sum(x[k]^2)', {'x': (10,), 'k': (10_000,)})
add('taken rows 1e4', 'sum(x[k]*y)', {'x': (10, 16), 'k': (10_000,), 'y': (10_000, 16)})
add('differences 1e5', 'sum(diff(x)^2)', {'x': (100_000,)})
add('einsum batch 32x40x40', 'sum(einsum("bij,bjk->bik", x, y)^2)', {'x': (32, 40, 40), 'y': (32, 40, 40)}, wrt=['x', 'y'])
add('einsum bilinear 200x30', 'sum(tanh(einsum("bi,ij,bj->b", x, w, y)))', {'w': (30, 30), 'x': (200, 30), 'y': (200, 30)})
add('tensordot 20', 'sum(tensordot(x, y, 2)^2)', {'x': (20, 20, 20), 'y': (20, 20, 20)}, wrt=['x', 'y'])
for n in (16, 64, 200, 700):
    add(f'product {n}', 'sum((x @ y)^2)', {'x': (n, n), 'y': (n, n)}, wrt=['x', 'y'])
add('matrix and vector 1000', 'sum(sin(x @ v))', {'x': (1000, 1000), 'v': (1000,)}, wrt=['x', 'v'])
add('chain of products 50', 'trace(x @ y @ x.T @ y.T)', {'x': (50, 50), 'y': (50, 50)}, wrt=['x', 'y'])

# Matrices.
SPD = 'a = x @ x.T/{n} + eye({n}); '
for n in (3, 10, 50, 200):
    add(f'solve {n}', f'a = x/{n} + eye({n}); sum(solve(a, y)^2)', {'x': (n, n), 'y': (n,)}, wrt=['x', 'y'])
    add(f'inverse {n}', f'sum(inv(x/{n} + eye({n}))^2)', {'x': (n, n)})
    add(f'slogdet {n}', f'slogdet(x/{n} + eye({n}))[1]', {'x': (n, n)})
    add(f'Cholesky {n}', SPD.format(n=n) + 'sum(cholesky(a)^3)', {'x': (n, n)}, jax=lambda x, n=n: _np().sum(_linalg().cholesky(x @ x.T / n + _np().eye(n)) ** 3))
    add(f'eigenvalues {n}', SPD.format(n=n) + 'sum(sqrt(eigvalsh(a)))', {'x': (n, n)})
    add(f'singular values {n}', 'sum(svdvals(x)^3)', {'x': (n, n)}, jax=lambda x: _np().sum(_linalg().svd(x, compute_uv=False) ** 3))
    add(f'QR {n}', 'q = qr(x); sum(q[1]^3)', {'x': (n, n)}, jax=lambda x: _np().sum(_linalg().qr(x)[1] ** 3))
    add(f'power {n}', f'sum(matrix_power(x/{n}, 5))', {'x': (n, n)})
for n in (3, 10, 50):
    add(f'exponential {n}', f'sum(expm(x/{n}))', {'x': (n, n)})
for b, n in [(1000, 3), (200, 8), (20, 40)]:
    add(f'solve batch {b}x{n}', f'a = x/{n} + eye({n}); sum(solve(a, y)^2)', {'x': (b, n, n), 'y': (b, n, 1)}, wrt=['x', 'y'])
    add(f'inverse batch {b}x{n}', f'sum(inv(x/{n} + eye({n}))^2)', {'x': (b, n, n)})
    add(f'slogdet batch {b}x{n}', f'sum(slogdet(x/{n} + eye({n}))[1])', {'x': (b, n, n)})
    add(f'Cholesky batch {b}x{n}', f'a = x @ swapaxes(x, 1, 2)/{n} + eye({n}); sum(cholesky(a)^3)', {'x': (b, n, n)},
        jax=lambda x, n=n: _np().sum(_linalg().cholesky(x @ _np().swapaxes(x, 1, 2) / n + _np().eye(n)) ** 3))
    add(f'eigenvalues batch {b}x{n}', f'a = x @ swapaxes(x, 1, 2)/{n} + eye({n}); sum(sqrt(eigvalsh(a)))', {'x': (b, n, n)})


# Loops, whose functions in JAX are their own.
def _np():
    import jax.numpy
    return jax.numpy


def _linalg():
    return _np().linalg


def _loop(n, f, s):
    import jax
    return jax.lax.scan(lambda s, _: (f(s), None), s, None, length=n)[0]


def _scan(f, s, xs):
    import jax
    return jax.lax.scan(lambda s, x: (f(s, x), None), s, xs)[0]


HEAT = 'u = x; for i in range({}) {{ u = u + 0.2*(roll(u, 1) - 2*u + roll(u, -1)) }}; sum(u^2)'
for n, steps in [(60, 50), (100, 1000), (1000, 100), (20_000, 100)]:
    add(f'heat ring {n}, {steps}', HEAT.format(steps), {'x': (n,)},
        jax=lambda x, k=steps: _np().sum(_loop(k, lambda u: u + 0.2 * (_np().roll(u, 1) - 2 * u + _np().roll(u, -1)), x) ** 2))
BURGERS = 'u = x; for i in range({}) {{ u = u - 0.01*u*(roll(u, -1) - roll(u, 1)) + 0.05*(roll(u, 1) - 2*u + roll(u, -1)) }}; sum(u^2)'


def _burgers(u):
    a, b = _np().roll(u, -1), _np().roll(u, 1)
    return u - 0.01 * u * (a - b) + 0.05 * (b - 2 * u + a)


for n, steps in [(60, 50), (1000, 200)]:
    add(f'Burgers {n}, {steps}', BURGERS.format(steps), {'x': (n,)}, jax=lambda x, k=steps: _np().sum(_loop(k, _burgers, x) ** 2))
for n in (32, 128, 500):
    add(f'heat grid {n}', 'u = x; for i in range(20) { u = u + 0.1*(roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + roll(u, -1, 1) - 4*u) }; sum(u^2)', {'x': (n, n)},
        jax=lambda x: _np().sum(_loop(20, lambda u: u + 0.1 * (_np().roll(u, 1, 0) + _np().roll(u, -1, 0) + _np().roll(u, 1, 1) + _np().roll(u, -1, 1) - 4 * u), x) ** 2))
add('wave string 200', 'u = x; v = 0*x; for i in range(200) { v = v + 0.1*(roll(u, 1) - 2*u + roll(u, -1)); u = u + 0.1*v }; sum(u^2 + v^2)', {'x': (200,)},
    jax=lambda x: _np().sum(sum(s ** 2 for s in _loop(200, lambda s: (lambda v: (s[0] + 0.1 * v, v))(
        s[1] + 0.1 * (_np().roll(s[0], 1) - 2 * s[0] + _np().roll(s[0], -1))), (x, 0 * x)))))
add('explicit slices 300, 100', 'u = x; for i in range(100) { u = concatenate([u[:1], u[1:-1] + 0.2*(u[:-2] - 2*u[1:-1] + u[2:]), u[-1:]]) }; sum(u^2)', {'x': (300,)},
    jax=lambda x: _np().sum(_loop(100, lambda u: _np().concatenate([u[:1], u[1:-1] + 0.2 * (u[:-2] - 2 * u[1:-1] + u[2:]), u[-1:]]), x) ** 2))
for n in (8, 64, 256):
    add(f'recurrent {n}', f'h = x[0]; for i in range(50) {{ h = tanh(h @ w/{n} + x[i]) }}; sum(h^2)', {'w': (n, n), 'x': (50, n)},
        jax=lambda w, x, n=n: _np().sum(_scan(lambda h, r: _np().tanh(h @ w / n + r), x[0], x) ** 2))
    add(f'recurrent batch 32x{n}', f'h = x[0]; for i in range(20) {{ h = tanh(h @ w/{n} + x[i]) }}; sum(h^2)', {'w': (n, n), 'x': (20, 32, n)},
        jax=lambda w, x, n=n: _np().sum(_scan(lambda h, r: _np().tanh(h @ w / n + r), x[0], x) ** 2))


def _lstm(w, u, x):
    import jax
    n = u.shape[0]

    def step(s, r):
        h, c = s
        z = r @ w + h @ u
        i, f, o, g = (z[k * n:(k + 1) * n] for k in range(4))
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * _np().tanh(g)
        return jax.nn.sigmoid(o) * _np().tanh(c), c
    return _np().sum(_scan(step, (_np().zeros(n), _np().zeros(n)), x)[0] ** 2)


for n in (10, 50):
    add(f'LSTM {n}', f'h = zeros({n}); c = zeros({n}); for i in range(30) {{ z = x[i] @ w + h @ u; c = sigmoid(z[{n}:{2 * n}])*c + sigmoid(z[:{n}])*tanh(z[{3 * n}:]); '
        f'h = sigmoid(z[{2 * n}:{3 * n}])*tanh(c) }}; sum(h^2)', {'w': (n, 4 * n), 'u': (n, 4 * n), 'x': (30, n)}, wrt=['w', 'u'], jax=_lstm)
add('pendulum 500', 's = x; for i in range(500) { s = s + 0.01*[s[1], -sin(s[0])] }; sum(s^2)', {'x': (2,)},
    jax=lambda x: _np().sum(_loop(500, lambda s: s + 0.01 * _np().stack([s[1], -_np().sin(s[0])]), x) ** 2))
add('Lorenz 300', 'a = x[0]; b = x[1]; c = x[2]; for i in range(300) { d = 10*(b - a); e1 = a*(28 - c) - b; f = a*b - 2.7*c; a = a + 0.005*d; b = b + 0.005*e1; c = c + 0.005*f }; a + b + c',
    {'x': (3,)}, jax=lambda x: sum(_loop(300, lambda s: (s[0] + 0.005 * 10 * (s[1] - s[0]), s[1] + 0.005 * (s[0] * (28 - s[2]) - s[1]), s[2] + 0.005 * (s[0] * s[1] - 2.7 * s[2])),
                                         (x[0], x[1], x[2]))))
add('gradient descent 20', 'w = x; for i in range(30) { w = w - 0.1*(a.T @ (a @ w - y))/20 }; sum(w^2)', {'x': (20,), 'a': (20, 20), 'y': (20,)},
    jax=lambda x, a, y: _np().sum(_loop(30, lambda w: w - 0.1 * (a.T @ (a @ w - y)) / 20, x) ** 2))
add('power iteration 100', 'v = y; for i in range(30) { v = x @ v; v = v/sqrt(sum(v^2)) }; v @ x @ v', {'x': (100, 100), 'y': (100,)},
    jax=lambda x, y: (lambda v: v @ x @ v)(_loop(30, lambda v: (lambda u: u / _np().sqrt(_np().sum(u ** 2)))(x @ v), y)))
add('Newton roots 1000', 'r = 1 + 0*p_; for i in range(8) { r = r - (r^3 - p_)/(3*r^2) }; sum(r)', {'p_': (1000,)},
    jax=lambda p_: _np().sum(_loop(8, lambda r: r - (r ** 3 - p_) / (3 * r ** 2), 1 + 0 * p_)))
add('Sinkhorn 50', 'm = exp(-x^2); u = ones(50); v = ones(50); for i in range(20) { u = 1/(m @ v); v = 1/(m.T @ u) }; sum(u[:, newaxis]*m*v*x^2)', {'x': (50, 50)},
    jax=lambda x: (lambda m, s: _np().sum(s[0][:, None] * m * s[1] * x ** 2))(_np().exp(-x ** 2), (lambda m: _loop(20, lambda s: (lambda u: (u, 1 / (m.T @ u)))(1 / (m @ s[1])),
                                                                                                         (_np().ones(50), _np().ones(50))))(_np().exp(-x ** 2))))


def _markov(a, b):
    import jax
    t, e = jax.nn.log_softmax(a, axis=1), jax.nn.log_softmax(b, axis=1)
    return jax.scipy.special.logsumexp(_scan(lambda s, r: jax.scipy.special.logsumexp(s[:, None] + t, axis=0) + r, e[0], e[1:]))


add('hidden Markov 8, 100', 't = log_softmax(a, axis=1); o = log_softmax(b, axis=1); s = o[0]; for i in range(1, 100) { s = logsumexp(s[:, newaxis] + t, axis=0) + o[i] }; logsumexp(s)',
    {'a': (8, 8), 'b': (100, 8)}, wrt=['a', 'b'], jax=_markov)


def _kalman(f, y):
    np = _np()
    n = f.shape[0]
    f = f / n + 0.5 * np.eye(n)

    def step(s, z):
        m, p, l = s
        m, p = f @ m, f @ p @ f.T + np.eye(n)
        c = p + np.eye(n)
        k = np.linalg.solve(c, p).T
        r = z - m
        return m + k @ r, p - k @ p, l + r @ r
    return _scan(step, (np.zeros(n), np.eye(n), 0.), y)[2]


KALMAN = ('g = f/{n} + 0.5*eye({n}); m = zeros({n}); p = eye({n}); l = 0; for i in range(40) {{ m = g @ m; p = g @ p @ g.T + eye({n}); k = solve(p + eye({n}), p).T; '
          'r = y[i] - m; m = m + k @ r; p = p - k @ p; l = l + r @ r }}; l')
add('Kalman 4', KALMAN.format(n=4), {'f': (4, 4), 'y': (40, 4)}, jax=_kalman)
add('logistic map 1000', 'r = x[0]/20 + 3; v = 0.5; for i in range(1000) { v = 0.99*v + 0.001*r*v*(1 - v) }; v', {'x': (1,)},
    jax=lambda x: _loop(1000, lambda v: 0.99 * v + 0.001 * (x[0] / 20 + 3) * v * (1 - v), 0.5))
add('cumulative recurrence 500x20', 's = zeros(20); for r in x { s = 0.9*s + tanh(r) }; sum(s^2)', {'x': (500, 20)},
    jax=lambda x: _np().sum(_scan(lambda s, r: 0.9 * s + _np().tanh(r), _np().zeros(20), x) ** 2))

# Jacobians, batches of them, Hessians.
for n in (10, 60):
    add(f'J sin of product {n}', 'sin(a @ x)', {'x': (n,), 'a': (n, n)}, op='jacobian')
    add(f'J softmax {n}', 'softmax(x)', {'x': (n,)}, op='jacobian')
    add(f'J two layers {n}', 'tanh(tanh(x @ a) @ b)', {'x': (n,), 'a': (n, n), 'b': (n, n)}, op='jacobian')
    add(f'J norm {n}', 'x/sqrt(sum(x^2))', {'x': (n,)}, op='jacobian')
    add(f'J cumsum {n}', 'cumsum(exp(x))', {'x': (n,)}, op='jacobian')
    add(f'J Burgers {n}', BURGERS.format(30).replace('sum(u^2)', 'u'), {'x': (n,)}, op='jacobian', jax=lambda x: _loop(30, _burgers, x))
    add(f'J heat {n}', HEAT.format(100).replace('sum(u^2)', 'u'), {'x': (n,)}, op='jacobian',
        jax=lambda x: _loop(100, lambda u: u + 0.2 * (_np().roll(u, 1) - 2 * u + _np().roll(u, -1)), x))
    add(f'J solve {n}', f'solve(a/{n} + eye({n}) + outer(x, x)/{n}, y)', {'x': (n,), 'a': (n, n), 'y': (n,)}, op='jacobian')
    add(f'J outer {n}', 'outer(x, sin(x))', {'x': (n,)}, op='jacobian')
    add(f'J sort {n}', 'sort(x)^2', {'x': (n,)}, op='jacobian')
    add(f'H Rosenbrock {n}', 'sum(100*(x[1:] - x[:-1]^2)^2 + (1 - x[:-1])^2)', {'x': (n,)}, op='hessian')
    add(f'H logistic {n}', 'mean(softplus(-y*(a @ x)))', {'x': (n,), 'a': (200, n), 'y': (200,)}, op='hessian')
    add(f'H logsumexp {n}', 'logsumexp(a @ x)', {'x': (n,), 'a': (50, n)}, op='hessian')
    add(f'H quadratic sine {n}', 'sum(sin(a @ x)^2)', {'x': (n,), 'a': (n, n)}, op='hessian')
    add(f'H pairwise {n}', 'sum(exp(-(x[:, newaxis] - x)^2))', {'x': (n,)}, op='hessian')
    add(f'H norm {n}', 'sqrt(1 + sum(x^2))', {'x': (n,)}, op='hessian')
    add(f'H entropy {n}', 'p = softmax(x); sum(p*log(p))', {'x': (n,)}, op='hessian')
    add(f'H prod {n}', 'prod(1 + 0.1*x)', {'x': (n,)}, op='hessian')
    add(f'H slogdet {n}', f'slogdet(eye({n}) + outer(x, x) + a @ a.T/{n})[1]', {'x': (n,), 'a': (n, n)}, op='hessian')
    add(f'H Burgers {n}', BURGERS.format(30), {'x': (n,)}, op='hessian', jax=lambda x: _np().sum(_loop(30, _burgers, x) ** 2))
    add(f'H recurrent {n}', 'h = x; for i in range(20) { h = tanh(a @ h) }; sum(h^2)', {'x': (n,), 'a': (n, n)}, op='hessian',
        jax=lambda x, a: _np().sum(_loop(20, lambda h: _np().tanh(a @ h), x) ** 2))
    add(f'H pendulum {n}', 's = x[0]; v = x[1]; for i in range(100) { v = v - 0.05*sin(s); s = s + 0.05*v }; s^2 + v^2 + sum(x^2)', {'x': (n,)}, op='hessian',
        jax=lambda x: (lambda s: s[0] ** 2 + s[1] ** 2 + _np().sum(x ** 2))(_loop(100, lambda s: (lambda v: (s[0] + 0.05 * v, v))(s[1] - 0.05 * _np().sin(s[0])), (x[0], x[1]))))
add('H two layers', 'w = reshape(x[:200], (10, 20)); v = x[200:]; mean((tanh(a @ w) @ v - y)^2)', {'x': (220,), 'a': (50, 10), 'y': (50,)}, op='hessian')
add('H Kalman 3', KALMAN.format(n=3), {'f': (3, 3), 'y': (40, 3)}, op='hessian', jax=_kalman)
for b, n in [(1000, 5), (200, 30), (64, 100)]:
    add(f'B softmax {b}x{n}', 'softmax(x, axis=-1)', {'x': (b, n)}, op='batch_jacobian', jax=lambda r: _nn().softmax(r))
    add(f'B two layers {b}x{n}', 'tanh(tanh(x @ a) @ b)', {'x': (b, n), 'a': (n, 16), 'b': (16, 8)}, op='batch_jacobian', jax=lambda r, a, b: _np().tanh(_np().tanh(r @ a) @ b))
    add(f'B normalized {b}x{n}', 'x/sqrt(sum(x^2, axis=1, keepdims=true))', {'x': (b, n)}, op='batch_jacobian', jax=lambda r: r / _np().sqrt(_np().sum(r ** 2)))
    add(f'B sine {b}x{n}', 'sin(x)*x', {'x': (b, n)}, op='batch_jacobian', jax=lambda r: _np().sin(r) * r)
    add(f'B cumsum {b}x{n}', 'cumsum(x^2, axis=1)', {'x': (b, n)}, op='batch_jacobian', jax=lambda r: _np().cumsum(r ** 2))


def _nn():
    import jax
    return jax.nn


# Equations step by step, of fourth order.
STEP = 'for i in range({}) {{ a = f(u); b = f(u + 0.005*a); c = f(u + 0.005*b); d = f(u + 0.01*c); u = u + 0.01/6*(a + 2*b + 2*c + d) }}; '
LOTKA = 'f(u) = [u[0]*(p_[0] - p_[1]*u[1]), u[1]*(p_[2]*u[0] - p_[3])]; u = [1.0, 1.2]; ' + STEP.format(200)
LORENZ = 'f(u) = (roll(u, -1) - roll(u, 2))*roll(u, 1) - u + 8; u = x; ' + STEP.format(50)


def _rk4(n, f, u):
    def step(u):
        a = f(u)
        b = f(u + 0.005 * a)
        c = f(u + 0.005 * b)
        d = f(u + 0.01 * c)
        return u + 0.01 / 6 * (a + 2 * b + 2 * c + d)
    return _loop(n, step, u)


def _lotka(p):
    np = _np()
    return _rk4(200, lambda u: np.stack([u[0] * (p[0] - p[1] * u[1]), u[1] * (p[2] * u[0] - p[3])]), np.array([1.0, 1.2]))


def _lorenz(x):
    roll = _np().roll
    return _rk4(50, lambda u: (roll(u, -1) - roll(u, 2)) * roll(u, 1) - u + 8, x)


add('Lotka-Volterra', LOTKA + 'sum(u^2)', {'p_': (4,)}, jax=lambda p: _np().sum(_lotka(p) ** 2))
add('J Lotka-Volterra', LOTKA + 'u', {'p_': (4,)}, op='jacobian', jax=_lotka)
add('H Lotka-Volterra', LOTKA + 'sum(u^2)', {'p_': (4,)}, op='hessian', jax=lambda p: _np().sum(_lotka(p) ** 2))
for n in (5, 40):
    add(f'Lorenz of 1996, {n}', LORENZ + 'sum(u^2)', {'x': (n,)}, jax=lambda x: _np().sum(_lorenz(x) ** 2))
    add(f'J Lorenz of 1996, {n}', LORENZ + 'u', {'x': (n,)}, op='jacobian', jax=_lorenz)
    add(f'H Lorenz of 1996, {n}', LORENZ + 'sum(u^2)', {'x': (n,)}, op='hessian', jax=lambda x: _np().sum(_lorenz(x) ** 2))
for n in (10, 60):
    add(f'linear equation {n}', f'u = x; for i in range(100) {{ u = u + 0.01*(a @ u)/{n} }}; sum(u^2)', {'a': (n, n), 'x': (n,)},
        jax=lambda a, x, n=n: _np().sum(_loop(100, lambda u: u + 0.01 * (a @ u) / n, x) ** 2))
    add(f'neural equation {n}', 'u = x; for i in range(50) { u = u + 0.02*tanh(a @ u) }; sum(u^2)', {'a': (n, n), 'x': (n,)},
        jax=lambda a, x: _np().sum(_loop(50, lambda u: u + 0.02 * _np().tanh(a @ u), x) ** 2))
    add(f'J neural equation {n}', 'u = x; for i in range(50) { u = u + 0.02*tanh(a @ u) }; u', {'x': (n,), 'a': (n, n)}, op='jacobian',
        jax=lambda x, a: _loop(50, lambda u: u + 0.02 * _np().tanh(a @ u), x))


def _bodies(x):
    np = _np()

    def step(q):
        s, v = q
        d = s[:, None, :] - s
        v = v - 0.01 * np.sum(d / ((np.sum(d ** 2, axis=-1) + 0.1) ** 1.5)[:, :, None], axis=1)
        return s + 0.01 * v, v
    return np.sum(_loop(50, step, (x, 0 * x))[0] ** 2)


add('ten bodies', 's = x; v = 0*x; for i in range(50) { d = s[:, newaxis, :] - s; r = sum(d^2, axis=-1) + 0.1; v = v - 0.01*sum(d/(r^1.5)[:, :, newaxis], axis=1); s = s + 0.01*v }; sum(s^2)',
    {'x': (10, 3)}, jax=_bodies)

# Series of numbers.
GARCH = 'h = 1; l = 0; for r in y { h = 0.1*p_[0] + 0.1*p_[1]*r^2 + 0.6*p_[2]*h; l = l + log(h) + r^2/h }; l'


def _garch(p, y):
    def step(s, r):
        h = 0.1 * p[0] + 0.1 * p[1] * r ** 2 + 0.6 * p[2] * s[0]
        return h, s[1] + _np().log(h) + r ** 2 / h
    return _scan(step, (1., 0.), y)[1]


def _arma(p, y):
    def step(s, r):
        e = r - 0.5 * p[0] * s[1] - 0.3 * p[1] * s[0]
        return e, r, s[2] + e ** 2
    return _scan(step, (0., 0., 0.), y)[2]


def _heston(p, y, z):
    np = _np()

    def step(q, r):
        v = np.abs(q[1] + 0.02 * (0.04 * p[1] - q[1]) + 0.1 * np.sqrt(q[1]) * 0.14 * r[0])
        return q[0] * np.exp(-0.5 * v * 0.02 + np.sqrt(v * 0.02) * r[1]), v
    return np.mean(np.maximum(_scan(step, (np.ones(1000), 0.04 * p[0] * np.ones(1000)), (y, z))[0] - 1, 0))


add('GARCH 1000', GARCH, {'p_': (3,), 'y': (1000,)}, jax=_garch)
add('H GARCH 300', GARCH, {'p_': (3,), 'y': (300,)}, op='hessian', jax=_garch)
add('ARMA 500', 'e = 0; q = 0; l = 0; for r in y { e = r - 0.5*p_[0]*q - 0.3*p_[1]*e; q = r; l = l + e^2 }; l', {'p_': (2,), 'y': (500,)}, jax=_arma)
add('continued fraction 300', 'c = 0; for i in range(300) { c = 1/(2 + x[0]^2 + c) }; c', {'x': (1,)}, jax=lambda x: _loop(300, lambda c: 1 / (2 + x[0] ** 2 + c), 0.))
add('filter 500', 's = 0; for r in y { s = 0.9*s + p_[0]*r + 0.1*sin(s) }; s^2', {'p_': (1,), 'y': (500,)}, jax=lambda p, y: _scan(lambda s, r: 0.9 * s + p[0] * r + 0.1 * _np().sin(s), 0., y) ** 2)
add('Heston 1000 paths', 's = ones(1000); v = 0.04*p_[0]*ones(1000); for i in range(50) { v = abs(v + 0.02*(0.04*p_[1] - v) + 0.1*sqrt(v)*0.14*y[i]); '
    's = s*exp(-0.5*v*0.02 + sqrt(v*0.02)*z[i]) }; mean(maximum(s - 1, 0))', {'p_': (2,), 'y': (50, 1000), 'z': (50, 1000)}, jax=_heston)
add('binomial tree 100', 's = x[0]*1.02^(2*arange(101) - 100); v = maximum(s - 1, 0); for i in range(100) { v = concatenate([0.99*(0.5*v[1:] + 0.5*v[:-1]), [0.0]]) }; v[0]', {'x': (1,)},
    jax=lambda x: _loop(100, lambda v: _np().concatenate([0.99 * (0.5 * v[1:] + 0.5 * v[:-1]), _np().zeros(1)]), _np().maximum(x[0] * 1.02 ** (2 * _np().arange(101.) - 100) - 1, 0))[0])

# Regressions.
for m, n in [(50, 10), (1000, 30)]:
    add(f'softmax regression {m}x{n}', '-mean(sum(log_softmax(x @ w + b, axis=1)*y, axis=1)) + 0.01*sum(w^2)', {'w': (n, 5), 'b': (5,), 'x': (m, n), 'y': (m, 5)}, wrt=['w', 'b'])
    add(f'Student regression {m}x{n}', 'r = (y - x @ w)/exp(s[0]); mean(0.5*5*log1p(r^2/4)) + s[0]', {'w': (n,), 's': (1,), 'x': (m, n), 'y': (m,)}, wrt=['w', 's'])
    add(f'negative binomial {m}x{n}', 'm = exp(x @ w/10); r = r_[0]; -mean(lgamma(k + r) - lgamma(r) + r*log(r/(r + m)) + k*log(m/(r + m)))', {'w': (n,), 'r_': (1,), 'x': (m, n), 'k': (m,)},
        wrt=['w', 'r_'])
    add(f'beta regression {m}x{n}', 'm = sigmoid(x @ w/10); a = m*5; c = (1 - m)*5; -mean((a - 1)*log(q_/2) + (c - 1)*log(1 - q_/2) - lgamma(a) - lgamma(c))',
        {'w': (n,), 'x': (m, n), 'q_': (m,)})
    add(f'Cox {m}x{n}', 'e = x @ w/10; -sum(e - log(cumsum(exp(e))))', {'w': (n,), 'x': (m, n)})
    add(f'quantiles {m}x{n}', 'r = y - x @ w; mean(maximum(0.3*r, -0.7*r))', {'w': (n,), 'x': (m, n), 'y': (m,)})
    add(f'factors {m}x{n}', 'sum((y - u @ v.T)^2) + 0.1*(sum(u^2) + sum(v^2))', {'u': (m, 5), 'v': (n, 5), 'y': (m, n)}, wrt=['u', 'v'])
    add(f'masked factors {m}x{n}', 'sum(where(y > 0, (y - u @ v.T)^2, 0))', {'u': (m, 5), 'v': (n, 5), 'y': (m, n)}, wrt=['u', 'v'])
    add(f'H logistic regression {m}x{n}', 'mean(softplus(-y*(x @ w))) + 0.01*sum(w^2)', {'w': (n,), 'x': (m, n), 'y': (m,)}, op='hessian')
    add(f'H softmax regression {m}x{n}', '-mean(sum(log_softmax(x @ w, axis=1)*y, axis=1))', {'w': (n, 3), 'x': (m, n), 'y': (m, 3)}, op='hessian')
    add(f'J residuals {m}x{n}', 'y - tanh(x @ w)*exp(-(x @ w)^2)', {'w': (n,), 'x': (m, n), 'y': (m,)}, op='jacobian')
    add(f'J curve {m}', 'p_[0]*exp(-p_[1]*x) + p_[2]*sin(p_[3]*x)', {'p_': (4,), 'x': (m,)}, op='jacobian')
    add(f'H curve {m}', 'sum((y - p_[0]*exp(-p_[1]*x) - p_[2]*sin(p_[3]*x))^2)', {'p_': (4,), 'x': (m,), 'y': (m,)}, op='hessian')
add('radial bases 500x20', 'sum((y - exp(-(x[:, newaxis] - c)^2/s_^2) @ w)^2)', {'c': (20,), 's_': (20,), 'w': (20,), 'x': (500,), 'y': (500,)}, wrt=['c', 's_', 'w'])
add('Fourier series 500x10', 'sum((y - cos(outer(x, arange(10))) @ a - sin(outer(x, arange(10))) @ b)^2)', {'a': (10,), 'b': (10,), 'x': (500,), 'y': (500,)}, wrt=['a', 'b'])
add('Gaussian process of 3, 100', 'k_ = p_[0]^2*exp(-0.5*(x[:, newaxis] - x)^2/p_[1]^2) + p_[2]^2*eye(100); 0.5*sum(y*solve(k_, y)) + 0.5*slogdet(k_)[1]', {'p_': (3,), 'x': (100,), 'y': (100,)})
add('Mahalanobis 200x8', 'd = x - m; 0.5*sum(d*solve(s @ s.T + eye(8), d.T).T) + 100*slogdet(s @ s.T + eye(8))[1]', {'m': (8,), 's': (8, 8), 'x': (200, 8)}, wrt=['m', 's'])
add('divergence of normals 50', '0.5*(trace(solve(b @ b.T + eye(50), a @ a.T + eye(50))) - 50 + slogdet(b @ b.T + eye(50))[1] - slogdet(a @ a.T + eye(50))[1])', {'a': (50, 50), 'b': (50, 50)},
    wrt=['a', 'b'])

# Networks.
for c, n in [(3, 16), (8, 32)]:
    window = f'x[:, i:{n - 2} + i, j:{n - 2} + j]'
    add(f'convolution {c}x{n}x{n}', 'o = 0; for i in range(3) { for j in range(3) { o = o + einsum("oc,cyx->oyx", w[:, :, i, j], ' + window + ') } }; sum(relu(o)^2)', {'w': (4, c, 3, 3), 'x': (c, n, n)},
        wrt=['w', 'x'], jax=lambda w, x, n=n: _np().sum(_nn().relu(sum(_np().einsum('oc,cyx->oyx', w[:, :, i, j], x[:, i:n - 2 + i, j:n - 2 + j]) for i in range(3) for j in range(3))) ** 2))
add('greatest of windows 64x64', 'sum(max(reshape(x, (32, 2, 32, 2)), axis=(1, 3))^2)', {'x': (64, 64)})
add('means of windows 64x64', 'sum(mean(reshape(x, (32, 2, 32, 2)), axis=(1, 3))^2)', {'x': (64, 64)})
add('graph network 100', 'h = relu(a @ x @ w); h = relu(a @ h @ v); sum(h^2)', {'w': (16, 16), 'v': (16, 16), 'a': (100, 100), 'x': (100, 16)}, wrt=['w', 'v'])
add('transformer 32x32', 'm = x - mean(x, axis=-1, keepdims=true); z = m/sqrt(mean(m^2, axis=-1, keepdims=true) + 1e-5); h = x + softmax((z @ a) @ (z @ b).T/6, axis=-1) @ (z @ c); '
    'g = h + relu(h @ d) @ e; sum(g^2)', {'a': (32, 32), 'b': (32, 32), 'c': (32, 32), 'd': (32, 64), 'e': (64, 32), 'x': (32, 32)}, wrt=['a', 'b', 'c', 'd', 'e'])
add('sets 20x50x3', 'h = tanh(x @ a); z = mean(h, axis=1); sum(tanh(z @ b)^2)', {'a': (3, 16), 'b': (16, 4), 'x': (20, 50, 3)}, wrt=['a', 'b'])
add('triplets 200x16', 'mean(maximum(sum((x - y)^2, axis=1) - sum((x - z)^2, axis=1) + 1, 0))', {'x': (200, 16), 'y': (200, 16), 'z': (200, 16)}, wrt=['x', 'y', 'z'])
add('cosines 200x16', 'mean(sum(x*y, axis=1)/(sqrt(sum(x^2, axis=1))*sqrt(sum(y^2, axis=1))))', {'x': (200, 16), 'y': (200, 16)}, wrt=['x', 'y'])
add('covariances 200x16', 'c = (x - mean(x, axis=0)).T @ (x - mean(x, axis=0))/199; sum(c^2) - sum(diagonal(c)^2)', {'x': (200, 16)})


def _gru(w, u, x):
    np, n = _np(), u.shape[0]

    def step(h, r):
        z = _nn().sigmoid(r @ w[:, :n] + h @ u[:, :n])
        q = _nn().sigmoid(r @ w[:, n:2 * n] + h @ u[:, n:2 * n])
        return (1 - z) * h + z * np.tanh(r @ w[:, 2 * n:] + (q * h) @ u[:, 2 * n:])
    return np.sum(_scan(step, np.zeros(n), x) ** 2)


def _adam(x, a, y):
    np = _np()

    def step(s, i):
        g = a.T @ (a @ s[0] - y) / 30
        m, v = 0.9 * s[1] + 0.1 * g, 0.99 * s[2] + 0.01 * g ** 2
        return s[0] - 0.1 * m / (1 - 0.9 ** i) / (np.sqrt(v / (1 - 0.99 ** i)) + 1e-8), m, v
    return np.sum((a @ _scan(step, (x, 0 * x, 0 * x), np.arange(1., 51.))[0] - y) ** 2)


for n in (8, 32):
    add(f'gated recurrent units {n}', f'h = zeros({n}); for r in x {{ z = sigmoid(r @ w[:, :{n}] + h @ u[:, :{n}]); q = sigmoid(r @ w[:, {n}:{2 * n}] + h @ u[:, {n}:{2 * n}]); '
        f'h = (1 - z)*h + z*tanh(r @ w[:, {2 * n}:] + (q*h) @ u[:, {2 * n}:]) }}; sum(h^2)', {'w': (n, 3 * n), 'u': (n, 3 * n), 'x': (40, n)}, wrt=['w', 'u'], jax=_gru)
add('Adam 50', 'w = x; m = 0*x; v = 0*x; for i in range(1, 51) { g = a.T @ (a @ w - y)/30; m = 0.9*m + 0.1*g; v = 0.99*v + 0.01*g^2; '
    'w = w - 0.1*m/(1 - 0.9^i)/(sqrt(v/(1 - 0.99^i)) + 1e-8) }; sum((a @ w - y)^2)', {'x': (10,), 'a': (30, 10), 'y': (30,)}, jax=_adam)
add('fixed point 20', 'z = 0*x; for i in range(40) { z = tanh(0.3*(w @ z)/4 + x) }; sum(z^2)', {'w': (20, 20), 'x': (20,)}, wrt=['w', 'x'],
    jax=lambda w, x: _np().sum(_loop(40, lambda z: _np().tanh(0.3 * (w @ z) / 4 + x), 0 * x) ** 2))
add('PageRank 100', 'm = softmax(w, axis=0); r = ones(100)/100; for i in range(30) { r = 0.85*(m @ r) + 0.15/100 }; sum(r*y)', {'w': (100, 100), 'y': (100,)},
    jax=lambda w, y: _np().sum(_loop(30, lambda r: 0.85 * (_nn().softmax(w, axis=0) @ r) + 0.0015, _np().ones(100) / 100) * y))

# Paths through tables.
def _aligned(x, y):
    np = _np()
    d = (x[:, None] - y) ** 2
    return _scan(lambda r, e: -np.logaddexp(-r, -np.concatenate([np.array([1e3]), r[:-1]])) + e, np.cumsum(d[0]), d[1:])[29]


add('labels 50x20', 'a = x[0]; for i in range(1, 50) { a = logaddexp(a, concatenate([[-1e3], a[:-1]])) + x[i] }; a[19]', {'x': (50, 20)},
    jax=lambda x: _scan(lambda a, r: _np().logaddexp(a, _np().concatenate([_np().array([-1e3]), a[:-1]])) + r, x[0], x[1:])[19])
add('time warping 30', 'd = (x[:, newaxis] - y)^2; r = cumsum(d[0]); for i in range(1, 30) { r = -logaddexp(-r, -concatenate([[1e3], r[:-1]])) + d[i] }; r[29]', {'x': (30,), 'y': (30,)},
    wrt=['x', 'y'], jax=_aligned)
add('Viterbi 100x8', 's = x[0]; for i in range(1, 100) { s = max(s[:, newaxis] + t, axis=0) + x[i] }; max(s)', {'x': (100, 8), 't': (8, 8)}, wrt=['x', 't'],
    jax=lambda x, t: _np().max(_scan(lambda s, r: _np().max(s[:, None] + t, axis=0) + r, x[0], x[1:])))

# Geometry, and what else there is.
add('rotation 100', 'r = expm(x - x.T); sum((y @ r - z)^2)', {'x': (3, 3), 'y': (100, 3), 'z': (100, 3)})
add('quaternions 1000', 'q = x/sqrt(sum(x^2, axis=1, keepdims=true)); w = q[:, 0]; v = q[:, 1:]; t = 2*cross(v, y); sum((y + w[:, newaxis]*t + cross(v, t))^3)', {'x': (1000, 4), 'y': (1000, 3)})
add('arm of 6', 'a = cumsum(x); (sum(cos(a)) - 1)^2 + (sum(sin(a)) - 2)^2', {'x': (6,)})
add('H arm of 6', 'a = cumsum(x); (sum(cos(a)) - 1)^2 + (sum(sin(a)) - 2)^2', {'x': (6,)}, op='hessian')
add('Bézier curve 1000', 't = 10*sigmoid(x); u = t - floor(t); sum((1 - u)^3 + 3*u*(1 - u)^2*y[0] + 3*u^2*(1 - u)*y[1] + u^3*y[2])', {'x': (1000,), 'y': (3,)}, wrt=['x', 'y'])
add('interpolated 1000', 'sum(interp(p_, linspace(0, 2, 20), y)^2)', {'y': (20,), 'p_': (1000,)}, wrt=['y', 'p_'])
add('polynomial of 6, 1e4', 'sum(polyval(y, x)^2)', {'x': (10_000,), 'y': (6,)}, wrt=['x', 'y'])
add('product of 1000', 'prod(p_)', {'p_': (1000,)})
add('running product of 1000', 'sum(cumprod(1 + 0.01*x))', {'x': (1000,)})
add('least 100 of 1000', 'sum(sort(x)[:100])', {'x': (1000,)})
add('greatest 10 of 1000', 'sum(sort(abs(x))[-10:]^2)', {'x': (1000,)})
add('soft order 50', 'p = softmax(-abs(sort(x)[:, newaxis] - x)/0.1, axis=1); sum(p*y)', {'x': (50,), 'y': (50, 50)})
add('Kronecker 10', 'sum((kron(x, y) @ z)^2)', {'x': (10, 10), 'y': (10, 10), 'z': (100,)}, wrt=['x', 'y'])
add('logarithm by Cholesky 20', 'sum(log(diagonal(cholesky(x @ x.T + 20*eye(20)))))', {'x': (20, 20)}, jax=lambda x: _np().sum(_np().log(_np().diagonal(_linalg().cholesky(x @ x.T + 20 * _np().eye(20))))))
add('solve a triangle 100', 'sum(solve(tril(x)/10 + 2*eye(100), y)^2)', {'x': (100, 100), 'y': (100,)})
add('nuclear norm 20', 'sum(svdvals(x @ y))', {'x': (20, 20), 'y': (20, 20)}, wrt=['x', 'y'], jax=lambda x, y: _np().sum(_linalg().svd(x @ y, compute_uv=False)))
add('quadratic program 100', 'sum(x*(a @ x)) + 10*sum(maximum(b @ x - 1, 0)^2) + 10*(sum(x) - 1)^2', {'x': (100,), 'a': (100, 100), 'b': (50, 100)})
add('H quadratic program 50', 'sum(x*(a @ x)) + 10*sum(maximum(b @ x - 1, 0)^2) + 10*(sum(x) - 1)^2', {'x': (50,), 'a': (50, 50), 'b': (30, 50)}, op='hessian')
add('H least squares 30', 'mean((x @ w - y)^2)', {'w': (30,), 'x': (200, 30), 'y': (200,)}, op='hessian')
add('H Himmelblau', '(x[0]^2 + x[1] - 11)^2 + (x[0] + x[1]^2 - 7)^2', {'x': (2,)}, op='hessian')
add('J polar', '[x[0]*cos(x[1]), x[0]*sin(x[1])]', {'x': (2,)}, op='jacobian', jax=lambda x: _np().stack([x[0] * _np().cos(x[1]), x[0] * _np().sin(x[1])]))
add('J autoencoder 50', 'sigmoid(w.T @ tanh(w @ x))', {'x': (50,), 'w': (20, 50)}, op='jacobian')
add('J convolution 200', 'x[2:]*y[0] + x[1:-1]*y[1] + x[:-2]*y[2]', {'x': (200,), 'y': (3,)}, op='jacobian')
add('J softmax 100', 'softmax(x)', {'x': (100,)}, op='jacobian')
add('J product 20', 'x @ y', {'x': (20, 20), 'y': (20, 20)}, op='jacobian')
add('J inverse 8', 'inv(x + 10*eye(8))', {'x': (8, 8)}, op='jacobian')
add('J cumsum 200', 'cumsum(x^2)', {'x': (200,)}, op='jacobian')
add('B polar 1000', 'stack([x[:, 0]*cos(x[:, 1]), x[:, 0]*sin(x[:, 1])], axis=1)', {'x': (1000, 2)}, op='batch_jacobian', jax=lambda r: _np().stack([r[0] * _np().cos(r[1]), r[0] * _np().sin(r[1])]))
add('B spherical 1000', 'stack([x[:, 0]*sin(x[:, 1])*cos(x[:, 2]), x[:, 0]*sin(x[:, 1])*sin(x[:, 2]), x[:, 0]*cos(x[:, 1])], axis=1)', {'x': (1000, 3)}, op='batch_jacobian',
    jax=lambda r: _np().stack([r[0] * _np().sin(r[1]) * _np().cos(r[2]), r[0] * _np().sin(r[1]) * _np().sin(r[2]), r[0] * _np().cos(r[1])]))
add('B three layers 256x16', 'tanh(tanh(tanh(x @ a) @ b) @ c)', {'x': (256, 16), 'a': (16, 32), 'b': (32, 32), 'c': (32, 8)}, op='batch_jacobian',
    jax=lambda r, a, b, c: _np().tanh(_np().tanh(_np().tanh(r @ a) @ b) @ c))
add('B rectified layers 256x16', 'relu(relu(x @ a) @ b) @ c', {'x': (256, 16), 'a': (16, 32), 'b': (32, 32), 'c': (32, 8)}, op='batch_jacobian',
    jax=lambda r, a, b, c: _nn().relu(_nn().relu(r @ a) @ b) @ c)
