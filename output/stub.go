package output

import (
	"bufio"
)

func writeTable(w *bufio.Writer, r *Result, o *Options) error    { return nil }
func writeNPY(w *bufio.Writer, r *Result, o *Options) error      { return nil }
func writeNPZ(w *bufio.Writer, r *Result, o *Options) error      { return nil }
func writeCSV(w *bufio.Writer, r *Result, o *Options) error      { return nil }
func writeRaw(w *bufio.Writer, r *Result, o *Options) error      { return nil }
func writeMarkdown(w *bufio.Writer, r *Result, o *Options) error { return nil }
func writeMTX(w *bufio.Writer, r *Result, o *Options) error      { return nil }
