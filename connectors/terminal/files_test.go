package terminal

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"parley/internal/require"
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
	r := reply{text: "Here it is.", end: &Frame{Images: []string{"api/m%2F1/pictures/0", "api/gone"}}}
	r.files = c.files(t.Context(), r.end)
	for i := range r.files {
		r.files[i].URL = strings.Replace(r.files[i].URL, server.URL, "http://gw", 1)
	}
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
	for _, hostile := range []File{
		{URL: "http://gw/\x1b]0;owned\a", Type: "image/\x1b[2J", Size: 5},
		{Name: "a\x1b[2J\nb\a.pdf", URL: "http://gw/\x1b]0;owned\a", Type: "application/pdf\x1b[2J", Size: 5},
		{Type: "x/\x1b[2J\a", Size: 5},
	} {
		rows := append(l.files([]File{hostile}), l.names([]File{hostile})...)
		if all := strings.Join(rows, ""); strings.Contains(all, "\x1b[2J") || strings.ContainsAny(all, "\a\n") {
			t.Errorf("SE-09: %q", all)
		}
	}
}

// What a call shows stands below it while it does: the next thing it says takes it away, and what does not tell of files leaves
// them. At the end each stands with its address, and so it does when the conversation goes on.
func TestFilesOfACall(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "image/png") }))
	defer server.Close()
	c := Client{base: server.URL, http: &http.Client{}}
	var r reply
	l := look{width: 40}
	for _, step := range []struct {
		frame string
		want  []string
	}{
		{`{"type":"tool","callId":"1","toolName":"REPORT","stage":"running","args":"{}"}`, []string{"▸ REPORT …"}},
		{`{"type":"token","fullText":"Half of it:"}`, []string{"▸ REPORT …", "", "Half of it:"}},
		{`{"type":"tool","callId":"1","stage":"running","images":["data:image/png;base64,QUJDRA=="],"files":[{"name":"half.pdf","type":"application/pdf","size":12345,"url":"data:application/pdf;base64,QUJD"}]}`,
			[]string{"▸ REPORT …", "▣ picture-1.png (image/png, 4 bytes)", "▣ half.pdf (12 kB)", "", "Half of it:"}},
		{`{"type":"tool","callId":"1","toolName":"REPORT","stage":"running","shortResult":"50%"}`,
			[]string{"▸ REPORT 50%", "▣ picture-1.png (image/png, 4 bytes)", "▣ half.pdf (12 kB)", "", "Half of it:"}},
		{`{"type":"tool","callId":"1","stage":"running","images":[],"files":[]}`, []string{"▸ REPORT 50%", "", "Half of it:"}},
		{`{"type":"token","fullText":""}`, []string{"▸ REPORT 50%"}},
		{`{"type":"tool","callId":"1","toolName":"REPORT","stage":"end","shortResult":"done","images":[],"files":[{"name":"a\u001b[2J\nb.pdf","type":"application/pdf","size":12345,"url":"data:,"},{"type":"text/csv","size":7,"url":"data:,"}]}`,
			[]string{"✓ REPORT done", "▣ a[2J b.pdf (12 kB)", "▣ file-2 (text/csv, 7 bytes)"}},
		{`{"type":"done","fullText":"","images":["p/0"],"files":[{"name":"a\u001b[2J\nb.pdf","type":"application/pdf","size":12345,"url":"f/0"}]}`,
			[]string{"✓ REPORT done", "", "▣ picture-1", "http://gw/p/0", "▣ a[2J b.pdf (12 kB)", "http://gw/f/0"}},
	} {
		if got := see(t, &c, &l, &r, step.frame); !slices.Equal(got, step.want) {
			t.Errorf("after %s:\n%q\nwant\n%q", step.frame, got, step.want)
		}
	}
	var m Message
	require.NoError(t, json.Unmarshal([]byte(`{"role":"assistant","text":"","tools":[{"type":"tool","callId":"1","toolName":"REPORT","stage":"end","args":"{}","shortResult":"done",
		"images":["p/0"],"files":[{"name":"a\u001b[2J\nb.pdf","type":"application/pdf","size":12345,"url":"f/0"}]}]}`), &m))
	want := see(t, &c, &l, &r, `{"type":"status"}`)
	if got := see(t, &c, &look{width: 40}, m.reply(), `{"type":"status"}`); !slices.Equal(got, want) {
		t.Errorf("one sees again\n%q\nwant\n%q", got, want)
	}
}

// see is what one sees of r after a frame.
func see(t *testing.T, c *Client, l *look, r *reply, frame string) []string {
	t.Helper()
	var f Frame
	require.NoError(t, json.Unmarshal([]byte(frame), &f))
	if r.take(f); r.end != nil {
		r.files = c.files(t.Context(), r.end)
	}
	rows := l.lines(r)
	for i := range rows {
		rows[i] = strings.Replace(rows[i], c.base, "http://gw", 1)
	}
	return rows
}
