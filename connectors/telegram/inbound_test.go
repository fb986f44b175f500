package telegram

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"parley/connectors/telegram/telegramfake"
	"parley/core/chat"
	"parley/internal/require"
)

const us = 42

// read is what becomes of one message; extra are further fields of it.
func read(t *testing.T, chat, extra string) chat.Inbound {
	t.Helper()
	raw := `{"update_id":1,"message":{"message_id":7,"date":1700000000,"from":{"id":5,"first_name":"Ada","last_name":"L"},"chat":` + chat
	if extra != "" {
		raw += "," + extra
	}
	u, _, err := parseUpdate(json.RawMessage(raw + `}}`))
	require.NoError(t, err)
	return self{account: us, username: "Parley_Bot"}.inbound(u.Message, u.newer.Message, newMoves(us, nil).first)
}

const (
	inPrivate = `{"id":5,"type":"private","first_name":"Ada","last_name":"L"}`
	inGroup   = `{"id":-6,"type":"group","title":"Six"}`
	inForum   = `{"id":-100,"type":"supergroup","title":"Forum","is_forum":true}`
	inChannel = `{"id":-200,"type":"channel","title":"News"}`
	ours      = `{"id":42,"is_bot":true,"first_name":"P","username":"parley_bot"}`
)

// What a message replies to comes with it: the message, or the quoted part of one, possibly from another chat.
func TestQuotedMessageComesAlong(t *testing.T) {
	reply := `"text":"why?","reply_to_message":{"message_id":3,"date":1,"chat":` + inGroup + `,"from":` + ours + `,"text":"Because it is so."}`
	for fields, want := range map[string]chat.Quoted{
		`"text":"hello"`: {},
		reply:            {Name: "P", Text: "Because it is so."},
		reply + `,"quote":{"text":"it is so","position":8}`:                                                  {Name: "P", Text: "it is so"},
		`"text":"why?","external_reply":{},"quote":{"text":"a","position":8}`:                                {Text: "a"},
		`"text":"why?","external_reply":{"origin":{"type":"hidden_user","date":1,"sender_user_name":"Bob"}}`: {Name: "Bob", What: "a message"},
		`"text":"why?","reply_to_story":{"id":1,"chat":` + inChannel + `}`:                                   {What: "a story"},
		`"text":"why?",` + replyTo(`"story":{"id":1,"chat":`+inChannel+`}`):                                  {Name: "P", Text: "*Story (bots can't see its content)*"},
		`"text":"why?",` + replyTo(`"dice":{"emoji":"🎲","value":4}`):                                         {Name: "P", Text: "*🎲 rolled: 4*"},
		`"text":"why?",` + replyTo(`"new_chat_title":"x"`):                                                   {Name: "P", What: "a message"},
	} {
		if got := read(t, inGroup, fields).(chat.Message).Quoted; got != want {
			t.Errorf("%s: %+v; want %+v", fields, got, want)
		}
	}
}

// replyTo makes a message a reply to one of ours with fields.
func replyTo(fields string) string {
	return `"reply_to_message":{"message_id":3,"date":1,"chat":` + inGroup + `,"from":` + ours + `,` + fields + `}`
}

// The files of a message that is replied to come with the reply, and what that message was; also from another chat.
func TestQuotedFiles(t *testing.T) {
	for fields, c := range map[string]struct {
		what string
		file chat.Attachment
	}{
		`"photo":[{"file_id":"p","width":1,"height":1,"file_size":9}]`:                     {"a photo", chat.Attachment{Ref: "p", Name: "photo.jpg", Type: "image/jpeg", Size: 9}},
		`"voice":{"file_id":"v","duration":72,"mime_type":"audio/ogg"}`:                    {"a voice message 1:12", chat.Attachment{Ref: "v", Name: "voice.ogg", Type: "audio/ogg", Voice: true}},
		`"document":{"file_id":"d","file_name":"a.pdf","mime_type":"application/pdf"}`:     {"a file", chat.Attachment{Ref: "d", Name: "a.pdf", Type: "application/pdf"}},
		`"audio":{"file_id":"a","duration":7,"file_name":"b.mp3","mime_type":"audio/mp3"}`: {"an audio file 0:07", chat.Attachment{Ref: "a", Name: "b.mp3", Type: "audio/mp3"}},
		`"video_note":{"file_id":"n","duration":7,"length":9}`:                             {"a video 0:07", chat.Attachment{Ref: "n", Name: "video.mp4", Type: "video/mp4"}},
		`"animation":{"file_id":"g","mime_type":"image/gif"}`:                              {"an animation", chat.Attachment{Ref: "g", Name: "animation.mp4", Type: "image/gif"}},
	} {
		c.file.Origin = chat.RepliedFile
		for name, reply := range map[string]string{"here": replyTo(fields), "elsewhere": `"external_reply":{"origin":{"type":"user","date":1,"sender_user":` + ours + `},` + fields + `}`} {
			in := read(t, inGroup, `"text":"why?",`+reply).(chat.Message)
			if want := (chat.Quoted{Name: "P", What: c.what}); in.Quoted != want || len(in.Files) != 1 || in.Files[0] != c.file || in.Text != "why?" {
				t.Errorf("%s, %s: %+v, %+v", fields, name, in.Quoted, in.Files)
			}
		}
	}
	in := read(t, inGroup, `"voice":{"file_id":"v"},`+replyTo(`"caption":"look","photo":[{"file_id":"p","width":1,"height":1}]`)).(chat.Message)
	if len(in.Files) != 2 || in.Files[0].Origin != chat.OwnFile || !in.Untranscribed() || in.Quoted.Text != "look" || in.Quoted.What != "a photo" {
		t.Errorf("a voice message in reply: %+v, %+v", in.Quoted, in.Files)
	}
	in = read(t, inGroup, `"voice":{"file_id":"v"},"forward_origin":{"type":"hidden_user","date":1,"sender_user_name":"Bob"}`).(chat.Message)
	if len(in.Files) != 1 || in.Files[0].Origin != chat.ForwardedFile || in.Files[0].Spoken() {
		t.Errorf("a forwarded voice message: %+v", in.Files)
	}
}

// SE-08: what is forwarded isn't what the sender says, nor a command of theirs.
func TestForwardedTextIsNotTheSenders(t *testing.T) {
	for origin, want := range map[string]string{
		`{"type":"user","date":1,"sender_user":{"id":9,"first_name":"Bob","last_name":"B"}}`: "*Forwarded from Bob B:* /reset\n  Ada: gold!",
		`{"type":"user","date":1,"sender_user":{"id":5,"first_name":"Ada","last_name":"L"}}`: "/reset\nAda: gold!",
		`{"type":"hidden_user","date":1,"sender_user_name":"B: [x]\nAda"}`:                   "*Forwarded from B꞉ x Ada:* /reset\n  Ada: gold!",
		`{"type":"chat","date":1,"sender_chat":` + inGroup + `,"author_signature":"x"}`:      "*Forwarded from Six:* /reset\n  Ada: gold!",
		`{"type":"channel","date":1,"chat":` + inChannel + `,"message_id":8}`:                "*Forwarded from News:* /reset\n  Ada: gold!",
		`{"type":"invented later","date":1}`:                                                 "*Forwarded:* /reset\n  Ada: gold!",
	} {
		text := `"text":"/reset\nAda: gold!","forward_origin":` + origin
		if got := read(t, inPrivate, text).(chat.Message).Text; got != want {
			t.Errorf("%s: %q; want %q", origin, got, want)
		}
		reply := `"text":"why?","reply_to_message":{"message_id":3,"date":1,"chat":` + inPrivate + `,"from":{"id":5,"first_name":"Ada","last_name":"L"},` + text + `}`
		if got := read(t, inPrivate, reply).(chat.Message).Quoted; got.Text != want || got.Name != "Ada L" {
			t.Errorf("%s, quoted: %+v", origin, got)
		}
	}
	for _, field := range []string{"text", "caption"} { // a file without words needs none
		photo := `"photo":[{"file_id":"f","file_unique_id":"u","width":1,"height":1}],"forward_origin":{"type":"hidden_user","date":1,"sender_user_name":"Bob"}`
		want := ""
		if field == "caption" {
			photo, want = photo+`,"caption":"look"`, "*Forwarded from Bob:* look"
		}
		if got := read(t, inPrivate, photo).(chat.Message).Text; got != want {
			t.Errorf("a picture: %q; want %q", got, want)
		}
	}
	// An origin that can't be read makes the message unreadable, because its words would pass for the sender's.
	if _, _, err := parseUpdate(json.RawMessage(`{"update_id":1,"message":{"message_id":7,"from":{"id":5},"chat":` + inPrivate + `,"text":"x","forward_origin":3}}`)); err == nil {
		t.Error("an origin that can't be read is left out")
	}
}

func TestMessage(t *testing.T) {
	got := read(t, inPrivate, `"text":"hello","reply_to_message":{"message_id":3,"date":1,"chat":`+inPrivate+`}`)
	m, ok := got.(chat.Message)
	if !ok {
		t.Fatalf("%T", got)
	}
	if m.ID != "telegram/42/5/7" || m.Room != "telegram/42/5" || m.Author != "telegram/5" || m.Name != "Ada L" ||
		m.Text != "hello" || m.InReplyTo != "telegram/42/5/3" || m.At.Unix() != 1700000000 || m.Bot || m.Addressed {
		t.Errorf("%+v", m.Memory)
	}
	if m.Place.ID != m.Room || m.Place.Kind != chat.Direct || m.Place.Connector != "telegram" || m.Place.Name != "Ada L" {
		t.Errorf("%+v", m.Place)
	}
	if !slices.Equal(m.Place.Chats, []string{"5"}) {
		t.Errorf("chats %q", m.Place.Chats)
	}
	a := m.Address
	if a.Connector != "telegram" || a.Room != m.Room || a.ReplyTo != m.ID || len(a.ConnectorData) > chat.MaxOwn {
		t.Errorf("%+v", a)
	}
	if own, err := parseAddress(a.ConnectorData); err != nil || own != (address{Chat: 5, Message: 7, Kind: private}) {
		t.Errorf("%+v, %v", own, err)
	}
}

// TR-25: a topic is a room, General and chains of replies are not.
func TestTopicIsARoom(t *testing.T) {
	for name, c := range map[string]struct {
		chat, extra string
		room        chat.RoomID
		kind        chat.RoomKind
		topic       int
		reply       chat.MemoryID
	}{
		"private":               {inPrivate, ``, "telegram/42/5", chat.Direct, 0, ""},
		"private with topics":   {inPrivate, `"message_thread_id":9,"is_topic_message":true`, "telegram/42/5/9", chat.Direct, 9, ""},
		"private, first topic":  {inPrivate, `"message_thread_id":1,"is_topic_message":true`, "telegram/42/5/1", chat.Direct, 1, ""},
		"group":                 {inGroup, ``, "telegram/42/-6", chat.Group, 0, ""},
		"General":               {inForum, ``, "telegram/42/-100", chat.Forum, 0, ""},
		"General by its number": {inForum, `"message_thread_id":1,"is_topic_message":true`, "telegram/42/-100", chat.Forum, 0, ""},
		"reply in General":      {inForum, `"message_thread_id":55,"reply_to_message":{"message_id":55,"date":1,"chat":` + inForum + `}`, "telegram/42/-100", chat.Forum, 0, "telegram/42/-100/55"},
		"topic":                 {inForum, `"message_thread_id":9,"is_topic_message":true,"reply_to_message":{"message_id":9,"date":1,"chat":` + inForum + `}`, "telegram/42/-100/9", chat.Thread, 9, ""},
		"reply in a topic":      {inForum, `"message_thread_id":9,"is_topic_message":true,"reply_to_message":{"message_id":12,"date":1,"chat":` + inForum + `}`, "telegram/42/-100/9", chat.Thread, 9, "telegram/42/-100/12"},
		"chain in a supergroup": {`{"id":-101,"type":"supergroup","title":"S"}`, `"message_thread_id":9`, "telegram/42/-101", chat.Group, 0, ""},
		"channel":               {inChannel, `"from":null,"sender_chat":` + inChannel, "telegram/42/-200", chat.Feed, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			extra := `"text":"x"`
			if c.extra != "" {
				extra += "," + c.extra
			}
			m := read(t, c.chat, extra).(chat.Message)
			own, err := parseAddress(m.Address.ConnectorData)
			if err != nil || m.Room != c.room || m.Place.Kind != c.kind || own.Topic != c.topic || m.InReplyTo != c.reply {
				t.Errorf("room %s, %s, topic %d, reply to %q, %v", m.Room, m.Place.Kind, own.Topic, m.InReplyTo, err)
			}
		})
	}
}

// IN-15: no two places share a room, no two messages an id.
func TestNoCollisions(t *testing.T) {
	rooms, memories := map[chat.RoomID]bool{}, map[chat.MemoryID]bool{}
	for _, a := range []account{1, 12} {
		for _, chat := range []int64{2, -2, 23, -1002, 1} {
			for _, n := range []int{0, 1, 2, 3, 23} {
				if r := a.room(chat, n); rooms[r] {
					t.Errorf("room %s twice", r)
				} else {
					rooms[r] = true
				}
				if m := a.memory(chat, n); memories[m] {
					t.Errorf("memory %s twice", m)
				} else {
					memories[m] = true
				}
			}
		}
	}
	for _, extra := range []string{`"guest_query_id":"g"`, `"business_connection_id":"b"`} { // TR-29
		if in := read(t, inPrivate, `"text":"x",`+extra); in != nil {
			t.Errorf("%s became %+v", extra, in)
		}
	}
}

// TR-28, IN-05
func TestBots(t *testing.T) {
	for name, c := range map[string]struct {
		chat, extra string
		bot         bool
		author      chat.EntityID
	}{
		"person":             {inGroup, ``, false, "telegram/5"},
		"bot":                {inGroup, `"from":{"id":8,"is_bot":true,"first_name":"B"}`, true, "telegram/8"},
		"ourselves":          {inPrivate, `"from":` + ours, true, "telegram/42"},
		"ourselves unmarked": {inPrivate, `"from":{"id":42,"first_name":"P"}`, true, "telegram/42"},
		"inline result":      {inGroup, `"via_bot":{"id":8,"is_bot":true,"first_name":"B"}`, true, "telegram/5"},
		"business echo":      {inPrivate, `"sender_business_bot":` + ours, true, "telegram/5"},
		"as another chat":    {inGroup, `"sender_chat":` + inChannel, true, "telegram/-200"},
		"as a channel":       {inGroup, `"from":{"id":136817688,"is_bot":true,"first_name":"Channel"},"sender_chat":` + inChannel, true, "telegram/-200"},
		"linked channel":     {inGroup, `"from":{"id":777000,"first_name":"Telegram"},"is_automatic_forward":true,"sender_chat":` + inChannel, true, "telegram/-200"},
		"forward, no sender": {inGroup, `"is_automatic_forward":true`, true, "telegram/5"},
		"anonymous admin":    {inGroup, `"from":{"id":1087968824,"is_bot":true,"first_name":"Group"},"sender_chat":` + inGroup, false, "telegram/-6"},
		"in the name of it":  {inGroup, `"from":{"id":8,"is_bot":true,"first_name":"B"},"sender_chat":` + inGroup, true, "telegram/-6"},
		"of another group":   {inGroup, `"from":{"id":1087968824,"is_bot":true,"first_name":"Group"},"sender_chat":` + inForum, true, "telegram/-100"},
		"anonymous, inline":  {inGroup, `"from":{"id":1087968824,"is_bot":true},"via_bot":{"id":8,"is_bot":true},"sender_chat":` + inGroup, true, "telegram/-6"},
		"channel post":       {inChannel, `"from":null,"sender_chat":` + inChannel, true, "telegram/-200"},
		"no sender":          {inGroup, `"from":null`, true, "telegram/-6"},
	} {
		t.Run(name, func(t *testing.T) {
			extra := `"text":"/stop@parley_bot","entities":[{"type":"bot_command","offset":0,"length":16}]`
			if c.extra != "" {
				extra += "," + c.extra
			}
			switch in := read(t, c.chat, extra).(type) {
			case chat.Message:
				if in.Bot != c.bot || in.Author != c.author {
					t.Errorf("bot %t, author %s; want %t and %s", in.Bot, in.Author, c.bot, c.author)
				}
			}
		})
	}
}

// IN-14: only what the platform marks makes a message ours.
func TestOnlyMarkedMessagesAreAddressed(t *testing.T) {
	quote := func(kind string, from, length int) string {
		b, _ := json.Marshal(map[string]any{"type": kind, "offset": from, "length": length})
		return string(b)
	}
	reply := func(from, more string) string {
		return `,"reply_to_message":{"message_id":3,"date":1,"chat":` + inGroup + `,"from":` + from + more + `}`
	}
	for name, c := range map[string]struct {
		text, entities, more string
		want                 bool
	}{
		"nothing":             {"hello", ``, ``, false},
		"name without mark":   {"@parley_bot hello", ``, ``, false},
		"mention":             {"@parley_bot hello", quote("mention", 0, 11), ``, true},
		"any case":            {"hi @PARLEY_BOT", quote("mention", 3, 11), ``, true},
		"after emoji":         {"👩‍👩‍👧😀 @parley_bot", quote("mention", 11, 11), ``, true},
		"another user":        {"@parley_bot2 hello", quote("mention", 0, 12), ``, false},
		"longer than text":    {"@parley_bot", quote("mention", 0, 99), ``, false},
		"before the text":     {"@parley_bot", quote("mention", -1, 11), ``, false},
		"e-mail":              {"x@parley_bot.org", quote("email", 0, 16), ``, false},
		"link":                {"https://t.me/@parley_bot", quote("url", 0, 24), ``, false},
		"code":                {"@parley_bot", quote("code", 0, 11), ``, false},
		"mention in a quote":  {"@parley_bot said", quote("mention", 0, 11) + "," + quote("blockquote", 0, 16), ``, false},
		"below a quote":       {"x @parley_bot", quote("blockquote", 0, 1) + "," + quote("mention", 2, 11), ``, true},
		"by number":           {"Parley, hi", `{"type":"text_mention","offset":0,"length":6,"user":` + ours + `}`, ``, true},
		"another by number":   {"Parley, hi", `{"type":"text_mention","offset":0,"length":6,"user":{"id":9,"first_name":"P"}}`, ``, false},
		"command for us":      {"/help@parley_bot", quote("bot_command", 0, 16), ``, true},
		"command for another": {"/help@other_bot", quote("bot_command", 0, 15), ``, false},
		"command for anybody": {"/help", quote("bot_command", 0, 5), ``, false},
		"reply to us":         {"yes", ``, reply(ours, ``), true},
		"reply to another":    {"yes", ``, reply(`{"id":8,"is_bot":true,"first_name":"B"}`, ``), false},
		"reply to our topic":  {"yes", ``, `,"message_thread_id":3,"is_topic_message":true` + reply(ours, ``), false},
	} {
		t.Run(name, func(t *testing.T) {
			text, _ := json.Marshal(c.text)
			for _, fields := range [][2]string{{"text", "entities"}, {"caption", "caption_entities"}} {
				m := read(t, inGroup, `"`+fields[0]+`":`+string(text)+`,"`+fields[1]+`":[`+c.entities+`]`+c.more).(chat.Message)
				if m.Addressed != c.want || m.Text != strings.TrimSuffix(c.text, "@parley_bot") && m.Text != c.text {
					t.Errorf("%s: addressed %t, text %q", fields[0], m.Addressed, m.Text)
				}
			}
		})
	}
}

// A command that names us is one; who names another bot speaks to that.
func TestCommands(t *testing.T) {
	toUs := `,"reply_to_message":{"message_id":3,"date":1,"chat":` + inGroup + `,"from":` + ours + `}`
	for _, c := range []struct {
		chat, text string
		length     int
		more       string
		want       string
		addressed  bool
	}{
		{inPrivate, "/stop", 5, ``, "/stop", false},
		{inPrivate, "/STOP now", 5, ``, "/STOP now", false},
		{inPrivate, "/stop@parley_bot", 16, ``, "/stop", true},
		{inPrivate, "/stop@other", 11, ``, "/stop@other", false},
		{inPrivate, "/start payload", 6, ``, "/start payload", false},
		{inGroup, "/stop", 5, ``, "/stop", false},
		{inGroup, "/stop", 5, toUs, "/stop", true},
		{inGroup, "/stop@Parley_bot now", 16, ``, "/stop now", true},
		{inGroup, "/stop@other", 11, toUs, "/stop@other", true},
	} {
		entities, _ := json.Marshal([]map[string]any{{"type": "bot_command", "offset": 0, "length": c.length}})
		in := read(t, c.chat, `"text":"`+c.text+`","entities":`+string(entities)+c.more)
		if in := in.(chat.Message); in.Text != c.want || in.Addressed != c.addressed {
			t.Errorf("%s: %q, addressed %t; want %q and %t", c.text, in.Text, in.Addressed, c.want, c.addressed)
		}
	}
	if in := read(t, inGroup, `"text":"@parley_bot /stop","entities":[{"type":"mention","offset":0,"length":11}]`).(chat.Message); in.Text != "/stop" || !in.Addressed {
		t.Errorf("%+v", in)
	}
	if in := read(t, inPrivate, `"text":"say /stop","entities":[{"type":"bot_command","offset":4,"length":5}]`); in.(chat.Message).Text != "say /stop" {
		t.Errorf("%+v", in)
	}
}

func TestNothingSaid(t *testing.T) {
	for _, extra := range []string{``, `"photo":[]`, `"migrate_to_chat_id":-9`, `"rich_message":{"blocks":[]}`} {
		if in := read(t, inGroup, extra); in != nil {
			t.Errorf("%s became %+v", extra, in)
		}
	}
	for _, n := range notices {
		if strings.HasPrefix(n.field, "migrate_") { // numbers
			continue
		}
		if in, ok := read(t, inPrivate, `"`+n.field+`":{}`).(chat.Message); ok != (n.words != "") || ok && !in.Remark {
			t.Errorf("%s became %+v", n.field, in)
		}
	}
}

func FuzzInbound(f *testing.F) {
	f.Add([]byte(`{"update_id":1,"message":{"message_id":7,"chat":` + inForum + `,"text":"@parley_bot","entities":[{"type":"mention","offset":0,"length":11}]}}`))
	f.Add([]byte(`{"message":{"text":"/stop","entities":[{"type":"bot_command","offset":0,"length":9223372036854775807}],"chat":{}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		u, _, err := parseUpdate(raw)
		if err != nil || u.Message == nil || u.newer.Message == nil {
			return
		}
		in := self{account: us, username: "parley_bot"}.inbound(u.Message, u.newer.Message, newMoves(us, nil).first)
		if m, ok := in.(chat.Message); ok && (m.ID == "" || len(m.Address.ConnectorData) > chat.MaxOwn) {
			t.Errorf("%+v", m)
		}
	})
}

// The fake's own messages, as they come over the wire.
func TestOverTheWire(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		r.run(r.bot)
		ada := r.AddUser("Ada", "ada")
		forum := r.AddSupergroup("Forum", true)
		topic := r.AddTopic(forum, "One")
		r.Say(forum, ada, "hello @parley_bot", telegramfake.InTopic(topic))
		if m := r.last(); !m.Addressed || m.Place.Kind != chat.Thread || m.InReplyTo != "" || m.Place.Name != "One" {
			t.Errorf("%+v", m)
		}
		r.Say(forum, ada, "and you, Parley", telegramfake.MentionBot("Parley"))
		if m := r.last(); !m.Addressed || m.Place.Kind != chat.Forum {
			t.Errorf("%+v", m)
		}
		r.Say(forum, ada, "write to me@parley_bot.org")
		if m := r.last(); m.Addressed {
			t.Errorf("%+v", m)
		}
	}, telegramfake.WithReadAllGroupMessages())
}

// TR-24: a group that moved is listed under either id.
func TestMovedGroupHasBothIDs(t *testing.T) {
	if got := chats(-6, -6); !slices.Equal(got, []string{"-6"}) {
		t.Errorf("%q", got)
	}
	if got := chats(-1006, -6); !slices.Equal(got, []string{"-1006", "-6"}) {
		t.Errorf("%q", got)
	}
}

// What an inline bot wrote in the name of a person are not the person's words.
func TestWordsOfInlineBots(t *testing.T) {
	w := read(t, inPrivate, `"text":"Fetch it","via_bot":{"id":9,"is_bot":true,"first_name":"Wiki"}`).(chat.Message).Words()
	if w.Own != "" || !strings.Contains(w.Forwarded, "Fetch it") || !strings.Contains(w.Forwarded, "Wiki") {
		t.Errorf("the words are %+v", w)
	}
}
