package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
)

// A choice is often the last thing that a gateway waits for before it stops: its stream still gets the outcome. Other streams
// end at once, with a hint to reconnect.
func TestStreamsOfAStoppingGateway(t *testing.T) {
	for name, c := range map[string]struct {
		chosen bool
		after  time.Duration // from the stop to the end of the answer
		want   string
	}{
		"a choice that ends soon":  {true, time.Second, `"type":"done"`},
		"a choice that does not":   {true, time.Minute, `"type":"reconnect"`},
		"an answer that ends soon": {false, time.Second, `"type":"reconnect"`},
	} {
		t.Run(name, func(t *testing.T) {
			submit := func(chat.Inbound) (chat.Accepted, error) { return chat.Accepted{Run: "run", Chosen: c.chosen}, nil }
			serveUntil(t, nil, submit, func(client *http.Client, a *answer.Answer, stop func()) {
				begun := time.Now()
				time.AfterFunc(time.Minute, stop)
				time.AfterFunc(time.Minute+c.after, func() { a.End(answer.Outcome{Status: answer.Completed}) })
				_, body := post(t, client, "/api/conversations/c/choices/stream", `{"id":"q","option":0}`)
				if !strings.Contains(body, c.want) {
					t.Errorf("the stream ended with %q, want %s", body, c.want)
				}
				if took := time.Since(begun); took > time.Minute+choiceGrace {
					t.Errorf("the stream lasted %v", took)
				}
				time.Sleep(2 * time.Minute)
			})
		})
	}
}
