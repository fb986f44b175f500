package telegramworld

import "parley/connectors/connectortest"

// Press presses a button under the newest message that has one.
func (w *Platform) Press(from connectortest.User, in connectortest.Room, option int) {
	all := w.Fake.Messages(Chat(in))
	for i := len(all) - 1; i >= 0; i-- {
		if buttons := all[i].Buttons(); len(buttons) > option {
			w.Fake.Press(all[i], w.users[from], buttons[option].Data)
			return
		}
	}
}

// Buttons are the labels of all that can be pressed.
func (w *Platform) Buttons(in connectortest.Room) (labels []string) {
	for _, m := range w.Fake.Messages(Chat(in)) {
		for _, b := range m.Buttons() {
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
