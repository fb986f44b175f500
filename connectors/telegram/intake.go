package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"parley/connectors"
	"parley/core/chat"
)

const (
	keptWait = 10 * time.Second // the longest pause between delivery attempts
	keptTime = 10 * time.Minute // after which an update that alone keeps failing is dropped
)

// errKept means that some updates were not accepted and stay queued at the server.
var errKept = errors.New("not taken")

// intake delivers updates to the gateway, each once and in order within a room. An update that is not accepted blocks
// its room, and the offset, while other rooms continue. If all the others were accepted meanwhile, it is dropped after
// keptTime.
type intake struct {
	h    connectors.Handler
	log  *slog.Logger
	done map[int]bool           // accepted, not yet confirmed to the server
	kept map[int]*pendingUpdate // not accepted, by update id
}

type pendingUpdate struct {
	since  time.Time
	others bool // others were accepted meanwhile
}

func newIntake(h connectors.Handler, log *slog.Logger) *intake {
	return &intake{h: h, log: log, done: map[int]bool{}, kept: map[int]*pendingUpdate{}}
}

// take delivers a batch. offset confirms the updates that need not be redelivered; the error is [errKept] if some must
// be.
func (i *intake) take(ctx context.Context, batch []json.RawMessage, table []handler) (offset int, err error) {
	last, kept, held := -1, 0, map[int64]bool{}
	for _, raw := range batch {
		id, ok := updateID(raw)
		if !ok {
			i.log.Error("an update without an id is skipped")
			continue
		}
		last = max(last, id)
		if i.done[id] {
			continue
		}
		failed := i.one(ctx, id, raw, table, held)
		if failed == nil || i.hopeless(id, failed) {
			i.taken(id)
			continue
		}
		if kept++; kept == 1 {
			offset, err = id, failed
		}
		if ctx.Err() != nil {
			break // the rest was not tried
		}
	}
	if kept > 0 {
		return offset, fmt.Errorf("%w: %d, the first: %w", errKept, kept, err)
	}
	clear(i.done)
	clear(i.kept)
	if last < 0 {
		return 0, fmt.Errorf("%w: no update in the batch has an id", errKept)
	}
	return last + 1, nil
}

// errBehind keeps an update queued behind an earlier one of its chat.
var errBehind = errors.New("an earlier update of the chat was not accepted")

// one delivers an update. An update that can't be decoded is logged and counts as accepted, because a retry would fail
// in the same way.
func (i *intake) one(ctx context.Context, id int, raw json.RawMessage, table []handler, held map[int64]bool) error {
	u, odd, err := parseUpdate(raw)
	if err != nil {
		i.log.Error("an update can't be read and is skipped", "update", id, "err", err)
		return nil
	}
	if odd != nil {
		i.log.Warn("part of an update can't be read and is skipped", "update", id, "err", odd)
	}
	chat := u.chat()
	if held[chat] {
		return errBehind
	}
	handle := u.handler(raw, table)
	if handle == nil {
		i.log.Debug("an update of an unrequested kind is skipped", "update", id)
		return nil
	}
	if err := handle(ctx, u); err != nil {
		held[chat] = true
		if i.kept[id] == nil {
			i.kept[id] = &pendingUpdate{since: time.Now()}
		}
		return err
	}
	return nil
}

// taken records that id needs no redelivery.
func (i *intake) taken(id int) {
	i.done[id] = true
	delete(i.kept, id)
	for _, k := range i.kept {
		k.others = true
	}
}

// hopeless reports whether the update keeps failing while others succeed; dropping it keeps it from blocking the others
// forever.
func (i *intake) hopeless(id int, err error) bool {
	k := i.kept[id]
	if k == nil || !errors.Is(err, chat.ErrTooLarge) && (!k.others || time.Since(k.since) < keptTime) {
		return false
	}
	i.log.Error("an update can't be stored and is dropped", "update", id, "since", k.since, "err", err)
	return true
}

func updateID(raw json.RawMessage) (id int, ok bool) {
	var u struct {
		ID *int `json:"update_id"`
	}
	if err := json.Unmarshal(raw, &u); err != nil || u.ID == nil {
		return 0, false
	}
	return *u.ID, true
}

// handler returns the handler for the kind of u.
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
	}
	return 0
}
