// Package storage declares what a gateway stores: one port for each subject, whose comments are the contract of every backend,
// and their sum. A consumer declares the methods that it needs; they have the contracts of the ports.
package storage

import "parley/core/quota"

// A Store is all ports in one, as backends build it and the gateway hands it over. Its methods are safe for concurrent use, each is one transaction, and
// what one has returned survives a crash of the process. Lists, maps and bytes that it returns can be shared with other callers and must not be
// changed; to append to a list is safe.
type Store interface {
	Memories
	Rooms
	RoomFinder
	Attentions
	Directory
	Notebook
	WordIndex
	VectorIndex
	VectorBackfill
	PieceVectors
	Inbox
	Runs
	Journal
	Retries
	Parking
	Leases
	Fleet
	Files
	Uploads
	Questions
	Approvals
	People
	Reminders
	PersonalData
	quota.UsageStore
	Upkeep
}
