package telegramfake_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley/connectors/connectortest"
	"parley/connectors/telegram/telegramfake"
	"parley/internal/golden"
	"parley/internal/require"
)

// The published clients of npm take the answers of the fake as those of the real server: they describe each update, answer, press and
// refusal as users of these libraries expect, and the results of all methods compile as their types.
func TestClientsOfNPM(t *testing.T) {
	dir := connectortest.NPM(t, os.DirFS("testdata/npm"))
	check := []string{"--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext"}
	for name, script := range map[string]string{"grammy": "grammy", "grammy-webhook": "grammy", "node-telegram-bot-api": "node-telegram-bot-api"} {
		check = append(check, name+".ts")
		t.Run(name, func(t *testing.T) {
			printed := newNPMWorld(t).run(dir, script+".mjs", name)
			golden.Check(t, filepath.Join("testdata", name+".txt"), printed)
		})
	}
	tsc := exec.CommandContext(t.Context(), filepath.Join("node_modules", ".bin", "tsc"), check...)
	tsc.Dir = dir
	if out, err := tsc.CombinedOutput(); err != nil {
		t.Errorf("tsc: %v\n%s", err, out)
	}
}

// npmWorld is a fake with a user, a group and a channel, for one client.
type npmWorld struct {
	*telegramfake.Server
	t             *testing.T
	base          string
	ada, eve      telegramfake.User
	chat, blocked telegramfake.Chat
}

func newNPMWorld(t *testing.T) *npmWorld {
	spec := require.Value(telegramfake.SharedSpec())(t)
	w := &npmWorld{Server: telegramfake.New(telegramfake.WithSpec(spec), telegramfake.WithoutFlood(), telegramfake.WithTopics()), t: t}
	web := httptest.NewServer(w.Server)
	t.Cleanup(web.Close)
	w.base = web.URL
	w.ada, w.eve = w.AddUser("Ada", "ada"), w.AddUser("Eve", "")
	w.chat, w.blocked = w.AddPrivate(w.ada), w.AddPrivate(w.eve)
	w.Fault(telegramfake.Fault{Method: "sendMessage", Chat: w.chat.ID, Nth: 3, RetryAfter: 7}) // after the answer and the one with wrong markup
	return w
}

// run runs a client until it stopped, and returns its description of the events.
func (w *npmWorld) run(dir, script, name string) string {
	poll := !strings.HasSuffix(name, "-webhook")
	if poll {
		w.happen()
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	printed := connectortest.Node(w.t, dir, func(cue string) {
		if cue != "press" {
			to := require.Value(url.Parse(cue))(w.t)
			go w.CallWebhook(ctx, &http.Client{Transport: plainly{to}})
			w.Say(w.chat, w.ada, "/ask Which tea?")
			return
		}
		all := w.Messages(w.chat)
		w.Press(all[len(all)-1], w.ada, "yes")
		if poll {
			w.StopDraft(w.chat, w.Drafts(w.chat)[0])
		}
		w.Block(w.eve)
		w.Say(w.chat, w.ada, "/fail")
	}, script, w.base, w.Token(), name, number(w.blocked.ID))
	for _, r := range w.Rejected() {
		w.t.Errorf("rejected %s %v: %s", r.Method, r.Params, r.Reason)
	}
	return printed + "-- the chat\n" + w.Transcript(w.chat)
}

// happen lets users do everything that a bot is told of. The client is asked for reactions before it starts, as they don't come by default.
func (w *npmWorld) happen() {
	kinds := `["message","edited_message","channel_post","callback_query","my_chat_member","message_reaction"]`
	resp := require.Value(http.Get(w.base + "/bot" + w.Token() + "/getUpdates?allowed_updates=" + url.QueryEscape(kinds)))(w.t)
	require.NoError(w.t, resp.Body.Close())
	media := func(text string, fields map[string]any, opts ...telegramfake.SayOption) {
		w.Say(w.chat, w.ada, text, append(opts, telegramfake.WithMedia(fields))...)
	}
	hello := w.Say(w.chat, w.ada, "Hello 😀 @parley_bot https://tea.example")
	w.UserEdit(hello, "Hello there")
	w.React(hello, w.ada, nil, []string{"👍"})
	for _, name := range []string{"a.png", "b.png"} {
		id := w.AddFile(name, []byte("picture"), 0)
		media("Look @parley_bot", map[string]any{"media_group_id": "17", "photo": []any{map[string]any{
			"file_id": id, "file_unique_id": "u" + id, "file_size": 7, "width": 2, "height": 3,
		}}})
	}
	media("", map[string]any{"voice": map[string]any{"file_id": "v", "file_unique_id": "uv", "duration": 3, "mime_type": "audio/ogg"}})
	media("Read it", map[string]any{"document": map[string]any{"file_id": "d", "file_unique_id": "ud", "file_name": "tea.pdf", "mime_type": "application/pdf"}})
	media("", map[string]any{"sticker": map[string]any{
		"file_id": "s", "file_unique_id": "us", "type": "regular", "width": 512, "height": 512, "is_animated": false, "is_video": false, "emoji": "👋",
	}})
	media("", map[string]any{"location": map[string]any{"latitude": 1.5, "longitude": 2}})
	w.Say(w.chat, w.ada, "And this?", telegramfake.ReplyTo(hello.ID), telegramfake.With(map[string]any{"quote": map[string]any{"text": "there", "position": 6, "is_manual": true}}))
	w.Say(w.chat, w.ada, "Tea is green", telegramfake.ForwardedFrom(w.eve))
	w.Say(w.chat, w.ada, "In a topic", telegramfake.InTopic(w.AddTopic(w.chat, "Tea")))
	group, channel := w.AddGroup("Seven"), w.AddChannel("News")
	w.JoinBot(group, w.ada)
	w.Enter(group, w.Bot())
	w.Say(group, w.eve, "@parley_bot hi")
	w.Say(w.Migrate(group), w.ada, "/start@parley_bot now", telegramfake.As(group))
	w.JoinBot(channel, w.ada)
	w.Say(channel, w.ada, "News of the day")
	w.Say(w.chat, w.ada, "/ask Which tea?")
}

// plainly sends requests for https URLs to a server without TLS.
type plainly struct{ to *url.URL }

func (p plainly) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = p.to.Scheme, p.to.Host
	return http.DefaultTransport.RoundTrip(r)
}
