package action

// Awaited is the [chat.Question] of questions whose action waits for the choice.
const Awaited = "awaited"

// Parked is the [chat.Question] of questions that a parked run waits for: a choice wakes it.
const Parked = "parked"
