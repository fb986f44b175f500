package stories_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/models/modelfake"
)

// The same once more with real sockets and a real clock: say, answer, edit, end.
func TestLoopback(t *testing.T) {
	for _, p := range platforms() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			s := onSockets(t, p)
			s.start(s.config())
			s.model.Queue(modelfake.Script{modelfake.Text(fox), modelfake.Pause(500 * time.Millisecond), modelfake.Text(" The end.")})
			s.Say(connectortest.Ada, s.place, "Tell me")
			s.waitUntil("the answer is complete", func() bool { return slices.Equal(connectortest.BotTexts(s, s.place), []string{fox + " The end."}) })
			if n := len(s.Messages(s.place)[1].Versions); n != 2 {
				t.Errorf("it was shown in %d steps; want 2", n)
			}
		})
	}
}

// The stories compare every request with the platforms' own descriptions of their APIs, where those are at hand.
func TestSpecsAreAtHand(t *testing.T) {
	if os.Getenv("PARLEY_SPECS") == "" {
		t.Skip("PARLEY_SPECS IS NOT SET: NO STORY COMPARES ITS REQUESTS WITH THE OFFICIAL DESCRIPTIONS OF THE APIS")
	}
	for _, p := range platforms() {
		if _, err := p.newServer(); err != nil {
			t.Error(err)
		}
	}
}
