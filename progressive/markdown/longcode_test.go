package markdown_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"parley/progressive/markdown"
)

// program is code of n lines.
func program(n int) string {
	var b strings.Builder
	b.WriteString("// cmd/main.go\npackage main\n\n")
	for i := range n - 3 {
		fmt.Fprintf(&b, "func f%d() error { return errors.New(\"%d\") } // 字👩‍👧\n", i, i)
	}
	return b.String()
}

func fenced(language, code string) string { return "```" + language + "\n" + code + "```" }

// ST-11: code that is too long is a file, byte for byte, with a line in its place.
func TestLongCode(t *testing.T) {
	code, l := program(90), markdown.Limits{Length: 700, Code: 1400}
	text := "Here:\n\n" + fenced("go", code) + "\n\nand\n\n" + fenced("go", "x()\n") + "\n\nDone."
	for _, d := range dialects() {
		parts, files := markdown.NewRenderer(d.d, l).Finish(text)
		want := []markdown.Attachment{{Name: "main.go", Text: code}}
		if !slices.Equal(files, want) {
			t.Errorf("%s: %d files, %q", d.name, len(files), files[0].Name)
		}
		if len(parts) != 1 || !strings.HasPrefix(parts[0].Plain, "Here:\n\n📎 main.go, 90 lines\n\nand\n\n") || !strings.HasSuffix(parts[0].Plain, "x()\n\nDone.") {
			t.Errorf("%s: %q", d.name, parts)
		}
		kept, files := markdown.NewRenderer(d.d, l).Finish(text, "main.go")
		if in := markdown.Render(markdown.Parse(text), d.d, l); !slices.Equal(kept, in) || !slices.Equal(files, want) {
			t.Errorf("%s: kept, it reads %q", d.name, kept)
		}
	}
}

// What is long is measured by the block, and code within an item stays there.
func TestWhatIsLong(t *testing.T) {
	item := "1. An item\n\n   " + strings.ReplaceAll(fenced("go", program(400)), "\n", "\n   ")
	for name, c := range map[string]struct {
		text  string
		files []string
	}{
		"just not":         {fenced("", strings.Repeat("x", 1000)+"\n"), nil},
		"just":             {fenced("", strings.Repeat("x", 1001)+"\n"), []string{"code.txt"}},
		"one line":         {fenced("json", strings.Repeat("[1,2] ", 5000)+"\n"), []string{"code.json"}},
		"many short ones":  {strings.Repeat(fenced("go", "x()\n")+"\n\n", 500), nil},
		"three long ones":  {strings.Repeat(fenced("go", program(80))+"\n\n", 3), []string{"main.go", "main-2.go", "main-3.go"}},
		"one not closed":   {"```py\n" + strings.Repeat("pass\n", 400), []string{"code.py"}},
		"in an item":       {item, nil},
		"after it":         {item + "\n\n" + fenced("go", program(80)), []string{"main.go"}},
		"words and tables": {strings.Repeat("word ", 900) + "\n\n" + long("table", 9000), nil},
	} {
		_, files := markdown.NewRenderer(markdown.Light(), markdown.Limits{Length: 500, Code: 1000}).Finish(c.text)
		var names []string
		for _, f := range files {
			names = append(names, f.Name)
		}
		if !slices.Equal(names, c.files) {
			t.Errorf("%s: %q, want %q", name, names, c.files)
		}
	}
}

// An item of a list that is too long for one piece goes on as what it is: its words as words, its code as code.
func TestLongItemGoesOn(t *testing.T) {
	words, code := strings.Repeat("  words of *one* item\n", 1000), strings.Repeat("  code of *one* item\n", 1000)
	for name, c := range map[string]struct{ text, plain string }{
		"words":      {"- An item\n" + words + "  end", "words of one item"},
		"code":       {"- An item\n\n  ```go\n" + code + "  ```\n\n  end", "code of *one* item"},
		"after code": {"- An item\n\n  ```go\n  x()\n  ```\n\n" + words + "  end", "words of one item"},
	} {
		parts := markdown.Render(markdown.Parse(c.text), markdown.HTML(markdown.HTMLOptions{}), markdown.Limits{})
		if len(parts) != 1 || strings.Count(parts[0].Plain, c.plain) != 1000 || !strings.HasSuffix(parts[0].Plain, "end") {
			t.Errorf("%s: %d lines read %q, of\n%.200q … %q", name, strings.Count(parts[0].Plain, c.plain), c.plain, parts[0].Plain, parts[0].Plain[len(parts[0].Plain)-200:])
		}
	}
}

// ST-19, ST-20: while code grows that may become a file, no part appears that the end does not have, for every length of the code
// and of what stands around it; and a view depends on the text alone, not on how it came.
func TestLongCodeGrows(t *testing.T) {
	cut := 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 6))
		text := generate(seed) + "\n\n" + fenced("go", program(4+r.IntN(200))) + "\n\n" + generate(seed+documents) + "\n\n" +
			fenced("py", program(4+r.IntN(60)))
		l := markdown.Limits{Length: 300 + r.IntN(600), Entities: 90, Code: 200 + r.IntN(2000)}
		if l.Length > 600 {
			l.Code = 2 * l.Length
		}
		d := dialects()[seed%4]
		inc := markdown.NewRenderer(d.d, l)
		var full []markdown.Rendered
		for at := 0; at <= len(text); at += 1 + r.IntN(250) {
			parts := inc.Render(text[:at], false)
			full = checkFull(t, seed, text[:at], full, parts)
			if at%10 == 0 && !slices.Equal(parts, markdown.NewRenderer(d.d, l).Render(text[:at], false)) {
				t.Fatalf("seed %d: the view at %d depends on those before", seed, at)
			}
		}
		parts, files := inc.Finish(text)
		checkFull(t, seed, text, full, parts)
		if len(full) >= len(parts) {
			t.Fatalf("seed %d: the last view had %d parts, the end has %d", seed, len(full)+1, len(parts))
		}
		again, _ := markdown.NewRenderer(d.d, l).Finish(text)
		if !slices.Equal(parts, again) {
			t.Fatalf("seed %d: streamed\n%q\nat once\n%q", seed, parts, again)
		}
		if len(files) > 0 { // else a fence before it was open
			cut++
		}
	}
	if cut < documents/10 {
		t.Errorf("only %d documents have long code", cut)
	}
}

// ST-20: people see the beginning of open code, up to half of a message, and how long it is. It never shrinks, and stays until what
// follows needs its room. Code that ends below the limit is shown whole as soon as it ends.
func TestOpenCode(t *testing.T) {
	l := markdown.Limits{Length: 700, Code: 1000}
	for name, code := range map[string]string{
		"lines": program(300), "one line": strings.Repeat("字e\u0301👩‍👧", 2000) + "\n", "short": program(18), "shortest": "x()\n",
	} {
		for d, dialect := range map[string]markdown.Dialect{"light": markdown.Light(), "html": dialects()[0].d} {
			r, text := markdown.NewRenderer(dialect, l), "Here:\n\n"+fenced("go", code)+"\n"
			long, before := markdown.UTF16(code) > l.Code+1, 0
			for at := 0; at < len(text)-5; at += 13 {
				parts := r.Render(text[:at], false)
				n := 0
				for _, p := range parts {
					_, shown, _ := strings.Cut(p.Plain, "lines")
					n += len(squeezed(shown))
				}
				if len(parts) > 1 || n < before-2 { // an open character can go
					t.Fatalf("%s, %s: %d bytes in %d parts after %d: %q", name, d, n, len(parts), before, parts)
				}
				before = n
			}
			closed := r.Render(text, false)
			if !long {
				if !slices.Equal(closed, markdown.Render(markdown.Parse(text), dialect, l)) {
					t.Errorf("%s, %s: closed it reads %q", name, d, closed)
				}
				continue
			}
			beginning := strings.TrimPrefix(code[:100], "// cmd/main.go\n")
			if len(closed) != 1 || !strings.HasPrefix(closed[0].Plain, "Here:\n\n📎 ") || !strings.Contains(closed[0].Plain, beginning[:50]) {
				t.Errorf("%s, %s: closed it reads %q", name, d, closed)
			}
			for words, stays := range map[string]bool{"Done.": true, strings.Repeat("words ", 100): false} {
				next := r.Render(text+"\n"+words, false)
				if len(next) != 1 || !strings.HasSuffix(next[0].Plain, "\n\n"+strings.TrimSpace(words)) || strings.Contains(next[0].Plain, beginning[:50]) != stays {
					t.Errorf("%s, %s: with what follows it reads %q", name, d, next)
				}
			}
		}
	}
}

func TestFileNames(t *testing.T) {
	for name, c := range map[string]struct{ info, line, want string }{
		"the language":          {"go", "package main", "code.go"},
		"another word for it":   {"Python", "import os", "code.py"},
		"none":                  {"", "words", "code.txt"},
		"an unknown one":        {"exe", "MZ", "code.txt"},
		"in the first line":     {"go", "// internal/server/server.go", "server.go"},
		"with a word":           {"py", "# File: tools/run_all.py", "run_all.py"},
		"of a page":             {"html", "<!-- index.html -->", "index.html"},
		"of a style":            {"css", "/* a/site.css */", "site.css"},
		"behind the language":   {"ts:src/app.ts", "let x", "app.ts"},
		"as a title":            {`js title="app.js"`, "let x", "app.js"},
		"a header":              {"c", "/* list.h */", "list.h"},
		"yaml has two":          {"yaml", "# compose.yml", "compose.yml"},
		"a comment with words":  {"go", "// see main.go for more", "code.go"},
		"another kind of file":  {"go", "// setup.exe", "code.go"},
		"a script in disguise":  {"", "# run.bat", "code.txt"},
		"a text of its own":     {"", "# notes.txt", "notes.txt"},
		"hidden":                {"sh", "# .bashrc.sh", "code.sh"},
		"two extensions":        {"go", "// a.exe.go", "code.go"},
		"a path out of bounds":  {"go", "// ../../etc/x.go", "x.go"},
		"too long to be a name": {"go", "// " + strings.Repeat("x", 80) + ".go", "code.go"},
		"nothing but a folder":  {"go", "// internal/", "code.go"},
		"a line that goes on":   {"go", "// " + strings.Repeat("x/", 5000) + "a.go", "code.go"},
	} {
		_, files := markdown.NewRenderer(markdown.Plain(), markdown.Limits{Code: 1}).Finish(fenced(c.info, c.line+"\nmore\n"))
		if len(files) != 1 || files[0].Name != c.want {
			t.Errorf("%s: %q, want %q", name, files, c.want)
		}
	}
}
