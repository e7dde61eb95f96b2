#!/usr/bin/env python3
"""Times the programs of programs.py in nabla and in JAX on this machine, once recorded and once compiled, and prints a
Markdown table, the worst for nabla first.

    python3 -m venv V && V/bin/pip install numpy jax
    V/bin/python testdata/peers/scan.py [--threads 2] [--rounds 5] [--out FILE] [REGULAR EXPRESSION]

The value and its gradient, or a Jacobian, batch Jacobian or Hessian alone, of which JAX has the faster way, forward or back. The
two take turns, pinned to one CPU or as many as there are threads; a figure is the best of the rounds. The elements must agree to
1e-9 of the largest. Run by hand, on a machine with nothing else to do; all programs take about five minutes.
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time

import programs
from run import show

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TURN = 0.02  # seconds


def made(shapes, rng):
    """Inputs, as programs.py says."""
    def one(name, shape):
        if name.endswith('_'):
            return rng.uniform(0.5, 1.5, shape)
        if name.startswith('k'):
            return rng.integers(0, 10, shape)
        return rng.standard_normal(shape)
    return {name: one(name, shape) for name, shape in shapes.items()}


def translated(text, names):
    """JAX's function of a text without a loop."""
    import jax
    from jax import nn, scipy, numpy as np
    here = {k: getattr(np, k) for k in dir(np)} | {k: getattr(np.linalg, k) for k in dir(np.linalg) if not hasattr(np, k)}
    here |= {k: getattr(nn, k) for k in ('sigmoid', 'softplus', 'relu', 'silu', 'elu', 'log_sigmoid', 'softmax', 'log_softmax', 'logsumexp')}
    here |= {k: getattr(scipy.special, k) for k in ('erf', 'erfc', 'digamma', 'i0', 'i1', 'i0e', 'i1e', 'erfinv', 'ndtri', 'log_ndtr', 'polygamma', 'entr',
                                                     'xlogy', 'xlog1py', 'gammainc', 'betainc', 'beta', 'betaln')}
    here |= {'atan': np.arctan, 'asinh': np.arcsinh, 'atan2': np.arctan2, 'lgamma': scipy.special.gammaln, 'true': True, 'expm': scipy.linalg.expm,
             'gelu': lambda x: nn.gelu(x, approximate=False)}
    *before, last = [s.strip() for s in text.replace('^', '**').split(';')]
    source = f'def f({", ".join(names)}):\n' + ''.join(f'    {s}\n' for s in before) + f'    return {last}\n'
    exec(source, here)
    return here['f']


class JAX:
    """JAX's ways to the answer of a program, compiled."""

    def __init__(self, program, data):
        import jax
        _, op, text, shapes, wrt, f = program
        f = f or translated(text, list(shapes))
        at = tuple(list(shapes).index(w) for w in wrt)
        args = [jax.numpy.asarray(v) for v in data.values()]
        ways = {
            'grad': [jax.value_and_grad(f, at)],
            'jacobian': [jax.jacrev(f, at), jax.jacfwd(f, at)],
            'hessian': [jax.hessian(f, at)],
            'batch_jacobian': [jax.vmap(g(f, at), [0] + [None] * (len(args) - 1)) for g in (jax.jacrev, jax.jacfwd)],
        }[op]
        self.ways = [(lambda f: lambda: jax.block_until_ready(f(*args)))(jax.jit(f)) for f in ways]
        answer = self.ways[0]()
        self.elements = [x for x in jax.tree.leaves(answer[1] if op == 'grad' else answer)]
        for w in self.ways:
            w()

    def ask(self, calls):
        best = math.inf
        for w in self.ways:
            start = time.perf_counter_ns()
            for _ in range(calls):
                w()
            best = min(best, (time.perf_counter_ns() - start) / calls)
        return best


class Nabla:
    def __init__(self, binary):
        self.p = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def say(self, line):
        self.p.stdin.write(line + '\n')
        self.p.stdin.flush()
        return self.p.stdout.readline().strip()

    def ask(self, calls):
        return float(self.say(str(calls)))


def compared(program, nabla, scratch, rounds, rng):
    """Nanoseconds of nabla and of JAX, and how far their elements are apart, of the largest."""
    import numpy as np
    name, op, text, shapes, wrt, _ = program
    data = made(shapes, rng)
    inputs, out = os.path.join(scratch, 'inputs.npz'), os.path.join(scratch, 'out')
    np.savez(inputs, **data)
    said = nabla.say(json.dumps({'op': op, 'program': text, 'wrt': wrt, 'inputs': inputs, 'out': out}))
    if said != 'ready':
        return None, said
    jax = JAX(program, data)
    got, want = np.fromfile(out), np.concatenate([np.ravel(x) for x in jax.elements])
    apart = float(np.max(np.abs(got - want)) / max(np.max(np.abs(want)), 1e-300)) if got.shape == want.shape else math.inf
    times = []
    contestants = nabla, jax
    calls = [max(1, int(TURN * 1e9 / max(c.ask(1) for _ in range(2)))) for c in contestants]
    for _ in range(rounds):
        times.append([c.ask(n) for c, n in zip(contestants, calls)])
    return [min(t) for t in zip(*times)], apart


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--out')
    parser.add_argument('--binary', help='a nabla contestant that was built before')
    parser.add_argument('pattern', nargs='?', default='')
    a = parser.parse_args()
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[-a.threads:]))
    import numpy as np
    import jax
    jax.config.update('jax_enable_x64', True)
    rows, wrong = [], []
    with tempfile.TemporaryDirectory() as scratch:
        binary = a.binary or os.path.join(scratch, 'contestant')
        if not a.binary:
            subprocess.run(['go', 'build', '-o', binary, './testdata/peers'], cwd=ROOT, check=True)
        nabla = Nabla(binary)
        for program in programs.PROGRAMS:
            if not re.search(a.pattern, program[0]):
                continue
            times, apart = compared(program, nabla, scratch, a.rounds, np.random.default_rng(1))
            if times is None or not apart <= 1e-9:
                wrong.append(f'{program[0]}: {apart}')
            if times is not None:
                rows.append((times[1] / times[0], program[0], *times))
                print('%.2f  %s' % rows[-1][:2], file=sys.stderr)
            jax.clear_caches()
    rows.sort()
    lines = ['| | nabla | JAX | JAX ÷ nabla |', '| --- | --- | --- | --- |']
    lines += [f'| {name} | {show(mine)} | {show(theirs)} | {ratio:.2f} |' for ratio, name, mine, theirs in rows]
    if rows:
        mean = math.exp(sum(math.log(r[0]) for r in rows) / len(rows))
        lines += ['', f'{len(rows)} programs, {a.threads} thread(s): geometric mean {mean:.2f}, JAX ahead (below 0.95) in {sum(r[0] < 0.95 for r in rows)}, jax {jax.__version__}']
    lines += ['apart: ' + w for w in wrong]
    text = '\n'.join(lines) + '\n'
    print(text) if not a.out else open(a.out, 'w').write(text)


if __name__ == '__main__':
    main()
