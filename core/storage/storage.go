// Package storage declares the storage of a gateway: one port for each subject, whose comments are the contract of every backend,
// and their sum. A consumer declares the methods that it needs; they have the contracts of the ports.
//
// Every method also fails with an error of the backend if the data can't be read or written, or if its context ends.
package storage

import "parley/core/quota"

// A Store is the sum of all ports, as a backend implements it and the gateway passes it to consumers. Its methods are safe
// for concurrent use, and each is one transaction: its effect survives a crash of the process as soon as it has returned.
// Callers share the returned lists, maps and bytes and must not change them; appending to a list is safe.
type Store interface {
	Memories
	Rooms
	RoomFinder
	RoomAttentions
	Directory
	RoomNotes
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
	Transcripts
	Overview
	quota.UsageStore
	Upkeep
}
