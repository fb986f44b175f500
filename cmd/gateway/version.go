package main

import (
	"cmp"
	"fmt"
	"runtime/debug"
)

// version returns the release of this build, or else its commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "parley (unknown version)"
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	commit := cmp.Or(settings["vcs.revision"], "unknown commit")
	if settings["vcs.modified"] == "true" {
		commit += ", modified"
	}
	return fmt.Sprintf("parley %s (%s, %s)", cmp.Or(info.Main.Version, "(devel)"), commit, info.GoVersion)
}
