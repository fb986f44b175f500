package discordworld

import (
	"parley/connectors/connectortest"
	"parley/connectors/discord/discordfake"
)

// Press presses a button under the newest message that has one.
func (w *Platform) Press(from connectortest.User, in connectortest.Room, option int) {
	all := w.Fake.Messages(string(in))
	for i := len(all) - 1; i >= 0; i-- {
		if buttons := all[i].Buttons(); len(buttons) > option {
			press(w.Fake, all[i].ID, w.users[from], buttons[option])
			return
		}
	}
}

func press(fake *discordfake.Server, message, user string, b discordfake.Button) {
	if b.Value != "" {
		fake.Press(message, user, b.ID, b.Value)
		return
	}
	fake.Press(message, user, b.ID)
}

// PressLabel presses the button with a label under the newest message that has one, and returns the message's id.
func (w *Platform) PressLabel(from connectortest.User, in connectortest.Room, label string) string {
	all := w.Fake.Messages(string(in))
	for i := len(all) - 1; i >= 0; i-- {
		for _, b := range all[i].Buttons() {
			if b.Label == label {
				press(w.Fake, all[i].ID, w.users[from], b)
				return all[i].ID
			}
		}
	}
	return ""
}

// Write has a user write a text into the modal that was opened last, by a press of a message or by a menu; with more texts, one for each label.
func (w *Platform) Write(from connectortest.User, in connectortest.Room, message, text string, more ...string) {
	Submit(w, from, in, message, nil, append([]string{text}, more...)...)
}

// Buttons are the labels of all that can be pressed.
func (w *Platform) Buttons(in connectortest.Room) (labels []string) {
	for _, m := range w.Fake.Messages(string(in)) {
		for _, b := range m.Buttons() {
			labels = append(labels, b.Label)
		}
	}
	return labels
}

// PressAgain presses a button as a client does that still shows it.
func (w *Platform) PressAgain(from connectortest.User, in connectortest.Room, data string) {
	all := w.Fake.Messages(string(in))
	w.Fake.Press(all[len(all)-1].ID, w.users[from], data)
}

// Told are the words that people were told in private when they pressed; empty if nothing.
func (w *Platform) Told() (all []string) {
	for _, a := range w.Fake.PressAnswers() {
		all = append(all, a.Content)
	}
	return all
}

// Submit has a user fill in the modal that was opened last: with files, whose names are the values of their labels.
func Submit(w *Platform, from connectortest.User, in connectortest.Room, message string, files []connectortest.File, values ...string) {
	var all []discordfake.Attachment
	for _, f := range files {
		all = append(all, discordfake.Attachment{Filename: f.Name, ContentType: f.Type, Data: f.Data})
	}
	w.Fake.Submit(string(in), message, w.users[from], w.Fake.Opened(), all, values...)
}
