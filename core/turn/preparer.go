package turn

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/consent"
	"parley/core/generate"
	"parley/core/llm"
	"parley/core/prompt"
	"parley/core/toolcall"
	"parley/internal/lang"
)

// PrepareStore contains the store methods of [Preparer].
type PrepareStore interface {
	prompt.AskedStore
	Forget(ctx context.Context, id chat.MemoryID) error
	Notes(ctx context.Context, room chat.RoomID, kind chat.NoteKind, limit int) ([]chat.RoomNote, error)
	Run(ctx context.Context, id chat.RunID) (chat.Run, error)
}

// Preparer collects the material of prompts. Its fields are set before use. It is safe for concurrent use.
type Preparer struct {
	Store     PrepareStore
	Recaller  *Recaller
	Tools     *Tools
	Composer  *prompt.Composer
	Approvals *consent.Approvals
	Reading   attachment.Reading // of any run: without its messages and its life
	Log       *slog.Logger

	// Fetch downloads an attachment, for models that take files; nil: they get none.
	Fetch func(ctx context.Context, connector string, f chat.Attachment, limit int64) (llm.File, error)
	// FileLink returns an address where a model can fetch an attachment itself.
	FileLink  func(ctx context.Context, room chat.Room, f chat.Attachment) (string, error)
	ReadLinks bool // the pages that questions link to are read, too
	Deaf      bool // voice messages can't be transcribed
}

// preparation reads the context of a turn before a model is called.
type preparation struct {
	*Preparer
	at       *attempt
	journal  *journal
	calls    *toolcall.Calls
	gen      *generate.Writer
	reading  attachment.Reading
	state    *prompt.Builder // builds the prompts of the turn, once it is prepared
	lost     bool            // the prompt left out messages: they are to be summarized
	pictures []llm.File      // the images for the model
	files    []llm.File      // the other files, for a model that takes them
}

// prepare reads the material of a run's prompts. It fails with [errAnswered] if the answer is complete without a model, and
// with errors of the store and of limits.
//
// The order keeps costs down: access and notices need no model; the message is counted against the limits before files
// are read and the first model is called, and the attempt with it, so that a run which crashes processes is counted.
func (pn *preparation) prepare(ctx context.Context) (*prompt.Builder, error) {
	turn, err := pn.Recaller.recall(ctx, pn.journal)
	if err != nil {
		return nil, fmt.Errorf("recall %s: %w", pn.at.run.Room, err)
	}
	turn.Waiting = pn.Approvals.Waiting(ctx, pn.at.waits)
	pn.at.turn = turn
	pn.Approvals.Wrote(ctx, pn.at.waits, pn.at.run, turn.Recent)
	if err := pn.refuse(ctx, turn.Recent, turn.Message); err != nil {
		return nil, err
	}
	if pn.at.run.Kind == chat.RunRetry {
		if turn, err = pn.askedAgain(ctx, turn); err != nil {
			return nil, err
		}
	}
	if pn.at.run.Kind == chat.RunOverflow {
		pn.at.say(lang.Say(ctx, "message.excuse"))
		return nil, errAnswered
	}
	model, err := pn.chooseModel(ctx, turn)
	if err != nil {
		return nil, fmt.Errorf("choose the model of %s: %w", pn.at.run.Room, err)
	}
	if err := pn.readCounted(ctx, &turn); err != nil {
		return nil, err
	}
	pn.at.turn.Actions = pn.calls.Tools()
	pn.trimHistory(ctx, model.Prompt)
	st := pn.Composer.Turn(pn.at.turn)
	pn.state = st
	st.Images, st.Files, st.Limit = pn.pictures, pn.files, model.Prompt
	return st, nil
}

// readCounted counts the message and then reads its attachments and links, which costs money. A turn that an action
// claims is not counted, unless the action calls a model itself, or the claim depends on files. A resumed turn was
// counted before it was parked. It fails with a limit that is reached, or with the error of the store.
func (pn *preparation) readCounted(ctx context.Context, s *action.TurnContext) error {
	endLinks := pn.addLinks(ctx, s)
	defer endLinks()
	files := pn.reading.HasUnread(*s, attachment.Any)
	pn.at.turn = *s
	resumed := pn.gen.State != nil
	if !files && !resumed {
		if err := pn.answerWithoutModel(ctx); err != nil {
			return err
		}
	}
	if err := pn.journal.countMessage(ctx); err != nil {
		return err
	}
	var err error
	if pn.pictures, pn.files, err = pn.read(ctx, &pn.reading, s); err != nil {
		return err
	}
	pn.at.turn = *s
	if !files || resumed {
		return nil
	}
	return pn.answerWithoutModel(ctx)
}

// read reads the files of the messages that s answers, and returns the pictures and the other files for the model. It fails with the error of
// the store, and with the cause of ctx.
func (pn *preparation) read(ctx context.Context, rd *attachment.Reading, s *action.TurnContext) (pictures, files []llm.File, err error) {
	err = pn.journal.risk.During("media", rd.HasFiles(*s), func() {
		pictures = rd.View(ctx, s)
		rd.Read(ctx, s, rd.Worded(*s))
		files = pn.originals(ctx, *s)
	})
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return pictures, files, err
}

// readJoined reads messages that have joined the turn like those that it began with: their files and links. It returns them with their content,
// and what read returns for them alone.
func (pn *preparation) readJoined(ctx context.Context, joined []chat.Memory) (all []chat.Memory, pictures, files []llm.File, err error) {
	s, one := pn.at.turn, *pn
	before := pn.at.run.Inputs[:len(pn.at.run.Inputs)-len(joined)] // the prompt has these and their files
	s.Recent = slices.DeleteFunc(slices.Clone(s.Recent), func(m chat.Memory) bool { return slices.Contains(before, m.ID) })
	one.reading.Inputs = pn.at.run.Inputs[len(before):]
	s.Answered, s.Message = one.reading.Inputs, joined[len(joined)-1]
	endLinks := one.addLinks(ctx, &s)
	defer endLinks()
	if pictures, files, err = one.read(ctx, &one.reading, &s); err != nil {
		return nil, nil, nil, err
	}
	turn := &pn.at.turn
	turn.Recent, turn.Attached = slices.Clone(turn.Recent), slices.Clone(turn.Attached)
	for _, m := range s.Recent {
		if i := slices.IndexFunc(turn.Recent, func(o chat.Memory) bool { return o.ID == m.ID }); i >= 0 {
			turn.Recent[i] = m
		}
		if !slices.Contains(s.Answered, m.ID) {
			continue
		}
		if all = append(all, m); len(m.Files) > 0 {
			turn.Attached = append(turn.Attached, m)
		}
	}
	return all, pictures, files, nil
}

const maxOriginals = 4 // files of a question

// originals downloads the files of the messages to answer, for a model that takes them. Pictures that it sees are left out.
// A file that can't be downloaded is left out, too: the text of the message names it.
func (pn *preparation) originals(ctx context.Context, s action.TurnContext) (all []llm.File) {
	m := pn.gen.Route.Current()
	if !m.Files && !m.FileLinks || pn.Fetch == nil {
		return nil
	}
	for _, asked := range s.Recent {
		if !slices.Contains(s.Answered, asked.ID) {
			continue
		}
		for _, f := range asked.Files {
			if f.Link || m.Vision && strings.HasPrefix(f.Type, "image/") || len(all) == maxOriginals {
				continue
			}
			var file llm.File
			var err error
			if m.FileLinks && pn.FileLink != nil {
				file.URL, err = pn.FileLink(ctx, s.Room, f)
			} else {
				file, err = pn.Fetch(ctx, s.Room.Connector, f, llm.MaxFile)
			}
			if err != nil {
				pn.Log.Warn("a file can't be passed on to the model", "run", pn.at.run.ID, "err", err)
				continue
			}
			all = append(all, llm.File{Name: f.Name, Type: cmp.Or(f.Type, file.Type), Data: file.Data, URL: file.URL})
		}
	}
	return all
}

// answerWithoutModel answers without a model if possible, and returns [errAnswered] then.
func (pn *preparation) answerWithoutModel(ctx context.Context) error {
	if pn.Deaf && pn.at.turn.Message.Untranscribed() {
		pn.at.say(lang.Say(ctx, "turn.deaf"))
		return errAnswered
	}
	return pn.runClaimedAction(ctx)
}

// runClaimedAction runs the action that claims the turn, and returns [errAnswered] if there is one. The answer is the output that the
// action has shown, or else its result.
func (pn *preparation) runClaimedAction(ctx context.Context) error {
	t, params, ok := pn.Tools.claim(&pn.at.run, pn.at.turn)
	if !ok {
		return nil
	}
	if err := pn.journal.countAttempt(ctx); err != nil {
		return err
	}
	c := llm.ToolCall{ID: pn.calls.NewID(""), Name: t.Def.Name, Parameters: params}
	pn.calls.Stage(c, answer.Tool{Stage: answer.StageStart})
	if _, err := pn.calls.Act(ctx, c); err != nil {
		return err
	}
	switch {
	case len(pn.calls.Acted) == 0 || pn.calls.Acted[0].Err != "":
		pn.at.answer.Apply(answer.Change{Kind: answer.Text, Text: lang.Say(ctx, "turn.not_done")})
	case pn.calls.RequireOutput() != nil:
		pn.at.answer.Apply(answer.Change{Kind: answer.Text, Text: pn.calls.Acted[0].Result.Text})
	}
	if err := pn.calls.RequireOutput(); err != nil {
		return err
	}
	return errAnswered
}

// chooseModel sets the route of models that answer the turn, and returns the first. If the model that was chosen for
// the room is no longer configured, it clears the choice, and the answer mentions that once. It fails with the error of
// the store.
func (pn *preparation) chooseModel(ctx context.Context, s action.TurnContext) (llm.Named, error) {
	m, removed := pn.Recaller.Models.Model(s.Settings, s.Room, s.Message.Author)
	if removed {
		if err := pn.journal.persist(ctx, func() error { return pn.Recaller.Models.Save(ctx, s.Room.ID, "") }); err != nil {
			return m, err
		}
	}
	pn.gen.Route, pn.gen.Removed = pn.Recaller.Models.Table.Route(m.Name), removed
	if s := pn.gen.State; s != nil && len(s.Models) > 0 { // the models that were chosen for this answer, also after a switch
		pn.gen.Route = pn.Recaller.Models.Table.Route(s.Models[0])
		pn.gen.Route.Keep(func(m llm.Named) bool { return slices.Contains(s.Models, m.Name) })
		m = pn.gen.Route.Current()
	}
	pn.reading.Vision = m.Vision
	return m, nil
}

// trimHistory cuts the conversation of the turn to the size of a prompt of at most limit tokens (0: the configured
// number), and adds the summary of the messages before. If the summary can't be read, the turn continues without it.
// Messages with files are kept apart, since questions often refer to an old picture.
func (pn *preparation) trimHistory(ctx context.Context, limit int) {
	limits := pn.Composer.Recall
	s := &pn.at.turn
	var summed chat.MemoryID
	if limits.Summaries {
		notes, err := pn.Store.Notes(ctx, pn.at.run.Room, chat.SummaryNote, 1)
		if err != nil {
			pn.Log.Warn("can't read a summary; continuing without it", "run", pn.at.run.ID, "err", err)
		}
		for _, n := range notes {
			s.Summary, summed = n.Text, n.Last
		}
	}
	for _, m := range s.Recent {
		if len(m.Files) > 0 {
			s.Attached = append(s.Attached, m)
		}
	}
	var lost bool
	s.Recent, lost = pn.Composer.Trim(*s, summed, limit)
	pn.lost = lost && limits.Summaries
}

// readLinkCall is the name of the lines of an answer that show which page is being read.
const readLinkCall = "READ_LINK"

// addLinks attaches the pages that the question links to, and shows their addresses until end is called. The pages are
// read like all attachments.
func (pn *preparation) addLinks(ctx context.Context, s *action.TurnContext) (end func()) {
	if !pn.ReadLinks {
		return func() {}
	}
	hosts, err := pn.reading.AddLinks(ctx, s)
	if err != nil && ctx.Err() == nil {
		pn.Log.Warn("linked pages can't be attached", "run", pn.at.run.ID, "err", err)
	}
	show := func(n int, stage answer.Stage, short string) {
		pn.at.answer.Apply(answer.Change{Kind: answer.ToolStage, Call: fmt.Sprint("link-", len(pn.at.run.Inputs), "-", n), Tool: &answer.Tool{
			Name: readLinkCall, Stage: stage, Parameters: "{}", ShortResult: short, Success: stage == answer.StageEnd,
		}})
	}
	for n, host := range hosts {
		show(n, answer.StageRunning, "Reading "+host+"…")
	}
	return func() {
		for n, host := range hosts {
			show(n, answer.StageEnd, host)
		}
	}
}

// outputs returns the outputs of providers in the model's prompt.
func (pn *preparation) outputs() []prompt.Output {
	if pn.state == nil {
		return nil
	}
	return pn.state.Outputs
}
