package telegramfake_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/connectors/telegram/telegramfake"
	"parley/internal/require"
)

// loopback serves on a real socket.
func loopback(t *testing.T, opts ...telegramfake.Option) (*telegramfake.Server, string) {
	s := telegramfake.New(opts...)
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return s, srv.URL
}

func read(t *testing.T, resp *http.Response, err error) answer {
	t.Helper()
	require.NoError(t, err)
	defer resp.Body.Close()
	data := require.Value(io.ReadAll(resp.Body))(t)
	a := answer{Status: resp.StatusCode, RetryHeader: resp.Header.Get("Retry-After")}
	if err := json.Unmarshal(data, &a); err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	return a
}

func TestEveryBodyIsRead(t *testing.T) {
	s, base := loopback(t)
	chat := s.AddPrivate(s.AddUser("Ann", "ann"))
	to := base + "/bot" + s.Token() + "/sendMessage"
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	for k, v := range map[string]string{"chat_id": number(chat.ID), "text": "multipart"} {
		require.NoError(t, w.WriteField(k, v))
	}
	w.Close()
	post := func(kind, body string) answer {
		resp, err := http.Post(to, kind, strings.NewReader(body))
		return read(t, resp, err)
	}
	id := number(chat.ID)
	post("application/x-www-form-urlencoded", url.Values{"chat_id": {id}, "text": {"form & <co>"}}.Encode())
	post(w.FormDataContentType(), form.String())
	post("application/json", `{"chat_id":`+id+`,"text":"json","link_preview_options":{"is_disabled":true}}`)
	resp, err := http.Get(to + "?chat_id=" + id + "&text=query")
	read(t, resp, err)
	var got []string
	for _, m := range s.Messages(chat) {
		got = append(got, m.Text)
	}
	if strings.Join(got, ",") != "form & <co>,multipart,json,query" {
		t.Errorf("got %q, rejected %+v", got, s.Rejected())
	}
	if a := post("application/json", `{"chat_id":`); a.Status != 400 || len(s.Rejected()) != 1 {
		t.Errorf("broken JSON: %+v", a)
	}
}

func TestTokensAndMethods(t *testing.T) {
	s, base := loopback(t)
	for path, want := range map[string]string{
		"/bot" + s.Token() + "/getMe":          "",
		"/bot" + s.Token() + "/GETME":          "",
		"/bot" + s.Token() + "x/getMe":         "Unauthorized",
		"/bot1:AAAAAAAAAAAAAAAAAAAAAAAA/getMe": "Unauthorized",
		"/botnonsense/getMe":                   "Not Found",
		"/getMe":                               "Not Found",
		"/bot" + s.Token() + "/sendTelepathy":  "Not Found: method not found",
		"/bot" + s.Token() + "/sendPaidMedia":  "Not Found: method not found",
	} {
		resp, err := http.Get(base + path)
		a := read(t, resp, err)
		status := map[string]int{"": 200, "Unauthorized": 401}[want]
		if status == 0 {
			status = 404
		}
		if a.Status != status || a.Description != want || a.ErrorCode != status && want != "" {
			t.Errorf("%s: %+v", path, a)
		}
	}
	s.Revoke()
	resp, err := http.Get(base + "/bot" + s.Token() + "/getMe")
	if a := read(t, resp, err); a.Status != 401 {
		t.Errorf("after the revocation: %+v", a)
	}
	for _, r := range s.Log() {
		if strings.Contains(r.Description, s.Token()) { // I9
			t.Errorf("the log holds the token: %+v", r)
		}
	}
}

// The client library that the connector is built on reads all of it.
func TestWithTheClientLibrary(t *testing.T) {
	s, base := loopback(t)
	client := &tgbotapi.BotAPI{Token: s.Token(), Client: http.DefaultClient, Buffer: 100}
	client.SetAPIEndpoint(base + "/bot%s/%s")
	me, err := client.GetMe()
	if err != nil || me.UserName != s.Bot().Username || me.ID != s.Bot().ID || me.CanReadAllGroupMessages {
		t.Fatalf("getMe: %+v, %v", me, err)
	}
	ann := s.AddUser("Ann", "ann")
	chat, old := s.AddPrivate(ann), s.AddGroup("g")
	s.Say(chat, ann, "/start hi")
	resp := require.Value(client.MakeRequest("getUpdates", tgbotapi.Params{"timeout": "0", "allowed_updates": `["message","my_chat_member"]`}))(t)
	var updates []tgbotapi.Update
	if err := json.Unmarshal(resp.Result, &updates); err != nil || len(updates) != 1 {
		t.Fatalf("updates %s: %v", resp.Result, err)
	}
	if m := updates[0].Message; !m.IsCommand() || m.Command() != "start" || m.Chat.ID != chat.ID || m.From.UserName != "ann" {
		t.Errorf("message: %+v", m)
	}
	resp, err = client.MakeRequest("sendMessage", tgbotapi.Params{
		"chat_id": number(chat.ID), "text": "<b>hi</b>", "parse_mode": "HTML",
		"reply_parameters":     `{"message_id":` + number(int64(updates[0].Message.MessageID)) + `}`,
		"link_preview_options": `{"is_disabled":true}`,
	})
	var sent tgbotapi.Message
	if err != nil || json.Unmarshal(resp.Result, &sent) != nil || sent.Text != "hi" || sent.ReplyToMessage == nil || sent.Entities[0].Type != "bold" {
		t.Errorf("sent %+v, %v", sent, err)
	}
	fails := func(method string, p tgbotapi.Params) *tgbotapi.Error {
		_, err := client.MakeRequest(method, p)
		var e *tgbotapi.Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v", method, err)
		}
		return e
	}
	next := s.Migrate(old)
	if e := fails("sendMessage", tgbotapi.Params{"chat_id": number(old.ID), "text": "x"}); e.Code != 400 || e.MigrateToChatID != next.ID {
		t.Errorf("migration: %+v", e)
	}
	s.Fault(telegramfake.Fault{Method: "editMessageText", RetryAfter: 33})
	edit := tgbotapi.Params{"chat_id": number(chat.ID), "message_id": number(int64(sent.MessageID)), "text": "x"}
	if e := fails("editMessageText", edit); e.Code != 429 || e.RetryAfter != 33 {
		t.Errorf("429: %+v", e)
	}
	s.Fault(telegramfake.Fault{Status: 502})
	if _, err := client.MakeRequest("getMe", nil); err == nil || !strings.Contains(err.Error(), "invalid character '<'") {
		t.Errorf("proxy page: %v", err)
	}
	if r := s.Rejected(); len(r) != 0 {
		t.Errorf("rejected: %+v; want none", r)
	}
}

// What correct clients send passes the specification's check.
func TestRequestsFollowTheSpecification(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		chat := b.AddPrivate(b.AddUser("Ann", "ann"))
		id := b.ok("sendMessage", params{
			"chat_id": chat.ID, "text": "123", "parse_mode": "HTML", "link_preview_options": params{"is_disabled": true},
			"reply_parameters": params{"message_id": 1, "allow_sending_without_reply": true},
			"reply_markup":     params{"inline_keyboard": [][]params{{{"text": "a", "callback_data": "b"}}}},
		}).message(t).ID
		b.ok("editMessageText", params{"chat_id": "100001", "message_id": id, "text": "4", "entities": []params{{"type": "bold", "offset": 0, "length": 1}}})
		b.updates(params{"timeout": 1, "allowed_updates": []string{"message"}})
		b.ok("setMyCommands", params{"commands": []params{{"command": "a", "description": "b"}}, "scope": params{"type": "all_group_chats"}})
		b.clean()
		b.refused(400, `Bad Request: specification: sendMessage: "text" is required`, "sendMessage", params{"chat_id": chat.ID})
		b.call("sendMessage", params{"chat_id": chat.ID, "text": "x", "reply_markup": params{"inline_keyboard": []params{{"text": "a"}}}})
		b.call("sendMessage", params{"chat_id": chat.ID, "text": "x", "reply_markup": params{"inline_keyboard": [][]params{{{"text": "a", "data": "b"}}}}})
		if n := len(b.Rejected()); n != 3 {
			t.Errorf("%d rejected: %+v; want 3", n, b.Rejected())
		}
	}, telegramfake.WithSpec(loadSpec(t)))
}

func TestConcurrentUse(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		ann := b.AddUser("Ann", "ann")
		chat := b.AddPrivate(ann)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 20 {
					m := b.Say(chat, ann, "hi")
					b.send(chat, "ho")
					b.UserEdit(m, "hi!")
					b.updates(params{"timeout": 1, "limit": 3})
					b.Messages(chat)
					b.Log()
				}
			})
		}
		wg.Wait()
		if n := len(b.Messages(chat)); n != 320 {
			t.Errorf("%d messages; want 320", n)
		}
		b.clean()
	}, telegramfake.WithoutFlood())
}

// The specification has the newest fields with the file of CI (Bot API 10.1) as with a newer one, and the fake knows every kind of update.
func TestSpecificationIsCurrent(t *testing.T) {
	spec := loadSpec(t)
	for typ, value := range map[string]string{
		"Update":               `{"update_id":1,"stopped_message_generation":{"chat":{"id":1,"type":"private"},"draft_id":7}}`,
		"InlineKeyboardMarkup": `{"inline_keyboard":[[{"text":"Yes","style":"success","disabled":{}}]],"force_reply":true}`,
		"BotCommand":           `{"command":"help","description":"Help","is_ephemeral":true}`,
		"InputRichMessage":     `{"blocks":[{"type":"divider"}]}`,
	} {
		require.NoError(t, spec.CheckValue(typ, json.RawMessage(value)))
	}
	require.NoError(t, spec.Check("sendMessageDraft", map[string]string{"chat_id": "1", "draft_id": "7", "text": "Hi", "can_stop": "true"}))
	if spec.Check("sendMessageDraft", map[string]string{"chat_id": "1", "draft_id": "7", "no_such": "true"}) == nil {
		t.Error("an unknown parameter was accepted")
	}
	kinds := slices.Sorted(maps.Keys(spec.Fields("Update")))
	kinds = slices.DeleteFunc(kinds, func(name string) bool { return name == "update_id" })
	bubble(t, func(_ *testing.T, b *bot) { b.ok("getUpdates", params{"allowed_updates": kinds}) })
}
