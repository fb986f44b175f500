package main

import (
	"context"
	"os"

	"parley/media/document"
)

// readCmd reads a document in a process of its own, see readDocuments.
type readCmd struct{}

// Run implements the command.
func (*readCmd) Run() error { return document.Serve(os.Stdin, os.Stdout) }

// readDocuments returns a function that reads a document in a separate process of this program, because parsers of
// foreign formats can crash or use up memory. It returns nil if the program's path is unknown; documents are then left
// unread.
func readDocuments() func(context.Context, []byte) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return document.Command(self, "read-document")
}
