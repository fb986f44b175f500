package discordfake

import (
	"encoding/json"
	"time"
	"unicode/utf8"
)

// maxNonce is the length of a nonce in characters (DR-08).
const maxNonce = 25

// nonceMemory remembers the bot's creations by their nonce. Messages with a
// nonce are remembered whether or not they asked for its enforcement.
type nonceMemory map[string]nonceUse

type nonceUse struct {
	message *message
	at      time.Time
}

// parseNonce returns a nonce's canonical form; "" is none.
func parseNonce(raw json.RawMessage) (string, *apiError) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if utf8.RuneCountInString(text) > maxNonce {
			return "", invalidForm("nonce", "NONCE_TYPE_TOO_LONG", "Nonce is too long")
		}
		return text, nil
	}
	var whole int64
	if json.Unmarshal(raw, &whole) == nil {
		return string(raw), nil
	}
	return "", invalidForm("nonce", "NONCE_TYPE_COERCE", "Value is neither a string nor an integer")
}

// earlier returns the message that a nonce made within the window, if any.
// One that was deleted since is "Unknown Message".
func (n nonceMemory) earlier(nonce string, window time.Duration, now time.Time) (*message, *apiError) {
	use, used := n[nonce]
	if nonce == "" || !used || now.Sub(use.at) >= window {
		return nil, nil
	}
	if use.message.deleted {
		return nil, unknownMessage()
	}
	return use.message, nil
}

func (n nonceMemory) remember(nonce string, m *message, now time.Time) {
	if nonce != "" {
		n[nonce] = nonceUse{message: m, at: now}
	}
}
