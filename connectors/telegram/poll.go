package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/connectors"
	"parley/internal/rest"
)

const (
	pollTime  = 50 * time.Second // the longest long poll that the server allows
	pollGrace = 15 * time.Second // a poll without a response for this much longer is abandoned
	callTime  = 15 * time.Second // of every other request
	byeTime   = 3 * time.Second
	leastWait = time.Second
	mostWait  = time.Minute
	// With so many failures in a row, the bot counts as not connected: a dropped connection causes two.
	mostFails = 3
	// An empty poll should take pollTime. One that takes less than this did not wait at all.
	hasty     = time.Second
	leastIdle = 200 * time.Millisecond // pause after an empty poll that returned at once; it doubles each time
	mostIdle  = 2 * time.Second
)

// poller takes updates from the server for one Run. It belongs to one goroutine, that of run, except for its updates.
type poller struct {
	*updates
	intake *intake
	offset int           // confirms all earlier updates; 0 when there is nothing to confirm
	fails  int           // consecutive failures
	away   *atomic.Bool  // see [Telegram]
	idle   time.Duration // the pause after the last empty poll that returned at once, or 0
	// begun is whether the setup requests have succeeded.
	begun bool
}

func newPoller(t *Telegram, h connectors.Handler) *poller {
	return &poller{updates: newUpdates(t, h), away: &t.away}
}

// run polls until ctx is done or the token is rejected; the latter is its only error. When it returns, each update that
// was taken is done or left to the server, and the server knows which.
func (p *poller) run(ctx context.Context) error {
	requests, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.answers = newAnswers(requests, p.tellPress, p.log)
	p.intake = newIntake(ctx, p.log)
	// The order of the end: first the updates that were taken are delivered, which may press buttons; then they are
	// confirmed, and the answers to presses are sent. Both share one deadline. The requests' context does not end with
	// ctx, which is done here.
	defer func() {
		defer cancel()
		if offset := p.intake.close(); p.offset != 0 {
			p.offset = offset
		}
		late := time.AfterFunc(byeTime, cancel)
		defer late.Stop()
		p.bye(ctx)
		p.answers.wait()
	}()
	defer p.away.Store(false)
	for ctx.Err() == nil {
		err := p.turn(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errRevoked):
			return err
		case err == nil:
			p.fails = 0
			p.away.Store(false)
			continue
		}
		p.fails++
		p.away.Store(p.fails >= mostFails && !errors.Is(err, errKept))
		wait := p.pause(err)
		p.report(err, wait)
		_ = rest.For(ctx, wait)
	}
	return nil
}

// turn makes one step: the setup requests first, then polls. A poll blocks for up to pollTime.
func (p *poller) turn(ctx context.Context) error {
	if !p.begun {
		return p.begin(ctx)
	}
	asked := time.Now()
	batch, err := p.poll(ctx)
	if err != nil {
		return p.freed(ctx, err)
	}
	if p.rest(ctx, time.Since(asked), p.news(batch)); len(batch) == 0 {
		// An empty poll means that all earlier updates are confirmed. The offset must not be kept: after a week without
		// updates, the server may continue with any number, and lower ids would be taken for confirmed ones.
		p.offset = 0
		return nil
	}
	p.offset, err = p.intake.take(batch, p.handlers())
	return err
}

// news reports whether batch holds anything that the last offset did not confirm. Only then a quick response is a good
// sign.
func (p *poller) news(batch []json.RawMessage) bool {
	return slices.ContainsFunc(batch, func(raw json.RawMessage) bool {
		id, ok := updateID(raw)
		return ok && id >= p.offset
	})
}

// rest pauses after a poll that took the given time. A server that ignores the poll timeout would otherwise get
// thousands of requests a second, so pauses grow while polls return empty at once.
func (p *poller) rest(ctx context.Context, took time.Duration, news bool) {
	switch {
	case news || took >= pollTime:
		p.idle = 0
	case took < hasty:
		p.idle = min(max(2*p.idle, leastIdle), mostIdle)
		_ = rest.For(ctx, p.idle)
	}
}

// begin makes the server queue updates for polling, which a webhook prevents.
func (p *poller) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := p.prepare(ctx); err != nil {
		return err
	}
	hook, err := p.webhook(ctx)
	if err != nil {
		return err
	}
	if hook.URL != "" {
		p.log.Warn("the bot had a webhook; it was removed, because the gateway polls")
		if err := p.deleteWebhook(ctx); err != nil {
			return err
		}
	}
	p.begun = true
	return nil
}

// freed removes a webhook that prevents polling, because another program has set it meanwhile. It returns err in any
// case, so that polling pauses: two programs that both insist should do that slowly.
func (p *poller) freed(ctx context.Context, err error) error {
	var r *refusal
	if !errors.As(err, &r) || r.code != 409 || !r.says("webhook") {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return errors.Join(err, p.deleteWebhook(ctx))
}

// poll asks for updates, and confirms all before the offset by doing so. The limit is the server's default of 100.
func (p *poller) poll(ctx context.Context) (batch []json.RawMessage, err error) {
	ctx, cancel := context.WithTimeout(ctx, pollTime+pollGrace)
	defer cancel()
	err = p.client.call(ctx, "getUpdates", tgbotapi.Params{
		"offset": strconv.Itoa(p.offset), "timeout": strconv.Itoa(int(pollTime / time.Second)), "allowed_updates": p.allowed(),
	}, &batch)
	return batch, err
}

// bye confirms the delivered updates, so that they are not redelivered after a restart. A poll is the only way to do
// that; its updates are ignored and stay unconfirmed.
func (p *poller) bye(ctx context.Context) {
	if p.offset == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), byeTime)
	defer cancel()
	var rest []json.RawMessage
	err := p.client.call(ctx, "getUpdates", tgbotapi.Params{
		"offset": strconv.Itoa(p.offset), "limit": "1", "timeout": "0", "allowed_updates": p.allowed(),
	}, &rest)
	if err != nil {
		p.log.Debug("can't confirm the last updates; they will arrive again", "err", err)
	}
}

// pause returns how long to wait after err.
func (p *poller) pause(err error) time.Duration {
	if errors.Is(err, errKept) {
		return pause(err, p.fails, keptWait) // the server can be asked without harm
	}
	return pause(err, p.fails, mostWait)
}

// pause returns how long to wait after err, the last of several failures in a row: the server's demand, or an increasing
// back-off of at most longest, with jitter.
func pause(err error, fails int, longest time.Duration) time.Duration {
	var r *refusal
	if errors.As(err, &r) && r.after > 0 {
		return r.after
	}
	wait := min(leastWait<<min(fails-1, 10), longest)
	return wait/2 + rand.N(wait/2+1)
}

// report logs what prevents polling. It is rare, because the pauses grow.
func (p *poller) report(err error, wait time.Duration) {
	log := p.log.With("wait", wait, "err", err)
	var r *refusal
	switch {
	case errors.Is(err, errKept):
		log.Error("messages can't be stored; Telegram keeps them and they will be retried")
	case !errors.As(err, &r):
		log.Warn("can't reach Telegram")
	case r.code == 409 && r.says("webhook"):
		log.Warn("a webhook was set for this bot; it was removed, because the gateway polls")
	// A dropped connection also causes one conflict: the server still serves the poll that was lost.
	case r.code == 409 && p.fails == 1:
		log.Warn("another process fetched this bot's messages")
	// Another process polls with the same token. The lease prevents that only between processes with the same store.
	case r.code == 409:
		log.Error("another process is fetching this bot's messages, so none arrive here. " +
			"Stop the other process, or get a new token from @BotFather (/revoke) and use it only here")
	default:
		log.Warn("Telegram refused a request")
	}
}
