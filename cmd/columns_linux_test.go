package cmd

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// pseudo is both ends of a pseudo-terminal so many columns wide: what a program writes to one is
// read, as a screen would show it, at the other.
func pseudo(t *testing.T, columns int) (program, screen *os.File) {
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err) // some containers have none
	}
	t.Cleanup(func() { screen.Close() })
	fd := int(screen.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Skip(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Skip(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { program.Close() })
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)}); err != nil {
		t.Skip(err)
	}
	return program, screen
}

// TestOnTerminal: what is printed otherwise where a person looks.
func TestOnTerminal(t *testing.T) {
	const end = "-- end --"
	colours := regexp.MustCompile("\x1b\\[[0-9;]*m")
	t.Setenv("COLUMNS", "")
	for _, r := range []struct {
		args      string
		columns   int
		code      int
		want, err string // parts of what the screen and stderr show
	}{
		{"x^2 -a x=3", 80, 0, "grad.x │ 6\r\n", ""},
		{"x^2 -a x=3 -f npy", 80, 2, end, "npy is binary and does not go to a terminal"},
		{"x^2 -a x=3 -f npz", 80, 2, end, "npz is binary"},
		{"x^2 -a x=3 -f json", 80, 0, "\"grad\": {\r\n", ""}, // on lines
		{"x^2 -a x=3 -f json -c", 80, 0, `"grad":{"x":6}}`, ""},
		{"eval ones(3000)", 80, 0, "…", ""},                           // as NumPy leaves out
		{"eval ones(3000)", 30, 0, "…", ""},                           // within the width
		{"eval linspace(1000,2000,9)", 40, 0, "1000  1125  1250", ""}, // in pieces
		{"x^2 -a x=3 --color never", 80, 0, "grad.x │ 6\r\n", ""},
		{"plot x^2 --range x=-1:1", 44, 0, "\u2500\u2500 y = x^2\r\n", ""}, // in its width
	} {
		program, screen := pseudo(t, r.columns)
		shown := make(chan string)
		go func() {
			var all strings.Builder
			for lines := bufio.NewReader(screen); !strings.HasSuffix(all.String(), end); {
				c, _, err := lines.ReadRune()
				if err != nil {
					break
				}
				all.WriteRune(c)
			}
			shown <- all.String()
		}()
		var err strings.Builder
		code := Main(strings.Fields(r.args), strings.NewReader(""), program, &err)
		fmt.Fprint(program, end)
		coloured := <-shown
		got := colours.ReplaceAllString(coloured, "")
		if (got != coloured) != (code == 0 && !strings.Contains(r.args, "json") && !strings.Contains(r.args, "never")) {
			t.Errorf("nabla %s on a terminal: in colour %v\n%s", r.args, got != coloured, coloured)
		}
		if code != r.code || !strings.Contains(got, r.want) || !strings.Contains(err.String(), r.err) || r.err == "" && err.Len() > 0 {
			t.Errorf("nabla %s on a terminal: exit %d, want %d\n%s%s", r.args, code, r.code, got, &err)
		}
		for line := range strings.Lines(got) {
			if n := len([]rune(strings.TrimRight(line, "\r\n"))); n > r.columns && !strings.HasSuffix(line, end) {
				t.Errorf("nabla %s on a terminal of %d columns: a line of %d: %s", r.args, r.columns, n, line)
			}
		}
		if r.want == end && got != end {
			t.Errorf("nabla %s shows %q, want nothing", r.args, got)
		}
	}
}
