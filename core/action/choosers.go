package action

// The handlers of choices that are always there, by which a [chat.Question] names them. See also [Awaited] and [Parked].
const (
	// AsMessage answers the option as if its chooser had written it.
	AsMessage = "message"
	// Forget clears the room if the first option was chosen.
	Forget = "forget"
)

// MaxOptions bounds the options of a question, on every platform: Telegram's and Discord's buttons could show more, but not well.
const MaxOptions = 10
