package quota

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/core/chat"
	"parley/internal/lang"
)

// Asker is the author and the room of a request for a report.
type Asker struct {
	Person chat.EntityID // whose limits count
	Lasts  bool          // Person is the same every day
	Room   chat.RoomID
	Group  bool       // others use the room too
	Answer chat.RunID // the newest one of the room; empty for none
	Owner  bool       // everything is listed
}

// mostModels is the maximum number of listed models; the most expensive ones are listed.
const mostModels = 20

// Report returns the usage of today and this month, as Markdown for users. A nil Meter has no usage. It fails with the
// error of the store.
func (m *Meter) Report(ctx context.Context, a Asker) (string, error) {
	if m == nil {
		return lang.Say(ctx, "usage.off"), nil
	}
	if err := m.store(ctx); err != nil {
		return "", fmt.Errorf("store what was used: %w", err)
	}
	now := m.now()
	person, room, answer := personBucket+string(a.Person), roomBucket+string(a.Room), AnswerBuckets+string(a.Answer)
	today, err := m.used(ctx, date(now), date(now), person, room, totalBucket)
	if err != nil {
		return "", err
	}
	month, err := m.used(ctx, now.Format("2006-01")+"-01", date(now), person, room, totalBucket, modelBucket+"*")
	if err != nil {
		return "", err
	}
	newest, err := m.used(ctx, date(now.AddDate(0, 0, -1)), date(now), answer)
	if err != nil {
		return "", err
	}
	v := lang.Of(ctx)
	lines := []string{v.Say("usage.person_today", "used", m.bounds().Person.bound(v, today[person]))}
	if a.Lasts {
		lines = append(lines, v.Say("usage.person_month", "used", month[person].Describe(v)))
	}
	if a.Group || !a.Lasts {
		lines = append(lines, v.Say("usage.room_today", "used", m.bounds().Room.bound(v, today[room])), v.Say("usage.room_month", "used", month[room].Describe(v)))
	}
	if t, ok := newest[answer]; ok {
		lines = append(lines, v.Say("usage.answer", "used", t.Describe(v)))
	}
	if a.Owner {
		lines = append(lines, v.Say("usage.total_today", "used", m.bounds().Total.bound(v, today[totalBucket])), v.Say("usage.total_month", "used", month[totalBucket].Describe(v)))
		lines = append(lines, models(v, month)...)
	}
	return "- " + strings.Join(lines, "\n- "), nil
}

// used returns totals by bucket. It fails with the error of the store.
func (m *Meter) used(ctx context.Context, from, to string, buckets ...string) (map[string]Total, error) {
	all, err := m.ledger.Used(ctx, from, to, buckets...)
	if err != nil {
		return nil, fmt.Errorf("read what was used: %w", err)
	}
	totals := make(map[string]Total, len(all))
	for _, t := range all {
		totals[t.Bucket] = t
	}
	return totals, nil
}

// models lists the totals of models, the most expensive ones first.
func models(v lang.Voice, totals map[string]Total) (lines []string) {
	var all []Total
	for bucket, t := range totals {
		if strings.HasPrefix(bucket, modelBucket) {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b Total) int {
		return cmp.Or(cmp.Compare(b.USD, a.USD), cmp.Compare(b.Input+b.Output, a.Input+a.Output), strings.Compare(a.Bucket, b.Bucket))
	})
	for i, t := range all {
		if i == mostModels {
			return append(lines, v.Say("usage.more", "n", len(all)-i))
		}
		lines = append(lines, v.Say("usage.model", "model", strings.TrimPrefix(t.Bucket, modelBucket), "used", t.Describe(v)))
	}
	return lines
}

// thousands separates the digits of n, which is not negative, in groups of three.
func thousands(n int) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
