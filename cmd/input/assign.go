package input

import (
	"cmp"
	"strconv"
	"strings"

	"nabla/expr"
)

// An Assignment is one NAME=VALUE of a flag.
type Assignment struct {
	Name   string // a name, or a path such as layer1.w
	Text   string // the value as written, without the space around it
	Offset int    // of Text in what was split
}

// SplitAssignments splits 'x=1, y=[2,3]'. A comma ends a value only outside brackets
// and strings, and only before another NAME=, so that x=1,2 is one assignment.
//
//	assignments = path "=" text { "," path "=" text } .
func SplitAssignments(s string) ([]Assignment, error) {
	var list []Assignment
	for at := 0; ; {
		name, value, ok := assignee(s, at)
		if !ok {
			return nil, &UsageError{quote(s) + " is no assignment", cmp.Or(repaired(s[at:]), "write NAME=VALUE, such as x=3 or w=@w.npy")}
		}
		if root := name[:nameLen(name)]; expr.Keyword(root) {
			return nil, &UsageError{root + " is a word of the language, not a name", "choose another name"}
		}
		if name == "true" || name == "false" {
			return nil, &UsageError{name + " is a constant", "choose another name"}
		}
		end := valueEnd(s, value, func(next int) bool { _, _, ok := assignee(s, next); return ok })
		text := strings.TrimSpace(s[value:end])
		if text == "" {
			return nil, &UsageError{name + " is given no value", "write " + name + "=VALUE"}
		}
		list = append(list, Assignment{name, text, value + strings.Index(s[value:], text)})
		if end == len(s) {
			return list, nil
		}
		at = end + 1
	}
}

// repaired is the hint for an assignment whose sign is another's, as in x:3, x==3 and "x 3"; or "".
func repaired(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "{") {
		return "write x=1, y=2; -i - reads a document from stdin"
	}
	if names, values, ok := strings.Cut(s, "="); ok && strings.Contains(names, ",") { // (x, y) = (3, 4)
		left, right := strings.Split(strings.Trim(names, " ()[]"), ","), strings.Split(strings.Trim(values, " ()[]"), ",")
		if len(left) == 2 && len(right) == 2 {
			return "write " + strings.TrimSpace(left[0]) + "=" + strings.TrimSpace(right[0]) + "," + strings.TrimSpace(left[1]) + "=" + strings.TrimSpace(right[1])
		}
	}
	s = strings.TrimPrefix(strings.TrimPrefix(s, "let "), "$")
	name := s[:nameLen(s)]
	value := strings.TrimLeft(s[len(name):], " :=")
	for _, sign := range []string{"<-", "->", "→", "∈", "↦"} {
		value = strings.TrimSpace(strings.TrimPrefix(value, sign))
	}
	if name == "" || value == "" || len(value) == len(s)-len(name) {
		return ""
	}
	if _, err := strconv.ParseFloat(value, 64); err != nil && value[0] != '[' {
		return ""
	}
	return "write " + name + "=" + clip([]byte(value))
}

// assignee reads the NAME= at s[at:]; the value begins at value.
func assignee(s string, at int) (name string, value int, ok bool) {
	eq := strings.IndexByte(s[at:], '=')
	if eq < 0 || strings.HasPrefix(s[at+eq:], "==") {
		return "", 0, false
	}
	name = strings.TrimSpace(s[at : at+eq])
	_, ok = parsePath(name)
	return name, at + eq + 1, ok
}

// valueEnd is where the value that begins at i ends: at a comma outside brackets behind which
// another may begin, or with s.
func valueEnd(s string, i int, another func(at int) bool) int {
	depth := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(depth-1, 0)
		case '"':
			if n := strings.IndexByte(s[i+1:], '"'); n >= 0 {
				i += 1 + n
			}
		case ',':
			if depth == 0 && another(i+1) {
				return i
			}
		}
	}
	return len(s)
}
