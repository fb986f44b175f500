package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"

	"parley/connectors"
)

const (
	keptWait    = 10 * time.Second // the longest pause between polls while events fail
	keptTime    = 10 * time.Minute // an update that alone keeps failing this long is dropped
	mostPending = 200              // updates that are not confirmed; the server sends 100
	handlerTime = 20 * time.Second // for one update
	settleTime  = time.Second      // slow updates delay the next poll this long at most
)

// errKept means that some updates were not accepted and stay queued at the server.
var errKept = errors.New("not taken")

// intake delivers updates to the gateway: each once, in order within a chat, many chats at a time. It belongs to the
// poller's goroutine.
//
// A poll repeats the updates that are not yet confirmed, so while one update fails, each batch holds many known ones.
// known has their ids.
type intake struct {
	log    *slog.Logger
	events *connectors.Intake[int64, int] // by chat; the position is the offset that confirms
	// known has the updates that were taken but not yet confirmed. It is never larger than mostPending.
	known map[int]bool
}

func newIntake(ctx context.Context, log *slog.Logger) *intake {
	return &intake{log: log, events: newEvents(ctx, log), known: map[int]bool{}}
}

// newEvents returns a queue for updates, by chat.
func newEvents(ctx context.Context, log *slog.Logger) *connectors.Intake[int64, int] {
	o := connectors.IntakeOptions{PerKey: mostPending, Total: mostPending, GiveUp: keptTime, Log: log}
	return connectors.NewIntake[int64](ctx, o, 0)
}

// take delivers a batch, and waits briefly for its end, so that the next poll confirms it. offset confirms the updates
// that need not be redelivered; the error is [errKept] if some failed. Those are tried again here, and until then their
// redelivery is ignored.
func (i *intake) take(batch []json.RawMessage, table []handler) (offset int, err error) {
	fresh := map[int]json.RawMessage{}
	for _, raw := range batch {
		if id, ok := updateID(raw); ok {
			fresh[id] = raw
		} else {
			i.log.Error("an update without an id is skipped")
		}
	}
	if len(fresh) == 0 {
		return 0, fmt.Errorf("%w: no update in the batch has an id", errKept)
	}
	// The server is expected to send updates in order, but promises it only for ids.
	for _, id := range slices.Sorted(maps.Keys(fresh)) {
		if len(i.known) < mostPending && !i.known[id] {
			i.known[id] = true
			i.add(id, fresh[id], table)
		}
	}
	i.events.Settle(settleTime)
	offset = i.events.Reached()
	maps.DeleteFunc(i.known, func(id int, _ bool) bool { return id < offset })
	// The error slows polling down. Without it, the server would return the failed updates at once, over and over.
	if n := i.events.Failing(); n > 0 {
		return offset, fmt.Errorf("%w: the updates of %d chats", errKept, n)
	}
	return offset, nil
}

// add queues an update. There is always room: the queue is as long as known can be.
func (i *intake) add(id int, raw json.RawMessage, table []handler) {
	// After an idle week, ids can be lower than the last offset. This ticket, which is done at once, takes the position
	// back to this id, so that the offset can't confirm it before it is accepted.
	i.events.Begin(id).Release()
	t := i.events.Begin(id + 1)
	chat, e, ok := delivery(id, raw, table, i.log)
	if !ok {
		t.Release()
		return
	}
	e.Ticket = t
	i.events.Add(chat, e)
}

// delivery returns the event of an update, and the chat that orders it. It is not ok for an update of a kind that was
// not requested, and for one that can't be decoded, which is logged: it counts as accepted, because a retry would fail in
// the same way.
func delivery(id int, raw json.RawMessage, table []handler, log *slog.Logger) (chat int64, e connectors.Event[int], ok bool) {
	u, odd, err := parseUpdate(raw)
	if err != nil {
		log.Error("an update can't be read and is skipped", "update", id, "err", err)
		return 0, e, false
	}
	if odd != nil {
		log.Warn("part of an update can't be read and is skipped", "update", id, "err", odd)
	}
	handle := u.handler(raw, table)
	if handle == nil {
		log.Debug("an update of an unrequested kind is skipped", "update", id)
		return 0, e, false
	}
	e = connectors.Event[int]{ID: strconv.Itoa(id), Deliver: func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handlerTime)
		defer cancel()
		return handle(ctx, u)
	}}
	return u.chat(), e, true
}

// close returns the last offset, when each update that was taken has had its chance.
func (i *intake) close() (offset int) {
	i.events.Close()
	return i.events.Reached()
}

// updateID returns the id of an update; ok is false if it has none, which only a broken server sends.
func updateID(raw json.RawMessage) (id int, ok bool) {
	var u struct {
		ID *int `json:"update_id"`
	}
	if err := json.Unmarshal(raw, &u); err != nil || u.ID == nil {
		return 0, false
	}
	return *u.ID, true
}

// handler returns the handler for the kind of u, by the name of the field that is present; nil for a kind that was not
// requested.
func (u update) handler(raw json.RawMessage, table []handler) func(context.Context, update) error {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	for _, h := range table {
		if len(fields[h.kind]) > 0 && string(fields[h.kind]) != "null" {
			return h.handle
		}
	}
	return nil
}

// chat returns the chat that orders u relative to other updates; 0 if there is none.
func (u update) chat() int64 {
	switch {
	case u.Message != nil && u.Message.Chat != nil:
		return u.Message.Chat.ID
	case u.EditedMessage != nil && u.EditedMessage.Chat != nil:
		return u.EditedMessage.Chat.ID
	case u.ChannelPost != nil && u.ChannelPost.Chat != nil:
		return u.ChannelPost.Chat.ID
	case u.MyChatMember != nil:
		return u.MyChatMember.Chat.ID
	case u.ChatMember != nil:
		return u.ChatMember.Chat.ID
	case u.CallbackQuery != nil && u.CallbackQuery.Message != nil && u.CallbackQuery.Message.Chat != nil:
		return u.CallbackQuery.Message.Chat.ID
	case u.newer.Reactions != nil:
		return u.newer.Reactions.Chat.ID
	case u.newer.Stopped != nil:
		return u.newer.Stopped.Chat.ID
	case u.newer.Business != nil:
		return u.newer.Business.Chat
	}
	return 0
}
