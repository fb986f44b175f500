package discordfake

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// incoming is one frame from a client.
type incoming struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  *int            `json:"s"`
	Type *string         `json:"t"`
}

type identifyForm struct {
	Token          string            `json:"token"`
	Properties     map[string]string `json:"properties"`
	Compress       bool              `json:"compress"`
	LargeThreshold int               `json:"large_threshold"`
	Shard          *[2]int           `json:"shard"`
	Presence       *presenceForm     `json:"presence"`
	Intents        *Intents          `json:"intents"`
}

type presenceForm struct {
	Since      *int64 `json:"since"`
	Activities []struct {
		Name  string `json:"name"`
		Type  int    `json:"type"`
		State string `json:"state"`
	} `json:"activities"`
	Status string `json:"status"`
	AFK    bool   `json:"afk"`
}

// line returns the line of a custom status; ok is false for a presence that Discord would refuse.
func (f *presenceForm) line() (line string, ok bool) {
	if f == nil {
		return "", true
	}
	ok = slices.Contains([]string{"online", "idle", "dnd", "invisible"}, f.Status)
	for _, a := range f.Activities {
		ok = ok && a.Name != "" && a.Type == 4 && a.State != "" && utf8.RuneCountInString(a.State) <= 128
		line = a.State
	}
	return line, ok
}

type resumeForm struct {
	Token   string `json:"token"`
	Session string `json:"session_id"`
	Seq     int    `json:"seq"`
}

// handleFrame processes one frame and reports whether it was a heartbeat.
func (s *Server) handleFrame(c *conn, data []byte) (beat bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if code := c.pace(data, now); code != 0 {
		s.rejectFrame(c, code, "gateway send limit: 120 in a minute, 4096 bytes each")
		return false
	}
	var in incoming
	if err := strict(data, &in); err != nil {
		s.rejectFrame(c, closeDecodeError, "gateway frame: "+err.Error())
		return false
	}
	if _, closing := c.out.ended(); closing {
		return false
	}
	switch in.Op {
	case opHeartbeat:
		s.hub.beaten = string(in.Data)
		s.beat(c)
		return true
	case opIdentify:
		s.identify(c, in.Data, now)
	case opResume:
		s.resume(c, in.Data, now)
	case opPresence, opVoiceState, opRequestMembers:
		if c.session == nil {
			s.rejectFrame(c, closeNotLoggedIn, "gateway frame before identify")
		}
	default:
		s.rejectFrame(c, closeUnknownOp, "gateway frame with an unknown op")
	}
	return false
}

// pace returns the close code that a frame's size or haste deserves.
func (c *conn) pace(data []byte, now time.Time) int {
	if len(data) > gatewayMaxPayload {
		return closeDecodeError
	}
	for len(c.sends) > 0 && now.Sub(c.sends[0]) >= gatewaySendsTime {
		c.sends = c.sends[1:]
	}
	c.sends = append(c.sends, now)
	if len(c.sends) > gatewaySendsPerTime {
		return closeRateLimited
	}
	return 0
}

func (s *Server) rejectFrame(c *conn, code int, reason string) {
	s.reject(Request{}, reason)
	c.close(code)
}

func (s *Server) beat(c *conn) {
	s.hub.beats++
	switch {
	case s.hub.dropAcks > 0:
		s.hub.dropAcks--
	case s.hub.dropAcks == 0:
		c.out.put(encode(object{"op": opHeartbeatAck}))
	}
}

func (s *Server) identify(c *conn, data json.RawMessage, now time.Time) {
	var form identifyForm
	err := strict(data, &form)
	line, ok := form.Presence.line()
	if err != nil || !ok || form.Intents == nil || form.Properties == nil || form.old() {
		s.rejectFrame(c, closeDecodeError, "identify: unknown or missing fields")
		return
	}
	seen := Identify{At: now, Intents: *form.Intents, Shard: [2]int{0, 1}, Presence: line}
	if form.Shard != nil {
		seen.Shard = *form.Shard
	}
	switch code := s.loginProblem(c, &form, seen.Shard); {
	case code != 0:
		c.close(code)
	default:
		s.begin(c, &seen, now)
	}
	s.hub.identifies = append(s.hub.identifies, seen)
}

// old reports whether the properties have the names that they had before v10.
func (f *identifyForm) old() bool {
	for name := range f.Properties {
		if strings.HasPrefix(name, "$") {
			return true
		}
	}
	return false
}

// loginProblem is the close code for an identify that cannot succeed, or 0.
func (s *Server) loginProblem(c *conn, form *identifyForm, shard [2]int) int {
	switch intents := *form.Intents; {
	case c.session != nil:
		return closeTwice
	case !s.validToken(form.Token):
		return closeBadToken
	case shard[1] < 1 || shard[0] < 0 || shard[0] >= shard[1]:
		return closeBadShard
	case intents&^knownIntents != 0:
		return closeBadIntents
	case intents&privilegedIntents&^s.opts.privileged != 0:
		return closeDisallowed
	case s.guildsOf(shard) > s.opts.guildsPer:
		return closeTooManyGuilds
	}
	return 0
}

// guildsOf counts the guilds of a shard.
func (s *Server) guildsOf(shard [2]int) (n int) {
	for id := range s.world.guilds {
		if shardOf(id, shard[1]) == shard[0] {
			n++
		}
	}
	return n
}

// validToken takes the token with or without its prefix, as Discord does.
func (s *Server) validToken(token string) bool {
	return s.token != "" && strings.TrimPrefix(token, "Bot ") == s.token
}

// begin starts a session, if the budget has room for it.
func (s *Server) begin(c *conn, seen *Identify, now time.Time) {
	exhausted, crowded := s.hub.starts.spend(seen.Shard[0], s.opts.maxConcurrent, now)
	switch {
	case exhausted:
		s.resetToken()
		c.close(closeBadToken)
		return
	case crowded:
		c.out.put(encode(object{"op": opInvalidSession, "d": false}))
		return
	}
	sn := &session{
		id: "session-" + s.nextID(), intents: seen.Intents, conn: c,
		shard: seen.Shard[0], shards: seen.Shard[1],
	}
	s.hub.sessions[sn.id], c.session = sn, sn
	seen.Accepted, seen.Session = true, sn.id
	s.greet(c, sn)
}

// greet sends READY and the guilds.
func (s *Server) greet(c *conn, sn *session) {
	guilds := []object{}
	var full []event
	for _, g := range s.world.order {
		ev := event{name: "GUILD_CREATE", guild: g.id, data: s.guildObject(g)}
		if sn.wants(ev) {
			guilds = append(guilds, object{"id": g.id, "unavailable": true})
			full = append(full, ev)
		}
	}
	application := s.applicationObject()
	sn.push("READY", encode(object{
		"v": json.RawMessage(c.version), "user": s.bot.object(), "guilds": guilds, "session_id": sn.id,
		"resume_gateway_url": cmp.Or(s.hub.resumeURL, s.opts.gatewayURL, c.url), "shard": [2]int{sn.shard, sn.shards},
		"application": object{"id": application["id"], "flags": application["flags"], "flags_new": application["flags_new"]},
	}))
	if sn.intents&IntentGuilds == 0 {
		return
	}
	for _, ev := range full {
		sn.push(ev.name, encode(ev.data))
	}
}

func (s *Server) resume(c *conn, data json.RawMessage, now time.Time) {
	var form resumeForm
	if err := strict(data, &form); err != nil {
		s.rejectFrame(c, closeDecodeError, "resume: "+err.Error())
		return
	}
	seen := Resume{At: now, Session: form.Session, Seq: form.Seq}
	sn := s.hub.sessions[form.Session]
	switch {
	case s.hub.deaf != 0:
		s.hub.deaf--
	case c.session != nil:
		c.close(closeTwice)
	case !s.validToken(form.Token):
		c.close(closeBadToken)
	case s.refuseResume(c, sn, now):
	case form.Seq > sn.seq:
		sn.end()
		c.close(closeBadSeq)
	default:
		seen.Accepted = true
		s.adopt(c, sn, form.Seq)
	}
	s.hub.resumes = append(s.hub.resumes, seen)
}

// refuseResume answers op 9 if the session is gone or a test wants it so.
func (s *Server) refuseResume(c *conn, sn *session, now time.Time) bool {
	resumable := false
	switch planned := s.hub.refusals; {
	case len(planned) > 0:
		resumable, s.hub.refusals = planned[0], planned[1:]
	case sn.resumable(s.opts.resumeWindow, now):
		return false
	}
	if sn != nil && !resumable {
		sn.end()
	}
	c.out.put(encode(object{"op": opInvalidSession, "d": resumable}))
	return true
}

// adopt gives a session its new connection and what it has missed.
func (s *Server) adopt(c *conn, sn *session, seq int) {
	if old := sn.conn; old != nil {
		old.cut()
	}
	sn.conn, c.session = c, sn
	sn.replay(seq)
	sn.push("RESUMED", encode(object{}))
}
