package web

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"parley/core/chat"
)

func TestPageServesItsFiles(t *testing.T) {
	h := pages(Options{Agent: chat.Agent{Name: "Ada <script>"}, Suggestions: []string{"Say hi"}, Accept: []string{"image/*", ".pdf"}})
	for name, want := range map[string]struct {
		kind, part string
	}{
		"/":           {"text/html; charset=utf-8", `agent="Ada &lt;script&gt;" suggestions="[&#34;Say hi&#34;]" accept="image/*,.pdf"`},
		"/widget.js":  {"text/javascript; charset=utf-8", "import("},
		"/chat.js":    {"text/javascript; charset=utf-8", "customElements.define"},
		"/chat.css":   {"text/css; charset=utf-8", ":host"},
		"/bubble.css": {"text/css; charset=utf-8", ":host"},
		"/icon.svg":   {"image/svg+xml", "<svg"},
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

// scripts gives the source of every script of the widget, by name.
func scripts(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	names, err := fs.Glob(widget, "widget/*.js")
	if err != nil || len(names) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, name := range names {
		src, err := fs.ReadFile(widget, name)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = src
	}
	return out
}

func TestScriptsStaySmall(t *testing.T) {
	const most = 31 << 10
	sum := 0
	for name, src := range scripts(t) {
		if name == "widget/login.js" {
			continue // the login page has it alone
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write(src); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%-26s %6d bytes, %5d packed", name, len(src), packed.Len())
		sum += packed.Len()
	}
	if sum > most {
		t.Errorf("the scripts are %d bytes packed, want at most %d", sum, most)
	}
}

// SE-06: the page is built node by node, and nothing in it needs a weaker policy.
func TestWidgetHoldsNoMarkupInjection(t *testing.T) {
	risky := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function|setHTML`)
	for name, src := range scripts(t) {
		if found := risky.Find(src); found != nil {
			t.Errorf("%s uses %s", name, found)
		}
	}
	index, err := fs.ReadFile(widget, "widget/index.html")
	if err != nil {
		t.Fatal(err)
	}
	if found := regexp.MustCompile(`<style|\sstyle=|\son\w+=|<script>`).Find(index); found != nil {
		t.Errorf("index.html holds %s, which the policy forbids", found)
	}
}
