package toolcall

import (
	"errors"
	"strings"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/text"
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
		r.block.Show(shown)
	}
	if !d.Ended {
		return nil
	}
	tc.told = append(tc.told, text.Excerpt(d.Result+d.Error, maxRemoteResult))
	shown.Stage, shown.Result, shown.Success = answer.StageEnd, d.Result, d.Error == ""
	if d.Error != "" {
		tc.Log.Warn("a tool of the agent failed", "run", tc.Run.ID, "tool", r.block.Name, "err", text.Excerpt(d.Error, 200))
		shown.Error = "It failed."
	}
	r.block.Show(shown)
	return tc.Journal.Note(tc.Life, chat.Note{Acted: r.block.ID})
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
