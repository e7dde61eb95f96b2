package expr

// A Pos is a byte offset into the text of a program.
type Pos int32

// NoPos marks what was not written by anyone, such as a node of a rule.
const NoPos Pos = -1

// A Span is a piece of a program's text: the bytes Start up to End.
type Span struct{ Start, End Pos }

// An Expr is an expression. Where is the text it was read from; Mark is the byte
// that an error about the expression itself points at: the operator of a binary
// expression, the name of a call.
type Expr interface {
	Where() Span
	Mark() Pos
}

// A Stmt is a statement.
type Stmt interface{ Where() Span }

// A Program is a whole text: its statements and the text itself.
type Program struct {
	Name  string // file name, or "" for text typed at the shell
	Text  string
	Stmts []Stmt
}

type (
	// Num is a number as written; Value is the nearest float64.
	Num struct {
		Span
		Text  string
		Value float64
	}
	// Name is a variable, a constant, a function or an operation.
	Name struct {
		Span
		Name string
	}
	// Str is a string; it appears only as an argument.
	Str struct {
		Span
		Value string
	}
	// Unary is a prefix operator: - + ! not (Op is Minus, Plus or Not).
	Unary struct {
		Span
		Op Kind
		X  Expr
	}
	// Binary is an infix operator; OpPos is where it stands.
	Binary struct {
		Span
		Op    Kind
		OpPos Pos
		X, Y  Expr
	}
	// Cond is c ? a : b, lazy.
	Cond struct {
		Span
		C, A, B Expr
	}
	// Call applies a function, an operation or a function value.
	Call struct {
		Span
		Fun  Expr
		Args []Arg
	}
	// Arg is one argument of a call; Name is "" for a positional one.
	Arg struct {
		Name    string
		NamePos Pos
		Value   Expr
	}
	// Index is x[items].
	Index struct {
		Span
		X      Expr
		Lbrack Pos
		Items  []Item
	}
	// Item is one subscript: an expression, a slice, an ellipsis or newaxis.
	Item struct {
		Span
		Kind         ItemKind
		X            Expr // ItemExpr
		Lo, Hi, Step Expr // ItemSlice; nil where left out
	}
	// Field is x.name: an attribute (T, shape, size, ndim, dtype) or a record's field.
	Field struct {
		Span
		X       Expr
		Name    string
		NamePos Pos
	}
	// List is [a, b, …]: a tensor of stacked elements.
	List struct {
		Span
		Elems []Expr
	}
	// Tuple is (a, b, …), (a,) or, on the right of an assignment, a, b.
	Tuple struct {
		Span
		Elems []Expr
	}
	// Record is {name: value, …}.
	Record struct {
		Span
		Fields []RecordField
	}
	// RecordField is one entry of a record.
	RecordField struct {
		Name    string
		NamePos Pos
		Value   Expr
	}
	// Lambda is x -> body or (a, b) -> body.
	Lambda struct {
		Span
		Params []Param
		Body   Expr
	}
)

// ItemKind says what one subscript is.
type ItemKind uint8

const (
	ItemExpr     ItemKind = iota // an integer, or a tensor of integers or bools
	ItemSlice                    // lo:hi:step
	ItemEllipsis                 // ...
	ItemNewaxis                  // newaxis or None
)

// Param is a parameter of a function.
type Param struct {
	Span
	Name string
}

type (
	// Bind is name = value (Op Assign), with several targets for a tuple to unpack,
	// var name = value (Var), or an assignment to state: := += -=.
	Bind struct {
		Span
		Targets []*Name
		Op      Kind // Assign, SetState, AddState, SubState
		OpPos   Pos
		Var     bool
		Value   Expr
	}
	// FuncDef is f(a, b) = expr or f(a, b) { …; expr }.
	FuncDef struct {
		Span
		Name    string
		NamePos Pos
		Params  []Param
		Body    *Block // for f(a) = expr, a block of one ExprStmt
		Braces  bool   // written with { }
	}
	// GradDef is gradient f(a, b; g) = expr, expr.
	GradDef struct {
		Span
		Name     string
		NamePos  Pos
		Params   []Param
		Upstream Param
		Bodies   []Expr // one for each parameter
	}
	// If is if c { } else if … else { }; Else is nil, *Block or *If.
	If struct {
		Span
		Cond Expr
		Then *Block
		Else Stmt
	}
	// While is while c { }.
	While struct {
		Span
		Cond Expr
		Body *Block
	}
	// For is for i in xs { }; several names unpack a tuple.
	For struct {
		Span
		Names []*Name
		In    Expr
		Body  *Block
	}
	// NoGradient is no_gradient { }.
	NoGradient struct {
		Span
		Body *Block
	}
	// Reset forgets the recording.
	Reset struct{ Span }
	// Watch is watch x, y, or with Off, unwatch x, y.
	Watch struct {
		Span
		Off   bool
		Names []*Name
	}
	// ExprStmt is an expression as a statement.
	ExprStmt struct {
		Span
		X Expr
	}
	// Block is { statements }.
	Block struct {
		Span
		Stmts []Stmt
	}
)

// Where is the text of the node.
func (s Span) Where() Span { return s }

// Mark points at the first byte, unless a node says otherwise.
func (s Span) Mark() Pos { return s.Start }

// Mark points at the operator.
func (b *Binary) Mark() Pos { return b.OpPos }

// Mark points at the bracket.
func (x *Index) Mark() Pos { return x.Lbrack }

// Mark points at the name after the dot.
func (x *Field) Mark() Pos { return x.NamePos }
