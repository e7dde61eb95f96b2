package kit

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"log"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Numbers reads the constants and tables of a Go file, so that the assembly has
// those of the portable kernels. A constant is a table of one number.
func Numbers(file string) map[string][]float64 {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		log.Fatal(err)
	}
	out := map[string][]float64{}
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.ValueSpec)
		if !ok || len(s.Values) != 1 {
			return true
		}
		var add func(e ast.Expr, sign float64)
		add = func(e ast.Expr, sign float64) {
			switch e := e.(type) {
			case *ast.CompositeLit: // rows of a table follow one another
				for _, e := range e.Elts {
					add(e, 1)
				}
			case *ast.UnaryExpr:
				if e.Op == token.SUB {
					add(e.X, -1)
				}
			case *ast.BasicLit:
				v, _ := constant.Float64Val(constant.ToFloat(constant.MakeFromLiteral(e.Value, e.Kind, 0)))
				out[s.Names[0].Name] = append(out[s.Names[0].Name], sign*v)
			}
		}
		add(s.Values[0], 1)
		return true
	})
	return out
}

// A Table of sixteen numbers is looked up by the low four bits of every lane: in
// two registers on AVX-512, in memory on AVX2.
type Table struct {
	low, high V
	ptr       reg.GPVirtual
}

// Lookup16 makes the table ready; it belongs before the loop.
func Lookup16(name string, xs []float64) Table {
	m := Floats(name, xs...)
	if !Wide {
		p := GP64()
		LEAQ(m, p)
		return Table{ptr: p}
	}
	t := Table{low: ZMM(), high: ZMM()}
	VMOVUPD(m, t.low)
	VMOVUPD(m.Offset(64), t.high)
	return t
}

// At is the table's row for each lane of k.
func (t Table) At(k V) V {
	if Wide {
		z := ZMM()
		VMOVAPD(k, z)
		VPERMI2PD(t.high, t.low, z)
		return z
	}
	i, all, z := YMM(), YMM(), YMM()
	VPAND(Bits(15), k, i)
	VMOVUPD(Bits(^uint64(0)), all)
	VXORPD(i, i, z) // else the gather waits for, and keeps alive, what z was
	VGATHERQPD(all, Mem{Base: t.ptr, Index: i, Scale: 8}, z)
	return z
}
