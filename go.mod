module nabla

go 1.25.0

require (
	github.com/Knetic/govaluate v3.0.0+incompatible // indirect
	gonum.org/v1/gonum v0.16.0 // indirect
)
