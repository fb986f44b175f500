package parley_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"parley"
	"parley/config"
	"parley/connectors"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/llm"
	"parley/core/prompt"
	"parley/progressive"
)

// embed runs a gateway with the parts of the program until use returns.
func embed(env parley.Env, use func(*parley.Gateway) error) error {
	dir, err := os.MkdirTemp("", "parley")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cfg, err := parley.DefaultConfig(os.LookupEnv) // or parley.LoadConfig("config.yaml", os.LookupEnv)
	if err != nil {
		return err
	}
	cfg.Store = config.DSN("sqlite:" + filepath.Join(dir, "parley.db"))
	cfg.Web.Listen = "127.0.0.1:0"
	cfg.Access.Direct = config.DirectOpen // everyone who writes is answered

	g, err := parley.New(cfg, env)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	err = use(g)
	stop()
	return errors.Join(err, <-ended)
}

// parrot is a model.
type parrot struct{}

// Generate implements [llm.Model].
func (parrot) Generate(_ context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	said := "You said: " + req.Messages[len(req.Messages)-1].Text
	return func(yield func(llm.Chunk, error) bool) {
		_ = yield(llm.Chunk{Text: said}, nil) && yield(llm.Chunk{Finish: llm.FinishStop}, nil)
	}
}

// intercom is a platform with one room, the door.
type intercom struct {
	heard chan string // messages of a visitor
	said  chan string // answers of the agent
}

func newIntercom() *intercom { return &intercom{make(chan string), make(chan string)} }

// Name implements [connectors.Connector].
func (*intercom) Name() string { return "intercom" }

// Run implements [connectors.Connector].
func (i *intercom) Run(ctx context.Context, h connectors.Handler) error {
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case text := <-i.heard:
			const room = "intercom/door"
			_, err := h(ctx, chat.Message{
				Memory: chat.Memory{
					ID: chat.MemoryID(room + "/" + strconv.Itoa(n)), Room: room, Author: "intercom/visitor", Name: "Visitor", Text: text, At: time.Now(),
				},
				Place:   chat.Room{ID: room, Kind: chat.Direct, Connector: "intercom"},
				Address: chat.Address{Connector: "intercom", Room: room},
			})
			if err != nil {
				return err
			}
		}
	}
}

// Open implements [connectors.Poster].
func (i *intercom) Open(context.Context, chat.Address) (progressive.Sink, error) { return i, nil }

// Render implements [progressive.Sink].
func (*intercom) Render(v answer.View, _ ...string) []progressive.Part {
	return []progressive.Part{{Text: v.Text()}}
}

// Post implements [progressive.Sink]. A message can't be changed: there is no Edit, so only whole answers are posted.
func (i *intercom) Post(ctx context.Context, p progressive.Part, _ string) (id string, err error) {
	select {
	case i.said <- p.Text:
		return "said", nil
	case <-ctx.Done():
		return "", progressive.ErrUnsent
	}
}

// Scopes implements [progressive.Sink].
func (*intercom) Scopes(progressive.Op) []progressive.Scope { return []progressive.Scope{"intercom"} }

// ask says something and waits for the answer.
func (i *intercom) ask(text string) {
	i.heard <- text
	fmt.Println("agent:", <-i.said)
}

// turns counts turns that ended.
type turns struct{ ended atomic.Int64 }

// Observe implements [event.Observer].
func (t *turns) Observe(e event.Event) {
	if _, ok := e.(event.RunEnded); ok {
		t.ended.Add(1)
	}
}

// A program brings a model and a platform, and observes the events.
func Example() {
	door, watch := newIntercom(), &turns{}
	err := embed(parley.Env{
		Models:     llm.Models{Large: parrot{}},
		Connectors: []parley.Connector{{Connector: door}},
		Observers:  []event.Observer{watch},
	}, func(*parley.Gateway) error {
		door.ask("Hello!")
		door.ask("Is anyone there?")
		return nil
	})
	fmt.Println("turns:", watch.ended.Load(), "error:", err)
	// Output:
	// agent: You said: Hello!
	// agent: You said: Is anyone there?
	// turns: 2 error: <nil>
}

// doorman is a plugin that opens the door and counts how often, also across restarts.
type doorman struct{ action.Services }

// Init is [action.Plugin.Init].
func (d *doorman) Init(ctx context.Context, s action.Services) error {
	opened, err := s.State.Kept(ctx, "opened")
	if err != nil {
		return err
	}
	s.Log.Info("the doorman is ready", "opened", opened)
	d.Services = s
	return nil
}

// Spec implements [action.Action].
func (*doorman) Spec() action.Spec {
	return action.Spec{Name: "OPEN_DOOR", Description: "Open the door.", Effect: action.Writes}
}

// Match implements [action.Matcher]: no model call is needed for this.
func (*doorman) Match(s action.TurnContext) (params json.RawMessage, ok bool) {
	return json.RawMessage("{}"), strings.EqualFold(s.Message.Text, "open!")
}

// Act implements [action.Action].
func (d *doorman) Act(ctx context.Context, _ *action.Call) (action.Result, error) {
	before, err := d.State.Kept(ctx, "opened")
	if err != nil {
		return action.Result{}, err
	}
	n, _ := strconv.Atoi(before) // empty the first time
	if err := d.State.Keep(ctx, "opened", strconv.Itoa(n+1)); err != nil {
		return action.Result{}, err
	}
	return action.Result{Text: fmt.Sprintf("The door is open, for visitor %d.", n+1)}, nil
}

// A program brings a plugin. Init passes its dependencies.
func Example_plugin() {
	door, opener := newIntercom(), &doorman{}
	err := embed(parley.Env{
		Plugins:    []action.Plugin{{Name: "doorman", Init: opener.Init, Actions: []action.Action{opener}}},
		Models:     llm.Models{Large: parrot{}},
		Connectors: []parley.Connector{{Connector: door}},
	}, func(*parley.Gateway) error {
		door.ask("open!")
		door.ask("Open!")
		return nil
	})
	fmt.Println("error:", err)
	// Output:
	// agent: The door is open, for visitor 1.
	// agent: The door is open, for visitor 2.
	// error: <nil>
}

// The agent says something that no one asked for, in a room where someone has written before.
func Example_say() {
	door := newIntercom()
	err := embed(parley.Env{
		Models:     llm.Models{Large: parrot{}},
		Connectors: []parley.Connector{{Connector: door}},
	}, func(g *parley.Gateway) error {
		door.ask("Any mail?")
		parcel := chat.Notice{To: chat.Address{Room: "intercom/door"}, Text: "A parcel has arrived.", Key: "parcel 7"}
		if _, err := g.Say(context.Background(), parcel); err != nil {
			return err
		}
		fmt.Println("agent:", <-door.said)
		again, err := g.Say(context.Background(), parcel) // the same key: it is not said again
		fmt.Println("duplicate:", again.Duplicate)
		return err
	})
	fmt.Println("error:", err)
	// Output:
	// agent: You said: Any mail?
	// agent: A parcel has arrived.
	// duplicate: true
	// error: <nil>
}

// candid is a model that tells how it was instructed: by the system prompt of the agent, and then by the template.
type candid struct{}

// Generate implements [llm.Model].
func (candid) Generate(_ context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	_, template, _ := strings.Cut(req.System, "\n\n")
	template, _, _ = strings.Cut(template, "\n")
	return func(yield func(llm.Chunk, error) bool) {
		_ = yield(llm.Chunk{Text: template}, nil) && yield(llm.Chunk{Finish: llm.FinishStop}, nil)
	}
}

// The instructions of the model change while the gateway runs.
func Example_templates() {
	door := newIntercom()
	err := embed(parley.Env{
		Models:     llm.Models{Large: candid{}},
		Connectors: []parley.Connector{{Connector: door}},
	}, func(g *parley.Gateway) error {
		if err := g.SetTemplates(map[string]string{"messageHandler": "You are {{agentName}}, the doorman."}); err != nil {
			return err
		}
		door.ask("Who are you?")
		err := g.SetTemplates(map[string]string{"messageHandler": "You are {{unknown}}."})
		wrong, ok := errors.AsType[*prompt.TemplateError](err)
		fmt.Println("refused:", ok, wrong.Name)
		door.ask("Who are you now?")
		return nil
	})
	fmt.Println("error:", err)
	// Output:
	// agent: You are Parley, the doorman.
	// refused: true messageHandler
	// agent: You are Parley, the doorman.
	// error: <nil>
}
