package access

import (
	"context"
	"slices"
	"strings"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/text"
	"parley/internal/lang"
	"parley/internal/quiethours"
)

const mostLeft = 2000 // characters of the message

// within reports whether owners and staff take over conversations at a time, in its own time zone.
func (a Policy) within(at time.Time) bool {
	return len(a.Hours) == 0 || slices.ContainsFunc(a.Hours, func(text string) bool {
		in, err := quiethours.Within(text, at)
		return in && err == nil // the configuration was validated
	})
}

// hours returns the times of within, with the days of a language.
func (a Policy) hours(v lang.Voice) string {
	days, own := strings.Fields(lang.Voice{}.Say("time.days")), strings.Fields(v.Say("time.days"))
	var pairs []string
	for i, day := range days {
		pairs = append(pairs, day, own[i])
	}
	return strings.NewReplacer(pairs...).Replace(strings.Join(a.Hours, ", "))
}

// leaveForm returns the question of a form that takes a message of who for the staff, and its text.
func leaveForm(ctx context.Context, who chat.EntityID) (ask *chat.Question, asks string) {
	address, most := float64(mostAddress), float64(mostLeft)
	ask, asks = formQuestion(ctx, who, "", chat.Form{Fields: []answer.Field{
		{Name: "address", Title: lang.Say(ctx, "person.address"), Kind: answer.TextField, Max: &address},
		{Name: "text", Title: lang.Say(ctx, "person.message"), Kind: answer.TextField, Max: &most},
	}})
	return ask, chat.JoinParagraphs(lang.Say(ctx, "person.leave"), asks)
}

// formQuestion asks for the next field of a form, or for all where the platform has forms.
func formQuestion(ctx context.Context, who chat.EntityID, problem string, form chat.Form) (ask *chat.Question, asks string) {
	q, asks := chat.FormQuestion(lang.Of(ctx), form, problem)
	q.For, q.Expires, q.Handler = []chat.EntityID{who}, time.Now().Add(cardTime), HandoverHandler
	return &q, asks
}

// offerForm offers leaveForm in a message of its own, once for each key. It fails with the error of the store.
func offerForm(ctx context.Context, hs *Handovers, who chat.EntityID, room chat.RoomID, key string) error {
	ask, asks := leaveForm(ctx, who)
	return hs.Tell(ctx, chat.Notice{To: chat.Address{Room: room}, Key: key, Text: asks, Ask: ask})
}

// leave processes an answer to the form: it asks for the next field, or passes the message on to the staff, and returns the reply. It fails with the
// error of the store.
func (hs *Handovers) leave(ctx context.Context, q chat.Question) (string, error) {
	form, declined, problem := q.Form(lang.Of(ctx))
	fields := form.Fields
	switch {
	case declined:
		return "", nil
	case answer.NextField(fields) >= 0:
		ask, asks := formQuestion(ctx, q.By, problem, form)
		return "", hs.Tell(ctx, chat.Notice{To: chat.Address{Room: q.Room}, Key: "leave/" + q.ID, Text: asks, Ask: ask})
	}
	room, err := hs.Store.Room(ctx, q.Room)
	if err != nil {
		return "", chat.Unless(err, chat.ErrNotFound)
	}
	staff, err := hs.staffRooms(ctx, q.By)
	for id, desk := range staff {
		if err == nil {
			err = hs.tell(ctx, id, desk, "left/"+q.ID, "person.left_message", "user", text.Unmarked(Handover{Name: text.Label(q.Name)}.User(hs.Speak(ctx, id))), "platform", room.Connector,
				"address", asCode(fields[0].Value), "text", text.Quote(fields[1].Value))
		}
	}
	if err == nil && len(staff) == 0 { // the operator's page lists the message
		var h Handover
		m := chat.Memory{Room: q.Room, Author: q.By, Name: q.Name}
		if h, err = hs.request(ctx, m, text.OneLine(fields[0].Value+": "+fields[1].Value, mostAddress+2+mostLeft), true); err == nil && h.ID == "" {
			return lang.Say(ctx, "person.none"), nil
		}
	}
	return lang.Say(ctx, "person.passed_on"), err
}
