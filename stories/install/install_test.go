package install

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"parley/internal/require"
)

var (
	comment   = regexp.MustCompile(`\s+#\s.*$`)
	published = regexp.MustCompile(`https://github\.com/[^/\s]+/[^/\s]+/releases/latest/download/`)
	question  = ` chat -p "Is a question about lighthouses stored?"`
)

// blocks returns the commands of a page by heading.
func blocks(t *testing.T, page string) map[string][]string {
	t.Helper()
	text := require.Value(os.ReadFile(filepath.Join(top, page)))(t)
	found, heading, inside := map[string][]string{}, "", false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```sh"
		case inside:
			found[heading] = append(found[heading], line)
		case strings.HasPrefix(line, "#"):
			heading = strings.TrimLeft(line, "# ")
		}
	}
	return found
}

// dist is the folder with the files of a release for this system.
var dist = filepath.Join(top, cmp.Or(os.Getenv("PARLEY_DIST"), "bin/dist"))

// TestMain makes the files, unless PARLEY_DIST names a folder of the repository that has them.
func TestMain(m *testing.M) {
	if os.Getenv("PARLEY_DIST") == "" {
		if out, err := exec.Command(top+"/tools/release/snapshot.sh", "linux/"+runtime.GOARCH).CombinedOutput(); err != nil {
			panic(string(out))
		}
	}
	for _, extra := range []string{filepath.Join(top, "bin/extras/install.sh"), filepath.Join(dist, "homebrew/parley.rb")} { // GitHub has all in one folder
		text, err := os.ReadFile(extra)
		if err == nil {
			err = os.WriteFile(filepath.Join(dist, filepath.Base(extra)), text, 0o644)
		}
		if err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// A new user follows each printed way, and gets an answer.
func TestWaysToInstall(t *testing.T) {
	readme, page := blocks(t, "README.md"), blocks(t, "docs/install.md")
	archive, deb := "parley_linux_"+runtime.GOARCH+".tar.gz", "parley_linux_"+runtime.GOARCH+".deb"
	get := "curl -fsSO $PARLEY_RELEASES/"
	ways := map[string]struct {
		before string // downloads, which the page has in words
		lines  []string
		after  string
	}{
		"script": {"", readme["Install it"], "gateway" + question},
		"archive": {get + archive + "; " + get + "checksums.txt", page["Linux and macOS"],
			"./gateway" + question + "; man -l gateway.1 | grep -q completion; test -s completions/_gateway; test -s config.example.yaml"},
		"package":     {get + deb, page["Debian and Ubuntu"], "sudo gateway --config /etc/parley/config.yaml" + question},
		"source":      {get + archive + "; tar -xzf " + archive + "; cd parley", withoutBuild(page["From the source"]), "./gateway" + question},
		"completions": {get + archive + "; tar -xzf " + archive + "; PATH=$PATH:$PWD/parley", page["Completions"], "grep -q complete gateway.bash; gateway" + question},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			steps, commands, answers := m.asUser(way.lines)
			begun := time.Now()
			out := m.run(way.before + "\n" + steps + way.after + "\n")
			if len(way.lines) == 0 || !strings.Contains(out, "lighthouses") {
				t.Errorf("the agent did not answer:\n%s", out)
			}
			t.Logf("%d commands and %d answers, %.1f s", commands, answers, time.Since(begun).Seconds())
		})
		delete(page, map[string]string{"archive": "Linux and macOS", "package": "Debian and Ubuntu", "source": "From the source", "completions": "Completions"}[name])
	}
	if len(page) > 0 {
		t.Errorf("docs/install.md prints commands that no way has: %q", page)
	}
	checkFormula(t)
	checkSums(t)
}

// withoutBuild leaves out the command that builds: releases are built from this source.
func withoutBuild(lines []string) []string { return lines[1:] }

// The package starts nothing by itself, restarts what runs, keeps data until it is purged, and then leaves nothing.
func TestPackageKeepsData(t *testing.T) {
	deb := "parley_linux_" + runtime.GOARCH + ".deb"
	m := newMachine(t)
	lines := blocks(t, "docs/install.md")["Debian and Ubuntu"]
	setUp, _, _ := m.asUser(lines[1:3])
	out := m.run(fmt.Sprintf(`curl -fsSO $PARLEY_RELEASES/%[1]s
mkdir old && dpkg-deb -R %[1]s old && sed -i 's/^Version: .*/Version: 0.0.1/' old/DEBIAN/control && dpkg-deb -Zgzip -z1 -b old old.deb >/dev/null
sudo apt -yqq install ./old.deb
grep -v daemon-reload /systemctl.log && exit 1
test ! -e /run/parley.pid; test ! -e /var/lib/parley; test -z "$(ls -A /etc/parley)"
! id parley 2>/dev/null
`+"%[2]s"+`
gateway --config /etc/parley/config.yaml`+question+`
cd /home/new; first=$(cat /run/parley.pid)
sudo apt -yqq install ./%[1]s
dpkg -s parley | grep '^Version: 0.1'
ready gateway %[3]s; test "$(cat /run/parley.pid)" != "$first"
grep -q 'about lighthouses' /var/lib/parley/parley.db*
dpkg -L parley >files
sudo apt -yqq remove parley
test ! -e /run/parley.pid; test ! -e /usr/bin/gateway
grep -q 'about lighthouses' /var/lib/parley/parley.db*; test -e /etc/parley/config.yaml
sudo apt -yqq purge parley
test ! -e /etc/parley; test ! -e /var/lib/parley; test ! -e /var/lib/private/parley
while read -r file; do [ -d "$file" ] || test ! -e "$file"; done <files
find /etc /usr/lib/systemd /var/lib -name 'parley*' ! -name parley.log | grep . && exit 1
echo purged
`, deb, setUp, m.port))
	if !strings.HasSuffix(out, "purged\n") {
		t.Errorf("it ended early:\n%s", out)
	}
}

// The script installs nothing that it can't verify.
func TestScriptRefuses(t *testing.T) {
	name := "parley_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"
	for want, files := range map[string]map[string]string{
		name + " could not be downloaded":  {},
		"checksums.txt could not be":       {name: "an archive"},
		"another checksum than":            {name: "another archive", "checksums.txt": strings.Repeat("0", 64) + "  " + name + "\n"},
		"another checksum than checksums.": {name: "an archive", "checksums.txt": strings.Repeat("0", 64) + "  other.tar.gz\n"},
	} {
		from, home := t.TempDir(), t.TempDir()
		for file, text := range files {
			require.NoError(t, os.WriteFile(filepath.Join(from, file), []byte(text), 0o644))
		}
		server := httptest.NewServer(http.FileServer(http.Dir(from)))
		defer server.Close()
		c := exec.Command("sh", filepath.Join(top, "deploy/install.sh"))
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "PARLEY_RELEASES=" + server.URL}
		out, err := c.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) || !strings.Contains(string(out), "nothing was installed") {
			t.Errorf("%v, %s; want %q", err, out, want)
		}
		if left, _ := os.ReadDir(home); len(left) > 0 {
			t.Errorf("it left %v", left)
		}
	}
}

// checkFormula compares the formula with the archives: each address is one of the release, with its checksum, and each installed
// file is in it.
func checkFormula(t *testing.T) {
	t.Helper()
	text := require.Value(os.ReadFile(filepath.Join(dist, "parley.rb")))(t)
	sums := sumsOf(t)
	urls := regexp.MustCompile(`url "https://github\.com/[^/]+/[^/]+/releases/download/[^/]+/([^"]+)"\s+sha256 "(\w+)"`).FindAllSubmatch(text, -1)
	for _, m := range urls {
		if sums[string(m[1])] != string(m[2]) {
			t.Errorf("the formula has the checksum %s for %s; want %s", m[2], m[1], sums[string(m[1])])
		}
		out := require.Value(exec.Command("tar", "-tzf", filepath.Join(dist, string(m[1]))).Output())(t)
		for _, f := range regexp.MustCompile(`install "([^"]+)"`).FindAllSubmatch(text, -1) {
			if !strings.Contains(string(out), "parley/"+string(f[1])+"\n") {
				t.Errorf("the formula installs %s, which %s lacks", f[1], m[1])
			}
		}
	}
	if len(urls) == 0 {
		t.Errorf("the formula has no address: %s", text)
	}
}

// sumsOf reads checksums.txt.
func sumsOf(t *testing.T) map[string]string {
	t.Helper()
	text := require.Value(os.ReadFile(filepath.Join(dist, "checksums.txt")))(t)
	sums := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(\w{64})  (\S+)$`).FindAllSubmatch(text, -1) {
		sums[string(m[2])] = string(m[1])
	}
	return sums
}

// checkSums finds the archive, the package, the bill of materials and the script of this system in checksums.txt, or the release
// would have files that can't be verified.
func checkSums(t *testing.T) {
	t.Helper()
	sums, system := sumsOf(t), "parley_linux_"+runtime.GOARCH
	for _, name := range []string{system + ".tar.gz", system + ".deb", system + ".cdx.json"} {
		if sums[name] == "" {
			t.Errorf("checksums.txt lacks %s", name)
		}
	}
	bill, err := os.ReadFile(filepath.Join(dist, system+".cdx.json"))
	if err != nil || !strings.Contains(string(bill), "modernc.org/sqlite") {
		t.Errorf("the bill of materials lacks SQLite: %v", err)
	}
}

// The repository's name stands in one place, from which releases take it.
func TestRepositoryIsNamedOnce(t *testing.T) {
	out, err := exec.Command("git", "-C", top, "grep", "-nE", `github\.com/OWNER/`).Output()
	if err != nil || strings.Count(string(out), "\n") != 1 || !strings.HasPrefix(string(out), "README.md:") {
		t.Errorf("%v, %s", err, out)
	}
}

// The files of a release that the page lists are those that the configuration makes.
func TestListedFiles(t *testing.T) {
	page := require.Value(os.ReadFile(filepath.Join(top, "docs/install.md")))(t)
	text := require.Value(os.ReadFile(filepath.Join(top, ".goreleaser.yaml")))(t)
	var c struct {
		Builds []struct{ Goos, Goarch []string }
	}
	require.NoError(t, yaml.Unmarshal(text, &c))
	for _, system := range c.Builds[0].Goos {
		for _, arch := range c.Builds[0].Goarch {
			name := "parley_" + system + "_" + arch + map[string]string{"windows": ".zip"}[system]
			if !strings.Contains(string(page), "`"+name) {
				t.Errorf("docs/install.md lacks %s", name)
			}
		}
	}
}
