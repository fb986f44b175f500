//go:build !unix

package postgrestest

import (
	"errors"
	"os/exec"
)

func as(*exec.Cmd) {}

func give(string) error { return nil }

// Processes is not supported here.
func (*Server) Processes() ([]int, error) {
	return nil, errors.New("the processes of the server can't be listed on this system")
}
