// The client openai against /v1.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, streamText } from 'ai7'
import OpenAI from 'openai'
import { cell, check, equal, gateway, prompts, release } from './lib.mjs'

const client = new OpenAI({ baseURL: gateway + '/v1', apiKey: 'any' })
const [{ id: model }] = (await client.models.list()).data
equal((await client.models.retrieve(model)).id, model, 'the model is found')

const user = content => ({ role: 'user', content })
const assistant = content => ({ role: 'assistant', content })
const chat = (messages, id, more = {}) =>
  client.chat.completions.create({ model, messages, ...more }, { headers: id ? { 'X-OpenWebUI-Chat-Id': id } : {} })
const said = r => r.choices[0].message.content
const last = async () => (await prompts()).at(-1)

// Three states before the last token.
const states = []
const stream = await chat([user('tell me')], 'a', { stream: true, stream_options: { include_usage: true } })
let text = '', usage, finish
for await (const chunk of stream) {
  usage = chunk.usage ?? usage
  finish = chunk.choices[0]?.finish_reason ?? finish
  const more = chunk.choices[0]?.delta?.content
  if (!more) continue
  states.push(text += more)
  if (states.length < 4) await release()
}
equal(states.slice(0, 3), ['One ', 'One two ', 'One two three '], 'states before the last token')
equal([text, finish], ['One two three four.', 'stop'], 'the whole answer')
check(usage && 'total_tokens' in usage, 'usage', usage)
cell('openai stream')

// The next message of a known conversation; the client sends all of it again.
const history = [user('tell me'), assistant(text)]
equal(said(await chat([...history, user('Hello')], 'a')), 'You said: Hello', 'the answer')
cell('openai send')
const asked = await last()
check(asked.includes('One two three four.') && asked.split('tell me').length === 2, 'the conversation is known once', asked)

// The same again is another answer, and a changed question is an edit: neither is a second message.
equal(said(await chat([...history, user('Hello')], 'a')), 'You said: Hello', 'regenerated')
equal((await last()).split('Hello').length, 2, 'one Hello')
equal(said(await chat([...history, user('Good evening')], 'a')), 'You said: Good evening', 'edited')
check(!(await last()).includes('Hello'), 'the old question is gone', await last())
// A shorter history: the messages after it are gone.
equal(said(await chat([...history, user('Good evening'), assistant('?'), user('Third')], 'a')), 'You said: Third', 'third')
equal(said(await chat([user('Other start')], 'a')), 'You said: Other start', 'a changed first message')
check(!(await last()).includes('evening') && !(await last()).includes('Third'), 'the rest is gone', await last())
cell('openai history')

// A conversation that the gateway does not know, with instructions: both are quoted.
equal(said(await chat([{ role: 'system', content: 'You are a pirate.' }, user('My name is Ada.'), assistant('Hi Ada'), user('Who am I?')], 'b')), 'You said: Who am I?', 'seeded')
let seen = await last()
check(seen.includes('*Embed:* Earlier messages') && seen.includes('  user: My name is Ada.') && seen.includes('*Embed:* You are a pirate.'), 'quoted', seen)
equal(said(await chat([{ role: 'system', content: 'You are a pirate.' }, user('My name is Ada.'), assistant('Hi Ada'), user('Who am I?'), assistant('Ada'), user('Sure?')], 'b')), 'You said: Sure?', 'seeded once')
seen = await last()
check(seen.split('Earlier messages').length === 2 && seen.split('pirate').length === 2, 'quoted once', seen)

// Background tasks are answered, and leave nothing.
const title = '### Task:\nGenerate a title.\n<chat_history>SECRET</chat_history>'
equal(said(await chat([user(title)], 'b')).startsWith('You said: ### Task:'), true, 'a title')
equal(said(await chat([user('My name is Ada.'), assistant('Hi Ada'), user('Who am I?'), assistant('Ada'), user('Sure?'), assistant('x'), user('And now?')], 'b')), 'You said: And now?', 'after a title')
check(!(await last()).includes('SECRET'), 'a title is not remembered', await last())

// Another conversation knows nothing of this one.
await chat([user('Fresh')], 'c')
check(!(await last()).includes('Ada'), 'conversations are apart', await last())

// Tools: their progress is shown as reasoning.
let thought = ''
text = ''
for await (const chunk of await chat([user('search tea')], 't', { stream: true })) {
  const d = chunk.choices[0]?.delta ?? {}
  text += d.content ?? ''
  if (!d.reasoning_content) continue
  thought += d.reasoning_content
  if (/Searching the web…|Reading 3 pages…/.test(d.reasoning_content)) await release()
}
check(thought.includes('Searching the web…') && thought.includes('Reading 3 pages…'), 'progress', thought)
equal(text, 'I look it up.\n\nRead 3 pages.\n\nIt is: green tea', 'after a tool')
cell('openai tools')

// A question ends the answer; the choice continues it.
equal(said(await chat([user('ask me')], 'q')), 'Which color?\n\n1. Red\n2. Blue', 'a question')
equal(said(await chat([user('ask me'), assistant('Which color?'), user('Blue')], 'q')), 'Chosen.\n\nIt is: Blue', 'the chosen one')
cell('openai choices')

// Images.
const pixel = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
equal(said(await chat([user([{ type: 'text', text: 'Look' }, { type: 'image_url', image_url: { url: pixel } }])], 'v')), 'You sent image/png.', 'an image')
cell('openai files')

// Errors have OpenAI's form.
const fails = async (what, status, code, call) => {
  try {
    await call()
  } catch (e) {
    check(e instanceof OpenAI.APIError && e.status === status && e.code === code && e.message.length > 20, what, { status: e.status, code: e.code, text: String(e) })
    return
  }
  check(false, what + ': no error')
}
await fails('tools', 400, 'BAD_REQUEST', () => chat([user('x')], 'e', { tools: [{ type: 'function', function: { name: 'f' } }] }))
await fails('no message', 400, 'BAD_REQUEST', () => chat([assistant('x')], 'e'))
await fails('a model', 404, 'NOT_FOUND', () => client.models.retrieve('other'))
await fails('a remote image', 400, 'BAD_REQUEST', () => chat([user([{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }])], 'e'))

// Responses.
const first = await client.responses.create({ model, input: 'My name is Bob.', instructions: 'Be brief.' })
equal(first.output_text, 'You said: My name is Bob.', 'a response')
const second = await client.responses.create({ model, input: [{ role: 'user', content: [{ type: 'input_text', text: 'Who am I?' }] }], previous_response_id: first.id })
equal(second.output_text, 'You said: Who am I?', 'a second response')
check((await last()).includes('My name is Bob.'), 'it follows the first', await last())
await client.responses.create({ model, input: 'Who am I?', previous_response_id: first.id })
equal((await last()).split('Who am I?').length, 2, 'the same again is one message')
cell('openai-responses send'), cell('openai-responses history')
const parts = []
const events = client.responses.stream({ model, input: 'tell me', conversation: 'r' })
for await (const e of events) {
  if (e.type !== 'response.output_text.delta') continue
  parts.push((parts.at(-1) ?? '') + e.delta)
  if (parts.length < 4) await release()
}
equal(parts.slice(0, 3), ['One ', 'One two ', 'One two three '], 'states of a response')
equal((await events.finalResponse()).output_text, 'One two three four.', 'the whole response')
cell('openai-responses stream')
const image = await client.responses.create({ model, input: [{ role: 'user', content: [{ type: 'input_text', text: 'Look' }, { type: 'input_image', image_url: pixel, detail: 'auto' }] }] })
equal(image.output_text, 'You sent image/png.', 'an image in a response')
cell('openai-responses files')
// Stop.
let id, partial = ''
for await (const e of await client.responses.create({ model, input: 'tell me', conversation: 'stop', stream: true })) {
  id = e.response?.id ?? id
  if (e.type !== 'response.output_text.delta') continue
  partial += e.delta
  await client.responses.cancel(id)
}
check(partial.startsWith('One'), 'a stopped response', partial)
cell('openai-responses stop')

// @ai-sdk/openai-compatible.
const agent = createOpenAICompatible({ name: 'parley', baseURL: gateway + '/v1', apiKey: 'any' })(model)
const shown = []
const result = streamText({ model: agent, messages: [{ role: 'user', content: 'tell me' }], headers: { 'X-Conversation-Id': 'compatible' } })
for await (const more of result.textStream) {
  shown.push((shown.at(-1) ?? '') + more)
  if (shown.length < 4) await release()
}
equal(shown, ['One ', 'One two ', 'One two three ', 'One two three four.'], '@ai-sdk/openai-compatible')
cell('openai-compatible stream')
equal((await generateText({ model: agent, messages: [{ role: 'user', content: [{ type: 'text', text: 'Look' }, { type: 'image', image: pixel }] }] })).text, 'You sent image/png.', 'an image')
cell('openai-compatible send'), cell('openai-compatible files')
let reasoning = ''
for await (const part of streamText({ model: agent, prompt: 'search tea' }).fullStream) {
  if (part.type !== 'reasoning-delta') continue
  reasoning += part.text
  if (/Searching the web…|Reading 3 pages…/.test(part.text)) await release()
}
check(reasoning.includes('Reading 3 pages…'), 'progress', reasoning)
cell('openai-compatible tools')
console.log('ok')
