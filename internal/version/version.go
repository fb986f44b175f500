// Package version returns the release of a program, and the commit that it was built from.
package version

import (
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

// Release is the version of this source, in the form of https://semver.org. It stands nowhere else: builds, archives and
// packages read it here.
const Release = "0.1.0-rc.1"

// UserAgent is the header that names this program in requests to other servers.
const UserAgent = "Parley/" + Release

// commit and date are set by the linker in builds without Git or without build information, such as a release or an
// image: -ldflags "-X parley/internal/version.commit=… -X parley/internal/version.date=…". No code changes them.
var commit, date string

// Build describes a built program.
type Build struct {
	Release  string
	Commit   string // shortened; "" if the build did not record it, as go run doesn't
	Modified bool   // the source differed from the commit
	Date     string // of the commit, such as 2026-11-26; "" if unknown
	Go       string // the version of Go, such as go1.26.8; "" if unknown
}

// Current returns the description of the running program.
func Current() Build {
	info, _ := debug.ReadBuildInfo() // nil without one
	return describe(info, commit, date)
}

// describe returns the description of a build. Values of the linker have priority; then come those of Git, by the
// compiler, and then the version under which a module was installed, which can contain a commit and its time.
func describe(info *debug.BuildInfo, commit, date string) Build {
	b := Build{Release: Release, Commit: commit, Date: date}
	if info != nil {
		b.Go = info.GoVersion
		if b.Commit == "" {
			b.recorded(info)
		}
	}
	b.Commit = b.Commit[:min(len(b.Commit), 12)]
	b.Date, _, _ = strings.Cut(b.Date, "T")
	return b
}

// recorded takes the commit from build information, if it is there.
func (b *Build) recorded(info *debug.BuildInfo) {
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	if b.Commit == "" {
		b.Commit, b.Date = pseudo(info.Main.Version)
	}
}

// pseudo returns the commit and the time in a pseudo-version (https://go.dev/ref/mod#pseudo-versions), such as
// v0.1.0-rc.1.0.20261126001500-6a2c368dec8a, or nothing if v is another version.
func pseudo(v string) (commit, date string) {
	v, _, _ = strings.Cut(v, "+")
	head, commit, ok := cutLast(v, "-")
	if !ok || len(commit) != 12 || len(head) < 14 {
		return "", ""
	}
	at, err := time.Parse("20060102150405", head[len(head)-14:])
	if err != nil {
		return "", ""
	}
	return commit, at.Format(time.RFC3339)
}

// cutLast cuts s around the last sep.
func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// String returns the line of gateway --version, such as "parley 0.1.0-rc.1 (commit 6a2c368dec8a, 2026-11-26, go1.26.8)".
func (b Build) String() string {
	var parts []string
	switch {
	case b.Commit == "":
		parts = append(parts, "commit not recorded")
	case b.Modified:
		parts = append(parts, "commit "+b.Commit+", modified")
	default:
		parts = append(parts, "commit "+b.Commit)
	}
	for _, s := range []string{b.Date, b.Go} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return fmt.Sprintf("parley %s (%s)", b.Release, strings.Join(parts, ", "))
}

// Short returns the release, with the commit if it is known, such as "0.1.0-rc.1 (6a2c368dec8a)".
func (b Build) Short() string {
	if b.Commit == "" {
		return b.Release
	}
	return b.Release + " (" + b.Commit + ")"
}
