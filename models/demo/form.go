package demo

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"parley/core/llm"
)

// form is the format of an answer that the request asks for.
type form int

const (
	spoken  form = iota // text and tool calls
	tagged              // text and the names of actions, in tags
	decided             // one action, or the end, in tags
)

// task matches the beginning of a prompt that is one text, and captures the name of the agent.
var task = regexp.MustCompile(`^<task>(?:Write the next message|Decide the next step|Write the answer) of (.+?) (?:in this|towards an|to the) `)

// unfold converts a prompt that is one text, as the templates of package prompt make it, to a request with messages and
// tools, and returns the form of the answer. Any other request is returned as it is.
func unfold(req llm.Request) (llm.Request, form) {
	if len(req.Messages) == 0 {
		return req, spoken
	}
	text := req.Messages[0].Text
	agent := task.FindStringSubmatch(text)
	if agent == nil || !strings.Contains(text, "<response>") {
		return req, spoken
	}
	talk := llm.Request{Messages: spokenBy(agent[1], part(text, "# Conversation\nThe last message is the newest.\n", "\n\n"))}
	for name := range strings.FieldsFuncSeq(part(text, "<actionNames>\n", "</actionNames>"), func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }) {
		talk.Tools = append(talk.Tools, llm.Tool{Name: name})
	}
	talk.Messages = append(talk.Messages, resultOf(part(text, "<results>\n", "\n</results>"))...)
	if strings.Contains(text, "<isFinish>") {
		return talk, decided
	}
	return talk, tagged
}

// part returns the text between two marks, or "" if from is missing.
func part(text, from, to string) string {
	_, rest, found := strings.Cut(text, from)
	if !found {
		return ""
	}
	inside, _, _ := strings.Cut(rest, to)
	return inside
}

// spokenBy parses a transcript: one line for each message, with further lines of the same message indented.
func spokenBy(agent, transcript string) (turns []llm.Message) {
	for line := range strings.SplitSeq(transcript, "\n") {
		if more, ok := strings.CutPrefix(line, "  "); ok && len(turns) > 0 {
			turns[len(turns)-1].Text += "\n" + more
			continue
		}
		name, text, ok := strings.Cut(line, ": ")
		switch {
		case !ok || strings.HasPrefix(line, "("): // a summary of earlier messages
		case name == agent:
			turns = append(turns, llm.Message{Role: llm.RoleAssistant, Text: text})
		default:
			turns = append(turns, llm.Message{Role: llm.RoleUser, Text: text})
		}
	}
	return turns
}

// resultOf parses the result of the last action, such as ROLL_DICE {"sides":6}: 4.
func resultOf(lines string) []llm.Message {
	all := strings.Split(lines, "\n")
	last := len(all) - 1
	for last > 0 && strings.HasPrefix(all[last], "  ") {
		last--
	}
	name, rest, ok := strings.Cut(strings.Join(all[last:], "\n"), " ")
	if !ok {
		return nil
	}
	parameters := json.NewDecoder(strings.NewReader(rest))
	if err := parameters.Decode(new(json.RawMessage)); err != nil {
		return nil
	}
	text := strings.TrimPrefix(rest[parameters.InputOffset():], ": ")
	return []llm.Message{
		{Role: llm.RoleAssistant, Calls: []llm.ToolCall{{ID: "demo", Name: name}}},
		{Role: llm.RoleTool, Call: "demo", Text: strings.ReplaceAll(text, "\n  ", "\n")},
	}
}

const thought = "<response>\n<thought>I am a demo and don't think.</thought>\n"

// inTags returns r in the form that the request asked for. In the tagged forms a call is part of the text.
func (r reply) inTags(f form) reply {
	actions, parameters := "REPLY", "{}"
	if r.call != nil {
		actions, parameters = "REPLY, "+r.call.Name, fmt.Sprintf("{%q:%s}", r.call.Name, r.call.Parameters)
	}
	switch {
	case f == spoken:
		return r
	case f == tagged:
		r.text = thought + "<actions>" + actions + "</actions>\n<providers></providers>\n<params>" + parameters + "</params>\n<text>" + r.text
		if r.failure == nil {
			r.text += "</text>\n</response>"
		}
	case r.call != nil:
		r.text = thought + fmt.Sprintf("<action>%s</action>\n<parameters>%s</parameters>\n<isFinish>false</isFinish>\n</response>", r.call.Name, r.call.Parameters)
	default:
		r.text = thought + "<isFinish>true</isFinish>\n</response>"
	}
	r.call = nil
	return r
}
