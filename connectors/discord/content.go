package discord

import (
	"regexp"
	"strings"
	"time"

	"parley/connectors"
	"parley/core/chat"
	"parley/core/text"
)

// mostWords is the maximum length of the embeds of a message as text, in characters.
const mostWords = 4000

// embed holds the words of an embed: a card that a bot wrote, or a preview of a linked page.
type embed struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	Author      struct {
		Name string `json:"name"`
	} `json:"author"`
	Fields []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"fields"`
	Footer struct {
		Text string `json:"text"`
	} `json:"footer"`
}

// words returns the words of e, one part in a line.
func (e embed) words() string {
	var all []string
	add := func(part string) {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	add(e.Author.Name)
	add(e.Title)
	add(e.Description)
	for _, f := range e.Fields {
		add(f.Name + ": " + f.Value)
	}
	add(e.Footer.Text)
	return strings.Join(all, "\n")
}

// poll is a poll, without its results.
type poll struct {
	Question pollText `json:"question"`
	Answers  []struct {
		Media pollText `json:"poll_media"`
	} `json:"answers"`
}

// pollText is the question or an answer of a poll.
type pollText struct {
	Text string `json:"text"`
}

// content returns the words of a message, followed by those that it forwards. The previews of links in a person's own message are left
// out: Discord adds them later, and they are not the person's words.
func (m message) content() string { return m.contentWith(m.automatic()) }

// contentWith is content with the embeds of m itself, or without them.
func (m message) contentWith(embeds bool) string {
	all := []string{m.words(embeds)}
	for _, f := range m.Forwarded {
		said := f.Message.words(true)
		if said == "" && len(f.Message.Attachments) == 0 {
			said = connectors.Unreadable
		}
		if said != "" {
			all = append(all, text.Forwarded("", said)) // Discord doesn't tell whose words they are
		}
	}
	return strings.TrimSpace(strings.Join(all, "\n"))
}

// words returns the text of a message, and its other parts that are not files as text.
func (m message) words(embeds bool) string {
	all := []string{strings.TrimSpace(m.Content)}
	if m.Type == pinMessage {
		all[0] = "*Pinned a message*"
	}
	if m.Poll != nil {
		var options []string
		for _, a := range m.Poll.Answers {
			options = append(options, a.Media.Text)
		}
		all = append(all, connectors.Poll(m.Poll.Question.Text, options))
	}
	if embeds {
		left := mostWords
		for _, e := range m.Embeds {
			if w := text.Excerpt(e.words(), left); w != "" && left > 0 {
				all = append(all, text.Passed("Embed", w))
				left -= len(w)
			}
		}
	}
	for _, s := range m.Stickers {
		all = append(all, "*Sticker "+s.Name+"*")
	}
	return strings.TrimSpace(strings.Join(all, "\n"))
}

// quoteIn adds q to in, a reply to it, with its files. q is nil if it was deleted, or if Discord doesn't show it.
func (m *message) quoteIn(in *chat.Memory, me string) {
	if m == nil {
		in.Quoted.What = "a message that is gone"
		return
	}
	files := connectors.From(chat.RepliedFile, m.files())
	in.Quoted = chat.Quoted{Name: m.Author.shown(m.Member), Text: m.read(m.contentWith(true), me), What: connectors.Described(files, m.length())}
	if m.Author.ID == me {
		in.Quoted.Text = text.Excerpt(in.Quoted.Text, chat.ShortQuote)
	}
	if in.Quoted.Text+in.Quoted.What == "" {
		in.Quoted.What = "a message"
	}
	in.Files = append(in.Files, files...)
}

// length returns how long a voice message is; 0 for other messages.
func (m message) length() time.Duration {
	if len(m.Attachments) != 1 {
		return 0
	}
	return time.Duration(min(max(0, m.Attachments[0].Seconds), 24*3600) * float64(time.Second))
}

var (
	mention     = regexp.MustCompile(`<@([!&]?)([0-9]+)>`)
	customEmoji = regexp.MustCompile(`<a?(:\w+:)[0-9]+>`)
)

// text returns the content as users read it, with names in place of mention codes. A mention of the bot at the
// beginning is removed, unless there is nothing else: "@Bot" alone is a call for attention. A mention without a known
// name is kept as a code.
func (m message) text(me string) string { return m.read(m.content(), me) }

// read returns rest, a part of m's content, as users read it.
func (m message) read(rest, me string) string {
	// Users sometimes mention the bot twice, for example when a reply adds a mention.
	for {
		at := mention.FindStringSubmatchIndex(rest)
		if at == nil || at[0] != 0 || !m.means(rest[at[2]:at[3]], rest[at[4]:at[5]], me) {
			break
		}
		after := strings.TrimLeft(rest[at[1]:], " \t\r\n,:")
		if after == "" {
			break
		}
		rest = after
	}
	return m.named(rest)
}

// means reports whether a mention code is of the bot: of its account, or of the role that Discord made for it.
func (m message) means(kind, id, me string) bool {
	if kind == "&" {
		return id == m.ownRole.ID
	}
	return id == me
}

// named returns text with the names of the accounts and roles that m mentions, and of custom emoji, in place of their codes.
func (m message) named(text string) string {
	names := map[string]string{"&" + m.ownRole.ID: m.ownRole.Name}
	for _, u := range m.Mentions {
		names[u.ID] = u.shown(u.Member)
	}
	return mention.ReplaceAllStringFunc(customEmoji.ReplaceAllString(text, "$1"), func(code string) string {
		found := mention.FindStringSubmatch(code)
		if name := names[strings.TrimPrefix(found[1], "!")+found[2]]; name != "" {
			return "@" + name
		}
		return code
	})
}
