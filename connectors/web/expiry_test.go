package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/web/identity"
	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
)

// A stream ends when its reader's token does, with a code that says so: at its end for an account, within five seconds for a
// revoked key. The answer continues.
func TestStreamsEndWithTheirTokens(t *testing.T) {
	for name, c := range map[string]struct {
		last time.Duration
		code string
	}{"an account": {time.Hour + time.Minute, codeExpired}, "a key": {5 * time.Second, codeRevoked}} {
		t.Run(name, func(t *testing.T) {
			edit := func(o *Options) {
				var err error
				if o.Site, err = identity.NewSite(identity.SiteConfig{Secret: siteSecret, Audience: "https://shop.example"}); err != nil {
					t.Fatal(err)
				}
			}
			serveOn(t, edit, accept, func(w *Web, n network) {
				token, id := account(t, "ada", nil), ""
				if c.code == codeRevoked {
					key, made, err := w.keys.Keys.Create(t.Context(), identity.Key{Name: "k", Scopes: []string{"write"}, Ends: time.Now().Add(time.Hour)})
					require.NoError(t, err)
					token, id = key, made.ID
					time.AfterFunc(time.Second, func() { _ = w.keys.Keys.Revoke(t.Context(), made.ID) })
				}
				r, err := http.NewRequest(http.MethodPost, "http://127.0.0.1:8080/api/conversations/c/messages/stream", strings.NewReader(`{"text":"hi"}`))
				require.NoError(t, err)
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Authorization", "Bearer "+token)
				r.Header.Set("Origin", "http://127.0.0.1:8080")
				if c.code == codeRevoked { // a key claims nothing
					require.NoError(t, (door{w}).note(t.Context(), "web/c", chat.EntityID("web/key/"+id), readerOpened, time.Time{}))
				}
				begins := time.Now()
				resp := require.Value(n.client.Do(r))(t)
				defer resp.Body.Close()
				n.answer.Apply(answer.Change{Kind: answer.Text, Text: "It is"})
				synctest.Wait()
				all, err := io.ReadAll(resp.Body)
				body := string(all)
				if err != nil {
					t.Error(err)
				}
				if took := time.Since(begins); took > c.last+time.Second || !strings.Contains(body, `"text":"It is"`) && !strings.Contains(body, `"fullText":"It is"`) ||
					!strings.Contains(body, `"type":"reconnect"`) || !strings.Contains(body, `"code":"`+c.code+`"`) {
					t.Errorf("after %v: %s", took, body)
				}
			})
		})
	}
}

// A client that waits for the whole answer doesn't get it after its token has ended, and a stream then ends with a sentence, and
// with a code that says so where the format has one.
func TestAnswersOfClientsEndWithTheirTokens(t *testing.T) {
	const (
		code    = `"code":"` + codeExpired + `"`
		revoked = `{"error":{"message":"This API key was revoked.","type":"authentication_error","param":null,"code":"` + codeRevoked + `"}}`
	)
	for name, c := range map[string]struct {
		path, form string
		status     int
		want       string
		key        bool // of a program, which is revoked
	}{
		"a completion":         {"/v1/chat/completions", openaiForm, 401, code, false},
		"a response":           {"/v1/responses", `{"input":"hi"}`, 401, code, false},
		"a bubble":             {"/deepchat", deepForm, 401, code, false},
		"chunks":               {"/v1/chat/completions", strings.Replace(openaiForm, "{", `{"stream":true,`, 1), 200, code, false},
		"events of a response": {"/v1/responses", `{"stream":true,"input":"hi"}`, 200, code, false},
		"AG-UI":                {"/agui", aguiForm, 200, code, false},
		"the AI SDK":           {"/api/chat", aisdkForm, 200, `{"type":"error","errorText":"Your session has expired. Please sign in again."}`, false},
		"a key's completion":   {"/v1/chat/completions", openaiForm, 401, revoked, true},
		"a key's chunks":       {"/v1/chat/completions", strings.Replace(openaiForm, "{", `{"stream":true,`, 1), 200, revoked, true},
	} {
		edit := func(o *Options) {
			var err error
			if o.Site, err = identity.NewSite(identity.SiteConfig{Secret: siteSecret, Audience: "https://shop.example"}); err != nil {
				t.Fatal(err)
			}
		}
		serveOn(t, edit, accept, func(w *Web, n network) {
			token := account(t, "ada", nil)
			if c.key {
				key, made, err := w.keys.Keys.Create(t.Context(), identity.Key{Name: "k", Scopes: []string{"write"}, Ends: time.Now().Add(24 * time.Hour)})
				require.NoError(t, err)
				token = key
				time.AfterFunc(time.Second, func() { _ = w.keys.Keys.Revoke(t.Context(), made.ID) })
			}
			r := require.Value(http.NewRequest(http.MethodPost, "http://127.0.0.1:8080"+c.path, strings.NewReader(c.form)))(t)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+token)
			late := time.AfterFunc(2*time.Hour, func() {
				n.answer.Apply(answer.Change{Kind: answer.Text, Text: "It is late."})
				n.answer.End(answer.Outcome{Status: answer.Completed})
			})
			defer late.Stop()
			resp := require.Value(n.client.Do(r))(t)
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != c.status || !strings.Contains(string(body), c.want) || strings.Contains(string(body), "late") {
				t.Errorf("%s: %d %s, %v", name, resp.StatusCode, body, err)
			}
		})
	}
}

// A stream ends within five seconds after its key is revoked, also if another request has read the list of keys just before that.
func TestOtherRequestsDelayNoRevocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ring := &identity.Ring{Keys: identity.Keys{Store: &connectortest.Memory{}}}
		key, made, err := ring.Keys.Create(t.Context(), identity.Key{Name: "k", Ends: time.Now().Add(time.Hour)})
		require.NoError(t, err)
		find := func(ctx context.Context) bool { _, err := ring.Find(ctx, key); return err == nil }
		find(t.Context())
		time.Sleep(identity.KeyFresh - time.Millisecond)
		ctx, done := reader{ends: made.Ends, valid: find}.allowed(t.Context())
		defer done()
		time.Sleep(time.Millisecond)
		find(t.Context()) // reads the list
		require.NoError(t, ring.Keys.Revoke(t.Context(), made.ID))
		begins := time.Now()
		<-ctx.Done()
		if took := time.Since(begins); took > 5*time.Second || context.Cause(ctx) != errRevoked {
			t.Errorf("it ends after %v: %v", took, context.Cause(ctx))
		}
	})
}

// A new key works at once, also if the list was read just before it was made: an unknown key reads the list again, but not each time.
func TestNewKeyWorksSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ring := &identity.Ring{Keys: identity.Keys{Store: &connectortest.Memory{}}}
		if _, err := ring.Find(t.Context(), "parley_UNKNOWN"); !errors.Is(err, identity.ErrUnknown) {
			t.Fatalf("an unknown key: %v", err)
		}
		key, _, err := ring.Keys.Create(t.Context(), identity.Key{Name: "k", Ends: time.Now().Add(time.Hour)})
		require.NoError(t, err)
		if _, err := ring.Find(t.Context(), key); !errors.Is(err, identity.ErrUnknown) {
			t.Errorf("the list is read for each unknown key: %v", err)
		}
		time.Sleep(100 * time.Millisecond)
		if _, err := ring.Find(t.Context(), key); err != nil {
			t.Errorf("a new key: %v", err)
		}
	})
}

// Once an answer that a client waited for is there, its key is not checked any more.
func TestAnswerEndsTheChecksOfItsKey(t *testing.T) {
	serveOn(t, nil, accept, func(w *Web, n network) {
		n.answer.End(answer.Outcome{Status: answer.Completed})
		checks := 0
		who := reader{ends: time.Now().Add(time.Hour), valid: func(context.Context) bool { checks++; return true }}
		r := httptest.NewRequestWithContext(context.WithValue(context.Background(), readerKey{}, who), "POST", "/", nil)
		require.Value(clients{w}.whole(r, "run", &listening{}))(t)
		time.Sleep(time.Minute)
		if checks > 0 {
			t.Errorf("the key was checked %d times after the answer; want never", checks)
		}
	})
}
