// Package turn executes runs: it decides whether to answer, claims the room, builds the prompt, generates the answer
// with a model and the calls of actions, shows it, and journals its result before users see that. If the process dies
// on the way, another process adopts the run.
//
// [Turns] executes; its parts exist once for each process. An execution has a part for each subject: the journal, the
// preparation, the question that the answer asks, the ending. Parts share an attempt, and otherwise hold only their own
// dependencies.
package turn
