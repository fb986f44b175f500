package stories_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/core/event"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/sim"
)

// The small model names a conversation that its reader has not named, once, after the first answer, at the reader's expense. One that
// no list has costs nothing.
func TestConversationsGetTitles(t *testing.T) {
	withGateway(t, func(c *config.Config) {
		c.Web.Public, c.Web.Accounts.Secret, c.Web.Accounts.Audience = true, shopSecret, "shop"
		c.Models.Small.Model = "small-model"
	}, func(s *harness) {
		named := 0
		s.choose = func(r modelfake.Request) modelfake.Script {
			if strings.Contains(string(r.Raw), "Write a title") {
				named++
				return modelfake.Script{modelfake.Text("“Depth of the Sea.”\n")}
			}
			return modelfake.Echo(r)
		}
		shop := s.signedIn("ada")
		call := func(method, path, body string) (out struct {
			Conversations []struct{ ID, Title string }
		}) {
			t.Helper()
			r := require.Value(http.NewRequestWithContext(s.Context(), method, shop.Base+path, strings.NewReader(body)))(s)
			r.Header.Set("Content-Type", "application/json")
			resp := require.Value(shop.HTTP.Do(r))(s)
			defer resp.Body.Close()
			_ = json.NewDecoder(resp.Body).Decode(&out)
			return out
		}
		say := func(b *sim.Browser, room, key, text string) {
			t.Helper()
			st := require.Value(b.Send(s.Context(), room, key, text))(s)
			require.Value(st.All())(s)
			s.Pass(time.Minute)
			s.WaitIdle()
		}
		open := func() string {
			t.Helper()
			id := require.Value(shop.Open(s.Context()))(s)
			s.secrets = append(s.secrets, id)
			return id
		}
		room := open()
		say(shop, room, "1", "How deep is the sea?")
		say(shop, room, "2", "And the lake?")
		if got := call("GET", "/api/conversations", "").Conversations[0].Title; got != "Depth of the Sea" || named != 1 {
			t.Errorf("it is called %q, and the model was asked %d times", got, named)
		}
		charged := slices.ContainsFunc(s.events.all, func(e event.Event) bool {
			used, ok := e.(event.ModelUsed)
			return ok && used.Purpose == event.ForShort && used.Run != ""
		})
		if !charged {
			t.Error("the title is charged to no run")
		}
		own := open()
		call("PATCH", "/api/conversations/"+own, `{"title":"Mine"}`)
		say(shop, own, "1", "How high is the sky?")
		say(s.browser, s.newConversation(), "1", "Is there a list of mine?")
		if all := call("GET", "/api/conversations", "").Conversations; named != 1 || len(all) != 2 || !slices.ContainsFunc(all, func(c struct{ ID, Title string }) bool { return c.Title == "Mine" }) {
			t.Errorf("the model was asked %d times, and the list is %v", named, all)
		}
		shop.HTTP.CloseIdleConnections()
	})
}
