package web

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"parley/core/answer"
	"parley/core/chat"
)

func TestClear(t *testing.T) {
	for name, c := range map[string]struct {
		id     string
		err    error
		status int
		want   string
	}{
		"known":       {"c", nil, http.StatusOK, `{"deletedCount":7,"ok":true}`},
		"unknown":     {"unknown", nil, http.StatusNotFound, `{"error":"Conversation not found.","code":"NOT_FOUND"}`},
		"not storing": {"c", io.ErrUnexpectedEOF, http.StatusServiceUnavailable, `{"error":"Your request could not be saved. Please try again.","code":"UNAVAILABLE"}`},
	} {
		t.Run(name, func(t *testing.T) {
			submit := func(in chat.Inbound) (chat.Accepted, error) {
				if in != (chat.Cleared{Room: "web/c", Entirely: true, Person: "web/c"}) {
					t.Errorf("submitted %+v", in)
				}
				return chat.Accepted{Deleted: 7}, c.err
			}
			serve(t, nil, submit, func(client *http.Client, _ *answer.Answer) {
				r, err := http.NewRequest(http.MethodDelete, "http://127.0.0.1:8080/api/conversations/"+c.id, nil)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				body, err := io.ReadAll(resp.Body)
				if err != nil || resp.StatusCode != c.status || strings.TrimSpace(string(body)) != c.want {
					t.Errorf("%d %s, %v", resp.StatusCode, body, err)
				}
			})
		})
	}
}
