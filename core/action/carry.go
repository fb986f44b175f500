package action

// Awaited is the chooser of a question that its action waits for.
const Awaited = "awaited"
