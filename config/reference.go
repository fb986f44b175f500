package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxReferenced is the maximum size of a file behind ${file:PATH}, which holds a secret or a prompt.
const maxReferenced = 64 << 10

// fault is a problem with a value, without its position.
type fault struct{ message, hint string }

// resolver replaces references in single values. It runs after the YAML is parsed, so the content of a
// variable or a file can't become a key or change the structure.
type resolver struct {
	dir    string // base of relative paths in ${file:PATH}
	getenv func(string) (string, bool)
	opened *[]string // collects the files that were read, which knowledge must not show; nil if not needed
}

// resolve replaces every reference in text; "$${" becomes a literal "${". Replacements are not resolved again, so a
// variable can't name a file. first is the first reference in printable form, or "" if there is none.
func (r resolver) resolve(text string) (resolved, first string, wrong *fault) {
	var b strings.Builder
	for {
		start := strings.Index(text, "${")
		if start < 0 {
			b.WriteString(text)
			return b.String(), first, nil
		}
		if start > 0 && text[start-1] == '$' {
			b.WriteString(text[:start] + "{")
			text = text[start+2:]
			continue
		}
		length := strings.IndexByte(text[start:], '}')
		if length < 0 {
			return "", first, &fault{"a ${ has no closing }", "close it, or write $${ for the plain characters"}
		}
		value, shown, wrong := r.lookUp(text[start+2 : start+length])
		if wrong != nil {
			return "", first, wrong
		}
		if first == "" {
			first = shown
		}
		b.WriteString(text[:start] + value)
		text = text[start+length+1:]
	}
}

// lookUp returns the value of a reference, and its printable form.
func (r resolver) lookUp(reference string) (value, shown string, wrong *fault) {
	if strings.Contains(reference, "${") {
		return "", "", &fault{"a reference is nested in another one", "use one at a time"}
	}
	kind, rest, _ := strings.Cut(reference, ":")
	switch kind {
	case "env":
		return r.variable(rest)
	case "file":
		shown = "${file:" + rest + "}"
		value, wrong = r.file(rest)
		return value, shown, wrong
	}
	return "", "", &fault{fmt.Sprintf("${%s} is not a reference", shorten(reference)),
		"write ${env:NAME}, ${env:NAME:-default} or ${file:PATH}, or $${ for the plain characters"}
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// variable returns the value of an environment variable. An empty one counts as missing.
func (r resolver) variable(text string) (value, shown string, wrong *fault) {
	name, fallback, hasFallback := strings.Cut(text, ":-")
	if !variableName.MatchString(name) {
		return "", "", &fault{fmt.Sprintf("%q is not a valid environment variable name", shorten(name)),
			"write ${env:NAME} or ${env:NAME:-default}"}
	}
	shown = "${env:" + name + "}"
	if value, _ = r.getenv(name); value != "" {
		return value, shown, nil
	}
	if hasFallback {
		return fallback, shown, nil
	}
	return "", "", &fault{"the environment variable " + name + " is not set, or is empty",
		"set it, or write ${env:" + name + ":-default}"}
}

// file returns the content of a file without line breaks at its end, which editors add.
func (r resolver) file(path string) (string, *fault) {
	if path == "" {
		return "", &fault{"${file:} names no file", "write ${file:PATH}"}
	}
	shown := path
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.dir, path)
	}
	if r.opened != nil {
		*r.opened = append(*r.opened, path)
	}
	data, err := readRegular(path, maxReferenced)
	text := strings.TrimRight(string(data), "\r\n")
	switch {
	case err != nil:
		return "", &fault{fmt.Sprintf("the file %q cannot be read: %v", shown, err),
			"relative paths start in the folder of the configuration"}
	case text == "":
		return "", &fault{fmt.Sprintf("the file %q is empty", shown), "put the value into it"}
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "", &fault{fmt.Sprintf("the file %q is not text", shown), "save it as UTF-8"}
	}
	return text, nil
}

// readRegular reads a regular file. It refuses pipes and devices, which could block the start.
func readRegular(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, reason(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, reason(err)
	}
	defer file.Close()
	return readAtMost(file, limit)
}

// readAtMost reads all, and returns an error if that is more than limit.
func readAtMost(from io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err != nil {
		return nil, reason(err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("larger than %d KiB", limit>>10)
	}
	return data, nil
}

// reason returns the cause of a file system error, without operation and path, which the message has already.
func reason(err error) error {
	var inPath *fs.PathError
	if errors.As(err, &inPath) {
		return inPath.Err
	}
	return err
}
