package stories_test

import (
	"fmt"
	"net/http"
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
	"parley/models/modelfake"
	"parley/progressive"
	"parley/sim"
)

// site is a platform that stories are told on.
type site struct {
	name  string
	at    string // where its server listens
	world func() (connectortest.World, error)
	use   func(c *config.Config, w connectortest.World, url string) (token string) // turns the connector on
	// orphans reports that a create whose fate is unknown can't be asked for again (TR-12): what it may have left stays, and
	// a last word is sent once more, marked.
	orphans bool
}

func sites() []site {
	return []site{
		{
			name: "telegram", at: "telegram.test:80", orphans: true,
			world: func() (connectortest.World, error) { return telegramworld.New() },
			use: func(c *config.Config, w connectortest.World, url string) string {
				token := w.(*telegramworld.World).Fake.Token()
				configtest.Section[telegram.Config](c.Connectors).Token, configtest.Section[telegram.Config](c.Connectors).APIURL = config.Secret(token), url
				return token
			},
		},
		{
			name: "discord", at: "discord.test:80",
			world: func() (connectortest.World, error) { return discordworld.New() },
			use: func(c *config.Config, w connectortest.World, url string) string {
				token := w.(*discordworld.World).Fake.Token()
				configtest.Section[discord.Config](c.Connectors).Token, configtest.Section[discord.Config](c.Connectors).APIURL = config.Secret(token), url
				return token
			},
		},
	}
}

// chatStory is a story with people on a platform.
type chatStory struct {
	*story
	connectortest.World
	site
	ada, group connectortest.Place

	orphans   int             // messages that belong to no run, as far as they can't be avoided
	forgotten map[string]bool // messages that are shown although the store has forgotten them
}

// vague reports whether people can see something else of a run than what is remembered: it is forgotten, an orphan, or was
// refused.
func (c *chatStory) vague(run chat.Run) bool {
	if len(run.Shown) == 0 {
		return c.forgotten[""]
	}
	return slices.ContainsFunc(run.Shown, func(s chat.Shown) bool { return c.forgotten[s.ID] || s.ID == "" && c.orphans > 0 })
}

// onEach plays a story on every platform. Ada and Bob are invited, Eve is a stranger.
func onEach(t *testing.T, edit func(*config.Config), play func(*chatStory)) {
	t.Helper()
	for _, p := range sites() {
		t.Run(p.name, func(t *testing.T) { on(t, p, edit, play) })
	}
}

func on(t *testing.T, p site, edit func(*config.Config), play func(*chatStory)) {
	t.Helper()
	onWrapped(t, p, edit, nil, play)
}

// onWrapped puts something between the gateway and the platform's server.
func onWrapped(t *testing.T, p site, edit func(*config.Config), wrap func(http.Handler) http.Handler, play func(*chatStory)) {
	t.Helper()
	c := &chatStory{site: p}
	tellIn(t, func(s *story) {
		w, err := p.world()
		s.Must(err)
		c.story, c.World = s, w
		h := w.Handler()
		if wrap != nil {
			h = wrap(h)
		}
		connectortest.Serve(s.T, s.listen(p.at), h)
		s.Cleanup(w.Close)
		c.invite(&s.cfg, "http://"+strings.TrimSuffix(p.at, ":80"))
		if edit != nil {
			edit(&s.cfg)
		}
		s.servers = append(s.servers, p.at)
		s.looks = append(s.looks, c.look)
	}, func(*story) {
		c.Pass(10 * time.Second) // to log in
		play(c)
		c.Pass(time.Minute)
		c.WaitIdle()
	})
}

// invite turns the connector on, and lets Ada and Bob in.
func (c *chatStory) invite(cfg *config.Config, url string) {
	c.ada, c.group = c.Direct(connectortest.Ada), c.Group()
	c.secrets = append(c.secrets, c.use(cfg, c.World, url))
	for _, who := range []connectortest.Who{connectortest.Ada, connectortest.Bob} {
		cfg.Access.Allow.Users = append(cfg.Access.Allow.Users, config.Account(c.Account(who)))
	}
}

// read waits until the bot's last message in a room holds part.
func (c *chatStory) read(in connectortest.Place, part string) {
	c.Helper()
	for range 20 * 3600 {
		synctest.Wait()
		if own := connectortest.Own(c, in); len(own) > 0 && strings.Contains(own[len(own)-1], part) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.Fatalf("%q was not shown, but %q", part, connectortest.Own(c, in))
}

// want waits until nothing is owed, and compares what the bot's messages in a room say.
func (c *chatStory) want(in connectortest.Place, texts ...string) {
	c.Helper()
	c.WaitIdle()
	if got := connectortest.Own(c, in); !slices.Equal(got, texts) {
		c.Errorf("in %s people read %q; want %q", in, got, texts)
	}
}

// asked wants the model to have been asked so often.
func (c *chatStory) asked(times int) {
	c.Helper()
	if n := len(c.model.Requests()); n != times {
		c.Errorf("the model was asked %d times; want %d", n, times)
	}
}

// prompt is the n-th question to the model.
func (c *chatStory) prompt(n int) string {
	c.Helper()
	all := c.model.Requests()
	if n >= len(all) {
		c.Fatalf("the model was asked %d times", len(all))
	}
	return string(all[n].Raw)
}

// look adds what the world has seen to the evidence, and says what is wrong beyond its rules.
func (c *chatStory) look(e *sim.Evidence) (wrong []string) {
	e.Requests = append(e.Requests, c.Requests()...)
	e.Refused = append(e.Refused, c.Refused()...)
	e.Work = append(e.Work, c.work(e)...)
	for _, p := range c.Pings() {
		wrong = append(wrong, "I11: an unasked ping of "+p)
	}
	standing := map[string]connectortest.Line{}
	for _, in := range c.Places() {
		for _, m := range c.Sees(in) {
			if m.Own {
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
		wrong = append(wrong, c.sights(e, run, standing)...)
	}
	if len(standing) > c.orphans {
		wrong = append(wrong, fmt.Sprintf("I2: messages that belong to no run: %v", standing))
	}
	return wrong
}

// full is more than half of what any message may hold, in bytes. A message that is full is cut back to where the next
// one begins.
const full = 1500

// sights tells what people saw of a run, and takes its messages out of standing.
func (c *chatStory) sights(e *sim.Evidence, run chat.Run, standing map[string]connectortest.Line) (wrong []string) {
	var texts []string
	var files []connectortest.File
	var at time.Time
	for _, s := range run.Shown {
		m, ok := standing[s.ID]
		if !ok {
			continue
		}
		delete(standing, s.ID)
		texts = append(texts, strings.TrimSuffix(withoutCalls(m.Text), "\n\n"+progressive.Repetition))
		files = append(files, m.Files...)
		for i, v := range m.Versions {
			last := v.Text == m.Text
			if i > 0 && !last {
				before, now := m.Versions[i-1].Text, v.Text
				if !beginning.MatchString(now) {
					before = beginning.ReplaceAllString(before, "")
				}
				before, now = lasting(before), lasting(now)
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
	case !o.Done() || o.Withdrawn || o.Status == answer.Ignored || c.vague(run):
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

// withoutCalls is a text without the lines about calls under it.
func withoutCalls(text string) string { return without(text, "⏳", "⚙️", "✅", "❌") }

// lasting is a text without what may give way to something shorter: lines about calls, and statuses of the player.
func lasting(text string) string { return without(withoutCalls(text), "✨", "🔁", "❓", "→") }

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

// work tells the calls of the model that can be told apart by their question.
func (c *chatStory) work(e *sim.Evidence) (all []sim.Work) {
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
				all = append(all, sim.Work{Room: room, From: q.At, To: until(q)})
			}
		}
	}
	return all
}

func until(q modelfake.Request) time.Time {
	if !q.Cancelled.IsZero() {
		return q.Cancelled
	}
	return q.Ended
}
