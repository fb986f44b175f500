package turn

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"parley/core/access"
	"parley/core/action"
	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/consent"
	"parley/core/llm"
	"parley/core/prompt"
	"parley/core/schedule"
	"parley/internal/contain"
	"parley/internal/lang"
)

// ReplyStore contains the store methods of [Replies].
type ReplyStore interface {
	ReceiptStore
	RunShowing(ctx context.Context, room chat.RoomID, topics bool, message string, turns int) (chat.Run, error)
	Attention(ctx context.Context, room chat.RoomID) (chat.Attention, error)
	OpenRuns(ctx context.Context, room chat.RoomID) ([]chat.Run, error)
	Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error)
	Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
	Upload(ctx context.Context, id string) (chat.Upload, error)
	attachment.Pieces
	access.EntityStore
	SaveEntity(ctx context.Context, e chat.Entity) (chat.News, error)
}

// Replies answers runs that need no language model: commands, and notices of the agent. Its fields are set before use. It is safe for
// concurrent use.
type Replies struct {
	Store          ReplyStore
	Recaller       *Recaller
	Approvals      *consent.Approvals
	Links          *access.Links
	Handovers      *access.Handovers
	Plugins        []action.Plugin
	Program        Program
	Counters       *schedule.Counters
	Limit          time.Duration      // of a turn
	ImageGenerator llm.ImageGenerator // nil: notices have no images
	Speaker        llm.Speaker        // nil: answers are not spoken
	Log            *slog.Logger
}

// commandRun is a run that answers a command.
type commandRun struct {
	*Replies
	at      *attempt
	journal *journal
	asking  *asking
}

// reply returns the function that executes a command as a run, or nil: its text is the answer.
func reply(name chat.CommandName) func(*commandRun, context.Context) (string, error) {
	return map[chat.CommandName]func(*commandRun, context.Context) (string, error){
		chat.NewCommand:       (*commandRun).askToForget,
		chat.RetryCommand:     (*commandRun).nothingToRetry,
		chat.ModelCommand:     (*commandRun).models,
		chat.StatusCommand:    (*commandRun).status,
		chat.UsageCommand:     (*commandRun).usage,
		chat.ApprovalsCommand: (*commandRun).approvals,
		chat.LinkCommand:      (*commandRun).link,
		chat.UnlinkCommand:    (*commandRun).link,
		chat.LanguageCommand:  (*commandRun).language,
		chat.VoiceCommand:     (*commandRun).voice,
		chat.NotifyCommand:    (*commandRun).notify,
		chat.WhyCommand:       (*commandRun).why,
		chat.BlockCommand:     (*commandRun).block,
		chat.UnblockCommand:   (*commandRun).block,
		chat.HelpCommand:      (*commandRun).help,
		chat.PersonCommand:    (*commandRun).person,
		chat.MemoryCommand:    (*commandRun).plugin,
		chat.ForgetCommand:    (*commandRun).plugin,
		chat.RemindersCommand: (*commandRun).plugin,
		chat.AdminCommand:     (*commandRun).plugin,
	}[name]
}

// answer executes a command; its text is the answer. It fails with the error of the command.
func (cr *commandRun) answer(ctx context.Context) error {
	m, err := cr.journal.input(ctx)
	if err != nil {
		return err
	}
	name, _, _ := chat.ParseCommand(m.Text)
	carryOut := reply(name)
	if carryOut == nil {
		return fmt.Errorf("there is no command %q", m.Text)
	}
	text, err := carryOut(cr, ctx)
	if err == nil {
		cr.at.say(text)
	}
	return err
}

// plugin passes the command to the plugin that provides it. Without the plugin the command remains in the lists that
// platforms keep, so the reply then explains that it is turned off. It fails with the error of the plugin.
func (cr *commandRun) plugin(ctx context.Context) (string, error) {
	m, err := cr.journal.input(ctx)
	if err != nil {
		return "", err
	}
	name, arguments, _ := chat.ParseCommand(m.Text)
	for _, p := range cr.Plugins {
		for _, c := range p.Commands {
			if c.Name != name {
				continue
			}
			call := action.CommandCall{Message: m, Arguments: arguments}
			err = cr.journal.persist(ctx, func() error {
				if call.Room, err = cr.Store.Room(ctx, m.Room); err == nil {
					call.Owner, err = cr.Recaller.Pairing.Owns(ctx, m.Author)
				}
				return err
			})
			if err != nil {
				return "", err
			}
			var said string
			err = contain.Call("the command", func() (err error) {
				said, err = c.Run(ctx, call)
				return err
			})
			return said, err
		}
	}
	return lang.Say(ctx, "turn.off"), nil
}

// Complete returns values of the argument of a command that contain the words of its author: the names of models, or suggestions of
// the plugin of the command. It fails with the error of the store or the plugin.
func (rs *Replies) Complete(ctx context.Context, c chat.Completion) (found []chat.Suggestion, err error) {
	var all []chat.Suggestion
	if c.Command == chat.ModelCommand {
		can, err := rs.Recaller.Models.Allowed(ctx, c.Place, c.Author)
		if err != nil || !can && !rs.Recaller.Access.IsStaffRole(c.Place, c.Roles) {
			return nil, err
		}
		for _, m := range rs.Recaller.Models.Table.Models() {
			all = append(all, chat.Suggestion{Label: m.Name, Value: m.Name})
		}
	}
	for _, p := range rs.Plugins {
		for _, one := range p.Commands {
			if one.Name == c.Command && one.Complete != nil {
				call := action.CommandCall{Room: c.Place, Message: chat.Memory{Room: c.Place.ID, Author: c.Author}}
				err = contain.Call("the command", func() error {
					more, err := one.Complete(ctx, call)
					all = append(all, more...)
					return err
				})
			}
		}
	}
	for _, s := range all {
		if strings.Contains(strings.ToLower(s.Label), strings.ToLower(c.Typed)) {
			found = append(found, s)
		}
	}
	return found, err
}

// link executes /link and /unlink. It fails with the error of the store.
func (cr *commandRun) link(ctx context.Context) (said string, err error) {
	m, err := cr.journal.input(ctx)
	if err != nil {
		return "", err
	}
	var ask *chat.Question
	err = cr.journal.persist(ctx, func() error {
		room, err := cr.Store.Room(ctx, m.Room)
		if err != nil {
			return err
		}
		lasts, err := cr.lasts(ctx, m)
		if err == nil {
			said, ask, err = cr.Links.Command(ctx, m, room, lasts)
		}
		return err
	})
	if err == nil && ask != nil {
		_, err = cr.asking.ask(ctx, *ask)
	}
	return said, err
}

// person executes /person. It fails with the error of the store.
func (cr *commandRun) person(ctx context.Context) (said string, err error) {
	m, err := cr.journal.input(ctx)
	if err != nil {
		return "", err
	}
	_, argument, _ := chat.ParseCommand(m.Text)
	var ask *chat.Question
	if strings.EqualFold(argument, "suggest") {
		said, ask, err = cr.Handovers.Suggest(ctx, m)
	} else {
		err = cr.journal.persist(ctx, func() error {
			said, ask, err = cr.Handovers.Command(ctx, m, argument)
			return err
		})
	}
	if err == nil && ask != nil {
		_, err = cr.asking.ask(ctx, *ask)
	}
	return said, err
}

// language executes /language: it stores the chosen language for all accounts of the person, and replies in it. It fails with the
// error of the store.
func (cr *commandRun) language(ctx context.Context) (said string, err error) {
	m, err := cr.journal.input(ctx)
	if err != nil {
		return "", err
	}
	_, wanted, _ := chat.ParseCommand(m.Text)
	v, known := lang.Find(wanted)
	chosen := v.Tag()
	if auto := strings.EqualFold(wanted, "auto"); auto {
		chosen, said = "", "language.auto"
	} else if said = "language.set"; !known {
		var all []string
		for _, tag := range lang.Tags() {
			all = append(all, fmt.Sprintf("%s (`%s`)", lang.In(tag).Name(), tag))
		}
		return lang.Say(ctx, "language.which", "languages", strings.Join(all, ", "), "tag", lang.Of(ctx).Tag()), nil
	}
	person, err := cr.saveDetail(ctx, m.Author, chat.LanguageDetail, chosen)
	if err == nil {
		v = person.Voice()
	}
	return v.Say(said), err
}

// block executes /block and /unblock. It fails with the error of the store.
func (cr *commandRun) block(ctx context.Context) (said string, err error) {
	m, err := cr.journal.input(ctx)
	if err != nil {
		return "", err
	}
	r := access.BlockRequest{By: m, From: cr.at.run.Address}
	var named string
	r.Name, named, _ = chat.ParseCommand(m.Text)
	err = cr.journal.persist(ctx, func() error {
		if r.User, err = cr.named(ctx, m, named); err != nil {
			return err
		}
		accounts, err := access.AccountsOf(ctx, cr.Links.Store, r.User.ID)
		if err == nil {
			said, err = cr.Recaller.Pairing.Block(ctx, r, accounts)
		}
		return err
	})
	return said, err
}

// named returns the user that a command is about: the author of the message that it replies to, or the user that it names by account, by a
// mention, or by the only one with this name among the latest messages. It returns a zero one if there is none. It fails with the error of
// the store.
func (cr *commandRun) named(ctx context.Context, m chat.Memory, name string) (who chat.Person, err error) {
	agent := cr.Recaller.Agent.Entity()
	if name == "" {
		on, err := cr.Recaller.Store.Memory(ctx, m.InReplyTo)
		if err == nil && on.Author != agent {
			who = chat.Person{ID: on.Author, Name: on.Name}
		}
		return who, chat.Unless(err, chat.ErrNotFound)
	}
	connector, _, _ := strings.Cut(string(m.Author), "/")
	bare := strings.Trim(name, "`@<>! ")
	id := chat.EntityID(strings.Replace(bare, ":", "/", 1))
	if bare != "" && strings.Trim(bare, "0123456789") == "" {
		id = chat.EntityID(connector + "/" + bare)
	}
	var found []chat.Person
	for _, kind := range []chat.MemoryKind{chat.Said, chat.Overheard, chat.KindCommand} {
		recent, err := cr.Store.Recent(ctx, m.Room, kind, 0, prompt.Window)
		if err != nil {
			return who, err
		}
		for _, r := range recent {
			one := chat.Person{ID: r.Author, Name: r.Name}
			if r.Author != agent && (r.Author == id || strings.EqualFold(r.Name, bare)) && !slices.ContainsFunc(found, func(p chat.Person) bool { return p.ID == one.ID }) {
				found = append(found, one)
			}
		}
	}
	if len(found) == 0 && strings.Contains(string(id), "/") {
		return chat.Person{ID: id}, nil
	} else if len(found) == 1 {
		return found[0], nil
	}
	return who, nil
}

// lasts reports whether the author of m has the same account in all their chats, and not one for each. It fails with the
// error of the store.
func (cr *commandRun) lasts(ctx context.Context, m chat.Memory) (bool, error) {
	person, err := access.PersonOf(ctx, cr.Links.Store, m.Author)
	return person == cr.at.run.Address.BilledTo, err
}
