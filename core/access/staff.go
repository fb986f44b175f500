package access

import (
	"context"
	"maps"
	"time"

	"parley/core/chat"
)

const (
	roleStaffName = "staff-roles"  // the name of the stored list
	roleStaffTime = 12 * time.Hour // since the latest message with the role
	roleStaffNews = time.Hour      // a newer message is noted after this time
	mostRoleStaff = 1000           // accounts in the list
)

// roleStaff is the record of an account that is staff by a role of a server.
type roleStaff struct {
	World chat.WorldID `json:"world"`
	Until time.Time    `json:"until"`
}

// NoteRole records whether the author of a message in a server has a role of the staff there. Platforms send roles only with events of the
// server; elsewhere, such as in direct chats, the role counts for twelve hours, or until a message without it. It fails with the error of
// the store.
func (d *Pairing) NoteRole(ctx context.Context, author chat.EntityID, in chat.WorldID, staff bool) error {
	if in == "" || author == "" || len(d.Policy.Staff.Roles) == 0 {
		return nil
	}
	now := time.Now().UTC()
	known, err := d.roles.read(ctx, d.Memo, roleStaffName)
	if err != nil {
		return err
	}
	was, is := known.all[author]
	if d.Memo == nil || !staff && (!is || was.World != in) || staff && was.World == in && was.Until.Sub(now) > roleStaffTime-roleStaffNews {
		return nil
	}
	return d.roles.change(ctx, d.Memo, roleStaffName, func(all map[chat.EntityID]roleStaff) error {
		maps.DeleteFunc(all, func(id chat.EntityID, r roleStaff) bool { return id == author || now.After(r.Until) })
		if staff && len(all) < mostRoleStaff {
			all[author] = roleStaff{in, now.Add(roleStaffTime)}
		}
		return nil
	})
}

// Staff returns the accounts of the staff: those of the configuration, and those with a role of the staff in their latest message, see
// [Pairing.NoteRole]. It fails with the error of the store.
func (d *Pairing) Staff(ctx context.Context) (map[chat.EntityID]bool, error) {
	if len(d.Policy.Staff.Roles) == 0 {
		return d.Policy.Staff.Accounts, nil
	}
	all := maps.Clone(d.Policy.Staff.Accounts)
	if all == nil {
		all = map[chat.EntityID]bool{}
	}
	known, err := d.roles.read(ctx, d.Memo, roleStaffName)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	for id, r := range known.all {
		all[id] = all[id] || now.Before(r.Until)
	}
	return all, nil
}

// ListsStaff reports whether author is staff, by account or by a role: that of the address of their message, or of their latest message in
// a server. It fails with the error of the store.
func (d *Pairing) ListsStaff(ctx context.Context, author chat.EntityID, from chat.Address) (bool, error) {
	if author == "" || from.StaffByRole && from.AuthorizedByRole == author {
		return author != "", nil
	}
	all, err := d.Staff(ctx)
	return all[author], err
}

// IsStaff is ListsStaff for staff and owners.
func (d *Pairing) IsStaff(ctx context.Context, author chat.EntityID, from chat.Address) (bool, error) {
	if staff, err := d.ListsStaff(ctx, author, from); err != nil || staff {
		return staff, err
	}
	return d.Owns(ctx, author)
}
