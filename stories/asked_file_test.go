package stories_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/models/modelfake"
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
		c.Pass(2 * time.Second)
		c.crash()
		c.start()
		c.Pass(10 * time.Second)
		a.Attach(connectortest.Ada, c.ada, receipt())
		c.waitShown(c.ada, "Receipt: receipt.txt")
		c.waitShown(c.ada, "Send up to 3 files, then choose “Done”.")
		c.Pass(10 * time.Second)
		a.Attach(connectortest.Ada, c.ada, photo())
		a.Attach(connectortest.Ada, c.ada, receipt())
		c.Pass(10 * time.Second)
		c.crash()
		c.start()
		c.Pass(10 * time.Second)
		w.Press(connectortest.Ada, c.ada, 0)
		c.waitShown(c.ada, "Filed.")
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
			f, err := stream.Next()
			s.Must(err)
			raw = f.Raw
		}
		open, err := s.Store.OpenQuestions(s.Context(), s.rooms()[0])
		s.Must(err)
		at := s.browser.Base + "/api/conversations/" + id
		post := func(address, kind, body string) (status int, reply string) {
			resp, err := s.browser.HTTP.Post(at+address, kind, strings.NewReader(body))
			s.Must(err)
			defer resp.Body.Close()
			if resp.StatusCode == http.StatusOK && address == "/choices/stream" {
				return resp.StatusCode, ""
			}
			data, err := io.ReadAll(resp.Body)
			s.Must(err)
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
		s.crash()
		s.start()
		time.Sleep(time.Minute)
		if status, reply := choose(`{"receipt":["r"],"proof":["p"]}`); status != http.StatusOK {
			t.Fatalf("the form is answered with %d %s", status, reply)
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
		c.crash() // while the form is open
		c.start()
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
