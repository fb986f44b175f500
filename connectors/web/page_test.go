package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"html"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/lang"
	"parley/internal/require"
	reading "parley/media"
)

func TestPageServesItsFiles(t *testing.T) {
	h := pages(Options{Agent: chat.Agent{Name: "Ada <script>"}, Suggestions: []string{"Say hi"}, Accept: []string{"image/*", ".pdf"}})
	for name, want := range map[string]struct {
		kind, part string
	}{
		"/":             {"text/html; charset=utf-8", "<title>Ada &lt;script&gt;</title>"},
		"/widget.js":    {"text/javascript; charset=utf-8", `({"accent":"","agent":"Ada \u003cscript\u003e","position":"right","texts":{"ar":["الدردشة مع {agent}","تعذر الوصول إلى الدردشة. أحاول مرة أخرى…","اتصل بنا"],"de":["Chat mit {agent}",`},
		"/words.json":   {"application/json; charset=utf-8", `{"accept":"image/*,.pdf","locale":"en","look":{},"strings":{},"suggestions":["Say hi"],"verify":""}`},
		"/login.js":     {"text/javascript; charset=utf-8", "api/login"},
		"/page.css":     {"text/css; charset=utf-8", "parley-chat"},
		"/licenses.txt": {"text/plain; charset=utf-8", "preact"},
		"/icon.svg":     {"image/svg+xml", "<svg"},
		"/favicon.ico":  {"image/svg+xml", "<svg"},
	} {
		rw := httptest.NewRecorder()
		h.ServeHTTP(rw, httptest.NewRequest(http.MethodGet, name, nil))
		if rw.Code != http.StatusOK || rw.Header().Get("Content-Type") != want.kind {
			t.Errorf("%s: %d %s, want 200 %s", name, rw.Code, rw.Header().Get("Content-Type"), want.kind)
		}
		if !strings.Contains(rw.Body.String(), want.part) {
			t.Errorf("%s does not hold %q", name, want.part)
		}
		again := httptest.NewRequest(http.MethodGet, name, nil)
		again.Header.Set("If-None-Match", rw.Header().Get("ETag"))
		rw = httptest.NewRecorder()
		h.ServeHTTP(rw, again)
		if rw.Code != http.StatusNotModified {
			t.Errorf("%s again: %d, want 304", name, rw.Code)
		}
	}
	for _, name := range []string{"/index.html", "/widget/", "/missing.js", "/..%2fpage.go"} {
		rw := httptest.NewRecorder()
		h.ServeHTTP(rw, httptest.NewRequest(http.MethodGet, name, nil))
		if rw.Code != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", name, rw.Code)
		}
	}
}

// Scripts are sent compressed, and those whose names change with their content are kept for good.
func TestScriptsAreCompressedAndKept(t *testing.T) {
	h := pages(Options{Agent: chat.Agent{Name: "Ada"}})
	get := func(name, accept string) *httptest.ResponseRecorder {
		rw, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, name, nil)
		r.Header.Set("Accept-Encoding", accept)
		h.ServeHTTP(rw, r)
		return rw
	}
	for name := range bundle() {
		plain, zipped, brotli := get("/"+name, ""), get("/"+name, "gzip, deflate"), get("/"+name, "gzip, br")
		z, err := gzip.NewReader(bytes.NewReader(zipped.Body.Bytes()))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if body, err := io.ReadAll(z); err != nil || !bytes.Equal(body, plain.Body.Bytes()) || zipped.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("%s as gzip differs from its text: %v", name, err)
		}
		want := "br"
		if name == "widget.js" {
			want = "gzip" // it has the configuration
		}
		if got := brotli.Header().Get("Content-Encoding"); got != want || brotli.Header().Get("Vary") != "Accept-Encoding" || brotli.Header().Get("ETag") == plain.Header().Get("ETag") {
			t.Errorf("%s is sent as %q, want %q, with a tag of its own", name, got, want)
		}
		caching := "no-cache"
		if strings.Contains(name, "-") {
			caching = "public, max-age=31536000, immutable"
		}
		if got := plain.Header().Get("Cache-Control"); got != caching {
			t.Errorf("%s: Cache-Control %q, want %q", name, got, caching)
		}
	}
}

// The pages around the chat speak the language of the browser.
func TestPagesSpeakTheLanguageOfTheBrowser(t *testing.T) {
	h := pages(Options{Agent: chat.Agent{Name: "Ada"}, Setup: http.NotFoundHandler()})
	for _, tag := range lang.Tags() {
		for path, keys := range map[string][]string{"/": {"front.demo", "front.setup", "front.script"}, loginPath: {"front.login", "front.code", "front.enter", "front.owner", "front.chat", "front.leave", "front.script", "page.unreachable"}} {
			rw, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil)
			r.Header.Set("Accept-Language", tag+";q=0.9")
			h.ServeHTTP(rw, r)
			body := html.UnescapeString(rw.Body.String())
			for _, key := range keys {
				if said := lang.In(tag).Say(key); !strings.Contains(body, said) {
					t.Errorf("%s in %s lacks %q", path, tag, said)
				}
			}
			if strings.Contains(body, "front.") || !strings.Contains(body, `<html lang="`+tag+`">`) || !slices.Contains(rw.Header()["Vary"], "Accept-Language") {
				t.Errorf("%s in %s is %s", path, tag, body)
			}
		}
	}
}

// sources returns the text of every source of the widget, by name.
func sources(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir("widget/src", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		source, err := os.ReadFile(path)
		out[path] = string(source)
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	return out
}

// SE-06: the page is built node by node, and nothing in it needs a weaker policy.
func TestWidgetHoldsNoMarkupInjection(t *testing.T) {
	risky := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function|setHTML|style="`)
	for name, source := range sources(t) {
		if found := risky.FindString(source); found != "" {
			t.Errorf("%s uses %s", name, found)
		}
	}
	index := require.Value(fs.ReadFile(widget, "widget/index.html"))(t)
	if found := regexp.MustCompile(`<style|\sstyle=|\son\w+=|<script>`).Find(index); found != nil {
		t.Errorf("index.html holds %s, which the policy forbids", found)
	}
}

// Bytes that a page costs its visitors in each language, with the longest configuration that a gateway has: the closed widget is one small
// file, the open chat two more, the first answer one more.
func TestWidgetStaysSmall(t *testing.T) {
	reader := reading.New(reading.Options{Sees: true, Documents: func(context.Context, []byte) (string, error) { return "", nil }, Transcriber: struct{ llm.Transcriber }{}})
	h := pages(Options{
		Verify: Verify{SiteKey: "10000000-ffff-ffff-ffff-000000000001"},
		Agent:  chat.Agent{Name: "The friendly assistant of the shop"}, Accept: reader.Accept(), Suggestions: []string{"Where is my parcel?", "How do I return something?", "Roll a die"},
		Look: Look{Greeting: "Ahoy! What can I find for you?", Avatar: "https://cdn.example.com/pictures/assistant.png", Privacy: "We keep chats for a month.", Position: "left", Accent: "#0a7d55"},
	})
	zipped, small := map[string]int{}, map[string]int{}
	load := func(name, file string) {
		t.Helper()
		for accept, sizes := range map[string]map[string]int{"gzip": zipped, "gzip, br": small} {
			rw, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/"+file, nil)
			r.Header.Set("Accept-Encoding", accept)
			if h.ServeHTTP(rw, r); rw.Code != http.StatusOK || rw.Header().Get("Content-Encoding") == "" {
				t.Errorf("%s: %d, not compressed", file, rw.Code)
			}
			sizes[name] = rw.Body.Len()
		}
		t.Logf("%-24s %5d bytes as gzip, %5d as Brotli", file, zipped[name], small[name])
	}
	for file := range bundle() {
		name, _, _ := strings.Cut(strings.TrimSuffix(file, ".js"), "-")
		load(name, file)
	}
	if got := zipped["widget"]; got > 4<<10 {
		t.Errorf("the closed widget has %d bytes, want at most 4 KB", got)
	}
	for _, tag := range lang.Tags() {
		load("words", "words.json?"+tag)
		if got := zipped["widget"] + zipped["chat"] + zipped["words"] + zipped["markdown"]; got > 40<<10 {
			t.Errorf("the chat with an answer in %s has %d bytes, want at most 40 KB", tag, got)
		} else {
			t.Logf("the chat with an answer in %s has %d bytes", tag, got)
		}
	}
}

// Each text of the page has a short name of its own, and is in the code: those of the first view come with it, and the others with the
// parts that are loaded later.
func TestTextsOfThePageComeWithTheirParts(t *testing.T) {
	h := pages(Options{Agent: chat.Agent{Name: "Ada"}})
	code := ""
	for _, f := range bundle() {
		code += string(f.plain)
	}
	for _, tag := range lang.Tags() {
		var first struct{ Strings map[string]string }
		var more map[string]string
		for query, into := range map[string]any{tag: &first, tag + "&more": &more} {
			rw := httptest.NewRecorder()
			h.ServeHTTP(rw, httptest.NewRequest(http.MethodGet, "/words.json?"+query, nil))
			require.NoError(t, json.Unmarshal(rw.Body.Bytes(), into))
		}
		phrases := lang.In(tag).Phrases("page.")
		for english, said := range phrases {
			if !strings.Contains(code, english) {
				t.Errorf("%q is not in the code as it is in the catalog", english)
			}
			a, inFirst := first.Strings[wordKey(english)]
			b, inMore := more[wordKey(english)]
			if inFirst == inMore || a+b != said {
				t.Errorf("%q in %s is %q and %q, want %q once", english, tag, a, b, said)
			}
		}
		if len(first.Strings)+len(more) != len(phrases) || tag != "en" && (len(more) == 0 || len(first.Strings) == 0) {
			t.Errorf("%s has %d and %d texts, want %d", tag, len(first.Strings), len(more), len(phrases))
		}
	}
}

// The page to try attributes is served to this machine alone, and never through a proxy.
func TestTryPage(t *testing.T) {
	private := newSite(t, func(o *Options) { o.Listener, o.Public, o.Origins = loopbackListener{}, false, nil })
	public := newSite(t, nil)
	for name, c := range map[string]struct {
		site   *site
		from   string
		header string
		want   int
	}{
		"here":              {private, "127.0.0.1:4000", "", http.StatusOK},
		"another machine":   {private, "198.51.100.7:4000", "", http.StatusNotFound},
		"through a proxy":   {private, "127.0.0.1:4000", "X-Forwarded-For", http.StatusNotFound},
		"a public listener": {public, "127.0.0.1:4000", "", http.StatusNotFound},
	} {
		for _, path := range []string{"/try", "/try.js", "/try.css"} {
			r := httptest.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1:8080"+path, nil)
			if c.site == public {
				r.Host = "shop.example"
			}
			if r.RemoteAddr = c.from; c.header != "" {
				r.Header.Set(c.header, "198.51.100.7")
			}
			w := httptest.NewRecorder()
			c.site.web.handler.ServeHTTP(w, r)
			if w.Code != c.want {
				t.Errorf("%s: %s gives %d; want %d", name, path, w.Code, c.want)
			}
			if policy := w.Header().Get("Content-Security-Policy"); w.Code == http.StatusOK && !strings.Contains(policy, "default-src 'none'; script-src 'self'") {
				t.Errorf("%s has the policy %q", path, policy)
			}
		}
	}
}

// loopbackListener is a loopback listener.
type loopbackListener struct{ net.Listener }

// Addr implements net.Listener.
func (loopbackListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080} }
