// Package expr reads programs: text to tree. It knows syntax only, no operations and no
// shapes.
//
//	program   = { statement end } .                              end = newline | ";"
//	statement = targets "=" exprs                                bind, or unpack a tuple
//	          | [ "var" ] name "=" exprs | name ( ":=" | "+=" | "-=" ) exprs
//	          | name params ( "=" exprs | block )                define a function
//	          | "gradient" name "(" names ";" name ")" "=" expr { "," expr }
//	          | "if" expr block { "else" "if" expr block } [ "else" block ]
//	          | "while" expr block | "for" names "in" exprs block
//	          | "no_gradient" block | "reset" | ( "watch" | "unwatch" ) names
//	          | exprs .
//	block     = "{" program "}" .
//	targets   = name { "," name } | "(" name { "," name } ")" .
//	exprs     = expr { "," expr } .                              two or more are a tuple
//	expr      = binary(2) [ "?" expr ":" expr ] | name "->" expr | params "->" expr .
//	params    = "(" [ names ] ")" .
//	names     = name { "," name } .
//	binary(n) = prefix { operator binary(n') } .                 operators of level n and up
//	prefix    = ( "-" | "+" | "!" ) binary(8) | "not" binary(4) | postfix .
//	postfix   = primary { "(" [ arg { "," arg } ] ")" | "[" item { "," item } [ "," ] "]" | "." name } .
//	arg       = [ name "=" ] ( expr | string | "(" ")" ) .
//	item      = expr | [ expr ] ":" [ expr ] [ ":" [ expr ] ] | "..." | "newaxis" | "None" .
//	primary   = number | name | "(" expr ")" | "(" expr "," [ list ] ")"
//	          | "[" [ list ] "]" | "{" name ":" expr { "," name ":" expr } [ "," ] "}" .
//	list      = exprs [ "," ] .
//
// The levels of the operators stand in one table, in token.go: || 2, && 3, not 4,
// comparison 5, sum 6, product 7, prefix 8, power 9. In binary(n), n' is one more than the
// operator's own level, or that level where it groups to the right.
//
// A line end ends a statement unless it stands inside ( ), [ ] or a record, or behind a
// token that wants more, such as an operator or a comma. The block of an if, while or for
// is the first "{" outside brackets, so that a record in its condition needs parentheses.
//
// A tree is at most maxDepth high, except that a chain of binary operators that group to
// the left may be of any length: whoever walks a tree walks its left spine in a loop.
package expr
