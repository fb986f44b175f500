package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"time"

	"parley/connectors/telegram/telegramfake"
)

// chats are people in private chats with the bot on Telegram.
type chats struct {
	fake   *telegramfake.Server
	server *httptest.Server
	users  []telegramfake.User
	chats  []telegramfake.Chat
	ended  map[string]chan struct{} // by chat: a message with the last words was shown
}

func newChats(people int) *chats {
	c := &chats{fake: telegramfake.New(telegramfake.WithoutFlood()), ended: map[string]chan struct{}{}}
	for i := range people {
		u := c.fake.AddUser(fmt.Sprint("Ada ", i), "")
		chat := c.fake.AddPrivate(u)
		c.users, c.chats = append(c.users, u), append(c.chats, chat)
		c.ended[strconv.FormatInt(chat.ID, 10)] = make(chan struct{}, 1)
	}
	c.server = httptest.NewServer(c)
	return c
}

// ServeHTTP is Telegram's API.
func (c *chats) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	c.fake.ServeHTTP(w, r)
	form, err := url.ParseQuery(string(body))
	if err != nil || !strings.HasSuffix(form.Get("text"), ending) {
		return
	}
	select {
	case c.ended[form.Get("chat_id")] <- struct{}{}:
	default: // shown again
	}
}

// ask asks in a chat, and returns how long it took until the whole reply was shown.
func (c *chats) ask(ctx context.Context, person int, text string) (time.Duration, error) {
	begun := time.Now()
	c.fake.Say(c.chats[person], c.users[person], text)
	select {
	case <-c.ended[strconv.FormatInt(c.chats[person].ID, 10)]:
		return time.Since(begun), nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	case <-time.After(time.Minute):
		return 0, errors.New("no reply on Telegram for a minute")
	}
}
