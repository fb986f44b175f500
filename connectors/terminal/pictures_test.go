package terminal

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// A picture is named with what is known of it, and where it can be opened: the address is never cut, and every row leads there.
func TestPictures(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead || r.URL.EscapedPath() != "/api/m%2F1/pictures/0" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "image/png")
		w.Header().Set("Content-Length", "31499")
	}))
	defer server.Close()
	c := Client{base: server.URL, http: &http.Client{}}
	pictures := c.pictures(t.Context(), []string{"api/m%2F1/pictures/0", "api/gone"})
	for i := range pictures {
		pictures[i].URL = strings.Replace(pictures[i].URL, server.URL, "http://gw", 1)
	}
	r := reply{text: "Here it is.", end: &Frame{}, pictures: pictures}
	l := look{width: 36}
	want := []string{"Here it is.", "", "▣ picture-1.png (image/png, 31 kB)", "http://gw/api/m%2F1/pictures/0", "▣ picture-2", "http://gw/api/gone"}
	if got := l.lines(&r); !slices.Equal(got, want) {
		t.Errorf("one sees\n%q\nwant\n%q", got, want)
	}
	l = look{width: 20, color: true}
	rows := l.lines(&r)[2:]
	if len(rows) != 6 || rows[2] != "\x1b]8;;http://gw/api/m%2F1/pictures/0\x1b\\http://gw/api/m%2F1/\x1b]8;;\x1b\\" {
		t.Errorf("a narrow terminal is given %q", rows)
	}
	hostile := Picture{URL: "http://gw/\x1b]0;owned\a", Type: "image/\x1b[2J", Size: 5}
	if row := strings.Join(l.pictures([]Picture{hostile}), ""); strings.Contains(row, "\x1b[2J") || strings.Contains(row, "\a") {
		t.Errorf("SE-09: %q", row)
	}
}
