"""Writes reference values of the incomplete gamma and beta functions and their derivatives to ../testdata/NAME.ulp, in the form of
oracle.py. Values are sums of power series in as many digits as cancel, derivatives by a parameter are quadratures to
40 digits; both are held to mpmath's gammainc and betainc, and to their derivatives by differences. Needs mpmath.

Run: python3 incomplete_oracle.py [rows] [seed] [folder] [name ...]
"""
import math, random, struct, sys
from mpmath import mp, mpf
import mpmath as m

rows = int(sys.argv[1]) if len(sys.argv) > 1 else 600
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
folder = sys.argv[3] if len(sys.argv) > 3 else "../testdata"
only = sys.argv[4:]
rnd = random.Random(seed)
bits = lambda x: struct.unpack("<Q", struct.pack("<d", x))[0]
power = lambda lo, hi: 10 ** rnd.uniform(lo, hi)


def nodes():
    """The trapezoidal rule for s = exp(t - exp(-t))."""
    step = mpf(1) / 24
    pairs = []
    for k in range(-110, 115):
        t = k * step
        s = m.exp(t - m.exp(-t))
        if s < 110:
            pairs.append((s, s * (1 + m.exp(-t)) * step))
    return pairs


mp.dps = 40
NODES = nodes()


def bell(n, first, rest):
    """The complete Bell polynomial B_n of first and rest[2], rest[3], …"""
    b = [mpf(1)]
    for k in range(1, n + 1):
        b.append(first * b[k - 1] + sum(m.binomial(k - 1, j - 1) * rest[j] * b[k - j] for j in range(2, k + 1)))
    return b[n]


def gamma_tail(n, a, x):
    """The n-th derivative by a of P(a,x), or less that of Q(a,x), and the integral of what it is of without a sign."""
    psi = m.digamma(a)
    rest = {k: -m.polygamma(k - 1, a) for k in range(2, n + 1)}
    upper = m.log(x) > psi
    if upper:
        c, k = (x - a + 1) / x, max(a - 1, 0) / x**2
        unit = 2 / (c + m.sqrt(c * c + 2 * k)) if a > 1 else mpf(1)
        f = lambda s: m.exp((a - 1) * m.log1p(s / x) - s)
        by = lambda s: m.log(x) - psi + m.log1p(s / x)
        factor = m.exp((a - 1) * m.log(x) - x - m.loggamma(a))
    else:
        c = a - x
        unit = 2 / (c + m.sqrt(c * c + 2 * x))
        f = lambda u: m.exp(-a * u - x * m.expm1(-u))
        by = lambda u: m.log(x) - psi - u
        factor = m.exp(a * m.log(x) - x - m.loggamma(a))
    total = size = mpf(0)
    for s, w in NODES:
        u = unit * s
        v = w * f(u) * bell(n, by(u), rest)
        total += v
        size += abs(v)
    return total * factor * unit, size * factor * unit, upper


def gamma_near(n, a, x):
    """The same for a < 1 and small x: derivatives of the power series term by term."""
    rest = {k: -m.polygamma(k - 1, a + 1) for k in range(2, n + 1)}
    total = size = mpf(0)
    for k in range(n + 1):
        v = sum((-x)**j / m.factorial(j) * ((a / (a + j) if j else 1) if k == 0 else -j * m.factorial(k) * (-1)**k / (a + j)**(k + 1)) for j in range(0 if k == 0 else 1, 80))
        v *= m.binomial(n, k) * bell(n - k, m.log(x) - m.digamma(a + 1), rest)
        total += v
        size += abs(v)
    factor = m.exp(a * m.log(x) - m.loggamma(a + 1))
    return total * factor, size * factor, False


def gammainc_derivative(n, a, x):
    n, a, x = int(n), mpf(a), mpf(x)
    with mp.workdps(40 + int(abs(m.log(a, 10)))):
        v, size, upper = gamma_near(n, a, x) if a < 1 and x < 1 else gamma_tail(n, a, x)
        return None if abs(v) < size / 8 else -v if upper else v  # near a zero


def gammainc_both(a, x):
    a, x = mpf(a), mpf(x)
    if max(a, x) > 20000:
        with mp.workdps(40 + int(abs(m.log(a, 10)))):
            v, _, upper = gamma_tail(0, a, x)
            return (1 - v, v) if upper else (v, 1 - v)
    digits = 60 + int(abs(m.log(max(a, 1e-300), 10)))
    if x > a:
        digits += int(min(5000, ((x - a) - a * m.log(x / a)) / 2.3))
    elif x < 1:
        digits += int(max(0, -m.log(a, 10))) + 5
    with mp.workdps(digits):
        p = m.exp(a * m.log(x) - x - m.loggamma(a + 1)) * m.hyp1f1(1, a + 1, x)
        return p, 1 - p


def density(n, a, x):
    with mp.workdps(60 + int(abs(m.log(a, 10)))):
        a, x = mpf(a), mpf(x)
        rest = {k: -m.polygamma(k - 1, a) for k in range(2, int(n) + 1)}
        return m.exp((a - 1) * m.log(x) - x - m.loggamma(a)) * bell(int(n), m.log(x) - m.digamma(a), rest)


# The derivatives of the incomplete beta function: how often by a, and by b.
BY = [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]
TURNED = [0, 2, 1, 5, 4, 3]


def beta_below(by, a, b, x, y):
    """The integral from 0 to x, and that of what it is of without a sign."""
    if a < 1:
        v, size = beta_below(by, a + 1, b, x, y)
        la, lb = m.log(x) - m.digamma(a + 1) + m.digamma(a + b), m.log(y) - m.digamma(b) + m.digamma(a + b)
        k = (0, 0, 0, m.polygamma(1, a + b) - m.polygamma(1, a + 1), m.polygamma(1, a + b), m.polygamma(1, a + b) - m.polygamma(1, b))[by]
        term = m.exp(a * m.log(x) + b * m.log(y) - m.loggamma(a + 1) - m.loggamma(b) + m.loggamma(a + b))
        term *= (1, la, lb, la * la + k, la * lb + k, lb * lb + k)[by]
        return v + term, size + abs(term)
    c = a * y - b * x
    unit = 2 * y / (c + x + m.sqrt((c + x)**2 + 2 * (b - 1) * x)) if b > 1 else 1 / a
    ra, rb = m.log(x) - m.digamma(a) + m.digamma(a + b), m.log(y) - m.digamma(b) + m.digamma(a + b)
    k = (0, 0, 0, m.polygamma(1, a + b) - m.polygamma(1, a), m.polygamma(1, a + b), m.polygamma(1, a + b) - m.polygamma(1, b))[by]
    total = size = mpf(0)
    for s, weight in NODES:
        w = s * unit
        q = -m.expm1(-w) * x / y
        la, lb = ra - w, rb + m.log1p(q)
        g = (1, la, lb, la * la + k, la * lb + k, lb * lb + k)[by]
        v = weight * m.exp(-a * w + (b - 1) * m.log1p(q)) * g
        total += v
        size += abs(v)
    factor = m.exp(a * m.log(x) + (b - 1) * m.log(y) - m.loggamma(a) - m.loggamma(b) + m.loggamma(a + b)) * unit
    return total * factor, size * factor


def beta_near(by, a, b, x, y):
    """For b < 1 and small y: 1 less a power series, of which derivatives are taken by mpmath."""
    def turned(a, b):
        c, s = mpf(1), mpf(1)
        for n in range(1, 90):
            c *= (n - a) * y / n
            s += c * b / (b + n)
        return s * m.exp(b * m.log(y) - m.loggamma(b + 1) - m.loggamma(a) + m.loggamma(a + b))
    with mp.workdps(2 * mp.dps + 20):
        if by == 0:
            v = 1 - turned(a, b)
        else:
            v = -m.diff(turned, (a, b), BY[by])
    return v, abs(v)


def betainc_by(by, a, b, x):
    by, a, b, x = int(by), mpf(a), mpf(b), mpf(x)
    with mp.workdps(50 + 2 * int(max(abs(m.log(a, 10)), abs(m.log(b, 10)), abs(m.log(x, 10))))):
        y = 1 - x
        sign = 1
        lower = a * y >= b * x
        if by in (1, 3):
            lower = m.log(x) <= m.digamma(a) - m.digamma(a + b)
        elif by in (2, 5):
            lower = m.log(y) >= m.digamma(b) - m.digamma(a + b)
        if not lower:
            a, b, x, y, by, sign = b, a, y, x, TURNED[by], -1
        if b < 1 and y * max(a, 1) < 0.1:
            v, size = beta_near(by, a, b, x, y)
        elif a < 1 and x * max(b, 1) < 0.1 and by:
            v, size = beta_near(TURNED[by], b, a, y, x)
            v = -v
        else:
            v, size = beta_below(by, a, b, x, y)
        if by == 0:
            return v if sign > 0 else 1 - v
        return None if abs(v) < size / 8 else sign * v


def beta_density(a, b, x):
    with mp.workdps(60 + int(max(abs(m.log(a, 10)), abs(m.log(b, 10))))):
        a, b, x = mpf(a), mpf(b), mpf(x)
        return m.exp((a - 1) * m.log(x) + (b - 1) * m.log(1 - x) - m.loggamma(a) - m.loggamma(b) + m.loggamma(a + b))


def beside(x):
    """x, or a number within some ulp of it or a little farther."""
    if rnd.random() < 0.3:
        for _ in range(rnd.randint(0, 3)):
            x = math.nextafter(x, rnd.choice((0.0, math.inf)))
        return x
    return x * (1 + math.ldexp(rnd.uniform(-1, 1), -rnd.randint(1, 40)))


def gamma_arguments():
    k = rnd.randint(0, 10)
    if k == 0:
        return rnd.uniform(0, 10), rnd.uniform(0, 12)
    if k == 1:
        return power(-2, 1), power(-2, 1)
    if k == 2:
        return power(-300, 0), power(-5, 2.5)
    if k == 3:
        a = power(0, 2.5)
        return a, a * math.exp(rnd.uniform(-2, 2))
    if k == 4:
        a = power(1, 4.2)
        return a, abs(a + rnd.uniform(-6, 6) * math.sqrt(a))
    if k == 5:
        a = power(4.3, 14)
        return a, abs(a + rnd.uniform(-20, 20) * math.sqrt(a))
    if k == 6:
        return rnd.uniform(0, 1), rnd.uniform(0, 1.2)
    if k == 7:
        return power(-1, 2), power(1, 2.8)
    if k == 8:
        return rnd.uniform(0, 8), power(-300, 0)
    if k == 9:  # where the ways change
        return rnd.choice((lambda: (beside(7), power(-1, 2)), lambda: (beside(25), rnd.uniform(10, 40)), lambda: (power(-3, 2), beside(1.1)), lambda: (power(-3, 0), beside(0.5)), lambda: (rnd.uniform(0, 1), beside(0.1))))()
    a = power(1.4, 3)
    return a, a * beside(rnd.choice((0.7, 1.0, 1.4, 0.5, 2.0)))


def gamma_orders():
    a, x = gamma_arguments()
    return float(rnd.choice((1, 1, 1, 2))), a, x


def beta_arguments():
    k = rnd.randint(0, 8)
    if k == 0:
        return rnd.uniform(0, 10), rnd.uniform(0, 10), rnd.random()
    if k == 1:
        return power(-2, 1.5), power(-2, 1.5), rnd.random()
    if k == 2:
        return power(-30, 3), power(-30, 3), rnd.random()
    if k == 3:
        return power(-2, 2), power(-2, 2), power(-12, 0)
    if k == 4:
        return power(-2, 2), power(-2, 2), 1 - power(-12, 0)
    if k == 5:  # near the mean
        a, b = power(0, 4), power(0, 4)
        s = a + b
        return a, b, min(1 - 1e-16, abs(a / s + rnd.uniform(-8, 8) * math.sqrt(a * b / s) / s))
    if k == 6:
        a, b = power(2, 12), power(2, 12)
        s = a + b
        return a, b, min(1 - 1e-16, abs(a / s + rnd.uniform(-20, 20) * math.sqrt(a * b / s) / s))
    if k == 7:  # like a gamma distribution
        a, b = power(-1, 2), power(2, 10)
        x = a / b * power(-1, 1)
        return (a, b, min(x, 0.999)) if rnd.random() < 0.5 else (b, a, max(0.001, 1 - x))
    return rnd.choice((lambda: (beside(7), power(-1, 2), rnd.random()), lambda: (power(-1, 1), beside(1), rnd.random()), lambda: (power(-1, 1), power(-1, 1), beside(0.3)), lambda: (beside(8), beside(8), rnd.random())))()


FUN = {
    "gammainc": (gamma_arguments, lambda a, x: gammainc_both(a, x)[0]),
    "gammaincc": (gamma_arguments, lambda a, x: gammainc_both(a, x)[1]),
    "gammaincderivative": (gamma_orders, gammainc_derivative),
    "betainc": (lambda: beta_arguments(), lambda a, b, x: betainc_by(0, a, b, x)),
    "betaincby": (lambda: (float(rnd.randint(1, 5)), *beta_arguments()), betainc_by),
    "betadensity": (lambda: beta_arguments(), beta_density),
    "gammadensity": (lambda: (0.0, *gamma_arguments()), density),
}

for a, x in (3, 2), (3, 7), (0.5, 2), (0.01, 0.11), (0.3, 0.2), (50, 40), (1, 0.57), (0.2, 0.9):
    p = m.gammainc(mpf(a), 0, mpf(x), regularized=True)
    assert abs(gammainc_both(a, x)[0] / p - 1) < mpf(10)**-35
    for n in 1, 2, 3:
        t = gammainc_derivative(n, a, x)
        assert t is None or abs(t / m.diff(lambda t: m.gammainc(t, 0, mpf(x), regularized=True), mpf(a), n) - 1) < mpf(10)**-35, (n, a, x)
for a, b, x in (2, 3, 0.3), (20, 30, 0.5), (0.5, 0.3, 0.7), (0.01, 0.02, 0.97), (3, 0.2, 0.99), (100, 1.5, 0.95), (0.3, 5, 0.001), (0.5, 7, 0.9):
    for by, order in enumerate(BY):
        t = betainc_by(by, a, b, x)
        assert t is None or abs(t / m.diff(lambda a, b: m.betainc(a, b, 0, mpf(x), regularized=True), (mpf(a), mpf(b)), order) - 1) < mpf(10)**-30, (by, a, b, x)


def row(f, a):
    t = f(*a)
    if t is None or not mpf(2)**-1010 < abs(t) < mpf(2)**1023:
        return None
    e = int(m.frexp(t)[1]) - 53
    with mp.workdps(mp.dps + 400):
        q = m.nint(t * mpf(2)**-e)
        hi = math.ldexp(int(q), e)
        if abs(q) == 2**53:
            e += 1
        d = float((t - mpf(hi)) * mpf(2)**-e)
    return " ".join(f"{bits(v):016x}" for v in (*a, hi)) + f" {d:.4f}"


for name, (arguments, f) in FUN.items():
    if only and name not in only:
        continue
    rnd.seed(f"{seed} {name}")
    out = {}
    while len(out) < rows:
        a = arguments()
        if 0 in a[-2:]:
            continue
        r = row(f, a)
        if r:
            out[a] = r
    with open(f"{folder}/{name}.ulp", "w") as file:
        file.write("\n".join(out[a] for a in sorted(out)) + "\n")
    print(name, len(out), file=sys.stderr)
