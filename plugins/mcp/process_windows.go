package mcp

import "os/exec"

func own(cmd *exec.Cmd) { cmd.WaitDelay = exitGrace }

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
