package cmd

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"nabla/expr/cells"
)

// second is how often stderr shows that work goes on. A test has less.
var second = time.Second

// stderr is the stream of messages. Where a person waits it also shows, from the first
// second on, that work goes on: on one line, which is gone before anything else is written.
type stderr struct {
	w     io.Writer
	since time.Time
	mu    sync.Mutex
	shown bool // the line is there
	hush  bool // somebody types
	ended bool
}

// tick shows how long the work has lasted.
func (s *stderr) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended && !s.hush {
		s.shown = true
		line := fmt.Sprintf("nabla: working, %v (ctrl-C ends it)", time.Since(s.since).Round(time.Second))
		if columns := width(s.w); columns > 0 { // a line that is broken would not be taken away
			line = cells.Cut(line, columns-1)
		}
		io.WriteString(s.w, "\r"+line)
	}
}

// clear takes the line away.
func (s *stderr) clear() {
	if s.shown {
		io.WriteString(s.w, "\r\033[K")
		s.shown = false
	}
}

func (s *stderr) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	return s.w.Write(p)
}

// typed tells whether a person types, whose line it is then.
func (s *stderr) typed(begins bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	s.hush = begins
}

// end takes the line away for good.
func (s *stderr) end() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	s.ended = true
}

// answered tells that an answer begins: the line ends, lest it stand among what a person
// sees of it, there or in a pager. A file is not seen.
func (s *stderr) answered(out io.Writer) {
	if f := file(out); f != nil {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return
		}
	}
	s.end()
}

// shows reports whether a person is to see that work goes on.
func (o *engineOptions) shows(s streams, quiet bool) bool {
	return o.Progress == "always" || o.Progress == "auto" && !quiet && terminal(s.err) && os.Getenv("TERM") != "dumb"
}
