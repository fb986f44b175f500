package telegram

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"parley/core/chat"
)

// Name is how addresses and the log call this connector.
const Name = "telegram"

// account is the bot's number; all ids but people's are made within it. Their form is stored, hence stays.
type account int64

func (a account) memory(room int64, message int) chat.MemoryID {
	return chat.MemoryID(fmt.Sprintf("%s/%d/%d/%d", Name, a, room, message))
}

// room is a chat, or one topic of it. Topic 0 is no topic: a plain chat, or a forum's General.
func (a account) room(conv int64, topic int) chat.RoomID {
	id := fmt.Sprintf("%s/%d/%d", Name, a, conv)
	if topic != 0 {
		id += "/" + strconv.Itoa(topic)
	}
	return chat.RoomID(id)
}

// entity is a person, a bot, or a chat that writes in its own name.
func entity(id int64) chat.EntityID { return chat.EntityID(Name + "/" + strconv.FormatInt(id, 10)) }

// address is [chat.Address.ConnectorData].
type address struct {
	Chat    int64  `json:"chat"`
	Topic   int    `json:"topic,omitempty"`
	Message int    `json:"message,omitempty"` // to reply to
	Kind    string `json:"kind"`              // the chat's: private, group, supergroup or channel
	Asker   string `json:"asker,omitempty"`   // the username of who asked; empty before it was stored, and if there is none
}

// The kinds of chats.
const (
	private    = "private"
	group      = "group"
	supergroup = "supergroup"
	channel    = "channel"
)

func (a address) encode() []byte {
	b, err := json.Marshal(a)
	if err != nil {
		panic(err) // numbers and one of four words
	}
	return b
}

func parseAddress(own []byte) (a address, err error) {
	if err := json.Unmarshal(own, &a); err != nil {
		return a, fmt.Errorf("read the address: %w", err)
	}
	switch a.Kind {
	case private, group, supergroup, channel:
	default:
		return a, fmt.Errorf("read the address: kind of chat %q", a.Kind)
	}
	if a.Chat == 0 {
		return a, fmt.Errorf("read the address: no chat")
	}
	return a, nil
}

// messageID is how a sink names a message. Numbers do not carry over when a group gets a new id (TR-24), so the chat
// belongs to it.
func messageID(chat int64, message int) string { return fmt.Sprintf("%d/%d", chat, message) }

func parseMessageID(id string) (chat int64, message int, err error) {
	c, m, _ := strings.Cut(id, "/")
	if chat, err = strconv.ParseInt(c, 10, 64); err != nil {
		return 0, 0, fmt.Errorf("message id %q: %w", id, err)
	}
	if message, err = strconv.Atoi(m); err != nil {
		return 0, 0, fmt.Errorf("message id %q: %w", id, err)
	}
	return chat, message, nil
}
