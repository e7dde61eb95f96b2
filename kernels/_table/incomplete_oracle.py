"""Writes reference values of the incomplete gamma functions and their derivatives to ../testdata/NAME.ulp, in the form of
oracle.py. Values are sums of power series in as many digits as cancel, derivatives by a parameter are quadratures to
40 digits; both are held to mpmath's gammainc, and to its derivatives by differences. Needs mpmath.

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


FUN = {
    "gammainc": (gamma_arguments, lambda a, x: gammainc_both(a, x)[0]),
    "gammaincc": (gamma_arguments, lambda a, x: gammainc_both(a, x)[1]),
    "gammaincderivative": (gamma_orders, gammainc_derivative),
    "gammadensity": (lambda: (0.0, *gamma_arguments()), density),
}

for a, x in (3, 2), (3, 7), (0.5, 2), (0.01, 0.11), (0.3, 0.2), (50, 40), (1, 0.57), (0.2, 0.9):
    p = m.gammainc(mpf(a), 0, mpf(x), regularized=True)
    assert abs(gammainc_both(a, x)[0] / p - 1) < mpf(10)**-35
    for n in 1, 2, 3:
        t = gammainc_derivative(n, a, x)
        assert t is None or abs(t / m.diff(lambda t: m.gammainc(t, 0, mpf(x), regularized=True), mpf(a), n) - 1) < mpf(10)**-35, (n, a, x)


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
