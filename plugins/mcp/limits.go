package mcp

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Limits bound what a program can use. Each of its processes has them.
type Limits struct {
	Memory int           // MiB for data, on Linux; 0: no limit
	CPU    time.Duration // of computing in all, after which it is ended and started again; 0: no limit
}

const shell = "/bin/sh"

// limited returns a command that sets limits and then becomes the given one. Memory is limited by what the program can
// write to, not by the addresses that it reserves: Node reserves a gigabyte and uses a tenth of that.
func (l Limits) limited(command []string) []string {
	var script strings.Builder
	if l.Memory > 0 {
		fmt.Fprintf(&script, "ulimit -d %d || :; ", l.Memory<<10)
	}
	if l.CPU > 0 {
		fmt.Fprintf(&script, "ulimit -t %d || :; ", max(1, int(l.CPU.Seconds())))
	}
	if _, err := exec.LookPath(shell); err != nil || script.Len() == 0 { // an image without a shell, or Windows
		return command
	}
	return append([]string{shell, "-c", script.String() + `exec "$@"`, "sh"}, command...)
}

// found returns command with the path of its program, so that one that is missing is named as such, and not by a shell.
func found(command []string, dir string) ([]string, error) {
	program := command[0]
	if strings.ContainsRune(program, '/') && !filepath.IsAbs(program) {
		program = filepath.Join(dir, program)
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", command[0], reason(err))
	}
	return append([]string{path}, command[1:]...), nil
}
