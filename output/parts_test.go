package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"testing"

	"nabla/tape/tensor"
)

// Every format gives the same bytes for every number of threads, and JSON the same numbers.
func TestThreads(t *testing.T) {
	x := tensor.New(3, 70, 2, 97) // rows that begin anywhere in a part
	for i := range x.Data {
		x.Data[i] = math.Sqrt(float64(i)) * float64(i%5)
	}
	m := &tensor.Tensor{DType: tensor.Float64, Shape: tensor.Shape{210, 194}, Data: x.Data}
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	for _, r := range []*Result{
		one("grad", "x", num(1), rec("x", tensor.Of(x))),
		one("grad", "x", num(1), rec("x", tensor.Of(m))),
		one("jacobian", "x", nil, rec("x", &tensor.Value{Kind: tensor.KindSparse, Sparse: tensor.SparseOf(m, 210)})),
	} {
		for _, f := range Formats {
			var one bytes.Buffer
			if err := Write(&one, r, Options{Format: f.Name}); err != nil {
				continue // it does not hold this result
			}
			for _, threads := range []int{3, 2, 8}[:rounds] {
				var b bytes.Buffer
				if err := Write(&b, r, Options{Format: f.Name, Threads: threads}); err != nil || !bytes.Equal(b.Bytes(), one.Bytes()) {
					t.Errorf("%s of %s on %d threads: %d bytes, error %v; on one: %d bytes", f.Name, r.Op, threads, b.Len(), err, one.Len())
				}
			}
		}
	}
	var b bytes.Buffer
	var got struct {
		Grad struct{ X [3][70][2][97]float64 }
	}
	Write(&b, one("grad", "x", num(1), rec("x", tensor.Of(x))), Options{Format: "json", Threads: 2})
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for i, want := range x.Data {
		if v := got.Grad.X[i/(70*2*97)][i/(2*97)%70][i/97%2][i%97]; v != want {
			t.Fatalf("number %d = %v, want %v", i, v, want)
		}
	}
}

// A writer that has had enough ends the formatting.
func TestClosedWriter(t *testing.T) {
	for _, threads := range []int{1, 2} {
		parts := make(chan int, 1000)
		err := inParts(closedWriter{}, threads, 1000*partLength, func(b []byte, from, to int) []byte {
			parts <- from
			return append(b, "text"...)
		})
		if !errors.Is(err, io.ErrClosedPipe) || len(parts) > 10 {
			t.Errorf("on %d threads: error %v after %d parts", threads, err, len(parts))
		}
	}
}

// A panic while a part is formatted is one of whoever writes.
func TestPanickingPart(t *testing.T) {
	for _, threads := range []int{1, 2} {
		func() {
			defer func() {
				if p := recover(); p != "part 3" {
					t.Errorf("on %d threads: panic %v, want part 3", threads, p)
				}
			}()
			_ = inParts(io.Discard, threads, 10*partLength, func(b []byte, from, to int) []byte {
				if from == 3*partLength {
					panic("part 3")
				}
				return append(b, "text"...)
			})
		}()
	}
}

type closedWriter struct{}

func (closedWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
