package telegram

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"parley/core/chat"
)

// Name identifies this connector in addresses and logs.
const Name = "telegram"

// account is the bot's number. All ids except users' are scoped to it, because two bots see different messages in the
// same chat, and number private chats alike. Their form is stored, so it must not change.
type account int64

// memory returns the id of a message. Numbers of messages are unique in a chat only.
func (a account) memory(room int64, message int) chat.MemoryID {
	return chat.MemoryID(fmt.Sprintf("%s/%d/%d/%d", Name, a, room, message))
}

// room returns the id of a chat, or of one of its topics. Topic 0 means no topic: a plain chat, or a forum's General.
func (a account) room(conv int64, topic int) chat.RoomID {
	id := fmt.Sprintf("%s/%d/%d", Name, a, conv)
	if topic != 0 {
		id += "/" + strconv.Itoa(topic)
	}
	return chat.RoomID(id)
}

// entity returns the id of a user, a bot, or a chat that writes in its own name.
func entity(id int64) chat.EntityID { return chat.EntityID(Name + "/" + strconv.FormatInt(id, 10)) }

// address is the content of [chat.Address.ConnectorData]. It is stored with runs, so its JSON names must not change.
// Chat is the id from when the message arrived; the group may have moved since.
type address struct {
	Chat    int64  `json:"chat"`
	Topic   int    `json:"topic,omitempty"`
	Message int    `json:"message,omitempty"` // the message to reply to
	Kind    string `json:"kind"`              // the chat's type: private, group, supergroup or channel
	Asker   string `json:"asker,omitempty"`   // the asking user's username; empty if they have none, or if the address was stored before this field existed
}

// The chat types.
const (
	private    = "private"
	group      = "group"
	supergroup = "supergroup"
	channel    = "channel"
)

// encode returns the address as it is stored.
func (a address) encode() []byte {
	b, err := json.Marshal(a)
	if err != nil {
		panic(err) // only numbers and one of four words, which always marshal
	}
	return b
}

// parseAddress reads a stored address, and checks what requests depend on.
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

// messageID returns the id that a sink uses for a message. It includes the chat, because message numbers are not kept
// when a group becomes a supergroup with a new id.
func messageID(chat int64, message int) string { return fmt.Sprintf("%d/%d", chat, message) }

// parseMessageID is the reverse of messageID.
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
