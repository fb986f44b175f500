package web

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/internal/lang"
)

// The scripts are bundled from widget/src, with the packages that npm ci installs in widget.
//
//go:generate sh -c "cd widget && npm ci --ignore-scripts --no-audit --no-fund && go run -C ../../../tools/widget . -source \"${DOLLAR}PWD\" -out \"${DOLLAR}PWD/dist\""

//go:embed widget/*.html widget/*.css widget/try.js widget/icon.svg widget/dist
var widget embed.FS

// types are the content types of the files in widget. The system's type table is not used: with nosniff, browsers do
// not run a module of another type.
var types = map[string]string{
	".js":  "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml",
	".txt": "text/plain; charset=utf-8",
}

// loginPath is the path of the owner's login page.
const loginPath = "/login"

// tryPath is the path of the page where a site's owner tries the attributes of an embedded chat.
const tryPath = "/try"

// trial serves the page of tryPath and its files, to browsers on this machine and on a loopback listener alone. Others get 404.
func (w *Web) trial(pages http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !onLoopback(w.opts.Listener.Addr().String()) || !nearby(r) {
			http.NotFound(rw, r)
			return
		}
		pages.ServeHTTP(rw, r)
	})
}

// Look is how the chat looks where a script tag doesn't say otherwise. Empty values are the page's own.
type Look struct {
	Greeting string `json:"greeting,omitempty"`
	Avatar   string `json:"avatar,omitempty"` // the absolute address of a picture
	Privacy  string `json:"privacy,omitempty"`
	Position string `json:"position,omitempty"` // left; otherwise right
	Accent   string `json:"accent,omitempty"`   // a color of CSS
}

// pages serves the chat page and its files.
func pages(o Options) http.Handler {
	mux := http.NewServeMux()
	add := func(name string, f asset) {
		f.kind = types[path.Ext(name)]
		mux.Handle("GET /"+name, f.handler())
	}
	chat, first := "", ""
	for name, f := range bundle() {
		if strings.HasPrefix(name, "chat-") {
			chat = name
		}
		if scripts, _, _ := strings.Cut(name, "-"); scripts == "chat" || scripts == "markdown" || name == "widget.js" {
			first += string(f.plain)
		}
		f.immutable = strings.Contains(name, "-") // it has the hash of its content in its name
		if name == "widget.js" {
			f = f.with(map[string]any{"agent": o.Agent.Name, "position": cmp.Or(o.Look.Position, "right"), "accent": o.Look.Accent, "texts": closed()})
		}
		add(name, f)
	}
	for _, name := range []string{"page.css", "login.css", "setup.css", "try.css", "try.js", "icon.svg"} {
		add(name, asset{plain: must(widget.ReadFile("widget/" + name))})
	}
	// Browsers ask for this where no page names an icon, as for a shared copy.
	mux.Handle("GET /favicon.ico", asset{plain: must(widget.ReadFile("widget/icon.svg")), kind: types[".svg"]}.handler())
	front := template.Must(template.ParseFS(widget, "widget/*.html"))
	for path, name := range map[string]string{"/{$}": "index.html", loginPath: "login.html"} {
		mux.HandleFunc("GET "+path, func(rw http.ResponseWriter, r *http.Request) {
			var b bytes.Buffer
			_ = must(name, front.ExecuteTemplate(&b, name, map[string]any{"Voice": lang.In(r.Header.Get("Accept-Language")), "Locale": lang.Locale(r.Header.Get("Accept-Language")), "Agent": o.Agent.Name, "Chat": chat, "Setup": o.Setup != nil}))
			rw.Header().Set("Vary", "Accept-Language")
			file(b.Bytes(), "text/html; charset=utf-8").ServeHTTP(rw, r)
		})
	}
	mux.HandleFunc("GET /words.json", o.words(first))
	mux.Handle("GET "+tryPath, file(must(widget.ReadFile("widget/try.html")), "text/html; charset=utf-8"))
	return mux
}

// closed returns the texts of a chat that is not loaded, by language: its title, that it can't be reached, and the label of the site's contact.
func closed() map[string][]string {
	all := map[string][]string{}
	for _, tag := range lang.Tags() {
		v := lang.In(tag)
		all[tag] = []string{v.Say("front.title", "agent", "{agent}"), v.Say("front.down"), v.Say("front.contact")}
	}
	return all
}

// words serves the texts of the open chat in the language of the query, with the configuration that the closed chat doesn't need. With
// &more it serves the texts of the parts that are loaded later; first has the code of the others.
func (o Options) words(first string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		tag, more := strings.CutSuffix(r.URL.RawQuery, "&more")
		voice := lang.In(tag)
		texts := map[string]string{}
		for english, said := range voice.Phrases("page.") {
			if strings.Contains(first, english) != more {
				texts[wordKey(english)] = said
			}
		}
		var body any = texts
		if !more {
			body = map[string]any{"locale": voice.Tag(), "strings": texts, "suggestions": append([]string{}, o.Suggestions...), "accept": strings.Join(o.Accept, ","), "verify": o.Verify.SiteKey, "look": o.Look}
		}
		file(must(json.Marshal(body)), "application/json; charset=utf-8").ServeHTTP(rw, r)
	}
}

// wordKey returns a short name of an English text; see strings.ts.
func wordKey(english string) string {
	sum := 0
	for _, c := range english {
		sum = (sum*31 + int(c)) % 46656
	}
	return strconv.FormatInt(int64(sum), 36)
}

// bundle returns the scripts by their names.
func bundle() map[string]asset {
	files := map[string]asset{}
	for _, zipped := range must(fs.Glob(widget, "widget/dist/*.gz")) {
		name := strings.TrimSuffix(zipped, ".gz")
		f := asset{zipped: must(widget.ReadFile(zipped)), brotli: must(widget.ReadFile(name + ".br"))}
		f.plain = must(io.ReadAll(must(gzip.NewReader(bytes.NewReader(f.zipped)))))
		files[path.Base(name)] = f
	}
	return files
}

// must returns v: the files are embedded, and tests read and execute all of them.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// asset is a file in the encodings that there are.
type asset struct {
	kind                  string
	plain, zipped, brotli []byte
	immutable             bool // another version has another name
}

// with returns the script of widget.js with the configuration of the closed chat, as an argument around it. It contains no secrets:
// sites that embed the chat load it too.
func (a asset) with(c map[string]any) asset {
	return compressed(slices.Concat([]byte("(PARLEY=>{"), a.plain, []byte("})("), must(json.Marshal(c)), []byte(")\n")), a.kind)
}

// compressed returns a file that is made here, as gzip too.
func compressed(plain []byte, kind string) asset {
	var b bytes.Buffer
	z := must(gzip.NewWriterLevel(&b, gzip.BestCompression))
	_ = must(z.Write(plain))
	_ = z.Close() // memory does not fail
	return asset{kind: kind, plain: plain, zipped: b.Bytes()}
}

// handler serves the smallest encoding that the browser accepts. Without a hash in its name, browsers revalidate a file on each use, so
// that a new version is loaded at once.
func (a asset) handler() http.Handler {
	sum := sha256.Sum256(a.plain)
	tag := hex.EncodeToString(sum[:8])
	caching := "no-cache"
	if a.immutable {
		caching = "public, max-age=31536000, immutable"
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, encoding := a.plain, ""
		for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
			switch accepted := strings.TrimSpace(part); {
			case accepted == "br" && a.brotli != nil:
				body, encoding = a.brotli, "br"
			case accepted == "gzip" && a.zipped != nil && encoding == "":
				body, encoding = a.zipped, "gzip"
			}
		}
		h := rw.Header()
		h.Set("Content-Type", a.kind)
		h.Set("Cache-Control", caching)
		h.Set("ETag", `"`+tag+encoding+`"`)
		h.Set("Access-Control-Allow-Origin", "*") // browsers fetch modules with CORS
		if a.zipped != nil {
			h.Add("Vary", "Accept-Encoding")
		}
		if encoding != "" {
			h.Set("Content-Encoding", encoding)
		}
		http.ServeContent(rw, r, "", time.Time{}, bytes.NewReader(body))
	})
}

// file serves body.
func file(body []byte, kind string) http.Handler { return compressed(body, kind).handler() }
