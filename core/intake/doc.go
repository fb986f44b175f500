// Package intake accepts everything that happens on the platforms: messages, commands, choices, edits, deletions, reactions, members who
// come and go, and notices and tasks of the agent. It stores each event once, with the run that answers it if there is one, and wakes
// the scheduler. It answers nothing itself.
//
// Every operation can be repeated after an error: a platform delivers an event again that was not acknowledged. So each writes the part
// that it must not lose first. Its effect on running answers is only a hint that saves time: they end on their own, too.
package intake
