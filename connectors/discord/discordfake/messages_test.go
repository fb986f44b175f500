package discordfake_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors/discord/discordfake"
	"parley/internal/subtest"
)

func TestMessageLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, channel, ann := room(t)
		question := s.Say(channel, ann, "hello", discordfake.MentionBot())
		id := post(t, s, channel, fmt.Sprintf(
			`{"content":" one ","flags":4,"message_reference":{"message_id":%q},"allowed_mentions":{"parse":[]}}`, question))
		time.Sleep(time.Second) // the bubble's clock
		path := "/channels/" + channel + "/messages/" + id
		if a := send(t, s, "PATCH", path, `{"content":"two","allowed_mentions":{"parse":[]}}`); a.status != http.StatusOK || a.json["content"] != "two" {
			t.Fatalf("edit: %d %s", a.status, a.text)
		}
		shown := s.Messages(channel)
		if len(shown) != 2 {
			t.Fatalf("messages: %+v; want 2", shown)
		}
		m := shown[1]
		if m.Content != "two" || m.Versions != 2 || m.EditedAt.Sub(m.At) != time.Second || m.ReplyTo != question || m.Flags != discordfake.FlagSuppressEmbeds || !m.ByBot {
			t.Errorf("shown: %+v", m)
		}
		if s.Unfurl(id) {
			t.Error("a message that suppresses embeds unfurled (DR-13)")
		}
		if a := send(t, s, "DELETE", path, ""); a.status != http.StatusNoContent {
			t.Errorf("delete: %d %s; want %d", a.status, a.text, http.StatusNoContent)
		}
		past := s.History(id)
		if len(past) != 3 || past[0].Content != "one" || past[1].Content != "two" || !past[2].Deleted {
			t.Errorf("history: %+v", past)
		}
		if a := send(t, s, "PATCH", path, `{"content":"late"}`); a.code() != 10008 {
			t.Errorf("edit of a deleted message: %d %s", a.status, a.text)
		}
		if r := s.Rejected(); len(r) != 0 {
			t.Errorf("rejected: %+v; want none", r)
		}
	})
}

// Refusals by form: what a correct client never sends.
func TestMalformedCreates(t *testing.T) {
	long := strings.Repeat("a", 2001)
	pairs := strings.Repeat("😀", 1001) // 1001 runes, 2002 UTF-16 units
	for name, test := range map[string]struct {
		body string
		code int
	}{
		"DR-07 too long":       {`{"content":"` + long + `"}`, 50035},
		"DR-07 too long pairs": {`{"content":"` + pairs + `"}`, 50035},
		"DR-07 empty":          {`{"content":""}`, 50006},
		"DR-07 spaces":         {`{"content":"  \n"}`, 50006},
		"unknown field":        {`{"content":"x","colour":1}`, 50035},
		"wrong type":           {`{"content":5}`, 50035},
		"no JSON":              {`{"content":`, 50109},
		"trailing JSON":        {`{"content":"x"}{}`, 50109},
		"long nonce":           {`{"content":"x","nonce":"12345678901234567890123456"}`, 50035},
		"bad nonce":            {`{"content":"x","nonce":1.5}`, 50035},
		"exclusive mentions":   {`{"content":"x","allowed_mentions":{"parse":["users"],"users":["1"]}}`, 50035},
		"bad parse":            {`{"content":"x","allowed_mentions":{"parse":["all"]}}`, 50035},
		"flag of others":       {`{"content":"x","flags":1}`, 50035},
		"sticker":              {`{"content":"x","sticker_ids":["1"]}`, 0},
		"reply to nothing":     {`{"content":"x","message_reference":{"message_id":"77"}}`, 50035},
	} {
		t.Run(name, func(t *testing.T) {
			s, channel, _ := room(t)
			a := send(t, s, "POST", "/channels/"+channel+"/messages", test.body)
			if a.status != http.StatusBadRequest || a.code() != test.code {
				t.Errorf("got %d %s", a.status, a.text)
			}
			if got := s.Rejected(); len(got) != 1 || got[0].Reason == "" {
				t.Errorf("rejected: %+v", got)
			}
			if got := s.Messages(channel); len(got) != 0 {
				t.Errorf("it was posted: %+v; want none", got)
			}
		})
	}
}

func TestLongestTextAndMissingReplyPass(t *testing.T) {
	s, channel, _ := room(t)
	post(t, s, channel, `{"content":"`+strings.Repeat("😀", 1000)+`"}`)
	post(t, s, channel, `{"content":"x","message_reference":{"message_id":"77","fail_if_not_exists":false}}`)
	// What discordgo's own structs always carry.
	post(t, s, channel, `{"content":"x","embeds":null,"tts":false,"components":null,"sticker_ids":null}`)
}

// Refusals by right: DR-24 and DR-27.
func TestRefusals(t *testing.T) {
	type fixture struct {
		s             *discordfake.Server
		channel, mine string
		theirs        string
		ann           string
	}
	create := func(t *testing.T, w fixture) answer {
		return send(t, w.s, "POST", "/channels/"+w.channel+"/messages", `{"content":"x"}`)
	}
	edit := func(id func(fixture) string) func(*testing.T, fixture) answer {
		return func(t *testing.T, w fixture) answer {
			return send(t, w.s, "PATCH", "/channels/"+w.channel+"/messages/"+id(w), `{"content":"x"}`)
		}
	}
	mine, theirs := func(w fixture) string { return w.mine }, func(w fixture) string { return w.theirs }
	for name, test := range map[string]struct {
		prepare func(*fixture)
		act     func(*testing.T, fixture) answer
		status  int
		code    int
	}{
		"unknown channel": {func(w *fixture) { w.channel = "5" }, create, 404, 10003},
		"no access":       {func(w *fixture) { w.s.Deny(w.channel, discordfake.ViewChannel) }, create, 403, 50001},
		"no right":        {func(w *fixture) { w.s.Deny(w.channel, discordfake.SendMessages) }, create, 403, 50013},
		"closed DM": {func(w *fixture) {
			w.channel = w.s.AddDM(w.ann)
			w.s.CloseDMs(w.ann)
		}, create, 403, 50007},
		"AutoMod":       {func(w *fixture) { w.s.AutoMod("x") }, create, 400, 200000},
		"forum":         {func(w *fixture) { w.channel = w.s.AddForum(w.s.AddGuild("g"), "forum") }, create, 400, 50008},
		"locked thread": {func(w *fixture) { w.channel = w.s.AddThread(w.channel, "th"); w.s.SetThread(w.channel, true, true) }, create, 400, 160005},
		"archived thread": {func(w *fixture) {
			w.channel = w.s.AddThread(w.channel, "th")
			w.mine = send(t, w.s, "POST", "/channels/"+w.channel+"/messages", `{"content":"x"}`).id()
			w.s.SetThread(w.channel, true, false)
		}, edit(mine), 400, 50083},
		"foreign message": {func(*fixture) {}, edit(theirs), 403, 50005},
		"old message": {func(w *fixture) {
			w.s.LimitOldEdits(time.Minute)
			time.Sleep(time.Hour + time.Second) // the bubble's clock
		}, edit(mine), 429, 30046},
		"foreign delete": {func(*fixture) {}, func(t *testing.T, w fixture) answer {
			return send(t, w.s, "DELETE", "/channels/"+w.channel+"/messages/"+w.theirs, "")
		}, 403, 50013},
	} {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			s, channel, ann := room(t)
			w := fixture{s: s, channel: channel, ann: ann, mine: post(t, s, channel, `{"content":"mine"}`)}
			w.theirs = s.Say(channel, ann, "theirs")
			test.prepare(&w)
			if a := test.act(t, w); a.status != test.status || a.code() != test.code {
				t.Errorf("got %d %s, want %d with code %d", a.status, a.text, test.status, test.code)
			}
		}))
	}
}

func TestArchivedThreadOpensAgain(t *testing.T) {
	s, channel, _ := room(t)
	thread := s.AddThread(channel, "thread")
	s.SetThread(thread, true, false)
	post(t, s, thread, `{"content":"x"}`)
	a := send(t, s, "GET", "/channels/"+thread, "")
	meta, _ := a.json["thread_metadata"].(map[string]any)
	if a.json["parent_id"] != channel || a.json["type"] != float64(11) || meta["archived"] != false {
		t.Errorf("thread: %s", a.text)
	}
}

func TestPages(t *testing.T) {
	s, channel, ann := room(t)
	s.SwitchLimits(false)
	ids := make([]string, 7)
	for i := range ids {
		ids[i] = s.Say(channel, ann, fmt.Sprint(i))
	}
	s.UserDelete(ids[3])
	for query, want := range map[string]string{
		"":                               "6 5 4 2 1 0",
		"?limit=2":                       "6 5",
		"?limit=2&after=" + ids[1]:       "4 2",
		"?limit=2&before=" + ids[2]:      "1 0",
		"?limit=3&around=" + ids[4]:      "5 4 2",
		"?limit=100&after=" + ids[6]:     "",
		"?limit=100&after=" + ids[3]:     "6 5 4",
		"?limit=100&before=" + ids[0]:    "",
		"?limit=100&after=0":             "6 5 4 2 1 0",
		"?limit=1&before=99999999999999": "",
	} {
		a := send(t, s, "GET", "/channels/"+channel+"/messages"+query, "")
		var page []struct{ Content string }
		if err := json.Unmarshal([]byte(a.text), &page); err != nil {
			t.Fatalf("%s: %v in %s", query, err, a.text)
		}
		var got []string
		for _, m := range page {
			got = append(got, m.Content)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
	for _, query := range []string{"?limit=0", "?limit=101", "?after=x", "?since=1"} {
		if a := send(t, s, "GET", "/channels/"+channel+"/messages"+query, ""); a.status != http.StatusBadRequest {
			t.Errorf("%s: %d; want %d", query, a.status, http.StatusBadRequest)
		}
	}
}

func TestMetaEndpoints(t *testing.T) {
	s, channel, ann := room(t, discordfake.WithGatewayURL("ws://gw.test"))
	for path, want := range map[string]string{
		"/gateway":                 `"url":"ws://gw.test"`,
		"/gateway/bot":             `"remaining":1000`,
		"/users/@me":               `"id":"` + s.BotID() + `"`,
		"/oauth2/applications/@me": `"flags":524288`,
		"/channels/" + channel:     `"name":"general"`,
		"/guilds/1":                `"code":10004`,
	} {
		if a := send(t, s, "GET", path, ""); !strings.Contains(a.text, want) {
			t.Errorf("%s: %s lacks %s", path, a.text, want)
		}
	}
	a := send(t, s, "POST", "/users/@me/channels", `{"recipient_id":"`+ann+`"}`)
	if a.id() != s.AddDM(ann) || a.json["type"] != float64(1) {
		t.Errorf("direct message: %s", a.text)
	}
	if a := send(t, s, "POST", "/channels/"+channel+"/typing", ""); a.status != http.StatusNoContent || !s.TypingShown(channel) {
		t.Errorf("typing: %d, %+v", a.status, s.Typing(channel))
	}
	if post(t, s, channel, `{"content":"x"}`); s.TypingShown(channel) {
		t.Error("a message does not end the typing")
	}
}

func TestRequestsThatShouldNotBe(t *testing.T) {
	s, channel, _ := room(t)
	path := "/channels/" + channel + "/messages"
	header := func(name, value, method, body string) answer {
		r := newRequest(t, s, method, path, body)
		if r.Header.Set(name, value); value == "" {
			r.Header.Del(name)
		}
		return sendRequest(s, r)
	}
	for name, test := range map[string]struct {
		got    answer
		status int
		code   int
	}{
		"DR-06 user agent":        {header("User-Agent", "curl/8", "GET", ""), 403, 40333},
		"DR-06 no user agent":     {header("User-Agent", "", "GET", ""), 403, 40333},
		"content type":            {header("Content-Type", "text/plain", "POST", `{"content":"x"}`), 400, 50035},
		"no content type":         {header("Content-Type", "", "POST", `{"content":"x"}`), 400, 50035},
		"multipart":               {header("Content-Type", "multipart/form-data; boundary=x", "POST", "--x--"), 400, 50035},
		"type without a body":     {header("Content-Type", "application/json", "POST", ""), 400, 50109},
		"unknown path":            {send(t, s, "GET", "/channels/"+channel+"/pins/all", ""), 404, 0},
		"wrong method":            {send(t, s, "PUT", path, ""), 405, 0},
		"a path without a number": {send(t, s, "GET", "/channels/general", ""), 404, 0},
	} {
		if test.got.status != test.status || test.got.code() != test.code {
			t.Errorf("%s: %d %s", name, test.got.status, test.got.text)
		}
	}
	if got := len(s.Rejected()); got != 9 {
		t.Errorf("%d rejections: %+v; want 9", got, s.Rejected())
	}
	if a := header("Authorization", "Bot wrong", "GET", ""); a.status != http.StatusUnauthorized || s.InvalidRequests() != 3 {
		t.Errorf("bad token: %d, %d invalid requests; want %d and 3", a.status, s.InvalidRequests(), http.StatusUnauthorized)
	}
}
