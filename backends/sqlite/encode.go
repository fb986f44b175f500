package sqlite

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"parley/core/answer"
	"parley/core/chat"
)

// errText is the answer to text that could not be read back as it was given.
var errText = errors.New("text is not valid UTF-8")

// checkText refuses what JSON columns would silently alter and other databases do not take at all.
func checkText(texts ...string) error {
	for _, t := range texts {
		if !utf8.ValidString(t) {
			return errText
		}
	}
	return nil
}

func checkMemory(m chat.Memory) error {
	if m.ID == "" || m.Room == "" {
		return errors.New("a memory needs an id and a room")
	}
	errs := []error{
		checkText(string(m.ID), string(m.Room), string(m.Kind), string(m.Author), m.Name, m.Text, string(m.InReplyTo), string(m.Failure), m.Thought),
		checkText(m.History...), checkText(m.Actions...), checkText(m.Providers...),
	}
	for _, f := range m.Files {
		errs = append(errs, checkText(f.Ref, f.Name, f.Type, f.Title, f.Description, f.Text))
	}
	return errors.Join(append(errs, checkCalls(m.Calls))...)
}

func checkCalls(calls []answer.PastCall) error {
	var errs []error
	for _, c := range calls {
		errs = append(errs, checkText(c.ID, c.Name, c.Parameters, c.CompactParams, c.Result, c.ShortResult, c.Error))
		for _, f := range c.Files {
			errs = append(errs, checkText(f.Name, f.Type))
		}
	}
	return errors.Join(errs...)
}

func checkRoom(r chat.Room) error {
	if r.ID == "" {
		return errors.New("a room needs an id")
	}
	return errors.Join(checkText(r.Chats...),
		checkText(string(r.ID), string(r.World), string(r.Kind), r.Connector, r.Name, r.Address.Connector, string(r.Address.Room)))
}

func checkNote(n chat.Note) error {
	errs := []error{checkText(n.Text, n.Acting, n.Acted)}
	for _, s := range n.Shown {
		errs = append(errs, checkText(s.ID))
	}
	for _, b := range n.Files {
		errs = append(errs, checkText(b.Name, b.Type))
	}
	if v := n.Verdict; v != nil {
		if !v.Outcome.Done() {
			errs = append(errs, errNoStatus)
		}
		errs = append(errs, checkText(v.Text, v.Thought), checkCalls(v.Calls), checkText(v.History...), checkText(v.Actions...), checkText(v.Providers...))
	}
	return errors.Join(errs...)
}

// verdict is the form in which a [chat.Verdict] is stored.
type verdict struct {
	Outcome answer.Outcome    `json:"outcome"`
	Text    string            `json:"text,omitempty"`
	History []string          `json:"history,omitempty"`
	Calls   []answer.PastCall `json:"calls,omitempty"`

	Thought   string   `json:"thought,omitempty"`
	Actions   []string `json:"actions,omitempty"`
	Providers []string `json:"providers,omitempty"`

	Files int `json:"files,omitempty"`
}

// list stores "" for none.
func list[E any](l []E) string {
	if len(l) == 0 {
		return ""
	}
	return toJSON(l)
}

// toJSON is for types that always can be.
func toJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// jsonColumn scans a JSON column into what it points to; "" leaves it as it is.
type jsonColumn struct{ into any }

func (c jsonColumn) Scan(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("a JSON column holds %T", v)
	}
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), c.into)
}

// nanos stores a time, 0 for none. Times beyond the years that nanoseconds can count become the nearest they can.
func nanos(t time.Time) int64 {
	switch {
	case t.IsZero():
		return 0
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// timeColumn scans what nanos stored.
type timeColumn struct{ into *time.Time }

func (c timeColumn) Scan(v any) error {
	n, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a time column holds %T", v)
	}
	if n == 0 {
		*c.into = time.Time{}
		return nil
	}
	*c.into = time.Unix(0, n).UTC()
	return nil
}
