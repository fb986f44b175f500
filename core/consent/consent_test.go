package consent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/consent"
	"parley/internal/lang"
)

// run is a run that asks.
type run struct {
	chose  chat.Question
	chosen bool
	waited bool
	parks  error // the result of Park
	asked  *action.Wait
}

func (r *run) Chose(context.Context, string) (chat.Question, bool, error) {
	return r.chose, r.chosen, nil
}

func (r *run) Waited(string) bool { return r.waited }

func (r *run) Park(_ context.Context, _ string, w action.Wait) error {
	r.asked = &w
	return r.parks
}

func (r *run) park(ctx context.Context, w action.Wait) error { return r.Park(ctx, "", w) }

func TestStates(t *testing.T) {
	for name, c := range map[string]struct {
		run  run
		want consent.State
	}{
		"not asked":                         {run{}, consent.Open},
		"chosen":                            {run{chosen: true, waited: true}, consent.Chosen},
		"chosen before the run was parked":  {run{chosen: true}, consent.Chosen},
		"the time is over without a choice": {run{waited: true}, consent.Late},
	} {
		if got, _, err := consent.Of(t.Context(), &c.run, "subject"); err != nil || got != c.want {
			t.Errorf("%s: %d, %v; want %d", name, got, err, c.want)
		}
	}
}

// Whatever Park returns, Ask never returns as if users had agreed.
func TestAskIsNoConsent(t *testing.T) {
	broken := errors.New("broken")
	ended, end := context.WithCancelCause(t.Context())
	end(chat.ErrSuperseded)
	for name, c := range map[string]struct {
		ctx     context.Context //nolint:containedctx // of the table
		parks   error
		options []string
		state   consent.State
		want    error
	}{
		"it waits":                           {t.Context(), chat.ErrParked, []string{"Yes"}, consent.Open, chat.ErrParked},
		"it waits for a choice elsewhere":    {t.Context(), chat.ErrParked, nil, consent.Open, chat.ErrParked},
		"users don't see it":                 {t.Context(), chat.ErrUnseen, []string{"Yes"}, consent.Unseen, nil},
		"there is nothing to see":            {t.Context(), chat.ErrUnseen, nil, consent.Open, chat.ErrUnseen},
		"the turn ended while it was asking": {ended, broken, []string{"Yes"}, consent.Open, chat.ErrSuperseded},
		"the store fails":                    {t.Context(), broken, []string{"Yes"}, consent.Open, broken},
	} {
		r := run{parks: c.parks}
		state, err := consent.Ask(c.ctx, &r, consent.Request{Subject: "subject", Options: c.options, From: []chat.EntityID{"ada"}, Lasting: true})
		if state != c.state || !errors.Is(err, c.want) {
			t.Errorf("%s: %d, %v; want %d, %v", name, state, err, c.state, c.want)
		}
		if r.asked.For != "subject" || !r.asked.Lasting || (r.asked.Ask != nil) != (c.options != nil) {
			t.Errorf("%s: waits for %+v", name, r.asked)
		}
	}
	if state, err := consent.Ask(t.Context(), &run{}, consent.Request{Options: []string{"Yes"}}); err == nil || state != consent.Open {
		t.Errorf("a run that does not wait: %d, %v", state, err)
	}
}

// A process can end after it has shown the next field, before the run waits for it: the next one asks for that field again, with the earlier values.
func TestFormContinuesAtTheOpenField(t *testing.T) {
	fields := []answer.Field{{Name: "a", Title: "A", Kind: answer.TextField}, {Name: "b", Title: "B", Kind: answer.TextField}}
	until := time.Now().Add(time.Hour)
	asked, _ := chat.FormQuestion(lang.In("en"), chat.Form{Fields: []answer.Field{{Name: "a", Title: "A", Kind: answer.TextField, Value: "x", Done: true}, fields[1]}}, "")
	asked.ID, asked.Payload, asked.Expires = "id", "subject", until
	late, other := asked, asked
	late.Expires, other.Payload = time.Now().Add(-time.Second), "another"
	for name, c := range map[string]struct {
		q    chat.Question
		want bool
	}{
		"the field is open":           {asked, true},
		"its time is over":            {late, false},
		"the question is another one": {other, false},
	} {
		r := run{chose: c.q, waited: true, parks: chat.ErrParked}
		call := (&action.Block{Answer: new(answer.Answer), ID: "c", Name: "c"}).Call(t.Context(), nil, action.TurnContext{}, nil, action.Host{Chose: r.Chose, Waited: r.Waited, Park: r.park})
		_, _, state, err := consent.Form(t.Context(), call, "subject", "", fields, time.Now())
		if again := r.asked != nil; again != c.want || again != errors.Is(err, chat.ErrParked) || (state == consent.Late) == c.want {
			t.Errorf("%s: %d, %v, asks again: %v; want %v", name, state, err, again, c.want)
		} else if again && (r.asked.Ask.ID != "id" || !r.asked.Ask.Fields[0].Done || !r.asked.Until.Equal(until)) {
			t.Errorf("%s: it asks for %+v", name, r.asked.Ask)
		}
	}
}

func TestQuote(t *testing.T) {
	if got, ok := consent.Quote("a`b\u202ec"); !ok || strings.ContainsAny(got, "`\u202e") {
		t.Errorf("quoted as %q, %v", got, ok)
	}
	if _, ok := consent.Quote(strings.Repeat("ä", 1500)); !ok {
		t.Error("1,500 characters are refused")
	}
	if _, ok := consent.Quote(strings.Repeat("ä", 1501)); ok {
		t.Error("1,501 characters are accepted")
	}
}
