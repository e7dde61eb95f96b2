package output

import "bufio"

func writeTable(w *bufio.Writer, r *Result, o *Options) error    { return nil }
func writeMarkdown(w *bufio.Writer, r *Result, o *Options) error { return nil }
