package output

import "strings"

// XMLText is a text for XML: xml.EscapeText, whose package would cost each start more than
// this.
func XMLText(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff {
			return '\ufffd' // no character of XML
		}
		return r
	}, s)
	return strings.NewReplacer(`"`, "&#34;", "'", "&#39;", "&", "&amp;", "<", "&lt;", ">", "&gt;", "\t", "&#x9;", "\n", "&#xA;", "\r", "&#xD;").Replace(s)
}
