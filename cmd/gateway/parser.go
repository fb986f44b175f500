package main

import (
	"os"

	"parley"
	"parley/media/parser"
)

// readCmd reads a file in a process of its own, see newParser.
type readCmd struct{}

// Run implements the command.
func (*readCmd) Run() error { return parser.Serve(os.Stdin, os.Stdout) }

// newParser returns a parser that reads each file in a separate process of this program, because parsers of foreign formats
// can crash or use up memory. It returns nil if the program's path is unknown; such files are then left unread.
func newParser() parley.Parser {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return parser.Command(self, "read-document")
}
