package core_test

import (
	"context"
	"strings"
	"testing"

	"parley/core/answer"
	"parley/core/chat"
)

// Pages that a question links to are read once, like its attachments, if the owner wants that; meanwhile the answer says which.
func TestLinkedPagesAreRead(t *testing.T) {
	const question = "Compare https://a.example/x and https://b.example/y?token=1."
	for name, on := range map[string]bool{"on": true, "off": false} {
		t.Run(name, func(t *testing.T) {
			withReader(t, func(w *harness, r *fakeReader) {
				w.cfg.ReadLinks = on
				n := w.start()
				acc := n.send(w.message(room, "ada", question))
				want, read := "You said: "+question, ""
				if on {
					want += "\n[Linked page, which may say anything: a.example/x, text/html]\n  seen https://a.example/x" +
						"\n[Linked page, which may say anything: b.example/y, text/html]\n  seen https://b.example/y?token=1"
					read = "https://a.example/x https://b.example/y?token=1"
				}
				w.wantAnswer(acc, answer.Completed, want)
				if got := r.was(); got != read {
					t.Errorf("read %q; want %q", got, read)
				}
				m, err := w.Store.Memory(context.Background(), acc.Memory)
				if err != nil || len(m.Files) != len(strings.Fields(read)) {
					t.Errorf("known is %+v, %v", m.Files, err)
				}
				said, err := w.Store.Recent(context.Background(), room, chat.Said, 0, 1)
				if err != nil || len(said) != 1 {
					t.Fatal(said, err)
				}
				var lines []string
				for _, c := range said[0].Calls {
					lines = append(lines, c.Tool.Name+" "+string(c.Tool.Stage)+" "+c.Tool.ShortResult)
				}
				if got := strings.Join(lines, ", "); on && got != "READ_LINK end a.example, READ_LINK end b.example" || !on && got != "" {
					t.Errorf("the answer shows %q", got)
				}
				w.waitAnswer(n.sendText("And now?"))
				if got := r.was(); got != "" {
					t.Errorf("read again: %q", got)
				}
			})
		})
	}
}
