module nabla

go 1.25.0

require (
	github.com/Knetic/govaluate v3.0.0+incompatible
	github.com/mattn/go-runewidth v0.0.9
	github.com/olekukonko/tablewriter v0.0.5
	github.com/spf13/cobra v1.10.2
	github.com/spf13/pflag v1.0.9
	golang.org/x/image v0.30.0
	golang.org/x/sys v0.30.0
	gonum.org/v1/gonum v0.16.0
)

require (
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	golang.org/x/text v0.28.0 // indirect
)

replace github.com/spf13/pflag => ./cmd/_pflag // without package net: see there
