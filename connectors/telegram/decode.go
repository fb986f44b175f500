package telegram

import (
	"encoding/json"
	"errors"
	"fmt"
)

// parseUpdate decodes an update. Fields that can't be decoded are left out and reported as odd; an update without its
// sender, chat or subject is an error. That way, a new form of some field costs only that field, and never turns a
// message into one of another person or place.
func parseUpdate(raw json.RawMessage) (u update, odd, err error) {
	if err := json.Unmarshal(raw, &essentials{}); err != nil {
		return u, nil, fmt.Errorf("decode the update: %w", err)
	}
	odd = errors.Join(json.Unmarshal(raw, &u.Update), json.Unmarshal(raw, &u.newer))
	if m := u.Message; m != nil && u.newer.Message != nil && m.Chat != nil && m.Text == "" {
		var has struct {
			Fields map[string]json.RawMessage `json:"message"`
		}
		err, n := json.Unmarshal(raw, &has), u.newer.Message
		told := false
		n.notice, n.noticed, told = notice(has.Fields)
		n.unknown = err == nil && !told && m.Chat.Type == private
	}
	return u, odd, nil
}

// essentials are the fields without which an update would be mistaken for another: each must have the right type. The
// JSON decoder skips a field of a wrong type and continues, so without this check a bot's message with an unreadable
// is_bot would count as a person's.
type essentials struct {
	Message    essential `json:"message"`
	Edited     essential `json:"edited_message"`
	Post       essential `json:"channel_post"`
	MyMember   essential `json:"my_chat_member"`
	ChatMember essential `json:"chat_member"`
	Reactions  essential `json:"message_reaction"`
	Pressed    struct {
		ID      string    `json:"id"`
		From    someone   `json:"from"`
		Data    string    `json:"data"`
		Message essential `json:"message"`
	} `json:"callback_query"`
}

// essential has those fields of a message, and of the other kinds of updates, which share their names.
type essential struct {
	ID   int `json:"message_id"`
	Chat struct {
		ID   int64  `json:"id"`
		Type string `json:"type"`
	} `json:"chat"`
	From               someone `json:"from"`
	SenderChat         someone `json:"sender_chat"`
	ViaBot             someone `json:"via_bot"`
	SenderBusinessBot  someone `json:"sender_business_bot"`
	BusinessConnection string  `json:"business_connection_id"`
	GuestQuery         string  `json:"guest_query_id"`
	Forwarded          bool    `json:"is_automatic_forward"`
	Thread             int     `json:"message_thread_id"`
	Ephemeral          int     `json:"ephemeral_message_id"`
	InTopic            bool    `json:"is_topic_message"`
	MigrateTo          int64   `json:"migrate_to_chat_id"`
	MigrateFrom        int64   `json:"migrate_from_chat_id"`
	Origin             struct {
		Type string  `json:"type"`
		User someone `json:"sender_user"`
		From someone `json:"sender_chat"`
		Chat someone `json:"chat"`
	} `json:"forward_origin"`
	User      someone `json:"user"`       // the user who reacted
	Actor     someone `json:"actor_chat"` // or the chat that reacted
	NewMember struct {
		Status string  `json:"status"`
		User   someone `json:"user"`
	} `json:"new_chat_member"`
}

// someone is a user or a chat.
type someone struct {
	ID  int64 `json:"id"`
	Bot bool  `json:"is_bot"`
}
