package essentials

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"parley/core/access"
	"parley/core/action"
	"parley/core/chat"
	"parley/core/text"
)

// FactScope selects the rooms that use facts about a person, besides the room where they were noted. Facts about a room are only used
// there.
type FactScope string

// The scopes. Nothing that was noted in a direct chat is ever used in a room that others read.
const (
	InRoom     FactScope = "room"       // nowhere else
	ForPerson  FactScope = "person"     // in direct chats with that person
	Everywhere FactScope = "everywhere" // in direct chats with that person, and where they ask; the latter not with facts from direct chats
)

// factsFor returns the facts that can be used in room when asker asks, and all that room knows: those of the room, and those about the
// asker that were noted elsewhere, as ones about this account. Asker is empty if that is not one person. A person with linked accounts has
// asked for the use of these facts in all their direct chats.
func (d Deps) factsFor(ctx context.Context, room chat.Room, asker chat.EntityID) (here, elsewhere []chat.RoomNote, err error) {
	here, err = d.Store.Notes(ctx, room.ID, chat.FactNote, chat.MaxNotes)
	private := room.Kind.Private()
	if err != nil || asker == "" || asker.Automatic() || d.FactScope != Everywhere && !private {
		return here, nil, err
	}
	accounts, err := access.AccountsOf(ctx, d.Store, asker)
	if err != nil || d.FactScope != Everywhere && d.FactScope != ForPerson && len(accounts) == 1 {
		return here, nil, err
	}
	for _, account := range slices.Backward(accounts) { // the newest facts of this account are the last ones
		all, err := d.Store.NotesAbout(ctx, account, chat.FactNote, !private, chat.MaxNotes)
		if err != nil {
			return here, nil, err
		}
		for _, n := range all {
			n.About = asker
			if n.Room != room.ID && !hasFact(here, asker, n.Text) {
				elsewhere = append(elsewhere, n)
			}
		}
	}
	return here, elsewhere, nil
}

// askerOf returns the asker of a turn; empty if several users ask.
func askerOf(s action.TurnContext) chat.EntityID {
	if s.Several() {
		return ""
	}
	return s.Message.Author
}

// hasFact reports whether one of the facts about someone has the words of text.
func hasFact(all []chat.RoomNote, about chat.EntityID, text string) bool {
	return slices.ContainsFunc(all, func(n chat.RoomNote) bool { return n.About == about && sameWords(n.Text, text) })
}

// facts lists the facts that can be used in this room. Those about the author and the room take precedence over
// those about others. The most important come last, where models pay most attention.
func (d Deps) facts(ctx context.Context, s action.TurnContext) (action.ProviderResult, error) {
	here, elsewhere, err := d.factsFor(ctx, s.Room, askerOf(s))
	if err != nil || len(here)+len(elsewhere) == 0 {
		return action.ProviderResult{}, err
	}
	var near, far []chat.RoomNote
	other := elsewhere
	for _, n := range here {
		if n.About == "" || n.About == s.Message.Author {
			near = append(near, n)
		} else {
			far = append(far, n)
		}
	}
	near = near[max(0, len(near)-lastFacts):]
	other = other[max(0, len(other)-(lastFacts-len(near))):]
	far = far[max(0, len(far)-(lastFacts-len(near)-len(other))):]
	var parts []string
	if known := append(far, near...); len(known) > 0 {
		parts = append(parts, "# Facts from earlier conversations here\n"+factLines(known))
	}
	if len(other) > 0 {
		parts = append([]string{"# Facts about the user from other conversations\n" + factLines(other)}, parts...)
	}
	all := slices.Concat(other, far, near)
	return action.ProviderResult{Text: strings.Join(parts, "\n\n"), Values: map[string]string{"facts": factLines(all)}, Facts: all}, nil
}

// factLines returns facts as a list, quoted.
func factLines(all []chat.RoomNote) string {
	var texts []string
	for _, n := range all {
		texts = append(texts, n.Text)
	}
	return dashes(texts)
}

// expiry returns when a fact that is noted now expires: after days, or as the owner has set it.
func (d Deps) expiry(days int) time.Time {
	life := d.FactLife
	if days > 0 {
		life = time.Duration(days) * 24 * time.Hour
	}
	if life == 0 {
		return time.Time{}
	}
	return time.Now().Add(life)
}

// excerptSize is the length of the part of a message that /memory shows.
const excerptSize = 80

// origin describes the source of a fact about the author of a command, and its end. A message is only quoted in its own room, or
// in private.
func (d Deps) origin(ctx context.Context, c action.CommandCall, n chat.RoomNote) string {
	where, from := "here", ""
	if n.Room != c.Room.ID {
		where = "in another chat"
	}
	if n.First != "" && n.First == n.Last && (n.Room == c.Room.ID || c.Room.Kind.Private()) {
		if m, err := d.Store.Memory(ctx, n.Last); err == nil && m.Author == c.Message.Author {
			from = fmt.Sprintf(", from your message %q", text.Excerpt(text.OneLine(m.Text, factSize), excerptSize))
		}
	} else if n.First != n.Last {
		from = ", from the conversation"
	}
	if !n.Expires.IsZero() {
		from += n.Expires.Format(", until 2 Jan 2006")
	}
	return fmt.Sprintf("(noted %s on %s%s)", where, n.At.Format("2 Jan 2006"), from)
}

// words returns the words of a text in lower case. For scripts without spaces it returns each pair of characters.
func words(text string) (all []string) {
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		runes := []rune(w)
		if len(runes) < 2 || !dense(runes[0]) {
			all = append(all, w)
			continue
		}
		for i := range len(runes) - 1 {
			all = append(all, string(runes[i:i+2]))
		}
	}
	return all
}

// dense reports whether r belongs to a script without spaces between words.
func dense(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
