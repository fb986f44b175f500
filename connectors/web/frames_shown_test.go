package web

import (
	"slices"
	"testing"

	"parley/core/answer"
	"parley/core/llm"
)

// shows is an answer that tests write, and what its readers were told.
type shows struct {
	answer.Answer
	enc encoder
	at  answer.Cursor
}

func (s *shows) read() []frame {
	changes, view := s.Read(s.at)
	s.at = view.At
	return s.enc.encode("run", changes, view)
}

func (s *shows) call(stage answer.Stage, files ...llm.File) {
	s.Apply(answer.Change{Kind: answer.ToolStage, Call: "1", Tool: &answer.Tool{Name: "PLAY", Stage: stage, Success: true}, Files: files})
}

func (s *shows) update(text string, files ...llm.File) {
	s.Apply(answer.Change{Kind: answer.Callback, Call: "1", Text: text, Files: files})
}

func (s *shows) offer(o *answer.Choices) {
	s.Apply(answer.Change{Kind: answer.ChoicesChanged, Choices: o})
}

var (
	cover = llm.File{Type: "image/png", Data: []byte("png")}
	track = llm.File{Name: "a.ogg", Type: "audio/ogg", Data: []byte("ogg")}
	notes = llm.File{Name: "<b>.html", Type: "text/html; charset=utf-8", Data: []byte("<b>")}
)

const (
	started   = `{"type":"tool","phase":"call","callId":"1","toolName":"Play","stage":"start"}`
	running   = `{"type":"status","kind":"running_action","actionName":"Play"}` + "\n" + `{"type":"tool","phase":"call","callId":"1","toolName":"Play","stage":"running"}`
	streaming = `{"type":"status","kind":"streaming"}`
	both      = `"images":["data:image/png;base64,cG5n"],"files":[{"name":"a.ogg","type":"audio/ogg","size":3,"url":"data:audio/ogg;base64,b2dn"}]`
	annex     = `"images":[],"files":[{"name":"\u003cb\u003e.html","type":"text/html; charset=utf-8","size":3,"url":"data:text/html; charset=utf-8;base64,PGI+"}]`
	asked     = `{"type":"status","kind":"choices","choices":{"id":"q","options":["Yes","No"]}}`
	over      = `{"type":"status","kind":"choices"}`
	atFile    = `api/conversations/c/messages/run/files/`
)

// showing is the frame of a callback that brings something, or takes it away.
func showing(what string) string {
	return `{"type":"tool","phase":"call","callId":"1","stage":"running",` + what + `}`
}

// Files of a callback stand in place of those of the one before; a callback without any takes them away; the end without any
// leaves them. The last frame has their addresses.
func TestFramesOfFiles(t *testing.T) {
	s := &shows{enc: encoder{room: "web/c"}}
	s.call(answer.StageStart)
	s.call(answer.StageRunning)
	s.update("Looking")
	wantFrames(t, started+"\n"+running+"\n"+streaming+"\n"+`{"type":"token","text":"Looking"}`, s.read())
	s.update("Found", cover, track)
	wantFrames(t, showing(both)+"\n"+`{"type":"token","fullText":"Found"}`, s.read())
	s.update("Other", notes)
	wantFrames(t, showing(annex)+"\n"+`{"type":"token","fullText":"Other"}`, s.read())
	s.update("Gone")
	wantFrames(t, showing(`"images":[],"files":[]`)+"\n"+`{"type":"token","fullText":"Gone"}`, s.read())
	s.update("Still gone")
	wantFrames(t, `{"type":"token","fullText":"Still gone"}`, s.read())
	s.update("", cover, track)
	s.call(answer.StageEnd)
	wantFrames(t, showing(both)+"\n"+`{"type":"token","fullText":""}`+"\n"+
		`{"type":"tool","phase":"result","callId":"1","toolName":"Play","stage":"end"}`, s.read())
	s.End(answer.Outcome{Status: answer.Completed})
	wantFrames(t, `{"type":"done","fullText":"","images":["`+atFile+`0"],"files":[{"name":"a.ogg","type":"audio/ogg","size":3,"url":"`+atFile+`1"}],"messageId":"run",`+
		`"actionCallbackHistory":["Looking","Found","Other","Gone","Still gone"]}`, s.read())
}

// Who joins is told what is shown now, and what there is to choose.
func TestFramesOfWhatIsShownForAJoiner(t *testing.T) {
	s := &shows{enc: encoder{joining: true}}
	s.call(answer.StageStart)
	s.call(answer.StageRunning)
	s.update("Found", cover, track)
	s.update("Other", notes)
	s.offer(&answer.Choices{ID: "q", Options: []string{"Yes", "No"}})
	wantFrames(t, started+"\n"+running+"\n"+showing(annex)+"\n"+streaming+"\n"+`{"type":"token","fullText":"Other"}`+"\n"+asked, s.read())

	s.at, s.enc = 0, encoder{joining: true} // later, after a choice
	s.offer(nil)
	wantFrames(t, started+"\n"+running+"\n"+showing(annex)+"\n"+streaming+"\n"+`{"type":"token","fullText":"Other"}`+"\n"+asked+"\n"+over, s.read())
}

// What can be chosen while an answer goes on is told at once, and that it is over.
func TestFramesOfAnOffer(t *testing.T) {
	s := &shows{}
	s.Apply(answer.Change{Kind: answer.Text, Text: "Which?"})
	offer := &answer.Choices{ID: "q", Options: []string{"Yes", "No"}}
	s.offer(offer)
	wantFrames(t, streaming+"\n"+`{"type":"token","text":"Which?"}`+"\n"+asked, s.read())
	s.offer(nil)
	wantFrames(t, over, s.read())
	s.offer(offer)
	wantFrames(t, asked, s.read())
	s.End(answer.Outcome{Status: answer.Completed, Offer: offer})
	wantFrames(t, `{"type":"done","fullText":"Which?","messageId":"run","choices":{"id":"q","options":["Yes","No"]}}`, s.read())
}

// A restart takes away what can be chosen, and what a call showed that was under way: who goes on has calls of its own.
func TestFramesOfWhatIsShownAtARestart(t *testing.T) {
	s := &shows{}
	s.call(answer.StageStart)
	s.update("", track)
	s.offer(&answer.Choices{ID: "q", Options: []string{"Yes", "No"}})
	s.read()
	wantFrames(t, `{"type":"tool","phase":"error","callId":"1","toolName":"Play","stage":"end","error":"Interrupted by a restart.","images":[],"files":[]}`+"\n"+over, s.enc.restart(answer.View{}))
	wantFrames(t, "", s.enc.restart(answer.View{}))

	s = &shows{}
	s.call(answer.StageStart)
	s.offer(&answer.Choices{ID: "q", Options: []string{"Yes", "No"}})
	s.offer(nil)
	s.read()
	wantFrames(t, `{"type":"tool","phase":"error","callId":"1","toolName":"Play","stage":"end","error":"Interrupted by a restart."}`, s.enc.restart(answer.View{}))
}

// WB-15: files of an answer that has ended are addresses: who replays it holds none of them.
func TestFramesOfAnEndedAnswer(t *testing.T) {
	s := &shows{enc: encoder{room: "web/c", joining: true}}
	s.call(answer.StageStart)
	s.call(answer.StageEnd, llm.File{Type: "image/png", Past: &llm.PastFile{N: 3, Type: "image/png", Size: 3}},
		llm.File{Name: "a.ogg", Type: "audio/ogg", Past: &llm.PastFile{N: 4, Name: "a.ogg", Type: "audio/ogg", Size: 7}})
	s.End(answer.Outcome{Status: answer.Completed})
	there := `"images":["` + atFile + `3"],"files":[{"name":"a.ogg","type":"audio/ogg","size":7,"url":"` + atFile + `4"}]`
	wantFrames(t, started+"\n"+`{"type":"tool","phase":"result","callId":"1","toolName":"Play","stage":"end",`+there+`}`+"\n"+
		`{"type":"done","fullText":"",`+there+`,"messageId":"run"}`, s.read())
}

// A run that has waited continues with its calls: they did not end, and its options stay. Only a call that is not continued has ended.
func TestFramesOfARunThatContinues(t *testing.T) {
	s := &shows{}
	s.call(answer.StageStart)
	s.read()
	s.enc.lost = true
	next := &shows{enc: s.enc}
	next.call(answer.StageRunning)
	if got := next.read(); len(got) == 0 || slices.ContainsFunc(got, func(f frame) bool { return f.Error != "" }) {
		t.Errorf("its call ended: %+v", got)
	}
	next.enc.lost = true
	other := &shows{enc: next.enc}
	other.Apply(answer.Change{Kind: answer.Text, Text: "New."})
	if got := other.read(); !slices.ContainsFunc(got, func(f frame) bool { return f.Error == "Interrupted by a restart." }) {
		t.Errorf("a call that is not continued goes on: %+v", got)
	}
}
