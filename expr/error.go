package expr

// An Error is a mistake in a program's text, or one found while running it, with
// its place. The caret stands at Mark, the span is underlined around it.
type Error struct {
	Prog  *Program // the text; nil when there is none to show
	Where Span
	Mark  Pos
	Kind  string // syntax, name, shape, type, gradient: the "kind" of the JSON error
	Msg   string // one line, lower case, no full stop
	Note  string // what stands behind the caret line, such as "x is (7, 5), w is (4, 3)"
	Hint  string // the likely fix, such as "did you mean sin?"
}

func (e *Error) Error() string { return e.Msg }
