package action

// Awaited is the [chat.Question] of questions whose action waits for the choice.
const Awaited = "awaited"
