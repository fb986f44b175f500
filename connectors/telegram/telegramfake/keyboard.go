package telegramfake

import (
	"encoding/json"
	"strings"
)

// Button is a button under a message.
type Button struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
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

// keyboard is what a request puts below a message.
func (c *call) keyboard() (json.RawMessage, error) {
	raw := c.params["reply_markup"]
	if raw == "" {
		return nil, nil
	}
	return json.RawMessage(raw), checkKeyboard([]byte(raw))
}

// checkKeyboard refuses what the server does: a button needs a text, and 1 to 64 bytes of data.
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
			case len(b.Data) < 1 || len(b.Data) > 64:
				return badRequest("BUTTON_DATA_INVALID")
			}
		}
	}
	return nil
}
