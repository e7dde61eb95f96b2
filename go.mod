module nabla

go 1.25.0
