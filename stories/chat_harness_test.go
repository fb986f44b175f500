package stories_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/config"
	"parley/config/configtest"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/connectors/connectortest/telegramworld"
	"parley/connectors/discord"
	"parley/connectors/telegram"
	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/lang"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/sim"
)

// platform is a platform that tests run on.
type platform struct {
	name      string
	address   string // where its server listens
	newServer func() (connectortest.Platform, error)
	enable    func(c *config.Config, w connectortest.Platform, url string) (token string) // turns the connector on
	// orphans reports that a create whose fate is unknown can't be asked for again (TR-12): what it may have left stays, and
	// a last word is sent once more, marked.
	noLookup bool
}

// serve starts the platform's server on a port of its own, turns its connector on, and makes Ada an owner there.
func (p platform) serve(t *testing.T, cfg *config.Config) connectortest.Platform {
	t.Helper()
	w := require.Value(p.newServer())(t)
	api := httptest.NewServer(w.Handler())
	t.Cleanup(func() { api.CloseClientConnections(); api.Close(); w.Close() })
	p.enable(cfg, w, api.URL)
	cfg.People.Owners = append(cfg.People.Owners, config.Account(w.Account(connectortest.Ada)))
	return w
}

func platforms() []platform {
	return []platform{
		{
			name: "telegram", address: "telegram.test:80", noLookup: true,
			newServer: func() (connectortest.Platform, error) { return telegramworld.New() },
			enable: func(c *config.Config, w connectortest.Platform, url string) string {
				token := w.(*telegramworld.Platform).Fake.Token()
				configtest.Section[telegram.Config](c.Connectors).Token, configtest.Section[telegram.Config](c.Connectors).APIURL = config.Secret(token), url
				return token
			},
		},
		{
			name: "discord", address: "discord.test:80",
			newServer: func() (connectortest.Platform, error) { return discordworld.New() },
			enable: func(c *config.Config, w connectortest.Platform, url string) string {
				token := w.(*discordworld.Platform).Fake.Token()
				configtest.Section[discord.Config](c.Connectors).Token, configtest.Section[discord.Config](c.Connectors).APIURL = config.Secret(token), url
				return token
			},
		},
	}
}

// chatHarness is a harness with users on a platform.
type chatHarness struct {
	*harness
	connectortest.Platform
	platform
	ada, group connectortest.Room

	allowedOrphans int             // messages that belong to no run, as far as they can't be avoided
	forgotten      map[string]bool // messages that are shown although the store has forgotten them
}

// isInexact reports whether people can see something else of a run than what is remembered: it is forgotten, an orphan, or was
// refused.
func (c *chatHarness) isInexact(run chat.Run) bool {
	if len(run.Shown) == 0 {
		return c.forgotten[""]
	}
	return slices.ContainsFunc(run.Shown, func(s chat.Shown) bool { return c.forgotten[s.ID] || s.ID == "" && c.allowedOrphans > 0 })
}

// onEachPlatform runs a test on every platform. Ada and Bob are invited, Eve is a stranger.
func onEachPlatform(t *testing.T, edit func(*config.Config), play func(*chatHarness)) {
	t.Helper()
	for _, p := range platforms() {
		t.Run(p.name, func(t *testing.T) { onPlatform(t, p, edit, play) })
	}
}

func onPlatform(t *testing.T, p platform, edit func(*config.Config), play func(*chatHarness)) {
	t.Helper()
	onPlatformBehind(t, p, edit, nil, play)
}

// onPlatformBehind puts something between the gateway and the platform's server.
func onPlatformBehind(t *testing.T, p platform, edit func(*config.Config), wrap func(http.Handler) http.Handler, play func(*chatHarness)) {
	t.Helper()
	c := &chatHarness{platform: p}
	withPreparedGateway(t, func(s *harness) {
		w := require.Value(p.newServer())(s)
		c.harness, c.Platform = s, w
		h := w.Handler()
		if wrap != nil {
			h = wrap(h)
		}
		connectortest.Serve(s.T, s.listen(p.address), afterLatency(h))
		s.Cleanup(func() { w.Close(); time.Sleep(latency) })
		c.invite(&s.cfg, "http://"+strings.TrimSuffix(p.address, ":80"))
		if edit != nil {
			edit(&s.cfg)
		}
		s.servers = append(s.servers, p.address)
		s.checks = append(s.checks, c.collectEvidence)
	}, func(*harness) {
		c.Pass(10 * time.Second) // to log in
		play(c)
		c.Pass(time.Minute)
		c.WaitIdle()
	})
}

// afterLatency delays each request, as a network does.
func afterLatency(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(latency)
		h.ServeHTTP(w, r)
	})
}

const latency = 20 * time.Millisecond

// WaitIdle waits for messages that are on their way, and then until nothing is owed.
func (c *chatHarness) WaitIdle() {
	c.Helper()
	c.Pass(time.Second)
	c.harness.WaitIdle()
}

// invite turns the connector on, and lets Ada and Bob in.
func (c *chatHarness) invite(cfg *config.Config, url string) {
	c.ada, c.group = c.Direct(connectortest.Ada), c.Group()
	c.secrets = append(c.secrets, c.enable(cfg, c.Platform, url))
	for _, who := range []connectortest.User{connectortest.Ada, connectortest.Bob} {
		cfg.People.Allowed = append(cfg.People.Allowed, config.Member(c.Account(who)))
	}
}

// waitShown waits until the bot's last message in a room holds part.
func (c *chatHarness) waitShown(in connectortest.Room, part string) {
	c.Helper()
	for range 20 * 3600 {
		synctest.Wait()
		if own := connectortest.BotTexts(c, in); len(own) > 0 && strings.Contains(own[len(own)-1], part) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.Fatalf("%q was not shown, but %q", part, connectortest.BotTexts(c, in))
}

// wantShown waits until nothing is owed, and compares what the bot's messages in a room say.
func (c *chatHarness) wantShown(in connectortest.Room, texts ...string) {
	c.Helper()
	c.WaitIdle()
	if got := connectortest.BotTexts(c, in); !slices.Equal(got, texts) {
		c.Errorf("in %s people read %q; want %q", in, got, texts)
	}
}

// wantModelCalls wants the model to have been asked so often.
func (s *harness) wantModelCalls(times int) {
	s.Helper()
	if n := len(s.model.Requests()); n != times {
		s.Errorf("the model was asked %d times; want %d", n, times)
	}
}

// modelRequest is the n-th question to the model.
func (c *chatHarness) modelRequest(n int) string {
	c.Helper()
	all := c.model.Requests()
	if n >= len(all) {
		c.Fatalf("the model was asked %d times", len(all))
	}
	return string(all[n].Raw)
}

// collectEvidence adds what the platform has seen to the evidence, and returns violations that its rules do not cover.
func (c *chatHarness) collectEvidence(e *sim.Evidence) (wrong []string) {
	e.Requests = append(e.Requests, c.Requests()...)
	e.Refused = append(e.Refused, c.Refused()...)
	e.Work = append(e.Work, c.modelWork(e)...)
	for _, p := range c.Pings() {
		wrong = append(wrong, "I11: an unasked ping of "+p)
	}
	standing := map[string]connectortest.Message{}
	for _, in := range c.Rooms() {
		for _, m := range c.Messages(in) {
			if m.ByBot {
				standing[m.ID] = m
			}
		}
	}
	carried := map[string]bool{} // messages of questions: they say what was chosen
	for _, run := range e.Runs {
		for _, s := range run.Shown {
			carried[s.ID] = carried[s.ID] || run.Kind == chat.RunChoiceResult
		}
	}
	for _, run := range e.Runs {
		if run.Address.Connector != c.name {
			continue // the web
		}
		if run.Kind != chat.RunChoiceResult && len(run.Shown) > 0 && carried[run.Shown[0].ID] {
			continue
		}
		wrong = append(wrong, c.collectSights(e, run, standing)...)
	}
	if len(standing) > c.allowedOrphans {
		wrong = append(wrong, fmt.Sprintf("I2: messages that belong to no run: %v", standing))
	}
	return wrong
}

// full is more than half of what any message may hold, in bytes. A message that is full is cut back to where the next
// one begins.
const full = 1500

// collectSights tells what people saw of a run, and takes its messages out of standing.
func (c *chatHarness) collectSights(e *sim.Evidence, run chat.Run, standing map[string]connectortest.Message) (wrong []string) {
	var texts []string
	var files []connectortest.File
	var at time.Time
	for _, s := range run.Shown {
		m, ok := standing[s.ID]
		if !ok {
			continue
		}
		delete(standing, s.ID)
		if strings.HasSuffix(m.Text, pointerMark) {
			continue // it repeats the beginning
		}
		texts = append(texts, strings.TrimSuffix(withoutCalls(m.Text), "\n\n"+lang.Voice{}.Say("message.repeated")))
		files = append(files, m.Files...)
		for i, v := range m.Versions {
			last := v.Text == m.Text
			if i > 0 && !last {
				before, now := m.Versions[i-1].Text, v.Text
				if !beginning.MatchString(now) {
					before = beginning.ReplaceAllString(before, "")
				}
				before, now = without(lasting(before), "⚠️"), lasting(now)  // why a value of a form does not fit gives way, too
				if field := strings.LastIndex(before, "\n\n"); field >= 0 { // and so does the field that is asked: to its value, or to nothing if it is left out
					label, _, _ := strings.Cut(before[field+2:], "\n")
					if strings.Contains(now, "\n"+strings.Trim(label, "*")+": ") || strings.HasSuffix(before, lang.Voice{}.Say("form.optional")) {
						before = before[:field]
					}
				}
				if len(before) < full && len(now) < len(before) {
					wrong = append(wrong, fmt.Sprintf("I4: %s goes back from %q to %q", s.ID, before, now))
				}
			}
			at = v.At
		}
	}
	o := run.Outcome
	switch {
	case o.Withdrawn && len(texts) > 0:
		wrong = append(wrong, fmt.Sprintf("run %s was withdrawn, but %q stands", run.ID, texts))
	case !o.Done() || o.Withdrawn || o.Status == answer.Ignored || c.isInexact(run):
	case len(texts) == 0:
		wrong = append(wrong, fmt.Sprintf("I2: nothing is shown of run %s (%+v), shown %+v", run.ID, o, run.Shown))
	default:
		text := sim.WithoutNotice(putBack(strings.Join(texts, "\n"), files))
		if stored, ok := e.Stored(run.Said()); ok && bare(stored.Text) == bare(text) {
			text = stored.Text // as people read it
		}
		e.Seen = append(e.Seen, sim.Sight{At: at, Reader: string(run.Room), Run: run.ID, Text: text, Last: true})
	}
	return wrong
}

// putBack puts what stands in files, code or the rest of an answer, where the lines about it stand.
func putBack(text string, files []connectortest.File) string {
	for _, f := range files {
		line := regexp.MustCompile("📎 `?" + regexp.QuoteMeta(f.Name) + "`?, [0-9]+ lines?")
		if strings.HasPrefix(f.Type, "text/plain") {
			text = line.ReplaceAllLiteralString(text, string(f.Data))
		}
		if f.Name == "rest-of-answer.md" {
			text = strings.Replace(text, "(The rest of this answer is in the file rest-of-answer.md below.)", string(f.Data), 1)
		}
	}
	return text
}

// pointerMark ends a message that refers to an answer above it.
const pointerMark = " ⬆️"

// withoutCalls is a text without the lines about calls under it.
func withoutCalls(text string) string { return without(text, "⏳", "⚙️", "✅", "❌") }

// lasting is a text without what may give way to something shorter: lines about calls, and statuses of the player.
func lasting(text string) string {
	return without(withoutCalls(text), "✨", "🔁", "❓", "→")
}

// beginning is that of code that becomes a file, and how long it is: it gives way to what follows, and to the file.
var beginning = regexp.MustCompile("(?s)(📎|⏳) [^\n]*\n\n[^…]*…(\n```)?")

// without is a text without the lines that begin with one of these marks.
func without(text string, marks ...string) string {
	lines := strings.Split(text, "\n")
	return strings.TrimRight(strings.Join(slices.DeleteFunc(lines, func(line string) bool {
		mark, _, more := strings.Cut(line, " ")
		return more && slices.Contains(marks, mark)
	}), "\n"), "\n")
}

// bare is what remains of a text however it was marked up and cut.
func bare(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_*`\\-• \n\t\u2060", r) {
			return -1
		}
		return r
	}, text)
}

// modelWork tells the calls of the model that can be told apart by their question.
func (c *chatHarness) modelWork(e *sim.Evidence) (all []sim.Work) {
	asked := map[string]chat.RoomID{}
	for _, run := range e.Runs {
		for _, in := range run.Inputs {
			if m, ok := e.Stored(in); ok {
				asked[m.Text] = m.Room
			}
		}
	}
	for _, q := range c.model.Requests() {
		for text, room := range asked {
			if strings.HasSuffix(q.LastUser(), text) {
				all = append(all, sim.Work{Room: room, From: q.At, To: endOf(q)})
			}
		}
	}
	return all
}

func endOf(q modelfake.Request) time.Time {
	if !q.Cancelled.IsZero() {
		return q.Cancelled
	}
	return q.Ended
}
