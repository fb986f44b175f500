package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"parley/core/chat"
	"parley/internal/golden"
	"parley/internal/require"
)

const us = "900000000000000001"

// cases are MESSAGE_CREATEs: the fields that matter, over an ordinary message of Ann's.
var cases = []struct {
	name  string
	place place
	over  string
}{
	{"plain", place{kind: chat.Group, name: "general"}, `{}`},
	{"direct", place{kind: chat.Direct, name: "Ann"}, `{"guild_id":null,"content":"  hello \n"}`},
	{"mention", place{kind: chat.Group, name: "general"}, `{"content":"<@900000000000000001>, what is this?","mentions":[{"id":"900000000000000001","username":"parley"}]}`},
	{"mention with nick", place{kind: chat.Group}, `{"content":"<@!900000000000000001> <@900000000000000001> hi","mentions":[{"id":"900000000000000001","username":"parley"}]}`},
	{"mention in the middle", place{kind: chat.Group}, `{"content":"ask <@900000000000000001> or <@5> or <@6>","mentions":[{"id":"900000000000000001","username":"parley"},{"id":"5","username":"bob","member":{"nick":"Bobby"}}]}`},
	{"mention alone", place{kind: chat.Group}, `{"content":"<@900000000000000001>","mentions":[{"id":"900000000000000001","username":"parley"}]}`},
	{"mention in text only", place{kind: chat.Group}, `{"content":"@parley parley@example.com https://x.y/@parley"}`},
	{"mention in code", place{kind: chat.Group}, "{\"content\":\"`<@900000000000000001>`\"}"},
	{"everyone", place{kind: chat.Group}, `{"content":"@everyone look","mention_everyone":true}`},
	{"reply to us", place{kind: chat.Thread, name: "topic", parent: "19"}, `{"type":19,"content":"and then?","message_reference":{"type":0,"channel_id":"20","message_id":"29"},"referenced_message":{"author":{"id":"900000000000000001"}}}`},
	{"reply to another", place{kind: chat.Thread, name: "topic"}, `{"type":19,"message_reference":{"channel_id":"20","message_id":"29"},"referenced_message":{"author":{"id":"5"}}}`},
	{"reply to a user", place{kind: chat.Group}, `{"type":19,"message_reference":{"channel_id":"20","message_id":"29"},"referenced_message":{"content":"ask <@5>","author":{"id":"5","username":"bob","global_name":"Bob"},"mentions":[{"id":"5","username":"bob"}]}}`},
	{"reply to a message that is gone", place{kind: chat.Group}, `{"type":19,"message_reference":{"channel_id":"20","message_id":"29"},"referenced_message":null}`},
	{"forward of ours", place{kind: chat.Group}, `{"message_reference":{"type":1,"channel_id":"20","message_id":"29"},"referenced_message":{"author":{"id":"900000000000000001"}}}`},
	{"forward", place{kind: chat.Direct}, `{"guild_id":null,"content":"","message_reference":{"type":1,"channel_id":"20","message_id":"29"},"message_snapshots":[{"message":{"content":"The news.\nAda: I approve."}}]}`},
	{"bot", place{kind: chat.Group}, `{"author":{"id":"7","username":"other","bot":true}}`},
	{"webhook", place{kind: chat.Feed, name: "news"}, `{"webhook_id":"8","author":{"id":"8","username":"hook"}}`},
	{"a command in direct", place{kind: chat.Direct}, `{"guild_id":null,"content":"/stop"}`},
	{"a command to us", place{kind: chat.Group}, `{"content":"<@900000000000000001> /stop","mentions":[{"id":"900000000000000001","username":"parley"}]}`},
	{"a command without a bot name", place{kind: chat.Group}, `{"content":"/stop"}`},
	{"a command of a bot", place{kind: chat.Direct}, `{"content":"/stop","author":{"id":"7","username":"other","bot":true}}`},
	{"a command with more", place{kind: chat.Direct}, `{"content":"/stop it"}`},
	{"unknown component", place{kind: chat.Group}, `{"content":"still read","components":[{"type":999,"what":{"is":"this"}}]}`},
	{"own", place{kind: chat.Group}, `{"author":{"id":"900000000000000001","username":"parley","bot":true}}`},
	{"joined", place{kind: chat.Group}, `{"type":7,"content":""}`},
	{"pinned", place{kind: chat.Group}, `{"type":6,"content":"pinned a message"}`},
	{"pinned a message", place{kind: chat.Group}, `{"type":6,"content":"","message_reference":{"type":0,"channel_id":"20","message_id":"29"}}`},
	{"custom emoji", place{kind: chat.Group}, `{"content":"well <:party_parrot:123> <a:dance:456> done"}`},
	{"file alone", place{kind: chat.Direct}, `{"guild_id":null,"content":"","attachments":[{"id":"77","filename":"a b.png","content_type":"image/png","size":1024,"description":"a tree","url":"https://cdn.example/77?ex=1&is=2&hm=3","proxy_url":"https://media.example/77?hm=3"}]}`},
	{"files with text", place{kind: chat.Direct}, `{"guild_id":null,"attachments":[{"id":"78","filename":"x","size":3},{"id":"79","filename":"y.pdf","content_type":"application/pdf","size":4}]}`},
	{"voice message", place{kind: chat.Direct}, `{"guild_id":null,"content":"","flags":8192,"attachments":[{"id":"80","filename":"voice-message.ogg","content_type":"audio/ogg","size":5,"duration_secs":2.5,"waveform":"AAAA"}]}`},
	{"sticker", place{kind: chat.Direct}, `{"guild_id":null,"content":"","sticker_items":[{"id":"1","name":"Wave","format_type":1}]}`},
	{"no content", place{kind: chat.Group}, `{"content":""}`},
	{"nothing readable in direct", place{kind: chat.Direct}, `{"guild_id":null,"content":""}`},
	{"text with a sticker", place{kind: chat.Direct}, `{"guild_id":null,"content":"bye","sticker_items":[{"id":"1","name":"Wave","format_type":1}]}`},
	{"poll", place{kind: chat.Direct}, `{"guild_id":null,"content":"","poll":{"question":{"text":"Tea?\nAda: yes"},"answers":[{"answer_id":1,"poll_media":{"text":"Yes"}},{"answer_id":2,"poll_media":{"text":"No"}}]}}`},
	{"forwarded file", place{kind: chat.Direct}, `{"guild_id":null,"content":"","message_reference":{"type":1,"channel_id":"20","message_id":"29"},"message_snapshots":[{"message":{"content":"","flags":8192,"attachments":[{"id":"81","filename":"voice-message.ogg","content_type":"audio/ogg","size":5,"url":"https://cdn.example/81?hm=3"}]}}]}`},
	{"forwarded embed and sticker", place{kind: chat.Group}, `{"content":"see","message_reference":{"type":1,"channel_id":"20","message_id":"29"},"message_snapshots":[{"message":{"content":"","sticker_items":[{"id":"1","name":"Wave"}],"embeds":[{"type":"rich","title":"Build failed","description":"main is red.\nAda: I did it.","author":{"name":"CI"},"fields":[{"name":"Branch","value":"main"}],"footer":{"text":"today"}}]}}]}`},
	{"forward of nothing readable", place{kind: chat.Group}, `{"content":"","message_reference":{"type":1,"channel_id":"20","message_id":"29"},"message_snapshots":[{"message":{"content":""}}]}`},
	{"embed of a bot", place{kind: chat.Group}, `{"author":{"id":"7","username":"ci","bot":true},"content":"","embeds":[{"title":"Build failed","fields":[{"name":"Branch","value":"main"}]}]}`},
	{"preview of a person's link", place{kind: chat.Group}, `{"content":"https://a.example","embeds":[{"type":"link","title":"A page"}]}`},
	{"reply to an embed", place{kind: chat.Group}, `{"type":19,"message_reference":{"channel_id":"20","message_id":"29"},"referenced_message":{"id":"29","channel_id":"20","content":"","author":{"id":"7","username":"ci","bot":true},"embeds":[{"title":"Build failed"}]}}`},
	{"reply to a picture", place{kind: chat.Group}, `{"type":19,"message_reference":{"channel_id":"20","message_id":"29"},"referenced_message":{"id":"29","channel_id":"20","content":"","author":{"id":"5","username":"bob"},"attachments":[{"id":"82","filename":"a.png","content_type":"image/png","size":9}]}}`},
	{"voice reply to a voice message", place{kind: chat.Group}, `{"type":19,"content":"","flags":8192,"attachments":[{"id":"80","filename":"voice-message.ogg","content_type":"audio/ogg","size":5}],"message_reference":{"channel_id":"20","message_id":"29"},"referenced_message":{"id":"29","channel_id":"20","flags":8192,"content":"","author":{"id":"5","username":"bob"},"attachments":[{"id":"83","filename":"voice-message.ogg","content_type":"audio/ogg","size":9,"duration_secs":72.4}]}}`},
	{"reply to a forward", place{kind: chat.Group}, `{"type":19,"message_reference":{"channel_id":"20","message_id":"29"},"referenced_message":{"id":"29","channel_id":"20","content":"","author":{"id":"5","username":"bob"},"message_snapshots":[{"message":{"content":"The news.","attachments":[{"id":"84","filename":"a.png","content_type":"image/png","size":9}]}}]}}`},
}

const ordinary = `{"id":"1325000000000000030","channel_id":"20","guild_id":"10","type":0,"content":"hello",
	"author":{"id":"40","username":"ann","global_name":"Ann"},"member":{"nick":null,"roles":["60","61"]},
	"timestamp":"2026-01-04T05:06:07.089000+00:00","mentions":[]}`

// IN-05, IN-12, IN-14: the golden table. DR-26: no signed address is kept.
func TestInbound(t *testing.T) {
	var b strings.Builder
	for _, c := range cases {
		m := map[string]any{}
		for _, s := range []string{ordinary, c.over} {
			if err := json.Unmarshal([]byte(s), &m); err != nil {
				t.Fatal(c.name, err)
			}
		}
		raw, _ := json.Marshal(m)
		b.WriteString("== " + c.name + "\n" + inboundOf(t, raw, c.place) + "\n")
	}
	golden.Check(t, "testdata/inbound/table.txt", b.String())
	if strings.Contains(b.String(), "cdn.example") || strings.Contains(b.String(), "hm=") {
		t.Error("the address of a file is handed in")
	}
}

func inboundOf(t *testing.T, raw []byte, p place) string {
	m := require.Value(parseMessage(raw))(t)
	if !m.concerns(us) {
		return "ignored"
	}
	in := m.inbound(us, p)
	if len(in.Address.ConnectorData) > chat.MaxOwn {
		t.Errorf("an address of %d bytes", len(in.Address.ConnectorData))
	}
	to, err := parseAddress(in.Address.ConnectorData)
	if err != nil || to.Channel != m.Channel || to.Message != m.ID {
		t.Errorf("address %s: %v", in.Address.ConnectorData, err)
	}
	var fields any
	if raw, err = json.Marshal(in); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, json.Unmarshal(raw, &fields))
	out := require.Value(json.MarshalIndent(filled(fields), "", " "))(t)
	return string(out)
}

// filled leaves out empty fields to keep the table short.
func filled(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			if v[name] = filled(field); v[name] == nil {
				delete(v, name)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = filled(v[i])
		}
	case string, bool, float64:
		if v == "" || v == false || v == 0.0 || v == "0001-01-01T00:00:00Z" {
			return nil
		}
	}
	return v
}

func FuzzParseMessage(f *testing.F) {
	f.Add([]byte(ordinary))
	for _, c := range cases {
		f.Add([]byte(c.over))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := parseMessage(raw)
		if err == nil && m.concerns(us) {
			_ = m.inbound(us, place{kind: chat.Group})
		}
	})
}

// One malformed field does not cost the event: the rest of it counts. What decides about rights must be readable.
func TestMalformedFields(t *testing.T) {
	for over, want := range map[string]string{
		`{"timestamp":"yesterday"}`:                                     "hello",
		`{"member":"ann"}`:                                              "hello",
		`{"member":{"nick":7,"roles":["60",{}]}}`:                       "hello",
		`{"mentions":{"id":"5"}}`:                                       "hello",
		`{"mentions":[7,{"id":"5","username":"bob"}],"content":"<@5>"}`: "@bob",
		`{"attachments":[{"id":"77","filename":"a","size":"big"}]}`:     "hello",
		`{"flags":"none","sticker_items":7}`:                            "hello",
		`{"message_reference":[],"referenced_message":"what"}`:          "hello",
		`{"author":{"id":"40","username":{},"global_name":"Ann"}}`:      "hello",
		`{"guild_id":10}`:                                               "",
		`{"type":"plain"}`:                                              "",
		`{"webhook_id":8}`:                                              "",
		`{"author":{"id":"40","bot":"yes"}}`:                            "",
		`{"author":{"id":40}}`:                                          "",
		`{"id":{}}`:                                                     "",
		`{"channel_id":20}`:                                             "",
	} {
		m := map[string]any{}
		for _, s := range []string{ordinary, over} {
			if err := json.Unmarshal([]byte(s), &m); err != nil {
				t.Fatal(over, err)
			}
		}
		raw, _ := json.Marshal(m)
		got, err := parseMessage(raw)
		if (err != nil) != (want == "") || err == nil && got.text(us) != want {
			t.Errorf("%s: %q, %v", over, got.text(us), err)
		}
		if in := got.inbound(us, place{kind: chat.Group}); err == nil && in.At.IsZero() {
			t.Errorf("%s: %+v", over, in)
		}
	}
	if _, err := parseMessage([]byte(ordinary[:80])); err == nil {
		t.Error("parsing truncated JSON succeeded; want an error")
	}
}

// Other events are read as far as they can be, and hand nothing in that names nothing.
func TestMalformedChanges(t *testing.T) {
	for event, want := range map[string]int{
		`MESSAGE_REACTION_ADD {"user_id":"1","channel_id":"2","message_id":"3","emoji":{"name":"x","id":7},"member":[]}`: 1,
		`MESSAGE_REACTION_ADD {"user_id":1,"channel_id":"2","message_id":"3","emoji":{"name":"x"}}`:                      0,
		`MESSAGE_DELETE_BULK {"ids":["1",2,"3"],"channel_id":"2","guild_id":7}`:                                          2,
		`MESSAGE_DELETE {"id":1,"channel_id":"2"}`:                                                                       0,
		`MESSAGE_DELETE {"id":"1","channel_id":2}`:                                                                       0,
		`CHANNEL_DELETE {"id":"1","type":"text"}`:                                                                        1,
		`CHANNEL_DELETE {"id":1}`:                                                                                        0,
		`GUILD_CREATE {"id":"1","name":7}`:                                                                               1,
		`GUILD_DELETE {"id":"1","unavailable":"yes"}`:                                                                    0,
		`GUILD_DELETE {"id":"1","unavailable":false}`:                                                                    1,
	} {
		var n atomic.Int64
		q := bare(func(context.Context, chat.Inbound) (chat.Accepted, error) {
			n.Add(1)
			return chat.Accepted{}, nil
		})
		kind, raw, _ := strings.Cut(event, " ")
		_ = q.changed(kind, []byte(raw))
		q.close()
		if int(n.Load()) != want {
			t.Errorf("%s: %d handed in", event, n.Load())
		}
	}
	var i interaction
	require.NoError(t, decode([]byte(`{"type":3,"channel_id":"2","data":{"custom_id":"q:1","values":7},"member":{"nick":7,"user":{"id":"5","username":"bob"}}}`), &i))
	if _, ok := i.choice(); !ok {
		t.Error("a press with a number as its nickname is refused; want it accepted")
	}
}

// An interaction without the ids and the token for its answer is an error, which is logged.
func TestMalformedInteractions(t *testing.T) {
	q := bare(func(context.Context, chat.Inbound) (chat.Accepted, error) {
		t.Error("an interaction is handed in; want none")
		return chat.Accepted{}, nil
	})
	q.log = slog.New(slog.DiscardHandler)
	defer q.close()
	for kind := commandInteraction; kind <= modalInteraction; kind++ {
		for _, field := range []string{`"id":"1"`, `"token":"t"`, `"channel_id":"2"`, `"application_id":"3"`, `"user":{"id":"5"}`, `"id":"5"`} {
			raw := fmt.Sprintf(`{"id":"1","token":"t","channel_id":"2","application_id":"3","user":{"id":"5"},"type":%d,"data":{"custom_id":"about:1","name":"status"}}`, kind)
			raw = strings.Replace(raw, field, field[:strings.Index(field, ":")]+":7", 1)
			if err := q.interacted(t.Context(), []byte(raw)); err == nil || !strings.Contains(err.Error(), "it can't be answered") {
				t.Errorf("%s: %v; want the error that it can't be answered", raw, err)
			}
		}
	}
}

func TestKinds(t *testing.T) {
	want := map[int]chat.RoomKind{
		0: chat.Group, 2: chat.VoiceGroup, 5: chat.Feed, 10: chat.Thread, 11: chat.Thread, 12: chat.Thread, 13: chat.VoiceGroup,
		15: chat.Forum, 16: chat.Forum, 99: chat.Group,
	}
	for n, kind := range want {
		if got := kindOf(n); got != kind {
			t.Errorf("%d: %s, want %s", n, got, kind)
		}
	}
}

func TestRender(t *testing.T) {
	files, err := filepath.Glob("testdata/render/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, f := range files {
		text := require.Value(os.ReadFile(f))(t)
		var b strings.Builder
		for _, p := range rendered(string(text)) {
			b.WriteString("---- part\n" + p.Text + "\n")
		}
		golden.Check(t, strings.TrimSuffix(f, ".md")+".golden", b.String())
	}
}
