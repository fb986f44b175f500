package turn

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Program describes the program around the runtime for /status and /model. The zero value describes nothing.
type Program struct {
	Version string
	Models  []Model // in the order of their importance
	// Health checks the services of the gateway. It can be nil, gets a second, and its errors are not shown to users.
	Health func(ctx context.Context) []Service
}

// Model names the model for a kind of work.
type Model struct{ Work, Name string }

// Service is the state of one service that the gateway depends on.
type Service struct {
	Name string
	Err  error // nil if it is well
}

// healthLimit is the maximum time of a check of the services.
const healthLimit = time.Second

// Answering returns the name of the model that answers, or "".
func (p Program) Answering() string {
	if len(p.Models) == 0 {
		return ""
	}
	return p.Models[0].Name
}

// Work lists the models by their work. The answering model is included only if answering is set.
func (p Program) Work(answering bool) string {
	var lines []string
	for i, m := range p.Models {
		if i > 0 || answering {
			lines = append(lines, fmt.Sprintf("- %s: `%s`", m.Work, m.Name))
		}
	}
	return strings.Join(lines, "\n")
}

// Services lists the services, the steps skipped since the start, and the version.
func (p Program) Services(ctx context.Context, skipped string) (lines []string) {
	if p.Health != nil {
		ctx, cancel := context.WithTimeout(ctx, healthLimit)
		defer cancel()
		for _, s := range p.Health(ctx) {
			state := "ok"
			if s.Err != nil {
				state = "**unreachable**"
			}
			lines = append(lines, fmt.Sprintf("- %s: %s", s.Name, state))
		}
	}
	if skipped != "" {
		lines = append(lines, "- Skipped since start: "+skipped)
	}
	if p.Version != "" {
		lines = append(lines, fmt.Sprintf("- Version: `%s`", p.Version))
	}
	return lines
}
