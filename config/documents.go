package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/internal/encoding"
)

// Document is a text of the agent's knowledge.
type Document struct {
	Name string // of the file; empty for a sentence
	Text string
}

// Bounds of the agent's knowledge, which is kept in memory.
const (
	maxDocument  = 1 << 20  // bytes of a text file
	maxFormatted = 20 << 20 // bytes of a file in a format whose text is extracted
	maxDocuments = 8 << 20  // bytes of all texts together
	maxFiles     = 5000
	maxDepth     = 5 // nested folders
)

// formatted are the endings of files whose text is extracted.
var formatted = []string{".pdf", ".docx", ".html", ".htm", ".odt", ".pptx", ".xlsx"}

// Sources are the sentences, files and folders of agent.knowledge. They can be read again while the gateway runs; which
// files are forbidden is decided each time, as files can be replaced. The zero value has none. It is safe for
// concurrent use.
type Sources struct {
	entries []string
	dir     string // base of relative paths
	// confined means that the entries come from a character file, which is untrusted: it can name files below dir and
	// below roots, but not through a symlink that leads out of them.
	confined bool
	roots    []string      // absolute
	never    []os.FileInfo // files that are never loaded: the configuration, the files that it references, and the character file
	warnings []string
}

// documents loads Sources once.
type documents struct {
	Sources
	extract func(data []byte) (string, error) // returns the text of formatted files; nil: they are listed without their texts
	stamps  *strings.Builder                  // if set, files are only looked at, see Stamp

	all   []Document
	size  int
	files int
}

// sources returns the sources of a. A file that a character file names is confined to its folder and
// agent.knowledge_roots: such files are shared, and could otherwise send the owner's files to the model.
func (d *decoder) sources(name string, a Agent) Sources {
	if len(a.Knowledge) == 0 && len(a.KnowledgeRoots) == 0 {
		return Sources{}
	}
	s := &Sources{dir: d.refs.dir, entries: a.Knowledge}
	if d.character != "" && d.knows {
		s.dir, s.confined = filepath.Dir(d.character), true
		for _, root := range a.KnowledgeRoots {
			s.permit(root, d.refs.dir)
		}
	}
	for _, path := range append([]string{name, filepath.Join(d.refs.dir, filepath.Base(name)), d.character}, *d.refs.opened...) {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			s.never = append(s.never, info)
		}
	}
	return *s
}

// Read returns the documents, and warnings about skipped ones. extract returns the text of PDF, Office and HTML files;
// without it they have none. A file that can't be read never fails a start: the agent answers without it.
func (s Sources) Read(extract func(data []byte) (string, error)) ([]Document, []string) {
	d := &documents{Sources: s, extract: extract}
	d.warnings = slices.Clone(s.warnings)
	for _, entry := range s.entries {
		d.add(entry)
	}
	return d.all, d.warnings
}

// Stamp returns a text that changes when a file is added, removed or changed, by sizes and times of modification; "" if
// there are no files.
func (s Sources) Stamp() string {
	d := &documents{Sources: s, stamps: &strings.Builder{}}
	d.warnings = nil
	for _, entry := range s.entries {
		d.add(entry)
	}
	return d.stamps.String()
}

// permit adds a folder of agent.knowledge_roots; a relative path starts at dir.
func (s *Sources) permit(root, dir string) {
	if !filepath.IsAbs(root) {
		root = filepath.Join(dir, root)
	}
	path, err := filepath.Abs(root)
	info, statErr := os.Stat(root)
	if err != nil || statErr != nil || !info.IsDir() {
		s.warnings = append(s.warnings, fmt.Sprintf("agent.knowledge_roots: there is no folder %s", root))
		return
	}
	s.roots = append(s.roots, path)
}

// sitemap reports whether an entry is the address of a sitemap.
func sitemap(entry string) bool {
	u, err := url.Parse(entry)
	return err == nil && u.Scheme == "https" && u.Host != "" && !strings.ContainsAny(entry, " \n")
}

// Sitemaps returns the addresses of sitemaps. A character file can name none.
func (s Sources) Sitemaps() (all []string) {
	for _, entry := range s.entries {
		if sitemap(entry) && !s.confined {
			all = append(all, entry)
		}
	}
	return all
}

// add loads the file, or the text files of the folder, that an entry names. Any other entry is itself a text, unless it
// looks like a path: then it is reported as missing.
func (d *documents) add(entry string) {
	path := entry
	if strings.TrimSpace(entry) == "" {
		return
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(d.dir, path)
	}
	info, err := os.Stat(path)
	switch {
	case sitemap(entry) && d.confined:
		d.warnings = append(d.warnings, "agent.knowledge: only config.yaml can name the sitemap "+entry)
	case sitemap(entry): // it is read while the gateway runs
	case err == nil && d.confined:
		d.addConfined(filepath.Clean(path))
	case err == nil && info.IsDir():
		d.read(os.DirFS(path), path, ".")
	case err == nil:
		d.read(os.DirFS(filepath.Dir(path)), filepath.Dir(path), filepath.Base(path))
	case strings.ContainsAny(entry, " \n\u3000") || !strings.ContainsAny(entry, "./\\"):
		d.keep("", entry)
	default:
		d.warnings = append(d.warnings, fmt.Sprintf("agent.knowledge: there is no file %s", entry))
	}
}

// addConfined loads path if it is below one of the allowed folders. It opens files through [os.Root], which refuses
// symlinks that lead out of the folder, also if one is created between the check and the reading. Hidden files are
// refused, as they often hold credentials.
func (d *documents) addConfined(path string) {
	for _, folder := range append([]string{d.dir}, d.roots...) {
		rel, err := filepath.Rel(folder, path)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if slices.ContainsFunc(strings.Split(rel, string(filepath.Separator)), func(part string) bool { return part != "." && strings.HasPrefix(part, ".") }) {
			d.refuse(path, "it is hidden")
			return
		}
		root, err := os.OpenRoot(folder)
		if err != nil {
			d.refuse(path, reason(err).Error())
			return
		}
		d.read(root.FS(), folder, filepath.ToSlash(rel))
		_ = root.Close() // only read
		return
	}
	d.refuse(path, "a character file can only read files below its own folder; to allow more, add their folder to agent.knowledge_roots")
}

// read loads a file, or the files of a folder in the order of their names, so that the prompt is the same after each
// start. base is the path of files.
func (d *documents) read(files fs.FS, base, at string) {
	err := fs.WalkDir(files, at, func(p string, e fs.DirEntry, err error) error {
		path := filepath.Join(base, filepath.FromSlash(p))
		depth := strings.Count(strings.TrimPrefix(strings.TrimPrefix(p, at), "/"), "/")
		if err != nil {
			d.refuse(path, reasonOutside(err, path))
			return nil
		}
		switch hidden := strings.HasPrefix(e.Name(), ".") && p != at; {
		case e.IsDir() && p != at && (hidden || depth >= maxDepth):
			return fs.SkipDir
		case e.IsDir() || hidden:
			return nil
		case d.size > maxDocuments || d.files > maxFiles:
			return fs.SkipAll
		}
		if d.files++; d.files > maxFiles {
			d.refuse(path, fmt.Sprintf("there are more than %d files", maxFiles))
			return fs.SkipAll
		}
		text, why := d.text(files, p, path)
		if why != "" {
			d.refuse(path, why)
			return nil
		}
		d.keep(filepath.Base(path), text)
		return nil
	})
	if err != nil {
		d.warnings = append(d.warnings, fmt.Sprintf("agent.knowledge: %v", err))
	}
}

// text returns a file's content, or why it is skipped. Both are empty if the file counts only by its name.
func (d *documents) text(files fs.FS, p, path string) (text, why string) {
	info, err := fs.Stat(files, p)
	limit, is := int64(maxDocument), slices.Contains(formatted, strings.ToLower(filepath.Ext(path)))
	if is {
		limit = maxFormatted
	}
	switch {
	case err != nil:
		return "", reasonOutside(err, path)
	case !info.Mode().IsRegular():
		return "", "it is not a regular file"
	case slices.ContainsFunc(d.never, func(never os.FileInfo) bool { return os.SameFile(never, info) }):
		return "", "it is part of the configuration"
	case d.stamps != nil:
		fmt.Fprintln(d.stamps, path, info.Size(), info.ModTime().UnixNano())
		return "", ""
	case is && d.extract == nil:
		return "", ""
	}
	file, err := files.Open(p)
	if err != nil {
		return "", reasonOutside(err, path)
	}
	defer file.Close()
	data, err := readAtMost(file, limit)
	switch {
	case err != nil:
		return "", err.Error()
	case is:
		if text, err = d.extract(data); err != nil {
			return "", err.Error()
		}
		return text, ""
	case !encoding.IsText(data):
		return "", "it is not plain text"
	}
	text, known := encoding.Decode(data)
	if !known {
		return "", "its encoding is unknown; save it as UTF-8"
	}
	return text, ""
}

// reasonOutside returns why a file can't be read. If it can be read, but not through its folder, a symlink leads out of
// the folder.
func reasonOutside(err error, path string) string {
	if _, statErr := os.Stat(path); statErr == nil && !errors.Is(err, fs.ErrPermission) {
		return "a symlink leads out of the folder"
	}
	return reason(err).Error()
}

// refuse adds a warning that a file is skipped.
func (d *documents) refuse(path, why string) {
	d.warnings = append(d.warnings, fmt.Sprintf("agent.knowledge: %s is skipped: %s", path, why))
}

// keep adds a text, within the bound of all.
func (d *documents) keep(name, text string) {
	if d.size += len(text); d.size > maxDocuments {
		d.refuse(name, fmt.Sprintf("there are more than %d MB in all", maxDocuments>>20))
		return
	}
	d.all = append(d.all, Document{name, text})
}
