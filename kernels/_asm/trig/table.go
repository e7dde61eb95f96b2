package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"nabla/kernels/_asm/kit"
)

// horners is p(x).
func horners(p []float64, x []v) []v {
	y := each(x, func(int, v) v { return load(c(p[len(p)-1])) })
	for i := len(p) - 2; i >= 0; i-- {
		each(y, func(j int, y v) v { return madd(y, x[j], c(p[i])) })
	}
	return y
}

// results are the results of each vector.
func results(y ...[]v) [][]v {
	out := make([][]v, len(y[0]))
	for _, y := range y {
		for i, y := range y {
			out[i] = append(out[i], y)
		}
	}
	return out
}

// columnsOf is the columns of a table that has sixteen rows.
func columnsOf(name string) [][]float64 {
	xs := num[name]
	n := len(xs) / 16
	out := make([][]float64, n)
	for i, x := range xs {
		out[i%n] = append(out[i%n], x)
	}
	return out
}

func squares(x []v) []v {
	var y []v
	for _, x := range x {
		y = append(y, mul(x, x))
	}
	return y
}

// evenOdd is evenOdd of generic_pair.go, with n coefficients p(i); x2 is x*x.
func evenOdd(p func(i int) []v, n int, x, x2 []v) []v {
	n--
	y := p(n)
	z := p(n - 1)
	for i := n - 2; i >= 0; i-- {
		a := y
		if (n-i)%2 == 1 {
			a = z
		}
		for j, p := range p(i) {
			madd(a[j], x2[j], p)
		}
	}
	if n%2 == 0 {
		y, z = z, y
	}
	for j := range y {
		madd(y[j], x[j], z[j])
	}
	return y
}

// same is a coefficient for every vector alike.
func same(name string, count int) func(i int) []v {
	return func(i int) []v {
		var out []v
		for range count {
			out = append(out, load(c(num[name][i])))
		}
		return out
	}
}

// one is evenOdd of numbers, for one vector.
func one(name string, x v) v {
	return evenOdd(same(name, 1), len(num[name]), []v{x}, []v{mul(x, x)})[0]
}

// tableOf makes a table of sixteen rows ready. On AVX-512 a column is read from
// memory when it is asked for.
func tableOf(name string, columns ...[]float64) func(k []v) func(i int) []v {
	if !kit.Wide {
		rows := kit.LookupRows(name, columns...)
		return func(k []v) func(i int) []v {
			all := rows.At(k[0])
			return func(i int) []v { return []v{all(i)} }
		}
	}
	return func(k []v) func(i int) []v {
		return func(i int) []v {
			m := kit.Floats(fmt.Sprintf("%s%d", name, i), columns[i]...)
			low, high := load(m), load(m.Offset(64))
			var out []v
			for _, k := range k {
				z := mov(k)
				VPERMI2PD(high, low, z)
				out = append(out, z)
			}
			return out
		}
	}
}

func each(x []v, f func(i int, x v) v) []v {
	y := make([]v, len(x))
	for i := range x {
		y[i] = f(i, x[i])
	}
	return y
}

// horner is p(x).
func horner(p []float64, x v) v { return horners(p, []v{x})[0] }

func clamp(x []v, bound float64) []v {
	if kit.Case > 0 {
		return x
	}
	return each(x, func(_ int, x v) v { return min(max(x, load(c(-bound))), load(c(bound))) })
}

// inPairs writes a kernel of two vectors a turn on AVX-512: they share the reading of tables. Body has
// the arguments of each vector.
func inPairs(m kit.Map, body func(x [][]v) []v) {
	sideBySide(m, func(x [][]v) (y [][]v) {
		for _, r := range body(x) {
			y = append(y, []v{r})
		}
		return y
	})
}

// sideBySide is inPairs for a body with several results of each vector.
func sideBySide(m kit.Map, body func(x [][]v) [][]v) {
	m.Body = func(x []v) []v { return body([][]v{x})[0] }
	if kit.Wide {
		m.Unroll, m.Together = 2, body
	}
	m.Write()
}

// firsts are the first arguments of each vector.
func firsts(x [][]v) (out []v) {
	for _, x := range x {
		out = append(out, x[0])
	}
	return out
}
