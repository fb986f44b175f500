package approval

import (
	"context"
	"fmt"
	"strings"

	"parley/core/chat"
	"parley/core/text"
)

const listed = 20 // decisions in a list

// List returns the newest decisions of room in text for users.
func (d *Desk) List(ctx context.Context, room chat.RoomID) (string, error) {
	all, err := d.Store.RecentApprovals(ctx, room, listed)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "Nothing has needed an approval here.", nil
	}
	var b strings.Builder
	for _, a := range all {
		fmt.Fprintf(&b, "- %s: %s (%s), %s", a.At.UTC().Format("2006-01-02 15:04"), text.Label(a.Tool), a.Effect, a.Decision)
		if a.By != "" {
			fmt.Fprintf(&b, " by %s", text.Label(string(a.By)))
		}
		b.WriteByte('\n')
	}
	return strings.TrimSpace(b.String()), nil
}
