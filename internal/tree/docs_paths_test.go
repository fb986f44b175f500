package tree

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// A Go file that the docs name exists. One with a folder stands exactly there; `*` is any folder. One without a folder
// stands anywhere: the text says where.
func TestFilesInTheDocs(t *testing.T) {
	t.Chdir(top)
	files := goFiles(t)
	n := 0
	for _, p := range readPages(t) {
		for _, span := range p.code {
			for _, name := range goNames.FindAllString(span, -1) {
				n++
				if !someFile(files, name) {
					t.Errorf("%s names %s, which does not exist", p.name, name)
				}
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d files were found", n)
	}
}

func TestFilesAreFound(t *testing.T) {
	files := []string{"core/run.go", "connectors/web/sink.go"}
	for name, want := range map[string]bool{"run.go": true, "core/run.go": true, "web/run.go": false, "connectors/*/sink.go": true, "connectors/*/run.go": false, "gone.go": false} {
		if someFile(files, name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
}

var goNames = regexp.MustCompile(`[\w*][\w*/.-]*\.go\b`)

// someFile reports whether name is one of files.
func someFile(files []string, name string) bool {
	for _, f := range files {
		if !strings.Contains(name, "/") {
			f = path.Base(f)
		}
		if ok, err := path.Match(name, f); err == nil && ok {
			return true
		}
	}
	return false
}
