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

// offerForm offers who a form that leaves a message for the staff, once for each key. It fails with the error of the store.
func offerForm(ctx context.Context, hs *Handovers, who chat.EntityID, room chat.RoomID, key string) error {
	most := float64(mostLeft)
	return askForm(ctx, hs, who, room, key, lang.Say(ctx, "person.leave"), "", chat.Form{Fields: []answer.Field{
		{Name: "address", Title: lang.Say(ctx, "person.address"), Kind: answer.TextField}, {Name: "text", Title: lang.Say(ctx, "person.message"), Kind: answer.TextField, Max: &most},
	}})
}

// askForm asks for the next field of a form, or for all where the platform has forms.
func askForm(ctx context.Context, hs *Handovers, who chat.EntityID, room chat.RoomID, key, lead, problem string, form chat.Form) error {
	q, asks := chat.FormQuestion(lang.Of(ctx), form, problem)
	q.For, q.Expires, q.Handler = []chat.EntityID{who}, time.Now().Add(cardTime), HandoverHandler
	return hs.Tell(ctx, chat.Notice{To: chat.Address{Room: room}, Key: key, Text: chat.JoinParagraphs(lead, asks), Ask: &q})
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
		return "", askForm(ctx, hs, q.By, q.Room, "leave/"+q.ID, "", problem, form)
	}
	room, err := hs.Store.Room(ctx, q.Room)
	if err != nil {
		return "", chat.Unless(err, chat.ErrNotFound)
	}
	staff, err := hs.staffRooms(ctx, q.By)
	for id, desk := range staff {
		if err == nil {
			err = hs.tell(ctx, id, desk, "left/"+q.ID, "person.left_message", "user", text.Unmarked(Handover{Name: text.Label(q.Name)}.User(hs.Speak(ctx, id))), "platform", room.Connector,
				"address", text.Unmarked(fields[0].Value), "text", text.Forwarded("", fields[1].Value))
		}
	}
	if err == nil && len(staff) == 0 { // the operator's page lists the message
		var h Handover
		m := chat.Memory{Room: q.Room, Author: q.By, Name: q.Name}
		if h, err = hs.request(ctx, m, text.OneLine(fields[0].Value+": "+fields[1].Value, mostLeft), true); err == nil && h.ID == "" {
			return lang.Say(ctx, "person.none"), nil
		}
	}
	return lang.Say(ctx, "person.passed_on"), err
}
