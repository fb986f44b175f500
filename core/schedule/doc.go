// Package schedule decides which run is next: how a message affects a room's open runs, how many answers are generated
// for a person at a time, when a run is retried after crashes, and how long bots can talk to each other. Apart from its
// locks it is pure: it reads no store, and times are passed in or only compared.
//
// [TurnPolicy] has the rules for rooms. [Parallel], [Suspects] and [Bots] each hold a run back for one reason, and
// [Background] is for work after turns. All of it is known to this process alone. What must hold across processes (that
// a run has one holder) is decided by the journal; what is kept here only makes conflicts rare, and may be forgotten by
// a restart.
package schedule
