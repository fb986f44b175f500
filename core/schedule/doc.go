// Package schedule decides whose turn it is: what becomes of a message while a room has open runs, how many answers are made for a person at a
// time, when a run that processes died with is tried again, and how long bots can talk with each other. It is pure but for its locks.
package schedule
