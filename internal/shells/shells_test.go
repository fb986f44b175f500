package shells_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"parley/internal/require"
	"parley/internal/shells"
)

// tea is a program whose descriptions have what a shell or roff could misread.
type tea struct {
	Config string `short:"c" placeholder:"FILE" help:"It's a file: $HOME, 'quoted' or \"not\"."`
	Make   struct {
		Kind  string `help:"The kind."`
		Quick bool   `help:".Not a request."`
		Gone  bool   `hidden:"" help:"Not listed."`
	} `cmd:"" default:"withargs" help:"Makes tea with a \\ and a % sign."`
	Shop struct {
		Buy  struct{} `cmd:"" help:"Buys leaves."`
		Sell struct {
			What string `arg:"" enum:"leaves,cups" help:"Goods."`
		} `cmd:"" help:"Sells."`
	} `cmd:"" help:"Goes shopping."`
	Secret struct{} `cmd:"" hidden:"" help:"Not listed."`
}

func model(t *testing.T) *kong.Application {
	t.Helper()
	p := require.Value(kong.New(&tea{}, kong.Name("tea"), kong.Description("A kettle.")))(t)
	return p.Model
}

// ask has the program of each shell that prints the candidates after a line, whose last word is being written. $1 is the
// script with the completions; the words of the line follow.
var ask = map[string]string{
	"bash": `. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tea && printf '%s\n' "${COMPREPLY[@]}"`,
	"zsh": `compdef() { : }; _files() { print FILES }; _describe() { print -l -- ${(P)@[-1]} }
. "$1"; shift; words=("$@") CURRENT=$# PREFIX=$@[-1]; _tea`,
	"fish": `source $argv[1]; complete -C (string join ' ' -- $argv[2..-1])`,
}

// Each shell offers what fits the words before.
func TestCandidates(t *testing.T) {
	t.Chdir(t.TempDir())
	for line, want := range map[string][]string{
		"tea ":                      {"make", "shop"},
		"tea --":                    {"--config", "--help", "--kind", "--quick"},
		"tea make --":               {"--config", "--help", "--kind", "--quick"},
		"tea shop ":                 {"buy", "sell"},
		"tea -c file.yaml shop ":    {"buy", "sell"},
		"tea shop sell ":            {"cups", "leaves"},
		"tea shop buy --":           {"--config", "--help"},
		"tea --config ":             nil, // the names of files
		"tea make --kind ":          nil,
		"tea shop --config ":        nil,
		"tea make shop --config x ": nil,
	} {
		for _, shell := range shells.Names() {
			if got := candidates(t, shell, line); !slices.Equal(got, want) {
				t.Errorf("%s completes %q with %q; want %q", shell, line, got, want)
			}
		}
	}
}

// candidates returns the names that a shell offers, in order. Bash offers flags beside commands; here they count only after a hyphen.
func candidates(t *testing.T, shell, line string) (names []string) {
	t.Helper()
	program, err := exec.LookPath(shell)
	if err != nil {
		t.Skipf("%s is not installed", shell)
	}
	file := filepath.Join(t.TempDir(), "completions")
	to := require.Value(os.Create(file))(t)
	require.NoError(t, shells.Complete(to, shell, model(t)))
	to.Close()
	args := []string{"-c", ask[shell]}
	switch shell {
	case "fish":
		args = append([]string{"--no-config"}, args...)
	case "zsh":
		args = append([]string{"-f"}, append(args, shell)...) // $0
	default:
		args = append(args, shell)
	}
	c := exec.Command(program, append(append(args, file), strings.Split(line, " ")...)...)
	c.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", shell, err, out)
	}
	for _, l := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		name, _, _ := strings.Cut(l, "\t")
		name, _, _ = strings.Cut(name, ":")
		if name == "" || name == "FILES" || strings.HasPrefix(name, "-") != strings.HasSuffix(line, "-") || len(name) == 2 {
			continue
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestUnknownShell(t *testing.T) {
	if err := shells.Complete(os.Stderr, "tcsh", model(t)); err == nil || !strings.Contains(err.Error(), "bash, zsh, fish") {
		t.Errorf("the error is %v", err)
	}
}

// The page has each command and flag that help shows, and nothing that roff would take for a request.
func TestManual(t *testing.T) {
	var b strings.Builder
	require.NoError(t, shells.Manual(&b, model(t), "Tea 1.0-rc.1", shells.Section{Title: "FILES", Items: [][2]string{{".tea", "Leaves."}}}))
	page := b.String()
	for _, part := range []string{
		`.TH TEA 1 "" "Tea 1.0\-rc.1" "User Commands"`, `tea \- A kettle.`, `\fB\-c, \-\-config=FILE\fR`, ".SS tea make [flags]\nMakes tea with a \\e and a % sign.",
		`\fB\-\-quick\fR` + "\n" + `\&.Not a request.`, ".SS tea shop sell <what>\nSells.\n.TP\n\\fB<what>\\fR\nGoods.", ".SH FILES\n.TP\n\\fB\\&.tea\\fR\nLeaves.",
	} {
		if !strings.Contains(page, part) {
			t.Errorf("it lacks %q", part)
		}
	}
	if strings.Contains(page, "Not listed") {
		t.Error("it has hidden things")
	}
	if t.Failed() {
		t.Log(page)
	}
}
