package stories_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/sim"
)

const shopSecret = "a-secret-of-the-shop-of-32-bytes!"

// bearer sends a token with each request.
type bearer struct {
	http.RoundTripper
	token string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.RoundTripper.RoundTrip(r)
}

// signedIn is a browser of an account of the shop.
func (s *harness) signedIn(subject string) *sim.Browser {
	s.Helper()
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"sub": subject, "name": "Ada", "aud": "shop", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	}).SignedString([]byte(shopSecret))
	s.Must(err)
	s.secrets = append(s.secrets, token)
	return &sim.Browser{HTTP: &http.Client{Transport: bearer{s.browser.HTTP.Transport, token}}, Base: s.browser.Base}
}

// linked is an account of the shop beside one on a platform.
type linked struct {
	*chatHarness
	shop *sim.Browser
	room string // of the shop's account
	n    int
}

// web says something as the shop's account, and returns the answer.
func (l *linked) web(text string) string {
	l.Helper()
	l.n++
	st := require.Value(l.shop.Send(l.Context(), l.room, "m"+string(rune('a'+l.n)), text))(l)
	events := require.Value(st.All())(l)
	l.WaitIdle()
	last := ""
	for _, e := range events {
		if e.FullText != nil {
			last = *e.FullText
		}
	}
	return last
}

// webLast is the newest message in the shop's conversation.
func (l *linked) webLast() string {
	l.Helper()
	l.WaitIdle()
	lines := require.Value(l.shop.Reload(l.Context(), l.room))(l)
	return lines[len(lines)-1].Text
}

// chat says something as Ada on the platform, and returns the newest message of the agent.
func (l *linked) chat(text string) string {
	l.Helper()
	l.Say(connectortest.Ada, l.ada, text)
	l.WaitIdle()
	own := connectortest.BotTexts(l, l.ada)
	return own[len(own)-1]
}

var linkCode = regexp.MustCompile(`[A-Z2-9]{4}-[A-Z2-9]{4}`)

func withLinked(t *testing.T, edit func(*chatHarness, *config.Config), play func(*linked)) {
	t.Helper()
	for _, p := range platforms() {
		t.Run(p.name, func(t *testing.T) {
			c := &chatHarness{}
			onPlatform(t, p, func(cfg *config.Config) {
				cfg.Web.Public, cfg.Web.Accounts.Secret, cfg.Web.Accounts.Audience = true, shopSecret, "shop"
				if edit != nil {
					edit(c, cfg)
				}
			}, func(h *chatHarness) {
				l := &linked{chatHarness: h, shop: h.signedIn("ada")}
				room := require.Value(l.shop.Open(l.Context()))(l)
				l.room, l.secrets = room, append(l.secrets, room)
				play(l)
				h.browser.HTTP.CloseIdleConnections()
			})
		})
	}
}

// An account of the page and one of a platform are linked by a code that both confirm, across a restart. Facts and limits are then
// those of one person; conversations and rights are not. Unlinking takes that back.
func TestAccountsAreLinked(t *testing.T) {
	withLinked(t, nil, func(l *linked) {
		code := linkCode.FindString(l.web("/link"))
		if code == "" {
			t.Fatal("there is no code")
		}
		l.secrets = append(l.secrets, code)
		l.crash()
		l.start()
		l.Pass(30 * time.Second)
		if got := l.chat("/link AAAA-AAAA"); !strings.Contains(got, "Unknown or expired code") {
			t.Errorf("a wrong code: %q", got)
		}
		if got := l.chat("/link " + code); !strings.Contains(got, "Ada (web:user/ada)") || !strings.Contains(got, "account, too?") {
			t.Errorf("the right code: %q", got)
		}
		if got := l.chat("Link"); !strings.Contains(got, "confirm it in the chat where you asked") {
			t.Errorf("the first confirmation: %q", got)
		}
		if got := l.webLast(); !strings.Contains(got, "has sent your code") {
			t.Errorf("the page shows %q; want the question", got)
		}
		if got := l.chat("/usage"); strings.Contains(got, "is linked") {
			t.Error("they are linked before both have confirmed")
		}
		l.web("Link")
		if got := l.webLast(); !strings.Contains(got, "is linked") {
			t.Errorf("the page shows %q; want that they are linked", got)
		}
		if got := l.chat("/link " + code); !strings.Contains(got, "Unknown or expired code") {
			t.Errorf("the code a second time: %q", got)
		}

		l.model.Queue(modelfake.Script{modelfake.ToolCall("c1", "REMEMBER_FACT", `{"fact":"likes oolong"}`)}, modelfake.Script{modelfake.Text("Noted.")})
		l.chat("Remember that I like oolong, and keep the word marzipan to yourself.")
		before := len(l.model.Requests())
		l.web("What should I drink?")
		asked := l.modelRequest(before)
		if !strings.Contains(asked, "likes oolong") || strings.Contains(asked, "marzipan") {
			t.Errorf("the page's prompt lacks the fact, or has the conversation: %s", asked)
		}
		if !strings.Contains(asked, "guest") {
			t.Errorf("the account of the page has rights of the other: %s", asked)
		}
		today := regexp.MustCompile(`You, today: [^,]*`)
		page, platform := today.FindString(l.web("/usage")), today.FindString(l.chat("/usage"))
		if page == "" || page != platform || page != "You, today: 2 messages" {
			t.Errorf("the usage is %q and %q; want the same", page, platform)
		}

		if got := l.web("/memory"); !strings.Contains(got, "likes oolong") {
			t.Errorf("/memory on the page: %q", got)
		}
		l.web("/forget all")
		if got := l.chat("/memory"); !strings.Contains(got, "nothing about you") {
			t.Errorf("after /forget all on the page, the platform knows %q", got)
		}
		if got := l.web("/unlink"); !strings.Contains(got, "no longer linked") {
			t.Errorf("/unlink: %q", got)
		}
		if page = today.FindString(l.web("/usage")); page == platform {
			t.Errorf("after /unlink, the usage is still %q", page)
		}
		if got := l.chat("/unlink"); !strings.Contains(got, "isn't linked") {
			t.Errorf("the other account is linked with none: %q", got)
		}
	})
}

// Either account can refuse, a visitor without an account has nothing to link, and codes end.
func TestLinkingIsRefused(t *testing.T) {
	withLinked(t, nil, func(l *linked) {
		id := l.newConversation()
		st := l.send(id, "1", "/link")
		events := require.Value(st.All())(l)
		if !slices.ContainsFunc(events, func(e sim.Event) bool { return strings.Contains(e.Raw, "sign in first") }) {
			t.Error("a visitor without an account gets a code")
		}
		l.Mention(connectortest.Ada, l.group, "/link")
		l.WaitIdle()
		if own := connectortest.BotTexts(l, l.group); len(own) == 0 || !strings.Contains(own[len(own)-1], "direct chat") {
			t.Errorf("the group reads %q", own)
		}
		code := linkCode.FindString(l.web("/link"))
		l.chat("/link " + code)
		if got := l.chat("No"); !strings.Contains(got, "nothing was linked") {
			t.Errorf("after No: %q", got)
		}
		code = linkCode.FindString(l.web("/link"))
		l.chat("/link " + code)
		l.chat("Link")
		l.web("No")
		if got := l.webLast(); !strings.Contains(got, "nothing was linked") {
			t.Errorf("after No on the page: %q", got)
		}
		code = linkCode.FindString(l.web("/link"))
		l.Pass(11 * time.Minute)
		if got := l.chat("/link " + code); !strings.Contains(got, "expired") {
			t.Errorf("an old code: %q", got)
		}
		if got := l.chat("/unlink"); !strings.Contains(got, "isn't linked") {
			t.Errorf("/unlink: %q", got)
		}
	})
}

// Two replicas see the same links at once: the code of one is confirmed by the other, and so is the end.
func TestReplicasShareLinks(t *testing.T) {
	r := startReplicas(t, 2, "queue", modelfake.New(modelfake.Options{Choose: modelfake.Echo}), func(c *config.Config) {
		c.Web.Public, c.Web.Accounts.Secret, c.Web.Accounts.Audience = true, shopSecret, "shop"
	})
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"sub": "ada", "aud": "shop", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	}).SignedString([]byte(shopSecret))
	r.Must(err)
	n, room := 0, ""
	web := func(node int, text string) string {
		t.Helper()
		b := &sim.Browser{HTTP: &http.Client{Transport: bearer{http.DefaultTransport, token}}, Base: r.nodes[node].Base}
		if room == "" {
			room, err = b.Open(r.Context())
			r.Must(err)
		}
		if n++; text != "" {
			st := require.Value(b.Send(r.Context(), room, "m"+string(rune('a'+n)), text))(r)
			require.Value(st.All())(r)
		}
		lines := require.Value(b.Reload(r.Context(), room))(r)
		return lines[len(lines)-1].Text
	}
	platform := func(text, want string) {
		t.Helper()
		r.telegram.Say(r.chat, r.user, text)
		r.waitUntil(want, func() bool { own := r.answers(); return len(own) > 0 && strings.Contains(own[len(own)-1], want) })
	}
	code := linkCode.FindString(web(0, "/link"))
	platform("/link "+code, "account, too?")
	platform("Link", "confirm it in the chat")
	r.waitUntil("the question on the page", func() bool { return strings.Contains(web(1, ""), "has sent your code") })
	web(1, "Link")
	r.waitUntil("the confirmation", func() bool { return strings.Contains(web(0, ""), "is linked") })
	web(0, "one")
	web(1, "two")
	platform("/usage", "You, today: 2 messages")
	if got := web(1, "/unlink"); !strings.Contains(got, "no longer linked") {
		t.Errorf("/unlink on the other replica: %q", got)
	}
	platform("/unlink", "isn't linked")
}
