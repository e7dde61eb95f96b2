package cmd_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// doors are what a package of ours may import of ours: the packages named and,
// after "/...", those below. A package that is not listed has the door of the
// one above it.
var doors = map[string][]string{
	".":              {"cmd"},
	"cmd":            {"cmd/...", "expr/...", "kernels/pages", "output/...", "tape", "tape/tensor"},
	"tape":           {"expr", "kernels/...", "tape/..."},
	"tape/double":    {},
	"tape/matrix":    {"kernels", "tape/pool"},
	"tape/order":     {},
	"tape/pool":      {"kernels"},
	"tape/puiseux":   {"kernels"},
	"tape/sparsity":  {"tape/tensor"},
	"tape/unbounded": {"kernels"},
	"tape/tensor":    {}, // the leaf that everyone may import
	"expr":           {"expr/cells"},
	"expr/cells":     {},                      // a leaf, too
	"expr/referee":   {"expr", "tape/tensor"}, // shares no code with the tape, or it would be no referee
	"kernels":        {"kernels/pages"},
	"output":         {"expr/cells", "kernels/pages", "output/...", "tape/tensor"}, // knows tensors, never a tape
}

// homes are the files that may import a package of others; patterns without a
// folder are for every folder.
var homes = map[string][]string{
	"github.com/spf13/cobra":            {"cmd/*.go"},
	"github.com/spf13/pflag":            {"cmd/*.go"},
	"golang.org/x/sys":                  {"cmd/columns_*.go"},
	"github.com/olekukonko/tablewriter": {"output/table*.go"},
	"github.com/mattn/go-runewidth":     {"output/table*.go"},
	"github.com/Knetic/govaluate":       {"expr/referee/*.go"},
	"golang.org/x/image":                {"output/plot/*.go"},
	"gonum.org/v1/gonum":                {"cmd/difference/*.go", "*_test.go"},
}

// topLevel is all that the top level holds.
var topLevel = []string{
	".ci", ".git", ".github", ".gitignore", "LICENSE", "README.md", "go.mod", "go.sum", "main.go", "staticcheck.conf",
	"cmd", "expr", "kernels", "output", "tape", "testdata",
}

// eachFile parses every file of Go that go build would see.
func eachFile(t *testing.T, mode parser.Mode, each func(file string, syntax *ast.File)) {
	tree := os.DirFS("..")
	err := fs.WalkDir(tree, ".", func(file string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (name[0] == '.' || name[0] == '_' || name == "testdata"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(tree, file)
		if err != nil {
			return err
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), file, text, mode)
		if err == nil {
			each(file, syntax)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestImports(t *testing.T) {
	eachFile(t, parser.ImportsOnly, func(file string, syntax *ast.File) {
		for _, spec := range syntax.Imports {
			if what, _ := strconv.Unquote(spec.Path.Value); !may(file, what) {
				t.Errorf("%s imports %s, which its package has no door to", file, what)
			}
		}
	})
}

// TestProcess: only main.go touches the process that it runs in: its arguments, its streams and its end.
func TestProcess(t *testing.T) {
	ofMain := []string{"Args", "Exit", "Stdin", "Stdout", "Stderr"}
	eachFile(t, parser.SkipObjectResolution, func(file string, syntax *ast.File) {
		if file == "main.go" || strings.HasSuffix(file, "_test.go") {
			return
		}
		ast.Inspect(syntax, func(n ast.Node) bool {
			if of, ok := n.(*ast.SelectorExpr); ok && slices.Contains(ofMain, of.Sel.Name) {
				if pack, ok := of.X.(*ast.Ident); ok && pack.Name == "os" {
					t.Errorf("%s uses os.%s, which is for main.go alone", file, of.Sel.Name)
				}
			}
			return true
		})
	})
}

// may reports whether a file may import a package.
func may(file, what string) bool {
	if ours, ok := strings.CutPrefix(what, "nabla/"); ok {
		dir := path.Dir(file)
		if ours == dir { // a test from outside the package
			return true
		}
		for ; doors[dir] == nil; dir = path.Dir(dir) {
		}
		return slices.ContainsFunc(doors[dir], func(door string) bool {
			above, tree := strings.CutSuffix(door, "/...")
			return ours == above || tree && strings.HasPrefix(ours, above+"/")
		})
	}
	if first, _, _ := strings.Cut(what, "/"); !strings.Contains(first, ".") {
		return what != "C"
	}
	for pack, files := range homes {
		if what != pack && !strings.HasPrefix(what, pack+"/") {
			continue
		}
		return slices.ContainsFunc(files, func(pattern string) bool {
			whole, _ := path.Match(pattern, file)
			base, _ := path.Match(pattern, path.Base(file))
			return whole || base
		})
	}
	return false
}

func TestTopLevel(t *testing.T) {
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	ignored, err := os.ReadFile(filepath.Join("..", ".gitignore"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if !slices.Contains(topLevel, name) && !slices.ContainsFunc(strings.Fields(string(ignored)), func(pattern string) bool {
			match, _ := path.Match(strings.TrimPrefix(pattern, "/"), name)
			return match
		}) {
			t.Errorf("the top level holds %s; it has room for %s", name, strings.Join(topLevel, " "))
		}
	}
}
