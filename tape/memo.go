package tape

import "nabla/expr"

// A memo holds what calls of the program's functions gave, by function and arguments: a function that
// calls another twice, which calls a third one twice, would make 2^n calls, of which few differ.
// It is begun when many calls were made; before that no call pays for it.
//
// A call gives again what it gave where nothing but its arguments tells it from the one before:
// names of the program that have other values since, variables that were assigned, random
// numbers, and derivatives, whose sources are single values, make it forget.
type memo struct {
	calls  int
	events int // of those
	given  map[called]Ref
}

// A called is a call of f: arguments behind the first n are None.
type called struct {
	f    *closure
	args [4]Ref
}

// memoFrom is after how many calls what they give is kept, and mostCalls after how many the program is
// taken for endless, after some seconds, unless there is a time limit. Tests set them low.
var memoFrom, mostCalls = 1 << 14, 5_000_000

// called counts a call of f, and says what it is called in the memo; false if it is not there.
func (lo *lowering) called(f *closure, args []value, at *expr.Call) (key called, kept bool) {
	m := &lo.memo
	if m.calls++; m.calls&1023 == 0 && lo.check != nil {
		lo.check()
	}
	if m.calls < memoFrom {
		return key, false
	}
	if m.calls > mostCalls && !lo.t.timed {
		lo.advise(at, "run", "with --timeout 10m it may make more; one that calls itself twice makes 2^n", "functions were called %d times: does that end?", mostCalls)
	}
	if f.scope != lo.top || lo.rolled || lo.body > 0 || len(lo.off) > 0 || lo.t.inner > 0 || len(args) > len(key.args) {
		return key, false
	}
	key = called{f, [4]Ref{None, None, None, None}}
	for i, a := range args {
		r, ok := a.(Ref)
		if !ok {
			return key, false
		}
		key.args[i] = r
	}
	return key, true
}

// keep notes what a call gave, if nothing happened since there were so many events.
func (m *memo) keep(key called, v value, events int) {
	r, ok := v.(Ref)
	if !ok || m.events != events {
		return
	}
	if m.given == nil {
		m.given = map[called]Ref{}
	}
	m.given[key] = r
}

// forget begins anew: from here on calls may give something else.
func (m *memo) forget() {
	m.events++
	m.given = nil
}
