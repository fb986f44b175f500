//go:build unix

package mcp

import (
	"os/exec"
	"syscall"
)

// ownGroup gives the process a group of its own, so that its child processes can be ended with it. Without that, a server
// started by a shell or by npx would survive.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = exitGrace
}

// kill ends the whole group.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
