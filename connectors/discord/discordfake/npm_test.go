package discordfake_test

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/discord/discordfake"
	"parley/internal/golden"
	"parley/internal/require"
)

// A bot on the published discord.js takes the fake for Discord: it describes each event as users of the library expect, uses every way
// to answer, and what it got compiles as the types of discord-api-types.
func TestDiscordJS(t *testing.T) {
	dir := connectortest.NPM(t, os.DirFS("testdata/npm"))
	spec := require.Value(discordfake.SharedSpec())(t)
	s := discordfake.New(discordfake.WithSpec(spec), discordfake.WithAnswerTime(time.Minute))
	t.Cleanup(s.Close)
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	w := &npmWorld{Server: s, guild: s.AddGuild("Friends"), ada: s.AddUser("Ada"), bob: s.AddUser("Bob")}
	s.AddBotRole(w.guild)
	w.room, w.silent = s.AddChannel(w.guild, "general"), s.AddChannel(w.guild, "rules")
	s.AddNews(w.guild, "news")
	s.AddThread(s.AddForum(w.guild, "questions"), "Which tea?")
	s.Deny(s.AddChannel(w.guild, "hidden"), discordfake.ViewChannel)
	s.Deny(w.silent, discordfake.SendMessages)

	printed := connectortest.Node(t, dir, w.cue, "bot.mjs", web.URL+"/api", s.Token(), w.silent)
	for _, r := range s.Rejected() {
		if !strings.Contains(string(r.Request.Body), strings.Repeat("x", 2001)) { // that the bot tries on purpose
			t.Errorf("rejected %s %s %s: %s", r.Request.Method, r.Request.Path, r.Request.Body, r.Reason)
		}
	}
	golden.Check(t, filepath.Join("testdata", "discord-js.txt"), printed+"-- what Ada sees\n"+s.Transcript(w.room, w.ada))
	tsc := exec.CommandContext(t.Context(), filepath.Join("node_modules", ".bin", "tsc"), "--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext", "events.ts")
	tsc.Dir = dir
	if out, err := tsc.CombinedOutput(); err != nil {
		t.Errorf("tsc: %v\n%s", err, out)
	}
}

type npmWorld struct {
	*discordfake.Server
	guild, room, silent, ada, bob string
	menu                          string // the message with buttons
}

// cue does what the bot waits for.
func (w *npmWorld) cue(line string) {
	name, rest, _ := strings.Cut(line, " ")
	switch name + rest {
	case "ready":
		w.happen()
	case "commands":
		w.Autocomplete(w.room, w.ada, "tea", "kind", "gr")
		w.Command(w.room, w.ada, "tea", "kind", "green")
	case "afteryes":
		w.Press(w.menu, w.ada, "why")
	case "afterwhy":
		w.SubmitModal(w.room, w.menu, w.ada, "reason", "why", "I like it")
	case "afterreason":
		w.Press(w.menu, w.ada, "size", "l")
	case "aftersize":
		w.Command(w.room, w.ada, "secret")
	case "slow":
		w.Command(w.AddDM(w.bob), w.bob, "slow")
	case "over":
		w.Say(w.room, w.ada, "over")
	default:
		w.menu = rest
		w.Press(w.menu, w.ada, "yes")
	}
}

// happen lets users do everything that a bot is told of.
func (w *npmWorld) happen() {
	hello := w.Say(w.room, w.ada, "hello", discordfake.MentionBot())
	w.UserEdit(hello, "hello there")
	w.Unfurl(hello)
	w.React(hello, w.bob, "🔥", true)
	w.React(hello, w.bob, "🔥", false)
	w.Say(w.room, w.bob, "me too", discordfake.ReplyTo(hello))
	w.Say(w.room, w.bob, "", discordfake.Forward(hello))
	w.Say(w.room, w.ada, "read it", discordfake.Attach(discordfake.Attachment{Filename: "a.txt", ContentType: "text/plain", Data: []byte("tea")}))
	w.Say(w.room, w.ada, "", discordfake.With(map[string]any{"sticker_items": []any{map[string]any{"id": "1", "name": "Wave", "format_type": 1}}}))
	w.Say(w.AddThread(w.room, "Aside"), w.ada, "in a thread")
	w.Say(w.AddDM(w.ada), w.ada, "in private")
	one, two := w.Say(w.room, w.ada, "one"), w.Say(w.room, w.ada, "two")
	w.UserDelete(w.Say(w.room, w.ada, "wrong"))
	w.BulkDelete(one, two)
	w.UserTyping(w.room, w.ada)
	w.DeleteChannel(w.AddChannel(w.guild, "short-lived"))
	other, _ := w.AddBotTo("Others")
	w.RemoveBot(other, false)
	w.Fault(discordfake.Match{Route: discordfake.CreateMessage, Channel: w.room, Skip: 2}, discordfake.TooManyRequests(discordfake.ScopeUser, 7*time.Second))
	w.Say(w.room, w.ada, "answer me")
}
