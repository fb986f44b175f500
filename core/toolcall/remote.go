package toolcall

import (
	"errors"
	"strings"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/text"
	"parley/internal/lang"
)

const (
	maxRemote           = 200       // calls in one answer
	maxRemoteParameters = 256 << 10 // bytes of the parameters of one
	maxRemoteResult     = 4000      // characters of a result that are compared with later calls
)

// remote is a call that the provider runs, such as its web search or a tool of an external agent.
type remote struct {
	block      *action.Block
	parameters strings.Builder
}

// Remote shows a piece of a call that the provider runs. The effect of such a call is unknown, so it is journaled like
// a writing call: a process that adopts the run doesn't call the model again, which could repeat it. An error ends the
// round. The number of calls and the length of their parameters are bounded, since they come from outside.
func (tc *Calls) Remote(d llm.RemoteCall, step int) error {
	r := tc.remotes[d.ID]
	if r == nil {
		if len(tc.remotes) == maxRemote {
			return remoteFailure("the agent makes too many tool calls")
		}
		var err error
		if r, err = tc.beginRemote(d, step); err != nil {
			return err
		}
	}
	if d.Parameters != "" {
		if r.parameters.Len()+len(d.Parameters) > maxRemoteParameters {
			return remoteFailure("the parameters of a tool call of the agent are too long")
		}
		r.parameters.WriteString(d.Parameters)
		r.block.Show(answer.Tool{Stage: answer.StageStreaming, ParametersChunk: d.Parameters})
	}
	shown := answer.Tool{Stage: answer.StageRunning, Parameters: text.Clean(r.parameters.String())}
	if d.Running && !d.Ended {
		shown.ShortResult = text.Brief(text.Clean(d.Short), maxShort)
		r.block.Show(shown)
	}
	if !d.Ended {
		return nil
	}
	tc.told = append(tc.told, text.Excerpt(d.Result+d.Error, maxRemoteResult))
	shown.Stage, shown.Result, shown.Success = answer.StageEnd, d.Result, d.Error == ""
	if d.Error != "" {
		tc.Log.Warn("a tool of the agent failed", "run", tc.Run.ID, "tool", r.block.Name, "err", text.Excerpt(d.Error, 200))
		shown.Error = lang.Say(tc.Life, "tool.failed")
	}
	r.block.Show(shown, llm.Showable(d.Files)...)
	return tc.Journal.Note(tc.Life, chat.Note{Acted: r.block.ID})
}

const (
	maxShort      = 120     // characters of the progress of a call that the provider runs
	maxStatuses   = 20      // in one answer
	maxStatusText = 4000    // characters of one
	agentCall     = "agent" // the id of a request that is not repeated
)

// Acts journals that the model sends a request which must not be repeated: a process that adopts the run ends it. It
// fails with the errors of [Journal].
func (tc *Calls) Acts() error {
	tc.acting = tc.NewID(agentCall)
	return tc.Journal.Note(tc.Life, chat.Note{Acting: tc.acting, Text: tc.Answer.View().Remembered().Text()})
}

// Status shows a status of the provider below the answer, in place of the earlier one with its id. A status that changes
// nothing is not shown again, and neither is one after the first maxStatuses. Files are always shown.
func (tc *Calls) Status(s llm.Status) {
	id := "status-" + text.Brief(text.Clean(s.ID), maxRemoteID)
	line, files := text.Excerpt(strings.TrimSpace(text.Clean(s.Text)), maxStatusText), llm.Showable(s.Files)
	earlier, known := tc.statuses[id]
	if len(files) == 0 && (known && earlier == line || !known && (line == "" || len(tc.statuses) >= maxStatuses)) {
		return
	}
	if tc.statuses == nil {
		tc.statuses = map[string]string{}
	}
	tc.statuses[id] = line
	if len(files) > 0 { // files are stored with calls
		tc.Answer.Apply(answer.Change{Kind: answer.ToolStage, Call: id, Below: true, Tool: &answer.Tool{Name: "file", Hidden: true, Stage: answer.StageEnd, Success: true}})
	}
	tc.Answer.Apply(answer.Change{Kind: answer.Callback, Call: id, Below: true, Text: line, Files: files})
}

// remoteFailure returns the failure of a model that exceeds a bound.
func remoteFailure(why string) error {
	return &llm.Failure{Kind: llm.ProviderIssue, Err: errors.New(why)}
}

// beginRemote journals and shows the beginning of d. It gets an id of its own, because the model's may be long, or the
// same as that of another call. It fails with the errors of [Journal].
func (tc *Calls) beginRemote(d llm.RemoteCall, step int) (*remote, error) {
	id := tc.NewID(text.Brief(text.Clean(d.ID), maxRemoteID))
	tc.mu.Lock()
	b := &action.Block{Answer: tc.Answer, ID: id, Name: text.Brief(text.Clean(d.Name), action.MaxName), Step: step, Place: len(tc.blocks)}
	if tc.blocks == nil {
		tc.blocks = map[string]*action.Block{}
	}
	tc.blocks[id] = b
	tc.mu.Unlock()
	r := &remote{block: b}
	if tc.remotes == nil {
		tc.remotes = map[string]*remote{}
	}
	tc.remotes[d.ID] = r
	tc.acting = id
	n := chat.Note{Acting: id, Text: tc.Answer.View().Remembered().Text()}
	if err := tc.Journal.Note(tc.Life, n); err != nil {
		return nil, err
	}
	b.Show(answer.Tool{Stage: answer.StageStart})
	return r, nil
}

const maxRemoteID = 100 // characters

// EndRemote ends the open calls that the provider runs, with the reason why.
func (tc *Calls) EndRemote(why string) {
	for _, r := range tc.remotes {
		r.block.Show(answer.Tool{Stage: answer.StageEnd, Parameters: text.Clean(r.parameters.String()), Error: why})
	}
}

// ClearStatuses removes the statuses of a model that has failed, before another one answers.
func (tc *Calls) ClearStatuses() {
	for id := range tc.statuses {
		tc.Answer.Apply(answer.Change{Kind: answer.Callback, Call: id, Below: true})
	}
	tc.statuses = nil
}
