package telegramfake

import (
	"encoding/json"
	"slices"
	"strings"
)

// Button is a button under a message.
type Button struct {
	Text     string    `json:"text"`
	Data     string    `json:"callback_data"`
	Style    string    `json:"style"`    // danger, success, primary or none
	Disabled *struct{} `json:"disabled"` // it can't be pressed
	Copy     *struct {
		Text string `json:"text"`
	} `json:"copy_text"` // copied to the clipboard
}

// Buttons are those under m, row by row.
func (m Message) Buttons() (all []Button) {
	var k struct {
		Rows [][]Button `json:"inline_keyboard"`
	}
	_ = json.Unmarshal(m.Markup, &k) // it was checked when it came
	for _, row := range k.Rows {
		all = append(all, row...)
	}
	return all
}

// forces reports whether markup opens the field for a reply.
func forces(markup json.RawMessage) bool {
	var k struct {
		Force bool `json:"force_reply"`
	}
	_ = json.Unmarshal(markup, &k) // it was checked when it came
	return k.Force
}

// keyboard is what a request puts below a message.
func (c *call) keyboard() (json.RawMessage, error) {
	raw := c.params["reply_markup"]
	if raw == "" {
		return nil, nil
	}
	return json.RawMessage(raw), checkKeyboard([]byte(raw))
}

// checkKeyboard refuses keyboards as the server does: a button needs a text, and one of 1 to 64 bytes of data, 1 to 256 characters
// to copy, or that it is disabled.
func checkKeyboard(raw []byte) error {
	var k struct {
		Rows [][]Button `json:"inline_keyboard"`
	}
	if err := json.Unmarshal(raw, &k); err != nil {
		return badRequest("can't parse reply keyboard markup JSON object")
	}
	for _, row := range k.Rows {
		for _, b := range row {
			switch {
			case strings.TrimSpace(b.Text) == "":
				return badRequest("can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard")
			case !slices.Contains([]string{"", "danger", "success", "primary"}, b.Style):
				return badRequest("can't parse inline keyboard button: invalid button style specified")
			case b.Disabled != nil && b.Data == "" && b.Copy == nil:
			case b.Copy != nil && b.Data == "" && b.Disabled == nil:
				if n := len([]rune(b.Copy.Text)); n < 1 || n > 256 {
					return badRequest("BUTTON_COPY_TEXT_INVALID")
				}
			case b.Disabled != nil || b.Copy != nil || len(b.Data) < 1 || len(b.Data) > 64:
				return badRequest("BUTTON_DATA_INVALID")
			}
		}
	}
	return nil
}
