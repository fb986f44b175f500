package stories_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/connectors/connectortest/telegramworld"
	"parley/core/chat"
	"parley/core/storage"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/models/modelfake"
	"parley/sim"
)

// claimForm is a call that asks for a text, a receipt, and up to three pictures.
func claimForm() modelfake.Script {
	return modelfake.Script{modelfake.ToolCall("c", "ASK_FORM", `{"question":"Let me file the claim.","fields":[`+
		`{"name":"what","title":"What","kind":"text"},{"name":"receipt","title":"Receipt","kind":"file","accept":["text/plain"]},`+
		`{"name":"proof","title":"Proof","kind":"file","max":3,"optional":true}]}`)}
}

type attaching interface {
	Attach(from connectortest.User, in connectortest.Room, f connectortest.File)
}

func receipt() connectortest.File {
	return connectortest.File{Name: "receipt.txt", Type: "text/plain", Data: []byte("One kettle, 20 euros.")}
}

// waitAnywhere waits until one of the bot's messages in a room holds part.
func (c *chatHarness) waitAnywhere(in connectortest.Room, part string) {
	c.Helper()
	for range 1200 {
		synctest.Wait()
		if strings.Contains(strings.Join(connectortest.BotTexts(c, in), "\n"), part) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.Fatalf("%q was not shown, but %q", part, connectortest.BotTexts(c, in))
}

// oneFieldForm is a call that asks for files, and for a text.
func oneFieldForm(file string) modelfake.Script {
	return modelfake.Script{modelfake.ToolCall("c", "ASK_FORM", `{"question":"Show me.","fields":[`+
		`{"name":"photos","title":"Photos","kind":"file",`+file+`},{"name":"note","title":"Note, for the album of everything that we have seen so far","kind":"text"}]}`)}
}

// Of several files in messages, one that does not fit is refused when it arrives, and the others count. The form stays open meanwhile, also over a crash.
func TestWrongFileOfSeveral(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		w, a := c.Platform.(buttonPlatform), c.Platform.(attaching)
		c.model.Queue(oneFieldForm(`"min":2,"max":3,"accept":["text/plain"]`), modelfake.Script{modelfake.Text("Seen.")})
		c.Say(connectortest.Ada, c.ada, "Look")
		c.waitShown(c.ada, "Photos")
		c.Pass(10 * time.Second)
		a.Attach(connectortest.Ada, c.ada, receipt())
		a.Attach(connectortest.Ada, c.ada, photo())
		c.waitAnywhere(c.ada, "⚠️ Photos: only these types of files fit: plain.")
		c.restart()
		c.Pass(10 * time.Second)
		w.Press(connectortest.Ada, c.ada, 0) // one file is too few, and stays
		c.waitAnywhere(c.ada, "⚠️ Photos: the number of files must be between 2 and 3.")
		c.Pass(10 * time.Second)
		a.Attach(connectortest.Ada, c.ada, receipt())
		a.Attach(connectortest.Ada, c.ada, photo()) // also right before the last one
		c.Pass(10 * time.Second)
		c.Say(connectortest.Ada, c.ada, "Those were the first two") // it ends nothing
		c.waitAnywhere(c.ada, "⚠️ Photos: please send more files, or write “Done”.")
		c.Pass(10 * time.Second)
		c.restart()
		c.Pass(10 * time.Second)
		c.Say(connectortest.Ada, c.ada, "done.")
		c.waitAnywhere(c.ada, "Note")
		c.Pass(10 * time.Second)
		c.Say(connectortest.Ada, c.ada, "Two of them")
		c.waitAnywhere(c.ada, "Seen.")
		c.wantModelCalls(2)
		if got := c.modelRequest(1); strings.Count(got, "photos: [File: receipt.txt") != 2 || !strings.Contains(got, `\"note\":\"Two of them\"`) {
			c.Errorf("the model reads %s", got)
		}
	})
}

// Of an album, as many pictures answer a field as it takes. The others belong to that answer: they neither end the form nor answer its next field.
func TestAlbumForAField(t *testing.T) {
	for _, most := range []int{1, 2} {
		t.Run(strconv.Itoa(most), subtest.Of(onTelegram, func(c *chatHarness, w *telegramworld.Platform) {
			c.model.Queue(oneFieldForm(fmt.Sprintf(`"max":%d`, most)), modelfake.Script{modelfake.Text("Seen.")})
			c.Say(connectortest.Ada, c.ada, "Look")
			c.waitShown(c.ada, "Photos")
			c.Pass(10 * time.Second)
			for n := range 5 {
				w.Send(connectortest.Ada, c.ada, "", picture("album", n))
				if n == 3 { // the last one comes when the next field is open
					c.waitAnywhere(c.ada, "Note")
					c.Pass(time.Second) // a notice that is being sent when the process ends is sent again
					c.restart()
					c.Pass(10 * time.Second)
				}
			}
			c.Pass(10 * time.Second)
			c.Say(connectortest.Ada, c.ada, "Some of them")
			c.waitAnywhere(c.ada, "Seen.")
			c.wantModelCalls(2)
			if got := c.modelRequest(1); strings.Count(got, "photos: [File: ") != most || !strings.Contains(got, `\"note\":\"Some of them\"`) {
				c.Errorf("the model reads %s", got)
			}
			if all := strings.Join(connectortest.BotTexts(c, c.ada), "\n"); strings.Count(all, "I have all the files I need here") != 1 {
				c.Errorf("she reads %q; want to be told once that the rest does not count", all)
			}
		}))
	}
}

// Files of a form are sent in messages, one field after the other. A text or a wrong type is asked for again, and a crash loses nothing.
func TestFilesOneAfterTheOther(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		w, a := c.Platform.(buttonPlatform), c.Platform.(attaching)
		c.model.Queue(claimForm(), modelfake.Script{modelfake.Text("Filed.")})
		c.Say(connectortest.Ada, c.ada, "A claim, please")
		c.waitShown(c.ada, "What")
		c.Say(connectortest.Ada, c.ada, "A kettle")
		c.waitShown(c.ada, "(plain)\nSend a file.")
		c.Say(connectortest.Ada, c.ada, "I have it here")
		c.waitShown(c.ada, "⚠️ Receipt: please send a file.")
		c.Pass(10 * time.Second)
		a.Attach(connectortest.Ada, c.ada, photo())
		c.waitShown(c.ada, "⚠️ Receipt: only these types of files fit: plain.")
		c.restart()
		c.Pass(10 * time.Second)
		a.Attach(connectortest.Ada, c.ada, receipt())
		c.waitAnywhere(c.ada, "Receipt: receipt.txt")
		c.waitAnywhere(c.ada, "Send up to 3 files, then choose “Done”.")
		c.restart() // perhaps before the run waits for the field
		c.Pass(10 * time.Second)
		a.Attach(connectortest.Ada, c.ada, photo())
		a.Attach(connectortest.Ada, c.ada, receipt())
		c.Pass(10 * time.Second)
		c.restart()
		c.Pass(10 * time.Second)
		if len(w.Buttons(c.ada)) > 0 {
			w.Press(connectortest.Ada, c.ada, 0)
		} else { // Telegram had not shown them yet when the process ended
			c.Say(connectortest.Ada, c.ada, "Done")
		}
		c.waitAnywhere(c.ada, "Filed.")
		got := c.modelRequest(1)
		for _, want := range []string{`\"what\":\"A kettle\"`, `\"receipt\":\"receipt.txt\"`, "receipt: [File: receipt.txt, text/plain]", "One kettle, 20 euros."} {
			if !strings.Contains(got, want) {
				c.Errorf("the model reads %s; want %s", got, want)
			}
		}
		if n := strings.Count(got, "proof: [File: "); n != 2 {
			c.Errorf("the model reads %d files of the last field: %s", n, got)
		}
		if got := w.Buttons(c.ada); len(got) > 0 {
			c.Errorf("the buttons %q are left", got)
		}
	})
}

// On the page, files of a form are uploaded first, and named with its values. Wrong ones have a reason at their field; a crash loses nothing.
func TestFilesOfAFormOnThePage(t *testing.T) {
	withGateway(t, nil, func(s *harness) {
		s.model.Queue(claimForm(), modelfake.Script{modelfake.Text("Filed.")})
		id := s.newConversation()
		stream := s.send(id, "k1", "A claim, please")
		for raw := ""; !strings.Contains(raw, `"accept":["text/plain"]`); {
			f := require.Value(stream.Next())(s)
			raw = f.Raw
		}
		open := require.Value(s.Store.OpenQuestions(s.Context(), s.rooms()[0]))(s)
		at := s.browser.Base + "/api/conversations/" + id
		post := func(address, kind, body string) (status int, reply string) {
			resp := require.Value(s.browser.HTTP.Post(at+address, kind, strings.NewReader(body)))(s)
			defer resp.Body.Close()
			if resp.StatusCode == http.StatusOK && address == "/choices/stream" {
				return resp.StatusCode, ""
			}
			data := require.Value(io.ReadAll(resp.Body))(s)
			return resp.StatusCode, string(data)
		}
		for key, kind := range map[string]string{"r": "text/plain", "p": "application/json"} {
			if status, reply := post("/files?clientFileId="+key+"&name="+key+".x", kind, map[string]string{"r": "One kettle, 20 euros.", "p": `{"paid": true}`}[key]); status != http.StatusOK && status != http.StatusCreated {
				t.Fatalf("the upload is refused: %d %s", status, reply)
			}
		}
		what := "A kettle"
		choose := func(files string) (int, string) {
			return post("/choices/stream", "application/json", `{"id":"`+open[0].ID+`","values":["`+what+`","",""],"files":`+files+`}`)
		}
		for files, want := range map[string]string{
			`{}`:                        `"fields":{"receipt":"please send a file."}`,
			`{"receipt":["p"]}`:         `"fields":{"receipt":"only these types of files fit: plain."}`,
			`{"receipt":["r","p"]}`:     `"fields":{"receipt":`,
			`{"receipt":["other"]}`:     `A file is not there any more.`,
			`{"receipt":["../x/../r"]}`: `A file is not there any more.`,
		} {
			if status, reply := choose(files); status != http.StatusConflict || !strings.Contains(reply, want) {
				t.Errorf("%s is answered with %d %s; want %s", files, status, reply, want)
			}
		}
		upload := func(key string) chat.Upload {
			u := require.Value(s.store.Load().Upload(s.Context(), string(s.rooms()[0])+"/"+key))(s)
			return u
		}
		if r, p := upload("r"), upload("p"); r.Message != "" || p.Message != "" {
			t.Errorf("after the refusals the files belong to %q and %q; want that they can be sent in a message", r.Message, p.Message)
		}
		s.restart()
		time.Sleep(time.Minute)
		if status, reply := choose(`{"receipt":["r"],"proof":["p"]}`); status != http.StatusOK {
			t.Fatalf("the form is answered with %d %s", status, reply)
		}
		if status, reply := choose(`{"proof":["p"],"receipt":["r"]}`); status != http.StatusOK {
			t.Errorf("the same press once more is answered with %d %s", status, reply)
		}
		for _, files := range []string{`{"receipt":["r"]}`, `{"receipt":["p"],"proof":["r"]}`, `{}`} {
			if status, reply := choose(files); status != http.StatusConflict || strings.Contains(reply, `"fields"`) {
				t.Errorf("the same values with other files, %s, are answered with %d %s; want %d", files, status, reply, http.StatusConflict)
			}
		}
		what = "A pan"
		if status, reply := choose(`{"receipt":["r"]}`); status != http.StatusConflict || strings.Contains(reply, `"fields"`) {
			t.Errorf("the closed form is answered with %d %s", status, reply)
		}
		time.Sleep(time.Minute)
		got := string(s.model.Requests()[1].Raw)
		for _, want := range []string{`\"receipt\":\"r.x\"`, "receipt: [File: r.x, text/plain]", "One kettle, 20 euros.", "proof: [File: p.x"} {
			if !strings.Contains(got, want) {
				t.Errorf("the model reads %s; want %s", got, want)
			}
		}
	})
}

// On Discord the modal takes files. They are copied to the store, since their addresses expire; others can't send them, and a crash loses nothing.
func TestFilesOfAModal(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		c.model.Queue(claimForm(), modelfake.Script{modelfake.Text("Filed.")})
		w.Mention(connectortest.Ada, c.group, "A claim, please")
		c.waitShown(c.group, "**What**")
		message := w.PressLabel(connectortest.Ada, c.group, "Fill in")
		c.Pass(2 * time.Second)
		if form := w.Fake.Opened(); len(form.Labels) != 3 || form.Labels[1].Input.Type != 19 || form.Labels[1].Description != "plain" {
			t.Fatalf("the modal is %+v", form)
		}
		all := []connectortest.File{receipt(), photo()}
		c.restart() // while the form is open
		c.Pass(10 * time.Second)
		for _, files := range []string{"", photo().Name, receipt().Name + "," + photo().Name} {
			discordworld.Submit(w, connectortest.Ada, c.group, message, all, "A kettle", files, "")
			c.Pass(5 * time.Second)
		}
		discordworld.Submit(w, connectortest.Eve, c.group, message, all, "A pan", receipt().Name, "")
		c.Pass(5 * time.Second)
		discordworld.Submit(w, connectortest.Ada, c.group, message, all, "A kettle", receipt().Name, photo().Name)
		c.waitShown(c.group, "Filed.")
		c.Pass(2 * time.Second)
		discordworld.Submit(w, connectortest.Ada, c.group, message, all, "A pot", receipt().Name, "")
		c.Pass(5 * time.Second)
		var told []string
		for _, a := range w.Fake.PressAnswers() {
			told = append(told, a.Content)
		}
		want := []string{
			"", "Receipt: please send a file.", "Receipt: only these types of files fit: plain.", "Receipt: only these types of files fit: plain.",
			"This choice is not yours to make.", "", "This question has closed.",
		}
		if !slices.Equal(told, want) {
			t.Errorf("the answers to the presses are %q; want %q", told, want)
		}
		got := c.modelRequest(1)
		for _, want := range []string{"receipt: [File: receipt.txt, text/plain]", "One kettle, 20 euros.", "proof: [File: " + photo().Name} {
			if !strings.Contains(got, want) {
				t.Errorf("the model reads %s; want %s", got, want)
			}
		}
	})
}

// removals are the ways in which the files of a form are deleted.
func removals() map[string]func(context.Context, storage.Store, chat.Memory) error {
	return map[string]func(context.Context, storage.Store, chat.Memory) error{
		"with their message": func(ctx context.Context, s storage.Store, m chat.Memory) error { return s.Forget(ctx, m.ID) },
		"with the conversation": func(ctx context.Context, s storage.Store, m chat.Memory) error {
			_, err := s.ClearEntirely(ctx, m.Room, m.Author)
			return err
		},
		"with the person": func(ctx context.Context, s storage.Store, m chat.Memory) error {
			for more := true; more; {
				d, err := s.DeletePersonal(ctx, m.Author)
				if more = d.More; err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// wantRemovable exports the files of the form that was answered in room, has remove delete them, and wants nothing to be left.
func (s *harness) wantRemovable(room chat.RoomID, remove func(context.Context, storage.Store, chat.Memory) error) {
	s.Helper()
	store := s.store.Load()
	recent := require.Value(store.Recent(s.Context(), room, chat.KindCommand, 0, 10))(s)
	of := recent[len(recent)-1]
	if len(of.Files) != 1 {
		s.Fatalf("the answer has the files %+v; want one", of.Files)
	}
	exported := 0
	for after, more := "", true; more; {
		p := require.Value(store.PersonalRecords(s.Context(), of.Author, after))(s)
		if p.Section == "upload_pieces" {
			exported += len(p.Records)
		}
		after, more = p.Next, p.Next != ""
	}
	if _, err := store.Piece(s.Context(), of.Files[0].Ref, 0); err != nil || exported != 1 {
		s.Errorf("the file is stored: %v, and exported in %d pieces; want 1", err, exported)
	}
	s.Must(remove(s.Context(), store, of))
	s.checks = append(s.checks, func(e *sim.Evidence) []string { // the messages are gone, too
		*e = sim.Evidence{}
		return nil
	})
	if _, err := store.Piece(s.Context(), of.Files[0].Ref, 0); !errors.Is(err, chat.ErrNotFound) {
		s.Errorf("after the deletion: %v; want %v", err, chat.ErrNotFound)
	}
}

// The files of a form, uploaded on the page or copied from Discord, are exported, and go with their message, their conversation, and their user.
func TestFilesOfFormsAreDeleted(t *testing.T) {
	form := modelfake.Script{modelfake.ToolCall("c", "ASK_FORM", `{"question":"Show me.","fields":[{"name":"receipt","title":"Receipt","kind":"file"}]}`)}
	for name, remove := range removals() {
		t.Run("page/"+name, func(t *testing.T) {
			withGateway(t, nil, func(s *harness) {
				s.model.Queue(form, modelfake.Script{modelfake.Text("Filed.")})
				id := s.newConversation()
				s.send(id, "k1", "A claim, please")
				time.Sleep(time.Minute)
				room, at := s.rooms()[0], "/api/conversations/"+id
				open := require.Value(s.Store.OpenQuestions(s.Context(), room))(s)
				s.request(http.MethodPost, at+"/files?clientFileId=r&name=r.txt", "text/plain", receipt().Data)
				if status, reply := s.request(http.MethodPost, at+"/choices/stream", "application/json", []byte(`{"id":"`+open[0].ID+`","files":{"receipt":["r"]}}`)); status != http.StatusOK {
					t.Fatalf("the form is answered with %d %s", status, reply)
				}
				time.Sleep(time.Minute)
				s.wantRemovable(room, remove)
			})
		})
		t.Run("discord/"+name, subtest.Of(onDiscord, func(c *chatHarness, w *discordworld.Platform) {
			c.model.Queue(form, modelfake.Script{modelfake.Text("Filed.")})
			w.Mention(connectortest.Ada, c.group, "A claim, please")
			c.waitShown(c.group, "**Receipt**")
			message := w.PressLabel(connectortest.Ada, c.group, "Fill in")
			c.Pass(2 * time.Second)
			discordworld.Submit(w, connectortest.Ada, c.group, message, []connectortest.File{receipt()}, receipt().Name)
			c.waitShown(c.group, "Filed.")
			c.Pass(time.Minute)
			c.allowedOrphans = len(connectortest.BotTexts(c, c.group))
			c.wantRemovable(c.groupRoom().ID, remove)
		}))
	}
}

// A form that one replica asks, with a file that a second one stores, is answered through that.
func TestFormOverReplicas(t *testing.T) {
	r := startReplicas(t, 2, "supersede", modelfake.New(modelfake.Options{Choose: func(q modelfake.Request) modelfake.Script {
		if strings.Contains(string(q.Raw), "One kettle") {
			return modelfake.Script{modelfake.Text("Filed.")}
		}
		return modelfake.Script{modelfake.ToolCall("c", "ASK_FORM", `{"question":"Show me.","fields":[{"name":"receipt","title":"Receipt","kind":"file"}]}`)}
	}}))
	asks, answers := r.nodes[0], r.nodes[1]
	id := require.Value(asks.Open(r.Context()))(r)
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute) // a page that never sees the form must not stop all tests
	defer cancel()
	stream := require.Value(asks.Send(ctx, id, "k1", "A claim, please"))(r)
	question := ""
	for question == "" {
		e := require.Value(stream.Next())(r)
		var f struct{ Choices struct{ ID string } }
		r.Must(json.Unmarshal([]byte(e.Raw), &f))
		question = f.Choices.ID
	}
	post := func(address, kind, body string) string {
		resp := require.Value(answers.HTTP.Post(answers.Base+"/api/conversations/"+id+address, kind, strings.NewReader(body)))(r)
		defer resp.Body.Close()
		data := require.Value(io.ReadAll(resp.Body))(r)
		return string(data)
	}
	post("/files?clientFileId=r&name=r.txt", "text/plain", string(receipt().Data))
	if got := post("/choices/stream", "application/json", `{"id":"`+question+`","files":{"receipt":["r"]}}`); strings.Contains(got, "error") {
		t.Errorf("the form is answered with %s", got)
	}
	if _, err := stream.All(); err != nil || !strings.HasSuffix(stream.Text(), "Filed.") {
		t.Errorf("the page that was asked reads %q, %v", stream.Text(), err)
	}
}

// Clients without forms show the sentence that asks for a file.
func TestFileFieldForOtherClients(t *testing.T) {
	for path, body := range map[string]string{
		"/api/chat": `{"id":"c","messages":[{"id":"u1","role":"user","parts":[{"type":"text","text":"hi"}]}]}`,
		"/agui":     `{"threadId":"t","runId":"r","state":{},"messages":[{"id":"1","role":"user","content":"hi"}],"tools":[],"context":[],"forwardedProps":{}}`,
	} {
		t.Run(path, func(t *testing.T) {
			withGateway(t, nil, func(s *harness) {
				s.model.Queue(modelfake.Script{modelfake.ToolCall("c", "ASK_FORM", `{"question":"Show me.","fields":[{"name":"receipt","title":"Receipt","kind":"file","accept":["application/pdf"]}]}`)})
				status, got := s.request(http.MethodPost, path, "application/json", []byte(body))
				if status != http.StatusOK || !strings.Contains(got, `**Receipt** (pdf)\nSend a file.`) {
					t.Errorf("%d %s", status, got)
				}
				time.Sleep(25 * time.Hour) // the form ends
			})
		})
	}
}
