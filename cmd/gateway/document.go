package main

import (
	"context"
	"os"

	"parley/media/document"
)

type readCmd struct{}

// Run implements the command.
func (*readCmd) Run() error { return document.Serve(os.Stdin, os.Stdout) }

// readDocuments returns a function that reads documents in a separate process of this program; nil if the program's path
// is unknown.
func readDocuments() func(context.Context, []byte) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return document.Command(self, "read-document")
}
