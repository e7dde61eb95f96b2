#!/usr/bin/env python3
"""Times nabla beside JAX, PyTorch, TensorFlow and NumPy on this machine, and prints a Markdown table.

    python3 -m venv V && V/bin/pip install numpy jax torch tensorflow-cpu sympy
    V/bin/python testdata/peers/run.py [WORKLOAD…]        (W1 W2 W3 W4 W5 W6 W8; all without any)

Run by hand, on a machine with nothing else to do. Contestants are processes that stay warm, compiled and with
their data loaded, and take turns; a figure is the median over the rounds. All compute in float64, all must give
the same sum of the derivative's elements, and who is not installed is left out. One thread means one CPU.
"""
import importlib.metadata
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ROUNDS = 11
REST = 0.25  # seconds between turns: thread pools spin for a while after their work

NETWORK = 'mean((tanh(tanh(x @ w1 + b1) @ w2 + b2) @ w3 + b3 - t)^2)'
STEPS = 10_000
PARTS = ('w1 = reshape(p[:400], (10, 40)); b1 = p[400:440]; w2 = reshape(p[440:], (40, 4)); '
         'mean((tanh(x @ w1 + b1) @ w2 - t)^2)')
LOOP = f'''a = x[0]; b = x[1]
for i in range({STEPS}) {{
    c = a*b + sin(a)
    d = exp(-a*a) - b/3
    a = a + 1e-5*(c*d - tanh(b))
    b = b + 1e-5*(cos(c) + d*d - a*c)
}}
a + b'''
PENDULUM = f'''f(s) = [s[1], -sin(s[0])]
s = x
for i in range({STEPS}) {{
    k = f(s); l = f(s + 0.005*k); m = f(s + 0.005*l)
    s = s + 0.01/6*(k + 2*l + 2*m + f(s + 0.01*m))
}}
sum(s)'''
RECURRENT = '''h = x[0]
for i in range(1000) {
    h = tanh(h @ w/2 + x[i])
}
sum(h)'''
HEAT = '''u = x
for i in range(1000) {
    u = u + 0.2*(roll(u, 1) - 2*u + roll(u, -1))
}
sum(u^2)'''

# name: operation, program, sources, what is counted, shapes of the inputs
WORKLOADS = {
    'W2 1e3': ('grad', 'sum(sin(x)*exp(-x^2/2) + log1p(x^2))', 'x', {'x': (1000,)}),
    'W2 1e5': ('grad', 'sum(sin(x)*exp(-x^2/2) + log1p(x^2))', 'x', {'x': (100_000,)}),
    'W2 1e7': ('grad', 'sum(sin(x)*exp(-x^2/2) + log1p(x^2))', 'x', {'x': (10_000_000,)}),
    'W3': ('grad', NETWORK, 'w1,b1,w2,b2,w3,b3',
           {'x': (512, 256), 't': (512, 10), 'w1': (256, 512), 'b1': (512,), 'w2': (512, 512), 'b2': (512,),
            'w3': (512, 10), 'b3': (10,)}),
    'W4': ('batch_jacobian', 'tanh(tanh(tanh(x @ w1) @ w2) @ w3)', 'x',
           {'x': (1024, 64), 'w1': (64, 128), 'w2': (128, 128), 'w3': (128, 32)}),
    'W5': ('hessian', PARTS, 'p', {'p': (600,), 'x': (64, 10), 't': (64, 4)}),
    'W6': ('grad', LOOP, 'x', {'x': (2,)}),
    'W6 vector': ('grad', PENDULUM, 'x', {'x': (2,)}),
    'W6 layer': ('grad', RECURRENT, 'w', {'x': (1000, 128), 'w': (128, 128)}),
    'W6 heat': ('grad', HEAT, 'x', {'x': (100,)}),
}
WHAT = {
    'W1': 'gradient of `x^2*sin(x)` at 3, the whole process',
    'W2 1e3': 'gradient of `sum(sin(x)*exp(-x^2/2) + log1p(x^2))`, 1e3 elements',
    'W2 1e5': 'the same, 1e5 elements',
    'W2 1e7': 'the same, 1e7 elements',
    'W3': 'gradient of a 256→512→512→10 tanh network, batch of 512',
    'W4': 'Jacobian of each of 1024 rows, 64→128→128→32 tanh',
    'W5': '600 × 600 Hessian of a network’s loss, batch of 64',
    'W6': f'gradient through a loop of {STEPS:,} × 19 operations on numbers',
    'W6 vector': f'gradient through {STEPS:,} Runge–Kutta steps of a pendulum, a vector of 2',
    'W6 layer': 'gradient through 1000 steps of a recurrent layer, 128→128 tanh',
    'W6 heat': 'gradient through 1000 steps of the heat equation on a ring of 100 points',
    'W8 json': '20 MB of JSON numbers, summed, the whole process',
    'W8 npy': '80 MB of NPY, summed, the whole process',
}


def inputs(name):
    import numpy as np
    rng = np.random.default_rng(1)
    shapes = WORKLOADS[name][3]
    return {k: rng.standard_normal(s) / (1 if k in 'xt' else s[0] ** 0.5) for k, s in shapes.items()}


# A contestant is a function from a workload's name and data to a function that computes the derivative, and one
# that makes NumPy arrays of it.

def with_numpy(name, data):
    import numpy as np
    if name.startswith('W2'):
        x = data['x']

        def f():
            e, x2 = np.exp(-x * x / 2), x * x
            s = np.sin(x)
            np.sum(s * e + np.log1p(x2))
            return [(np.cos(x) - x * s) * e + 2 * x / (1 + x2)]
        return f, lambda r: r
    if name == 'W3':
        x, t, w1, b1, w2, b2, w3, b3 = (data[k] for k in ('x', 't', 'w1', 'b1', 'w2', 'b2', 'w3', 'b3'))

        def f():
            h1 = np.tanh(x @ w1 + b1)
            h2 = np.tanh(h1 @ w2 + b2)
            d = h2 @ w3 + b3 - t
            np.mean(d * d)
            d *= 2 / d.size
            g2 = d @ w3.T * (1 - h2 * h2)
            g1 = g2 @ w2.T * (1 - h1 * h1)
            return [x.T @ g1, g1.sum(0), h1.T @ g2, g2.sum(0), h2.T @ d, d.sum(0)]
        return f, lambda r: r


def with_jax(name, data):
    import jax
    jax.config.update('jax_enable_x64', True)
    import jax.numpy as np
    import numpy
    a = {k: np.asarray(v) for k, v in data.items()}
    tanh = np.tanh

    def loop(x):
        def step(s, _):
            a, b = s
            c, d = a * b + np.sin(a), np.exp(-a * a) - b / 3
            a = a + 1e-5 * (c * d - tanh(b))
            return (a, b + 1e-5 * (np.cos(c) + d * d - a * c)), None
        (a, b), _ = jax.lax.scan(step, (x[0], x[1]), None, length=STEPS)
        return a + b

    def pendulum(x):
        def f(s):
            return np.stack([s[1], -np.sin(s[0])])

        def step(s, _):
            k = f(s)
            l = f(s + 0.005 * k)
            m = f(s + 0.005 * l)
            return s + 0.01 / 6 * (k + 2 * l + 2 * m + f(s + 0.01 * m)), None
        return np.sum(jax.lax.scan(step, x, None, length=STEPS)[0])

    def recurrent(w, x):
        return np.sum(jax.lax.scan(lambda h, r: (tanh(h @ w / 2 + r), None), x[0], x)[0])

    def heat(x):
        def step(u, _):
            return u + 0.2 * (np.roll(u, 1) - 2 * u + np.roll(u, -1)), None
        return np.sum(jax.lax.scan(step, x, None, length=1000)[0] ** 2)

    def loss(p, x, t):
        w1, b1, w2 = p[:400].reshape(10, 40), p[400:440], p[440:].reshape(40, 4)
        return np.mean((tanh(x @ w1 + b1) @ w2 - t) ** 2)

    f, args = {
        'W2': lambda: (jax.value_and_grad(lambda x: np.sum(np.sin(x) * np.exp(-x ** 2 / 2) + np.log1p(x ** 2))), ['x']),
        'W3': lambda: (jax.value_and_grad(lambda w1, b1, w2, b2, w3, b3, x, t: np.mean(
            (tanh(tanh(x @ w1 + b1) @ w2 + b2) @ w3 + b3 - t) ** 2), argnums=tuple(range(6))),
            ['w1', 'b1', 'w2', 'b2', 'w3', 'b3', 'x', 't']),
        'W4': lambda: ((lambda x, w1, w2, w3: (0, jax.vmap(jax.jacrev(
            lambda r: tanh(tanh(tanh(r @ w1) @ w2) @ w3)))(x))), ['x', 'w1', 'w2', 'w3']),
        'W5': lambda: ((lambda p, x, t: (0, jax.hessian(loss)(p, x, t))), ['p', 'x', 't']),
        'W6': lambda: (jax.value_and_grad(recurrent), ['w', 'x']) if name == 'W6 layer' else
        (jax.value_and_grad({'W6': loop, 'W6 vector': pendulum, 'W6 heat': heat}[name]), ['x']),
    }[name[:2]]()
    f, args = jax.jit(f), [a[k] for k in args]
    return (lambda: jax.block_until_ready(f(*args))), lambda r: [numpy.asarray(v) for v in jax.tree.leaves(r[1])]


def with_torch(name, data):
    import torch
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    if name in ('W6 vector', 'W6 heat'):
        return None
    a = {k: torch.tensor(v) for k, v in data.items()}
    tanh, kind = torch.tanh, name[:2]
    if kind in ('W4', 'W5'):
        from torch.func import hessian, jacrev, vmap

        def loss(p):
            w1, b1, w2 = p[:400].reshape(10, 40), p[400:440], p[440:].reshape(40, 4)
            return torch.mean((tanh(a['x'] @ w1 + b1) @ w2 - a['t']) ** 2)
        if kind == 'W4':
            def f():
                return [vmap(jacrev(lambda r: tanh(tanh(tanh(r @ a['w1']) @ a['w2']) @ a['w3'])))(a['x'])]
        else:
            def f():
                return [hessian(loss)(a['p'])]
        return f, lambda r: [v.detach().numpy() for v in r]

    def value():
        x = a['x']
        if kind == 'W2':
            return torch.sum(torch.sin(x) * torch.exp(-x ** 2 / 2) + torch.log1p(x ** 2))
        if kind == 'W3':
            h = tanh(tanh(x @ a['w1'] + a['b1']) @ a['w2'] + a['b2']) @ a['w3'] + a['b3']
            return torch.mean((h - a['t']) ** 2)
        if name == 'W6 layer':
            h = x[0]
            for r in x:
                h = tanh(h @ a['w'] / 2 + r)
            return torch.sum(h)
        u, v = x[0], x[1]
        for _ in range(STEPS):
            c, d = u * v + torch.sin(u), torch.exp(-u * u) - v / 3
            u = u + 1e-5 * (c * d - tanh(v))
            v = v + 1e-5 * (torch.cos(c) + d * d - u * c)
        return u + v
    sources = [a[k].requires_grad_() for k in WORKLOADS[name][2].split(',')]
    return (lambda: torch.autograd.grad(value(), sources)), lambda r: [v.numpy() for v in r]


def with_tensorflow(name, data):
    os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
    import tensorflow as tf
    n = len(os.sched_getaffinity(0))
    tf.config.threading.set_intra_op_parallelism_threads(n)
    tf.config.threading.set_inter_op_parallelism_threads(n)
    a = {k: tf.constant(v) for k, v in data.items()}
    tanh, kind = tf.tanh, name[:2]
    sources = [a[k] for k in WORKLOADS[name][2].split(',')]

    def value():
        x = a['x']
        if kind == 'W2':
            return tf.reduce_sum(tf.sin(x) * tf.exp(-x ** 2 / 2) + tf.math.log1p(x ** 2))
        if kind == 'W3':
            h = tanh(tanh(x @ a['w1'] + a['b1']) @ a['w2'] + a['b2']) @ a['w3'] + a['b3']
            return tf.reduce_mean((h - a['t']) ** 2)
        if kind == 'W4':
            return tanh(tanh(tanh(x @ a['w1']) @ a['w2']) @ a['w3'])
        p = a['p']
        w1, b1, w2 = tf.reshape(p[:400], (10, 40)), p[400:440], tf.reshape(p[440:], (40, 4))
        return tf.reduce_mean((tanh(x @ w1 + b1) @ w2 - a['t']) ** 2)

    def derivative():
        with tf.GradientTape() as outer:
            outer.watch(sources)
            if kind != 'W5':
                y = value()
            else:
                with tf.GradientTape() as inner:
                    inner.watch(sources)
                    y = value()
                y = inner.gradient(y, sources[0])
        if kind == 'W4':
            return [outer.batch_jacobian(y, sources[0])]
        if kind == 'W5':
            return [outer.jacobian(y, sources[0])]
        return outer.gradient(y, sources)
    if kind == 'W6':
        return None
    return tf.function(derivative), lambda r: [v.numpy() for v in r]


PEERS = {'JAX': ('jax', with_jax), 'PyTorch': ('torch', with_torch),
         'TensorFlow': ('tensorflow', with_tensorflow), 'NumPy, by hand': ('numpy', with_numpy)}


def contestant(peer, name):
    """The life of a peer: a line asks for that many answers."""
    built = PEERS[peer][1](name, inputs(name))
    if built is None:
        return
    f, arrays = built
    print('ready', flush=True)
    for line in sys.stdin:
        calls = int(line)
        start = time.perf_counter_ns()
        for _ in range(calls):
            r = f()
        took = (time.perf_counter_ns() - start) / calls
        print(took, sum(float(v.sum()) for v in arrays(r)), flush=True)


class Process:
    def __init__(self, command, cpus):
        self.p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                  preexec_fn=lambda: os.sched_setaffinity(0, cpus),
                                  env=dict(os.environ, OMP_NUM_THREADS=str(len(cpus)), OPENBLAS_NUM_THREADS=str(len(cpus))),
                                  stderr=subprocess.DEVNULL)
        self.times = []
        self.ready = self.p.stdout.readline().startswith('ready')
        if self.ready:
            for _ in range(2):  # compiles, and warms up
                took, self.sum = self.ask(1)
            self.calls = max(1, int(1e8 / took))  # a tenth of a second: after a rest runtimes take some ms to settle

    def ask(self, calls):
        self.p.stdin.write(f'{calls}\n')
        self.p.stdin.flush()
        took, total = self.p.stdout.readline().split()
        return float(took), float(total)

    def close(self):
        self.p.stdin.close()
        self.p.wait()


def warm(name, threads, scratch, nabla):
    """Medians in nanoseconds by contestant, the processes taking turns."""
    import numpy as np
    op, text, wrt, _ = WORKLOADS[name]
    file = os.path.join(scratch, 'inputs.npz')
    np.savez(file, **inputs(name))
    cpus = set(sorted(os.sched_getaffinity(0))[:threads])
    commands = {'nabla': [nabla, op, text, wrt, file]}
    for peer, (module, _) in PEERS.items():
        if installed(module):
            commands[peer] = [sys.executable, __file__, '--contestant', peer, name]
    all_ = {who: Process(command, cpus) for who, command in commands.items()}
    all_ = {who: p for who, p in all_.items() if p.ready}
    for _ in range(ROUNDS):
        for p in all_.values():
            time.sleep(REST)
            p.times.append(p.ask(p.calls)[0])
    for who, p in all_.items():
        want = all_['nabla'].sum
        if abs(p.sum - want) > 1e-8 * max(abs(want), 1):
            sys.exit(f'{name}: the elements of {who} add up to {p.sum}, want {want} as nabla')
        p.close()
    return {who: statistics.median(p.times) for who, p in all_.items()}


def cold(commands):
    """Medians in nanoseconds of whole processes that take turns."""
    times = {who: [] for who in commands}
    for round_ in range(ROUNDS + 1):
        for who, command in commands.items():
            best = []
            for _ in range(10 if times[who] and times[who][0] < 5e7 else 1):
                start = time.perf_counter_ns()
                subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
                               stdin=subprocess.DEVNULL)
                best.append(time.perf_counter_ns() - start)
            if round_:  # the first fills the page cache
                times[who].append(statistics.median(best))
            else:
                times[who] = [best[0]]
    return {who: statistics.median(t[1:]) for who, t in times.items()}


def whole(name, scratch, nabla):
    if name == 'W1':
        commands = {'nabla': [nabla, 'x^2*sin(x)', '-a', 'x=3', '-r']}
        if shutil.which('ginsh'):
            file = os.path.join(scratch, 'a.gin')
            open(file, 'w').write('evalf(subs(diff(x^2*sin(x),x),x==3));\n')
            commands['ginsh'] = ['ginsh', file]
        if shutil.which('gp'):
            file = os.path.join(scratch, 'a.gp')
            open(file, 'w').write('x = 3. + t + O(t^2); print(polcoef(x^2*sin(x), 1)); quit\n')
            commands['PARI/GP'] = ['gp', '-qf', file]
        for who, module, text in [
            ('SymPy', 'sympy', 'from sympy import *; x=symbols("x"); print(N(diff(x**2*sin(x),x).subs(x,3)))'),
            ('JAX', 'jax', 'import jax; print(jax.grad(lambda x: x**2*jax.numpy.sin(x))(3.))'),
            ('PyTorch', 'torch', 'import torch; x=torch.tensor(3.,dtype=torch.float64,requires_grad=True); '
                                 '(x**2*torch.sin(x)).backward(); print(x.grad)'),
            ('TensorFlow', 'tensorflow', 'import tensorflow as tf; x=tf.Variable(3.)\n'
                                         'with tf.GradientTape() as t: y=x**2*tf.sin(x)\nprint(t.gradient(y,x))'),
        ]:
            if installed(module):
                commands[who] = [sys.executable, '-c', text]
        return cold(commands)
    import numpy as np
    rng = np.random.default_rng(1)
    if name == 'W8 json':
        file = os.path.join(scratch, 'x.json')
        with open(file, 'w') as f:
            f.write('{"x": [' + ', '.join(repr(float(v)) for v in rng.standard_normal(1_000_000)) + ']}')
        text = 'import sys, json, numpy; print(numpy.array(json.load(open(sys.argv[1]))["x"]).sum())'
        mine = [nabla, 'eval', 'sum(x)', '-i', file, '-r']
    else:
        file = os.path.join(scratch, 'x.npy')
        np.save(file, rng.standard_normal(10_000_000))
        text = 'import sys, numpy; print(numpy.load(sys.argv[1]).sum())'
        mine = [nabla, 'eval', 'sum(x)', '-a', 'x=@' + file, '-r']
    return cold({'nabla': mine, 'NumPy, by hand': [sys.executable, '-c', text, file]})


def installed(module):
    try:
        version(module)
        return True
    except importlib.metadata.PackageNotFoundError:
        return False


def version(module):
    for name in (module, module + '-cpu'):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    raise importlib.metadata.PackageNotFoundError(module)


def show(ns):
    for unit, size in ('s', 1e9), ('ms', 1e6), ('µs', 1e3), ('ns', 1):
        if ns >= size:
            return f'{ns / size:.3g} {unit}'


def main():
    chosen = sys.argv[1:]
    scratch = tempfile.mkdtemp()
    try:
        nabla, tool = os.path.join(scratch, 'contestant'), os.path.join(scratch, 'nabla')
        for out, what in (nabla, './testdata/peers'), (tool, '.'):
            subprocess.run(['go', 'build', '-o', out, what], cwd=ROOT, check=True)
        cpus = len(os.sched_getaffinity(0))
        rows = []
        for name in WHAT:
            if chosen and name.split()[0] not in chosen:
                continue
            if name in WORKLOADS:
                for threads in sorted({1, min(2, cpus)} if not name.startswith('W6') else {1}):
                    rows.append((name, threads, warm(name, threads, scratch, nabla)))
            else:
                rows.append((name, cpus, whole(name, scratch, tool)))
            print(rows[-1], file=sys.stderr)
        table(rows)
    finally:
        shutil.rmtree(scratch)


def table(rows):
    model = next((l.split(':')[1].strip() for l in open('/proc/cpuinfo') if l.startswith('model name')), platform.machine())
    go = subprocess.run(['go', 'version'], capture_output=True, text=True).stdout.split()[2]
    print(f'{model}, {len(os.sched_getaffinity(0))} CPUs, {platform.system()}, {go}, Python {platform.python_version()}, '
          + ', '.join(f'{m} {version(m)}' for m in ('jax', 'torch', 'tensorflow', 'numpy', 'sympy') if installed(m)))
    print()
    columns = ['nabla', 'JAX', 'PyTorch', 'TensorFlow', 'NumPy, by hand']
    print('| | threads | ' + ' | '.join(columns) + ' | best peer ÷ nabla |')
    print('| --- | --- |' + ' --- |' * len(columns) + ' --- |')
    for name, threads, times in rows:
        best = min(v for k, v in times.items() if k != 'nabla')
        others = ', '.join(f'{k} {show(v)}' for k, v in times.items() if k not in columns)
        print(f'| {WHAT[name]}{others and f" ({others})"} | {threads} | '
              + ' | '.join(show(times[c]) if c in times else '–' for c in columns) + f' | {best / times["nabla"]:.2g} |')


if __name__ == '__main__':
    if sys.argv[1:2] == ['--contestant']:
        contestant(*sys.argv[2:])
    else:
        main()
