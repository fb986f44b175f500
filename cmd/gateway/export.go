package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"parley/config"
	"parley/core/chat"
	"parley/internal/local"
)

// exportCmd writes the conversation in a room, or lists the rooms.
type exportCmd struct {
	Room   string `arg:"" optional:"" help:"Room, by its ID or name; without one, the rooms are listed, with the account of the user who wrote last."`
	JSON   bool   `name:"json" help:"Write everything that is stored about the room, as JSON, instead of the messages as Markdown."`
	Output string `short:"o" placeholder:"FILE" help:"Write to this file, which must not exist, instead of standard output."`
}

// Run asks the running gateway of the configuration, or else opens its store.
func (e *exportCmd) Run(ctx context.Context, cfg config.Config) error {
	rooms, err := local.Rooms(ctx, cfg)
	if err != nil {
		return err
	}
	if e.Room == "" {
		return listRooms(rooms)
	}
	room, err := roomNamed(rooms, e.Room)
	if err != nil {
		return err
	}
	return writeTo(e.Output, func(to io.Writer) (int, error) {
		pages := func(each func(chat.PersonalPage) error) error { return local.ExportRoom(ctx, cfg, room, each) }
		if e.JSON {
			return writeExport(to, "room", string(room), pages)
		}
		return writeTranscript(to, string(room), pages)
	})
}

// listRooms prints the rooms, with the accounts by which gateway person finds their users.
func listRooms(rooms []chat.ListedRoom) error {
	if len(rooms) == 0 {
		fmt.Println("No room has messages.")
		return nil
	}
	w := table(os.Stdout)
	fmt.Fprintln(w, "ROOM\tNAME\tLAST MESSAGE\tBY\tACCOUNT")
	for _, r := range rooms {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", shown(string(r.ID)), shown(r.Name), r.At.Local().Format(time.DateTime), shown(r.AuthorName), shown(r.Author.Account()))
	}
	return w.Flush()
}

// roomNamed returns the only room with an ID or, regardless of case, a name. An unlisted room is taken for an ID.
func roomNamed(rooms []chat.ListedRoom, name string) (chat.RoomID, error) {
	var named []chat.RoomID
	for _, r := range rooms {
		if string(r.ID) == name {
			return r.ID, nil
		}
		if r.Name != "" && strings.EqualFold(r.Name, strings.TrimPrefix(name, "#")) {
			named = append(named, r.ID)
		}
	}
	switch {
	case len(named) == 1:
		return named[0], nil
	case len(named) > 1:
		return "", fmt.Errorf("%d rooms have the name %s; name one by its ID, as gateway export lists them", len(named), shown(name))
	case strings.Contains(name, "/"):
		return chat.RoomID(name), nil
	}
	return "", fmt.Errorf("there is no room %s; gateway export lists the rooms", shown(name))
}

// writeTo calls write with a new private file, or with standard output if name is empty, and prints the number of records in the file.
// After an error there is no file: a part of an export could be taken for all of it.
func writeTo(name string, write func(io.Writer) (int, error)) error {
	if name == "" || name == "-" {
		_, err := write(os.Stdout)
		return err
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already; name a new file", name)
	} else if err != nil {
		return fmt.Errorf("write the export: %w; name a file in a folder that can be written", err)
	}
	records, err := write(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	fmt.Printf("%d records were written to %s.\n", records, name)
	return nil
}

// transcribed is a message of a transcript.
type transcribed struct {
	Kind, Name, Author, Text string
	At                       time.Time
	Content                  struct{ Files []chat.Attachment }
}

// errNoRoom is returned for a room of which nothing is stored.
var errNoRoom = errors.New("nothing is stored about this room; gateway export lists the rooms")

// writeTranscript writes the messages of a room as Markdown, and returns their number.
func writeTranscript(to io.Writer, room string, pages func(func(chat.PersonalPage) error) error) (messages int, err error) {
	out := bufio.NewWriter(to)
	found := false
	err = pages(func(page chat.PersonalPage) error {
		if !found {
			fmt.Fprintf(out, "# %s\n", room)
		}
		found = true
		for _, r := range page.Records {
			var is transcribed
			if page.Section != "messages" {
				break
			} else if err := json.Unmarshal(r, &is); err != nil {
				return fmt.Errorf("read a message: %w", err)
			} else if is.Kind != "" {
				continue
			}
			m := chat.Memory{Name: is.Name, Author: chat.EntityID(is.Author), Text: is.Text, At: is.At, Files: is.Content.Files}
			messages++
			if err := m.WriteMarkdown(out, cmp.Or(m.Name, m.Author.Account())); err != nil {
				return err
			}
		}
		return out.Flush()
	})
	if err == nil && !found {
		err = errNoRoom
	}
	return messages, errors.Join(err, out.Flush())
}
