package main

import (
	"context"
	"os"

	"parley/media/pdftext"
)

type pdfCmd struct{}

// Run implements the command.
func (*pdfCmd) Run() error { return pdftext.Serve(os.Stdin, os.Stdout) }

// readPDF has PDFs read by this program in a process of its own; nil where nobody knows where the program is.
func readPDF() func(context.Context, []byte) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return pdftext.Command(self, "read-pdf")
}
