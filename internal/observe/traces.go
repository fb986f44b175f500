package observe

import (
	"cmp"
	"strings"
	"sync/atomic"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/event"
	"parley/internal/trace"
)

// Names of OpenTelemetry's conventions for generative AI, as of version 0.1.0 of semantic-conventions-genai and 1.41 of the semantic
// conventions. They change often; this is the only place that has them.
const (
	invokeAgent, chatOperation, executeTool = "invoke_agent", "chat", "execute_tool"

	operation      = "gen_ai.operation.name"
	agentName      = "gen_ai.agent.name"
	conversation   = "gen_ai.conversation.id" // a hash
	provider       = "gen_ai.provider.name"
	requestModel   = "gen_ai.request.model"
	inputTokens    = "gen_ai.usage.input_tokens"
	cachedTokens   = "gen_ai.usage.cache_read.input_tokens"
	outputTokens   = "gen_ai.usage.output_tokens"
	firstChunk     = "gen_ai.response.time_to_first_chunk"
	finishReasons  = "gen_ai.response.finish_reasons"
	inputMessages  = "gen_ai.input.messages"
	outputMessages = "gen_ai.output.messages"
	toolName       = "gen_ai.tool.name"
	toolCall       = "gen_ai.tool.call.id"
	toolArguments  = "gen_ai.tool.call.arguments"
	toolResult     = "gen_ai.tool.call.result"
	errorType      = "error.type"
)

// providers are the names of providers in the conventions, where they differ from those of the configuration.
var providers = strings.NewReplacer("gemini", "gcp.gemini", "azure", "azure.ai.openai", "mistral", "mistral_ai", "xai", "x_ai")

// The kinds of spans in OTLP.
const (
	kindInternal = iota + 1
	kindServer
	kindClient
)

// Traces turns events into spans. It is an [event.Observer]. Its exported fields are set before use.
//
// Each trace has a root span for the run, and its children. If a process dies, the spans of others still have their parent.
type Traces struct {
	*Exporter
	trace.Sampler
	Agent   string
	Hash    func(chat.RoomID) string
	Content bool // spans hold texts

	requests atomic.Uint64 // to platforms; several can begin at one time
}

// Root returns the root span of a run, see [trace.Sampler.Root].
func (t *Traces) Root(run chat.RunID) trace.Span { return t.Sampler.Root(string(run)) }

// content returns a text if spans hold texts.
func (t *Traces) content(text string) string {
	if t.Content {
		return text
	}
	return ""
}

// Observe implements [event.Observer].
func (t *Traces) Observe(e event.Event) {
	switch e := e.(type) {
	case event.MessageReceived:
		t.received(e.Message, e.Accepted)
	case event.VoiceMessageReceived:
		t.received(e.Message, e.Accepted)
	case event.RunEnded:
		t.ended(e.RunInfo, e.RunEnd)
	case event.RunTimeout:
		t.ended(e.RunInfo, e.RunEnd)
	case event.MessageSent:
		t.span(e.Trace.Child("store"), e.Trace, "store answer", kindInternal, e.Message.At, time.Now(), "", outputMessages, t.content(e.Message.Text))
	case event.ModelUsed:
		vendor, model, _ := strings.Cut(e.Model, "/")
		t.span(e.Span, e.Trace, strings.TrimSpace(chatOperation+" "+model), kindClient, e.Began, e.Began.Add(e.Took), string(e.Failure), operation, chatOperation, provider, providers.Replace(vendor), requestModel, model,
			inputTokens, e.Usage.Prompt, cachedTokens, e.Usage.Cached, outputTokens, e.Usage.Completion, firstChunk, e.First, finishReasons, []string{string(e.Finish)}, "parley.purpose", e.Purpose)
	case event.ActionCompleted:
		now, failed := time.Now(), ""
		if e.Status != answer.Completed {
			failed = string(e.Status)
		}
		t.span(e.Span, e.Trace, executeTool+" "+e.Action, kindInternal, now.Add(-e.Duration), now, failed, operation, executeTool, toolName, e.Action, toolCall, e.Call,
			toolArguments, t.content(string(e.Parameters)), toolResult, t.content(cmp.Or(e.Result.Text, e.Err)))
	}
}

// received records how long a message took from the platform to the store.
func (t *Traces) received(m chat.Message, acc chat.Accepted) {
	root := t.Root(acc.Run)
	t.span(root.Child(string(m.ID)), root, "receive", kindServer, m.At, time.Now(), "", inputMessages, t.content(m.Text))
}

// ended records a run as a whole, from the message on the platform to the last edit.
func (t *Traces) ended(i event.RunInfo, e event.RunEnd) {
	began := e.Opened
	if !e.Asked.IsZero() && e.Asked.Before(began) {
		began = e.Asked
	}
	t.span(i.Trace.Child("queue"), i.Trace, "queue", kindInternal, e.Opened, i.Start, "")
	t.span(i.Trace, trace.Span{}, strings.TrimSpace(invokeAgent+" "+t.Agent), kindInternal, began, e.End, string(e.Failure), operation, invokeAgent, agentName, t.Agent, conversation, t.Hash(i.Room),
		"parley.connector", i.Source, "parley.outcome", string(e.Status), "parley.cost", e.Cost.String())
}
