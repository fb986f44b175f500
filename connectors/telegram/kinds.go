package telegram

import (
	"encoding/json"
	"fmt"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
)

// inWords describes for the model a message that is neither text nor a file. It returns "" for a service message, which
// is no part of the conversation. A venue also has a location, so it comes first.
func inWords(m *tgbotapi.Message) string {
	switch {
	case m.Sticker != nil:
		return sticker(m.Sticker)
	case m.Venue != nil:
		return fmt.Sprintf("*Place: %s, %s (%s)*", m.Venue.Title, m.Venue.Address, coordinates(m.Venue.Location))
	case m.Location != nil:
		return "*Location: " + coordinates(*m.Location) + "*"
	case m.Contact != nil:
		return fmt.Sprintf("*Contact: %s, %s*", fullName(m.Contact.FirstName, m.Contact.LastName, "no name"), m.Contact.PhoneNumber)
	case m.Dice != nil:
		return fmt.Sprintf("*%s rolled: %d*", m.Dice.Emoji, m.Dice.Value)
	case m.Poll != nil:
		var options []string
		for _, o := range m.Poll.Options {
			options = append(options, o.Text)
		}
		return fmt.Sprintf("*Poll: %s Options: %s*", m.Poll.Question, strings.Join(options, "; "))
	case m.Game != nil:
		return "*Game: " + m.Game.Title + "*"
	case m.Invoice != nil:
		return "*Invoice: " + m.Invoice.Title + "*"
	}
	return ""
}

func coordinates(l tgbotapi.Location) string {
	return fmt.Sprintf("latitude %.6g, longitude %.6g", l.Latitude, l.Longitude)
}

// newerKinds are the message kinds added after Bot API 5.5. Only their text is read.
type newerKinds struct {
	Story     json.RawMessage `json:"story"`
	Giveaway  json.RawMessage `json:"giveaway"`
	PaidMedia json.RawMessage `json:"paid_media"`
	Checklist *struct {
		Title string `json:"title"`
		Tasks []struct {
			Text string `json:"text"`
		} `json:"tasks"`
	} `json:"checklist"`
}

// inWords is the same for the newer kinds.
func (k newerKinds) inWords() string {
	switch {
	case k.Checklist != nil:
		words := "*Checklist: " + k.Checklist.Title
		for _, t := range k.Checklist.Tasks {
			words += "; " + t.Text
		}
		return words + "*"
	case len(k.Story) > 0:
		return "*Story (bots can't see its content)*"
	case len(k.Giveaway) > 0:
		return "*Giveaway*"
	case len(k.PaidMedia) > 0:
		return "*Paid media (bots can't see it)*"
	}
	return ""
}
