package mcp

import "os/exec"

// ownGroup bounds the wait for the process's output after its end.
func ownGroup(cmd *exec.Cmd) { cmd.WaitDelay = exitGrace }

// kill ends the process. Windows has no process groups like Unix, so child processes may continue.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
