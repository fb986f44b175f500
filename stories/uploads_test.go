package stories_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"parley/core/chat"
	"parley/internal/require"
	"parley/media/document/documenttest"
	"parley/models/modelfake"
)

// request makes a request of the web API, with names and values of further headers, and returns the status and the reply.
func (s *harness) request(method, path, kind string, body []byte, header ...string) (status int, reply string) {
	s.Helper()
	r := require.Value(http.NewRequestWithContext(s.Context(), method, s.browser.Base+path, bytes.NewReader(body)))(s)
	r.Header.Set("Content-Type", kind)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp := require.Value(s.browser.HTTP.Do(r))(s)
	text := require.Value(io.ReadAll(resp.Body))(s)
	s.Must(resp.Body.Close())
	return resp.StatusCode, string(text)
}

// A document that a visitor uploads is answered from, by the process after the one that took it. It is given to who knows the
// conversation, and goes with its message.
func TestUploadedDocument(t *testing.T) {
	withGateway(t, withSenses, func(s *harness) {
		s.model.Queue(modelfake.Script{modelfake.Text("Forty-two crates.")})
		conv := s.newConversation()
		files := "/api/conversations/" + conv + "/files"
		report := documenttest.Page("BT /F1 12 Tf 72 720 Td (The harbor received 42 crates.) Tj ET", "")
		if status, reply := s.request(http.MethodPost, files+"?clientFileId=f1&name=report.pdf", "application/pdf", report); status != http.StatusCreated {
			s.Fatalf("%d %s; want %d", status, reply, http.StatusCreated)
		}
		if status, reply := s.request(http.MethodPost, files+"?name=film.mp4", "video/mp4", []byte("film")); status != http.StatusUnsupportedMediaType || !strings.Contains(reply, "this file type can't be read here") {
			s.Errorf(`a film: %d %s; want %d and it to contain "this file type can't be read here"`, status, reply, http.StatusUnsupportedMediaType)
		}
		s.shutdown()
		s.start()
		said := require.Value(json.Marshal(map[string]any{"clientMessageId": "m1", "text": "How many crates?", "files": []string{"f1"}}))(s)
		status, reply := s.request(http.MethodPost, "/api/conversations/"+conv+"/messages/stream", "application/json", said)
		if told := s.lastPromptText(); status != http.StatusOK || !strings.Contains(reply, "Forty-two crates.") || !strings.Contains(told, "[File: report.pdf") ||
			!strings.Contains(told, "The harbor received 42 crates.") {
			s.Errorf("%d %s; the model was told %q", status, reply, told)
		}
		if status, reply := s.request(http.MethodGet, files+"/f1", "", nil); status != http.StatusOK || reply != string(report) {
			s.Errorf("the file: %d, %d bytes", status, len(reply))
		}
		if _, reply := s.request(http.MethodGet, "/api/conversations/"+conv+"/messages", "", nil); !strings.Contains(reply, files[1:]+"/f1") {
			s.Errorf("the history: %s", reply)
		}
		s.Must(s.store.Load().Forget(s.Context(), chat.MemoryID("web/"+conv+"/m1")))
		if status, _ := s.request(http.MethodGet, files+"/f1", "", nil); status != http.StatusNotFound {
			s.Errorf("the file of a forgotten message: %d; want %d", status, http.StatusNotFound)
		}
	})
}

// A picture that a visitor sends has a thumbnail after a reload, which goes with its message.
func TestUploadedPicture(t *testing.T) {
	withGateway(t, withSenses, func(s *harness) {
		s.model.Queue(modelfake.Script{modelfake.Text("A red square.")}, modelfake.Script{modelfake.Text("It is red.")})
		conv := s.newConversation()
		files := "/api/conversations/" + conv + "/files"
		if status, reply := s.request(http.MethodPost, files+"?clientFileId=f1&name=a.png", "image/png", modelfake.Picture(400, 300)); status != http.StatusCreated || !strings.Contains(reply, "f1/thumbnail") {
			s.Fatalf(`%d %s; want %d and it to contain "f1/thumbnail"`, status, reply, http.StatusCreated)
		}
		said := []byte(`{"clientMessageId":"m1","text":"Which color?","files":["f1"]}`)
		if status, reply := s.request(http.MethodPost, "/api/conversations/"+conv+"/messages/stream", "application/json", said); status != http.StatusOK || !strings.Contains(reply, "It is red.") {
			s.Errorf(`%d %s; want %d and it to contain "It is red."`, status, reply, http.StatusOK)
		}
		s.shutdown()
		s.start()
		if _, reply := s.request(http.MethodGet, "/api/conversations/"+conv+"/messages", "", nil); !strings.Contains(reply, files[1:]+"/f1/thumbnail") {
			s.Errorf("the history: %s", reply)
		}
		if status, reply := s.request(http.MethodGet, files+"/f1/thumbnail", "", nil); status != http.StatusOK || !strings.HasPrefix(reply, "\xff\xd8") {
			s.Errorf("the thumbnail: %d, %d bytes", status, len(reply))
		}
		s.Must(s.store.Load().Forget(s.Context(), chat.MemoryID("web/"+conv+"/m1")))
		if status, _ := s.request(http.MethodGet, files+"/f1/thumbnail", "", nil); status != http.StatusNotFound {
			s.Errorf("the thumbnail of a forgotten message: %d; want %d", status, http.StatusNotFound)
		}
	})
}
