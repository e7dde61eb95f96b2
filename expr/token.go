package expr

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
