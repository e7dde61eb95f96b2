package cmd

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"nabla/expr"
	"nabla/output"
	"nabla/tape"
	"nabla/tape/tensor"
)

// inputOptions say what is asked: the program, its data, the sources.
type inputOptions struct {
	At, In, Expr, Program []string
	Wrt, Of               []string
	Const, Watch          []string
	NoWatch, Watched      bool
	Unconnected           string

	command string // whose flags these are
}

// flagsOf binds the flags of a command, and keeps its name for messages.
func (o *inputOptions) flagsOf(row *command) func(f *pflag.FlagSet) {
	o.command = row.name
	return o.bind
}

// bind binds the flags that say what is asked of what.
func (o *inputOptions) bind(f *pflag.FlagSet) {
	manyVar(f, &o.At, "at", "a", "`NAME=VALUE` a variable: a constant expression or @file")
	manyVar(f, &o.In, "in", "i", "`FILE` values: JSON, NPZ, CSV; - is stdin")
	manyVar(f, &o.Expr, "expr", "e", "`TEXT` the program, where an argument will not do")
	manyVar(f, &o.Program, "program", "p", "`FILE` the program, from a file; - is stdin")
	manyVar(f, &o.Wrt, "wrt", "w", "`NAMES` sources; without it every variable")
	manyVar(f, &o.Of, "of", "", "`NAMES` targets; without it the last expression")
	manyVar(f, &o.Const, "const", "", "`NAME=VALUE` a constant: known, not watched")
	manyVar(f, &o.Watch, "watch", "", "`NAMES` watch these, too")
	f.BoolVar(&o.NoWatch, "no-watch", false, "watch nothing but --watch")
	f.BoolVar(&o.Watched, "watched", false, "list the watched variables on stderr")
	f.StringVar(&o.Unconnected, "unconnected", "none", "`none|zero` what an unconnected source gives")
}

// engineOptions say how to compute it.
type engineOptions struct {
	Mode, DType, Conventions string
	Threads                  int
	Seed                     uint64
	Timeout                  time.Duration
	MaxMemory                string
	Stats                    bool
	Progress                 string

	start    time.Time
	deadline time.Time
	limit    int64
	recorded int64 // bytes that the tape may take of them, where the user names a part of the machine
	dtype    tensor.DType
}

// mostRecorded is what the tape of a program may take unless --max-memory is a size: more than 10
// million operations, after some seconds. Where it grows without end, most of the machine
// would be taken, and minutes, before somebody is told.
const mostRecorded = 4 << 30

// bind binds the flags that say how it is computed.
func (o *engineOptions) bind(f *pflag.FlagSet) {
	f.StringVar(&o.Mode, "mode", "auto", "`auto|forward|reverse` how derivatives are taken")
	f.StringVar(&o.DType, "dtype", "float64", "`float64|float32` of numbers that do not say")
	f.IntVarP(&o.Threads, "threads", "j", 0, "`N` at most; 0 is one a core")
	f.Uint64Var(&o.Seed, "seed", 0, "`N` of randn and the like")
	f.DurationVar(&o.Timeout, "timeout", 0, "`DUR` give up after: 500ms, 10s, 2m")
	f.StringVar(&o.MaxMemory, "max-memory", "80%", "`SIZE` ask for no more: 2GiB, 500M, 50%")
	f.StringVar(&o.Conventions, "conventions", "default", "`default|tf|jax|torch` at kinks")
	f.BoolVar(&o.Stats, "stats", false, "what it cost, on stderr")
	f.StringVar(&o.Progress, "progress", "auto", "`auto|always|never` show on stderr that work goes on, after a second")
}

// outputOptions say how to print it.
type outputOptions struct {
	Format, Out            string
	Raw, Compact           bool
	Precision              int
	Assert                 []string
	Strict, Quiet, Verbose bool
	Color                  string
}

// bind binds the flags that say what becomes of the result.
func (o *outputOptions) bind(f *pflag.FlagSet) {
	f.StringVarP(&o.Format, "format", "f", "", "`"+strings.Join(formatNames(), "|")+"` does not depend on the terminal")
	f.StringVarP(&o.Out, "out", "o", "", "`FILE` write it, all or nothing; its extension is the format")
	f.BoolVarP(&o.Raw, "raw", "r", false, "numbers only, a matrix row a line")
	f.BoolVarP(&o.Compact, "compact", "c", false, "JSON on one line")
	f.IntVar(&o.Precision, "precision", 6, "`N` significant digits of a table")
	manyVar(f, &o.Assert, "assert", "A", "`COND` exit 1 unless it holds: 'norm < 1e-6 && finite'")
	f.BoolVar(&o.Strict, "strict", false, "exit 1 for NaN, infinity, none or a warning")
	f.BoolVarP(&o.Quiet, "quiet", "q", false, "no warnings")
	f.BoolVarP(&o.Verbose, "verbose", "v", false, "say more on stderr")
	f.StringVar(&o.Color, "color", "auto", "`auto|always|never` NO_COLOR is never")
}

func formatNames() (names []string) {
	for _, f := range output.Formats {
		names = append(names, f.Name)
	}
	return names
}

// theirWords are other names for the values of flags, two and two.
var theirWords = [...]string{
	"double", "float64", "f64", "float64", "f8", "float64", "fp64", "float64", "64", "float64",
	"single", "float32", "float", "float32", "f32", "float32", "f4", "float32", "fp32", "float32", "32", "float32",
	"backward", "reverse", "rev", "reverse", "adjoint", "reverse", "fwd", "forward", "tangent", "forward",
	"tensorflow", "tf", "keras", "tf", "pytorch", "torch", "numpy", "npy", "text", "table", "matrixmarket", "mtx", "markdown", "md",
	"yes", "always", "on", "always", "true", "always", "no", "never", "off", "never", "false", "never",
	"0", "zero", "zeros", "zero", "null", "none",
}

// oneOf checks the value of a flag that has a few.
func oneOf(flag, value string, values ...string) error {
	for _, v := range values {
		if v == value {
			return nil
		}
	}
	hint := expr.DidYouMean(value, values)
	for i := 0; i < len(theirWords); i += 2 {
		if meant := theirWords[i+1]; theirWords[i] == strings.ToLower(value) && slices.Contains(values, meant) {
			hint = "did you mean " + meant + "?"
		}
	}
	return usage(hint, "--%s %s: it is one of %s", flag, value, strings.Join(values, ", "))
}

// settle checks the flags of the engine and works out what they stand for.
func (o *engineOptions) settle(s streams, quiet bool) (err error) {
	o.start = time.Now()
	if err := oneOf("mode", o.Mode, "auto", "forward", "reverse"); err != nil {
		return err
	}
	if err := oneOf("dtype", o.DType, "float64", "float32"); err != nil {
		return err
	}
	o.dtype, _ = tensor.ParseDType(o.DType)
	if err := oneOf("conventions", o.Conventions, "default", "tf", "jax", "torch"); err != nil {
		return err
	}
	if err := oneOf("progress", o.Progress, "auto", "always", "never"); err != nil {
		return err
	}
	if o.Threads < 0 {
		return usage("", "--threads %d: it is at least 1, or 0 for one a core", o.Threads)
	}
	if o.limit, err = memory(o.MaxMemory); err != nil {
		return err
	}
	if strings.HasSuffix(o.MaxMemory, "%") {
		o.recorded = mostRecorded
		// Collect harder before it is reached. It stops the world: not for a one-liner.
		time.AfterFunc(long, func() { debug.SetMemoryLimit(o.limit) })
	} else {
		debug.SetMemoryLimit(o.limit)
	}
	if o.Threads == 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	switch {
	case o.Timeout < 0:
		return usage("", "--timeout %v: it is more than 0", o.Timeout)
	case o.Timeout > 0:
		o.deadline = o.start.Add(o.Timeout)
	}
	select {
	case s.pace <- pace{o.deadline, o.shows(s, quiet)}:
	default:
	}
	return nil
}

// settle checks the flags of the output.
func (o *outputOptions) settle() error {
	if o.Raw && o.Format != "" && o.Format != "raw" {
		return usage("", "--raw and --format %s do not go together", o.Format)
	}
	if o.Raw {
		o.Format = "raw"
	}
	if other, yes := output.Misnamed(o.Out, o.Format); yes && o.Format != "" {
		return misnamed(o.Out, other, o.Format)
	}
	if o.Format == "" && o.Out != "" && o.Out != "-" {
		name, ok := output.FormatOf(o.Out)
		info, err := os.Stat(o.Out)
		directory := err == nil && info.IsDir() // which writing complains of
		if !ok && !directory && strings.Contains(o.Out[strings.LastIndexByte(o.Out, '/')+1:], ".") {
			hint := "-f names one: " + strings.Join(formatNames(), ", ")
			if slices.Contains([]string{".png", ".svg", ".pdf"}, filepath.Ext(o.Out)) {
				hint = "nabla plot draws pictures"
			}
			return usage(hint, "--out %s: its extension names no format", o.Out)
		}
		o.Format = name
	}
	if o.Format == "" {
		o.Format = output.Formats[0].Name
	}
	if err := oneOf("format", o.Format, formatNames()...); err != nil {
		return err
	}
	if o.Precision < 1 {
		return usage("", "--precision %d: it is at least 1", o.Precision)
	}
	return oneOf("color", o.Color, "auto", "always", "never")
}

// misnamed is the error for a file whose name says one format, and -f another.
func misnamed(file, its, format string) error {
	return usage("leave out the format, or choose another name", "--out %s: its extension says %s, and the format is %s", file, its, format)
}

// to is how a result is written to a stream, which may be a file of the user's instead.
func (o *outputOptions) to(stream any) output.Options {
	tty := terminal(stream)
	color := o.Color == "always"
	if o.Color == "auto" {
		color = tty && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return output.Options{Format: o.Format, Precision: o.Precision, Compact: o.Compact, Raw: o.Raw, Terminal: tty, Color: color, Width: width(stream)}
}

// width is the columns of a terminal, or 0. COLUMNS may say anything.
func width(stream any) int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return min(max(n, 20), 1000)
	}
	if f := file(stream); f != nil && terminal(stream) {
		return columns(f)
	}
	return 0
}

// memory is the size that --max-memory names: bytes, with a unit, or a part of what the
// machine has, and then no more than is free: the system ends who takes what others have.
func memory(text string) (int64, error) {
	bad := func() (int64, error) {
		return 0, usage("write 500M, 2GiB or 50%", "--max-memory %s is no size", text)
	}
	num := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ%")
	n, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
	if err != nil || !(n > 0) {
		return bad()
	}
	if unit := text[len(num):]; unit == "%" {
		if n > 100 {
			return 0, usage("100% is what it has", "--max-memory %s is more than the machine has", text)
		}
		n = min(n*float64(machineMemory())/100, float64(free()))
	} else {
		bytes := map[string]float64{
			"": 1, "b": 1,
			"k": 1e3, "kb": 1e3, "kib": 1 << 10,
			"m": 1e6, "mb": 1e6, "mib": 1 << 20,
			"g": 1e9, "gb": 1e9, "gib": 1 << 30,
			"t": 1e12, "tb": 1e12, "tib": 1 << 40,
		}[strings.ToLower(unit)]
		if bytes == 0 {
			return bad()
		}
		n *= bytes
	}
	return int64(min(n, 1<<62)), nil
}

// tellWatched is --watched.
func (o *inputOptions) tellWatched(w io.Writer, a *tape.Answer) {
	if !o.Watched {
		return
	}
	for _, name := range a.Watched {
		fmt.Fprintln(w, "nabla: watched: "+name)
	}
	if len(a.Watched) == 0 {
		fmt.Fprintln(w, "nabla: watched: nothing")
	}
}

// tellStats is --stats, of one answer, or of many, for which it is nil.
func (o *engineOptions) tellStats(w io.Writer, a *tape.Answer) {
	if !o.Stats {
		return
	}
	work := ""
	if a != nil {
		work = fmt.Sprintf("%d instructions, %d run, %.3g flops, %s at once, ", a.Stats.Instructions, a.Stats.Executed, a.Stats.Flops, tape.Bytes(float64(a.Stats.Peak)))
	}
	fmt.Fprintf(w, "nabla: stats: %s%v, %s\n", work, time.Since(o.start).Round(time.Microsecond), tape.Tier())
	if a != nil && a.Mode != "" {
		fmt.Fprintln(w, "nabla: stats: "+a.Mode)
	}
}

// names are those of several lists, each once.
func names(lists []string) (all []string) {
	for _, list := range lists {
		for _, name := range expr.SplitList(list) {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// constant evaluates a value of --at. Each flag draws its own random numbers, so that
// w=randn(3) and x=randn(3) differ.
func (o *engineOptions) constant(text, origin string) (*tensor.Value, error) {
	seed := o.Seed
	for _, c := range []byte(origin) {
		seed = (seed ^ uint64(c)) * 0x100000001b3 // FNV-1a
	}
	return tape.Eval(text, o.dtype, seed, o.limit)
}
