//go:build !unix

package postgrestest

import "os/exec"

func as(*exec.Cmd) {}

func give(string) error { return nil }
