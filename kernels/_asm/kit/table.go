package kit

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"log"
	"math/bits"

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
// two registers on AVX-512, else in memory.
type Table struct {
	low, high V
	ptr       reg.GPVirtual
	rows      Rows // on NEON
	at        int  // of a leaf
}

// Lookup16 makes the table ready; it belongs before the loop.
func Lookup16(name string, xs []float64) Table {
	if Neon {
		return Table{rows: LookupRows(name, xs)}
	}
	if Leaf {
		return Table{at: leafTable(xs)}
	}
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
	if Neon {
		return t.rows.At(k)(0)
	}
	z := New()
	t.Into(k, z)
	return z
}

// Into makes z the table's row for each lane of k.
func (t Table) Into(k, z V) {
	if Leaf {
		leafRow(t.at, k, z)
		return
	}
	if Wide {
		VMOVAPD(k, z)
		VPERMI2PD(t.high, t.low, z)
		return
	}
	i, all := YMM(), YMM()
	VPAND(Bits(15), k, i)
	VMOVUPD(Bits(^uint64(0)), all)
	VXORPD(i, i, z) // else the gather waits for, and keeps alive, what z was
	VGATHERQPD(all, Mem{Base: t.ptr, Index: i, Scale: 8}, z)
}

// A Rows is a table of sixteen rows, for AVX2 and NEON: the whole row of every lane
// is read at once, which is faster than one gather for every column.
type Rows struct {
	ptr     reg.GPVirtual
	columns int
	disp    int   // from ptr, where tables follow one another
	first   int   // of the addresses on NEON
	at      []int // of the columns, of a leaf
}

// LookupRows makes the table of these columns ready; it belongs before the loop.
func LookupRows(name string, columns ...[]float64) Rows {
	if Neon {
		return rowsNeon(name, columns)
	}
	if Leaf {
		var at []int
		for _, c := range columns {
			at = append(at, leafTable(c))
		}
		return Rows{at: at}
	}
	return LookupTables(name, columns)[0]
}

// LookupTables makes tables of columns ready, one after the other, so that one register has the address of
// all; for AVX2.
func LookupTables(name string, tables ...[][]float64) (all []Rows) {
	var xs []float64
	p := GP64()
	for _, columns := range tables {
		n := 1 << bits.Len(uint(len(columns)-1))
		all = append(all, Rows{ptr: p, columns: n, disp: 8 * len(xs)})
		rows := make([]float64, 16*n)
		for j, c := range columns {
			for i, x := range c {
				rows[i*n+j] = x
			}
		}
		xs = append(xs, rows...)
	}
	LEAQ(Floats(name, xs...), p)
	return all
}

// At gives a column's number for each lane of k, which is taken modulo sixteen. The
// columns are read in pairs, where one is first asked for.
func (t Rows) At(k V) func(column int) V {
	if Neon {
		return t.atNeon(k)
	}
	if Leaf {
		return func(i int) V {
			z := New()
			leafRow(t.at[i], k, z)
			return z
		}
	}
	offset, high := YMM(), XMM()
	Do(func() {
		VPAND(Bits(15), k, offset)
		VPSLLQ(U8(bits.Len(uint(4*t.columns))), offset, offset)
	}, k, offset)
	Do(func() { VEXTRACTI128(Imm(1), offset, high) }, offset, high)
	var row [4]reg.GPVirtual
	for i := range row {
		row[i] = GP64()
		half, of := Op(offset.AsX()), Op(offset)
		if i > 1 {
			half, of = high, high
		}
		Do(func() {
			if i%2 == 0 {
				VMOVQ(half, row[i])
			} else {
				VPEXTRQ(Imm(1), half, row[i])
			}
		}, of, row[i])
	}
	have := map[int]V{}
	column := func(i int) V {
		if have[i] == nil {
			j := i &^ 1
			pair := func(a, b reg.GPVirtual) V {
				z := YMM()
				Do(func() {
					VBROADCASTF128(t.mem(a, j), z) // all of z, or avo keeps its upper half alive
					VINSERTF128(Imm(1), t.mem(b, j), z, z)
				}, a, b, z)
				return z
			}
			even, odd := pair(row[0], row[2]), pair(row[1], row[3])
			low, high := YMM(), YMM()
			have[j], have[j+1] = low, high
			Do(func() { VUNPCKLPD(odd, even, low) }, even, odd, low)
			Do(func() { VUNPCKHPD(odd, even, high) }, even, odd, high)
		}
		return have[i]
	}
	for i := 0; i < t.columns && keep != nil; i++ { // of which the rest may be read in another part
		column(i)
	}
	return column
}

// mem is column j of the row so many bytes from the first.
func (t Rows) mem(row reg.GPVirtual, j int) Mem {
	return Mem{Base: t.ptr, Index: row, Scale: 1, Disp: t.disp + 8*j}
}
