//go:build !unix

package cmd

func scarce() error { return nil }
