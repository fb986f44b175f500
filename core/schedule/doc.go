// Package schedule decides which run is next: how a message affects a room's open runs, how many answers are generated
// for a person at a time, when a run is retried after crashes, and how long bots can talk to each other. Apart from its
// locks it is pure: it reads no store, and times are passed in or only compared.
//
// [TurnPolicy] has the rules for rooms. [Parallel], [Suspects] and [Bots] each hold a run back for one reason, and
// [Background] is for work after turns. Their state is local to this process. Facts that must hold across processes (that
// a run has one holder) are decided by the journal; the local state only makes conflicts rare, and is lost by
// a restart.
package schedule
