package output

import (
	"io"
	"strconv"
)

// WriteError writes an error as JSON on one line: {"error":{"code":3,"kind":"shape","message":…}}.
// A line, a column or a hint that is zero is left out.
func WriteError(w io.Writer, code int, kind, message string, line, column int, hint string) error {
	b := append([]byte(nil), `{"error":`...)
	b = AppendError(b, code, kind, message, line, column, hint)
	_, err := w.Write(append(b, '}', '\n'))
	return err
}

// AppendError appends the inner object of WriteError, for a caller that puts it into an object of its own.
func AppendError(b []byte, code int, kind, message string, line, column int, hint string) []byte {
	b = strconv.AppendInt(append(b, `{"code":`...), int64(code), 10)
	b = AppendString(append(b, `,"kind":`...), kind)
	b = AppendString(append(b, `,"message":`...), message)
	if line != 0 {
		b = strconv.AppendInt(append(b, `,"line":`...), int64(line), 10)
	}
	if column != 0 {
		b = strconv.AppendInt(append(b, `,"column":`...), int64(column), 10)
	}
	if hint != "" {
		b = AppendString(append(b, `,"hint":`...), hint)
	}
	return append(b, '}')
}
