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
console.log('ok')
process.exit(0)
