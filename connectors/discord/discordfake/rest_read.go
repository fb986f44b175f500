package discordfake

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
)

const (
	defaultPage = 50
	maxPage     = 100
)

func (s *Server) getMessages(c *call) (int, any, *apiError) {
	if e := onlyQuery(c, "limit", "after", "before", "around"); e != nil {
		return 0, nil, e
	}
	ch, e := s.visible(c)
	if e != nil {
		return 0, nil, e
	}
	limit, e := pageSize(c)
	if e != nil {
		return 0, nil, e
	}
	for _, name := range []string{"after", "before", "around"} {
		if v := c.query.Get(name); c.query.Has(name) && strconv.FormatUint(number(v), 10) != v {
			return 0, nil, invalidForm(name, "NUMBER_TYPE_COERCE", "Value \""+v+"\" is not snowflake.")
		}
	}
	out := []object{}
	if ch.may(ReadHistory) { // without it Discord shows an empty channel
		all := ch.live()
		if ch.start != nil {
			all = slices.Insert(all, 0, ch.start)
		}
		for _, m := range page(all, c, limit) {
			out = append(out, s.messageObject(m))
		}
	}
	slices.Reverse(out) // newest first, whatever was asked
	return http.StatusOK, out, nil
}

func pageSize(c *call) (int, *apiError) {
	if !c.query.Has("limit") {
		return defaultPage, nil
	}
	n, err := strconv.Atoi(c.query.Get("limit"))
	if err != nil || n < 1 || n > maxPage {
		return 0, invalidForm("limit", "NUMBER_TYPE_RANGE", "limit must be between 1 and 100")
	}
	return n, nil
}

// page cuts one page out of a channel's messages, oldest first. "after" gives
// the oldest ones above the id, everything else the newest.
func page(all []*message, c *call, limit int) []*message {
	at := func(id string) int {
		i, _ := slices.BinarySearchFunc(all, number(id), func(m *message, n uint64) int {
			return cmp.Compare(number(m.id), n)
		})
		return i
	}
	switch {
	case c.query.Has("around"):
		from := max(0, at(c.query.Get("around"))-limit/2)
		return all[from:min(len(all), from+limit)]
	case c.query.Has("before"):
		to := at(c.query.Get("before"))
		return all[max(0, to-limit):to]
	case c.query.Has("after"):
		from := at(strconv.FormatUint(number(c.query.Get("after"))+1, 10))
		return all[from:min(len(all), from+limit)]
	}
	return all[max(0, len(all)-limit):]
}

func (s *Server) getMessage(c *call) (int, any, *apiError) {
	ch, e := s.visible(c)
	if e != nil {
		return 0, nil, e
	}
	if !ch.may(ReadHistory) {
		return 0, nil, missingAccess()
	}
	m, e := s.standing(c, ch)
	if e != nil {
		return 0, nil, e
	}
	return http.StatusOK, s.messageObject(m), nil
}

// standing is the message that a call names, if it is in ch and not deleted.
func (s *Server) standing(c *call, ch *channel) (*message, *apiError) {
	m := s.world.messages[c.params["message_id"]]
	if m == nil || m.deleted || m.channel != ch {
		return nil, unknownMessage()
	}
	return m, nil
}
