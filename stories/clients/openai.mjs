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

// An approval of the owner is a text with numbered options too, and the next message decides: by number or text.
const owner = { Authorization: 'Bearer ' + process.env.OWNER_TOKEN }
const request = '🔐 **PAY** (bank, dangerous)\n```\nPay 5 euros.\n```\n\n⏳ Waiting for an approval.\n\n1. Once\n2. Deny'
for (const [word, end] of [['1', 'It is: paid'], ['Once', 'It is: paid'], ['deny', 'The call was not approved.']]) {
  const headers = { ...owner, 'X-Conversation-Id': 'pay ' + word }
  const decide = async messages => said(await client.chat.completions.create({ model, messages }, { headers }))
  equal(await decide([user('pay now')]), request, 'an approval')
  const decided = await decide([user('pay now'), assistant(request), user(word)])
  check(decided.endsWith(end) && !decided.includes('Waiting'), 'decided by ' + word, decided)
}
cell('openai approvals')

// Images.
const pixel = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
equal(said(await chat([user([{ type: 'text', text: 'Look' }, { type: 'image_url', image_url: { url: pixel } }])], 'v')), 'You sent image/png.', 'an image')
const document = 'data:text/plain;base64,' + btoa('The word is marzipan.')
await chat([user([{ type: 'text', text: 'Read this' }, { type: 'file', file: { filename: 'word.txt', file_data: document } }])], 'd')
check((await last()).includes('The word is marzipan.'), 'a document is read', await last())
cell('openai files')

// Closing the connection does not stop the answer: the same request again joins it, from its beginning.
const joined = async (name, ask) => {
  const before = (await prompts()).length, leave = new AbortController()
  let seen = ''
  try {
    for await (const more of await ask({ signal: leave.signal })) {
      if ((seen += more).includes('One')) leave.abort()
    }
  } catch (e) { check(leave.signal.aborted, name + ' was cut', String(e)) }
  check(seen.startsWith('One') && !seen.includes('two'), 'the beginning', seen)
  const again = await ask({})
  await release(), await release(), await release()
  let whole = ''
  for await (const more of again) whole += more
  equal([whole, (await prompts()).length - before], ['One two three four.', 1], name + ' resumes')
  cell(name, 'resume')
}
async function* textOf(events) { for await (const c of events) yield c.choices[0]?.delta?.content ?? '' }
await joined('openai', async o => textOf(await client.chat.completions.create({ model, messages: [user('tell me')], stream: true }, { ...o, headers: { 'X-Conversation-Id': 'resume' } })))

// /stop, as a message of the conversation, stops its answer.
let cut = '', ended
for await (const c of await chat([user('tell me')], 'stop', { stream: true })) {
  ended = c.choices[0]?.finish_reason ?? ended
  if (!c.choices[0]?.delta?.content) continue
  cut += c.choices[0].delta.content
  await chat([user('tell me'), assistant('One'), user('/stop')], 'stop')
}
check(cut.startsWith('One') && !cut.includes('two') && ended, 'stopped', { cut, ended })
cell('openai stop')

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
await client.responses.create({ model, input: [{ role: 'user', content: [{ type: 'input_text', text: 'Read this' }, { type: 'input_file', filename: 'word.txt', file_data: document }] }] })
check((await last()).includes('The word is marzipan.'), 'a document in a response is read', await last())
cell('openai-responses files')
async function* deltasOf(events) { for await (const e of events) if (e.type === 'response.output_text.delta') yield e.delta }
let running
await joined('openai-responses', async o => {
  if (running) return deltasOf(await client.responses.retrieve(running, { stream: true }))
  const events = await client.responses.create({ model, input: 'tell me', stream: true }, o)
  return deltasOf((async function* () { for await (const e of events) { running = e.response?.id ?? running; yield e } })())
})
equal((await client.responses.retrieve(running)).output_text, 'One two three four.', 'retrieved')
let summary = ''
for await (const e of await client.responses.create({ model, input: 'search tea', stream: true })) {
  if (e.type !== 'response.reasoning_summary_text.delta') continue
  summary += e.delta
  if (/Searching the web…|Reading 3 pages…/.test(e.delta)) await release()
}
check(summary.includes('Searching the web…') && summary.includes('Reading 3 pages…'), 'progress in a response', summary)
cell('openai-responses tools')
const question = await client.responses.create({ model, input: 'ask me' })
equal(question.output_text, 'Which color?\n\n1. Red\n2. Blue', 'a question in a response')
equal((await client.responses.create({ model, input: '2', previous_response_id: question.id })).output_text, 'Chosen.\n\nIt is: Blue', 'chosen in a response')
cell('openai-responses choices')
const payment = await client.responses.create({ model, input: 'pay now' }, { headers: owner })
equal(payment.output_text, request, 'an approval in a response')
const paid = await client.responses.create({ model, input: 'Once', previous_response_id: payment.id }, { headers: owner })
check(paid.output_text.endsWith('It is: paid'), 'approved in a response', paid.output_text)
cell('openai-responses approvals')
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
const follow = (messages, id, more = {}) => ({ model: agent, messages, headers: { 'X-Conversation-Id': id }, ...more })
equal((await generateText(follow([user('My name is Cy.'), assistant('Hi'), user('Who am I?')], 'compatible-history'))).text, 'You said: Who am I?', 'seeded')
equal((await generateText(follow([user('My name is Cy.'), assistant('Hi'), user('Who am I?'), assistant('Cy'), user('Sure?')], 'compatible-history'))).text, 'You said: Sure?', 'the next one')
check((await last()).split('Earlier messages').length === 2, 'seeded once', await last())
cell('openai-compatible history')
equal((await generateText(follow([user('ask me')], 'compatible-choice'))).text, 'Which color?\n\n1. Red\n2. Blue', 'a question')
equal((await generateText(follow([user('ask me'), assistant('Which color?'), user('1')], 'compatible-choice'))).text, 'Chosen.\n\nIt is: Red', 'chosen')
cell('openai-compatible choices')
const asOwner = messages => generateText({ model: agent, messages, headers: { ...owner, 'X-Conversation-Id': 'compatible-pay' } })
equal((await asOwner([user('pay now')])).text, request, 'an approval')
check((await asOwner([user('pay now'), assistant(request), user('1')])).text.endsWith('It is: paid'), 'approved')
cell('openai-compatible approvals')
await joined('openai-compatible', async o => streamText(follow([user('tell me')], 'compatible-resume', { abortSignal: o.signal, onError: () => {}, onAbort: () => {} })).textStream)
let short = ''
for await (const more of streamText(follow([user('tell me')], 'compatible-stop')).textStream) {
  short += more
  await generateText(follow([user('tell me'), assistant('One'), user('/stop')], 'compatible-stop')).catch(() => {})
}
check(short.startsWith('One') && !short.includes('two'), 'stopped', short)
cell('openai-compatible stop')
console.log('ok')
