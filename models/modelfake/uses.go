package modelfake

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"time"
)

// The endpoints beside completions.
const (
	Transcriptions = "/v1/audio/transcriptions"
	Generations    = "/v1/images/generations"
	Speech         = "/v1/audio/speech"
	Embeddings     = "/v1/embeddings"
)

// Heard is what a server writes down of any recording, until it is told otherwise.
const Heard = "This was said."

// Spoken is the recording of any text: the beginning of an Ogg file.
const Spoken = "OggS\x00\x02 OpusHead speech"

// Dimensions is the length of the server's vectors.
const Dimensions = 8

// Use is one request to an endpoint beside completions, as the server saw it.
type Use struct {
	Number   int // 1 is the first, over all endpoints
	Endpoint string
	At       time.Time
	Header   http.Header
	Model    string
	Prompt   string   // of Generations, and the text of Speech
	Input    []string // of Embeddings
	File     []byte   // of Transcriptions, with its name and type
	FileName string
	FileType string

	Rejected string // why it was refused as malformed or unauthorized; "" if it was not
	Status   int    // of the answer, at its end
}

// QueueFor adds scripts; each answers one valid request to endpoint. What a script says as Text is what was heard, or the
// picture in base64; for embeddings only its faults count. Without a script a recording says [Heard], and a picture is [Picture].
func (s *Server) QueueFor(endpoint string, scripts ...Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.useQueues == nil {
		s.useQueues = map[string][]Script{}
	}
	s.useQueues[endpoint] = append(s.useQueues[endpoint], scripts...)
}

// Uses returns all requests to the endpoints beside completions so far, in the order of arrival.
func (s *Server) Uses() []Use {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Use, len(s.uses))
	for i, u := range s.uses {
		all[i] = *u
	}
	return all
}

// use answers one request to an endpoint beside completions.
func (s *Server) use(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left before it had asked
	}
	u := &Use{Endpoint: r.URL.Path, At: time.Now(), Header: r.Header.Clone()}
	refusal := s.authorize(r)
	if refusal == nil {
		refusal = u.read(r.Header.Get("Content-Type"), raw)
	}
	script := s.acceptUse(u, refusal)
	if refusal != nil {
		refusal.write(w)
		s.note(func() { u.Status = refusal.status })
		return
	}
	answer := newReply(w, &Request{})
	answer.out = &useSink{whole: whole{w: w}, use: u}
	err = answer.play(r.Context(), script)
	s.note(func() { u.Status = answer.status })
	if errors.Is(err, errCut) {
		cut(w)
	}
}

// acceptUse logs u and takes its script.
func (s *Server) acceptUse(u *Use, refusal *apiError) Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses = append(s.uses, u)
	u.Number = len(s.uses)
	if refusal != nil {
		u.Rejected = refusal.Message
		return nil
	}
	if queue := s.useQueues[u.Endpoint]; len(queue) > 0 {
		s.useQueues[u.Endpoint] = queue[1:]
		return queue[0]
	}
	switch u.Endpoint {
	case Transcriptions:
		return Script{Text(Heard)}
	case Generations:
		return Script{Text(base64.StdEncoding.EncodeToString(Picture(2, 2)))}
	case Speech:
		return Script{Text(Spoken)}
	}
	return Script{}
}

// read decodes and judges; nil means that the request is a good one.
func (u *Use) read(contentType string, raw []byte) *apiError {
	var e *apiError
	switch u.Endpoint {
	case Transcriptions:
		e = u.readSound(contentType, raw)
	case Generations:
		e = u.readPrompt(raw)
	case Speech:
		e = u.readSpeech(raw)
	default:
		e = u.readTexts(raw)
	}
	if e == nil && u.Model == "" {
		e = bad("you must provide a model parameter")
	}
	return e
}

func (u *Use) readSound(contentType string, raw []byte) *apiError {
	media, params, _ := mime.ParseMediaType(contentType)
	if media != "multipart/form-data" {
		return bad("Invalid content type %q: expected multipart/form-data.", contentType)
	}
	form, err := multipart.NewReader(bytes.NewReader(raw), params["boundary"]).ReadForm(32 << 20)
	if err != nil {
		return bad("The body is no form: %v", err)
	}
	defer func() { _ = form.RemoveAll() }() // kept in memory
	for key, values := range form.Value {
		if e := known(key, transcriptionKeys); e != nil {
			return e
		}
		if key == "model" {
			u.Model = values[0]
		}
	}
	files := form.File["file"]
	if len(files) != 1 {
		return bad("Missing required parameter: 'file'.")
	}
	f, err := files[0].Open()
	if err != nil {
		return bad("The file can't be read: %v", err)
	}
	defer f.Close()
	u.FileName, u.FileType = files[0].Filename, files[0].Header.Get("Content-Type")
	u.File, _ = io.ReadAll(f) // it is in memory
	return u.checkSound()
}

func (u *Use) readPrompt(raw []byte) *apiError {
	var body struct {
		Model, Prompt  string
		N              *int
		ResponseFormat string `json:"response_format"`
	}
	if e := decodeUse(raw, &body, generationKeys); e != nil {
		return e
	}
	u.Model, u.Prompt = body.Model, body.Prompt
	return checkPrompt(body.Model, body.Prompt, body.ResponseFormat, body.N)
}

func (u *Use) readSpeech(raw []byte) *apiError {
	var body struct {
		Model, Input, Voice string
		ResponseFormat      string `json:"response_format"`
	}
	if e := decodeUse(raw, &body, speechKeys); e != nil {
		return e
	}
	u.Model, u.Prompt = body.Model, body.Input
	switch n := len([]rune(body.Input)); {
	case n == 0 || n > 4096:
		return bad("input has %d characters; want 1 to 4096", n)
	case body.Voice == "":
		return bad("Missing required parameter: 'voice'.")
	case body.ResponseFormat != "" && body.ResponseFormat != "opus" && body.ResponseFormat != "mp3":
		return bad("response_format %q is not modeled", body.ResponseFormat)
	}
	return nil
}

func (u *Use) readTexts(raw []byte) *apiError {
	var body struct {
		Model          string
		Input          []string
		EncodingFormat string `json:"encoding_format"`
	}
	if e := decodeUse(raw, &body, embeddingKeys); e != nil {
		return e
	}
	u.Model, u.Input = body.Model, body.Input
	return checkTexts(body.Input, body.EncodingFormat)
}

func decodeUse(raw []byte, into any, keys string) *apiError {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return bad("The body is not a JSON object: %v", err)
	}
	for key := range given {
		if e := known(key, keys); e != nil {
			return e
		}
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return bad("The body is not a JSON object of this API: %v", err)
	}
	return nil
}

// useSink turns what a script says into the answer of its endpoint.
type useSink struct {
	whole
	use *Use
}

func (s *useSink) end() error {
	if s.err != nil || s.odd != nil {
		return s.whole.end()
	}
	said := ""
	if len(s.body.Choices) > 0 && s.body.Choices[0].Message.Content != nil {
		said = *s.body.Choices[0].Message.Content
	}
	switch s.use.Endpoint {
	case Transcriptions:
		writeJSON(s.w, http.StatusOK, map[string]any{"text": said})
	case Generations:
		writeJSON(s.w, http.StatusOK, map[string]any{"created": s.use.At.Unix(), "data": []any{map[string]any{"b64_json": said}}})
	case Speech:
		s.w.Header().Set("Content-Type", "audio/opus")
		_, _ = io.WriteString(s.w, said)
	default:
		data := []any{}
		for i, text := range s.use.Input {
			data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": Vector(text)})
		}
		writeJSON(s.w, http.StatusOK, map[string]any{
			"object": "list", "model": s.use.Model, "data": data, "usage": map[string]any{"prompt_tokens": 1, "total_tokens": 1},
		})
	}
	return nil
}

// Vector is where the server places text: the same text always at the same place, others that share letters near it.
func Vector(text string) []float32 {
	v := make([]float32, Dimensions)
	for _, r := range text {
		v[int(r)%Dimensions]++
	}
	return v
}

// Picture is a PNG of that size, all of one colour.
func Picture(width, height int) []byte {
	img := image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.RGBA{R: 200, G: 30, B: 30, A: 255}})
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic("modelfake: encode a picture: " + err.Error())
	}
	return b.Bytes()
}
