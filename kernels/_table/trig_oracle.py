"""Writes reference values of the trigonometric and special functions to ../testdata/NAME.ulp, in the
form of oracle.py: arguments and the nearest float64 in hexadecimal bits, then the true value's
distance from it in ulp. Needs mpmath.

Run: python3 trig_oracle.py [rows] [seed] [folder] [name ...]
"""
import math, random, struct, sys
from mpmath import mp, mpf
import mpmath as m

rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
folder = sys.argv[3] if len(sys.argv) > 3 else "../testdata"
only = sys.argv[4:]
rnd = random.Random(seed)
bits = lambda x: struct.unpack("<Q", struct.pack("<d", x))[0]


def uni(a, b):
    return lambda: rnd.uniform(a, b)


def exps(lo, hi, sign=True):
    """Log-uniform magnitudes 2^lo .. 2^hi."""
    def f():
        x = math.ldexp(rnd.uniform(1, 2), rnd.randint(lo, hi - 1))
        return -x if sign and rnd.random() < 0.5 else x
    return f


def near(*points):
    """Around the points: half of them within 8 ulp, half within 2^-1 .. 2^-50 of them."""
    def f():
        p = rnd.choice(points)
        p = p() if callable(p) else p
        if rnd.random() < 0.5:
            for _ in range(rnd.randint(0, 8)):
                p = math.nextafter(p, rnd.choice((-math.inf, math.inf)))
            return p
        return p + max(abs(p), 0.1) * math.ldexp(rnd.uniform(-1, 1), -rnd.randint(1, 50))
    return f


def multiple(unit, lo, hi):
    """The float64 nearest to a whole multiple of unit."""
    def f():
        mp.prec = 1200
        return float(rnd.randint(lo, hi) * unit())
    return f


pi16 = lambda: mp.pi / 16
pi2 = lambda: mp.pi / 2


def far():
    """The float64 nearest to a multiple of pi/2, anywhere."""
    mp.prec = 1300
    k = rnd.getrandbits(rnd.randint(20, 1020)) + 1
    return float(k * mp.pi / 2)


ONE = mpf(1)
hardest = [6381956970095103.0 * 2.0**797, 5319372648326541.0 * 2.0**-200, 1.0e22, 1e300, 1.7976931348623157e308]
angle = [uni(-1, 1), uni(-10, 10), uni(-1e3, 1e3), uni(-1e5, 1e5), uni(-6e5, 6e5), exps(-1074, 1024), exps(-40, 20), exps(19, 70),
         near(multiple(pi16, 1, 100)), near(multiple(pi2, 1, 20)), near(multiple(pi2, 1, 400000)), near(multiple(pi2, 1, 10**12)),
         near(multiple(lambda: mp.pi / 32, 1, 2000)), far, near(far), near(*hardest)]
inverse = [uni(-1, 1), uni(-0.6, 0.6), exps(-60, 0), exps(-1074, 0), near(0.5, -0.5), near(1.0, -1.0),
           lambda: rnd.choice((-1, 1)) * (1 - math.ldexp(rnd.uniform(0.5, 1), -rnd.randint(1, 52)))]
lgzeros = [-2.457024738220801, -2.7476826467274127, -3.1435808883499798, -3.955294284858598, -4.039361839740537,
           -4.991544640560048, -5.008218168322594, -5.998607480080875, -6.001385294453155, -6.999801507890638,
           -7.000198333407325, -7.999975197095821, -8.000024800270682, -9.000002755714823, -10.000000275573013,
           -10.999999974947890, -11.999999997912324]
psizeros = [1.4616321449683622, -0.504083008264455, -1.573498473162390, -2.610720868444144, -3.635293366436901, -4.653237761743142,
            -5.667162441556886, -6.678418213073426, -7.687788325031626, -8.695764163816401, -9.702672541193530]
whole = lambda lo, hi: (lambda: float(rnd.randint(lo, hi)))
gammas = [uni(0, 3), uni(0, 20), uni(-20, 0), uni(-180, -20), exps(-60, 0), near(1.0, 2.0, 20.5, -20.5), near(whole(-30, -1)), uni(1.2, 2.2)]
DOM = {
    "sin": angle, "cos": angle, "tan": angle,
    "asin": inverse, "acos": inverse,
    "atan": [uni(-1, 1), uni(-5, 5), exps(-1074, 1024), exps(-30, 70), near(0.4375, 0.6875, 1.1875, 2.4375, 1.0)],
    "sinc": [uni(-1, 1), uni(-10, 10), uni(-1e3, 1e3), exps(-40, 40), near(whole(1, 50)), near(1.0, 2.0)],
    "sinpi": [uni(-1, 1), uni(-10, 10), uni(-1e3, 1e3), exps(-1020, 54), exps(-40, 40), near(whole(1, 50)), near(lambda: rnd.randint(0, 99) + 0.5)],
    "cbrt": [exps(-1074, 1024), uni(1, 8), uni(-8, -1), near(8.0, 27.0, 1.0), lambda: float(rnd.randint(2, 200000)) ** 3],
    "erf": [uni(-6, 6), uni(-1, 1), exps(-60, 2), exps(-1074, 0), near(lambda: (rnd.randint(0, 15) + 0.5) * 0.385), near(0.5, 1.0, 5.92)],
    "erfc": [uni(-6, 6), uni(0.4, 27.3), exps(-60, 4), near(0.5, 1.0, 2.0, 4.0, 8.0), uni(26, 27.23), near(whole(1, 27)), uni(0.5, 6)],
    "erfcx": [uni(-26, 40), uni(0.4, 30), exps(-60, 4), near(0.5, 1.0, 2.0, 4.0, 8.0, 32.0), exps(3, 1000, False), uni(-6, 1)],
    "normcdf": [uni(-38.4, 9), uni(-8, 8), exps(-60, 2), near(-0.7071, 0.7071), uni(-38.5, -36)],
    "erfcinv": [uni(0, 2), uni(0, 0.6), uni(0.24, 0.52), exps(-1074, 0, False), exps(-60, 1, False)],
    "normquantile": [uni(0, 1), exps(-1074, 0, False), near(0.5, 0.25, 0.75), lambda: 1 - math.ldexp(rnd.uniform(0.5, 1), -rnd.randint(1, 52))],
    "gauss": [uni(-28, 28), uni(-3, 3), exps(-40, 2), uni(26, 27.29), uni(-0.1, 0.1)],
    "normpdf": [uni(-39, 39), uni(-3, 3), exps(-40, 2), uni(37, 38.6), uni(-0.1, 0.1)],
    "lognormcdf": [uni(-40, 9), uni(-8, 8), exps(-60, 2), exps(3, 500), near(-1.0, 0.0), uni(-1e4, -37)],
    "hazard": [uni(-40, 9), uni(-8, 8), exps(-60, 2), exps(3, 500), near(-1.0, 0.0), uni(-1e4, -37)],
    "erfinv": [uni(-1, 1), uni(-0.55, 0.55), exps(-60, 0), exps(-1074, 0), near(0.5, -0.5), lambda: rnd.choice((-1, 1)) * (1 - math.ldexp(rnd.uniform(0.5, 1), -rnd.randint(1, 52)))],
    "erfinvslope": [uni(-1, 1), uni(-0.55, 0.55), near(0.5, -0.5), exps(-1074, 0), lambda: rnd.choice((-1, 1)) * (1 - math.ldexp(rnd.uniform(0.5, 1), -rnd.randint(1, 52)))],
    "normquantileslope": [uni(0, 1), exps(-1020, 0, False), near(0.5, 0.25, 0.75), lambda: 1 - math.ldexp(rnd.uniform(0.5, 1), -rnd.randint(1, 52))],
    "gamma": gammas + [uni(20, 171.6), uni(170, 171.62), exps(-1021, -60), uni(-184, -170)],
    "lgamma": gammas + [exps(0, 1014, False), near(*lgzeros), near(*lgzeros), lambda: near(*lgzeros)(), uni(-1e4, -20), exps(20, 40, False), lambda: -exps(5, 45, False)()],
    "digamma": gammas + [exps(0, 1014, False), near(*psizeros), near(*psizeros), exps(-1021, -60), uni(-1e4, -20), lambda: -exps(5, 45, False)()],
}

bessel = [uni(-40, 40), uni(-4, 4), exps(-30, 9), near(20.0, -20.0, 60.0, 1000.0)]

DOM["cospi"] = DOM["sinpi"]
DOM["i0"] = DOM["i1"] = [lambda f=f: max(-713.0, min(713.0, f())) for f in bessel]
DOM["i0e"] = DOM["i1e"] = bessel


def atan2():
    k = rnd.randint(0, 5)
    if k == 0:
        return rnd.uniform(-5, 5), rnd.uniform(-5, 5)
    if k == 1:
        return exps(-1074, 1024)(), exps(-1074, 1024)()
    if k == 2:
        x = exps(-1000, 1000)()
        return x * rnd.uniform(-4, 4), x
    if k == 3:
        x = exps(-1000, 1000)()
        return x * exps(-70, 70)(), x
    if k == 4:
        x = exps(-1074, -950)()
        return x * rnd.uniform(-40, 40), x
    x = exps(-100, 100)()
    return x * rnd.choice((0.4375, 0.6875, 1.1875, 2.4375)) * (1 + math.ldexp(rnd.uniform(-1, 1), -rnd.randint(5, 52))), x


def hypot():
    k = rnd.randint(0, 3)
    if k == 0:
        return rnd.uniform(-5, 5), rnd.uniform(-5, 5)
    if k == 1:
        return exps(-1074, 1024)(), exps(-1074, 1024)()
    if k == 2:
        x = exps(-1074, 1023)()
        return x * rnd.uniform(-1, 1), x
    x = exps(-1000, 1000)()
    return x * exps(-30, 30)(), x


def polygamma():
    k = rnd.randint(0, 4)
    n = float(rnd.choice((1, 1, 1, 2, 2, 3, 4, 5, 6, 10, 17, 40, 100)))
    if k == 0:
        return n, rnd.uniform(0, 30)
    if k == 1:
        return n, exps(-20, 20, False)()
    if k == 2:
        return n, rnd.uniform(0, 3)
    if k == 3:  # odd ones have no zeros
        return float(rnd.choice((1, 1, 1, 3, 5, 7, 11))), -rnd.uniform(0, 40)
    return n, rnd.uniform(1, 200)


def inverse_erfc(x):
    if x > 1:
        return -inverse_erfc(2 - x)
    if x > 0.3:
        return m.erfinv(1 - x)
    w = m.log(x)
    y = m.sqrt(-w)
    for _ in range(30):
        e = m.erfc(y)
        d = (m.log(e) - w) * e * m.exp(y * y) * m.sqrt(m.pi) / 2
        y += d
        if abs(d) < mpf(2) ** -150:
            break
    return y


PAIRS = {"atan2": atan2, "hypot": hypot, "polygamma": polygamma}
FUN = {
    "sin": m.sin, "cos": m.cos, "tan": m.tan, "asin": m.asin, "acos": m.acos, "atan": m.atan, "sinc": m.sincpi, "sinpi": m.sinpi, "cospi": m.cospi,
    "cbrt": lambda x: m.sign(x) * m.cbrt(abs(x)), "erf": m.erf, "erfc": m.erfc, "erfcx": lambda x: m.exp(x * x) * m.erfc(x),
    "normcdf": lambda x: m.erfc(-x / m.sqrt(2)) / 2, "lognormcdf": lambda x: m.log1p(-m.erfc(x / m.sqrt(2)) / 2) if x > 0 else m.log(m.erfc(-x / m.sqrt(2)) / 2), "erfcinv": lambda x: inverse_erfc(x), "normquantile": lambda p: -m.sqrt(2) * inverse_erfc(2 * p), "hazard": lambda x: m.exp(-x * x / 2) * m.sqrt(2 / m.pi) / m.erfc(-x / m.sqrt(2)), "gauss": lambda x: m.exp(-x * x), "normpdf": lambda x: m.exp(-x * x / 2) / m.sqrt(2 * m.pi), "erfinv": m.erfinv,
    "erfinvslope": lambda x: m.sqrt(m.pi) / 2 * m.exp(inverse_erfc(1 - abs(x)) ** 2), "normquantileslope": lambda p: m.sqrt(2 * m.pi) * m.exp(inverse_erfc(2 * p) ** 2),
    "i0": lambda x: m.besseli(0, x), "i1": lambda x: m.besseli(1, x), "i0e": lambda x: m.besseli(0, x) * m.exp(-abs(x)), "i1e": lambda x: m.besseli(1, x) * m.exp(-abs(x)),
    "gamma": m.gamma, "lgamma": lambda x: m.log(abs(m.gamma(x))) if abs(x) < 1e3 else m.loggamma(x).real,
    "digamma": m.digamma, "atan2": m.atan2, "hypot": lambda x, y: m.sqrt(x * x + y * y), "polygamma": lambda n, x: m.polygamma(int(n), x),
}


def prec(name, a):
    if name in ("sin", "cos", "tan", "sinc", "sinpi", "cospi"):
        return 1300 if abs(a[0]) < 1e-10 or abs(a[0]) > 1e10 else 300
    if name in ("lgamma", "digamma", "gamma", "polygamma"):
        return 400
    if name in ("lognormcdf", "hazard", "erfcx", "erfc", "normcdf"):
        return 400 if abs(a[0]) > 1e-5 else 600
    e = -math.frexp(a[0])[1] if a[0] else 0
    return 250 + max(0, 2 * min(e, 1100))


top = mpf(2) ** 1024


def row(name, a):
    mp.prec = prec(name, a)
    if name == "erfcx" and a[0] > 100 or name in ("lognormcdf", "hazard") and a[0] < -150:
        z = mpf(a[0]) if name == "erfcx" else -mpf(a[0]) / m.sqrt(2)
        s, c, k = mpf(1), mpf(1), 1
        while abs(c) > mpf(2) ** -300 and k < 60:
            c *= -(2 * k - 1) / (2 * z * z)
            s += c
            k += 1
        s /= z * m.sqrt(m.pi)
        t = s if name == "erfcx" else m.log(s / 2) - z * z if name == "lognormcdf" else m.sqrt(2 / m.pi) / s
    elif name == "lgamma" and abs(a[0]) >= 1e3 and a[0] < 0:
        x = mpf(a[0])
        t = m.log(m.pi / abs(x * m.sinpi(x))) - m.loggamma(-x)
    elif name == "erfinv" and 1 - abs(a[0]) < 1e-3:
        x = abs(mpf(a[0]))
        y = m.findroot(lambda y: m.log(m.erfc(y)) - m.log(1 - x), m.sqrt(-m.log(1 - x)))
        t = y if a[0] > 0 else -y
    else:
        t = FUN[name](*map(mpf, a))
    if t == 0 or isinstance(t, m.mpc) or name == "digamma" and a[0] < -18 and abs(t) < 0.01:  # too near a zero
        return None
    _, e = m.frexp(t)
    e = max(int(e) - 53, -1074)
    q = m.nint(t * mpf(2) ** -e)
    if abs(q) * mpf(2) ** e >= top:
        return None
    hi = math.ldexp(int(q), e)
    if abs(q) == 2**53:
        e += 1
    d = float((t - mpf(hi)) * mpf(2) ** -e)
    return " ".join(f"{bits(v):016x}" for v in (*a, hi)) + f" {d:.4f}"


for name in FUN:
    if only and name not in only:
        continue
    rnd.seed(f"{seed} {name}")
    out = {}
    while len(out) < rows:
        try:
            a = PAIRS[name]() if name in PAIRS else (rnd.choice(DOM[name])(),)
            if not all(map(math.isfinite, a)) or 0 in a:
                continue
            if name in ("asin", "acos", "erfinv", "erfinvslope") and abs(a[0]) > (1 if name in ("asin", "acos") else 0.99999999999999994):
                continue
            if name == "erfcinv" and a[0] >= 2 or name.startswith("normquantile") and (a[0] >= 1 or a[0] == 0.5):
                continue
            if name in ("gamma", "lgamma", "digamma", "polygamma") and a[-1] < 0 and a[-1] == math.floor(a[-1]):
                continue
            r = row(name, a)
        except (OverflowError, ValueError):
            continue
        if r:
            out[a] = r
    with open(f"{folder}/{name}.ulp", "w") as f:
        f.write("\n".join(out[a] for a in sorted(out)) + "\n")
    print(name, len(out), file=sys.stderr)
