package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed widget
var widget embed.FS

// types are the content types of the files in widget. The system's type table is not used: with nosniff, browsers do
// not run a module of another type.
var types = map[string]string{
	".js":  "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml",
}

// loginPath is the path of the owner's login page.
const loginPath = "/login"

// pages serves the chat page and its files. They contain no secrets, and sites that embed the chat load them too. The
// page is rendered once. The suggestions go through JSON and the template's escaping, so they can't end the script or
// attribute that contains them.
func pages(o Options) http.Handler {
	files, err := fs.Sub(widget, "widget")
	if err != nil {
		panic(err) // the folder is embedded, so it always exists
	}
	mux := http.NewServeMux()
	var index bytes.Buffer
	page := template.Must(template.ParseFS(files, "index.html"))
	suggestions := o.Suggestions
	if suggestions == nil {
		suggestions = []string{}
	}
	asJSON, err := json.Marshal(suggestions)
	if err != nil {
		panic(err) // strings always marshal
	}
	if err := page.Execute(&index, map[string]any{"Agent": o.Agent.Name, "Suggestions": string(asJSON), "Accept": strings.Join(o.Accept, ","), "Setup": o.Setup != nil}); err != nil {
		panic(err) // tests execute the template
	}
	mux.Handle("GET /{$}", file(index.Bytes(), "text/html; charset=utf-8"))
	signIn, err := fs.ReadFile(files, "login.html")
	if err != nil {
		panic(err) // the file is embedded
	}
	mux.Handle("GET "+loginPath, file(signIn, "text/html; charset=utf-8"))
	names, err := fs.Glob(files, "*.*")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for _, name := range names {
		if kind := types[path.Ext(name)]; kind != "" {
			body, err := fs.ReadFile(files, name)
			if err != nil {
				panic(err)
			}
			mux.Handle("GET /"+name, file(body, kind))
		}
	}
	return mux
}

// file serves body. Browsers revalidate it on each use, so that a new version is loaded at once.
func file(body []byte, kind string) http.Handler {
	sum := sha256.Sum256(body)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		h := rw.Header()
		h.Set("Content-Type", kind)
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", tag)
		h.Set("Access-Control-Allow-Origin", "*") // browsers fetch modules with CORS
		http.ServeContent(rw, r, "", time.Time{}, bytes.NewReader(body))
	})
}
