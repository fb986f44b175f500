package parley

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"parley/connectors/web"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/signature"
)

const (
	fileKeyName = "key of files for agents" // the name of the stored key, which all replicas share
	fileTime    = 15 * time.Minute          // how long an address of a file is valid
)

// agentFile is a file that an agent can fetch. Its address has it as sealed JSON, so nothing is stored for it before it is fetched.
type agentFile struct {
	Room      chat.RoomID     `json:"r"`
	Connector string          `json:"c"`
	File      chat.Attachment `json:"f"`
	Ends      time.Time       `json:"e"`
}

// fileAddress returns the address where an agent can fetch f of a message in room: once, within fileTime. It fails with the error of
// the store.
func (g *Gateway) fileAddress(ctx context.Context, room chat.Room, f chat.Attachment) (string, error) {
	key, err := storedKey(ctx, g.backends.memo, fileKeyName)
	if err != nil {
		return "", err
	}
	base := "http://" + g.addr.String()
	if host, port, err := net.SplitHostPort(g.addr.String()); err == nil && net.ParseIP(host).IsUnspecified() {
		base = "http://" + net.JoinHostPort("127.0.0.1", port)
	}
	if domains := g.now.Load().cfg.Web.TLS.Origins(); len(domains) > 0 {
		base = domains[0]
	}
	f = chat.Attachment{Ref: f.Ref, Name: f.Name, Type: f.Type, Size: f.Size}
	data, err := json.Marshal(agentFile{Room: room.ID, Connector: room.Connector, File: f, Ends: time.Now().Add(fileTime)})
	return base + web.AgentFilesPath + signature.Seal(key, data), err
}

// agentFile returns the file of an address of fileAddress, once among all replicas: the store has a mark of it. It fails with
// [chat.ErrNotFound] afterwards, and for an address that is not valid or too old; and with the errors of the store and the
// connector.
func (g *Gateway) agentFile(ctx context.Context, sealed string) (llm.File, error) {
	key, err := storedKey(ctx, g.backends.memo, fileKeyName)
	if err != nil {
		return llm.File{}, err
	}
	var f agentFile
	if data, ok := signature.Open(key, sealed); !ok || json.Unmarshal(data, &f) != nil || !time.Now().Before(f.Ends) {
		return llm.File{}, chat.ErrNotFound
	}
	mark := chat.Memory{ID: chat.MemoryID("fetched/" + signature.Sign(key, "file", []byte(sealed))), Room: f.Room}
	if _, err := g.backends.store.Known(ctx, mark); !errors.Is(err, chat.ErrNotFound) {
		return llm.File{}, errors.Join(chat.ErrNotFound, err)
	}
	file, err := g.fetch(ctx, f.Connector, f.File, llm.MaxFile)
	if err != nil {
		return llm.File{}, fmt.Errorf("fetch a file for an agent: %w", err)
	}
	acc, err := g.backends.store.Mark(ctx, mark.Room, mark.ID)
	if err == nil && acc.Duplicate { // another request was faster
		err = chat.ErrNotFound
	}
	file.Name, file.Type = f.File.Name, f.File.Type
	return file, err
}
