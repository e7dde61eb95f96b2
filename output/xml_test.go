package output

import (
	"bytes"
	"encoding/xml"
	"testing"
)

func TestXMLText(t *testing.T) {
	for _, s := range []string{"", "x < 1 && y > 2", `"it's"`, "a\tb\nc\rd", "\x00\x1f\x7f", "\ufffe\uffff\ufffd", "bad \xff\xc3( bytes", "ünï…𝛁", "\ud7ff\ue000\U0010ffff"} {
		var want bytes.Buffer
		xml.EscapeText(&want, []byte(s))
		if got := XMLText(s); got != want.String() {
			t.Errorf("XMLText(%q) = %q, want %q", s, got, &want)
		}
	}
}
