package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
)

// A guideCase is an example of TensorFlow's guides to automatic differentiation, as
// command lines and what must come of them.
type guideCase struct {
	ID    string
	Seed  string
	Files map[string]json.RawMessage
	Steps []struct {
		Args   []string
		Stdin  json.RawMessage
		Exit   int
		Stdout []string
		Stderr []string
		Silent bool
		JSON   any
		RTol   float64
		Shapes map[string][]int
		Makes  map[string]string
	}
}

func TestGuide(t *testing.T) {
	text, err := os.ReadFile("../testdata/guide.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []guideCase
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for name, raw := range c.Files {
				if err := os.WriteFile(name, []byte(plain(raw)), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			for _, step := range c.Steps {
				line := "nabla " + strings.Join(step.Args, " ")
				var out, err bytes.Buffer
				code := Main(step.Args, strings.NewReader(plain(step.Stdin)), &out, &err)
				if code != step.Exit {
					t.Fatalf("%s: exit %d, want %d\n%s", line, code, step.Exit, &err)
				}
				for _, rx := range step.Stdout {
					if !regexp.MustCompile("(?m)" + rx).MatchString(out.String()) {
						t.Errorf("%s: stdout %q, want /%s/", line, &out, rx)
					}
				}
				for _, rx := range step.Stderr {
					if !regexp.MustCompile("(?m)" + rx).MatchString(err.String()) {
						t.Errorf("%s: stderr %q, want /%s/", line, &err, rx)
					}
				}
				if step.Silent && err.Len() > 0 {
					t.Errorf("%s: stderr %q, want nothing", line, &err)
				}
				var got any
				if step.JSON != nil || step.Shapes != nil {
					if e := json.Unmarshal(out.Bytes(), &got); e != nil {
						t.Fatalf("%s: stdout %q: %v", line, &out, e)
					}
				}
				if step.JSON != nil {
					rtol := step.RTol
					if rtol == 0 {
						rtol = 1e-12
					}
					if why := lacks(step.JSON, got, rtol, "$"); why != "" {
						t.Errorf("%s: %s", line, why)
					}
				}
				for path, want := range step.Shapes {
					v := got
					for _, p := range strings.Split(path, ".") {
						v = v.(map[string]any)[p]
					}
					if s := shapeOf(v); fmt.Sprint(s) != fmt.Sprint(want) {
						t.Errorf("%s: %s has shape %v, want %v", line, path, s, want)
					}
				}
				for name, magic := range step.Makes {
					b, e := os.ReadFile(name)
					if e != nil || !bytes.Contains(b[:min(len(b), 4096)], []byte(magic)) {
						t.Errorf("%s: %s does not begin like %s: %v", line, name, magic, e)
					}
				}
			}
		})
	}
}

// plain is a JSON string's text, or the JSON itself.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

func shapeOf(v any) (shape []int) {
	for {
		list, ok := v.([]any)
		if !ok {
			return shape
		}
		shape = append(shape, len(list))
		if len(list) == 0 {
			return shape
		}
		v = list[0]
	}
}

// lacks says what of want does not stand in got: objects by key, lists whole, numbers
// within rtol, strings as patterns.
func lacks(want, got any, rtol float64, path string) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %v", path, got)
		}
		for k, v := range w {
			x, ok := g[k]
			if !ok {
				return path + "." + k + " is missing"
			}
			if why := lacks(v, x, rtol, path+"."+k); why != "" {
				return why
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Sprintf("%s is %v, want %v", path, got, want)
		}
		for i := range w {
			if why := lacks(w[i], g[i], rtol, fmt.Sprintf("%s[%d]", path, i)); why != "" {
				return why
			}
		}
		return ""
	case float64:
		g, ok := got.(float64)
		if !ok || !(g == w || math.Abs(g-w) <= rtol*max(math.Abs(w), 1e-3)) {
			return fmt.Sprintf("%s is %v, want %v", path, got, want)
		}
		return ""
	case string:
		if w == "NaN" || strings.HasSuffix(w, "Infinity") {
			break
		}
		if g, ok := got.(string); !ok || !regexp.MustCompile(w).MatchString(g) {
			return fmt.Sprintf("%s is %v, want /%s/", path, got, w)
		}
		return ""
	}
	if want != got {
		return fmt.Sprintf("%s is %v, want %v", path, got, want)
	}
	return ""
}
