package core

import (
	"context"

	"parley/core/answer"
	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/parking"
	"parley/core/quota"
	"parley/core/storage"
)

// What each part of the runtime needs of a store. The contracts are those of the ports of package storage.
type (
	intakeStore interface {
		storage.Attentions
		Accept(ctx context.Context, in chat.Message, j chat.JoinRule) (chat.Accepted, error)
		Known(ctx context.Context, in chat.Memory) (chat.Accepted, error)
		Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
	}
	choiceStore interface {
		storage.Questions
		Memory(ctx context.Context, id chat.MemoryID) (chat.Memory, error)
		Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error)
		Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
		Run(ctx context.Context, id chat.RunID) (chat.Run, error)
	}
	commandStore interface {
		Accept(ctx context.Context, in chat.Message, j chat.JoinRule) (chat.Accepted, error)
		Finish(ctx context.Context, id chat.RunID, epoch chat.Epoch, o answer.Outcome, out chat.Memory) error
		Mark(ctx context.Context, room chat.RoomID, id chat.MemoryID) (chat.Accepted, error)
		OpenQuestions(ctx context.Context, room chat.RoomID) ([]chat.Question, error)
		OpenRuns(ctx context.Context, room chat.RoomID) ([]chat.Run, error)
		Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error)
		Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
		Run(ctx context.Context, id chat.RunID) (chat.Run, error)
		RunOf(ctx context.Context, id chat.MemoryID) (chat.Run, error)
	}
	scheduleStore interface {
		storage.Leases
		OpenRooms(ctx context.Context) ([]chat.RoomID, error)
		OpenRuns(ctx context.Context, room chat.RoomID) ([]chat.Run, error)
		RetryRun(ctx context.Context, id chat.RunID) error
		Run(ctx context.Context, id chat.RunID) (chat.Run, error)
		Start(ctx context.Context, id chat.RunID, owner string) (chat.Run, error)
	}
	noticeStore interface {
		Accept(ctx context.Context, in chat.Message, j chat.JoinRule) (chat.Accepted, error)
		Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
		RunOf(ctx context.Context, id chat.MemoryID) (chat.Run, error)
	}
	summaryStore interface {
		storage.Notebook
		Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error)
	}
	// runStore is for an execution itself, and for its decision.
	runStore interface {
		Attempt(ctx context.Context, id chat.RunID, epoch chat.Epoch, day string, message ...quota.Charge) (over string, err error)
		Entity(ctx context.Context, id chat.EntityID) (chat.Entity, error)
		File(ctx context.Context, run chat.RunID, n int) (llm.File, error)
		Finish(ctx context.Context, id chat.RunID, epoch chat.Epoch, o answer.Outcome, out chat.Memory) error
		Memory(ctx context.Context, id chat.MemoryID) (chat.Memory, error)
		Note(ctx context.Context, id chat.RunID, epoch chat.Epoch, n chat.Note) error
		QuestionOf(ctx context.Context, run chat.RunID) (chat.Question, error)
		Remember(ctx context.Context, run chat.RunID, m chat.Memory) error
		Run(ctx context.Context, id chat.RunID) (chat.Run, error)
		SetAttention(ctx context.Context, room chat.RoomID, a chat.Attention) error
	}
	prepareStore interface {
		Forget(ctx context.Context, id chat.MemoryID) error
		Memory(ctx context.Context, id chat.MemoryID) (chat.Memory, error)
		Notes(ctx context.Context, room chat.RoomID, kind chat.NoteKind, limit int) ([]chat.RoomNote, error)
		Person(ctx context.Context, id chat.EntityID) (chat.Person, error)
		Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error)
		Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
		Run(ctx context.Context, id chat.RunID) (chat.Run, error)
	}
	askStore interface {
		Ask(ctx context.Context, q chat.Question) error
		Question(ctx context.Context, id string) (chat.Question, error)
		QuestionOf(ctx context.Context, run chat.RunID) (chat.Question, error)
		Withdraw(ctx context.Context, room chat.RoomID, run chat.RunID) error
	}
	statusStore interface {
		Attention(ctx context.Context, room chat.RoomID) (chat.Attention, error)
		OpenRuns(ctx context.Context, room chat.RoomID) ([]chat.Run, error)
		Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error)
		Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
	}
)

// stores are those of parts that come and go with a run, and of the runtime itself.
type stores struct {
	run     runStore
	prepare prepareStore
	files   attachment.Store
	ask     askStore
	park    parking.Store
	status  statusStore
	notice  noticeStore
	summary summaryStore
	upkeep  storage.Upkeep
}
