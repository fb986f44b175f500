package telegramworld

import (
	"slices"

	"parley/connectors/connectortest"
	"parley/connectors/telegram/telegramfake"
)

// Press presses a button under the newest message that has one.
func (w *Platform) Press(from connectortest.User, in connectortest.Room, option int) {
	all := w.Fake.Messages(Chat(in))
	for i := len(all) - 1; i >= 0; i-- {
		if buttons := open(all[i]); len(buttons) > option {
			w.Fake.Press(all[i], w.users[from], buttons[option].Data)
			return
		}
	}
}

// open returns the buttons of m that can be pressed.
func open(m telegramfake.Message) []telegramfake.Button {
	return slices.DeleteFunc(m.Buttons(), func(b telegramfake.Button) bool { return b.Data == "" })
}

// Buttons are the labels of all that can be pressed.
func (w *Platform) Buttons(in connectortest.Room) (labels []string) {
	for _, m := range w.Fake.Messages(Chat(in)) {
		for _, b := range open(m) {
			labels = append(labels, b.Text)
		}
	}
	return labels
}

// PressAgain presses a button as a client does that still shows it.
func (w *Platform) PressAgain(from connectortest.User, in connectortest.Room, data string) {
	all := w.Fake.Messages(Chat(in))
	w.Fake.Press(all[len(all)-1], w.users[from], data)
}

// Told are the words that people were told in private when they pressed; empty if nothing.
func (w *Platform) Told() (all []string) {
	for _, a := range w.Fake.CallbackAnswers() {
		all = append(all, a.Text)
	}
	return all
}
