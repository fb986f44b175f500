package example

import (
	"encoding/json"
	"time"

	"parley/core/chat"
)

// event is a message as the server sends it.
type event struct {
	Number  int       `json:"number"`
	ID      string    `json:"id"`
	Room    string    `json:"room"`
	Private bool      `json:"private"`
	Author  string    `json:"author"`
	Name    string    `json:"name"`
	Bot     bool      `json:"bot"`
	Mention bool      `json:"mention"` // of our bot
	Text    string    `json:"text"`
	At      time.Time `json:"at"`
}

// address is [chat.Address.ConnectorData]. It is stored, so its form must stay readable.
type address struct {
	Room    string `json:"room"`
	Message string `json:"message,omitempty"` // to reply to
}

// message converts an event. It is pure.
func (e event) message() chat.Message {
	room := chat.RoomID(Name + "/" + e.Room)
	place := chat.Room{ID: room, Connector: Name, Kind: chat.Direct, Name: e.Name}
	to := address{Room: e.Room}
	if !e.Private {
		place.Kind, place.Name, place.Chats = chat.Group, e.Room, []string{Name + ":" + e.Room}
		to.Message = e.ID
	}
	data, err := json.Marshal(to)
	if err != nil {
		panic(err) // two strings
	}
	m := chat.Memory{
		ID: chat.MemoryID(string(room) + "/" + e.ID), Room: room, Text: e.Text, At: e.At,
		Author: chat.EntityID(Name + "/" + e.Author), Name: e.Name,
	}
	return chat.Message{
		Memory: m, Place: place, Addressed: e.Mention, Bot: e.Bot,
		Address: chat.Address{Connector: Name, Room: room, ReplyTo: m.ID, ConnectorData: data},
	}
}
