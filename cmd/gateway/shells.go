package main

import (
	"os"

	"github.com/alecthomas/kong"

	"parley/internal/shells"
	"parley/internal/version"
)

// completionCmd prints the completions of a shell.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"Shell: bash, zsh or fish."`
}

// Run writes the completions to standard output.
func (s *completionCmd) Run(k *kong.Context) error {
	return shells.Complete(os.Stdout, s.Shell, k.Model)
}

// manualCmd prints the manual page, for packages.
type manualCmd struct{}

// Run writes the page to standard output.
func (*manualCmd) Run(k *kong.Context) error {
	return shells.Manual(os.Stdout, k.Model, "Parley "+version.Release, shells.Section{Title: "FILES", Items: [][2]string{
		{"config.yaml", "The configuration, in the working directory. gateway init writes a short one."},
		{".env", "Environment variables next to the configuration, such as tokens. Only its owner must be able to read it."},
		{"parley.db", "Conversations, users and settings, if the configuration names no other store."},
	}})
}
