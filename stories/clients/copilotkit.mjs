// CopilotKit's core against the four routes of its runtime.
import { cell, check, equal, gateway, release, until } from './lib.mjs'

globalThis.window = globalThis // it connects only in a browser
const { CopilotKitCore } = await import('@copilotkit/core')
const connect = () => {
  const core = new CopilotKitCore({ runtimeUrl: gateway + '/copilotkit', runtimeTransport: 'rest' })
  core.connect?.()
  return core
}
const core = connect()
await until('connected', () => core.runtimeConnectionStatus === 'connected')
const agent = core.getAgent('default')
const text = m => (typeof m?.content === 'string' ? m.content : '')
const last = a => text(a.messages.findLast(m => m.role === 'assistant' && text(m)))

agent.threadId = 'kit'
agent.addMessage({ id: 'u1', role: 'user', content: 'tell me' })
const run = core.runAgent({ agent })
for (const want of ['One', 'One two', 'One two three']) {
  await until(want, () => last(agent).trim() === want)
  await release()
}
await run
equal(last(agent), 'One two three four.', 'the whole answer')
cell('copilotkit', 'send'), cell('copilotkit', 'stream')

agent.addMessage({ id: 'u2', role: 'user', content: 'search tea' })
const searching = core.runAgent({ agent })
for (const want of ['Searching the web…', 'Reading 3 pages…']) {
  await until(want, () => agent.messages.some(m => m.role === 'activity' && m.content.text === want))
  await release()
}
await searching
check(last(agent).endsWith('It is: green tea'), 'after a tool', agent.messages)
cell('copilotkit', 'tools')

agent.addMessage({ id: 'u3', role: 'user', content: 'tell me' })
const stopped = core.runAgent({ agent })
await until('One', () => last(agent).trim() === 'One')
await core.stopAgent({ agent })
await stopped
cell('copilotkit', 'stop')

const other = connect()
await until('connected', () => other.runtimeConnectionStatus === 'connected')
const again = other.getAgent('default')
again.threadId = 'kit'
await other.connectAgent({ agent: again })
check(again.messages.some(m => text(m) === 'One two three four.'), 'history', again.messages)
cell('copilotkit', 'history')
// Another page joins the running answer.
agent.addMessage({ id: 'u4', role: 'user', content: 'tell me' })
const leaving = core.runAgent({ agent })
await until('One', () => last(agent).trim() === 'One')
const late = connect()
await until('connected', () => late.runtimeConnectionStatus === 'connected')
const watcher = late.getAgent('default')
watcher.threadId = 'kit'
const joining = late.connectAgent({ agent: watcher })
await until('joined', () => last(watcher).trim() === 'One')
await release(), await release(), await release()
await joining
await leaving
equal([last(watcher), last(agent)], ['One two three four.', 'One two three four.'], 'joined')
cell('copilotkit', 'resume')

// A question interrupts the run; its answer continues it, as an option or an approval.
for (const [column, payload, want] of [['choices', 'Blue', 'Blue'], ['approvals', { approved: true }, 'Red']]) {
  agent.threadId = 'kit-' + column
  agent.messages = []
  agent.addMessage({ id: 'q-' + column, role: 'user', content: 'ask me' })
  let outcome
  const { unsubscribe } = agent.subscribe({ onRunFinishedEvent: ({ event }) => { outcome = event.outcome } })
  await core.runAgent({ agent })
  unsubscribe()
  equal(outcome?.type, 'interrupt', 'an interrupt')
  await agent.runAgent({ resume: [{ interruptId: outcome.interrupts[0].id, status: 'resolved', payload }] })
  equal(last(agent), 'Chosen.\n\nIt is: ' + want, column)
  cell('copilotkit', column)
}

// Files.
agent.threadId = 'kit-files'
agent.messages = []
agent.addMessage({ id: 'f1', role: 'user', content: [{ type: 'text', text: 'Look' }, { type: 'binary', mimeType: 'image/png', data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==' }] })
await core.runAgent({ agent })
equal(last(agent), 'You sent image/png.', 'a file')
cell('copilotkit', 'files')
console.log('ok')
process.exit(0)
