package version

import (
	"runtime/debug"
	"strings"
	"testing"
)

// Each way to build the program says what it can.
func TestDescribe(t *testing.T) {
	git := []debug.BuildSetting{
		{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "6a2c368dec8a750edaade834c89ffbb537405134"},
		{Key: "vcs.time", Value: "2026-11-26T00:15:00Z"}, {Key: "vcs.modified", Value: "false"},
	}
	dirty := append([]debug.BuildSetting(nil), git...)
	dirty[3].Value = "true"
	const head = "parley " + Release
	for name, c := range map[string]struct {
		info         *debug.BuildInfo
		commit, date string
		want, short  string
	}{
		"go build in a clone":         {&debug.BuildInfo{GoVersion: "go1.26.8", Settings: git}, "", "", head + " (commit 6a2c368dec8a, 2026-11-26, go1.26.8)", Release + " (6a2c368dec8a)"},
		"with changes":                {&debug.BuildInfo{GoVersion: "go1.26.8", Settings: dirty}, "", "", head + " (commit 6a2c368dec8a, modified, 2026-11-26, go1.26.8)", Release + " (6a2c368dec8a)"},
		"go run":                      {&debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "(devel)"}}, "", "", head + " (commit not recorded, go1.26.8)", Release},
		"go install of a commit":      {&debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "v0.1.0-rc.1.0.20261126001500-6a2c368dec8a"}}, "", "", head + " (commit 6a2c368dec8a, 2026-11-26, go1.26.8)", Release + " (6a2c368dec8a)"},
		"a commit without tags":       {&debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20261126001500-6a2c368dec8a+dirty"}}, "", "", head + " (commit 6a2c368dec8a, 2026-11-26)", Release + " (6a2c368dec8a)"},
		"go install of a release":     {&debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "v0.1.0-rc.1"}}, "", "", head + " (commit not recorded, go1.26.8)", Release},
		"a release, by the linker":    {&debug.BuildInfo{GoVersion: "go1.26.8"}, "6a2c368dec8a750e", "2026-11-26T00:15:00Z", head + " (commit 6a2c368dec8a, 2026-11-26, go1.26.8)", Release + " (6a2c368dec8a)"},
		"the linker before Git":       {&debug.BuildInfo{GoVersion: "go1.26.8", Settings: dirty}, "abc", "2026-11-27", head + " (commit abc, 2026-11-27, go1.26.8)", Release + " (abc)"},
		"without build information":   {nil, "", "", head + " (commit not recorded)", Release},
		"a version with a short dash": {&debug.BuildInfo{Main: debug.Module{Version: "v1-abcdefabcdef"}}, "", "", head + " (commit not recorded)", Release},
	} {
		t.Run(name, func(t *testing.T) {
			b := describe(c.info, c.commit, c.date)
			if b.String() != c.want || b.Short() != c.short {
				t.Errorf("%q and %q, want %q and %q", b.String(), b.Short(), c.want, c.short)
			}
		})
	}
	if b := Current(); !strings.HasPrefix(b.Go, "go1.") {
		t.Errorf("the test itself is %+v", b)
	}
}
