// Package daemon describes a gateway to the service managers of Linux and macOS, and tells systemd how the gateway is.
package daemon

import (
	"bytes"
	_ "embed" // the templates
	"encoding/xml"
	"fmt"
	"path/filepath"
	"strings"
	"text/template"
	"time"
)

// Name is the name of the service, of its unit, and of its folder below /var/lib.
const Name = "parley"

// Manager is a service manager, or the way it is used.
type Manager int

// The managers.
const (
	System  Manager = iota // systemd, as a service of the machine under a user of its own
	User                   // systemd, as a service of one user
	Launchd                // macOS, as an agent of one user
)

// Unit is a gateway as a service.
type Unit struct {
	Program string        // the absolute path of the program
	Config  string        // the absolute path of the configuration
	Dir     string        // the working directory; ignored with System, which has /var/lib/parley
	Stop    time.Duration // how long the gateway may take to stop
}

//go:embed system.service
var systemText string

//go:embed user.service
var userText string

//go:embed launchd.plist
var launchdText string

// Render returns the file that describes u to m. It fails if a path is not absolute or has characters that unit files can't
// hold there.
func (u Unit) Render(m Manager) (string, error) {
	for _, path := range []string{u.Program, u.Config, u.Dir} {
		if m == System && path == u.Dir {
			continue
		}
		if !filepath.IsAbs(path) || strings.ContainsAny(path, "\r\n\x00") {
			return "", fmt.Errorf("write a unit: %q is not an absolute path", path)
		}
	}
	if m != Launchd && strings.ContainsAny(u.Program, `"'\`) {
		return "", fmt.Errorf("write a unit: systemd can't run %s; move the program to a path without quotes and backslashes", u.Program)
	}
	text := map[Manager]string{System: systemText, User: userText, Launchd: launchdText}[m]
	t, err := template.New(Name).Funcs(template.FuncMap{"program": program, "arg": argument, "path": specifier.Replace, "xml": escapeXML, "env": envOf, "base": filepath.Base}).Parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, u)
	return b.String(), err
}

// specifier escapes what systemd expands in every value.
var specifier = strings.NewReplacer("%", "%%")

// program quotes the first word of ExecStart, where systemd expands no variables.
func program(path string) string { return `"` + specifier.Replace(path) + `"` }

// argument quotes an argument of ExecStart, where systemd also expands variables.
func argument(s string) string {
	return `"` + strings.NewReplacer("%", "%%", "$", "$$", `\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// escapeXML escapes text of a property list.
func escapeXML(s string) (string, error) {
	var b bytes.Buffer
	err := xml.EscapeText(&b, []byte(s))
	return b.String(), err
}

// envOf returns the file with secrets next to a configuration.
func envOf(config string) string { return filepath.Join(filepath.Dir(config), ".env") }
