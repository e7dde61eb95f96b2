"""Writes ../table_trig.go: reduction constants, tables of exact points and polynomials of the trigonometric
and special functions. Prints the error of every fit.

Run: python3 trig.py && gofmt -w ../table_trig.go   (needs mpmath)
"""
from mpmath import (mp, mpf, pi, sin, cos, tan, atan, asin, erf, erfc, erfinv, exp, log, sqrt, gamma, loggamma,
                    digamma, findroot, chebyt, bernoulli, factorial, taylor, floor, matrix, lu_solve, log1p, polygamma)
import random
mp.prec = 400
out = []


def fl(x): return mpf(float(x))


def hexf(x):
    x = float(x)
    return '0' if x == 0 else x.hex()


def trunc(x, bits):
    """The leading bits of x."""
    m, e = mp.frexp(x)
    return mp.ldexp(floor(m * 2**bits), e - bits)


def array(name, doc, values, typ='float64', cols=4, dims=''):
    out.append(f'// {name} {doc}')
    out.append(f'var {name} = [...]{dims}{typ}{{')
    if dims:
        for row in values:
            out.append('\t{' + ', '.join(hexf(v) for v in row) + '},')
    else:
        for i in range(0, len(values), cols):
            out.append('\t' + ', '.join(hexf(v) if typ == 'float64' else f'0x{v:016x}' for v in values[i:i + cols]) + ',')
    out.append('}\n')


def const(name, value, doc=''):
    out.append(f'const {name} = {hexf(value)}' + (f' // {doc}' if doc else ''))


def fit(f, lo, hi, n, name='', scale=None):
    """n coefficients, constant first, interpolating f at Chebyshev points of [lo, hi]; prints max error."""
    lo, hi = mpf(lo), mpf(hi)
    unit = max(abs(lo), abs(hi))  # keeps the matrix regular
    xs = [((lo + hi) / 2 + (hi - lo) / 2 * cos(pi * (2 * i + 1) / (2 * n))) / unit for i in range(n)]
    a = matrix(n, n)
    b = matrix(n, 1)
    for i, x in enumerate(xs):
        for j in range(n):
            a[i, j] = x**j
        b[i] = f(x * unit)
    c = lu_solve(a, b)
    c = [c[i] / unit**i for i in range(n)]
    if name:
        err = 0
        for i in range(41):
            x = lo + (hi - lo) * i / 40
            if abs(x) < mpf('1e-50'): continue
            p = sum(k * x**j for j, k in enumerate(c))
            e = abs(p - f(x)) * (scale(x) if scale else 1)
            err = max(err, e)
        print(f'{name}: 2^{float(log(err + mpf(2)**-300, 2)):.1f}')
    return c


# --- sin, cos, tan: multiples of pi/16 ---
p1 = fl(pi / 16)
p2 = trunc(pi / 16 - p1, 30)
p3 = pi / 16 - p1 - p2
out.append('// pi/16 in three parts: n times the second is exact up to n = 2^22.')
const('pio16a', p1)
const('pio16b', p2)
const('pio16c', p3)
const('inv16pi', 16 / pi, '16/pi')
out.append('')
S = [sin(pi * j / 16) for j in range(16)]
C = [cos(pi * j / 16) for j in range(16)]
S[0] = mpf(0)
C[8] = mpf(0)
array('sinHi', 'and sinLo are sin(j pi/16) in two parts, cosHi and cosLo the cosine.', S)
array('sinLo', 'is the rest of sinHi.', [v - fl(v) for v in S])
array('cosHi', 'is cos(j pi/16).', C)
array('cosLo', 'is the rest of cosHi.', [v - fl(v) for v in C])
R = pi / 32 * mpf('1.0001')
array('sinPoly', 'is (sin r - r)/r^3 in r^2, |r| <= pi/32.',
      fit(lambda z: (sin(sqrt(z)) - sqrt(z)) / (z * sqrt(z)), '1e-20', R * R, 4, 'sin', lambda z: z))
array('cosPoly', 'is (cos r - 1)/r^2 in r^2, |r| <= pi/32.',
      fit(lambda z: (cos(sqrt(z)) - 1) / z, '1e-20', R * R, 4, 'cos', lambda z: z))
array('tanPoly', 'is (tan r - r)/r^3 in r^2, |r| <= pi/32.',
      fit(lambda z: (tan(sqrt(z)) - sqrt(z)) / (z * sqrt(z)), '1e-20', R * R, 5, 'tan', lambda z: z))
mp.prec = 1600
w = int(floor(1 / (2 * pi) * mpf(2)**1408))
array('inv2pi', 'is 1/(2 pi) as a binary fraction, after one word of zeros.',
      [0] + [(w >> (1408 - 64 * (i + 1))) & (2**64 - 1) for i in range(22)], 'uint64')
mp.prec = 400
out.append('// 2 pi, pi and pi/2 in two parts.')
for n, v in (('twoPi', 2 * pi), ('onePi', pi), ('halfPi', pi / 2)):
    const(n + 'Hi', v)
    const(n + 'Lo', v - fl(v))
out.append('')

# --- atan, asin ---
A = [mpf(0), atan(mpf(1) / 2), pi / 4, atan(mpf(3) / 2), pi / 2]
array('atanHi', 'is atan of 0, 1/2, 1, 3/2 and infinity.', A, cols=5)
array('atanLo', 'is the rest of atanHi.', [v - fl(v) for v in A], cols=5)
R = mpf('0.4376')
array('atanPoly', 'is (atan u - u)/u^3 in u^2, |u| <= 7/16.',
      fit(lambda z: (atan(sqrt(z)) - sqrt(z)) / (z * sqrt(z)), '1e-20', R * R, 12, 'atan', lambda z: z))
array('asinPoly', 'is (asin u - u)/u^3 in u^2, |u| <= 1/2.',
      fit(lambda z: (asin(sqrt(z)) - sqrt(z)) / (z * sqrt(z)), '1e-20', mpf('0.2501'), 14, 'asin', lambda z: z))


# --- erf on [0, 6): 16 intervals of 3/8 ---
def nearly_exact(f, c):
    """A point near c where f is almost a float64, so that its rest can be dropped."""
    rnd = random.Random(int(c * 1000))
    best = None
    for _ in range(4000):
        x = fl(c + mpf(rnd.uniform(-1e-3, 1e-3)))
        v = f(x)
        r = abs(v - fl(v)) / v
        if best is None or r < best[0]: best = (r, x)
    return best[1]


W = mpf(3) / 8
NE = 13
rows = []
mp.prec = 200
cs, ts = [mpf(0)], [mpf(0)]
for j in range(1, 16):
    c = nearly_exact(erf, W * j + W / 2)
    cs.append(c)
    ts.append(fl(erf(c)))
H = W / 2 + mpf('1.1e-3')
for j in range(16):
    c = cs[j]
    if j == 0:
        k = fit(lambda x: (erf(x) - x) / x, 0, W, NE, f'erf{j}')
    else:
        k = fit(lambda d: (erf(c + d) - erf(c)) / d if abs(d) > mpf('1e-25') else 2 / sqrt(pi) * exp(-c * c), -H, H, NE, f'erf{j}', lambda d: abs(d))
    rows.append(k)
mp.prec = 400
array('erfPoint', 'is a point near 3/8 (j + 1/2) (0 for j = 0) whose erf is almost a float64; erfAt is that value.', cs)
array('erfAt', 'is erf of erfPoint.', ts)
array('erfPoly', 'has in row j the coefficients of d^i of (erf(c+d) - erf c)/d, c = erfPoint[j]; for j = 0\n// of (erf d - d)/d.', rows, dims='[13]')

# --- erfc: erf below 1/2, and erfcx on [1/2, 32) times exp(-x^2) ---
array('erfNear', 'is (erf x - x)/x in x^2, |x| <= 1/2.', fit(lambda z: erf(sqrt(z)) / sqrt(z) - 1, '1e-40', mpf(1) / 4, 10, 'erf near', lambda z: 1))
NX = 16
erfcx = lambda x: exp(x * x) * erfc(x)
rows = [[mpf(0)] * (NX + 3) for _ in range(16)]
for b in range(-1, 5):
    for i in range(2):
        lo = mpf(2)**b * (1 + mpf(i) / 2)
        hi = mpf(2)**b * (1 + mpf(i + 1) / 2)
        # A point near the middle where erfcx and its slope are almost float64s.
        rnd = random.Random(f'{b} {i}')
        mp.prec = 120
        while True:
            c = fl((lo + hi) / 2 * mpf(1 + rnd.uniform(-0.005, 0.005)))
            t = erfcx(c)
            if abs(t - fl(t)) > t * mpf(2)**-61: continue
            u = 2 * c * t - 2 / sqrt(pi)
            if abs(u - fl(u)) < abs(u) * mpf(2)**-61: break
        mp.prec = 400
        t, u = erfcx(c), fl(u)
        k = fit(lambda d: ((erfcx(c + d) - t) / d - u) / d, lo - c, hi - c, NX, f'erfcx{b},{i}', lambda d: d * d / t)
        rows[(2 * (b + 1023) + i) & 15] = [c, fl(t), u] + k
array('erfcxTable', 'has a row for each half of a binade from 1/2 to 32, numbered by the bits 51 to 54 of x: a point c\n// where erfcx and its slope are almost float64s, these two, and the coefficients of d^i of the rest of erfcx(c+d) over d^2.', rows, dims=f'[{NX + 3}]')
E = [mpf(2)**(mpf(j) / 16) for j in range(16)]
array('gaussHi', 'is 2^(j/16).', E)
array('gaussLo', 'is the rest of gaussHi.', [v - fl(v) for v in E])
l1 = trunc(log(mpf(2)) / 16, 34)
const('gaussLn2Hi', l1, 'log(2)/16: 2^15 times it is exact')
const('gaussLn2Lo', log(mpf(2)) / 16 - l1)
const('gaussInv', 16 / log(mpf(2)))
R = log(mpf(2)) / 32 * mpf('1.001')
array('gaussPoly', 'is (exp r - 1 - r)/r^2, |r| <= log(2)/32.',
      fit(lambda r: (exp(r) - 1 - r) / r**2 if abs(r) > mpf('1e-40') else mpf(1) / 2, -R, R, 6, 'gauss', lambda r: r * r))

# --- gamma and its family about integers: x = n + f, |f| <= 1/2, nine intervals j/8 of f ---
H = mpf(1) / 16


def family(name, doc, f, n, more=0):
    rows = []
    for i in range(9 * (more + 1)):
        j = i % 9 - 4
        c = i // 9 + mpf(j) / 8
        t = f(c)
        k = fit(lambda d: (f(c + d) - t) / d, -H, H, n, f'{name}{j}' if j in (-4, 0, 4) and i < 9 else '', lambda d: abs(d))
        rows.append([t, t - fl(t)] + k)
    array(name, doc, rows, dims=f'[{n + 2}]')


tiny = mpf('1e-40')
family('gammaTable', 'is gamma(2+f) about f = j/8, -4 <= j <= 4: the value in two parts and the polynomial of the divided difference.', lambda f: gamma(2 + f), 12)
def lg1(f): return loggamma(1 + f) / f if abs(f) > tiny else -mp.euler
family('lgamma1Table', 'is lgamma(1+f)/f, in the same form.', lg1, 14)
family('digammaTable', 'is digamma(2+f).', lambda f: digamma(2 + f), 12)
family('trigammaTable', 'is trigamma(n+f), nine rows for each n from 2 to 9.', lambda f: polygamma(1, 2 + f), 12, 7)

array('stirling', 'is B(2k)/(2k(2k-1)), k = 1, 2, ...', [bernoulli(2 * k) / (2 * k * (2 * k - 1)) for k in range(1, 13)])
array('digammaSeries', 'is B(2k)/(2k).', [bernoulli(2 * k) / (2 * k) for k in range(1, 13)])
array('bernoulli', 'is B(2k).', [bernoulli(2 * k) for k in range(1, 13)])
array('zetaSeries', 'is B(2k)/(2k)!.', [bernoulli(2 * k) / factorial(2 * k) for k in range(1, 16)])
v = log(2 * pi) / 2
const('halfLog2PiHi', v)
const('halfLog2PiLo', v - fl(v))
v = log(pi)
const('logPiHi', v)
const('logPiLo', v - fl(v))
v = 2 / sqrt(pi)
const('twoOverSqrtPiHi', v)
const('twoOverSqrtPiLo', v - fl(v))
v = 1 / sqrt(2 * pi)
const('rootHi', v, '1/sqrt(2 pi)')
const('rootLo', v - fl(v))
v = 1 / sqrt(mpf(2))
const('sqrtHalfHi', v)
const('sqrtHalfLo', v - fl(v))
out.append('')

# zeros of lgamma between -18 and -2: two in every unit interval
lg = lambda x: log(abs(gamma(x)))
mp.prec = 1000
far, near = [], []
for n in range(2, 18):
    for lo, hi, m in ((mpf(-n) - mpf(1) / 2, mpf(-n), -n), (mpf(-n - 1), mpf(-n) - mpf(1) / 2, -n - 1)):
        # the zero near integer m, at m + D
        k = abs(m)
        s = -1 if m == -n else 1
        if n == 2:
            z = findroot(lg, mpf('-2.457') if m == -2 else mpf('-2.7477'))
        else:
            D = s / factorial(k)
            z = m + D
            # sign decides whether there is a zero: |gamma| = 1 on both sides of a pole for these intervals
            for _ in range(200):  # Newton in log distance: log|gamma(m+D)| + log|D| is smooth
                g = lg(m + D) + log(abs(D))
                D = s * exp(g)
            z = m + D
        if not lo <= z <= hi or abs(lg(z)) > mpf(10)**-150:
            print('no zero', n, m, float(z), float(abs(lg(z)))); continue
        D = z - m
        if abs(D) > mpf('0.03'):
            r = min(abs(D), 1 - abs(D)) / 6
            k = fit(lambda d: lg(z + d) / d if abs(d) > tiny else digamma(z), -r, r, 18, f'lgzero {float(z):.4f}', lambda d: 1 / abs(lg(z+d)/d) if abs(d) > tiny else 1 )
            far.append([z, z - fl(z), r] + k)
        else:
            r = abs(D) / 4
            h = lambda d: (lg(z + d) + log1p(d / D)) / d
            k = fit(h, -r, r, 8, f'lgzero* {float(z):.4f}', lambda d: abs(d/log1p(d/D)) if abs(d) > mpf('1e-60') else 1)
            near.append([z, z - fl(z), D] + k)
array('lgammaZeros', 'are the zeros of lgamma far from a pole: zero in two parts, radius, and the polynomial of\n// lgamma(z+d)/d.', far, dims='[21]')
array('lgammaPoleZeros', 'are the zeros close to a pole: zero in two parts, distance D from the pole, and the polynomial of\n// (lgamma(z+d) + log1p(d/D))/d, |d| <= |D|/4.', near, dims='[11]')
rows = []
mp.prec = 400
for n in range(1, 19):
    lo, hi = mpf(-n) + mpf('1e-3'), mpf(-n + 1) - mpf('1e-3')
    for _ in range(40):
        z = (lo + hi) / 2
        lo, hi = (z, hi) if digamma(z) < 0 else (lo, z)
    for _ in range(8): z -= digamma(z) / polygamma(1, z)
    r = mpf(1) / 32
    k = fit(lambda d: digamma(z + d) / d if abs(d) > tiny else polygamma(1, z), -r, r, 14, f'psizero {float(z):.4f}', lambda d: 1/polygamma(1, z))
    rows.append([z, z - fl(z)] + k)
array('digammaZeros', 'are the zeros of digamma below 0, one in every unit interval: zero in two parts and\n// the polynomial of digamma(z+d)/d, |d| <= 1/32.', rows, dims='[16]')

# --- erfinv and the quantile of the normal distribution ---
mp.prec = 250


def erfcinv_at(w):  # where erfc is exp(-w^2)
    y = w
    for _ in range(100):
        e = erfc(y)
        d = (log(e) + w * w) * e * sqrt(pi) / 2 * exp(y * y)
        y += d
        if abs(d) < mpf(2)**-240 * y: break
    return y


def slopes_at(w):  # of erfcinv_at, and of its slope
    y = erfcinv_at(w)
    r = sqrt(pi) / 2 * exp(y * y) * erfc(y)  # dy/dt = r, t = w^2
    drdt = 2 * y * r * r - r
    return 2 * w * r, r, 2 * w * drdt


def erfinv_row(g, dgdt, dudw, n, lo, hi):
    """Of g(w) for w in [lo, hi]: a point c where g and its slope are almost float64s, these two,
    dg/dt, t = w^2, and what that grows by, and then (g(c+d) - g(c) - slope d)/d^2."""
    rnd = random.Random(int(lo * 1000))
    best = None
    for _ in range(500):
        x = fl((lo + hi) / 2 + mpf(rnd.uniform(-1e-3, 1e-3)))
        v, slope = g(x), 2 * x * dgdt(x)
        r = abs(v - fl(v)) / abs(v) + (hi - lo) / 2 * abs(slope - fl(slope)) / abs(v)
        if best is None or r < best[0]: best = (r, x)
    c = best[1]
    u = dgdt(c)
    slope = 2 * c * u
    p = fit(lambda d: (g(c + d) - g(c) - slope * d) / d**2 if d != 0 else mpf(0), lo - c, hi - c, n,
            f'inverse at {float(lo)}', lambda d: d * d / abs(g(c + d)))
    return [c, g(c), slope, u, dudw(c)] + p


def erfinv_rows(g, dgdt, dudw, n):
    rows = [[mpf(0)] * (5 + n)] * 16
    for j in range(11):  # two in each octave, w from sqrt(log(2)) on
        lo = mpf(2)**(j // 2) * (mpf(3) / 4 if j % 2 == 0 else 1)
        hi = lo * 4 / 3 if j % 2 == 0 else lo * 3 / 2
        rows[(13 + j) % 16] = erfinv_row(g, dgdt, dudw, n, max(lo, mpf('0.8325')), min(hi, mpf('27.5')))
    return rows


def erfinv_near(f, name):  # of f(a) in a^2, |a| <= 1/2; the first number in two parts
    p = fit(lambda z: f(sqrt(z)), '1e-40', '0.2501', 16, name)
    head = [p[0], p[0] - fl(p[0])]
    return head + p[1:]


def erfinv_slope(a): y = erfinv(a); return sqrt(pi) / 2 * exp(y * y)


def curve(w):  # sqrt(pi)/2 erfcx(y), and its derivative by t
    y = erfcinv_at(w)
    r = sqrt(pi) / 2 * exp(y * y) * erfc(y)
    return r, 2 * y * r * r - r


def curve2(w):  # the derivative by w of that
    h = mpf(2)**-60
    return (curve(w + h)[1] - curve(w - h)[1]) / (2 * h)


root2 = sqrt(mpf(2))
array('erfinvNear', 'is erfinv(a)/a in a^2, |a| <= 1/2; the first number in two parts.', erfinv_near(lambda a: erfinv(a) / a, 'erfinv near'))
array('quantileNear', 'is sqrt(2) of that.', erfinv_near(lambda a: root2 * erfinv(a) / a, 'quantile near'))
array('erfinvSlopeNear', 'is the derivative of erfinv in a^2; the first number in two parts.', erfinv_near(erfinv_slope, 'slope near'))
for name, doc, n, g, dgdt, dudw in (
        ('erfinvFar', 'has a row for each half of an octave of w >= sqrt(log(2)), found by the bits of w: of y where erfc(y) = exp(-w^2).', 15,
         erfcinv_at, lambda w: slopes_at(w)[1], lambda w: slopes_at(w)[2]),
        ('quantileFar', 'is sqrt(2) of that.', 15,
         lambda w: root2 * erfcinv_at(w), lambda w: root2 * slopes_at(w)[1], lambda w: root2 * slopes_at(w)[2]),
        ('erfinvSlopeFar', 'is that of sqrt(pi)/2 exp(y^2) erfc(y).', 17, lambda w: curve(w)[0], lambda w: curve(w)[1], curve2)):
    array(name, doc, erfinv_rows(g, dgdt, dudw, n), dims=f'[{5 + n}]')

# --- lgamma and digamma of 1/2 <= x < 8, without their zeros: a row for each quarter of an octave, found by the bits of x ---
def quarters(name, doc, f, n):
    rows = [None] * 16
    for octave in range(-1, 3):
        for i in range(4):
            lo = mpf(2)**octave * (1 + mpf(i) / 4)
            h = mpf(2)**octave / 8
            c = lo + h
            t = f(c)
            k = fit(lambda d: (f(c + d) - t) / d, -h, h, n, f'{name} {float(c)}' if i == 0 else '', lambda d: abs(d) / t)
            rows[(4 * octave + i + 12) % 16] = [c, t, t - fl(t)] + k
    array(name, doc, rows, dims=f'[{n + 3}]')


beside = mpf(2)**-150  # of where the quotients are limits
psi0 = findroot(digamma, mpf('1.4616'))
quarters('lgammaQuarters', 'is lgamma(x)/((x-1)(x-2)), a row for each quarter of an octave from 1/2 to 8, found by the bits of x: the middle,\n// the value there in two parts, and the polynomial of the divided difference.',
         lambda x: loggamma(x + beside) / ((x + beside - 1) * (x + beside - 2)), 14)
quarters('digammaQuarters', 'is digamma(x)/(x-z) in the same form, z being its zero.', lambda x: digamma(x) / (x - psi0), 14)
const('digammaZero', psi0, 'that zero')
const('digammaZeroLo', psi0 - fl(psi0))
out.append('')

with open('../table_trig.go', 'w') as f:
    f.write('// Code generated by _table/trig.py. DO NOT EDIT.\n\npackage kernels\n\n')
    f.write('\n'.join(out))
