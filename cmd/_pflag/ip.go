// Package pflag here is pflag 1.0.9 without flags of internet addresses and others that
// nobody here has: with them a program contains package net, which, where a compiler of C
// is installed, is built with it, and the program starts with libc, in 1.3 times the time.
// All files but this one are as published, after gofmt; CI compares.
package pflag

// What flag.go asks a flag to be, and none is.
type (
	ipValue     struct{ Value }
	ipMaskValue struct{ Value }
	ipNetValue  struct{ Value }
)
