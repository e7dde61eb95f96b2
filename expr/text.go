package expr

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Text for messages, and lists of names as they are typed.

// Brief is text that fits into a message.
func Brief(text string) string {
	if utf8.RuneCountInString(text) <= 40 {
		return text
	}
	r := []rune(text)
	return string(r[:24]) + "…" + string(r[len(r)-8:])
}

// Plural is a number of things, as messages say it: 1 argument, 2 arguments.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Some names as many as fit into a message: "a, b, c, … (100 in all)".
func Some(names []string) string {
	text := ""
	for i, n := range names {
		n = Brief(n)
		if i > 0 {
			n = ", " + n
		}
		if len(text)+len(n) > 100 {
			return fmt.Sprintf("%s, … (%d in all)", text, len(names))
		}
		text += n
	}
	return text
}

// SplitList cuts a list of names or parameters at its commas, those inside brackets apart.
func SplitList(text string) (list []string) {
	depth, from := 0, 0
	for i := 0; i <= len(text); i++ {
		if i == len(text) || text[i] == ',' && depth == 0 {
			if part := strings.TrimSpace(text[from:i]); part != "" {
				list = append(list, part)
			}
			from = i + 1
			continue
		}
		switch text[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		}
	}
	return list
}
