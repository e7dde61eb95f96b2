package cmd

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the transcripts should say")

// A transcript is a text of commands and what they print:
//
//	-- data.json --            a file for what follows
//	{"x": 3}
//	-- --                      the end of the files
//	$ nabla 'x^2' -i data.json -r
//	6
//	$ nabla 'x^2' -r
//	nabla: x has no value
//	    hint: --at x=…
//	# exit 4
//
// Pipes lead from echo, cat or nabla to nabla; > writes a file. Stdout and stderr stand
// as a terminal shows them.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("../testdata/cli/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			file, err = filepath.Abs(file)
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			compare(t, file, string(text), transcript(t, string(text)))
		})
	}
}

// TestReadme runs the console blocks of the README.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Skip("there is no README")
	}
	file, _ := filepath.Abs("../README.md")
	programs, _ := filepath.Abs("../testdata")
	t.Chdir(t.TempDir())
	if err := os.Symlink(programs, "testdata"); err != nil {
		t.Skip(err)
	}
	var out strings.Builder
	rest := string(text)
	for {
		before, block, found := strings.Cut(rest, "```console\n")
		out.WriteString(before)
		if !found {
			break
		}
		out.WriteString("```console\n")
		body, after, _ := strings.Cut(block, "```")
		out.WriteString(transcript(t, body) + "```")
		rest = after
	}
	compare(t, file, string(text), out.String())
}

// TestExamples runs what the helps show.
func TestExamples(t *testing.T) {
	var texts []string
	for _, c := range commands {
		texts = append(texts, c.long, c.example)
	}
	var names []string
	for _, topic := range topics {
		names = append(names, topic.name)
		text, err := helpTexts.ReadFile("help/" + topic.name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
				t.Errorf("help %s: a line of %d columns: %s", topic.name, n, line)
			}
		}
		texts = append(texts, string(text))
	}
	if all := strings.Join(names, ", "); all != topicNames {
		t.Errorf("the topics are %s, not %s", all, topicNames)
	}
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"system.json": `{"A": [[2, 0], [0, 4]], "b": [1, 2]}`,
		"cases.json":  `[{"name": "square", "expr": "x^2", "at": {"x": 3}}]`,
		"old.json":    `{"w": [1, 2]}`, "new.json": `{"w": [1, 2]}`, "expected.json": `{"x": 6}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	for _, setup := range [][]string{
		{"eval", "{x: randn(4, 3), w: randn(3, 2), y: randn(4, 2)}", "-o", "data.npz"},
		{"eval", "randn(5)", "-o", "x.npy"},
		{"eval", "{w: [1, 2]}", "-o", "grad.npz"},
		{"eval", "{w: [1, 2]}", "-o", "torch.npz"},
	} {
		if code := Main(setup, strings.NewReader(""), &out, &out); code != 0 {
			t.Logf("%v: %s", setup, &out)
		}
	}
	for _, text := range texts {
		for line := range strings.Lines(text) {
			command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ ")
			if !ok {
				continue
			}
			command, _, _ = strings.Cut(command, " | jq")
			command, _, _ = strings.Cut(command, " | dot")
			command, _, _ = strings.Cut(command, " && echo")
			var out bytes.Buffer
			if code, ran := shell(t, command, &out); ran && code != 0 {
				t.Errorf("$ %s\n%sexit %d, want 0", command, &out, code)
			}
		}
	}
}

func compare(t *testing.T, file, want, got string) {
	t.Helper()
	if got == want {
		return
	}
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			command := ""
			for j := i; j >= 0; j-- {
				if strings.HasPrefix(g[j], "$ ") {
					command = g[j]
					break
				}
			}
			wanted := "the end"
			if i < len(w) {
				wanted = w[i]
			}
			t.Errorf("%s:%d: after %s\ngot  %q\nwant %q\n(go test ./cmd -update rewrites it)", filepath.Base(file), i+1, command, g[i], wanted)
			return
		}
	}
	t.Errorf("%s: the output ends early, want %q", filepath.Base(file), w[len(g):])
}

// transcript runs the commands of a text and returns it with what they print.
func transcript(t *testing.T, text string) string {
	var out strings.Builder
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines); {
		line := lines[i]
		i++
		out.WriteString(line)
		if name, ok := header(line); ok && name != "" {
			var body strings.Builder
			for i < len(lines) {
				if _, end := header(lines[i]); end {
					break
				}
				body.WriteString(lines[i])
				out.WriteString(lines[i])
				i++
			}
			if err := os.WriteFile(name, []byte(body.String()), 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		for !whole(command) && i < len(lines) {
			command += lines[i]
			out.WriteString(lines[i])
			i++
		}
		var said bytes.Buffer
		code, ran := shell(t, strings.TrimRight(command, "\n"), &said)
		if ran {
			out.WriteString(said.String())
			if b := said.Bytes(); len(b) > 0 && b[len(b)-1] != '\n' {
				out.WriteByte('\n')
			}
			if code != 0 {
				fmt.Fprintf(&out, "# exit %d\n", code)
			}
		}
		blank := false
		for i < len(lines) && !strings.HasPrefix(lines[i], "$ ") && lines[i] != "" { // what it said before
			if _, ok := header(lines[i]); ok || comment(lines[i]) {
				break
			}
			if !ran {
				out.WriteString(lines[i])
			}
			blank = lines[i] == "\n"
			i++
		}
		if blank && ran {
			out.WriteString("\n")
		}
	}
	return out.String()
}

// comment reports whether a line is a remark of ours.
func comment(line string) bool {
	return strings.HasPrefix(line, "# ") && !strings.HasPrefix(line, "# exit ")
}

// header reads -- name --.
func header(line string) (name string, ok bool) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "-- ") || !strings.HasSuffix(line, "--") {
		return "", false
	}
	return strings.TrimSpace(line[2 : len(line)-2]), true
}

// whole reports whether a command ends with its line: its quotes are closed and no
// backslash ends it.
func whole(s string) bool {
	_, open := words(s)
	return !open
}

// A word of a command line; an operator was not quoted.
type word struct {
	text string
	op   bool
}

// words splits a command line as a shell does.
func words(s string) (list []word, open bool) {
	var b strings.Builder
	in := false
	end := func() {
		if in {
			list = append(list, word{b.String(), false})
		}
		b.Reset()
		in = false
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\'', '"':
			j := strings.IndexByte(s[i+1:], c)
			if j < 0 {
				return list, true
			}
			b.WriteString(s[i+1 : i+1+j])
			in = true
			i += j + 1
		case '\\':
			if i+1 >= len(s) {
				return list, true
			}
			i++
			if s[i] == '\n' {
				if i+1 == len(s) {
					return list, true
				}
				continue
			}
			b.WriteByte(s[i])
			in = true
		case ' ', '\t', '\n':
			end()
		case '|', '>', '<', ';', '&':
			end()
			list = append(list, word{string(c), true})
		case '#':
			if !in {
				end()
				return list, false
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
			in = true
		}
	}
	end()
	return list, false
}

// shell runs a pipeline; ran is false if it has something that this shell does not know.
func shell(t *testing.T, command string, out io.Writer) (code int, ran bool) {
	list, _ := words(command)
	var stages [][]string
	var cur []string
	target, source := "", ""
	for i := 0; i < len(list); i++ {
		w := list[i]
		switch {
		case !w.op:
			cur = append(cur, w.text)
		case w.text == "|":
			stages = append(stages, cur)
			cur = nil
		case (w.text == ">" || w.text == "<") && i+1 < len(list):
			i++
			if w.text == ">" {
				target = list[i].text
			} else {
				source = list[i].text
			}
		default:
			return 0, false
		}
	}
	stages = append(stages, cur)
	for _, s := range stages {
		if len(s) == 0 || s[0] != "nabla" && s[0] != "echo" && s[0] != "cat" && s[0] != "printf" {
			return 0, false
		}
	}
	var in bytes.Buffer
	if source != "" {
		b, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(b)
	}
	for i, s := range stages {
		var stdout bytes.Buffer
		var to io.Writer = &stdout
		if i == len(stages)-1 && target == "" {
			to = out
		}
		switch s[0] {
		case "echo":
			fmt.Fprintln(to, strings.Join(s[1:], " "))
		case "printf":
			io.WriteString(to, strings.ReplaceAll(s[1], `\n`, "\n"))
		case "cat":
			for _, name := range s[1:] {
				b, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				to.Write(b)
			}
		default:
			code = Main(s[1:], bytes.NewReader(in.Bytes()), to, out)
		}
		in = stdout
	}
	if target != "" {
		if err := os.WriteFile(target, in.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return code, true
}
