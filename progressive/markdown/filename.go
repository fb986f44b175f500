package markdown

import (
	"path"
	"regexp"
	"strings"
)

// extensions are the extensions of files, by the names that models give to languages. No others are ever used: a name
// that the model made up must not decide what a click on the file does.
var extensions = map[string]string{
	"ada": "adb", "asm": "asm", "bash": "sh", "c": "c", "c#": "cs", "c++": "cpp", "clojure": "clj", "cpp": "cpp", "cs": "cs",
	"csharp": "cs", "css": "css", "csv": "csv", "dart": "dart", "diff": "diff", "elixir": "ex", "elm": "elm", "erlang": "erl",
	"fortran": "f90", "fsharp": "fs", "go": "go", "golang": "go", "graphql": "graphql", "h": "h", "haskell": "hs", "hs": "hs",
	"html": "html", "ini": "ini", "java": "java", "javascript": "js", "js": "js", "json": "json", "jsx": "jsx", "julia": "jl",
	"kotlin": "kt", "kt": "kt", "latex": "tex", "lisp": "lisp", "lua": "lua", "markdown": "md", "matlab": "m", "md": "md",
	"nim": "nim", "ocaml": "ml", "pascal": "pas", "perl": "pl", "php": "php", "proto": "proto", "protobuf": "proto", "py": "py",
	"python": "py", "r": "r", "rb": "rb", "rs": "rs", "ruby": "rb", "rust": "rs", "sass": "sass", "scala": "scala", "scss": "scss",
	"sh": "sh", "shell": "sh", "sql": "sql", "svelte": "svelte", "swift": "swift", "terraform": "tf", "tex": "tex", "toml": "toml",
	"ts": "ts", "tsx": "tsx", "typescript": "ts", "vue": "vue", "xml": "xml", "yaml": "yaml", "yml": "yaml", "zig": "zig", "zsh": "sh",
}

const mostName = 60 // bytes of a file's name

var (
	nameForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*\.[A-Za-z0-9]+$`)
	// A comment that holds a path and nothing else: how models say which file they mean.
	nameComment = regexp.MustCompile(`^\s*(?://|#|--|/\*|<!--|;|%)\s*(?:[Ff]ile(?:name)?:\s*)?([\w./-]+)\s*(?:\*/|-->)?\s*$`)
)

// fileName returns the name of a file with code: what the block of code or its first line names, if it is a plain name
// that fits the language; otherwise "code" with an extension. Directories are removed.
func fileName(code Code) string {
	language, rest := code.Language, ""
	if i := strings.IndexAny(language, " \t:{,"); i >= 0 {
		language, rest = language[:i], language[i:]
	}
	extension, ok := extensions[strings.ToLower(language)]
	if !ok {
		extension = "txt"
	}
	line, _, _ := strings.Cut(code.Text, "\n")
	said := strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune(" \t:={},\"'", r) })
	if m := nameComment.FindStringSubmatch(line[:min(len(line), 4*mostName)]); m != nil {
		said = append(said, m[1])
	}
	for _, s := range said {
		if s = path.Base(s); len(s) <= mostName && nameForm.MatchString(s) && suits(path.Ext(s)[1:], extension) {
			return s
		}
	}
	return "code." + extension
}

// suits reports whether a file of a language may have an extension.
func suits(got, extension string) bool {
	return got == extension || extension != "txt" && extensions[got] == extension || extension == "c" && got == "h" || extension == "cpp" && got == "hpp"
}
