// Command arith writes the elementwise arithmetic kernels.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	"nabla/kernels/_asm/kit"
)

type v = kit.V

func main() {
	kit.Start()
	for _, op := range []struct {
		name, doc string
		emit      func(x, y, z v)
	}{
		{"add", "\tfor i := range dst { dst[i] = x[i] + y[i] }", func(x, y, z v) { VADDPD(y, x, z) }},
		{"sub", "\tfor i := range dst { dst[i] = x[i] - y[i] }", func(x, y, z v) { VSUBPD(y, x, z) }},
		{"mul", "\tfor i := range dst { dst[i] = x[i] * y[i] }", func(x, y, z v) { VMULPD(y, x, z) }},
		{"div", "\tfor i := range dst { dst[i] = x[i] / y[i] }", func(x, y, z v) { VDIVPD(y, x, z) }},
	} {
		kit.Map{Name: op.name, Doc: op.doc, Args: "x, y", Unroll: 4, Body: func(x []v) []v {
			z := kit.New()
			op.emit(x[0], x[1], z)
			return []v{z}
		}}.Write()
	}
	Generate()
}
