package approval

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"parley/core/chat"
	"parley/core/text"
)

const listed = 20 // decisions in a list

// List returns the newest decisions of room in text: all, for the owner, or those about calls that asker asked for. These name
// neither servers nor the people who decided.
func (d *Desk) List(ctx context.Context, room chat.RoomID, asker chat.EntityID, all bool) (string, error) {
	recent, err := d.Store.RecentApprovals(ctx, room, listed)
	if err != nil {
		return "", err
	}
	var lines []string
	for _, a := range recent {
		if all || a.Asker == asker {
			lines = append(lines, "- "+a.At.UTC().Format("2006-01-02 15:04")+": "+listing(a, all))
		}
	}
	return cmp.Or(strings.Join(lines, "\n"), "Nothing has needed an approval here."), nil
}

// listing describes one decision.
func listing(a chat.Approval, all bool) string {
	if !all {
		_, tool, _ := strings.Cut(a.Tool, "/")
		return fmt.Sprintf("%s, %s", text.Label(text.NameLabel(tool)), a.Decision)
	}
	line := fmt.Sprintf("%s (%s), %s", text.Label(a.Tool), a.Effect, a.Decision)
	if a.By != "" {
		line += " by " + text.Label(string(a.By))
	}
	return line
}
