// The AG-UI client against /agui. The argument is the name of the package: @ag-ui/client (1.0) or agui0 (0.0.59).
import { cell, check, equal, gateway, prompts, release, until } from './lib.mjs'

const name = process.argv[2], short = name === 'agui0' ? 'agui0' : 'agui1'
const { HttpAgent } = await import(name)
const asked = async () => (await prompts()).at(-1)

const agent = (threadId, more = {}) => new HttpAgent({ url: gateway + '/agui', threadId: short + threadId, ...more })
const user = (id, content) => ({ id, role: 'user', content })
const text = m => (typeof m?.content === 'string' ? m.content : '')
const answers = a => a.messages.filter(m => m.role === 'assistant').map(text).filter(t => t).join('|')
const status = a => a.messages.findLast(m => m.role === 'activity')?.content?.text

async function ask(a, content, more = {}, seen) {
  a.addMessage(user('u' + a.messages.length, content))
  const errors = []
  const result = await a.runAgent(more, { onRunErrorEvent: ({ event }) => { errors.push(event.message) }, onRunFailed: ({ error }) => { errors.push(String(error)) }, ...seen })
  equal(errors, [], 'errors')
  return result
}

// Three states before the last token.
const a = agent('a')
const states = []
const running = ask(a, 'tell me', {}, { onTextMessageContentEvent: async ({ event, textMessageBuffer }) => { states.push(textMessageBuffer + event.delta) } })
for (const want of ['One', 'One two', 'One two three']) {
  await until(want, () => answers(a).trim() === want)
  await release()
}
await running
equal(answers(a), 'One two three four.', 'the whole answer')
check(states.length >= 4, 'states', states)
cell(short, 'stream')

await ask(a, 'Hello')
equal(text(a.messages.at(-1)), 'You said: Hello', 'the second answer')
check((await asked()).split('tell me').length === 2, 'known once', await asked())
cell(short, 'send')

// Another answer, and an edit.
a.messages = a.messages.slice(0, 3)
await a.runAgent()
equal([a.messages.length, text(a.messages.at(-1))], [4, 'You said: Hello'], 'regenerated')
equal((await asked()).split('Hello').length, 2, 'one Hello')

// Tools, and a status that is replaced in place.
const t = agent('t')
const searching = ask(t, 'search tea')
for (const want of ['Searching the web…', 'Reading 3 pages…']) {
  await until(want, () => status(t) === want)
  equal(t.messages.filter(m => m.role === 'activity').length, 1, 'one activity')
  await release()
}
await searching
const call = t.messages.flatMap(m => m.toolCalls ?? [])[0]
equal([call.function.name, call.function.arguments], ['SEARCH', '{"q":"tea"}'], 'the call')
equal(text(t.messages.find(m => m.role === 'tool')), 'green tea', 'its result')
equal(answers(t), 'I look it up.|Read 3 pages.\n\nIt is: green tea', 'after the tool')
cell(short, 'tools')

// A question interrupts the run; resume continues it.
const q = agent('q')
let outcome
await ask(q, 'ask me', {}, { onRunFinishedEvent: ({ event }) => { outcome = event.outcome } })
equal([outcome.type, outcome.interrupts[0].responseSchema.enum], ['interrupt', ['Red', 'Blue']], 'an interrupt')
equal(q.state.parley?.choices?.options, ['Red', 'Blue'], 'the state')
await q.runAgent({ resume: [{ interruptId: outcome.interrupts[0].id, status: 'resolved', payload: 'Blue' }] })
equal(text(q.messages.at(-1)), 'Chosen.\n\nIt is: Blue', 'chosen')
cell(short, 'choices')
const p = agent('p')
await ask(p, 'ask me', {}, { onRunFinishedEvent: ({ event }) => { outcome = event.outcome } })
await p.runAgent({ resume: [{ interruptId: outcome.interrupts[0].id, status: 'resolved', payload: { approved: true } }] })
equal(text(p.messages.at(-1)), 'Chosen.\n\nIt is: Red', 'approved')
cell(short, 'approvals')

// Files.
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const f = agent('f')
await ask(f, [{ type: 'text', text: 'Look' }, short === 'agui0' ? { type: 'binary', mimeType: 'image/png', data: pixel } : { type: 'image', source: { type: 'data', value: pixel, mimeType: 'image/png' } }])
equal(text(f.messages.at(-1)), 'You sent image/png.', 'a file')
const word = btoa('The word is marzipan.')
await ask(f, [{ type: 'text', text: 'Read this' }, short === 'agui0' ? { type: 'binary', mimeType: 'text/plain', filename: 'word.txt', data: word } : { type: 'document', source: { type: 'data', value: word, mimeType: 'text/plain' } }])
check((await asked()).includes('The word is marzipan.'), 'a document is read', await asked())
cell(short, 'files')

// Stop.
const s = agent('s')
const stopped = ask(s, 'tell me')
await until('One', () => answers(s).trim() === 'One')
equal((await fetch(`${gateway}/agui/stop/${short}s`, { method: 'POST' })).status, 200, 'stop')
await stopped
check(answers(s).startsWith('One'), 'stopped', answers(s))
cell(short, 'stop')

// Another page: the history, and the running answer.
const c = agent('c')
c.addMessage(user('u0', 'tell me'))
const gone = c.runAgent().catch(() => {})
await until('One', () => answers(c).trim() === 'One')
await release()
await until('two', () => answers(c).trim() === 'One two')
c.abortRun()
await gone
const d = agent('c', { url: gateway + '/agui/connect' })
const joining = d.runAgent()
await until('joined', () => answers(d).trim() === 'One two')
await release(), await release()
await joining
equal(d.messages.map(m => [m.role, text(m)]).filter(([role]) => role !== 'activity'), [['user', 'tell me'], ['assistant', 'One two three four.']], 'joined')
cell(short, 'resume')
const e = agent('a', { url: gateway + '/agui/connect' })
await e.runAgent()
equal(e.messages.map(text), a.messages.map(text), 'history')
cell(short, 'history')
console.log('ok')
process.exit(0)
