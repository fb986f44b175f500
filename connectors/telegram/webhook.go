package telegram

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/connectors"
	"parley/internal/rest"
)

const (
	maxUpdate  = 4 << 20                     // bytes of a request; the longest messages have some hundred KiB
	hookCheck  = time.Minute                 // how often the webhook is compared with the one that is wanted
	answerTime = handlerTime + 5*time.Second // within this time an update is stored, or the server sends it again
	secretName = "X-Telegram-Bot-Api-Secret-Token"
)

// webhook is the address that Telegram calls. Its path and its secret follow from the token: all
// processes have the same, a new token gets others, and there is nothing to configure or to store. It does not change,
// except for the receiver of updates.
type webhook struct {
	url, path string // url is "" for a bot that polls
	secret    string
	receiver  atomic.Pointer[receiver] // nil while Run does not run
}

// newWebhook returns the webhook of a bot, below the public address of the web listener; "" is of a bot that polls.
func newWebhook(token, base string) *webhook {
	derived := func(what string) string {
		mac := hmac.New(sha256.New, []byte(token))
		mac.Write([]byte(what))
		return hex.EncodeToString(mac.Sum(nil))
	}
	path := "/" + Name + "/" + derived("path of the webhook")[:16]
	w := &webhook{path: path, secret: derived("secret of the webhook")}
	if base != "" {
		w.url = strings.TrimRight(base, "/") + path
	}
	return w
}

// Mount implements [connectors.Mounted].
func (t *Telegram) Mount() (path string, h http.Handler) {
	if !t.Sharded() || t.wrong != nil {
		return "", nil
	}
	return t.hook.path, t.hook
}

// Sharded implements [connectors.Sharded]: Telegram calls any process.
func (t *Telegram) Sharded() bool { return t.config.WebhookURL != "" }

// ServeHTTP takes one update. Success means that it is stored, or that it never can be. After every other response the
// server sends it again, and meanwhile no later update of its chat.
func (w *webhook) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || !hmac.Equal([]byte(r.Header.Get(secretName)), []byte(w.secret)) {
		http.Error(rw, "This address is for Telegram only.", http.StatusUnauthorized)
		return
	}
	re := w.receiver.Load()
	if re == nil {
		later(rw)
		return
	}
	raw, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxUpdate))
	switch tooLarge := (*http.MaxBytesError)(nil); {
	case errors.As(err, &tooLarge):
		re.log.Error("an update is too large and is skipped", "limit", maxUpdate)
	case err != nil:
		later(rw)
	case !re.take(r.Context(), raw):
		later(rw)
	}
}

// later asks the server to send an update again.
func later(rw http.ResponseWriter) {
	rw.Header().Set("Retry-After", "1")
	http.Error(rw, "Try again.", http.StatusServiceUnavailable)
}

// receiver takes updates from the webhook for one Run.
type receiver struct {
	*updates
	events  *connectors.Intake[int64, int]
	closing chan struct{}
	told    int64 // the time of the last error of the server that was logged

	mu sync.Mutex
	// pending has the updates that are being delivered; a channel is closed when its update is done. The server sends an
	// update again if it got no response in time.
	pending map[int]chan struct{}
}

func newReceiver(t *Telegram, h connectors.Handler) *receiver {
	re := &receiver{updates: newUpdates(t, h), closing: make(chan struct{}), pending: map[int]chan struct{}{}}
	re.told = time.Now().Unix() // errors from before the start are over
	return re
}

// run accepts updates until ctx is done or the token is rejected; the latter is its only error.
func (re *receiver) run(ctx context.Context) error {
	requests, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	re.answers = newAnswers(requests, re.tellPress, re.log)
	re.events = newEvents(ctx, re.log)
	defer func() {
		re.hook.receiver.Store(nil)
		close(re.closing)
		re.events.Close()
		late := time.AfterFunc(byeTime, cancel)
		defer late.Stop()
		re.answers.wait()
	}()
	for fails := 0; ctx.Err() == nil; {
		err := re.begin(ctx)
		switch {
		case errors.Is(err, errRevoked):
			return err
		case err == nil:
			fails = 0
			_ = rest.For(ctx, hookCheck)
		case ctx.Err() == nil:
			fails++
			wait := pause(err, fails, mostWait)
			re.log.Warn("can't set the webhook", "wait", wait, "err", err)
			_ = rest.For(ctx, wait)
		}
	}
	return nil
}

// begin accepts updates, and sets the webhook if it differs: another program can have changed it.
func (re *receiver) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := re.prepare(ctx); err != nil {
		return err
	}
	re.hook.receiver.Store(re)
	now, err := re.webhook(ctx)
	if err != nil {
		return err
	}
	if now.URL == re.hook.url && re.requests(now.Allowed) {
		if now.ErrorAt > re.told && now.Pending > 0 {
			re.told = now.ErrorAt
			re.log.Warn("Telegram can't deliver messages to the webhook", "url", now.URL, "reason", now.Error, "waiting", now.Pending)
		}
		return nil
	}
	re.log.Info("setting the webhook", "url", re.hook.url)
	var done bool
	return re.client.call(ctx, "setWebhook", tgbotapi.Params{
		"url": re.hook.url, "secret_token": re.hook.secret, "allowed_updates": re.allowed(), "drop_pending_updates": "false",
	}, &done)
}

// requests reports whether kinds are those that allowed lists, in any order.
func (re *receiver) requests(kinds []string) bool {
	var own []string
	for _, h := range re.handlers() {
		own = append(own, h.kind)
	}
	return slices.Equal(slices.Sorted(slices.Values(own)), slices.Sorted(slices.Values(kinds)))
}

// take delivers an update and reports whether it is done. One that is being delivered already is not delivered twice.
func (re *receiver) take(ctx context.Context, raw json.RawMessage) bool {
	id, ok := updateID(raw)
	if !ok {
		re.log.Error("an update without an id is skipped")
		return true
	}
	done, ok := re.add(id, raw)
	if !ok {
		return false
	}
	late := time.NewTimer(answerTime)
	defer late.Stop()
	select {
	case <-done:
		return true
	case <-late.C:
	case <-re.closing:
	case <-ctx.Done():
	}
	select {
	case <-done: // also when it ends at the same moment
		return true
	default:
		return false
	}
}

// add queues an update, and returns a channel that is closed when it is done; ok is false without room for it.
func (re *receiver) add(id int, raw json.RawMessage) (done chan struct{}, ok bool) {
	re.mu.Lock()
	defer re.mu.Unlock()
	if done := re.pending[id]; done != nil {
		return done, true
	}
	done = make(chan struct{})
	chat, e, ok := delivery(id, raw, re.handlers(), re.log)
	if !ok {
		close(done)
		return done, true
	}
	handle := e.Deliver
	e.Deliver = func(ctx context.Context) error {
		if err := re.moves.refresh(ctx, chat); err != nil {
			return err
		}
		return handle(ctx)
	}
	e.Done = func() {
		re.mu.Lock()
		defer re.mu.Unlock()
		delete(re.pending, id)
		close(done)
	}
	if !re.events.Add(chat, e) {
		return nil, false
	}
	re.pending[id] = done
	return done, true
}

// hookInfo is the part of WebhookInfo that is used.
type hookInfo struct {
	URL     string   `json:"url"` // empty if there is no webhook
	Pending int      `json:"pending_update_count"`
	ErrorAt int64    `json:"last_error_date"`
	Error   string   `json:"last_error_message"`
	Allowed []string `json:"allowed_updates"`
}

// webhook returns the bot's webhook.
func (t *Telegram) webhook(ctx context.Context) (info hookInfo, err error) {
	err = t.client.call(ctx, "getWebhookInfo", nil, &info)
	return info, err
}

// describe describes the webhook and the next change of it, for the owner. want is the URL that the gateway sets.
func (i hookInfo) describe(want string) string {
	var text string
	switch {
	case i.URL == "" && want == "":
		return ""
	case i.URL == "":
		return "; it has no webhook yet; the gateway sets it at startup"
	case want == "":
		text = "; its webhook will be removed at startup; waiting messages are kept"
	case i.URL != want:
		text = "; its webhook is " + i.URL + "; the gateway replaces it at startup, and waiting messages are kept"
	default:
		text = "; its webhook is set"
	}
	text += fmt.Sprintf("; %d updates wait", i.Pending)
	if i.ErrorAt > 0 {
		text += fmt.Sprintf("; Telegram's last error, at %s: %s", time.Unix(i.ErrorAt, 0).UTC().Format(time.RFC3339), i.Error)
	}
	return text
}
