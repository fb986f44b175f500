package action

// Awaited is the [chat.Question.Chooser] of questions whose action waits for the choice.
const Awaited = "awaited"
