package web

import (
	"embed"
	"html/template"
	"io/fs"
	"net/http"
)

//go:embed widget
var widget embed.FS

// pages serves the chat page and its files.
func pages(agent string) http.Handler {
	files, err := fs.Sub(widget, "widget")
	if err != nil {
		panic(err) // the folder is embedded: it is there or this does not compile
	}
	index := template.Must(template.ParseFS(files, "index.html"))
	static := http.FileServerFS(files)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		rw.Header().Set("Cache-Control", "no-cache")
		_ = index.Execute(rw, map[string]string{"Agent": agent}) // the reader has gone: nobody to tell
	})
	for _, name := range []string{"widget.js", "widget.css", "page.css"} {
		mux.HandleFunc("GET /"+name, func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Cache-Control", "no-cache")
			static.ServeHTTP(rw, r)
		})
	}
	return mux
}
