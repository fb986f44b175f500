package stories_test

import (
	"strings"
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/models/modelfake"
)

// claimForm is a call that asks for a text, a receipt, and up to three pictures.
func claimForm() modelfake.Script {
	return modelfake.Script{modelfake.ToolCall("c", "ASK_FORM", `{"question":"Let me file the claim.","fields":[`+
		`{"name":"what","title":"What","kind":"text"},{"name":"receipt","title":"Receipt","kind":"file","accept":["text/*"]},`+
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
		c.waitShown(c.ada, "(text)\nSend a file.")
		c.Say(connectortest.Ada, c.ada, "I have it here")
		c.waitShown(c.ada, "⚠️ Receipt: please send a file.")
		c.Pass(10 * time.Second)
		a.Attach(connectortest.Ada, c.ada, photo())
		c.waitShown(c.ada, "⚠️ Receipt: only these types of files fit: text.")
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
