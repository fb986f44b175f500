//go:build unix

package bench

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/config/configtest"
	"parley/connectors/telegram"
	"parley/connectors/telegram/telegramfake"
)

// BenchmarkTelegram is the time between a token leaving the model server and a message on Telegram that shows it. All
// ask at once. The gateway keeps its own budgets, whether Telegram has limits or not; where it has, none is ever hit,
// unless they are stricter than those that are published: then each chat may learn that once.
func BenchmarkTelegram(b *testing.B) {
	strict := telegramfake.DefaultFlood()
	strict.Private = []telegramfake.Limit{{N: 1, Per: time.Second}}
	for _, limits := range []struct {
		name  string
		flood telegramfake.Flood
		chats []int
	}{{"off", telegramfake.Flood{}, []int{1, 20, 100, 1000}}, {"on", telegramfake.DefaultFlood(), []int{1, 20, 100, 1000}}, {"strict", strict, []int{1, 20}}} {
		for _, chats := range limits.chats {
			b.Run(fmt.Sprintf("limits=%s/chats=%d", limits.name, chats), func(b *testing.B) {
				l := newLoad(b, chats, 160)
				l.opening = "Well, this is what I have been told: " // enough for a message, so that its age is not measured
				p := newPlatform(b, limits.flood, chats)
				if limits.name == "strict" {
					p.refusals = chats
				}
				gateway(b, "", l.script, p.use)
				var cpu, took time.Duration
				for b.Loop() {
					used, began := cpuTime(b), time.Now()
					if err := p.askAll(l); err != nil {
						p.report(b, chats)
						b.Fatal(err)
					}
					cpu, took = cpu+cpuTime(b)-used, took+time.Since(began)
				}
				b.ReportMetric(0, "ns/op") // of no meaning
				reportTimes(b, "first", l.first)
				reportTimes(b, "done", l.last)
				b.ReportMetric(float64(cpu)/float64(took), "cores-used")
				p.report(b, len(l.first))
			})
		}
	}
}

// platform is Telegram with so many people, who have all started the bot.
type platform struct {
	fake    *telegramfake.Server
	url     string
	people  []telegramfake.User
	chats   []telegramfake.Chat
	changed chan struct{} // has an element if a request was answered since the last receive

	refusals int // that may happen
}

func newPlatform(b *testing.B, flood telegramfake.Flood, people int) *platform {
	p := &platform{fake: telegramfake.New(telegramfake.WithFlood(flood)), changed: make(chan struct{}, 1)}
	for i := range people {
		u := p.fake.AddUser(fmt.Sprint("Ada ", i), "")
		p.people, p.chats = append(p.people, u), append(p.chats, p.fake.AddPrivate(u))
	}
	s := httptest.NewServer(p)
	b.Cleanup(s.Close)
	p.url = s.URL
	return p
}

// ServeHTTP is the platform's API.
func (p *platform) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.fake.ServeHTTP(w, r)
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// use connects a gateway, which is open to all the people.
func (p *platform) use(c *config.Config) {
	configtest.Section[telegram.Config](c.Connectors).Token, configtest.Section[telegram.Config](c.Connectors).APIURL = config.Secret(p.fake.Token()), p.url
	for _, u := range p.people {
		c.People.Allowed = append(c.People.Allowed, config.Member(fmt.Sprint("telegram:", u.ID)))
	}
}

// askAll lets everybody ask at once, and notes when the answers were shown.
func (p *platform) askAll(l *load) error {
	asked, late := time.Now(), time.After(2*time.Minute)
	for i, c := range p.chats {
		p.fake.Say(c, p.people[i], question(i))
	}
	for i, c := range p.chats {
		for {
			if first, done, ok := p.answer(c); ok {
				l.note(reading{sent: asked, first: first, done: done}, &l.stamps[i])
				break
			}
			select {
			case <-p.changed:
			case <-late:
				all := p.fake.Messages(c)
				return fmt.Errorf("no whole answer in chat %d of %d, but %q", i, len(p.chats), all[len(all)-1].Text)
			}
		}
	}
	return nil
}

// answer is when the newest message of c was first shown, and with its last token. ok is false if it has not come.
func (p *platform) answer(c telegramfake.Chat) (first, done time.Time, ok bool) {
	all := p.fake.Messages(c)
	versions := p.fake.History(all[len(all)-1])
	last := slices.IndexFunc(versions, func(v telegramfake.Version) bool { return strings.HasSuffix(v.Text, ending) })
	if last < 0 {
		return first, done, false
	}
	return versions[0].At, versions[last].At, true
}

// report counts what so many answers took.
func (p *platform) report(b *testing.B, answers int) {
	var calls, signs, refused int
	log := p.fake.Log()
	for _, r := range log {
		if r.Chat != 0 {
			calls++
		}
		if r.Method == "sendChatAction" {
			signs++
		}
		if r.Status == http.StatusTooManyRequests {
			if refused++; refused == p.refusals+1 {
				b.Errorf("%s is refusal %d, %v after the first request: %s", r.Method, refused, r.At.Sub(log[0].At), r.Description)
			}
		}
	}
	b.ReportMetric(float64(calls)/float64(answers), "calls/answer")
	b.ReportMetric(float64(signs)/float64(answers), "signs/answer")
	b.ReportMetric(20*float64(refused)/float64(answers), "429s/20-answers")
	for _, r := range p.fake.Rejected() {
		b.Errorf("%s was refused: %s", r.Method, r.Reason)
	}
}
