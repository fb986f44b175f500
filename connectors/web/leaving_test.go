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

// The streams of the only gateway go on until no answer is written any more, and miss no end. Then the others are asked to reconnect.
func TestStreamsOfTheOnlyGateway(t *testing.T) {
	for name, c := range map[string]struct {
		ends bool // the answer, at the moment when all is drained
		want string
	}{
		"an answer that ends in time": {true, `"type":"done"`},
		"an answer that does not":     {false, `"type":"reconnect"`},
	} {
		t.Run(name, func(t *testing.T) {
			var drained chan struct{}
			lonely := func(o *Options) {
				drained = make(chan struct{})
				o.Drained = drained
			}
			serveUntil(t, lonely, accept, func(client *http.Client, a *answer.Answer, stop func()) {
				begun := time.Now()
				time.AfterFunc(time.Minute, stop)
				time.AfterFunc(time.Minute+time.Second, func() {
					if _, err := client.Get("http://127.0.0.1:8080/readyz"); err == nil {
						t.Error("the gateway takes new requests while it shuts down; want connections refused")
					}
				})
				time.AfterFunc(2*time.Minute, func() {
					if c.ends {
						a.End(answer.Outcome{Status: answer.Completed})
					}
					close(drained)
				})
				_, body := post(t, client, streamPath, `{"text":"hello"}`)
				if !strings.Contains(body, c.want) || time.Since(begun) != 2*time.Minute {
					t.Errorf("after %v the stream ended with %q, want %s", time.Since(begun), body, c.want)
				}
			})
		})
	}
}
