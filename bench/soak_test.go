//go:build unix

package bench

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/connectors/discord/discordfake"
	"parley/connectors/telegram/telegramfake"
	"parley/core"
	"parley/models/modelfake"
	"parley/progressive"
)

const (
	soakKill  = 5 * time.Second        // how often the gateway is killed
	soakCall  = 150 * time.Millisecond // that a platform takes for a request
	soakAsks  = 8                      // people on each platform, each of whom waits for an answer
	soakWords = 18                     // of an answer; with soakPace at most two seconds
	soakPace  = 100 * time.Millisecond
	soakAfter = 45 * time.Second // without kills, at the end
)

// TestSoak kills the real program with SIGKILL every five seconds under load, for as long as PARLEY_SOAK says, and judges what
// people see at the end.
func TestSoak(t *testing.T) {
	lasts, err := time.ParseDuration(os.Getenv("PARLEY_SOAK"))
	if err != nil {
		t.Skip("PARLEY_SOAK says how long it lasts, such as 3m")
	}
	s := newSoak(t)
	stop, life := make(chan struct{}), make(chan struct{})
	kills := 0
	go func() {
		defer close(life)
		for {
			gone := s.start()
			select {
			case <-time.After(soakKill):
				kills++
				gone()
			case <-stop:
				time.Sleep(soakAfter)
				gone()
				return
			}
		}
	}()
	time.Sleep(lasts)
	close(s.ended)
	close(stop)
	s.people.Wait()
	<-life
	s.judge(kills)
}

// soak is a gateway with its world.
type soak struct {
	*testing.T
	binary, dir string
	env         []string
	ended       chan struct{} // nobody asks any more
	people      sync.WaitGroup
	telegram    *telegramfake.Server
	discord     *discordfake.Server

	mu    sync.Mutex
	asked []*asked
	log   bytes.Buffer
}

// asked is a question, and how to read the chat that it was asked in.
type asked struct {
	platform, id string
	read         func() []string // what the agent's messages say
}

func newSoak(t *testing.T) *soak {
	s := &soak{T: t, dir: t.TempDir(), ended: make(chan struct{})}
	s.binary = filepath.Join(s.dir, "gateway")
	if out, err := exec.Command("go", "build", "-o", s.binary, "../cmd/gateway").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	question := regexp.MustCompile(`Question ([a-z]+[0-9]+x[0-9]+)`)
	model := httptest.NewServer(modelfake.New(modelfake.Options{Choose: func(r modelfake.Request) modelfake.Script {
		id := "none"
		if m := question.FindAllStringSubmatch(r.LastUser(), -1); m != nil {
			id = m[len(m)-1][1]
		}
		return modelfake.Script{modelfake.Pace(soakPace), modelfake.Text("["+id+" begins] "+strings.Repeat("word ", soakWords-4)+"["+id+" ends]", modelfake.ByWord)}
	}}))
	t.Cleanup(model.Close)
	s.telegram = telegramfake.New()
	telegram := httptest.NewServer(slowly(s.telegram))
	t.Cleanup(telegram.Close)
	s.discord = discordfake.New()
	discord := httptest.NewServer(slowly(s.discord.Handler()))
	t.Cleanup(discord.Close)
	t.Cleanup(s.discord.Close)
	s.discord.SetGatewayURL(strings.Replace(discord.URL, "http", "ws", 1))
	s.env = []string{
		"HOME=" + s.dir, "OPENAI_BASE_URL=" + model.URL + "/v1", "OPENAI_MODEL=" + modelfake.DefaultModel,
		"TELEGRAM_TOKEN=" + s.telegram.Token(), "DISCORD_TOKEN=" + s.discord.Token(),
	}
	config := fmt.Sprintf("web:\n  listen: %s\naccess:\n  direct: open\nconnectors:\n  telegram:\n    api_url: %s\n  discord:\n    api_url: %s\n",
		free(t), telegram.URL, discord.URL)
	if err := os.WriteFile(filepath.Join(s.dir, "config.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s.ask()
	return s
}

func free(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// slowly has each request take soakCall: half of it before it has its effect, and half before the answer. Long polls and
// gateways have their own time.
func slowly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "getUpdates") || r.Header.Get("Upgrade") != "" {
			h.ServeHTTP(rw, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the gateway died while it sent
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		time.Sleep(soakCall / 2)
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, r)
		time.Sleep(soakCall / 2)
		for k, v := range answer.Header() {
			rw.Header()[k] = v
		}
		rw.WriteHeader(answer.Code)
		_, _ = rw.Write(answer.Body.Bytes())
	})
}

// start starts the program; the returned function kills it.
func (s *soak) start() (kill func()) {
	c := exec.Command(s.binary)
	c.Dir, c.Env = s.dir, s.env
	var log bytes.Buffer
	c.Stderr = &log
	if err := c.Start(); err != nil {
		s.Error(err)
		return func() {}
	}
	return func() {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
		s.mu.Lock()
		defer s.mu.Unlock()
		s.log.Write(log.Bytes())
	}
}

// ask has people ask one question after the other, each when the one before is answered, or after half a minute.
func (s *soak) ask() {
	for i := range soakAsks {
		u := s.telegram.AddUser(fmt.Sprint("Ada ", i), "")
		chat := s.telegram.AddPrivate(u)
		s.person("telegram", fmt.Sprint("t", i), func(text string) { s.telegram.Say(chat, u, text) }, func() (all []string) {
			for _, m := range s.telegram.Messages(chat) {
				if m.From.ID == s.telegram.Bot().ID {
					all = append(all, m.Text)
				}
			}
			return all
		})
		d := s.discord.AddUser(fmt.Sprint("ada", i))
		dm := s.discord.AddDM(d)
		s.person("discord", fmt.Sprint("d", i), func(text string) { s.discord.Say(dm, d, text) }, func() (all []string) {
			for _, m := range s.discord.Messages(dm) {
				if m.ByBot {
					all = append(all, m.Content)
				}
			}
			return all
		})
	}
}

func (s *soak) person(platform, name string, say func(string), read func() []string) {
	s.people.Go(func() {
		for s.discord.Sessions() == 0 { // a bot that never was there hears nothing of before
			time.Sleep(100 * time.Millisecond)
		}
		for n := 0; ; n++ {
			a := &asked{platform, fmt.Sprintf("%sx%d", name, n), read}
			s.mu.Lock()
			s.asked = append(s.asked, a)
			s.mu.Unlock()
			say("Question " + a.id)
			for end := time.Now().Add(30 * time.Second); len(a.ends()) == 0 && time.Now().Before(end); {
				select {
				case <-s.ended:
					return
				case <-time.After(200 * time.Millisecond):
				}
			}
		}
	})
}

// ends are the messages that hold the end of the answer.
func (a *asked) ends() (all []string) {
	for _, text := range a.read() {
		if strings.Contains(text, a.id+" ends") {
			all = append(all, text)
		}
	}
	return all
}

// judge counts what went wrong, and what people see twice.
func (s *soak) judge(kills int) {
	counts := map[string]int{}
	aside := 0
	seen := map[string]bool{}
	for _, a := range s.asked {
		counts["asked on "+a.platform]++
		begins, marked := 0, 0
		for _, text := range a.read() {
			if strings.Contains(text, a.id+" begins") {
				begins++
			}
			if strings.Contains(text, a.id+" ends") && strings.Contains(text, progressive.Repetition) {
				marked++
			}
			if strings.Contains(text, core.SetAside.Sentence()) && !seen[a.platform+a.id[:strings.Index(a.id, "x")]] {
				aside++
			}
		}
		seen[a.platform+a.id[:strings.Index(a.id, "x")]] = true
		wrong := ""
		switch ends := len(a.ends()); {
		case ends == 0 && begins == 0:
			wrong = "lost"
		case ends == 0:
			wrong = "half-written"
		case ends > 1 && marked == 0:
			wrong = "unmarked double"
		case begins > ends && a.platform == "discord":
			wrong = "a stump on Discord"
		case begins > ends: // of a preview that Telegram took when the gateway died: nobody knows its id, and the answer is posted whole
			counts["previews left"]++
		case ends > 1 && a.platform == "discord":
			wrong = "double on Discord"
		case ends > 1 || marked > 0:
			counts["marked repeats"]++
		}
		if wrong != "" {
			counts[wrong]++
			s.Errorf("%s: %s %s", wrong, a.platform, a.id)
		}
	}
	if counts["set aside"] = aside; aside > 0 {
		s.Errorf("%d are set aside", aside)
	}
	s.Logf("%d kills: %v", kills, counts)
	if path := os.Getenv("PARLEY_SOAK_LOG"); path != "" {
		if err := os.WriteFile(path, s.log.Bytes(), 0o600); err != nil {
			s.Error(err)
		}
	}
}
