package tape

var opStop, opAssign, opWithGrad *Op

func runCopy(c *run) { copy(c.out, c.args[0]) }

var controlRows = []Op{
	{As: &opStop, Name: "stop", Args: "x", Hidden: true, Doc: "a value through which no gradient passes, with the reason", Stops: "stopped", Run: runCopy},
	{As: &opAssign, Name: "assign", Args: "x", Hidden: true, Doc: "a new value of a variable: its history is forgotten", Stops: "state", Run: runCopy},
	{As: &opWithGrad, Name: "with_grad", Args: "value, *x", Hidden: true, Doc: "a value whose gradient is a user's text", Run: runCopy,
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			if i == 0 {
				return None
			}
			return t.Attr(r).Adj(i-1, t.full(ct, r))
		}},
}
