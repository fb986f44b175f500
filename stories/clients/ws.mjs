// The gateway's WebSocket with the client ws: two conversations over one connection, which begins with a ticket.
import WebSocket from 'ws'
import { check, equal, gateway, release, until } from './lib.mjs'

const json = async (path, body, headers = {}) => (await fetch(gateway + path, { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body })).json()
const { visitor } = await json('/api/visitors')
const as = { Authorization: 'Bearer ' + visitor.token }
const open = async () => (await json('/api/conversations', '', as)).conversation.id
const [tea, red] = [await open(), await open()]

// connect begins a socket. answers[name] is what the client shows of a request: the text, the lines of status, and the end.
async function connect(protocols) {
  const { ticket } = await json('/api/ticket', '', as)
  const ws = new WebSocket(gateway.replace('http', 'ws') + '/api/socket', protocols ?? ['parley', ticket.token])
  const s = { ws, ticket: ticket.token, answers: {}, typing: [] }
  ws.on('message', data => {
    const m = JSON.parse(data)
    if (m.event?.type === 'typing') return void s.typing.push(m)
    const a = (s.answers[m.request] ??= { text: '', states: [], frames: [] })
    a.cursor = m.cursor ?? a.cursor
    if (m.status) a.status = m.status, a.body = m.body
    if (!m.event) return
    const e = m.event
    a.frames.push(e)
    if (e.fullText !== undefined) a.text = e.fullText
    else if (e.type === 'token') a.text += e.text
    if (a.states.at(-1) !== a.text) a.states.push(a.text)
    if (e.type === 'status' && e.kind === 'choices') a.choices = e.choices
  })
  s.end = new Promise(r => ws.on('close', (code, reason) => r(code + ' ' + reason)).on('error', e => r(e.message)))
  s.say = m => ws.send(JSON.stringify(m))
  await Promise.race([new Promise(r => ws.on('open', r)), s.end])
  return s
}

const s = await connect()
equal(s.ws.protocol, 'parley', 'the subprotocol')
equal(await (await connect(['parley', s.ticket])).end, 'Unexpected server response: 401', 'the ticket again')

// Two answers at the same time, each with its states before the model has ended it.
s.say({ request: 'tell', type: 'send', conversation: tea, text: 'tell me', clientMessageId: 'm1', after: '' })
for (const want of ['One', 'One two', 'One two three']) {
  await until(want, () => s.answers.tell?.text.trim() === want)
  if (want === 'One two') {
    s.say({ request: 'ask', type: 'send', conversation: red, text: 'ask me', clientMessageId: 'm1' })
    await until('the question', () => s.answers.ask?.choices)
    s.say({ request: 'choose', type: 'choose', conversation: red, id: s.answers.ask.choices.id, option: 1 })
    await until('the answer', () => s.answers.ask.status)
    check(s.answers.ask.text.endsWith('It is: Blue'), 'the choice', s.answers.ask)
  }
  if (want !== 'One two three') await release()
}

// The connection breaks: another one continues with the rest.
s.ws.terminate()
const t = await connect()
t.say({ request: 'rest', type: 'resume', conversation: tea, after: s.answers.tell.cursor })
await until('it continues', () => t.answers.rest)
await release()
await until('the end', () => t.answers.rest.status)
const texts = t.answers.rest.frames.filter(f => f.type === 'token')
equal([texts, t.answers.rest.text], [[{ type: 'token', text: 'four.' }], 'One two three four.'], 'the rest')
t.say({ request: 'none', type: 'resume', conversation: tea })
await until('nothing runs', () => t.answers.none?.status === 204)

// Typing in one tab is shown in the other, which reads the same conversation.
const u = await connect()
for (const conversation of [red, tea]) u.say({ request: conversation, type: 'typing', conversation })
await until('accepted', () => u.answers[tea]?.status === 204)
await until('the other tab', () => t.typing.length === 1)
equal([t.typing, u.typing], [[{ conversation: tea, event: { type: 'typing' } }], []], 'typing')
u.ws.close()

// A file, a stop, and a refusal.
const put = await fetch(`${gateway}/api/conversations/${red}/files?clientFileId=f1&name=a.txt`, { method: 'POST', headers: { ...as, 'Content-Type': 'text/plain' }, body: 'Tea is green.' })
equal(put.status, 201, 'the upload')
t.say({ request: 'file', type: 'send', conversation: red, text: 'read this', files: ['f1'] })
await until('the answer to the file', () => t.answers.file?.status)
check(t.answers.file.text.startsWith('You said: read this'), 'the file', t.answers.file)
t.say({ request: 'long', type: 'send', conversation: tea, text: 'tell me' })
await until('One', () => t.answers.long?.text.trim() === 'One')
t.say({ request: 'stop', type: 'stop', conversation: tea })
await until('stopped', () => t.answers.stop?.status === 200 && t.answers.long.status === 200)
t.say({ request: 'foreign', type: 'send', conversation: '0'.repeat(32), text: 'hi' })
await until('refused', () => t.answers.foreign?.status)
equal([t.answers.foreign.status, t.answers.foreign.body.code], [404, 'NOT_FOUND'], 'the conversation of another visitor')

// Another site's page may not, and a client that writes nonsense is told not to come back.
const foreign = new WebSocket(gateway.replace('http', 'ws') + '/api/socket', ['parley'], { origin: 'https://evil.example' })
equal(await new Promise(r => foreign.on('error', e => r(e.message))), 'Unexpected server response: 403', 'another origin')
t.ws.send('hello')
equal(await t.end, '4400 BAD_REQUEST', 'the code')
console.log('ok')
process.exit(0)
