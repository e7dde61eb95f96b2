package cmd

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"nabla/expr"
	"nabla/output"
)

// A word of the command line is a flag only if it is exactly a flag of ours: -x^2,
// -exp(x) and -3 are expressions. pflag would read them as clusters of flags, so the
// words are sorted before it sees them.

// scan separates the flags, spelled as pflag wants them, from the rest.
func scan(args []string, known *pflag.FlagSet) (flags, rest []string, err error) {
	for i := 0; i < len(args); i++ {
		word := args[i]
		if word == "--" {
			return flags, append(rest, args[i+1:]...), nil
		}
		name, value, form := classify(word, known)
		switch form {
		case formWord:
			rest = append(rest, word)
		case formSwitch:
			flags = append(flags, word)
		case formGlued:
			flags = append(flags, "--"+name+"="+value)
		case formNext:
			if i+1 == len(args) || isFlag(args[i+1], known) {
				value, _ := usageOf(known.Lookup(name))
				return flags, rest, usage("write --"+name+" "+value, "%s needs a value", word)
			}
			i++
			for _, c := range word[1 : len(word)-1] { // the switches before it in a cluster
				if word[1] != '-' {
					flags = append(flags, "-"+string(c))
				}
			}
			flags = append(flags, "--"+name+"="+args[i])
		case formUnknown:
			return flags, rest, unknownFlag(name, value, known)
		}
	}
	return flags, rest, nil
}

// noFlag reports a word such as -x where no expression is expected, so that only a flag can be
// meant by it.
func noFlag(row *command, args []string, known *pflag.FlagSet) error {
	for i := 0; i < len(args) && args[i] != "--" && !strings.HasPrefix(row.args, "EXPR"); i++ {
		word := args[i]
		_, _, f := classify(word, known)
		if f == formNext {
			i++
		}
		if f != formWord || len(word) < 2 || word[0] != '-' || !isFlagName(word[1:]+"x") {
			continue
		}
		hint := strings.TrimSpace("write nabla " + row.name + " " + row.args)
		grad := find("grad")
		if grad.new(streams{}, grad).Flags().ShorthandLookup(word[1:2]) != nil {
			hint += "; nabla grad takes " + word[:2]
		}
		return usage(hint, "nabla %s has no flag %s", row.name, word)
	}
	return nil
}

// isFlag reports whether a word is a long flag of ours, so that no value is meant by it.
func isFlag(word string, known *pflag.FlagSet) bool {
	name, _, _ := strings.Cut(word, "=")
	return strings.HasPrefix(name, "--") && len(name) > 3 && known.Lookup(name[2:]) != nil
}

type form int

const (
	formWord    form = iota // no flag
	formSwitch              // a flag without a value, or a cluster of them
	formGlued               // a flag with its value in the same word
	formNext                // a flag whose value is the next word
	formUnknown             // meant as a flag, and none of ours
)

// classify says what a word is.
func classify(word string, known *pflag.FlagSet) (name, value string, f form) {
	if len(word) < 2 || word[0] != '-' {
		return "", "", formWord
	}
	if strings.HasPrefix(word, "--") {
		name, value, glued := strings.Cut(word[2:], "=")
		flag := known.Lookup(name)
		switch {
		case flag == nil && name == "help":
			return "help", "", formSwitch
		case flag == nil && (isFlagName(name) || glued && isFlagName(strings.TrimSpace(name)+"x")):
			return name, value, formUnknown
		case flag == nil:
			return "", "", formWord
		case glued:
			return name, value, formGlued
		case flag.NoOptDefVal != "":
			return name, "", formSwitch
		}
		return name, "", formNext
	}
	for i := 1; i < len(word); i++ {
		flag := known.ShorthandLookup(word[i : i+1])
		switch {
		case flag == nil:
			return "", "", formWord
		case flag.NoOptDefVal != "":
			continue
		case i == len(word)-1:
			return flag.Name, "", formNext
		case i == 1 && gluedValue(flag.Name, word[2:]):
			return flag.Name, strings.TrimPrefix(word[2:], "="), formGlued
		}
		return "", "", formWord
	}
	return "", "", formSwitch
}

// isFlagName reports whether a word after -- can only be meant as a flag: --hesian, but
// not --x, which is an expression.
func isFlagName(s string) bool {
	if len(s) < 2 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !(c >= 'a' && c <= 'z' || (c == '-' || c == '_') && i > 0 || c >= 'A' && c <= 'Z') {
			return false
		}
	}
	return true
}

// gluedValue reports whether what is glued to a short flag is its value, and no expression
// could be meant: -fjson, -j4, -ax=3, -f=json.
func gluedValue(name, value string) bool {
	if strings.HasPrefix(value, "=") && !strings.HasPrefix(value, "==") {
		return true
	}
	switch name {
	case "format":
		return slices.ContainsFunc(output.Formats, func(f output.Format) bool { return f.Name == value })
	case "threads":
		return strings.Trim(value, "0123456789") == ""
	case "in":
		return value == "-"
	case "at":
		eq := strings.IndexByte(value, '=')
		return eq > 0 && !strings.HasPrefix(value[eq:], "==") && !strings.ContainsAny(value[:eq], "<>!:+-*/^( ")
	}
	return false
}

// unknownFlag is the error for a flag that is none, with the flag or command that it may be.
func unknownFlag(name, value string, known *pflag.FlagSet) error {
	var names []string
	known.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	typed := name
	name = strings.ReplaceAll(name, "_", "-")
	hint := ""
	if slices.Contains(names, name) {
		hint = "write --" + name
	} else if write := foreignFlag(name); write != "" && isFlagOf(write, known) {
		hint = "write " + write
	} else if near := nearFlag(name, names); near != "" {
		hint = "did you mean --" + near + "?"
	} else if slices.Contains(formatNames(), name) && slices.Contains(names, "format") {
		hint = "write -f " + name
	} else if row := find(name); row != nil {
		hint = "it is a command: write nabla " + row.name
	} else if near := nearCommand(name); near != "" {
		hint = "did you mean nabla " + near + "?"
	} else if commands := commandsWith(name); len(commands) > 0 {
		hint = "it is a flag of nabla " + strings.Join(commands, ", ")
	} else if value != "" {
		hint = "the value of a variable is given by --at " + name + "=" + value
	} else if hint = "--help lists the flags"; known.Lookup("expr") != nil {
		hint += "; an expression that begins with -- goes after -e"
	}
	return usage(hint, "unknown flag --%s", typed)
}

// isFlagOf reports whether what to write begins with a flag that a command has.
func isFlagOf(write string, known *pflag.FlagSet) bool {
	flag, long := strings.CutPrefix(strings.Fields(write)[0], "--")
	return !long || known.Lookup(flag) != nil
}

// nearFlag is the flag that a name was meant to be: --output, --hesian; or "".
func nearFlag(name string, flags []string) string {
	for _, f := range flags {
		if len(f) > 2 && strings.HasPrefix(name, f) {
			return f
		}
	}
	return expr.Nearest(name, flags)
}

// foreignFlag is what to write for what other tools call a flag, or "".
func foreignFlag(name string) string {
	switch name {
	case "var", "variable", "set", "let", "param", "arg", "value":
		return "--at x=3"
	case "source", "respect":
		return "--wrt x"
	case "target", "targets":
		return "--of y"
	case "persistent":
		return "--of y,z"
	case "file":
		return "-p FILE for a program, -i FILE for values"
	case "data":
		return "-i FILE"
	case "input", "inputs", "values":
		return "-i FILE"
	case "jobs", "parallel", "cores", "cpus", "workers":
		return "--threads N"
	case "tolerance", "tol", "eps", "epsilon":
		return "--rtol or --atol"
	case "junit", "tap", "github":
		return "--report " + name
	case "memory", "mem":
		return "--max-memory SIZE"
	case "output-gradients", "grad-outputs", "grad-ys", "grad-output", "cotangent", "tangent", "tangents", "direction", "vector":
		return "--with VALUE"
	case "from", "xrange", "xlim", "interval":
		return "--range x=0:1"
	case "unconnected-gradients":
		return "--unconnected zero"
	}
	return ""
}
