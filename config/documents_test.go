package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/require"
)

// SE-17: a character names files below its own folder and below agent.knowledge_roots; of all others nothing is read, and each is
// named in a warning.
func TestCharacterReadsItsOwnFolderOnly(t *testing.T) {
	dir := characterDir(t, map[string]string{
		"config.secret": "sk-secret", "outside.txt": "outside", "docs/faq.md": "faq", "docs/deep/x.md": "deep", "c/own.md": "own", "c/sub/a.md": "a",
		"c/.env": "TOKEN=secret", "c/.git/config": "secret", "c/folder/b.md": "b", "c/folder/.hidden": "secret", "elsewhere/e.md": "elsewhere",
	})
	for link, to := range map[string]string{
		"c/link.md": "../outside.txt", "c/linked": "../elsewhere", "c/inside.md": "own.md", "c/folder/out.md": "../../outside.txt", "c/absolute.md": filepath.Join(dir, "outside.txt"),
	} {
		require.NoError(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	for entry, c := range map[string]struct {
		want    string // of the documents, joined
		refused string // a part of the warning
	}{
		"own.md":                          {"own", ""},
		"sub":                             {"a", ""},
		"inside.md":                       {"own", ""},
		"The cat is grey.":                {"The cat is grey.", ""},
		"../docs/faq.md":                  {"faq", ""},
		filepath.Join(dir, "docs"):        {"deep faq", ""},
		"/etc/passwd":                     {"", "/etc/passwd"},
		"../outside.txt":                  {"", "outside.txt"},
		"sub/../../outside.txt":           {"", "outside.txt"},
		"..":                              {"", dir},
		"/":                               {"", "/"},
		"link.md":                         {"", "link.md"},
		"absolute.md":                     {"", "absolute.md"},
		"linked":                          {"", "linked"},
		"linked/e.md":                     {"", "e.md"},
		"folder":                          {"b", "out.md"},
		".env":                            {"", ".env"},
		".git/config":                     {"", ".git/config"},
		"../config.yaml":                  {"", "config.yaml"},
		filepath.Join(dir, "config.yaml"): {"", "config.yaml"},
		"character.json":                  {"", "character.json"},
	} {
		t.Run(strings.ReplaceAll(entry, "/", "_"), func(t *testing.T) {
			text := "agent:\n  character: c/character.json\n  knowledge_roots: [docs]\nproviders: {openai: {api_key: \"${file:config.secret}\"}}\n"
			character := `{"name": "Eliza", "knowledge": ["` + entry + `"]}`
			write(t, dir, "config.yaml", text)
			write(t, dir, "c/character.json", character)
			got := require.Value(Load(filepath.Join(dir, "config.yaml"), environment(nil), platforms...))(t)
			if texts(got) != c.want {
				t.Errorf("it reads %q", texts(got))
			}
			if n := len(got.Warnings); n > 1 || (n == 1) != (c.refused != "") || n == 1 && !strings.Contains(got.Warnings[0], c.refused) {
				t.Errorf("the warnings are %q", got.Warnings)
			}
		})
	}
}

// texts are the documents of c, joined.
func texts(c Config) string {
	var all []string
	for _, d := range c.Agent.Documents {
		all = append(all, d.Text)
	}
	return strings.Join(all, " ")
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

// Texts in older encodings are knowledge too. What makes no sense in any is named.
func TestOldEncodings(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.txt", "\xcc\xe0\xe3\xe0\xe7\xe8\xed \xee\xf2\xea\xf0\xfb\xf2")
	write(t, dir, "b.txt", "\xff\xfeh\x00i\x00")
	write(t, dir, "c.txt", "\x9b\xa3\xbb\xd2\xe7\xf5\x83\x99\x99\x87\xef\xd3\x99\x9f\x81\x8d\xae\xe8\xa8\xf8\xf1\xad\xdf\xd2\xa3\xb6\xf8\xef\xa2\x80")
	write(t, dir, "d.bin", "\x00\x01\x02\xff")
	all, warnings := Sources{entries: []string{"."}, dir: dir}.Read(nil)
	if got := texts(Config{Agent: Agent{Documents: all}}); got != "Магазин открыт hi" {
		t.Errorf("it reads %q", got)
	}
	if len(warnings) != 2 || !strings.Contains(warnings[0], "c.txt is skipped: its encoding is unknown") || !strings.Contains(warnings[1], "d.bin is skipped: it is not plain text") {
		t.Errorf("the warnings are %q", warnings)
	}
}

// SE-17: what the operator lists in config.yaml can be anywhere; the configuration and the files that it reads are never knowledge, under
// whatever name, also where their whole folder is.
func TestOwnKnowledge(t *testing.T) {
	dir := characterDir(t, map[string]string{"c/character.json": `{"name": "Eliza", "knowledge": ["."], "settings": {"secrets": {"KEY": "sk-secret"}}}`, "key.txt": "sk-secret", "faq.md": "faq", "docs/a.md": "a"})
	require.NoError(t, os.Link(filepath.Join(dir, "key.txt"), filepath.Join(dir, "docs/b.md")))
	require.NoError(t, os.Symlink("../faq.md", filepath.Join(dir, "docs/c.md")))
	const key = "providers: {openai: {api_key: \"${file:key.txt}\"}}\n"
	for name, c := range map[string]struct{ text, want string }{
		"a file":     {"agent: {knowledge: [faq.md]}\n", "faq"},
		"absolute":   {"agent: {knowledge: [" + filepath.Join(dir, "faq.md") + "]}\n", "faq"},
		"a link":     {"agent: {knowledge: [docs]}\n", "a faq"},
		"all of it":  {"agent: {knowledge: [., c/character.json]}\n", "{ a faq faq {"},
		"both":       {"agent: {character: c/character.json, knowledge: [faq.md]}\n", "faq"},
		"character":  {"agent: {character: c/character.json}\n", ""},
		"above it":   {"agent: {character: c/character.json, knowledge_roots: [.]}\n", ""},
		"no root":    {"agent: {character: c/character.json, knowledge_roots: [none]}\n", ""},
		"its config": {"agent: {knowledge: [config.yaml, key.txt]}\n", ""},
	} {
		write(t, dir, "config.yaml", c.text+key)
		got := require.Value(Load(filepath.Join(dir, "config.yaml"), environment(nil), platforms...))(t)
		said := texts(got)
		if c.want == "{ a faq faq {" { // the character is no configuration where it is not used
			said = strings.ReplaceAll(said, `{"name": "Eliza", "knowledge": ["."], "settings": {"secrets": {"KEY": "sk-secret"}}}`, "{")
		}
		if said != c.want || strings.Contains(said, "sk-secret") {
			t.Errorf("%s: it reads %q, with the warnings %q", name, said, got.Warnings)
		}
		noRoot := slices.ContainsFunc(got.Warnings, func(w string) bool { return strings.Contains(w, "there is no folder") })
		if noRoot != (name == "no root") {
			t.Errorf("%s: the warnings are %q", name, got.Warnings)
		}
	}
}

// A character can't permit itself more.
func TestRootsOfACharacter(t *testing.T) {
	dir := characterDir(t, map[string]string{"c/c.yaml": "name: x\nknowledge_roots: [/]\nknowledge: [../a.txt]\n", "a.txt": "a"})
	c, err := Parse("config.yaml", []byte("agent: {character: c/c.yaml}\n"), dir, environment(nil), platforms...)
	if err != nil || texts(c) != "" || len(c.Warnings) != 2 || len(c.Agent.KnowledgeRoots) > 0 {
		t.Errorf("%v, it reads %q, with the warnings %q", err, texts(c), c.Warnings)
	}
}

// Files that are more than text are read by extract, and are only named without it. The stamp changes with each file.
func TestSourcesAreReadAgain(t *testing.T) {
	dir := characterDir(t, map[string]string{"docs/a.md": "A", "docs/b.PDF": "%PDF", "docs/c.html": "<p>C"})
	c, err := Parse("config.yaml", []byte("agent: {knowledge: [docs, A sentence.]}\n"), dir, environment(nil), platforms...)
	if err != nil || texts(c) != "A   A sentence." || len(c.Warnings) > 0 {
		t.Fatalf("%v, it reads %q, with the warnings %q", err, texts(c), c.Warnings)
	}
	read := func(want string, refused int) {
		t.Helper()
		all, warnings := c.Agent.Sources.Read(func(data []byte) (string, error) {
			if string(data) == "%PDF" {
				return "", errors.New("it is damaged")
			}
			return "text of " + string(data), nil
		})
		if got := texts(Config{Agent: Agent{Documents: all}}); got != want || len(warnings) != refused {
			t.Errorf("it reads %q, with the warnings %q", got, warnings)
		}
	}
	read("A text of <p>C A sentence.", 1)
	stamp := c.Agent.Sources.Stamp()
	changed := func(what string, want bool) {
		t.Helper()
		now := c.Agent.Sources.Stamp()
		if (now != stamp) != want || now == "" {
			t.Errorf("%s: the stamp is %q after %q", what, now, stamp)
		}
		stamp = now
	}
	changed("nothing", false)
	write(t, dir, "docs/d.md", "D")
	changed("a new file", true)
	read("A text of <p>C D A sentence.", 1)
	write(t, dir, "docs/a.md", "AA")
	changed("a longer file", true)
	require.NoError(t, os.Chtimes(filepath.Join(dir, "docs/a.md"), time.Time{}, time.Unix(1, 0)))
	changed("another time", true)
	require.NoError(t, os.Remove(filepath.Join(dir, "docs/d.md")))
	changed("a deleted file", true)
	if s := (Sources{}).Stamp(); s != "" {
		t.Errorf("without sources the stamp is %q", s)
	}
}

// config.yaml can name sitemaps, which the gateway reads while it runs. A character file can't.
func TestSitemapsAreConfigured(t *testing.T) {
	dir := characterDir(t, map[string]string{"c/character.json": `{"name": "Eliza", "knowledge": ["https://evil.example/sitemap.xml"]}`})
	for text, want := range map[string]string{
		"agent: {knowledge: [\"https://www.example.org/sitemap.xml\", \"https://x.example is our site.\", \"http://www.example.org/sitemap.xml\"]}\n": "https://www.example.org/sitemap.xml",
		"agent: {character: c/character.json}\n": "",
	} {
		path := filepath.Join(dir, "config.yaml")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		c := require.Value(Load(path, environment(nil), platforms...))(t)
		if got := strings.Join(c.Agent.Sources.Sitemaps(), " "); got != want || len(c.Warnings) != 1 {
			t.Errorf("%s: the sitemaps are %q, the warnings %q", text, got, c.Warnings)
		}
	}
}
