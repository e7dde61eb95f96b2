package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "nabla/kernels/_asm/kit"
)

// horners is p(x).
func horners(p []float64, x []V) []V {
	y := each(x, func(int, V) V { return Copy(c(p[len(p)-1])) })
	for i := len(p) - 2; i >= 0; i-- {
		each(y, func(j int, y V) V { return Madd(y, x[j], c(p[i])) })
	}
	return y
}

// results are the results of each vector.
func results(y ...[]V) [][]V {
	out := make([][]V, len(y[0]))
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

func squares(x []V) []V {
	var y []V
	for _, x := range x {
		y = append(y, Mul(x, x))
	}
	return y
}

// evenOdd is evenOdd of generic_pair.go, with n coefficients p(i); x2 is x*x.
func evenOdd(p func(i int) []V, n int, x, x2 []V) []V {
	n--
	y := p(n)
	z := p(n - 1)
	for i := n - 2; i >= 0; i-- {
		a := y
		if (n-i)%2 == 1 {
			a = z
		}
		for j, p := range p(i) {
			Madd(a[j], x2[j], p)
		}
	}
	if n%2 == 0 {
		y, z = z, y
	}
	for j := range y {
		Madd(y[j], x[j], z[j])
	}
	return y
}

// same is a coefficient for every vector alike.
func same(name string, count int) func(i int) []V {
	return func(i int) []V {
		var out []V
		for range count {
			out = append(out, Copy(c(num[name][i])))
		}
		return out
	}
}

// one is evenOdd of numbers, for one vector.
func one(name string, x V) V {
	return evenOdd(same(name, 1), len(num[name]), []V{x}, []V{Mul(x, x)})[0]
}

// tableOf makes a table of sixteen rows ready. On AVX-512 a column is read from
// memory when it is asked for.
func tableOf(name string, columns ...[]float64) func(k []V) func(i int) []V {
	if !Wide {
		rows := LookupRows(name, columns...)
		return func(k []V) func(i int) []V {
			all := rows.At(k[0])
			return func(i int) []V { return []V{all(i)} }
		}
	}
	return func(k []V) func(i int) []V {
		return func(i int) []V {
			m := Floats(fmt.Sprintf("%s%d", name, i), columns[i]...)
			low, high := Copy(m), Copy(m.Offset(64))
			var out []V
			for _, k := range k {
				z := Copy(k)
				VPERMI2PD(high, low, z)
				out = append(out, z)
			}
			return out
		}
	}
}

func each(x []V, f func(i int, x V) V) []V {
	y := make([]V, len(x))
	for i := range x {
		y[i] = f(i, x[i])
	}
	return y
}

// horner is p(x).
func horner(p []float64, x V) V { return horners(p, []V{x})[0] }

func clamp(x []V, bound float64) []V {
	if Case > 0 {
		return x
	}
	return each(x, func(_ int, x V) V { return Min(Max(x, Copy(c(-bound))), Copy(c(bound))) })
}

// inPairs writes a kernel of two vectors a turn on AVX-512: they share the reading of tables. Body has
// the arguments of each vector.
func inPairs(m Map, body func(x [][]V) []V) {
	sideBySide(m, func(x [][]V) (y [][]V) {
		for _, r := range body(x) {
			y = append(y, []V{r})
		}
		return y
	})
}

// sideBySide is inPairs for a body with several results of each vector.
func sideBySide(m Map, body func(x [][]V) [][]V) {
	m.Body = func(x []V) []V { return body([][]V{x})[0] }
	if Wide {
		m.Unroll, m.Together = 2, body
	}
	m.Write()
}

// firsts are the first arguments of each vector.
func firsts(x [][]V) (out []V) {
	for _, x := range x {
		out = append(out, x[0])
	}
	return out
}
