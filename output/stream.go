package output

import (
	"io"

	"nabla/output/npy"
	"nabla/tape/tensor"
)

// A Stream is a payload that need not stand in memory whole: NPY is written from
// it chunk by chunk, every other format gathers it first.
type Stream struct {
	Source string // its name among the sources; "" if the payload is the tensor itself
	DType  tensor.DType
	Shape  tensor.Shape
	Each   func(emit func(chunk []float64) error) error // the numbers in row-major order
}

// npy writes the stream as an NPY file.
func (s *Stream) npy(w io.Writer) error {
	to, err := npy.NewWriter(w, s.DType, s.Shape)
	if err != nil {
		return err
	}
	if err := s.Each(to.WriteChunk); err != nil {
		return err
	}
	return to.Close()
}

// gather is the payload that the stream stands for.
func (s *Stream) gather() (*tensor.Value, error) {
	t := &tensor.Tensor{DType: s.DType, Shape: s.Shape, Data: make([]float64, 0, s.Shape.Size())}
	err := s.Each(func(chunk []float64) error {
		t.Data = append(t.Data, chunk...)
		return nil
	})
	v := tensor.Of(t)
	if s.Source != "" {
		v = &tensor.Value{Kind: tensor.KindRecord, Fields: []tensor.Field{{Name: s.Source, Value: v}}}
	}
	return v, err
}

// stream is the stream of a result that is nothing else.
func (r *Result) stream() *Stream {
	if len(r.Targets) == 1 {
		return r.Targets[0].Stream
	}
	return nil
}

// gathered is r without streams.
func (r *Result) gathered() (*Result, error) {
	all := *r
	all.Targets = append([]Target(nil), r.Targets...)
	for i := range all.Targets {
		t := &all.Targets[i]
		if t.Stream == nil {
			continue
		}
		var err error
		if t.Payload, err = t.Stream.gather(); err != nil {
			return nil, err
		}
	}
	return &all, nil
}
