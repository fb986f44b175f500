package guides_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/require"
)

// A platform is one folder, one line in the catalog, and `go test ./config -update`, and so is a provider of models. This adds one of each
// as the guides say. The platform is a renamed copy of the example. The tests of both folders and those of the configuration must then
// pass, unchanged.
func TestNewPlatformAndProvider(t *testing.T) {
	tree := t.TempDir() // what tests read and write at run time; the code of all other folders is that of the repository
	for _, folder := range []string{"config", "connectors", "models"} {
		require.NoError(t, os.CopyFS(filepath.Join(tree, folder), os.DirFS(filepath.Join(top, folder))))
	}
	write(t, filepath.Join(tree, "config.yaml"), source(t, "config.yaml"))
	write(t, filepath.Join(tree, "catalog.go"), withProvider(t, withPlatform(t, source(t, "catalog.go"))))
	copyExample(t, filepath.Join(tree, "connectors/trialplatform"))
	before := dataFiles(t, tree)

	bin := t.TempDir()
	run(t, top, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay(t, tree), "-o", bin+string(filepath.Separator), "./config", "./connectors/trialplatform", "./models/example")
	run(t, filepath.Join(tree, "config"), filepath.Join(bin, "config.test"), "-update")
	run(t, filepath.Join(tree, "config"), filepath.Join(bin, "config.test"))
	run(t, filepath.Join(tree, "connectors/trialplatform"), filepath.Join(bin, "trialplatform.test"))
	run(t, filepath.Join(tree, "models/example"), filepath.Join(bin, "example.test"))

	for name, text := range dataFiles(t, tree) {
		if generated := name == "config.yaml" || name == "config/schema.json"; generated == (text == before[name]) {
			t.Errorf("%s: changed by -update: %t", name, !generated)
		}
	}
	manual := string(read(t, filepath.Join(tree, "config.yaml")))
	for _, want := range []string{"\n    # The bot's token.\n    token: ${env:TRIALPLATFORM_TOKEN:-}\n", "\n    # The API key.\n    api_key: ${env:EXAMPLE_API_KEY:-}\n"} {
		if !strings.Contains(manual, want) {
			t.Errorf("config.yaml does not have %q", want)
		}
	}
}

// withProvider returns the catalog with the model provider of the guide, and its import.
func withProvider(t *testing.T, catalog string) string {
	t.Helper()
	changed := strings.Replace(catalog, ", agent.Section()}", ", agent.Section(), example.Section()}", 1)
	if changed == catalog {
		t.Fatal("the list of providers in catalog.go has another form")
	}
	return strings.Replace(changed, "import (\n", "import (\n\t\"parley/models/example\"\n", 1)
}

// withPlatform returns the catalog with the line that the guide shows, for the new platform, and its import.
func withPlatform(t *testing.T, catalog string) string {
	t.Helper()
	_, diff, _ := strings.Cut(source(t, "docs/add-a-platform.md"), "\n```diff\n")
	diff, _, _ = strings.Cut(diff, "```\n")
	above, line, found := strings.Cut(strings.TrimSpace(diff), "\n+")
	if !found || strings.Contains(line, "\n") {
		t.Fatalf("the guide shows no single line to add: %q", diff)
	}
	above = strings.TrimSpace(above) + "\n"
	changed := strings.Replace(catalog, above, above+renamed(line)+"\n", 1)
	if changed == catalog {
		t.Fatalf("catalog.go has no line %q", above)
	}
	return strings.Replace(changed, "import (\n", "import (\n\t\"parley/connectors/trialplatform\"\n", 1)
}

// copyExample copies the example's folder to a new one, under the new name.
func copyExample(t *testing.T, to string) {
	t.Helper()
	require.NoError(t, os.Mkdir(to, 0o700))
	files, err := filepath.Glob(filepath.Join(top, "connectors/example/*.go"))
	if err != nil || len(files) < 4 {
		t.Fatalf("the example has %d files: %v", len(files), err)
	}
	for _, file := range files {
		write(t, filepath.Join(to, renamed(filepath.Base(file))), renamed(string(read(t, file))))
	}
}

// renamed replaces the example's name. Example is also a field of [sections.ID], which keeps its name.
func renamed(text string) string {
	return strings.NewReplacer(`Example: "`, `Example: "`, "example", "trialplatform", "Example", "Trialplatform", "EXAMPLE", "TRIALPLATFORM").Replace(text)
}

// overlay makes the go command see the files of tree that the repository does not have, and its catalog.
func overlay(t *testing.T, tree string) string {
	t.Helper()
	root := require.Value(filepath.Abs(top))(t)
	files := require.Value(filepath.Glob(filepath.Join(tree, "connectors/trialplatform/*.go")))(t)
	replaced := map[string]string{}
	for _, file := range append(files, filepath.Join(tree, "catalog.go")) {
		name := require.Value(filepath.Rel(tree, file))(t)
		replaced[filepath.Join(root, name)] = file
	}
	data := require.Value(json.Marshal(map[string]any{"Replace": replaced}))(t)
	name := filepath.Join(t.TempDir(), "overlay.json")
	write(t, name, string(data))
	return name
}

// dataFiles returns the files of tree that tests can rewrite, by their paths in it.
func dataFiles(t *testing.T, tree string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(tree), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(name) != ".go" {
			files[name] = string(read(t, filepath.Join(tree, name)))
		}
		return err
	})
	require.NoError(t, err)
	return files
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data := require.Value(os.ReadFile(file))(t)
	return data
}

func write(t *testing.T, file, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}
