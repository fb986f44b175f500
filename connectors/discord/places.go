package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/core/chat"
)

const (
	mostPlaces = 1000
	placeTime  = 5 * time.Second
	placeLife  = time.Hour
	// arrivalTime is how long after the bot was added to a server it is greeted.
	arrivalTime = time.Hour
	guessLife   = time.Minute // for an assumption about a channel whose lookup failed
)

// places caches the kinds and names of guild channels, which messages do not include. It is safe for concurrent use.
type places struct {
	client *client
	lookups[place]
	locales lookups[string] // of servers, as their owners set them; they have no life, as events bring each change
}

// of returns the channel of m, and looks it up if it is not cached. If the lookup fails the message is delivered
// anyway, and the channel is assumed to be an ordinary one, with the name that it had before.
func (p *places) of(ctx context.Context, m message) place {
	if m.Guild == "" {
		return place{kind: chat.Direct, name: m.Author.shown(nil)}
	}
	at := p.channel(ctx, m.Channel)
	at.locale, _ = p.locales.get(m.Guild)
	return at
}

// channel returns a channel of a guild. The name of a forum's post includes its tags.
func (p *places) channel(ctx context.Context, id string) place {
	return p.lookups.of(ctx, id, func(ctx context.Context, before place) (place, error) {
		var said guildChannel
		err := p.client.do(ctx, http.MethodGet, "channels/"+id, nil, &said)
		if err != nil {
			before.kind = cmp.Or(before.kind, chat.Group)
			return before, err
		}
		found := said.place()
		if len(said.Applied) > 0 && snowflake(said.Parent) != 0 {
			var names []string
			for _, tag := range said.Applied {
				names = append(names, p.channel(ctx, said.Parent).tags[tag])
			}
			found.name += " [" + strings.Join(names, ", ") + "]"
		}
		return found, nil
	})
}

// lookups caches what Discord says about channels or servers, by their ids. Entries expire after an hour, because both are
// renamed. The zero value is ready for use. It is safe for concurrent use.
type lookups[T any] struct {
	mu    sync.Mutex
	known map[string]lookup[T]
}

// lookup is an entry of the cache.
type lookup[T any] struct {
	value T
	until time.Time
}

// of returns the value of id, and asks for it if it is not cached; ask gets the expired value. The result of a refusal is kept for
// as long as a success, since asking again would not help; that of other failures is kept for a minute.
func (l *lookups[T]) of(ctx context.Context, id string, ask func(ctx context.Context, before T) (T, error)) T {
	before, ok := l.get(id)
	if ok {
		return before
	}
	ctx, cancel := context.WithTimeout(ctx, placeTime)
	defer cancel()
	value, err := ask(ctx, before)
	life := placeLife
	if err != nil && !errors.As(err, new(*refusal)) {
		life = guessLife
	}
	l.put(id, value, life)
	return value
}

// get returns the value of id, and whether it is still valid.
func (l *lookups[T]) get(id string) (value T, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	is, ok := l.known[id]
	return is.value, ok && time.Now().Before(is.until)
}

// put sets the value of id for some time.
func (l *lookups[T]) put(id string, value T, life time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[string]lookup[T]{}
	}
	if len(l.known) >= mostPlaces {
		for old := range l.known {
			delete(l.known, old)
			break
		}
	}
	l.known[id] = lookup[T]{value, time.Now().Add(life)}
}

// worldID returns the id of a server, which Discord calls a guild.
func worldID(guild string) chat.WorldID { return chat.WorldID(Name + "/" + guild) }

// joinedMessage is the type of a server's welcome message for a new member. Discord's events about members need a
// privileged intent; this message does not.
const joinedMessage = 7

// guild handles events about servers: every new session starts with one for each server that the bot is in. The runtime
// recognizes servers that it has already. An unavailable server (an outage) is neither joined nor left.
func (q *intake) guild(kind string, raw []byte) error {
	var g struct {
		ID          string         `json:"id"`
		Name        string         `json:"name"`
		Unavailable any            `json:"unavailable"` // in a deletion it means an outage; the bot is still a member
		Added       time.Time      `json:"joined_at"`
		System      string         `json:"system_channel_id"` // for greetings; can be empty
		Owner       string         `json:"owner_id"`
		Locale      string         `json:"preferred_locale"`
		Channels    []guildChannel `json:"channels"`
		Threads     []guildChannel `json:"threads"`
	}
	if err := decode(raw, &g); err != nil {
		return fmt.Errorf("read a change of servers: %w", err)
	}
	switch {
	case snowflake(g.ID) == 0, g.Unavailable != nil && g.Unavailable != false:
	case kind == "GUILD_UPDATE":
		q.places.locales.put(g.ID, g.Locale, placeLife)
	case kind == "GUILD_CREATE":
		q.places.locales.put(g.ID, g.Locale, placeLife)
		q.places.learn(slices.Concat(g.Channels, g.Threads))
		q.described(g.ID, raw)
		in := chat.Joined{World: chat.World{ID: worldID(g.ID), Connector: Name, Name: g.Name}}
		in.Lacking = lackingIn(g.ID, q.me, raw, g.Channels)
		in.Described = len(in.Lacking) > 0
		lately := time.Since(g.Added) < arrivalTime
		if lately {
			in.Added, in.Locale, in.Channels = g.Added, g.Locale, writable(g.Channels)
		}
		if lately && snowflake(g.System) != 0 {
			own, _ := json.Marshal(address{Channel: g.System, Guild: g.ID, Kind: chat.Group}) // of strings
			in.Room = chat.Room{ID: roomID(g.System), World: in.World.ID, Kind: chat.Group, Connector: Name, Chats: []string{g.System}}
			in.Room.Address = chat.Address{Connector: Name, Room: in.Room.ID, ConnectorData: own}
		}
		q.noteLater(g.ID, "", "arrival", func(ctx context.Context) chat.Inbound {
			if lately {
				in.AddedBy, in.Direct = q.addedBy(ctx, g.ID, g.Owner)
			}
			return in
		})
	default:
		q.note(g.ID, "", chat.Left{World: worldID(g.ID)})
	}
	return nil
}

// addedBy returns the user who added the bot to a server, and their direct chat: the audit log names them where the bot can read it. Otherwise
// it is the owner of the server, who is the only one for sure with the right to add bots.
func (q *intake) addedBy(ctx context.Context, guild, owner string) (who chat.EntityID, direct chat.Room) {
	ctx, cancel := context.WithTimeout(ctx, placeTime)
	defer cancel()
	var log struct {
		Entries []struct {
			User   string `json:"user_id"`
			Target string `json:"target_id"`
		} `json:"audit_log_entries"`
	}
	if err := q.client.do(ctx, http.MethodGet, fmt.Sprintf("guilds/%s/audit-logs?action_type=%d&limit=%d", guild, botAdded, mostAdded), nil, &log); err != nil {
		q.log.Debug("the audit log can't be read; the owner of the server is welcomed", "err", err)
	}
	for _, e := range log.Entries { // the newest first
		if e.Target == q.me && snowflake(e.User) != 0 {
			owner = e.User
			break
		}
	}
	var dm struct {
		ID string `json:"id"`
	}
	if snowflake(owner) == 0 {
		return "", direct
	}
	err := q.client.do(ctx, http.MethodPost, "users/@me/channels", map[string]string{"recipient_id": owner}, &dm)
	if err != nil || snowflake(dm.ID) == 0 {
		q.log.Info("the user who added the bot can't be welcomed", "err", err)
		return entityID(owner), direct
	}
	direct = chat.Room{ID: roomID(dm.ID), Kind: chat.Direct, Connector: Name, Chats: []string{dm.ID}}
	direct.Address = chat.Address{Connector: Name, Room: direct.ID, ConnectorData: address{Channel: dm.ID, Kind: chat.Direct}.encode()}
	return entityID(owner), direct
}

const (
	botAdded  = 28 // the type of an entry in the audit log
	mostAdded = 10 // entries; other bots can be added in the same hour
)

// guildChannel is a channel or a thread as Discord describes it.
type guildChannel struct {
	ID         string      `json:"id"`
	Name       string      `json:"name"`
	Type       int         `json:"type"`
	Position   int         `json:"position"`
	Flags      int         `json:"flags"`
	Parent     string      `json:"parent_id"`
	Overwrites []overwrite `json:"permission_overwrites"`
	Owner      string      `json:"owner_id"`
	Applied    []string    `json:"applied_tags"`
	Tags       []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"available_tags"`
}

// place returns the place of c. Its name lacks the tags of a forum's post.
func (c guildChannel) place() place {
	found := place{kind: kindOf(c.Type), name: c.Name, parent: c.Parent, owner: c.Owner, tags: map[string]string{}}
	for _, t := range c.Tags {
		found.tags[t.ID] = t.Name
	}
	return found
}

// learn caches the channels of a server, so that messages in many of them at once need no requests. Posts with tags are looked up when they
// are used.
func (p *places) learn(all []guildChannel) {
	for _, c := range all[:min(len(all), mostPlaces)] {
		if c.Flags&maskedChannel == 0 && len(c.Applied) == 0 && snowflake(c.ID) != 0 {
			p.put(c.ID, c.place(), placeLife)
		}
	}
}

// writable returns the text channels that the bot can view, in the order that members see. Names that several channels have are followed by
// their categories, and by the id if these are the same, too.
func writable(all []guildChannel) (found []chat.Channel) {
	slices.SortStableFunc(all, func(a, b guildChannel) int { return cmp.Compare(a.Position, b.Position) })
	categories, ids := map[string]string{}, map[string]string{}
	for _, c := range all {
		if c.Type == textChannel && c.Flags&maskedChannel == 0 && snowflake(c.ID) != 0 {
			found, ids[c.ID] = append(found, chat.Channel{ID: c.ID, Name: c.Name}), c.ID
		}
		if i := slices.IndexFunc(all, func(p guildChannel) bool { return p.ID == c.Parent }); i >= 0 {
			categories[c.ID] = all[i].Name
		}
	}
	for _, marks := range []map[string]string{categories, ids} {
		times := map[string]int{}
		for _, c := range found {
			times[strings.ToLower(c.Name)]++
		}
		for i, c := range found {
			if marks[c.ID] != "" && times[strings.ToLower(c.Name)] > 1 {
				found[i].Name += " (" + marks[c.ID] + ")"
			}
		}
	}
	return found
}

// textChannel is the type of an ordinary channel.
const textChannel = 0

// greeted delivers a new member from a welcome message. Servers can switch these messages off; then the runtime learns
// of members only when they write.
func (q *intake) greeted(m message) {
	if m.Guild == "" || m.Author.ID == q.me {
		return
	}
	q.note(m.Channel, m.ID, chat.Joined{
		World: chat.World{ID: worldID(m.Guild), Connector: Name},
		Entity: chat.Entity{
			ID: entityID(m.Author.ID), Connector: Name, Names: []string{m.Author.shown(m.Member)}, Bot: m.Author.Bot,
		},
	})
}
