package stories_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/core/answer"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/sim"
)

// openQuestionPage is a page that shows which tracks there are to choose from, after what it has shown before that.
func (s *harness) openQuestionPage(id string) (stream *sim.Stream, question string, before []string) {
	s.Helper()
	s.model.Queue(playScript("blue")...)
	stream = s.send(id, "k1", "Play something blue")
	for {
		e := require.Value(stream.Next())(s)
		if e.Kind == "choices" {
			var f struct{ Choices answer.Choices }
			s.Must(json.Unmarshal([]byte(e.Raw), &f))
			if !slices.Equal(f.Choices.Options, []string{"blue monk", "blue train"}) || stream.Text() != letMe+"\n\n"+which {
				s.Fatalf("below %q it offers %q", stream.Text(), f.Choices.Options)
			}
			time.Sleep(time.Minute)
			return stream, f.Choices.ID, before
		}
		before = append(before, e.Raw)
	}
}

// postChoice is what a page gets that chooses.
func (s *harness) postChoice(conversation, question string, option int) int {
	s.Helper()
	body := require.Value(json.Marshal(map[string]any{"id": question, "option": option}))(s)
	resp, err := s.browser.HTTP.Post(s.browser.Base+"/api/conversations/"+conversation+"/choices/stream", "application/json", strings.NewReader(string(body)))
	s.Must(err)
	s.Must(resp.Body.Close())
	return resp.StatusCode
}

// A page shows what there is to choose from while the answer is being made, removes it after the choice, and has
// what plays as a file: live, at the end, and when it is loaded again.
func TestWhichTrackOnThePage(t *testing.T) {
	sound := "data:audio/mpeg;base64," + base64.StdEncoding.EncodeToString([]byte("the sound of blue train"))
	file := func(url string) string {
		return `"files":[{"name":"blue_train.mp3","type":"audio/mpeg","size":23,"url":"` + url + `"}]`
	}
	for name, choose := range map[string]func(s *harness, id, question string){
		"a button": func(s *harness, id, question string) {
			if status := s.postChoice(s.newConversation(), question, 1); status != http.StatusConflict { // SE-07
				t.Errorf("in another conversation it is %d; want %d", status, http.StatusConflict)
			}
			if status := s.postChoice(id, question, 1); status != http.StatusOK {
				t.Errorf("to choose is %d; want %d", status, http.StatusOK)
			}
		},
		"a number": func(s *harness, id, _ string) { s.readAll(s.send(id, "k2", "2")) },
	} {
		t.Run(name, subtest.With(withGateway, withAlbum(t), func(s *harness) {
			id := s.newConversation()
			stream, question, _ := s.openQuestionPage(id)
			choose(s, id, question)
			rest := require.Value(stream.All())(s)
			var frames []string
			for _, e := range rest {
				if e.FullText == nil || *e.FullText != letMe+"\n\n✨ Setting up blue train…" { // it stands for no time, and is seen or not
					frames = append(frames, tokenless(e.Raw))
				}
			}
			address := "api/conversations/" + id + "/messages/web%2F" + id + "%231/files/0"
			full := letMe + `\n\n` + train
			want := []string{
				`{"type":"status","kind":"choices"}`,
				`{"type":"tool","phase":"call","callId":"c1","stage":"running","at":25,"images":[],` + file(sound) + `}`,
				`{"type":"token","fullText":"` + full + `"}`,
				`{"type":"tool","phase":"result","callId":"c1","toolName":"PLAY_MUSIC","label":"Play music","stage":"end","at":25,"args":"{\"title\":\"blue\"}","compactParams":"blue","result":"\"blue train\" is now playing; the user sees that and gets the file.","shortResult":"playing"}`,
				`{"type":"token","text":"\n\nEnjoy it."}`,
				`{"type":"done","fullText":"` + full + `\n\nEnjoy it.",` + file(address) + `,"messageId":"web/` + id + `#1","agentName":"Parley","actionCallbackHistory":["` +
					which + `","` + which + `\n\n→ **blue train**","✨ Setting up blue train…","` + train + `"]` + twoCalls + `}`,
			}
			if diff := cmp.Diff(want, frames); diff != "" {
				s.Error(diff)
			}
			lines := s.lines(id)
			if m := lines[len(lines)-1]; len(m.Tools) != 1 || !strings.Contains(string(m.Tools[0]), file(address)) || m.Text != letMe+"\n\n"+train+"\n\n"+enjoy {
				s.Errorf("a reload shows %+v", m)
			}
			if got, err := s.browser.Load(s.Context(), address); err != nil || got != sound {
				s.Errorf("at its address is %q, %v; want %q", got, err, sound)
			}
			if status := s.postChoice(id, question, 0); status != http.StatusConflict {
				s.Errorf("to choose once more is %d; want %d", status, http.StatusConflict)
			}
		}))
	}
}

// However the wait ends, the page has nothing to choose from afterwards.
func TestWhichTrackInVainOnThePage(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(s *harness, id string)
		want string
	}{
		"stopped":    {func(s *harness, id string) { s.Must(s.browser.Stop(s.Context(), id)) }, letMe + "\n\n" + which + "\n\n_(Stopped.)_"},
		"superseded": {func(s *harness, id string) { s.readAll(s.send(id, "k2", "Never mind")) }, letMe + "\n\n" + which + "\n\n_(Interrupted by a newer message.)_"},
		"no choice":  {func(*harness, string) { time.Sleep(5 * time.Minute) }, letMe + "\n\n" + noChoice + "\n\n" + enjoy},
	} {
		t.Run(name, subtest.With(withGateway, withAlbum(t), func(s *harness) {
			id := s.newConversation()
			stream, question, _ := s.openQuestionPage(id)
			c.do(s, id)
			rest := require.Value(stream.All())(s)
			if end := rest[len(rest)-1]; *end.FullText != c.want || slices.ContainsFunc(rest, func(e sim.Event) bool { return strings.Contains(e.Raw, question) }) {
				s.Errorf("it ends with %s", end.Raw)
			}
			if status := s.postChoice(id, question, 0); status != http.StatusConflict {
				s.Errorf("to choose then is %d; want %d", status, http.StatusConflict)
			}
		}))
	}
}
