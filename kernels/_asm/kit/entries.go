package kit

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// entries are the kernels that Run of package kernels calls: those of slices alone.
var entries []string

// Entry makes a kernel one that Run calls.
func Entry(name string) { entries = append(entries, name) }

// An address is that of a kernel's code, as data.
type address struct {
	U64
	name string
}

func (a address) Asm() string { return "$·" + a.name + "(SB)" }

// family is what the written files are called: exp32AVX512.
func family() (name, stubs string) {
	stubs = flag.Lookup("stubs").Value.String()
	parts := strings.Split(filepath.Base(stubs), "_")
	return parts[0] + strings.TrimPrefix(Suffix, "32"), stubs
}

// writeEntries writes the table of the entries, and a function that finds it.
func writeEntries() {
	name, _ := family()
	m := GLOBL("entries", RODATA|NOPTR)
	for i, e := range entries {
		DATA(8*i, address{U64(0), e})
	}
	TEXT(name+"Entries", NOSPLIT, "func() *uintptr")
	Doc(fmt.Sprintf("%sEntries is where the machine code of %sKernels begins, one after the other.", name, name))
	p := GP64()
	LEAQ(m, p)
	Store(p, ReturnIndex(0))
	RET()
}

// listEntries adds to the declarations the list of the kernels that have an entry.
func listEntries() {
	name, stubs := family()
	f, err := os.OpenFile(stubs, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintf(f, "\n// %sKernels are the kernels that Run calls.\nvar %sKernels = []any{\n", name, name)
	for _, e := range entries {
		fmt.Fprintf(f, "\t%s,\n", e)
	}
	fmt.Fprintln(f, "}")
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}
}
