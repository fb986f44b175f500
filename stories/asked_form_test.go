package stories_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/internal/require"
	"parley/models/modelfake"
)

// tableForm is a call that asks for four details.
func tableForm() modelfake.Script {
	return modelfake.Script{modelfake.ToolCall("c", "ASK_FORM", `{"question":"Let me book a table.","fields":[`+
		`{"name":"guests","title":"Guests","kind":"integer","min":1,"max":8},{"name":"day","title":"Day","kind":"date"},`+
		`{"name":"room","title":"Where","kind":"choice","options":["Inside","Garden"]},{"name":"note","title":"Anything else","kind":"text","optional":true}]}`)}
}

// wantTable is the result that the model gets, as it is quoted in its request.
const wantTable = `{\"day\":\"2026-12-24\",\"guests\":\"3\",\"note\":\"\",\"room\":\"Garden\"}`

// A form is asked for one field after the other, by buttons and in writing. A wrong value is asked for again, and a crash between two fields loses nothing.
func TestFieldsOneAfterTheOther(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		w := c.Platform.(buttonPlatform)
		c.model.Queue(tableForm(), modelfake.Script{modelfake.Text("Booked.")})
		c.Say(connectortest.Ada, c.ada, "A table, please")
		c.waitShown(c.ada, "Guests")
		c.Say(connectortest.Ada, c.ada, "9")
		c.waitShown(c.ada, "⚠️ Guests: it must be between 1 and 8.")
		c.Say(connectortest.Ada, c.ada, "3")
		c.waitAnywhere(c.ada, "Day")
		c.restart()
		c.Pass(10 * time.Second)
		c.Say(connectortest.Ada, c.ada, "24.12.2026")
		c.waitAnywhere(c.ada, "Where")
		c.Pass(10 * time.Second)
		w.Press(connectortest.Ada, c.ada, 1)
		c.waitAnywhere(c.ada, "Anything else")
		c.Say(connectortest.Ada, c.ada, "-")
		c.waitAnywhere(c.ada, "Booked.")
		if got := c.modelRequest(1); !strings.Contains(got, wantTable) {
			c.Errorf("the model reads %s; want %s", got, wantTable)
		}
		if got := w.Buttons(c.ada); len(got) > 0 {
			c.Errorf("the buttons %q are left", got)
		}
	})
}

// A value that is sent right after a wrong one, before that is refused, answers the field, also of a form that a command offers.
func TestValueRightAfterAWrongOne(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		bob := c.Direct(connectortest.Bob)
		c.cfg.People.Hours, c.cfg.Timezone = []string{"Wed 12:00-12:01"}, "UTC"
		c.startDesk()
		c.model.Queue(tableForm())
		c.Say(connectortest.Ada, c.ada, "A table, please")
		c.waitAnywhere(c.ada, "Guests")
		c.Say(connectortest.Bob, bob, "/person")
		c.waitAnywhere(bob, "An address")
		c.Say(connectortest.Bob, bob, "bob@example.org")
		c.waitAnywhere(bob, "Your message")
		for _, value := range []string{"9", "none", "3"} {
			c.Say(connectortest.Ada, c.ada, value)
		}
		for _, text := range []string{strings.Repeat("tea ", 501), "My tea is cold"} {
			c.Say(connectortest.Bob, bob, text)
		}
		c.waitAnywhere(c.ada, "Guests: 3")
		c.waitAnywhere(bob, "passed your message on")
		c.Pass(10 * time.Second)
		for in, want := range map[connectortest.Room]int{c.ada: 2, bob: 1} {
			if got := strings.Join(connectortest.BotTexts(c, in), "\n"); strings.Count(got, "⚠️") != want {
				c.Errorf("%s reads %s; want %d refusals", in, got, want)
			}
		}
		if got := strings.Join(connectortest.BotTexts(c, c.ada), "\n"); !strings.Contains(got, "My tea is cold") {
			c.Errorf("the owner reads %s", got)
		}
		c.Say(connectortest.Ada, c.ada, "/stop")
		c.Pass(10 * time.Second)
	})
}

// Messages right after a value, before the next field is asked for or the answer continues, do not end the form: the user is told to send them again.
func TestMessagesRightAfterAValue(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.model.Queue(tableForm(), modelfake.Script{modelfake.Text("Booked.")})
		c.Say(connectortest.Ada, c.ada, "A table, please")
		c.waitAnywhere(c.ada, "Guests")
		for _, value := range []string{"3", "24.12.2026", "Garden", "-"} {
			c.Say(connectortest.Ada, c.ada, value)
			if value != "Garden" { // the next field takes each text, if it is asked for by then
				c.Say(connectortest.Ada, c.ada, "99")
				c.Say(connectortest.Ada, c.ada, "Hello?")
			}
			c.Pass(10 * time.Second)
		}
		c.waitAnywhere(c.ada, "Booked.")
		if got := c.modelRequest(1); !strings.Contains(got, wantTable) {
			c.Errorf("the model reads %s; want %s", got, wantTable)
		}
		if got := strings.Join(connectortest.BotTexts(c, c.ada), "\n"); !strings.Contains(got, "send it again") {
			c.Errorf("Ada reads %s", got)
		}
		c.Say(connectortest.Ada, c.ada, "Thanks")
		c.waitAnywhere(c.ada, "You said: Thanks")
	})
}

// On Discord a form is a modal. A wrong value is refused, and the form can be opened again; others can't open it.
func TestFormIsAModal(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		c.model.Queue(tableForm(), modelfake.Script{modelfake.Text("Booked.")})
		w.Mention(connectortest.Ada, c.group, "A table, please")
		c.waitShown(c.group, "**Guests**")
		w.PressLabel(connectortest.Eve, c.group, "Fill in")
		c.Pass(2 * time.Second)
		if got := w.Fake.Opened(); got.Title != "" {
			t.Fatalf("a stranger opens %+v", got)
		}
		message := w.PressLabel(connectortest.Ada, c.group, "Fill in")
		c.Pass(2 * time.Second)
		form := w.Fake.Opened()
		c.restart() // while the form is open
		c.Pass(10 * time.Second)
		if len(form.Labels) != 4 || form.Labels[2].Label != "Where" {
			t.Fatalf("the modal is %+v", form)
		}
		w.Write(connectortest.Ada, c.group, message, "9", "2026-12-24", "Garden", "")
		c.Pass(5 * time.Second)
		w.Write(connectortest.Ada, c.group, message, "3", "2026-12-24", "Garden", "")
		c.waitShown(c.group, "Booked.")
		if got := c.modelRequest(1); !strings.Contains(got, wantTable) {
			c.Errorf("the model reads %s; want %s", got, wantTable)
		}
		refusals := 0
		for _, a := range w.Fake.PressAnswers() {
			if strings.Contains(a.Content, "must be between 1 and 8") {
				refusals++
			}
		}
		if refusals != 1 {
			t.Errorf("%d answers say why 9 does not fit: %+v; want 1", refusals, w.Fake.PressAnswers())
		}
	})
}

// On the page all fields are in the stream, and their values in one request.
func TestFormIsOnThePage(t *testing.T) {
	withGateway(t, nil, func(s *harness) {
		s.model.Queue(tableForm(), modelfake.Script{modelfake.Text("Booked.")})
		id := s.newConversation()
		stream := s.send(id, "k1", "A table, please")
		for raw := ""; !strings.Contains(raw, `"fields":[`); {
			f := require.Value(stream.Next())(s)
			raw = f.Raw
		}
		open := require.Value(s.Store.OpenQuestions(s.Context(), s.rooms()[0]))(s)
		refusal := struct{ Fields map[string]string }{}
		post := func(values ...string) (status int) {
			body, _ := json.Marshal(map[string]any{"id": open[0].ID, "values": values})
			resp, err := s.browser.HTTP.Post(s.browser.Base+"/api/conversations/"+id+"/choices/stream", "application/json", strings.NewReader(string(body)))
			s.Must(err)
			if resp.StatusCode == http.StatusConflict {
				refusal.Fields = nil
				s.Must(json.NewDecoder(resp.Body).Decode(&refusal))
			}
			_ = resp.Body.Close()
			return resp.StatusCode
		}
		if got := post("9", "tomorrow", "Garden", "", "more"); got != http.StatusConflict {
			t.Errorf("the answer to wrong values is %d", got)
		}
		want := map[string]string{"guests": "it must be between 1 and 8.", "day": "please write a date, such as 2026-12-31."}
		if !maps.Equal(refusal.Fields, want) {
			t.Errorf("the values are refused by %q; want %q", refusal.Fields, want)
		}
		resp, err := s.browser.HTTP.Post(s.browser.Base+"/api/conversations/"+id+"/messages/stream", "application/json", strings.NewReader(`{"clientMessageId":"k2","text":"9"}`))
		s.Must(err)
		if text := string(require.Value(io.ReadAll(resp.Body))(s)); resp.StatusCode != http.StatusConflict || !strings.Contains(text, "it must be between 1 and 8.") {
			t.Errorf("a wrong value in words is answered with %d: %s", resp.StatusCode, text)
		}
		_ = resp.Body.Close()
		s.restart() // while the form is open
		time.Sleep(time.Minute)
		if got := fmt.Sprint(post("3", "2026-12-24", "Garden", ""), post("4", "2026-12-24", "Garden", "")); got != "200 409" {
			t.Errorf("the answers are %s; want 200 409", got)
		} else if refusal.Fields != nil {
			t.Errorf("a closed form has reasons for fields: %q", refusal.Fields)
		}
		time.Sleep(time.Minute)
		if got := s.model.Requests(); len(got) < 2 || !strings.Contains(string(got[1].Raw), wantTable) {
			t.Errorf("the model was asked %d times; want %s in the second request", len(got), wantTable)
		}
	})
}

// A point in a number of the page's form is before decimals, also for a reader of German. In a message it is as Germans write it.
func TestNumberWithPointOnThePage(t *testing.T) {
	for wrote, want := range map[string]string{`{"values":["1.125"],"id":`: "1.125", `{"clientMessageId":"k2","text":"1.125","to":`: "1125"} {
		t.Run(want, func(t *testing.T) {
			withGateway(t, nil, func(s *harness) {
				s.model.Queue(modelfake.Script{modelfake.ToolCall("c", "ASK_FORM", `{"question":"How much?","fields":[{"name":"weight","title":"Weight","kind":"number"}]}`)}, modelfake.Script{modelfake.Text("Noted.")})
				id := s.newConversation()
				post := func(path, body string) {
					r, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.browser.Base+"/api/conversations/"+id+path, strings.NewReader(body))
					s.Must(err)
					r.Header.Set("Content-Type", "application/json")
					r.Header.Set("Accept-Language", "de")
					resp := require.Value(s.browser.HTTP.Do(r))(s)
					time.Sleep(time.Minute)
					_ = resp.Body.Close()
				}
				post("/messages/stream", `{"clientMessageId":"k1","text":"Note my weight"}`)
				open := require.Value(s.Store.OpenQuestions(s.Context(), s.rooms()[0]))(s)
				post(map[bool]string{true: "/choices/stream", false: "/messages/stream"}[wrote[2] == 'v'], wrote+`"`+open[0].ID+`"}`)
				if got := string(s.model.Requests()[1].Raw); !strings.Contains(got, `\"weight\":\"`+want+`\"`) {
					t.Errorf("the model reads %s; want %s", got, want)
				}
			})
		})
	}
}

// A form of an MCP server ends with the process: its session can't continue in the next one. A call that only reads is made again,
// but nothing can be asked below the text that is there; another call is not repeated. In both cases a sentence says so in place of the form.
func TestServersFormOverACrash(t *testing.T) {
	for _, tool := range []string{"pick", "order"} {
		t.Run(tool, func(t *testing.T) {
			onEachPlatform(t, nil, func(c *chatHarness) {
				s := withShopOf(c, &sdk.StreamableHTTPOptions{}, func(cfg *config.Config) { cfg.MCP[0].Tools.Read = []string{"list", "pick"} })
				w := c.Platform.(buttonPlatform)
				s.says = "ask"
				c.model.Queue(modelfake.Script{modelfake.ToolCall("c", "shop__"+tool, `{"item":"tea"}`)})
				if tool == "order" {
					c.Say(connectortest.Ada, c.ada, "Order tea")
					c.waitShown(c.ada, `{"item":"tea"}`)
					c.pressIn(w)(0)
				} else {
					c.Say(connectortest.Ada, c.ada, "Order tea")
				}
				c.waitShown(c.ada, "Which size?")
				c.Pass(2 * time.Second)
				c.crash()
				if tool == "pick" {
					c.queueCall("shop__pick", `{"item":"tea"}`, "Which size do you want?")
				}
				c.start()
				c.waitShown(c.ada, map[string]string{
					"pick":  "This form has closed. Ask again to get a new one.",
					"order": "Interrupted by a restart. The action in progress was not repeated.",
				}[tool])
				c.Pass(30 * time.Second)
				if got := w.Buttons(c.ada); len(got) > 0 || strings.Contains(strings.Join(connectortest.BotTexts(c, c.ada), "\n"), "small") {
					t.Errorf("the form is still there: %q with %q", connectortest.BotTexts(c, c.ada), got)
				}
				call := tool + ` {"item":"tea"}`
				if tool == "order" {
					c.wantDone(s, call)
				} else {
					c.wantDone(s, call, call, "pick cancel <nil>")
				}
			})
		})
	}
}

// The form of a server is in the language of the user whose call it belongs to.
func TestServersFormInTheUsersLanguage(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		w, s := c.Platform.(buttonPlatform), withShopOf(c, &sdk.StreamableHTTPOptions{}, func(cfg *config.Config) { cfg.MCP[0].Tools.Read = []string{"list", "pick"} })
		s.says = "ask"
		c.Say(connectortest.Ada, c.ada, "/language de")
		c.Pass(10 * time.Second)
		c.queueCall("shop__pick", `{"item":"tea"}`, "Picked.")
		c.Say(connectortest.Ada, c.ada, "Pick tea")
		c.waitShown(c.ada, "Which size?")
		c.Pass(2 * time.Second)
		if got := strings.Join(c.since(c.ada, 0), "\n"); !strings.Contains(got, "fragt: Which size?") || !slices.Contains(w.Buttons(c.ada), "Lieber nicht") {
			c.Errorf("a user who reads German gets %s with %q", got, w.Buttons(c.ada))
		}
		c.pressIn(w)(0)
		c.waitShown(c.ada, "Picked.")
	})
}
