package tree

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"parley/internal/require"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	yamlparser "github.com/goccy/go-yaml"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"parley"
)

// page is a Markdown file of the repository.
type page struct {
	name    string
	text    string
	links   []string
	anchors map[string]bool
	yaml    []string // its fenced blocks of YAML
	code    []string // the code in its text
}

// Every relative link leads to a file, and to a heading of it where it names one.
func TestLinksOfTheDocs(t *testing.T) {
	t.Chdir(top)
	pages := readPages(t)
	if len(pages) < 20 {
		t.Fatalf("only %d pages were found", len(pages))
	}
	for _, p := range pages {
		for _, link := range p.links {
			if problem := broken(pages, p, link); problem != "" {
				t.Errorf("%s links to %s: %s; want none", p.name, link, problem)
			}
		}
	}
}

// The pages that everyone reads first stay short: what is longer has a page of its own.
func TestFirstPagesAreShort(t *testing.T) {
	t.Chdir(top)
	pages := readPages(t)
	for name, most := range map[string]int{"README.md": 900, "ARCHITECTURE.md": 1100, "bench/README.md": 900, "CONTRIBUTING.md": 1200} {
		if n := len(strings.Fields(pages[name].text)); n == 0 || n > most {
			t.Errorf("%s has %d words; at most %d", name, n, most)
		}
	}
}

// Each decision has a number of its own, in the name of its file and in its heading.
func TestNumbersOfDecisions(t *testing.T) {
	t.Chdir(top)
	files, err := filepath.Glob("docs/engineering/adr/*.md")
	if err != nil || len(files) < 20 {
		t.Fatalf("there are %d decisions: %v; want at least 20", len(files), err)
	}
	pages := readPages(t)
	for i, file := range files {
		if want := fmt.Sprintf("%04d-", i+1); !strings.HasPrefix(path.Base(file), want) {
			t.Errorf("%s should have the number %s", file, want)
		}
		if !strings.HasPrefix(pages[filepath.ToSlash(file)].text, fmt.Sprintf("# %d. ", i+1)) {
			t.Errorf("the heading of %s does not begin with %d", file, i+1)
		}
	}
}

func TestBrokenLinksAreFound(t *testing.T) {
	t.Chdir(top)
	from := page{name: "docs/a.md", anchors: map[string]bool{"here": true}}
	pages := map[string]page{"docs/a.md": from, "README.md": {name: "README.md", anchors: map[string]bool{"run-it": true}}}
	for link, want := range map[string]bool{
		"https://example.org/x": true, "mailto:a@example.org": true, "#here": true, "#there": false, "../README.md": true,
		"../README.md#run-it": true, "../README.md#gone": false, "no.md": false, "../../go.mod": false, "../go.mod": true, "../docs": true,
	} {
		if problem := broken(pages, from, link); (problem == "") != want {
			t.Errorf("%s: %q", link, problem)
		}
	}
	headings := parsePage("x.md", []byte("# A `b` – c_d, *e*!\n\n## Same\n\n## Same\n")).anchors
	for _, want := range []string{"a-b--c_d-e", "same", "same-1"} {
		if !headings[want] {
			t.Errorf("no %q in %v", want, headings)
		}
	}
}

// A reader who begins with the README finds every page.
func TestEveryPageIsLinked(t *testing.T) {
	t.Chdir(top)
	pages := readPages(t)
	seen, next := map[string]bool{"README.md": true}, []string{"README.md"}
	for len(next) > 0 {
		p := pages[next[0]]
		next = next[1:]
		for _, link := range p.links {
			file, _ := target(p, link)
			for name := range pages {
				if !seen[name] && (name == file || path.Dir(name) == file) {
					seen[name] = true
					next = append(next, name)
				}
			}
		}
	}
	for name := range pages {
		if !seen[name] {
			t.Errorf("no link leads to %s", name)
		}
	}
}

// The configuration in the docs is one that the gateway accepts.
func TestConfigurationInTheDocs(t *testing.T) {
	t.Chdir(top)
	n := 0
	for _, p := range readPages(t) {
		for _, block := range p.yaml {
			n++
			file := filepath.Join(t.TempDir(), "config.yaml")
			require.NoError(t, os.WriteFile(file, []byte(block), 0o600))
			if _, err := parley.LoadConfig(file, func(name string) (string, bool) {
				if !strings.Contains(block, "${env:"+name+"}") && name != "PARLEY_SECRET_KEY" {
					return "", false // a variable that no block requires
				}
				secret := strings.Repeat("A", 43) + "="
				if name == "TELEGRAM_TOKEN" {
					secret = "123456789:" + secret[:35]
				}
				return secret, true
			}); err != nil {
				t.Errorf("%s: %v\n%s", p.name, err, block)
			}
		}
	}
	if n < 2 {
		t.Errorf("only %d blocks of YAML were found", n)
	}
}

// The workflow runs what .ci/run runs; the templates have what the repository's host requires.
func TestRepositoryFiles(t *testing.T) {
	t.Chdir(top)
	files, err := filepath.Glob(".github/ISSUE_TEMPLATE/*.yml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%q, %v; want at least 3", files, err)
	}
	for _, file := range files {
		var form struct {
			Name, Description string
			Body              []struct{ Type string }
		}
		readYAML(t, file, &form)
		if path.Base(file) != "config.yml" && (form.Name == "" || form.Description == "" || len(form.Body) == 0) {
			t.Errorf("%s: %+v", file, form)
		}
	}
	var flow struct {
		Jobs map[string]struct {
			Steps []struct{ Uses, Run string }
		}
	}
	readYAML(t, ".github/workflows/ci.yml", &flow)
	release := flow
	release.Jobs = nil
	readYAML(t, ".github/workflows/release.yml", &release)
	flow.Jobs["publish"] = release.Jobs["publish"]
	pinned := regexp.MustCompile(`^actions/[a-z-]+@v\d+$`)
	runs := 0
	for _, job := range flow.Jobs {
		for _, step := range job.Steps {
			if step.Run == ".ci/run" {
				runs++
			}
			if step.Uses != "" && !pinned.MatchString(step.Uses) {
				t.Errorf("the workflow uses %q", step.Uses)
			}
		}
	}
	if info, err := os.Stat(".ci/run"); err != nil || info.Mode()&0o111 == 0 || runs != 1 {
		t.Errorf("the workflow runs .ci/run %d times: %v", runs, err)
	}
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = yamlparser.Unmarshal(data, into)
	}
	if err != nil {
		t.Errorf("%s: %v", file, err)
	}
}

// readPages returns the Markdown files that people read, by path.
func readPages(t *testing.T) map[string]page {
	t.Helper()
	pages := map[string]page{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git" || d.Name() == "artifacts" || d.Name() == "prompts"):
			return fs.SkipDir
		case path.Ext(name) != ".md" || strings.HasPrefix(name, ".github"):
			return nil
		}
		source, err := os.ReadFile(name)
		pages[filepath.ToSlash(name)] = parsePage(filepath.ToSlash(name), source)
		return err
	})
	require.NoError(t, err)
	return pages
}

func parsePage(name string, source []byte) page {
	p := page{name: name, text: string(source), anchors: map[string]bool{}}
	root := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the callback returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			p.links = append(p.links, string(n.Destination))
		case *ast.Image:
			p.links = append(p.links, string(n.Destination))
		case *ast.Heading:
			p.addAnchor(plain(n, source))
		case *ast.CodeSpan:
			p.code = append(p.code, plain(n, source))
		case *ast.FencedCodeBlock:
			if string(n.Language(source)) == "yaml" {
				p.yaml = append(p.yaml, string(n.Lines().Value(source)))
			}
		}
		return ast.WalkContinue, nil
	})
	return p
}

// plain returns the text of a heading without its markup.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(source))
		} else {
			b.WriteString(plain(c, source))
		}
	}
	return b.String()
}

// addAnchor adds the name that the repository's host gives to a heading.
func (p page) addAnchor(heading string) {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
	for n := 0; ; n++ {
		numbered := name
		if n > 0 {
			numbered += "-" + string(rune('0'+n))
		}
		if !p.anchors[numbered] {
			p.anchors[numbered] = true
			return
		}
	}
}

// target returns the file and the heading that a link of p leads to; no file where it leads out of the repository.
func target(p page, link string) (file, anchor string) {
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "" || u.Host != "" {
		return "", ""
	}
	if u.Path == "" {
		return p.name, u.Fragment
	}
	return path.Join(path.Dir(p.name), u.Path), u.Fragment
}

// broken says what is wrong with a link of p; it is empty if nothing is.
func broken(pages map[string]page, p page, link string) string {
	file, anchor := target(p, link)
	if file == "" {
		return ""
	}
	if file == "../../releases/latest" { // on the repository's host, beside its files
		return ""
	}
	if strings.HasPrefix(file, "../") {
		return "it leads out of the repository"
	}
	if to, ok := pages[file]; ok {
		if anchor != "" && !to.anchors[anchor] {
			return "the page has no such heading"
		}
		return ""
	}
	if _, err := os.Stat(file); err != nil {
		return "there is no such file"
	}
	return ""
}
