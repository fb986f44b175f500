package config

import (
	"fmt"

	"parley/core/quota"
	"parley/internal/sections"
)

// The default daily limits of a public web chat.
const (
	publicMessages    = 50
	publicTokens      = 100_000
	publicTotalTokens = 2_000_000
)

// DayLimits returns the daily limits as numbers: 0 means no limit. public reports whether everyone has access somewhere.
func (c Config) DayLimits(public bool) (person, room, total struct {
	Messages, Tokens int
	USD              quota.USD
}) {
	number := func(q *int, strangers int) int {
		switch {
		case q != nil:
			return *q
		case public:
			return strangers
		}
		return 0
	}
	l := c.Limits
	person.Messages, person.Tokens = number(l.Person.Messages, publicMessages), number(l.Person.Tokens, publicTokens)
	room.Messages, room.Tokens = number(l.Room.Messages, 0), number(l.Room.Tokens, 0)
	total.Messages, total.Tokens = number(l.Total.Messages, 0), number(l.Total.Tokens, publicTotalTokens)
	person.USD, room.USD, total.USD = l.Person.USD, l.Room.USD, l.Total.USD
	return person, room, total
}

// MoneyLimit returns the key of a limit in money, or "".
func (l DayLimits) MoneyLimit() string {
	switch {
	case l.Person.SoftUSD > 0:
		return "limits.person.soft_usd"
	case l.Room.SoftUSD > 0:
		return "limits.room.soft_usd"
	case l.Total.SoftUSD > 0:
		return "limits.total.soft_usd"
	case l.Person.USD > 0:
		return "limits.person.usd"
	case l.Room.USD > 0:
		return "limits.room.usd"
	case l.Total.USD > 0:
		return "limits.total.usd"
	}
	return ""
}

// checkDay checks the numbers, and requires limits for a public web chat.
func (d checker) checkDay(l DayLimits, public bool) {
	sections.Reject(d.reject).Limit("limits.parallel", l.Parallel)
	sections.Reject(d.reject).Limit("limits.parallel_total", l.ParallelTotal)
	for path, n := range map[string]*int{
		"person.messages": l.Person.Messages, "person.tokens": l.Person.Tokens,
		"room.messages": l.Room.Messages, "room.tokens": l.Room.Tokens,
		"total.messages": l.Total.Messages, "total.tokens": l.Total.Tokens,
	} {
		if n != nil {
			sections.Reject(d.reject).Limit("limits."+path, *n)
		}
	}
	for path, q := range map[string]Quota{"person": l.Person, "room": l.Room, "total": l.Total} {
		if q.USD > 0 && q.SoftUSD >= q.USD {
			d.reject("limits."+path+".soft_usd", "is not below usd, which always ends the answer", "set less, or remove one of the two")
		}
	}
	for path, n := range map[string]*int{"person": l.Person.Tokens, "total": l.Total.Tokens} {
		if public && n != nil && *n == 0 {
			d.reject(fmt.Sprintf("limits.%s.tokens", path), "means no limit, but web.public opens the chat to the public", "write a number, or auto")
		}
	}
}
