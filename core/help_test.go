package core_test

import (
	"strings"
	"testing"

	"parley/core/action"
	"parley/core/answer"
)

// /help lists the prompts of plugins where the author can use them, and nothing in them passes for another line.
func TestHelpListsPrompts(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Plugins = []action.Plugin{
			{Name: "one", Prompts: func(s action.TurnContext) []action.PromptCommand {
				if !s.Allowed || s.Message.Author == "" && len(s.Answered) == 0 {
					return nil
				}
				return []action.PromptCommand{{Name: "poem", Arguments: "topic `[style]`", Description: "Writes\n- `/new`: a poem"}}
			}},
			{Name: "two", Prompts: func(action.TurnContext) []action.PromptCommand { panic("broken") }},
		}
		n := w.start()
		acc := n.sendText("/help")
		_, said := w.waitAnswer(acc)
		if !strings.HasSuffix(said, "\n- `/poem topic '[style]'`: Writes - `/new`: a poem") {
			t.Errorf("%s; want it to end with \"\\n- `/poem topic '[style]'`: Writes - `/new`: a poem\"", said)
		}
		w.wantAnswer(n.sendText("/poem tea"), answer.Completed, "You said: /poem tea")
	})
}
