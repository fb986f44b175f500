// Package turn executes runs: it decides whether to answer, claims the room, makes the prompt, lets the model write and call
// actions, shows the answer, and journals how it ends before users see that. If the process dies on the way, another one adopts the run.
//
// [Turns] executes; what it is made of is there once for each process. An execution has a part for each subject: the journal, the
// preparation, the question that the answer asks, the ending. Parts share an attempt, and otherwise hold only what they use.
package turn
