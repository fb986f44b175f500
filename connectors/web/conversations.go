package web

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
)

const (
	// shown is how many messages a reload shows.
	shown = 200
	// maxReply is the maximum size of such a reply in bytes, unless a single message is larger.
	maxReply = 4 << 20
	// maxBuilding is how many conversations are read concurrently, and maxReplies how many bytes of them are held for
	// their readers.
	maxBuilding = 8
	maxReplies  = 128 << 20
	// turnWait is how long a reader waits for capacity.
	turnWait = 10 * time.Second
)

// errCrowded means that no capacity became available in time.
var errCrowded = errors.New("too many others are reading")

// roomOf returns the room of a conversation. Its id is the permission to read and write there: it has 128 random bits.
func roomOf(id string) chat.RoomID { return chat.RoomID(Name + "/" + id) }

// newID returns 128 random bits. The generator is cryptographic, because the id is a permission.
func newID() string {
	return hex.EncodeToString(random(16))
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}

// open creates a conversation: POST /api/conversations. It is stored, so the number per hour and address is limited.
func (w *Web) open(_ http.ResponseWriter, r *http.Request) (any, *refusal) {
	if no := w.charge(r, w.openings); no != nil {
		return nil, no
	}
	id := newConversationID(readerOf(r))
	room, no := door{w}.create(r, id)
	return created{openReply{opened{id, room.Created.UTC().Format(time.RFC3339)}}}, no
}

// openReply is the reply to a request for a conversation.
type openReply struct {
	Conversation opened `json:"conversation"`
}

type opened struct {
	ID        string `json:"id"`
	CreatedAt string `json:"createdAt"`
}

// room returns the conversation that the request names, or answers the request.
func (w *Web) room(rw http.ResponseWriter, r *http.Request) (chat.Room, bool) {
	room, no := door{w}.conversation(r, r.PathValue("id"))
	if no != nil {
		no.reply(rw)
	}
	return room, no == nil
}

// message is a message as a reload shows it.
type message struct {
	ID              string          `json:"id"`
	Role            string          `json:"role"`
	Text            string          `json:"text"`
	Timestamp       int64           `json:"timestamp"` // milliseconds since 1970
	ClientMessageID string          `json:"clientMessageId,omitempty"`
	ReplyTo         string          `json:"replyToMessageId,omitempty"`
	Person          string          `json:"person,omitempty"` // who wrote it, instead of the agent
	Files           []attached      `json:"files,omitempty"`  // the attachments
	History         []string        `json:"actionCallbackHistory,omitempty"`
	Tools           []frame         `json:"tools,omitempty"`
	Interrupted     bool            `json:"interrupted,omitempty"`
	FailureKind     llm.FailureKind `json:"failureKind,omitempty"`
	Choices         *answer.Choices `json:"choices,omitempty"`  // the options that are still open
	Waiting         bool            `json:"waiting,omitempty"`  // the answer continues after a choice
	Feedback        *rating         `json:"feedback,omitempty"` // the reader's
}

// history replies with the conversation, oldest message first. Both the number of replies being built and the bytes
// held for slow readers are bounded, for each address and in total. The first bound is given back when the reply is
// built, so that a slow reader does not keep others from building theirs.
func (w *Web) history(rw http.ResponseWriter, r *http.Request) {
	room, ok := w.room(rw, r)
	if !ok {
		return
	}
	who := caller{from: w.guard.client(r)}
	soon, cancel := context.WithTimeoutCause(r.Context(), turnWait, errCrowded)
	defer cancel()
	if err := w.building.wait(soon, who, 1); err != nil {
		w.broken(rw, "wait to read a conversation", err)
		return
	}
	lines, size, err := w.lines(r, room.ID)
	held := min(size, w.replies.each) // a message over the limit is sent alone
	if err == nil {
		err = w.replies.wait(soon, who, held)
	}
	w.building.give(who, 1)
	if err != nil {
		w.broken(rw, "read a conversation", err)
		return
	}
	defer w.replies.give(who, held)
	writeLines(rw, lines)
}

// lines returns the newest messages of a conversation as JSON, newest first: as many as a reload shows and a reply can
// hold. size is their length.
func (w *Web) lines(r *http.Request, room chat.RoomID) (lines [][]byte, size int64, err error) {
	ctx, who := r.Context(), readerOf(r)
	recent, err := w.recent(ctx, room)
	if err != nil {
		return nil, 0, err
	}
	rated, err := door{w}.ratings(r, room)
	if err != nil {
		return nil, 0, fmt.Errorf("read the ratings: %w", err)
	}
	offers, err := w.offers(ctx, room)
	if err != nil {
		return nil, 0, fmt.Errorf("read the open question: %w", err)
	}
	var all []message
	for _, m := range recent {
		var offer *answer.Choices
		if q, ok := offers[m.ID]; ok {
			offer = choicesOf(q)
		}
		of := w.line(room, m, who, offer)
		of.Feedback = rated[m.ID]
		all = append(all, of)
	}
	for _, of := range slices.Backward(append(all, w.waiting(ctx, offers, recent)...)) {
		line, err := json.Marshal(of)
		if err != nil {
			return nil, 0, fmt.Errorf("encode message %s: %w", of.ID, err)
		}
		if size += int64(len(line)); size > maxReply && len(lines) > 0 {
			return lines, size - int64(len(line)), nil
		}
		lines = append(lines, line)
	}
	return lines, size, nil
}

// line returns m as a reload shows it to who; offer holds the options that are still open. A client needs its own id of a
// message (clientMessageId) to recognize one that it has sent.
func (w *Web) line(room chat.RoomID, m chat.Memory, who reader, offer *answer.Choices) message {
	line := message{
		ID: string(m.ID), Role: "assistant", Text: m.Text, Timestamp: m.At.UnixMilli(), ReplyTo: string(m.InReplyTo),
		History: m.History, Tools: wishes{details: who.details}.pastTools(m), Interrupted: m.Interrupted, FailureKind: m.Failure, Choices: offer,
	}
	if line.Person, _ = m.ByPerson(); !w.opts.wrote(m) {
		line.Role, line.Files = "user", attachedTo(m)
		if key, ok := strings.CutPrefix(string(m.ID), string(room)+"/"); ok { // the others are pressed options
			line.ClientMessageID = key
		}
	}
	return line
}

// writeLines replies with lines in chronological order: they come newest first. The reply is written piece by piece, so
// that it is not held a second time as a whole.
func writeLines(rw http.ResponseWriter, lines [][]byte) {
	rw.Header().Set("Content-Type", "application/json; charset=utf-8")
	between := `{"messages":[`
	for _, line := range slices.Backward(lines) {
		if _, err := io.WriteString(rw, between); err != nil {
			return // the reader has disconnected
		}
		if _, err := rw.Write(line); err != nil {
			return
		}
		between = ","
	}
	if len(lines) == 0 {
		_, _ = io.WriteString(rw, between)
	}
	_, _ = io.WriteString(rw, "]}\n")
}

// stop ends the running answer: POST …/stop.
func (w *Web) stop(_ http.ResponseWriter, r *http.Request) (any, *refusal) {
	room, no := door{w}.conversation(r, r.PathValue("id"))
	if no == nil {
		no = door{w}.stopAnswers(r, room.ID)
	}
	return okReply{true}, no
}

// stopAnswers ends the running answers in a room.
func (d door) stopAnswers(r *http.Request, room chat.RoomID) *refusal {
	if _, err := d.web.submit(r.Context(), chat.Command{Room: room, Author: readerOf(r).author(room), Name: chat.Stop}); err != nil {
		return d.web.failures.refuse("stop an answer", err)
	}
	return nil
}

// wrote reports whether the agent is the author of m.
func (o *Options) wrote(m chat.Memory) bool { return m.Author == chat.EntityID(o.Agent.ID) }

// allow charges the request to its sender, or answers it with 429.
func (w *Web) allow(rw http.ResponseWriter, r *http.Request, l *limiter) bool {
	no := w.charge(r, l)
	if no != nil {
		no.reply(rw)
	}
	return no == nil
}

// charge counts the request against a limit of its sender, unless that is reached: of the visitor, then of the address,
// which many visitors can share, and of the site. A key has a limit of its own instead, because a server uses it for many.
func (w *Web) charge(r *http.Request, l *limiter) *refusal {
	var wait time.Duration
	for by, n := range (door{w}).charged(r, l) {
		if wait = l.takeOf(by, n); wait > 0 {
			break
		}
	}
	return tooMany(wait)
}

// refund undoes charge.
func (d door) refund(r *http.Request, l *limiter) {
	for by, n := range d.charged(r, l) {
		l.refund(by, n)
	}
}

// charged returns the subjects that a request counts for, with their limits.
func (d door) charged(r *http.Request, l *limiter) iter.Seq2[caller, int] {
	return func(yield func(caller, int) bool) {
		who, from := readerOf(r), d.web.guard.client(r)
		if who.id == "" || who.owner {
			if yield(caller{from: from}, l.n) && !who.owner {
				yield(caller{site: d.web.guard.site(r)}, l.n*crowd)
			}
			return
		}
		n := l.n
		if who.perMinute > 0 && d.web.opts.Limits.MessagesPerMinute > 0 {
			n = max(1, n*who.perMinute/d.web.opts.Limits.MessagesPerMinute)
		}
		if yield(caller{who: who.id}, n) && who.perMinute == 0 && yield(caller{from: from, shared: true}, l.n*office) && !who.known {
			yield(caller{site: d.web.guard.site(r)}, l.n*crowd)
		}
	}
}

// tooMany refuses a request for some time, unless that is 0.
func tooMany(wait time.Duration) *refusal {
	if wait == 0 {
		return nil
	}
	no := refused(http.StatusTooManyRequests, "refused.slow_down")
	no.wait = wait
	return no
}

// broken answers a request after an internal error.
func (w *Web) broken(rw http.ResponseWriter, what string, err error) {
	w.failures.refuse(what, err).reply(rw)
}

// retryLater tells the client when to try again, in whole seconds.
func retryLater(rw http.ResponseWriter, wait time.Duration) {
	rw.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
}

// reply answers a request with JSON.
func reply(rw http.ResponseWriter, status int, body any) {
	rw.Header().Set("Content-Type", "application/json; charset=utf-8")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(body) // the reader has disconnected
}
