// Command floor is about the least that a durable Telegram bot can do: the benchmark Load compares the gateway with it.
//
// Every message is on disk before its update is confirmed; the answer's message id and text are stored after it was
// sent; all writes that wait share one transaction. Each chat has one goroutine, which answers its messages in order and
// streams the answer by edits. Questions without an answer are answered after a restart. There is nothing else: no
// access control, no rate limits, no tools.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"
)

const (
	firstText = 24 // characters before the first message
	recent    = 20 // messages in a prompt
)

// message is a question.
type message struct {
	chat, id int64
	text     string
}

// bot answers on Telegram.
type bot struct {
	api, model, name string
	edits            time.Duration
	http             *http.Client
	store            *store

	mu    sync.Mutex
	lanes map[int64][]message // of chats with a goroutine: what waits
	all   sync.WaitGroup
}

func main() {
	b := &bot{lanes: map[int64][]message{}, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}}
	api := flag.String("api", "https://api.telegram.org", "the URL of the Bot API server")
	token := flag.String("token", "", "the bot's token")
	path := flag.String("db", "floor.db", "the database")
	flag.StringVar(&b.model, "model-url", "", "the base URL of an OpenAI-compatible server")
	flag.StringVar(&b.name, "model", "", "the model's name")
	flag.DurationVar(&b.edits, "edits", 1100*time.Millisecond, "the minimum time between two edits of an answer")
	flag.Parse()
	b.api = *api + "/bot" + *token + "/"
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	var err error
	if b.store, err = openStore(*path); err != nil {
		log.Fatal(err)
	}
	if err := b.run(ctx); err != nil {
		log.Fatal(err)
	}
}

// run polls until ctx is done, and then waits for the answers in progress.
func (b *bot) run(ctx context.Context) error {
	waiting, err := b.store.unanswered()
	if err != nil {
		return err
	}
	b.serveAll(waiting)
	for offset := int64(0); ctx.Err() == nil; {
		batch, next, err := b.poll(ctx, offset)
		if err == nil {
			batch, err = b.store.save(batch)
		}
		if err != nil {
			if ctx.Err() == nil {
				log.Print(err)
				time.Sleep(time.Second)
			}
			continue
		}
		offset = max(offset, next)
		b.serveAll(batch)
	}
	b.all.Wait()
	return b.store.close()
}

// poll returns the new messages, and the offset that confirms them.
func (b *bot) poll(ctx context.Context, offset int64) (batch []message, next int64, err error) {
	var updates []struct {
		ID      int64 `json:"update_id"`
		Message *struct {
			ID   int64  `json:"message_id"`
			Text string `json:"text"`
			Chat struct {
				ID int64 `json:"id"`
			} `json:"chat"`
		} `json:"message"`
	}
	err = b.call(ctx, "getUpdates", url.Values{"offset": {strconv.FormatInt(offset, 10)}, "timeout": {"50"}}, &updates)
	for _, u := range updates {
		next = u.ID + 1
		if u.Message != nil && u.Message.Text != "" {
			batch = append(batch, message{u.Message.Chat.ID, u.Message.ID, u.Message.Text})
		}
	}
	return batch, next, err
}

// serveAll queues questions, each behind the others of its chat.
func (b *bot) serveAll(batch []message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range batch {
		queue, busy := b.lanes[m.chat]
		b.lanes[m.chat] = append(queue, m)
		if !busy {
			b.all.Go(func() { b.serve(m.chat) })
		}
	}
}

// serve answers what waits in a chat.
func (b *bot) serve(chat int64) {
	for {
		b.mu.Lock()
		queue := b.lanes[chat]
		if len(queue) == 0 {
			delete(b.lanes, chat)
			b.mu.Unlock()
			return
		}
		m := queue[0]
		b.lanes[chat] = queue[1:]
		b.mu.Unlock()
		if err := b.answer(m); err != nil {
			log.Print(err)
		}
	}
}

// answer asks the model, shows its answer while it is written, and stores it.
func (b *bot) answer(m message) error {
	history, err := b.store.history(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	words, failed := make(chan string, 64), make(chan error, 1)
	go func() {
		failed <- b.generate(ctx, history, words)
		close(words)
	}()
	var text strings.Builder
	d := display{bot: b, chat: m.chat}
	for word := range words {
		text.WriteString(word)
		for range len(words) { // what came meanwhile is shown at once
			text.WriteString(<-words)
		}
		if utf8.RuneCountInString(text.String()) >= firstText && time.Since(d.at) >= b.edits {
			if err := d.show(ctx, text.String()); err != nil {
				return err
			}
		}
	}
	if err := <-failed; err != nil {
		return err
	}
	if err := d.show(ctx, text.String()); err != nil {
		return err
	}
	return b.store.finish(m, d.id, text.String())
}

// display is the message that shows an answer.
type display struct {
	*bot
	chat, id int64
	text     string
	at       time.Time // of the last request
}

// show sends the message, or edits it if text has changed.
func (d *display) show(ctx context.Context, text string) error {
	if text == d.text {
		return nil
	}
	method, params := "sendMessage", url.Values{"chat_id": {strconv.FormatInt(d.chat, 10)}, "text": {text}}
	if d.id != 0 {
		method = "editMessageText"
		params.Set("message_id", strconv.FormatInt(d.id, 10))
	}
	var shown struct {
		ID int64 `json:"message_id"`
	}
	if err := d.call(ctx, method, params, &shown); err != nil {
		return err
	}
	d.id, d.text, d.at = shown.ID, text, time.Now()
	return nil
}

// generate sends the words of the model's answer.
func (b *bot) generate(ctx context.Context, history []turn, words chan<- string) error {
	body, err := json.Marshal(map[string]any{"model": b.name, "stream": true, "messages": history})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.model+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := b.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the model server answers %s", resp.Status)
	}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok || string(data) == "[DONE]" {
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content string `json:"content"`
				} `json:"delta"`
			} `json:"choices"`
		}
		if err := json.Unmarshal(data, &chunk); err != nil {
			return err
		}
		if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
			select {
			case words <- chunk.Choices[0].Delta.Content:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return lines.Err()
}

// call makes a request, once more each time the server asks to wait.
func (b *bot) call(ctx context.Context, method string, params url.Values, result any) error {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.api+method, strings.NewReader(params.Encode()))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := b.http.Do(req)
		if err != nil {
			return err
		}
		var answer struct {
			OK          bool            `json:"ok"`
			Result      json.RawMessage `json:"result"`
			Description string          `json:"description"`
			Parameters  struct {
				RetryAfter int `json:"retry_after"`
			} `json:"parameters"`
		}
		err = json.NewDecoder(resp.Body).Decode(&answer)
		resp.Body.Close() //nolint:errcheck // it was read
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", method, err)
		case answer.OK:
			return json.Unmarshal(answer.Result, result)
		case answer.Parameters.RetryAfter == 0:
			return fmt.Errorf("%s: %s", method, answer.Description)
		}
		time.Sleep(time.Duration(answer.Parameters.RetryAfter) * time.Second)
	}
}
