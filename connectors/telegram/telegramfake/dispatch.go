package telegramfake

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"
	"time"
)

// method is one row of the table: what it takes, what it costs, what it does.
type method struct {
	params  map[string]kind
	charged bool // needs a chat that can be written to, and spends its budget
	run     func(*call) (any, error)
	wait    func(context.Context, *call) (any, error) // instead of run, without the lock
}

func (s *Server) table() map[string]method {
	send := map[string]kind{
		"chat_id": isChat, "message_thread_id": isInt, "text": isString, "parse_mode": isString, "entities": isArray,
		"link_preview_options": isObject, "disable_notification": isBool, "protect_content": isBool,
		"reply_parameters": isObject, "reply_markup": isObject, "ephemeral_message_parameters": isObject,
	}
	edit := map[string]kind{
		"chat_id": isChat, "message_id": isInt, "text": isString, "parse_mode": isString, "entities": isArray,
		"link_preview_options": isObject, "reply_markup": isObject, "rich_message": isObject,
	}
	photo := map[string]kind{
		"chat_id": isChat, "message_thread_id": isInt, "photo": isString, "disable_notification": isBool, "caption": isString, "parse_mode": isString, "reply_parameters": isObject,
		"ephemeral_message_parameters": isObject,
	}
	audio, document, voice := renamed(photo, "audio"), renamed(photo, "document"), renamed(photo, "voice")
	media := map[string]kind{"chat_id": isChat, "message_id": isInt, "media": isObject, "reply_markup": isObject}
	poll := map[string]kind{"offset": isInt, "limit": isInt, "timeout": isInt, "allowed_updates": isArray}
	hook := map[string]kind{
		"url": isString, "ip_address": isString, "max_connections": isInt, "allowed_updates": isArray,
		"drop_pending_updates": isBool, "secret_token": isString,
	}
	action := map[string]kind{"chat_id": isChat, "message_thread_id": isInt, "action": isString}
	draft := map[string]kind{
		"chat_id": isChat, "message_thread_id": isInt, "draft_id": isInt, "text": isString, "parse_mode": isString,
		"entities": isArray, "can_stop": isBool, "keep_on_stop": isBool,
	}
	answer := map[string]kind{
		"callback_query_id": isString, "text": isString, "show_alert": isBool, "url": isString, "cache_time": isInt,
	}
	whispered := func(of map[string]kind) map[string]kind {
		of = maps.Clone(of)
		delete(of, "message_id")
		of["receiver_user_id"], of["ephemeral_message_id"] = isInt, isInt
		return of
	}
	remove := map[string]kind{"chat_id": isChat, "message_id": isInt}
	scope := map[string]kind{"scope": isObject, "language_code": isString}
	setScope := map[string]kind{"commands": isArray, "scope": isObject, "language_code": isString}
	return map[string]method{
		"getMe":                 {run: s.getMe},
		"getFile":               {params: map[string]kind{"file_id": isString}, run: s.getFile},
		"getUpdates":            {params: poll, wait: s.getUpdates},
		"setWebhook":            {params: hook, run: s.setWebhook},
		"deleteWebhook":         {params: map[string]kind{"drop_pending_updates": isBool}, run: s.deleteWebhook},
		"getWebhookInfo":        {run: s.getWebhookInfo},
		"setMyCommands":         {params: setScope, run: s.setMyCommands},
		"getMyCommands":         {params: scope, run: s.getMyCommands},
		"getMyDescription":      {params: map[string]kind{"language_code": isString}, run: s.getProfile("description")},
		"setMyDescription":      {params: map[string]kind{"description": isString, "language_code": isString}, run: s.setProfile("description", 512)},
		"getMyShortDescription": {params: map[string]kind{"language_code": isString}, run: s.getProfile("short_description")},
		"setMyShortDescription": {params: map[string]kind{"short_description": isString, "language_code": isString}, run: s.setProfile("short_description", 120)},
		"getChat":               {params: map[string]kind{"chat_id": isChat}, run: s.getChat},
		"answerCallbackQuery":   {params: answer, run: s.answerCallbackQuery},
		"sendMessage":           {params: send, charged: true, run: s.sendMessage},
		"sendPhoto":             {params: photo, charged: true, run: s.sendFile},
		"sendAudio":             {params: audio, charged: true, run: s.sendFile},
		"sendDocument":          {params: document, charged: true, run: s.sendFile},
		"editMessageText":       {params: edit, charged: true, run: s.editMessageText},
		"editMessageMedia":      {params: media, charged: true, run: s.editMessageMedia},
		"deleteMessage":         {params: remove, charged: true, run: s.deleteMessage},
		"createForumTopic":      {params: map[string]kind{"chat_id": isChat, "name": isString}, charged: true, run: s.createTopic},
		"editForumTopic":        {params: map[string]kind{"chat_id": isChat, "message_thread_id": isInt, "name": isString}, charged: true, run: s.editTopic},
		"sendMessageDraft":      {params: draft, charged: true, run: s.sendMessageDraft},
		"sendRichMessage":       {params: richly(send), charged: true, run: s.sendMessage},
		"sendRichMessageDraft":  {params: richly(draft), charged: true, run: s.sendMessageDraft},
		"sendChatAction":        {params: action, charged: true, run: s.sendChatAction},
		"setMessageReaction":    {params: map[string]kind{"chat_id": isChat, "message_id": isInt, "reaction": isArray, "is_big": isBool}, charged: true, run: s.setMessageReaction},

		"sendVoice":                 {params: voice, charged: true, run: s.sendFile},
		"editEphemeralMessageText":  {params: whispered(edit), charged: true, run: s.ephemeral(s.editMessageText)},
		"editEphemeralMessageMedia": {params: whispered(media), charged: true, run: s.ephemeral(s.editMessageMedia)},
		"deleteEphemeralMessage":    {params: whispered(remove), charged: true, run: s.ephemeral(s.deleteMessage)},
	}
}

// renamed returns the parameters for another kind of file than a photo.
func renamed(photo map[string]kind, name string) map[string]kind {
	of := maps.Clone(photo)
	delete(of, "photo")
	of[name] = isString
	return of
}

// richly returns the parameters of a text as those of a rich message.
func richly(of map[string]kind) map[string]kind {
	of = maps.Clone(of)
	for _, name := range []string{"text", "parse_mode", "entities", "link_preview_options"} {
		delete(of, name)
	}
	of["rich_message"] = isObject
	return of
}

// open puts a request into the log and finds the fault that waits for it.
func (s *Server) open(host, name string, params map[string]string) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &call{name: name, params: params}
	for known, m := range s.methods {
		if strings.EqualFold(known, name) { // the server does not mind the case
			c.name, c.method = known, m
		}
	}
	c.log = &Request{At: time.Now(), Host: host, Method: c.name, Params: params}
	if ch := s.find(params["chat_id"]); ch != nil {
		c.log.Chat = ch.ID
		c.log.Early = c.method.charged && s.held(ch)
	}
	s.log = append(s.log, c.log)
	c.fault = s.faultFor(c)
	return c
}

// run does what the method does.
func (s *Server) run(ctx context.Context, c *call) (any, error) {
	if c.method.run == nil && c.method.wait == nil {
		return nil, &apiError{code: 404, text: "Not Found: method not found"}
	}
	if err := s.check(c); err != nil {
		return nil, s.reject(c, err)
	}
	if c.method.wait != nil {
		return c.method.wait(ctx, c)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.method.charged {
		if err := s.admit(c); err != nil {
			return nil, err
		}
	}
	return c.method.run(c)
}

// admit finds the chat, charges it, and lets a parse fault speak.
func (s *Server) admit(c *call) error {
	ch, err := s.writable(c.params["chat_id"])
	if err != nil {
		return err
	}
	if wait := s.charge(ch); wait > 0 {
		return tooMany(wait)
	}
	c.chat = ch
	if c.fault.ParseError {
		return badRequest("can't parse entities: Unsupported start tag \"fault\" at byte offset 0")
	}
	return nil
}

// close records how a request ended and makes its answer.
func (s *Server) close(c *call, result any, err error) response {
	resp := success(result)
	if err != nil {
		resp = refusal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.log.Ended, c.log.Status, c.log.Applied = time.Now(), resp.status, err == nil
	if e := (*apiError)(nil); errors.As(err, &e) {
		c.log.Description, c.log.RetryAfter = e.text, e.retryAfter
	}
	return resp
}

// stranger logs a request with a wrong or revoked token, without the token.
func (s *Server) stranger(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, &Request{At: time.Now(), Ended: time.Now(), Method: name, Status: 401, Description: "Unauthorized"})
}

func (c *call) int(name string) int {
	n, _ := strconv.Atoi(c.params[name]) // checked before; absent is zero
	return n
}
