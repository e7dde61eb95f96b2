"""Writes reference values to ../testdata/NAME.ulp: arguments and the nearest float64 in
hexadecimal bits, then the true value's distance from it in ulp. Needs mpmath.

Run: python3 oracle.py [rows] [seed] [folder] [name ...]
"""
import math, random, struct, sys
from mpmath import mp, mpf
import mpmath as m

mp.prec = 250
rows = int(sys.argv[1]) if len(sys.argv) > 1 else 600
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
folder = sys.argv[3] if len(sys.argv) > 3 else "../testdata"
only = sys.argv[4:]
rnd = random.Random(seed)
bits = lambda x: struct.unpack("<Q", struct.pack("<d", x))[0]
float_ = lambda b: struct.unpack("<d", struct.pack("<Q", b))[0]


def uni(a, b):
    return lambda: rnd.uniform(a, b)


def exps(lo, hi, sign=True):
    """Log-uniform magnitudes 2^lo .. 2^hi."""
    def f():
        x = math.ldexp(rnd.uniform(1, 2), rnd.randint(lo, hi - 1))
        return -x if sign and rnd.random() < 0.5 else x
    return f


def near(*points):
    """A few steps around the points: half of them within 8 ulp, half within 2^-30 of them."""
    def f():
        p = rnd.choice(points)
        p = p() if callable(p) else p
        if rnd.random() < 0.5:
            for _ in range(rnd.randint(0, 8)):
                p = math.nextafter(p, rnd.choice((-math.inf, math.inf)))
            return p
        return p + abs(p) * math.ldexp(rnd.uniform(-1, 1), -rnd.randint(1, 50))
    return f


L2 = math.log(2)
steps = lambda unit, lo, hi: (lambda: unit * (rnd.randint(lo, hi) + 0.5))
grid = lambda: 1 + rnd.randint(-4, 16) / 16
pos = lambda f: lambda: abs(f())
expm = [uni(-1, 1), uni(-30, 30), exps(-60, 0), exps(-1074, -60), near(steps(L2 / 16, -60, 60), 0.0216, -0.0216, L2, -L2)]
DOM = {
    "exp": [uni(-745.2, 709.8), uni(-745.2, -707)] + expm + [near(709.782712893384, -708.3964185322641, -745.1332191019411)],
    "exp2": [uni(-1075, 1024), uni(-1075, -1021)] + expm + [near(1023.9999999999999, -1022.0, -1074.5)],
    "expm1": [uni(-50, 709.8), uni(-0.1, 0.1)] + expm + [near(709.782712893384, -37.4)],
    "log": [exps(-1074, 1024, False), uni(0.4, 2.5), near(1.0), near(grid)],
    "log1p": [uni(-1, 2), exps(-60, 0), exps(-1074, -60), exps(0, 1024, False), near(-0.25, 0.5, -0.999999, 1.0, lambda: grid() - 1), lambda: -1 + math.ldexp(rnd.uniform(0.5, 1), -rnd.randint(1, 52)), uni(-0.05, 0.07)],
    "sigmoid": [uni(-745.2, 40), uni(-745.2, -707)] + expm + [near(-708.3964185322641, -745.1, 36.7)],
    "softplus": [uni(-745.2, 745), uni(-745.2, -707), uni(-2, 2), uni(30, 40)] + expm,
    "sinh": [uni(-710.475, 710.475), uni(-3, 3)] + expm + [near(710.4758600739439), uni(36, 40), uni(17, 20)],
    "cosh": [uni(-710.475, 710.475), uni(-3, 3)] + expm + [near(710.4758600739439), uni(36, 40), uni(17, 20)],
    "tanh": [uni(-22, 22), uni(-1, 1), uni(-0.1, 0.1)] + expm,
    "sech2": [uni(-373, 373), uni(-373, -353), uni(-2, 2)] + expm,
    "asinh": [uni(-10, 10), uni(-1, 1), exps(-1074, 1024), exps(-40, 0), exps(-30, -25), exps(20, 35), exps(500, 520)],
    "acosh": [pos(uni(1, 10)), exps(0, 1024, False), near(1.0), lambda: 1 + math.ldexp(rnd.uniform(0.5, 1), -rnd.randint(0, 51)), exps(20, 35, False), exps(505, 520, False)],
    "atanh": [uni(-1, 1), exps(-1074, 0), exps(-40, 0), exps(-30, -25), lambda: rnd.choice((-1, 1)) * (1 - math.ldexp(rnd.uniform(0.5, 1), -rnd.randint(1, 52)))],
}
DOM["sigmoidslope"] = DOM["sigmoid"] + [uni(700, 745.2)]
DOM["log2"] = DOM["log10"] = DOM["log"]


def power():
    k = rnd.randint(0, 10)
    if k == 0:
        return rnd.uniform(0, 20), rnd.uniform(-20, 20)
    if k == 1:  # near 1, great exponents
        d = math.ldexp(rnd.uniform(-1, 1), -rnd.randint(1, 52))
        x = 1 + d
        return (x, rnd.uniform(-745, 709) / math.log(x)) if x != 1 else (1.0000001, 1e9)
    if k == 2:
        x = exps(-1074, 1024, False)()
        return x, rnd.uniform(-745, 709) / math.log(x) if x != 1 else 2.0
    if k == 3:
        return float(rnd.randint(2, 40)), float(rnd.randint(-30, 30))
    if k == 4:
        return -rnd.uniform(0, 9), float(rnd.randint(-300, 300))
    if k == 5:
        return rnd.uniform(0, 1e6), rnd.choice((0.5, -0.5, 1 / 3, 1.5, 2.0, 3.0, -1.0, -2.0))
    if k == 6:
        x = near(grid)()
        return x, rnd.uniform(-700, 700) / (abs(math.log(x)) + 1e-3)
    if k == 7:
        x = exps(-1074, 1024, False)()
        return x, exps(-1074, 0)()
    if k == 8:  # subnormal results
        x = rnd.uniform(1.1, 100)
        return x, rnd.uniform(-745, -707) / math.log(x)
    if k == 9:
        x = rnd.uniform(0.3, 3)
        return x, rnd.uniform(-600, 600)
    # where the second table of pow changes its row
    x = (1 + (rnd.randint(-5, 7) + 0.5) / 128) * rnd.choice([32 / r for r in range(21, 43)])
    x = near(x)()
    return x, rnd.uniform(-700, 700) / (abs(math.log(x)) + 1e-3)


FUN = {
    "exp": m.exp, "exp2": lambda x: m.power(2, x), "expm1": m.expm1, "log": m.log, "log2": lambda x: m.log(x) / m.log(mpf(2)),
    "log10": lambda x: m.log(x) / m.log(mpf(10)), "log1p": m.log1p,
    "sigmoid": lambda x: 1 / (1 + m.exp(-x)), "softplus": lambda x: m.log1p(m.exp(x)) if x < 0 else x + m.log1p(m.exp(-x)),
    "sigmoidslope": lambda x: 1 / ((1 + m.exp(x)) * (1 + m.exp(-x))),
    "sinh": m.sinh, "cosh": m.cosh, "tanh": m.tanh, "sech2": lambda x: m.sech(x) ** 2, "asinh": m.asinh, "acosh": m.acosh, "atanh": m.atanh,
    "pow": lambda x, y: m.power(x, y),
}


def prec(name, a):
    if name in ("log", "log2", "log10", "acosh", "log1p", "pow", "softplus"):
        return 400
    e = -math.frexp(a[0])[1] if a[0] else 0
    return 250 + max(0, 2 * min(e, 1100))


top = mpf(2) ** 1024


def row(name, a):
    mp.prec = prec(name, a)
    t = FUN[name](*map(mpf, a))
    if t == 0:
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
        a = power() if name == "pow" else (rnd.choice(DOM[name])(),)
        try:
            if not all(map(math.isfinite, a)) or a[0] == 0 or name == "pow" and a[1] == 0:
                continue
            if name.startswith("log") and name != "log1p" and a[0] <= 0 or name == "acosh" and a[0] < 1 or name == "atanh" and abs(a[0]) >= 1 or name == "log1p" and a[0] <= -1:
                continue
            r = row(name, a)
        except OverflowError:
            continue
        if r:
            out[a] = r
    with open(f"{folder}/{name}.ulp", "w") as f:
        f.write("\n".join(out[a] for a in sorted(out)) + "\n")
    print(name, len(out), file=sys.stderr)
