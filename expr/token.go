package expr

import (
	"strings"
	"unicode/utf8"
)

// A Kind is the kind of a token, and the operator of a Unary, Binary or Bind.
type Kind uint8

// The kinds of tokens.
const (
	EOF     Kind = iota
	Newline      // a line end or ';' that ends a statement
	Ident
	Number
	String

	Question // ?
	Colon    // :
	Or       // || or
	And      // && and
	Not      // ! not
	Lt       // <
	Le       // <=
	Gt       // >
	Ge       // >=
	Eq       // ==
	Ne       // !=
	Plus     // +
	Minus    // - −
	Times    // * · ×
	Divide   // /
	FloorDiv // //
	Mod      // %
	MatMul   // @
	Pow      // ^ **

	Assign   // =
	SetState // :=
	AddState // +=
	SubState // -=
	Arrow    // ->
	Comma
	Dot
	Ellipsis
	Lparen
	Rparen
	Lbrack
	Rbrack
	Lbrace
	Rbrace

	// keywords
	KwIf
	KwElse
	KwWhile
	KwFor
	KwIn
	KwVar
	KwGradient
	KwNoGradient
	KwReset
	KwWatch
	KwUnwatch
)

// A Token is a piece of a text. Text is what was written; of a Newline it is ";" or "\n".
type Token struct {
	Kind Kind
	Span
	Text string
}

// assoc says how operators of one level group.
type assoc uint8

const (
	left  assoc = iota
	right       // a^b^c is a^(b^c)
	none        // a < b < c is an error
)

// The levels that are not binary operators; the others stand in the table.
const (
	levelExpr    = 1 // c ? a : b and x -> e
	levelNot     = 4 // not
	levelPrefix  = 8 // - + !
	levelPostfix = 10
)

// kinds is the one table of spellings. The first spelling is the one that is printed;
// level and assoc are of binary operators, 1 the loosest.
var kinds = [...]struct {
	spelling string
	level    int
	assoc    assoc
}{
	EOF:     {spelling: "the end"},
	Newline: {spelling: "the end of the line"},
	Ident:   {spelling: "a name"},
	Number:  {spelling: "a number"},
	String:  {spelling: "a string"},

	Or:       {"|| or", 2, left},
	And:      {"&& and", 3, left},
	Lt:       {"<", 5, none},
	Le:       {"<=", 5, none},
	Gt:       {">", 5, none},
	Ge:       {">=", 5, none},
	Eq:       {"==", 5, none},
	Ne:       {"!=", 5, none},
	Plus:     {"+", 6, left},
	Minus:    {"- −", 6, left},
	Times:    {"* · ×", 7, left},
	Divide:   {"/", 7, left},
	FloorDiv: {"//", 7, left},
	Mod:      {"%", 7, left},
	MatMul:   {"@", 7, left},
	Pow:      {"^ **", 9, right},

	Not:      {spelling: "! not"},
	Question: {spelling: "?"},
	Colon:    {spelling: ":"},
	Assign:   {spelling: "="},
	SetState: {spelling: ":="},
	AddState: {spelling: "+="},
	SubState: {spelling: "-="},
	Arrow:    {spelling: "->"},
	Comma:    {spelling: ","},
	Dot:      {spelling: "."},
	Ellipsis: {spelling: "..."},
	Lparen:   {spelling: "("},
	Rparen:   {spelling: ")"},
	Lbrack:   {spelling: "["},
	Rbrack:   {spelling: "]"},
	Lbrace:   {spelling: "{"},
	Rbrace:   {spelling: "}"},

	KwIf:         {spelling: "if"},
	KwElse:       {spelling: "else"},
	KwWhile:      {spelling: "while"},
	KwFor:        {spelling: "for"},
	KwIn:         {spelling: "in"},
	KwVar:        {spelling: "var"},
	KwGradient:   {spelling: "gradient"},
	KwNoGradient: {spelling: "no_gradient"},
	KwReset:      {spelling: "reset"},
	KwWatch:      {spelling: "watch"},
	KwUnwatch:    {spelling: "unwatch"},
}

// spellings is the table read backwards: by first byte, the longest first. It is filled
// when the program starts, and so without a map.
var spellings struct {
	list [64]spelling
	from [256]uint8 // where the chain of a first byte begins in list, from 1
}

// A spelling is how a token is written.
type spelling struct {
	text string
	kind Kind
	word bool  // it is one, not a sign
	next uint8 // the next one with the same first byte, as from counts; 0: none
}

func init() {
	n := 0
	for i, row := range kinds {
		if Kind(i) < Question {
			continue
		}
		for text, rest := "", row.spelling; rest != ""; {
			text, rest, _ = strings.Cut(rest, " ")
			at := &spellings.from[text[0]]
			for *at > 0 && len(spellings.list[*at-1].text) >= len(text) {
				at = &spellings.list[*at-1].next
			}
			first, _ := utf8.DecodeRuneInString(text)
			spellings.list[n] = spelling{text, Kind(i), isWordStart(first), *at}
			n++
			*at = uint8(n)
		}
	}
}

// word is the kind of a word that is no name.
func word(text string) (Kind, bool) {
	if text == "" {
		return Ident, false
	}
	for i := spellings.from[text[0]]; i > 0; i = spellings.list[i-1].next {
		if s := &spellings.list[i-1]; s.word && s.text == text {
			return s.kind, true
		}
	}
	return Ident, false
}

// Keyword reports whether a word is one of the language that can be no name.
func Keyword(text string) bool {
	k, ok := word(text)
	return ok && k != KwVar // var(x) is an operation, too
}

// sign is the longest operator or bracket at the start of a text, and its spelling.
func sign(text string) (Kind, string) {
	for i := spellings.from[text[0]]; i > 0; i = spellings.list[i-1].next {
		if s := &spellings.list[i-1]; strings.HasPrefix(text, s.text) {
			return s.kind, s.text
		}
	}
	return EOF, ""
}

// String is the canonical spelling of an operator or keyword, and a description of the others.
func (k Kind) String() string {
	if int(k) >= len(kinds) {
		return "?"
	}
	if k < Question {
		return kinds[k].spelling
	}
	s, _, _ := strings.Cut(kinds[k].spelling, " ")
	return s
}

// level is the binding strength of a binary operator, 2 the loosest and 9 the tightest,
// and 0 of everything else.
func (k Kind) level() int { return kinds[k].level }

// isKeyword says whether k is a word that cannot be a name.
func (k Kind) isKeyword() bool { return k >= KwIf && k <= KwUnwatch }
