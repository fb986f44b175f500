package clients_test

import (
	"testing"

	"parley/config"
)

func TestOpenAI(t *testing.T) {
	s := newStage(t, nil)
	s.node("openai.mjs")
}

func TestAISDK(t *testing.T) {
	for _, version := range []string{"ai5", "ai6", "ai7"} {
		t.Run(version, func(t *testing.T) { newStage(t, nil).node("aisdk.mjs", version) })
	}
}

func TestAGUI(t *testing.T) {
	for _, version := range []string{"@ag-ui/client", "agui0"} {
		t.Run(version, func(t *testing.T) { newStage(t, nil).node("agui.mjs", version) })
	}
}

func TestCopilotKit(t *testing.T) { newStage(t, nil).node("copilotkit.mjs") }

func TestAssistantUI(t *testing.T) { newStage(t, nil).node("assistant-ui.mjs") }

func TestWebSocket(t *testing.T) { newStage(t, nil).node("ws.mjs") }

// With web.require_identity, each client gets in with a token of the site, and learns without one what to do.
func TestClientsSignIn(t *testing.T) {
	newStage(t, func(c *config.Config) {
		c.Web.Public, c.Web.RequireIdentity, c.Web.Accounts.Secret, c.Web.Accounts.Audience = true, true, siteSecret, "parley"
	}).node("identity.mjs")
}
