package daemon_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/internal/daemon"
	"parley/internal/require"
)

// analyze runs systemd-analyze with a unit and returns its output.
func analyze(t *testing.T, unit string, args ...string) (out string, err error) {
	t.Helper()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	file := filepath.Join(t.TempDir(), "parley.service")
	require.NoError(t, os.WriteFile(file, []byte(unit), 0o600))
	c := exec.CommandContext(t.Context(), "systemd-analyze", append(args, file)...)
	c.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir(), "HOME="+t.TempDir())
	text, err := c.CombinedOutput()
	return string(text), err
}

// systemd understands every line of the units, also with paths that have its own characters. The program exists, as verify looks for it.
func TestSystemdUnderstandsTheUnits(t *testing.T) {
	odd := filepath.Join(t.TempDir(), `50% of "a b" \ $HOME`)
	require.NoError(t, os.MkdirAll(odd, 0o755))
	bin := filepath.Join(t.TempDir(), `50% of a b $HOME`)
	require.NoError(t, os.MkdirAll(bin, 0o755))
	program := filepath.Join(bin, "gateway")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755))
	for name, u := range map[string]daemon.Unit{
		"plain": {Program: "/bin/sh", Config: "/etc/parley/config.yaml", Dir: "/var/tmp", Stop: 40 * time.Second},
		"odd":   {Program: program, Config: filepath.Join(odd, "config.yaml"), Dir: odd, Stop: 90 * time.Second},
	} {
		for _, m := range []daemon.Manager{daemon.System, daemon.User} {
			text := require.Value(u.Render(m))(t)
			args := []string{"verify", "--man=no"}
			if m == daemon.User {
				args = append(args, "--user")
			}
			if out, err := analyze(t, text, args...); err != nil || strings.Contains(out, "parley.service") {
				t.Errorf("%s, %v: %v\n%s", name, m, err, out)
			}
		}
	}
	if out, err := analyze(t, "[Service]\nType=notify\nExecStart=/no/such/program\nProtectSystm=strict\n", "verify", "--man=no"); err == nil && !strings.Contains(out, "ProtectSystm") {
		t.Errorf("a wrong unit passes: %s", out)
	}
}

// The service of the machine has few rights: systemd rates its exposure from 0 to 10, and calls less than 2 "OK" with a smile.
func TestSystemUnitIsHardened(t *testing.T) {
	text := require.Value(daemon.Unit{Program: "/bin/sh", Config: "/etc/parley/config.yaml", Stop: time.Minute}.Render(daemon.System))(t)
	if out, err := analyze(t, text, "security", "--offline=true", "--threshold=19"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := analyze(t, strings.ReplaceAll(text, "DynamicUser=yes\n", ""), "security", "--offline=true", "--threshold=19"); err == nil {
		t.Errorf("it passes as root:\n%s", out)
	}
}

func TestPathsInUnits(t *testing.T) {
	u := daemon.Unit{Program: "/opt/a b/gate%way", Config: "/etc/p&q/shop.yaml", Dir: "/srv/<x>", Stop: 30 * time.Second}
	for m, want := range map[daemon.Manager][]string{
		daemon.System: {`ExecStart="/opt/a b/gate%%way" --config "/etc/p&q/shop.yaml" run`, "LoadCredential=shop.yaml:/etc/p&q/shop.yaml\n", "LoadCredential=.env:/etc/p&q/.env\n",
			`ExecReload=+"/opt/a b/gate%%way" --config "/etc/p&q/shop.yaml" reload`, "RuntimeDirectoryMode=0700\n", "TimeoutStopSec=30\n", "StateDirectory=parley\n"},
		daemon.User:    {`ExecReload="/opt/a b/gate%%way" --config "/etc/p&q/shop.yaml" reload`, "WorkingDirectory=/srv/<x>\n", "WantedBy=default.target\n"},
		daemon.Launchd: {"<string>/etc/p&amp;q/shop.yaml</string>", "<string>/srv/&lt;x&gt;</string>", "<integer>30</integer>"},
	} {
		text := require.Value(u.Render(m))(t)
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%v lacks %q:\n%s", m, part, text)
			}
		}
		if m == daemon.Launchd {
			wellFormed(t, text)
		}
	}
	for _, wrong := range []daemon.Unit{{Program: "gateway", Config: "/c", Dir: "/d"}, {Program: "/g", Config: "/c\nExecStartPre=/bin/rm", Dir: "/d"}, {Program: `/g"`, Config: "/c", Dir: "/d"}} {
		if text, err := wrong.Render(daemon.User); err == nil {
			t.Errorf("%+v is written as %s", wrong, text)
		}
	}
}

// wellFormed reads XML to its end.
func wellFormed(t *testing.T, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
}
