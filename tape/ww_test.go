package tape

import "testing"

func BenchmarkWW(b *testing.B) {
	b.Run("W3", func(b *testing.B) {
		eachThreads(b, func(b *testing.B, threads int) {
			q := question(b, "grad", network)
			q.Threads = threads
			in := networkInputs()
			q.Inputs = in
			p := q.Prepare()
			for b.Loop() {
				if _, err := p.Answer(in); err != nil {
					b.Fatal(err)
				}
			}
			flops(b, 2*512*(2*256*512+3*512*512+3*512*10), threads)
		})
	})
	b.Run("W4", func(b *testing.B) {
		eachThreads(b, func(b *testing.B, threads int) {
			q := question(b, "batch_jacobian", "tanh(tanh(tanh(x @ w1) @ w2) @ w3)")
			q.Threads = threads
			in := []Input{{Name: "x", Value: normals(1, 1024, 64)}, {Name: "w1", Value: normals(1./8, 64, 128), Const: true},
				{Name: "w2", Value: normals(0.09, 128, 128), Const: true}, {Name: "w3", Value: normals(0.09, 128, 32), Const: true}}
			q.Inputs = in
			p := q.Prepare()
			for b.Loop() {
				if _, err := p.Answer(in); err != nil {
					b.Fatal(err)
				}
			}
			const forward = 64*128 + 128*128 + 128*32
			flops(b, 2*1024*(forward+32*(128*128+128*64)), threads)
		})
	})
}
