package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"parley/core/llm"
	"parley/core/text"
)

// The actions that the model calls, if they are offered. They are those of the plugin demo.
const (
	playAction = "PLAY_DEMO"
	diceAction = "ROLL_DICE"
	timeAction = "TELL_TIME"
)

// command is an answer to messages that contain one of its words.
type command struct {
	words  []string
	most   int // the maximum number of words of the message; a longer one probably means something else
	answer func(req llm.Request, text string) reply
}

// commands returns the commands; the first that matches answers.
func commands() []command {
	return []command{
		{[]string{"help", "can"}, 4, func(llm.Request, string) reply { return reply{text: help} }},
		{[]string{"fail", "error"}, 4, fail},
		{[]string{"long"}, 6, func(llm.Request, string) reply { return reply{text: long} }},
		{[]string{"play", "progress"}, 16, play},
		{[]string{"roll", "dice", "die", "tool"}, 10, roll},
		{[]string{"time", "clock"}, 10, tellTime},
	}
}

// answerTo returns the answer to req: the continuation after a call, or a reply to the last message. The first reply in
// a conversation begins with an introduction.
func answerTo(req llm.Request) reply {
	if n := len(req.Messages); n > 0 && req.Messages[n-1].Role == llm.RoleTool {
		return afterCall(req)
	}
	text := lastOf(req, llm.RoleUser).Text
	r := respond(req, text)
	if count(req, llm.RoleAssistant) == 0 && r.failure == nil {
		r.text = strings.TrimSpace(introduction + "\n\n" + r.text)
	}
	return r
}

// respond returns the reply of the first command that matches text, or an echo.
func respond(req llm.Request, text string) reply {
	words := wordsOf(text)
	for _, c := range commands() {
		if len(words) <= c.most && slices.ContainsFunc(words, func(w string) bool { return slices.Contains(c.words, w) }) {
			return c.answer(req, text)
		}
	}
	return echo(req, text)
}

// wordsOf returns the words of text in lower case.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) })
}

// lastOf returns the latest message of a role, or an empty one.
func lastOf(req llm.Request, role llm.Role) llm.Message {
	for _, t := range slices.Backward(req.Messages) {
		if t.Role == role && !t.Context {
			return t
		}
	}
	return llm.Message{}
}

// count returns the number of messages of a role in the conversation.
func count(req llm.Request, role llm.Role) (n int) {
	for _, t := range req.Messages {
		if t.Role == role && !t.Context {
			n++
		}
	}
	return n
}

// ask returns a reply with a tool call, or one that reports that the action is not available.
func ask(req llm.Request, intro, action string, parameters map[string]any) reply {
	if !slices.ContainsFunc(req.Tools, func(s llm.Tool) bool { return s.Name == action }) {
		return reply{text: fmt.Sprintf("I would call the action `%s` now, but it isn't enabled here.", action)}
	}
	raw, _ := json.Marshal(parameters) // strings, numbers and booleans only
	return reply{text: intro, call: &llm.ToolCall{
		ID:         fmt.Sprintf("demo-%d", len(req.Messages)), // unique within the conversation, and the same if the request is repeated
		Name:       action,
		Parameters: raw,
	}}
}

// play plays a title, lets the user choose one, or plays any.
func play(req llm.Request, text string) reply {
	parameters := map[string]any{}
	if at := strings.Index(strings.ToLower(text), "play "); at >= 0 && at+5 <= len(text) {
		switch title := strings.TrimSpace(text[at+5:]); strings.ToLower(strings.Trim(title, ".!?")) {
		case "":
		case "something", "me something":
			parameters["choose"] = true
			return ask(req, "Watch the next line: it asks you which one, and changes in place.", playAction, parameters)
		default:
			parameters["title"] = title
		}
	}
	return ask(req, "Watch the next line: it changes in place.", playAction, parameters)
}

func roll(req llm.Request, _ string) reply {
	return ask(req, "Let me roll a die.", diceAction, map[string]any{"sides": 6})
}

func tellTime(req llm.Request, _ string) reply {
	return ask(req, "Let me look at the clock.", timeAction, map[string]any{})
}

var errDemo = errors.New("the demo model was asked to fail")

// fail returns a failure: at once, or after some text if the message asks for a late one.
func fail(_ llm.Request, text string) reply {
	r := reply{failure: &llm.Failure{Kind: llm.ProviderIssue, Err: errDemo}}
	if slices.Contains(wordsOf(text), "late") {
		r.text = "This is the first half of an answer. The other half would "
	}
	return r
}

// afterCall returns the continuation after the result of a call.
func afterCall(req llm.Request) reply {
	result := req.Messages[len(req.Messages)-1]
	name := ""
	for _, call := range lastOf(req, llm.RoleAssistant).Calls {
		if call.ID == result.Call {
			name = call.Name
		}
	}
	switch {
	case strings.HasPrefix(result.Text, "Error:"):
		return reply{text: "That didn't work. The action answered:\n\n" + quote(result.Text)}
	case name == playAction:
		return reply{text: "That was one status line, rewritten in place, and this text came after it. (There is no sound: it is a demo.)"}
	}
	return reply{text: fmt.Sprintf("The action `%s` answered:\n\n%s\n\nA real model would build its answer on that.", name, quote(result.Text))}
}

// echo repeats the message and counts the earlier ones.
func echo(req llm.Request, text string) reply {
	if strings.TrimSpace(text) == "" {
		return reply{text: "I got a message without text. Say `help` to see what I can show."}
	}
	return reply{text: fmt.Sprintf("You wrote:\n\n%s\n\n%s\n\n%s", quote(text), seen(req), sample)}
}

// seen returns a sentence with the number of the conversation's messages in the request, which shows that it is
// remembered.
func seen(req llm.Request) string {
	theirs, mine := count(req, llm.RoleUser), count(req, llm.RoleAssistant)
	if theirs == 1 && mine == 0 {
		return "This is your first message here."
	}
	return fmt.Sprintf("I can see %s from you and %s from me here, so nothing is forgotten.", amount(theirs, "message"), amount(mine, "answer"))
}

// amount returns n with the right form of what.
func amount(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// maxQuote is the maximum length of a quotation from a user's message, in runes.
const maxQuote = 400

// quote returns said as a block quote.
func quote(said string) string {
	return "> " + strings.ReplaceAll(text.Excerpt(strings.TrimSpace(said), maxQuote), "\n", "\n> ")
}
