package stories_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/core/answer"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/sim"
)

// The page is asked which of two tracks is meant while the answer goes on, says so by a press or in writing, and gets the track
// as a file: in the same stream, also when it joined late, and after a reload.
func TestChooseAndHearOnThePage(t *testing.T) {
	for name, choose := range map[string]func(*harness, string, answer.Choices) *sim.Stream{
		"pressed": func(s *harness, id string, o answer.Choices) *sim.Stream {
			st := require.Value(s.browser.Choose(s.Context(), id, o, 1))(s)
			return st
		},
		"written":  func(s *harness, id string, o answer.Choices) *sim.Stream { return s.send(id, "k2", o.Options[1]) },
		"numbered": func(s *harness, id string, _ answer.Choices) *sim.Stream { return s.send(id, "k2", "2") },
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for _, track := range []string{"blue_train.wav", "blue_moon.wav"} {
				require.NoError(t, os.WriteFile(filepath.Join(folder, track), []byte("RIFF"+track), 0o600))
			}
			withGateway(t, func(cfg *config.Config) { cfg.Plugins.Player.Folder = folder }, func(s *harness) {
				s.model.Queue(modelfake.Script{modelfake.Text("Sure."), modelfake.ToolCall("c1", "PLAY_MUSIC", `{"title":"blue"}`)}, modelfake.Script{modelfake.Pause(time.Second), modelfake.Text(enjoy)})
				id := s.newConversation()
				early := s.send(id, "k1", "Play something blue")
				offer := s.readChoices(early)
				time.Sleep(time.Second)
				late := s.send(id, "k1", "Play something blue")
				if again := s.readChoices(late); again.ID != offer.ID || len(offer.Options) != 2 {
					s.Errorf("who joins is offered %+v, not %+v", again, offer)
				}
				if end := s.readAll(choose(s, id, offer)); end.NoResponse != "ignored" || *end.FullText != "" || end.MessageID != "" {
					s.Errorf("the choice ends with %s", end.Raw)
				}
				done := s.readPlayed(id, early)
				s.readPlayed(id, late)
				line := offer.Options[1]
				if name == "numbered" {
					line = "2"
				}
				s.wantChoiceLine(id, line, done)
				if name != "pressed" { // WB-05: what is sent twice is heard once
					if again := s.readAll(s.send(id, "k2", line)); again.NoResponse != "ignored" {
						s.Errorf("the same line again ends with %s", again.Raw)
					}
				}
			})
		})
	}
}

// readChoices reads a stream until there is something to choose.
func (s *harness) readChoices(st *sim.Stream) answer.Choices {
	s.Helper()
	for {
		e := require.Value(st.Next())(s)
		if e.Kind == "choices" && e.Choices != nil {
			return *e.Choices
		}
	}
}

// readPlayed reads the rest of an answer in which something was chosen and a track came, and returns its end.
func (s *harness) readPlayed(id string, st *sim.Stream) sim.Event {
	s.Helper()
	events := require.Value(st.All())(s)
	over, live := false, ""
	for _, e := range events {
		over = over || e.Kind == "choices" && e.Choices == nil
		if e.Type == "tool" && len(e.Files) == 1 {
			live = e.Files[0].URL
		}
	}
	done := events[len(events)-1]
	if !over || !strings.HasPrefix(live, "data:audio/wav;base64,") || done.Interrupted || done.NoResponse != "" || len(done.Files) != 1 ||
		!strings.HasPrefix(*done.FullText, "Sure.") || !strings.HasSuffix(*done.FullText, enjoy) {
		s.Fatalf("over: %v; live %q; it ended with %s", over, live, done.Raw)
	}
	if got, err := s.browser.Load(s.Context(), done.Files[0].URL); err != nil || got != live {
		s.Errorf("the file is %q, and was %q, %v", got, live, err)
	}
	return done
}

// wantChoiceLine compares a reload with what was told: the choice stands above the answer that asked.
func (s *harness) wantChoiceLine(id, line string, done sim.Event) {
	s.Helper()
	lines := s.lines(id)
	if len(lines) != 3 || lines[1].Role != "user" || lines[1].Text != line || lines[2].Text != *done.FullText || lines[2].ID != done.MessageID ||
		strings.Contains(lines[1].ClientMessageID, "/") {
		s.Fatalf("a reload shows %+v", lines)
	}
	var tool sim.Event
	s.Must(json.Unmarshal(lines[2].Tools[0], &tool))
	if len(tool.Files) != 1 || tool.Files[0] != done.Files[0] {
		s.Errorf("the call shows %+v, not %+v", tool.Files, done.Files)
	}
}
