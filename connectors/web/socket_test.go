package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/gorilla/websocket"

	"parley/connectors/web/identity"
	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
)

// socketClient is a client of a socket.
type socketClient struct {
	*testing.T
	*websocket.Conn
}

// socketMessage is a message of the gateway.
type socketMessage struct {
	Request      string
	Conversation string
	Event        map[string]any
	Cursor       string
	Status       int
	RetryAfter   int
	Body         map[string]any
}

// connect begins a socket, or returns the refusal.
func connect(t *testing.T, n network, token string, protocols ...string) (*socketClient, *http.Response) {
	t.Helper()
	h := http.Header{"Origin": {"http://127.0.0.1:8080"}}
	if token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	d := websocket.Dialer{NetDial: n.dial, Subprotocols: protocols}
	c, resp, err := d.Dial("ws://127.0.0.1:8080/api/socket", h)
	if err != nil {
		return nil, resp
	}
	return &socketClient{t, c}, resp
}

func (w *socketClient) say(format string, values ...any) {
	w.Helper()
	require.NoError(w, w.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, format, values...)))
}

func (w *socketClient) hear() (m socketMessage) {
	w.Helper()
	require.NoError(w, w.ReadJSON(&m))
	return m
}

// until returns the next message that fits; others may come before it.
func (w *socketClient) until(fits func(socketMessage) bool) socketMessage {
	w.Helper()
	for {
		if m := w.hear(); fits(m) {
			return m
		}
	}
}

// status returns the status that a request ends with, and its code.
func (w *socketClient) status(request string) string {
	w.Helper()
	m := w.until(func(m socketMessage) bool { return m.Request == request && m.Status != 0 })
	code, _ := m.Body["code"].(string)
	return strings.TrimSpace(fmt.Sprint(m.Status, " ", code))
}

// closed returns the code and the reason that the gateway ends the socket with.
func (w *socketClient) closed() string {
	w.Helper()
	for {
		_, _, err := w.ReadMessage()
		if is := (*websocket.CloseError)(nil); errors.As(err, &is) {
			return fmt.Sprint(is.Code, " ", is.Text)
		} else if err != nil {
			return err.Error()
		}
	}
}

func event(kind string) func(socketMessage) bool {
	return func(m socketMessage) bool { return m.Event["type"] == kind }
}

// One socket carries several conversations: messages, their streams, choices and stops, with the checks and the frames of the HTTP API.
func TestSocketCarriesConversations(t *testing.T) {
	var mu sync.Mutex
	var in []string
	submit := func(i chat.Inbound) (chat.Accepted, error) {
		mu.Lock()
		defer mu.Unlock()
		switch i := i.(type) {
		case chat.Message:
			in = append(in, string(i.ID))
		case chat.Choice:
			in = append(in, fmt.Sprint("choice ", i.Option))
			return chat.Accepted{Chosen: true}, nil
		case chat.Command:
			in = append(in, "stop "+string(i.Room))
		}
		return chat.Accepted{Run: "run"}, nil
	}
	serveOn(t, nil, submit, func(_ *Web, n network) {
		w, _ := connect(t, n, "", "parley")
		defer w.Close()
		if w.Subprotocol() != "parley" {
			t.Errorf("the subprotocol is %q", w.Subprotocol())
		}
		w.say(`{"request":"1","type":"send","conversation":"a","text":"hi","clientMessageId":"m1","after":""}`)
		w.say(`{"request":"2","type":"send","conversation":"b","text":"hi","clientMessageId":"m2"}`)
		for first := map[string]bool{}; len(first) < 2; {
			m := w.hear()
			if first[m.Request] = true; m.Event["kind"] != "thinking" {
				t.Errorf("the first frame is %+v", m)
			}
		}
		for request, line := range map[string]string{
			"3 404 NOT_FOUND":   `"type":"send","conversation":"unknown","text":"hi"`,
			"4 400 BAD_REQUEST": `"type":"send","conversation":"a"`,
			"5 400 BAD_REQUEST": `"type":"fly","conversation":"a"`,
			"6 400 BAD_REQUEST": `"type":"send","conversation":"a/../b","text":"hi"`,
			"7 200":             `"type":"stop","conversation":"a"`,
			"2 409 CONFLICT":    `"type":"send","conversation":"a","text":"hi"`,
			"9 200":             `"type":"choose","conversation":"a","id":"q","option":1`,
			"10 200":            `"type":"approve","conversation":"a","id":"q","approved":true`,
			"11 409 CONFLICT":   `"type":"approve","conversation":"a","id":"other","approved":true`,
			"12 413 TOO_LARGE":  `"type":"send","conversation":"a","text":"` + strings.Repeat("x", maxText+1) + `"`,
			"13 404 NOT_FOUND":  `"type":"resume","conversation":"unknown"`,
			"14 204":            `"type":"resume","conversation":"a"`,
			strings.Repeat("n", 129) + " 400 BAD_REQUEST": `"type":"stop","conversation":"a"`,
		} {
			request, want, _ := strings.Cut(request, " ")
			w.say(`{"request":%q,%s}`, request, line)
			if got := w.status(request); got != want {
				t.Errorf("%.80s ends with %s, want %s", line, got, want)
			}
		}
		n.answer.Apply(answer.Change{Kind: answer.Text, Text: "Hello."})
		for seen := map[string]string{}; len(seen) < 2; {
			m := w.until(event("token"))
			if seen[m.Request] = m.Cursor; m.Event["text"] != "Hello." || (m.Cursor != "") != (m.Request == "1") {
				t.Errorf("the text is %+v", m)
			}
		}
		w.say(`{"type":"cancel","request":"2"}`)
		if got := w.status("2"); got != "200" {
			t.Errorf("the cancelled request ends with %s", got)
		}
		n.answer.End(answer.Outcome{Status: answer.Completed})
		if m := w.until(event("done")); m.Request != "1" || m.Event["fullText"] != "Hello." {
			t.Errorf("the end is %+v", m)
		}
		if got := w.status("1"); got != "200" {
			t.Errorf("the request ends with %s", got)
		}
		mu.Lock()
		defer mu.Unlock()
		if want := []string{"web/a/m1", "web/b/m2"}; !slices.Equal(in[:2], want) || !slices.Contains(in, "stop web/a") || !slices.Contains(in, "choice 0") || !slices.Contains(in, "choice 1") {
			t.Errorf("the core has %q", in)
		}
	})
}

// A client that comes back with its cursor gets only the rest of the text, and all of it if its text is no beginning of the answer.
func TestCursorContinuesText(t *testing.T) {
	again := func(chat.Inbound) (chat.Accepted, error) { return chat.Accepted{Run: "run", Duplicate: true}, nil }
	serveOn(t, nil, again, func(_ *Web, n network) {
		n.answer.Apply(answer.Change{Kind: answer.Text, Text: "One two"})
		ask := func(after string) socketMessage {
			w, _ := connect(t, n, "")
			defer w.Close()
			w.say(`{"request":"1","type":"send","conversation":"a","text":"hi","clientMessageId":"m","after":%q}`, after)
			return w.until(event("token"))
		}
		first := ask("")
		if first.Event["fullText"] != "One two" || first.Cursor == "" {
			t.Fatalf("the first text is %+v", first)
		}
		n.answer.Apply(answer.Change{Kind: answer.Text, Text: " three"})
		rest := ask(first.Cursor)
		if rest.Event["text"] != " three" || rest.Event["fullText"] != nil {
			t.Errorf("after the cursor comes %+v", rest)
		}
		if whole := ask(""); whole.Cursor != rest.Cursor {
			t.Errorf("the cursors of one text are %s and %s", whole.Cursor, rest.Cursor)
		}
		for _, wrong := range []string{"7-abc", "99-" + strings.Split(first.Cursor, "-")[1], "x", "-1-0"} {
			if m := ask(wrong); m.Event["fullText"] != "One two three" {
				t.Errorf("after the cursor %s comes %+v", wrong, m)
			}
		}
	})
}

// A ticket gives a socket the rights of its request, once and for 30 seconds, as a subprotocol only.
func TestTicket(t *testing.T) {
	serveOn(t, withSite(t), accept, func(_ *Web, n network) {
		ticket := func(token string) string {
			t.Helper()
			r := require.Value(http.NewRequest(http.MethodPost, "http://127.0.0.1:8080/api/ticket", http.NoBody))(t)
			r.Header.Set("Authorization", "Bearer "+token)
			resp := require.Value(n.client.Do(r))(t)
			defer resp.Body.Close()
			var body struct {
				Ticket struct {
					Token     string
					ExpiresAt time.Time
				}
			}
			if err := json.NewDecoder(resp.Body).Decode(&body); err != nil || resp.StatusCode != http.StatusCreated || time.Until(body.Ticket.ExpiresAt) > ticketTime {
				t.Fatalf("%s: %+v, %v", resp.Status, body, err)
			}
			return body.Ticket.Token
		}
		refusedWith := func(protocols ...string) int {
			w, resp := connect(t, n, "", protocols...)
			if w != nil {
				w.Close()
			}
			return resp.StatusCode
		}
		ada := account(t, "ada", nil)
		good := ticket(ada)
		if got := refusedWith("parley"); got != http.StatusUnauthorized { // identity is required here
			t.Errorf("without a ticket the status is %d", got)
		}
		w, resp := connect(t, n, "", "parley", good)
		if w == nil || w.Subprotocol() != "parley" {
			t.Fatalf("with the ticket the status is %s", resp.Status)
		}
		defer w.Close()
		w.say(`{"request":"1","type":"send","conversation":"c","text":"hi"}`)
		w.until(event("status"))
		late := ticket(ada)
		time.Sleep(ticketTime)
		for name, bad := range map[string]string{"used": good, "late": late, "forged": ticketPrefix + strings.Repeat("A", 80), "short": ticketPrefix + "A", "no base64": ticketPrefix + "!"} {
			if got := refusedWith("parley", bad); got != http.StatusUnauthorized {
				t.Errorf("with a ticket that is %s the status is %d", name, got)
			}
		}
		resp, err := n.client.Get("http://127.0.0.1:8080/api/socket?ticket=" + ticket(ada))
		if err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("with a ticket in the query: %v %v", resp, err)
		}
	})
}

// withSite requires accounts of a site.
func withSite(t *testing.T) func(*Options) {
	return func(o *Options) {
		var err error
		if o.Site, err = identity.NewSite(identity.SiteConfig{Secret: siteSecret, Audience: "https://shop.example"}); err != nil {
			t.Fatal(err)
		}
		o.RequireIdentity = true
	}
}

// The code that ends a socket says whether to come back.
func TestSocketCloseCodes(t *testing.T) {
	for name, c := range map[string]struct {
		act  func(*socketClient, *Web, network)
		want string
	}{
		"an expired token":   {func(*socketClient, *Web, network) { time.Sleep(2 * time.Hour) }, "4401 TOKEN_EXPIRED"},
		"a stopping gateway": {func(_ *socketClient, _ *Web, n network) { n.stop() }, "1012 RESTARTING"},
		"no JSON":            {func(w *socketClient, _ *Web, _ network) { w.say("hello") }, "4400 BAD_REQUEST"},
		"deep JSON":          {func(w *socketClient, _ *Web, _ network) { w.say(`{"text":%s`, strings.Repeat("[", 40)) }, "4400 BAD_REQUEST"},
		"a binary message": {func(w *socketClient, _ *Web, _ network) {
			_ = w.WriteMessage(websocket.BinaryMessage, []byte(`{"request":"2","type":"stop","conversation":"c"}`))
		}, "4400 BAD_REQUEST"},
		"a message too long": {func(w *socketClient, _ *Web, _ network) { w.say(`{"text":"%s"}`, strings.Repeat("x", maxCall)) }, "1009 "},
	} {
		t.Run(name, func(t *testing.T) {
			serveOn(t, withSite(t), accept, func(web *Web, n network) {
				w, resp := connect(t, n, account(t, "ada", func(c jwt.MapClaims) { c["exp"] = time.Now().Add(time.Hour).Unix() }))
				if w == nil {
					t.Fatal(resp.Status)
				}
				defer w.Close()
				w.say(`{"request":"1","type":"send","conversation":"c","text":"hi"}`)
				w.until(event("status"))
				got := make(chan string, 1)
				ends := make(chan socketMessage, 10)
				go func() {
					var m socketMessage
					for m.Event["type"] != "reconnect" && w.ReadJSON(&m) == nil {
						ends <- m
						m = socketMessage{Event: m.Event}
					}
					got <- w.closed()
				}()
				c.act(w, web, n)
				synctest.Wait()
				time.Sleep(2 * time.Second)
				if got := <-got; got != c.want && !strings.HasSuffix(got, c.want) {
					t.Errorf("it ends with %q, want %q", got, c.want)
				}
				if c.want[:2] == "10" && c.want[3] == '2' || strings.HasPrefix(c.want, "4401") { // the stream has ended before
					if m := <-ends; m.Event["type"] != "reconnect" {
						t.Errorf("the stream ends with %+v", m)
					}
				}
			})
		})
	}
}

// An idle socket stays: the gateway pings it. A client that does not reply is disconnected, and one that does not read too. Neither
// stops an answer or holds others up.
func TestSilentSockets(t *testing.T) {
	serveOn(t, nil, accept, func(_ *Web, n network) {
		idle, _ := connect(t, n, "")
		defer idle.Close()
		over := make(chan string, 1)
		go func() { over <- idle.closed() }()
		time.Sleep(time.Hour)
		select {
		case why := <-over:
			t.Errorf("an idle socket ended: %s", why)
		default:
		}
		deaf, _ := connect(t, n, "")
		defer deaf.Close()
		deaf.SetPingHandler(func(string) error { return nil })
		begins := time.Now()
		go func() { over <- deaf.closed() }()
		<-over
		if took := time.Since(begins); took > silence+time.Second {
			t.Errorf("a deaf client is disconnected after %v", took)
		}
		stuck, _ := connect(t, n, "")
		defer stuck.Close()
		other, _ := connect(t, n, "")
		defer other.Close()
		slow, _ := connect(t, n, "")
		defer slow.Close()
		for _, w := range []*socketClient{stuck, other, slow} {
			w.say(`{"request":"1","type":"send","conversation":"c","text":"hi"}`)
		}
		other.until(event("status"))
		go func() {
			for range 2000 {
				n.answer.Apply(answer.Change{Kind: answer.Text, Text: strings.Repeat("word ", 200)})
				time.Sleep(pace)
			}
			n.answer.End(answer.Outcome{Status: answer.Completed})
		}()
		frames := make(chan int)
		go func() { // it skips to the newest state
			count := 0
			for m := (socketMessage{}); slow.ReadJSON(&m) == nil && !event("done")(m); count++ {
				m = socketMessage{}
				time.Sleep(pace * 3)
			}
			frames <- count
		}()
		if m := other.until(event("done")); len(m.Event["fullText"].(string)) != 2_000_000 {
			t.Error("the other reader lacks text")
		}
		if count := <-frames; count < 100 || count > 1000 {
			t.Errorf("the slow reader gets %d frames of 2,000", count)
		}
		if why := stuck.closed(); strings.HasPrefix(why, "1000") {
			t.Errorf("a client that does not read ends with %s", why)
		}
	})
}

// A client that is typing is a hint for the other sockets of its conversation: not for other conversations, not for its own socket, and
// not for each key. A socket that takes nothing delays neither the others nor an answer.
func TestTypingReachesOtherTabs(t *testing.T) {
	serveOn(t, nil, accept, func(web *Web, n network) {
		var tabs []*socketClient
		for range 4 {
			w, _ := connect(t, n, "")
			defer w.Close()
			tabs = append(tabs, w)
		}
		typist, second, elsewhere, stuck := tabs[0], tabs[1], tabs[2], tabs[3]
		for w, conversation := range map[*socketClient]string{second: "c", elsewhere: "b", stuck: "c"} {
			w.say(`{"request":"1","type":"send","conversation":%q,"text":"hi"}`, conversation)
			w.until(event("status"))
			w.say(`{"request":"1","type":"cancel"}`)
			if got := w.status("1"); got != "200" {
				t.Fatal(got)
			}
		}
		typing := func(want string) {
			t.Helper()
			typist.say(`{"request":"t","type":"typing","conversation":"c"}`)
			if m := typist.hear(); fmt.Sprint(m.Request, m.Status) != want {
				t.Fatalf("typing is answered with %+v", m)
			}
			synctest.Wait()
		}
		heard := make(chan string, 100)
		for name, w := range map[string]*socketClient{"second": second, "elsewhere": elsewhere} {
			go func() {
				for m := new(socketMessage); w.ReadJSON(m) == nil; m = new(socketMessage) {
					heard <- fmt.Sprint(name, " ", m.Request, m.Conversation, m.Event)
				}
			}()
		}
		for range 20 { // keys
			typing("t204")
		}
		time.Sleep(typingPause)
		typing("t204")
		for range 2 {
			if got := <-heard; got != "second cmap[type:typing]" {
				t.Errorf("the other tab gets %q", got)
			}
		}
		if len(heard) > 0 {
			t.Errorf("there are more hints: %s", <-heard)
		}
		typist.say(`{"request":"t","type":"typing","conversation":"unknown"}`)
		if got := typist.status("t"); got != "404 NOT_FOUND" {
			t.Errorf("typing elsewhere ends with %s", got)
		}
		for _, w := range tabs {
			w.Close()
		}
		synctest.Wait()
		if len(web.typists.by) > 0 {
			t.Errorf("closed sockets still read %v", web.typists.by)
		}
	})
}
