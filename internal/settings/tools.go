package settings

import (
	"parley/config"
	"parley/core/action"
	"parley/core/approval"
)

// Approval returns who can approve calls.
func Approval(cfg config.Config) approval.Policy {
	return approval.Policy{Users: set(cfg.Approvals.Users, Entity), Timeout: cfg.Approvals.Timeout}
}

// Users returns a function that reports whether a tool can be used in a turn: in these rooms, and by these users.
func Users(who config.ToolUsers, rooms []config.Chat) func(action.TurnContext) bool {
	where := places(rooms, nil)
	return func(s action.TurnContext) bool {
		switch {
		case !where.Includes(s.Room):
			return false
		case who == config.ToolsOwner:
			return s.Owner
		case who == config.ToolsEveryone:
			return true
		}
		return s.Owner || s.Allowed
	}
}

// Reveal returns a table with its secrets in plain text, for those that send them.
func Reveal(secrets map[string]config.Secret) map[string]string {
	all := map[string]string{}
	for name, s := range secrets {
		all[name] = s.Reveal()
	}
	return all
}
