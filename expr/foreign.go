package expr

import (
	_ "embed"
	"slices"
	"strings"
)

// foreignText has a line for each fix: the words of other languages and libraries that ask for
// it, a colon and what to write instead, in which WORD is the word.
//
//go:embed foreign.txt
var foreignText string

// Foreign is what to write for a word of other languages and libraries, or "".
func Foreign(word string) string {
	for line := range strings.Lines(foreignText) {
		words, write, _ := strings.Cut(line, ": ")
		for w := range strings.FieldsSeq(words) {
			if w == word {
				return strings.ReplaceAll(strings.TrimSpace(write), "WORD", word)
			}
		}
	}
	return ""
}

// types are the words that other languages put in front of a name that they bind.
var types = []string{"double", "float", "int", "long", "auto", "real", "local", "set"}

// infix is the operator for a word that others write between two operands, or "".
func infix(word string) string {
	return map[string]string{
		"mod": "%", "div": "//", "rem": "%", "xor": "!=", "is": "==", "and": "&&", "or": "||", "over": "/", "times": "*",
		"plus": "+", "minus": "-", "dot": "@",
	}[strings.ToLower(word)]
}

// suffixed is what to write for a number with the suffix of another language, glued to it, or
// with a unit; or "".
func suffixed(number, word string, glued bool) string {
	digits := strings.TrimLeft(word[1:], "0123456789")
	switch c := word[0]; {
	case glued && (c == 'd' || c == 'D') && len(word) > 1 && digits == "": // as in Fortran
		return "write " + number + "e" + word[1:]
	case glued && len(word) == 1 && strings.ContainsRune("fFLlu", rune(c)): // as in C
		return "write " + number + ", or " + number + "*" + word
	case glued && word == "x10":
		return "write " + number + "*10^…, or " + number + "e… for powers of ten"
	case word == "deg" || word == "degrees":
		return "write radians(" + number + ")"
	case slices.Contains([]string{"km", "cm", "mm", "kg", "mg", "ms", "Hz", "kHz", "Pa", "kPa", "eV", "mol", "rad", "sec", "min", "USD", "EUR"}, word):
		return "a number has no unit: leave out " + word + ", or write " + number + "*" + word
	}
	return ""
}

// asked is the flag for a word that others put behind an expression, as in x^2 at x=3, or "".
func asked(word string) string {
	switch word {
	case "at", "where", "for", "when", "given":
		return "a value is given with --at x=3"
	case "then":
		return "a choice is written c ? a : b"
	case "wrt", "with", "by":
		return "--wrt x names what to differentiate by"
	}
	return ""
}

// inverse is what f^-1(x) may mean, for a name f.
func inverse(f string) string {
	both := f + "(x)^-1 for 1/" + f + "(x)"
	switch f {
	case "sin", "cos", "tan", "sinh", "cosh", "tanh":
		return "write arc" + f + "(x) for the inverse, " + both
	}
	return "write " + both
}
