package stories_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/models/modelfake"
)

const (
	eyes = "eyes" // names of models
	ears = "ears"
)

// withSenses gives the gateway models that see and hear.
func withSenses(c *config.Config) {
	c.Models.Vision.Model, c.Models.Transcription.Model = eyes, ears
}

func photo() connectortest.File {
	return connectortest.File{Name: "photo.jpg", Type: "image/png", Data: modelfake.Picture(4, 3)}
}

func spoken() connectortest.File {
	return connectortest.File{Name: "voice.ogg", Type: "audio/ogg", Data: []byte("OggS sound"), Voice: true}
}

// requestsTo are the requests to one model, of all that were made.
func (s *harness) requestsTo(model string) []modelfake.Request {
	return slices.DeleteFunc(s.model.Requests(), func(r modelfake.Request) bool { return r.Model != model })
}

// lastPromptText is the last prompt of the model that answers, as one text.
func (s *harness) lastPromptText() string {
	s.Helper()
	all := s.requestsTo(modelfake.DefaultModel)
	if len(all) == 0 {
		s.Fatalf("the model was not asked\nlog:\n%s", s.Logged.String())
	}
	var b strings.Builder
	for _, m := range all[len(all)-1].Messages {
		fmt.Fprintln(&b, m.Content)
	}
	return b.String()
}

// A picture is looked at once, with the template's variables. What it shows stands in this prompt and in later ones.
func TestPhotoIsDescribed(t *testing.T) {
	onEachPlatform(t, func(cfg *config.Config) {
		withSenses(cfg)
		cfg.Agent.Templates.ImageDescription = "Describe it. {{userName}} asked: {{messageText}}"
	}, func(c *chatHarness) {
		c.model.Queue(modelfake.Script{modelfake.Text("<response><title>A square</title><description>A red square.</description><text>There is something red.</text></response>")},
			modelfake.Script{modelfake.Text("It is red.")}, modelfake.Script{modelfake.Text("Still red.")})
		c.SendFile(connectortest.Ada, c.ada, "What colour is it?", photo())
		c.wantShown(c.ada, "It is red.")
		if told := c.lastPromptText(); !strings.Contains(told, "What colour is it?") || !strings.Contains(told, "A red square.") {
			c.Errorf(`the model was told %q; want it to contain "What colour is it?" and it to contain "A red square."`, told)
		}
		c.Say(connectortest.Ada, c.ada, "And now?")
		c.wantShown(c.ada, "It is red.", "Still red.")
		if told := c.lastPromptText(); !strings.Contains(told, "A square]\n  A red square.\n  There is something red.") {
			c.Errorf(`later the model was told %q; want it to contain "A square]\n  A red square.\n  There is something red."`, told)
		}
		looks := c.requestsTo(eyes)
		if len(looks) != 1 {
			c.Fatalf("the picture was looked at %d times; want 1", len(looks))
		}
		parts := looks[0].Messages[0].Parts
		if len(parts) != 2 || !strings.Contains(parts[0].Text, "asked: What colour is it?") || !strings.HasPrefix(parts[1].ImageURL.URL, "data:image/png;base64,") {
			c.Errorf("the model was shown %+v", parts)
		}
	})
}

// A model that is known to see is shown pictures without a setting, and they are taken at the door; one that is not known, or is
// said not to see, gets none.
func TestPictureOfAKnownModel(t *testing.T) {
	for name, c := range map[string]struct {
		model  string
		vision *bool
		status int
	}{
		"known":         {"gpt-4o-mini", nil, http.StatusCreated},
		"unknown":       {"my-model", nil, http.StatusUnsupportedMediaType},
		"said not to":   {"gpt-4o-mini", new(false), http.StatusUnsupportedMediaType},
		"said to":       {"my-model", new(true), http.StatusCreated},
		"another maker": {"anthropic/claude-sonnet-4.5", nil, http.StatusCreated},
	} {
		t.Run(name, func(t *testing.T) {
			edit := func(cfg *config.Config) { cfg.Models.Large.Model, cfg.Models.Large.Vision = c.model, c.vision }
			withGateway(t, edit, func(s *harness) {
				conv := s.newConversation()
				path := "/api/conversations/" + conv
				if status, reply := s.request(http.MethodPost, path+"/files?clientFileId=f1&name=a.png", "image/png", modelfake.Picture(4, 3)); status != c.status {
					s.Fatalf("%d %s; want %d", status, reply, c.status)
				}
				if c.status != http.StatusCreated {
					return
				}
				s.model.Queue(modelfake.Script{modelfake.Text("A square.")})
				status, reply := s.request(http.MethodPost, path+"/messages/stream", "application/json", []byte(`{"clientMessageId":"m1","text":"What is it?","files":["f1"]}`))
				if asked := s.requestsTo(c.model); status != http.StatusOK || !strings.Contains(reply, "A square.") || len(asked) == 0 || !strings.Contains(string(asked[0].Raw), "image_url") {
					s.Errorf("%d %s; the model was asked %+v", status, reply, asked)
				}
			})
		})
	}
}

// A model that sees is shown the picture with the question that it came with. For later questions it is described once.
func TestPhotoIsShown(t *testing.T) {
	onEachPlatform(t, func(cfg *config.Config) { cfg.Models.Large.Vision = new(true) }, func(c *chatHarness) {
		c.model.Queue(modelfake.Script{modelfake.Text("I see.")},
			modelfake.Script{modelfake.Text("<response><title>A square</title><description>A red square.</description></response>")},
			modelfake.Script{modelfake.Text("A square.")}, modelfake.Script{modelfake.Text("Red.")})
		c.SendFile(connectortest.Ada, c.ada, "Look", photo())
		c.WaitIdle()
		c.Say(connectortest.Ada, c.ada, "What is it?")
		c.WaitIdle()
		c.Say(connectortest.Ada, c.ada, "What color?")
		c.WaitIdle()
		c.wantShown(c.ada, "I see.", "A square.", "Red.")
		var shown []int // requests with the picture
		for i, r := range c.model.Requests() {
			if strings.Contains(string(r.Raw), "image_url") {
				shown = append(shown, i)
			} else if !strings.Contains(string(r.Raw), "A red square.") {
				c.Errorf("request %d has neither the picture nor its description: %s", i, r.Raw)
			}
		}
		if !slices.Equal(shown, []int{0, 1}) || len(c.model.Requests()) != 4 {
			c.Errorf("of %d requests those with the picture are %d", len(c.model.Requests()), shown)
		}
	})
}

// What a document says stands in this prompt and in later ones.
func TestDocumentIsRead(t *testing.T) {
	onEachPlatform(t, withSenses, func(c *chatHarness) {
		c.SendFile(connectortest.Ada, c.group, "Sum it up", connectortest.File{Name: "plan.md", Type: "text/markdown", Data: []byte("Buy tea.")})
		c.WaitIdle()
		if told := c.lastPromptText(); !strings.Contains(told, "Buy tea.") || !strings.Contains(told, "plan.md") {
			c.Errorf(`the model was told %q; want it to contain "Buy tea." and it to contain "plan.md"`, told)
		}
		c.Mention(connectortest.Ada, c.group, "And again?")
		c.WaitIdle()
		if told := c.lastPromptText(); !strings.Contains(told, "Buy tea.") {
			c.Errorf(`later the model was told %q; want it to contain "Buy tea."`, told)
		}
	})
}

// Later prompts hold the beginning of a long document. The model asks for the rest, and only then has it.
func TestDocumentIsReadOn(t *testing.T) {
	onEachPlatform(t, withSenses, func(c *chatHarness) {
		long := strings.Repeat("Line after line. ", 400) + "The treasure is below the oak."
		c.model.Queue(
			modelfake.Script{modelfake.Text("Kept.")},
			modelfake.Script{modelfake.ToolCall("c", "ASK_PROVIDERS", `{"names":["ATTACHMENTS"]}`)},
			modelfake.Script{modelfake.Text("Below the oak.")})
		c.SendFile(connectortest.Ada, c.group, "Keep it", connectortest.File{Name: "log.txt", Type: "text/plain", Data: []byte(long)})
		c.WaitIdle()
		c.Mention(connectortest.Ada, c.group, "Where is the treasure?")
		c.WaitIdle()
		all := c.model.Requests()
		before, after := string(all[len(all)-2].Raw), string(all[len(all)-1].Raw)
		if !strings.Contains(before, "Line after line.") || strings.Contains(before, "below the oak") || !strings.Contains(after, "below the oak") {
			c.Errorf("the model was told %s\nand then %s", before, after)
		}
		if own := connectortest.BotTexts(c, c.group); len(own) != 2 || own[1] != "Below the oak." {
			c.Errorf("people read %q", own)
		}
	})
}

// What is spoken is answered as if it were written, and remembered as what was said.
func TestVoiceIsHeard(t *testing.T) {
	onEachPlatform(t, withSenses, func(c *chatHarness) {
		c.model.QueueFor(modelfake.Transcriptions, modelfake.Script{modelfake.Text("How are you?")})
		c.SendFile(connectortest.Ada, c.ada, "", spoken())
		c.wantShown(c.ada, "You said: How are you?")
		uses := c.model.Uses()
		if len(uses) != 1 || uses[0].Model != ears || !strings.HasSuffix(uses[0].FileName, ".ogg") || string(uses[0].File) != "OggS sound" {
			c.Errorf("asked to listen: %+v", uses)
		}
		c.Say(connectortest.Ada, c.ada, "Bye")
		c.wantShown(c.ada, "You said: How are you?", "You said: Bye")
		if told := c.lastPromptText(); !strings.Contains(told, "How are you?") || strings.Contains(told, "Voice message") {
			c.Errorf(`later the model was told %q; want it to contain "How are you?" and it without "Voice message"`, told)
		}
	})
}

// A file that can't be had is named, with the reason, and the turn goes on: a dead one at once, a slow one when its time is
// up.
func TestUnreadFileFailsNoTurn(t *testing.T) {
	for name, spoil := range map[string]func(*chatHarness){
		"it no longer exists": func(c *chatHarness) { c.LoseFiles() },
		"it took too long":    func(c *chatHarness) { c.SlowFiles(10 * time.Minute) },
	} {
		t.Run(name, subtest.With(onEachPlatform, withSenses, func(c *chatHarness) {
			spoil(c)
			c.SendFile(connectortest.Ada, c.ada, "See this", photo())
			c.Pass(2 * time.Minute)
			c.WaitIdle()
			if told := c.lastPromptText(); !strings.Contains(told, "See this") || !strings.Contains(told, name) {
				c.Errorf(`the model was told %q; want it to contain "See this" and it to contain %q`, told, name)
			}
			if n := len(c.requestsTo(eyes)); n != 0 {
				c.Errorf("%d looks at nothing; want none", n)
			}
			c.ClearFaults()
		}))
	}
}

// bomb is a PNG of 16384² pixels in a few bytes: it is its header alone.
func bomb() []byte {
	head := binary.BigEndian.AppendUint32([]byte("IHDR"), 16384)
	head = append(binary.BigEndian.AppendUint32(head, 16384), 8, 2, 0, 0, 0)
	b := bytes.NewBufferString("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d")
	b.Write(head)
	b.Write(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(head)))
	return b.Bytes()
}

// SE-04: what would unpack to a gigabyte is told to be too large, and reaches no model.
func TestBombIsRefused(t *testing.T) {
	for name, edit := range map[string]func(*config.Config){
		"described": withSenses,
		"shown":     func(cfg *config.Config) { cfg.Models.Large.Vision = new(true) },
	} {
		t.Run(name, subtest.With(onEachPlatform, edit, func(c *chatHarness) {
			c.SendFile(connectortest.Ada, c.ada, "See this", connectortest.File{Name: "small.png", Type: "image/png", Data: bomb()})
			c.WaitIdle()
			if told := c.lastPromptText(); !strings.Contains(told, "See this") {
				c.Errorf(`the model was told %q; want it to contain "See this"`, told)
			}
			for _, r := range c.model.Requests() {
				if strings.Contains(string(r.Raw), "data:image") {
					c.Errorf("%s was shown it", r.Model)
				}
			}
		}))
	}
}

// The answer to a file that came before the process died knows what is in it.
func TestFileIsReadAfterCrash(t *testing.T) {
	onEachPlatform(t, withSenses, func(c *chatHarness) {
		c.SlowFiles(20 * time.Second)
		c.SendFile(connectortest.Ada, c.ada, "Sum it up", connectortest.File{Name: "plan.txt", Type: "text/plain", Data: []byte("Buy tea.")})
		c.Pass(5 * time.Second)
		c.restart()
		c.Pass(2 * time.Minute)
		c.WaitIdle()
		if told := c.lastPromptText(); !strings.Contains(told, "Buy tea.") {
			c.Errorf(`the model was told %q; want it to contain "Buy tea."`, told)
		}
		c.ClearFaults()
	})
}

// A picture that a page sends is looked at like any other, and what it shows is remembered.
func TestWebPicture(t *testing.T) {
	withGateway(t, withSenses, func(s *harness) {
		s.model.Queue(modelfake.Script{modelfake.Text("A red square.")}, modelfake.Script{modelfake.Text("It is red.")})
		conv := s.newConversation()
		body := fmt.Sprintf(`{"clientMessageId":"m1","images":[{"data":%q,"mimeType":"image/png","name":"a.png"}]}`,
			base64.StdEncoding.EncodeToString(modelfake.Picture(4, 3)))
		resp := require.Value(s.browser.HTTP.Post(s.browser.Base+"/api/conversations/"+conv+"/messages/stream", "application/json", strings.NewReader(body)))(s)
		text := require.Value(io.ReadAll(resp.Body))(s)
		s.Must(resp.Body.Close())
		if !strings.Contains(string(text), "It is red.") || !strings.Contains(s.lastPromptText(), "Please describe the attached image.") ||
			!strings.Contains(s.lastPromptText(), "A red square.") || len(s.requestsTo(eyes)) != 1 {
			s.Errorf("the answer is %s, the model was told %q", text, s.lastPromptText())
		}
	})
}
