package input

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"nabla/tape/tensor"
)

// value is what the text of an assignment stands for.
func (s *Source) value(flag, name, text string) (*tensor.Value, []string, error) {
	if file, ok := fileName(text); ok {
		if file == "" {
			return nil, nil, &UsageError{strings.TrimSpace(flag+" "+name) + ": " + quote(text) + " names no file", "write @FILE, or @- for stdin"}
		}
		if whole, part, ok := cutPart(file); ok && part == "" {
			return nil, nil, &UsageError{strings.TrimSpace(flag+" "+name) + ": nothing follows the colon of " + quote(text), "write @" + whole + ":NAME, or @" + whole + " for all of it"}
		}
		return s.file(file, name)
	}
	origin := strings.TrimSpace(flag + " " + name)
	if s.Eval == nil {
		return nil, nil, &Error{File: flag, Path: name, Msg: quote(text) + " cannot be evaluated here"}
	}
	v, err := s.Eval(text, origin)
	if err == nil {
		if n := topLevel(text); n > 1 && flag != "--with" {
			return nil, nil, &Error{File: flag, Path: name, Msg: fmt.Sprintf("%s is %d values without brackets", quote(text), n),
				Hint: "a tensor is written [1, 2], a tuple (1, 2); the decimal sign is a point, digits are grouped with _, as in 1_000"}
		}
		return v, nil, nil
	}
	e := &Error{File: flag, Path: name, Msg: err.Error(), Err: err}
	if path, ok := parsePath(text); ok && len(path) == 1 {
		e.Msg = quote(text) + " is not a number"
		e.Hint = "a value is a constant expression such as 3, pi/4 or [1, 2]; @" + text + " is a file"
		e.Hint = cmp.Or(spelled(text), e.Hint)
	} else if text == "-" {
		e.Hint = "stdin is written @-"
	} else if strings.HasSuffix(text, ",") {
		e.Hint = "remove the comma"
	} else if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~/") || hasExt(text, ".npy", ".npz", ".json", ".csv", ".tsv", ".txt") {
		e.Hint = "the value in a file is written @" + text
	} else if number := withoutUnit(text); number != "" {
		e.Hint = "a value has no unit: write " + number
	} else if next := glued(text); next != "" {
		e.Hint = "put a comma before " + next
	} else if name, _ := strings.CutPrefix(e.Msg, "unknown name "); name != e.Msg {
		e.Hint = cmp.Or(spelled(name), "a value uses numbers and constants, no other names")
		if strings.Contains(text, name+".") {
			e.Hint = "there are no modules: write " + bare(strings.NewReplacer(name+".random.", "", name+".math.", "", name+".", "").Replace(text))
		}
	} else if strings.Contains(text, ";") && !strings.Contains(text, "=") && strings.HasSuffix(e.Msg, "not a program") {
		e.Hint = "a tensor is written [1, 2]"
	}
	return nil, nil, e
}

// withoutUnit is the number in front of a unit, as in 3.5 km or 20%, or "".
func withoutUnit(text string) string {
	number := strings.TrimSpace(strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZµΩ°$€%"))
	if _, err := strconv.ParseFloat(number, 64); err != nil {
		return ""
	}
	switch unit := strings.TrimSpace(text[len(number):]); unit {
	case "", "e", "pi", "tau", "x", "i", "j":
		return ""
	case "%":
		return number + "/100"
	}
	return number
}

// spelled is how NaN or an infinity of JSON is written in an expression, or "".
func spelled(word string) string {
	if word = strings.ToLower(quotedWord(word)); word == "" {
		return ""
	}
	return "write " + strings.Replace(word, "infinity", "inf", 1)
}

// topLevel is how many values stand side by side in a text without brackets around them.
func topLevel(text string) (n int) {
	for at := 0; at <= len(text); n++ {
		at = valueEnd(text, at, func(int) bool { return true }) + 1
	}
	return n
}

// bare is the value in the call of another library that makes a tensor of it, as in
// tensor([1, 2], requires_grad=True), or the text itself.
func bare(text string) string {
	for _, f := range []string{"array(", "asarray(", "tensor(", "constant(", "Variable(", "matrix("} {
		if value, ok := strings.CutPrefix(text, f); ok {
			value = value[:valueEnd(value, 0, func(int) bool { return true })]
			if open := strings.Count(value, "("); strings.Count(value, ")") > open {
				value = value[:strings.LastIndexByte(value, ')')]
			}
			return value
		}
	}
	return text
}

// glued is the second NAME= of a value that ends before it, or "".
func glued(text string) string {
	depth := 0
	for i, c := range text {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		if depth == 0 && (c == ' ' || c == ';') {
			if name, _, ok := assignee(text, i+1); ok {
				return name + "="
			}
		}
	}
	return ""
}
