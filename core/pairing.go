package core

import (
	"context"
	"fmt"
	"time"

	"parley/core/access"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/prompt"
)

// refuse answers, without a model, people without access and those who send a code. It concerns direct chats alone: in other rooms
// access was checked before the run was opened.
func (pn *preparation) refuse(ctx context.Context, recent []chat.Memory, question chat.Memory) error {
	room := chat.Room{Kind: pn.x.run.RoomKind, Connector: pn.x.run.Address.Connector}
	if question.ID == "" || pn.x.run.Kind == chat.RunTask || !room.Kind.Private() || pn.x.rt.cfg.Access.Open[room.Connector] {
		return nil
	}
	g := access.Guest{Person: chat.Person{ID: question.Author, Name: question.Name, Address: pn.x.run.Address, Since: time.Now()}, Room: room, Says: question.Text}
	g.Greeted = len(recent) == prompt.Window // who has filled a prompt was told, or does not listen
	for _, m := range recent {
		g.Greeted = g.Greeted || m.Author == pn.x.rt.cfg.Agent.Entity()
	}
	var in bool
	var line string
	err := pn.x.persist(ctx, func() (err error) {
		in, line, err = pn.x.rt.pairing.Check(ctx, g)
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("check access in %s: %w", pn.x.run.ID, err)
	case line != "":
		pn.x.gen.Trace.Actions = []string{chat.AccessAction}
		pn.x.answer.Apply(answer.Change{Kind: answer.Text, Text: line})
		return errTold
	case !in:
		return chat.ErrNothingToSay
	}
	return nil
}

// OwnerCode returns the code that makes its sender the owner of a new bot. It is empty if there is an owner, or the configuration names one.
func (rt *Runtime) OwnerCode(ctx context.Context) (string, error) { return rt.pairing.OwnerCode(ctx) }

// Approve gives access to the user who was told code, and tells them. It fails with [chat.ErrNotFound] if the code is unknown or has expired.
func (rt *Runtime) Approve(ctx context.Context, code string) (chat.Person, error) {
	return rt.pairing.Approve(ctx, code)
}

// approvalHandler carries out what an owner chose for a user who asks for access.
type approvalHandler struct{ pairing *access.Pairing }

func (approvalHandler) Name() string { return access.ApprovalHandler }

func (h approvalHandler) Chosen(ctx context.Context, q chat.Question) (string, error) {
	return h.pairing.Chosen(ctx, q, notYours, overNow)
}
