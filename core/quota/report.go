package quota

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/core/chat"
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
		return "Usage is not counted here.", nil
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
	lines := []string{"You, today: " + today[person].String() + m.bounds().Person.bound()}
	if a.Lasts {
		lines = append(lines, "You, this month: "+month[person].String())
	}
	if a.Group || !a.Lasts {
		lines = append(lines, "This chat, today: "+today[room].String()+m.bounds().Room.bound(), "This chat, this month: "+month[room].String())
	}
	if t, ok := newest[answer]; ok {
		lines = append(lines, "The last answer: "+t.String())
	}
	if a.Owner {
		lines = append(lines, "Everyone, today: "+today[totalBucket].String()+m.bounds().Total.bound(), "Everyone, this month: "+month[totalBucket].String())
		lines = append(lines, models(month)...)
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
func models(totals map[string]Total) (lines []string) {
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
			return append(lines, fmt.Sprintf("%d more models", len(all)-i))
		}
		lines = append(lines, fmt.Sprintf("`%s`, this month: %s", strings.TrimPrefix(t.Bucket, modelBucket), t))
	}
	return lines
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// thousands separates the digits of n, which is not negative, in groups of three.
func thousands(n int) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
