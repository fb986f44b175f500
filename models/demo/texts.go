package demo

const introduction = "👋 Hello! I'm the **demo model**: I need no API key and no network, and I can't think. " +
	"For real answers set `OPENAI_API_KEY`, or `OPENAI_BASE_URL` for Ollama, LM Studio or vLLM, and restart; " +
	"`gateway check` tells whether it works. Say `help` to see what I can show."

const help = `Try one of these:

- **show progress**: a status line that changes in place
- **play something**: the same, and it asks you which of two; a title plays that
- **roll a die** or **time**: an action whose result I use
- **long**: an answer of several pages
- **fail** or **fail late**: what an error looks like
- anything else: I say it back

Write again while I am still talking to see what happens then.`

const sample = "A real model would answer now. I can only show how it would look: **bold**, _italic_, `code`, " +
	"[a link](https://go.dev), and\n\n1. a list\n2. of two."

const long = `# A long answer

You asked for a long one, so here it is. It has several parts, and it arrives word by word, as a model writes it. Where the place that you read it in has a limit for one message, you see it go on in the next one, and nothing is lost on the way.

## 1. It grows

Each word is shown soon after it is written, but not each word is sent by itself. Chat platforms count how often a message is edited, and slow down clients that edit too often. So the newest state goes out whenever there is room for an edit, and states in between are left out. What you see is always the newest.

## 2. It is formatted

The text is written in Markdown, and every place shows as much of it as it can:

- **bold** and _italic_ words, and both ***together***
- ` + "`code`" + ` within a line
- [links](https://go.dev/doc/) with a text of their own
- lists, with
  - entries inside entries
  - that are kept together

> A quotation stands apart from what is around it,
> even over two lines.

## 3. It holds code

Code is never broken up without a fence around both halves:

` + "```go" + `
package main

import "fmt"

func main() {
	for i := range 3 {
		fmt.Println("hello", i) // even < and & and * stay as they are
	}
}
` + "```" + `

And when it is done, the text goes on as if nothing had happened.

## 4. It holds tables

| place | how it is shown | how long one message may be |
|---|---|---|
| a web page | as it is written | without end |
| Discord | by edits | 2000 characters |
| Telegram | by edits | 4096 characters |
| a terminal | as it is written | without end |

Where there are no tables, they are shown with fixed columns.

## 5. It can be stopped

While this is written you may just write something else. In a conversation of two, what you see then stays, with a mark that it was broken off, and the next answer begins below your new message. In a group, where several people ask, each question waits for its turn instead.

## 6. It survives

If the gateway restarts in the middle of an answer, the answer is finished afterwards, in the same message. If the line to the platform breaks, what was missed is sent when it is there again. If the platform says "not so fast", the gateway waits for exactly as long as it was told to, and then shows the newest state.

## 7. It is fair

When many people ask at once, everybody's answer moves on. The first words of an answer go before the next words of one that can already be read, and the last words go before everything, because an answer that is complete should never look as if it were not.

## 8. It speaks more than one language

Grüße aus Köln, saludos desde Málaga, приветствия из Казани, 東京からこんにちは, تحياتي من القاهرة. Some signs are made of many parts, such as 👩‍👩‍👧‍👦 or 🏳️‍🌈 or é, and even where a message ends in the middle of them, they stay whole.

## 9. It remembers

What was said in a conversation is kept, and each new question goes to the model together with what came before it. That is why I can count your messages, although I understand none of them. An answer that was broken off is kept as well, as far as you could read it, so that "go on" makes sense to a real model. What was said in one room is never told in another one.

## 10. It acts

A model can do more than talk: it may ask for actions. Some only look something up, such as the time or a die that was rolled. Others change something outside, and these are written down before and after, so that they are never done twice. While an action works it may show how far it has come, in one line that is rewritten in place. It may also ask you something, and wait for your choice. Say "play something" when this is over, and watch that line.

## 11. It is yours

All of this runs on your own machine. One file says which platforms are served, which model answers, and who may talk to it. Each setting has a value that works, so the file may be empty. A key or an address for a real model is the only thing that is missing here.

## 12. It ends

That was the last part. If you have read all of it in one go, then several messages were sent, each of them was edited a few times, and none of them was sent twice. A real model would have had more to say, but hardly more words.`
