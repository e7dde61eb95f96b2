// Package cmd is the command line: words to calls. A command is an Options struct, a
// function that binds flags to it and a function that runs it; the table of commands is
// in root.go, the exit codes are in errors.go. The module _pflag is cobra's pflag without what
// would bring libc into the program; its ip.go says why.
package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"nabla/cmd/stack"
	"nabla/kernels/pages"
	"nabla/output"
	"nabla/tape"
)

// streams are the outside world of a command.
type streams struct {
	in       io.Reader
	out, err io.Writer
	stop     <-chan struct{} // closed when the user has had enough
	pace     chan<- pace     // told, once it is known
}

// A pace is what a command says of the time it may take.
type pace struct {
	deadline time.Time // the time limit, or zero
	shown    bool      // stderr shows that work goes on
}

// Main runs a command line and returns its exit code. It never ends the process itself.
func Main(args []string, in io.Reader, out, err io.Writer) int {
	stop, told := make(chan struct{}), make(chan pace, 1)
	say := &stderr{w: err, since: time.Now()}
	defer say.end()
	r := &reporter{w: say}
	if err := cmp.Or(scarce(), noTier(os.Getenv("NABLA_CPU"))); err != nil {
		return r.report(err)
	}
	to := &stdout{w: out, say: say}
	s := streams{in, to, say, stop, told}
	v := &vigil{r: r, to: to, say: say, stop: stop, told: told, done: make(chan error, 1), signals: make(chan os.Signal, 2)}
	// What costs a tenth of a one-liner waits until it is none: until then a signal ends
	// the process by itself, with the same exit code. A file that is being written has to go.
	if writesFile(args) {
		v.listen()
	} else {
		later := time.AfterFunc(long, v.listen)
		defer later.Stop()
	}
	defer func() {
		signal.Stop(v.signals)
		pages.Forget()
	}()
	go func() {
		defer func() {
			if p := recover(); p != nil {
				v.done <- panicked(p)
			}
		}()
		debug.SetPanicOnFault(true)
		stack.Grow()
		v.done <- execute(args, s, r)
	}()
	return v.wait()
}

// A vigil waits for a command to end: by itself, with its time, or by a signal.
type vigil struct {
	r       *reporter
	to      *stdout
	say     *stderr
	stop    chan<- struct{} // closed when the user has had enough
	told    <-chan pace
	done    chan error
	signals chan os.Signal
}

// A command is short and allocates for its result. Collecting early costs, and late, too, as memory that
// has not come back is followed by fresh one: with 400 percent the gradient of 10^7 numbers, again and again,
// took 1.4 times the time, and the first 30 batch Jacobians of 17 MB 1.3 times. But the first time the collector
// starts threads and looks at all that there is, for 1.5 to 2 ms, when most commands are about to end. Where it waits for
// 64 MB until then, gradients of a million squares and of a network take .9 of the time, as processes.
const (
	gcPercent   = 200
	latePercent = 1600 // of 4 MB
	late        = 25 * time.Millisecond
)

// listen hears signals from here on.
func (v *vigil) listen() {
	debug.SetGCPercent(latePercent)
	time.AfterFunc(late, func() { debug.SetGCPercent(gcPercent) })
	heard := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
	if os.Getenv("NABLA_DEBUG") == "" { // where Go's runtime shows what each goroutine does, and exits with 2
		heard = append(heard, syscall.SIGQUIT)
	}
	for _, sig := range heard {
		if !signal.Ignored(sig) { // as nohup wants
			signal.Notify(v.signals, sig)
		}
	}
	// A closed pipe is an error like another, and not a signal that kills.
	signal.Ignore(syscall.SIGPIPE)
}

// wait returns the exit code.
func (v *vigil) wait() int {
	var overdue, tick <-chan time.Time
	taken := int64(-1) // of the answer, when it was last looked at
	for {
		select {
		case e := <-v.done:
			return v.r.report(e)
		case p := <-v.told:
			if !p.deadline.IsZero() {
				// The computation looks at the clock by itself; this is for when it does not.
				overdue = time.After(time.Until(p.deadline) + grace)
			}
			if p.shown {
				t := time.NewTicker(second)
				defer t.Stop()
				tick = t.C
			}
		case <-tick:
			v.say.tick()
		case <-overdue:
			if v.to.shut() {
				output.Abandon()
				return v.r.report(&failure{code: exitRun, kind: "timeout", msg: "the time limit is reached", hint: "--timeout raises it"})
			}
			// The answer was there in time, and half of it would be none: while it is read, it is written.
			if now := v.to.taken.Load(); now != taken {
				taken, overdue = now, time.After(patience)
				continue
			}
			output.Abandon()
			return v.r.report(&failure{code: exitOutput, kind: "timeout", msg: fmt.Sprintf("output: the time limit is reached, and nobody has read on for %v", patience), hint: "--timeout raises it"})
		case sig := <-v.signals:
			return v.interrupt(sig)
		}
	}
}

// interrupt ends the command, once it has had the time to remove its temporary files.
func (v *vigil) interrupt(sig os.Signal) int {
	close(v.stop)
	select {
	case <-v.done:
	case <-time.After(grace):
	case <-v.signals:
	}
	output.Abandon()
	switch sig {
	case syscall.SIGTERM:
		return exitTerminated
	case syscall.SIGHUP:
		return exitHungUp
	case syscall.SIGQUIT:
		return exitQuit
	}
	return exitInterrupted
}

// writesFile reports whether a command line has -o or --out: if it only seems to, nothing is lost.
func writesFile(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		return strings.HasPrefix(a, "--out") || strings.HasPrefix(a, "-") && (strings.HasSuffix(a, "o") || strings.HasPrefix(a, "-o"))
	})
}

// noTier refuses the name of kernels that this CPU does not run: falling back without a
// word would measure others. Without a name the CPU is not asked: that takes a one-liner 20 µs.
func noTier(name string) error {
	if name == "" {
		return nil
	}
	if tiers := tape.Tiers(); !slices.Contains(tiers, name) {
		return usage("this CPU runs "+strings.Join(tiers, ", "), "NABLA_CPU=%s names no kernels that are here", name)
	}
	return nil
}

// long is when a run is no one-liner any more.
const long = 5 * time.Millisecond

// grace is how long a computation may take to notice that it should stop.
const grace = 250 * time.Millisecond

// patience is how long, behind the time limit, a reader may take nothing of the answer: a
// person in a pager pauses, a process that hangs should not hang others. A test has less.
var patience = time.Minute

// stdout marks the errors of standard output, which is not a file with a name. It carries
// whole answers: while one is written it is not shut.
type stdout struct {
	w     io.Writer
	say   *stderr
	each  bool // every Write is an answer, or several
	state atomic.Int32
	taken atomic.Int64 // bytes that were written
}

const (
	open = iota
	answering
	closed
)

// shut keeps answers from being written, unless one has begun.
func (s *stdout) shut() bool { return s.state.CompareAndSwap(open, closed) }

func (s *stdout) Write(p []byte) (int, error) {
	if s.state.CompareAndSwap(open, answering) {
		if err := pages.Check(); err != nil {
			return 0, err
		}
		s.say.answered(s.w)
	} else if s.state.Load() == closed {
		return 0, &writeError{os.ErrDeadlineExceeded}
	}
	if s.each {
		defer s.state.Store(open)
	}
	n := 0
	for {
		// A pipe holds 64 KiB: so much at a time shows whether its reader goes on.
		m, err := s.w.Write(p[n:min(n+1<<16, len(p))])
		n += m
		s.taken.Add(int64(m))
		if err != nil {
			return n, &writeError{err}
		}
		if n == len(p) {
			return n, nil
		}
	}
}

// file is the file behind a stream, or nil.
func file(stream any) *os.File {
	switch s := stream.(type) {
	case *stdout:
		stream = s.w
	case *stderr:
		stream = s.w
	}
	f, _ := stream.(*os.File)
	return f
}

// terminal reports whether a person reads a stream, or types into it.
func terminal(stream any) bool {
	f := file(stream)
	if f == nil {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && isTerminal(f)
}

// input is where stdin is read from: a person at a terminal is told.
func (s *streams) input() io.Reader {
	if terminal(s.in) {
		return &typing{s.in, s.err, false, nil}
	}
	return s.in
}

// typing is what a person types. A terminal forgets that its text has ended: asked once more
// it waits for more of it.
type typing struct {
	r    io.Reader
	err  io.Writer
	told bool
	end  error
}

func (t *typing) Read(p []byte) (n int, err error) {
	if !t.told {
		io.WriteString(t.err, "nabla: reading from the terminal; ctrl-D on an empty line ends it\n")
		t.told = true
	}
	if t.end == nil {
		if say, ok := t.err.(*stderr); ok {
			say.typed(true)
			defer say.typed(false)
		}
		n, t.end = t.r.Read(p)
	}
	return n, t.end
}

// A writeError says that standard output did not take the result.
type writeError struct{ err error }

func (e *writeError) Error() string { return "output: " + plainCause(e.err) }
func (e *writeError) Unwrap() error { return e.err }
func (e *writeError) ExitCode() int {
	if errors.Is(e.err, syscall.EPIPE) || errors.Is(e.err, io.ErrClosedPipe) {
		return exitPipe
	}
	return exitOutput
}

// plainCause is the error without the name that the system gives the stream.
func plainCause(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// panicked is the error of a panic: an internal one, but where a file is not what it was.
func panicked(p any) error {
	if err := pages.Fault(p); err != nil {
		return err
	}
	return &internalError{p, debug.Stack()}
}

// An internalError is a broken invariant of ours.
type internalError struct {
	cause any
	stack []byte
}

func (e *internalError) Error() string {
	return fmt.Sprintf("internal error: %v", e.cause)
}
func (*internalError) ExitCode() int { return exitRun }
