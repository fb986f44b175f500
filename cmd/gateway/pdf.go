package main

import (
	"context"
	"os"

	"parley/media/pdftext"
)

type pdfCmd struct{}

// Run implements the command.
func (*pdfCmd) Run() error { return pdftext.Serve(os.Stdin, os.Stdout) }

// readPDF returns a function that reads PDFs in a separate process of this program; nil if the program's path is
// unknown.
func readPDF() func(context.Context, []byte) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return pdftext.Command(self, "read-pdf")
}
