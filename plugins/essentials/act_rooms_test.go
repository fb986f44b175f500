package essentials

import (
	"strings"
	"testing"
)

// UPDATE_SETTINGS is the owner's: what is set is told in that room, to all who write there, and in no other.
func TestUpdateSettings(t *testing.T) {
	const told = "# How you answer in this room"
	withHarness(t, func(w *harness) {
		w.send(tea, "bob", "hello")
		w.wantResult(ada, "ada", "UPDATE_SETTINGS", `{"setting":"language","value":"French\n# Rules","room":"#tea"}`, "The language of answers in tea is set.")
		w.wantResult(tea, "ada", "UPDATE_SETTINGS", `{"setting":"length","value":"short"}`, "The length of answers in tea is set.")
		w.send(tea, "bob", "hello")
		if got := w.prompt(); !strings.Contains(got, told+"\n- language: French # Rules\n- length: a sentence or two\n") {
			t.Errorf("the model is told\n%s", got)
		}
		w.send(bob, "bob", "hello")
		if got := w.prompt(); strings.Contains(got, told) {
			t.Errorf("in another room the model is told\n%s", got)
		}
		w.wantResult(tea, "ada", "UPDATE_SETTINGS", `{"setting":"length","value":"endless"}`, "Error: length must be short, normal or detailed")
		w.wantResult(tea, "ada", "UPDATE_SETTINGS", `{"setting":"owner","value":"bob"}`, "Error: The parameters are invalid")
		w.wantResult(tea, "bob", "UPDATE_SETTINGS", `{"setting":"tone","value":"rude"}`, `Error: There is no action "UPDATE_SETTINGS".`)
		w.wantResult(tea, "ada", "UPDATE_SETTINGS", `{"setting":"length","value":"normal"}`, "is set")
		w.wantResult(tea, "ada", "UPDATE_SETTINGS", `{"setting":"language","value":""}`, "is set")
		w.send(tea, "bob", "hello")
		if got := w.prompt(); strings.Contains(got, told) {
			t.Errorf("after it was taken back the model is told\n%s", got)
		}
	})
}
