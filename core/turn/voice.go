package turn

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"parley/core/access"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/contain"
	"parley/internal/lang"
)

const (
	voiceCall  = "voice" // the id of the call that speaks an answer
	voiceLimit = time.Minute
	// maxSpoken is the length of the longest answer that is spoken, in characters: about two minutes.
	maxSpoken = 1500
)

// speak adds a voice message with the answer to it, in a direct chat with a user who wants that. The text stays. Code is left
// out, and an answer that is too long is not spoken. A failure is logged, and the answer goes without.
func (x *execution) speak(ctx context.Context) {
	if x.Replies.Speaker == nil || !x.at.posts || x.at.run.RoomKind != chat.Direct || x.at.unattended() {
		return
	}
	e, err := x.Replies.Store.Entity(ctx, x.at.run.Author)
	said := spoken(x.at.answer.View())
	if err != nil || e.Details[chat.VoiceDetail] == "" || said == "" || utf8.RuneCountInString(said) > maxSpoken {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, voiceLimit)
	defer cancel()
	var voice llm.File
	err = contain.Call("the speech model", func() (err error) {
		voice, err = x.Replies.Speaker.Speak(ctx, said, "")
		return err
	})
	files := llm.Showable([]llm.File{llm.Spoken(voice, said)})
	if err == nil && len(files) == 0 {
		err = errors.New("the recording is empty or too large")
	}
	if err != nil {
		x.Replies.Log.Warn("an answer is not spoken", "run", x.at.run.ID, "err", err)
		return
	}
	showFiles(x.at.answer, voiceCall, "SPEAK", files)
}

// unspoken matches parts of Markdown that have no sound: code, addresses, and marks.
var unspoken = regexp.MustCompile("(?s)```.*?(?:```|$)|\\]\\([^)\\s]*\\)|https?://\\S+|[*_`#>\\[\\]|~]+")

// spoken returns the sound of the model's text in v.
func spoken(v answer.View) string {
	var b strings.Builder
	for _, s := range v.Segments {
		if s.Call == "" && !s.Notice {
			b.WriteString(s.Text + "\n\n")
		}
	}
	return strings.TrimSpace(unspoken.ReplaceAllString(b.String(), ""))
}

// voice executes /voice: it stores for all accounts of the person whether answers are spoken. It fails with the error of the store.
func (cr *commandRun) voice(ctx context.Context) (said string, err error) {
	if cr.Speaker == nil {
		return lang.Say(ctx, "voice.none"), nil
	}
	is, now, err := cr.onOrOff(ctx, chat.VoiceDetail, "on", "")
	switch is {
	case "on":
		return lang.Say(ctx, "voice.on"), err
	case "off":
		return lang.Say(ctx, "voice.off"), err
	}
	return lang.Say(ctx, "voice.which", "is", now), err
}

// notify executes /notify: it stores for all accounts of the person whether the end of a long answer notifies them. It fails with the
// error of the store.
func (cr *commandRun) notify(ctx context.Context) (said string, err error) {
	is, now, err := cr.onOrOff(ctx, chat.NotifyDetail, "", "off")
	switch is {
	case "on":
		return lang.Say(ctx, "notify.on"), err
	case "off":
		return lang.Say(ctx, "notify.off"), err
	}
	return lang.Say(ctx, "notify.which", "is", now), err
}

// onOrOff returns the word after the command, "on" or "off", and stores the detail for it. For any other word, it returns the present
// state as now. It fails with the error of the store.
func (cr *commandRun) onOrOff(ctx context.Context, about, on, off string) (is, now string, err error) {
	m, err := cr.journal.input(ctx)
	if err != nil {
		return "", "", err
	}
	_, wanted, _ := chat.ParseCommand(m.Text)
	switch is = strings.ToLower(wanted); is {
	case "on":
		_, err = cr.saveDetail(ctx, m.Author, about, on)
	case "off":
		_, err = cr.saveDetail(ctx, m.Author, about, off)
	default:
		is, now = "", "off"
		err = cr.journal.persist(ctx, func() error {
			e, err := cr.Store.Entity(ctx, m.Author)
			if e.Details[about] == on {
				now = "on"
			}
			return chat.Unless(err, chat.ErrNotFound)
		})
	}
	return is, now, err
}

// saveDetail stores a detail for all accounts of a person, and returns the account as it is then. It fails with the error of the
// store.
func (cr *commandRun) saveDetail(ctx context.Context, who chat.EntityID, about, is string) (person chat.Entity, err error) {
	err = cr.journal.persist(ctx, func() error {
		accounts, err := access.AccountsOf(ctx, cr.Links.Store, who)
		for i, id := range accounts {
			var e chat.Entity
			if err == nil {
				e, err = cr.Store.Entity(ctx, id)
			}
			if err = chat.Unless(err, chat.ErrNotFound); err == nil { // an account is not stored if the store failed at its first message
				old := e.Details
				e.ID, e.Details = id, map[string]string{about: is}
				_, err = cr.Store.SaveEntity(ctx, e)
				if e.Details = chat.Detailed(old, e.Details); i == 0 {
					person = e
				}
			}
		}
		return err
	})
	return person, err
}
