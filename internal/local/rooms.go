package local

import (
	"context"

	"parley/config"
	"parley/core/chat"
)

// mostRooms is the maximum number of rooms that gateway export lists, and finds by name.
const mostRooms = 1000

type roomsReply struct{ Rooms []chat.ListedRoom }

var rooms = command[struct{}, roomsReply]{name: "rooms", do: func(ctx context.Context, store Store, _ Runtime, _ struct{}) (roomsReply, error) {
	all, err := store.ListRooms(ctx, "", mostRooms)
	return roomsReply{all}, err
}}

// roomRequest is the request for a page of the data of a room.
type roomRequest struct {
	Room  chat.RoomID
	After string
}

var roomRecords = command[roomRequest, chat.PersonalPage]{name: "room", do: func(ctx context.Context, store Store, _ Runtime, req roomRequest) (chat.PersonalPage, error) {
	return store.RoomRecords(ctx, req.Room, req.After)
}}

// Rooms returns the rooms with messages of users, that with the newest one first, from the running gateway of cfg, or from its store if
// none runs. It fails if neither can be reached.
func Rooms(ctx context.Context, cfg config.Config) ([]chat.ListedRoom, error) {
	reply, err := rooms.run(ctx, cfg, struct{}{})
	return reply.Rooms, err
}

// ExportRoom calls each with all stored data of a room, page by page, and stops at its first error.
func ExportRoom(ctx context.Context, cfg config.Config, room chat.RoomID, each func(chat.PersonalPage) error) error {
	return exportPages(each, func(after string) (chat.PersonalPage, error) {
		return roomRecords.run(ctx, cfg, roomRequest{Room: room, After: after})
	})
}
