package telegramfake

import (
	"regexp"
	"slices"
	"strconv"
	"time"
)

func itoa(n int) string { return strconv.Itoa(n) }

func (s *Server) getMe(*call) (any, error) {
	return struct {
		User
		CanJoinGroups     bool `json:"can_join_groups"`
		CanReadAll        bool `json:"can_read_all_group_messages"`
		SupportsInline    bool `json:"supports_inline_queries"`
		CanConnectToOwner bool `json:"can_connect_to_business"`
		HasMainWebApp     bool `json:"has_main_web_app"`
		Topics            bool `json:"has_topics_enabled"`
		UserTopics        bool `json:"allows_users_to_create_topics"`
		CanManageBots     bool `json:"can_manage_bots"`
		JoinRequests      bool `json:"supports_join_request_queries"`
	}{User: s.bot, CanJoinGroups: true, CanReadAll: s.readAll, Topics: s.topics, UserTopics: s.topics}, nil
}

func (s *Server) getChat(c *call) (any, error) {
	ch, err := s.readable(c.params["chat_id"])
	if err != nil {
		return nil, err
	}
	if ch.out != "" && ch.Type != private {
		return nil, forbidden(ch.out)
	}
	return struct {
		Chat
		AccentColorID    int            `json:"accent_color_id"`
		MaxReactionCount int            `json:"max_reaction_count"`
		AcceptedGifts    map[string]any `json:"accepted_gift_types"`
		SlowMode         int            `json:"slow_mode_delay,omitempty"`
	}{Chat: ch.Chat, SlowMode: int(ch.slow / time.Second), MaxReactionCount: 11, AcceptedGifts: map[string]any{
		"unlimited_gifts": false, "limited_gifts": false, "unique_gifts": false, "premium_subscription": false,
		"gifts_from_channels": false,
	}}, nil
}

// Command is one line of the bot's menu.
type Command struct {
	Command     string `json:"command"`
	Description string `json:"description"`
	Ephemeral   bool   `json:"is_ephemeral,omitempty"`
}

// commandScope is BotCommandScope; as a value it is the key of a list of commands.
type commandScope struct {
	Type   string `json:"type"`
	ChatID int64  `json:"chat_id"`
	UserID int64  `json:"user_id"`
}

func (s *Server) scopeKey(c *call) (string, error) {
	scope, err := object[commandScope](s, c, "scope")
	if err != nil {
		return "", err
	}
	if scope == nil {
		scope = &commandScope{Type: "default"}
	}
	return scope.Type + "/" + itoa(int(scope.ChatID)) + "/" + itoa(int(scope.UserID)) + "/" + c.params["language_code"], nil
}

func (s *Server) setMyCommands(c *call) (any, error) {
	list, err := object[[]Command](s, c, "commands")
	if err != nil {
		return nil, err
	}
	if list == nil {
		return nil, badRequest("parameter \"commands\" is required")
	}
	if len(*list) > 100 {
		return nil, badRequest("BOT_COMMANDS_TOO_MUCH")
	}
	valid := regexp.MustCompile(`^[a-z0-9_]{1,32}$`)
	for _, cmd := range *list {
		if !valid.MatchString(cmd.Command) {
			return nil, badRequest("BOT_COMMAND_INVALID")
		}
		if n := len([]rune(cmd.Description)); n < 1 || n > 256 {
			return nil, badRequest("BOT_COMMAND_DESCRIPTION_INVALID")
		}
	}
	key, err := s.scopeKey(c)
	if err != nil {
		return nil, err
	}
	s.commands[key] = *list
	return true, nil
}

func (s *Server) getMyCommands(c *call) (any, error) {
	key, err := s.scopeKey(c)
	if err != nil {
		return nil, err
	}
	return append([]Command{}, s.commands[key]...), nil
}

// getProfile returns a text of the bot's profile.
func (s *Server) getProfile(field string) func(*call) (any, error) {
	return func(c *call) (any, error) {
		return map[string]string{field: s.profile[field+"/"+c.params["language_code"]]}, nil
	}
}

// setProfile sets a text of the bot's profile, of at most longest characters.
func (s *Server) setProfile(field string, longest int) func(*call) (any, error) {
	return func(c *call) (any, error) {
		if len([]rune(c.params[field])) > longest {
			return nil, badRequest("%s is too long", field)
		}
		s.profile[field+"/"+c.params["language_code"]] = c.params[field]
		return true, nil
	}
}

// CallbackAnswer is one answerCallbackQuery that was accepted.
type CallbackAnswer struct {
	QueryID string
	Text    string
	Alert   bool
}

// CallbackAnswers returns the answers to pressed buttons.
func (s *Server) CallbackAnswers() []CallbackAnswer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.answered)
}

func (s *Server) answerCallbackQuery(c *call) (any, error) {
	id := c.params["callback_query_id"]
	asked, known := s.callbacks[id]
	if !known || time.Since(asked) >= callbackLife {
		return nil, badRequest("query is too old and response timeout expired or query ID is invalid")
	}
	if len([]rune(c.params["text"])) > 200 {
		return nil, badRequest("MESSAGE_TOO_LONG")
	}
	s.answered = append(s.answered, CallbackAnswer{QueryID: id, Text: c.params["text"], Alert: c.params["show_alert"] == "true"})
	return true, nil
}
