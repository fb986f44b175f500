// assistant-ui's runtime for the AI SDK, in React, against /api/chat: a second client of the same stream.
import { JSDOM } from 'jsdom'
import { cell, equal, gateway, release, until } from './lib.mjs'

const { window } = new JSDOM('<div id="root"></div>', { url: gateway })
for (const name of ['window', 'document', 'navigator', 'HTMLElement', 'Element', 'Node', 'MutationObserver', 'ResizeObserver', 'requestAnimationFrame', 'cancelAnimationFrame', 'getComputedStyle']) {
  globalThis[name] = window[name] ?? class { observe() {} unobserve() {} disconnect() {} }
}
globalThis.window = window
globalThis.requestAnimationFrame = f => setTimeout(f, 16)
globalThis.cancelAnimationFrame = clearTimeout
window.ResizeObserver = globalThis.ResizeObserver
window.HTMLElement.prototype.scrollTo = () => {}

const { createElement: h } = await import('react')
const { createRoot } = await import('react-dom/client')
const { AssistantRuntimeProvider, MessagePrimitive, ThreadPrimitive } = await import('@assistant-ui/react')
const { AssistantChatTransport, createResumableSessionStorage, useChatRuntime } = await import('@assistant-ui/react-ai-sdk')

const requests = []
const native = globalThis.fetch
globalThis.fetch = window.fetch = (address, options) => {
  if (options?.method === 'POST' && String(address).endsWith('/api/chat')) requests.push(JSON.parse(options.body))
  return native(address, options)
}
let runtime
const Text = ({ text }) => h('span', { className: 'text' }, text)
const Tool = ({ toolName, result }) => h('span', { className: 'tool' }, toolName + ': ' + JSON.stringify(result ?? null))
const Message = () => h(MessagePrimitive.Root, { className: 'message' }, h(MessagePrimitive.Parts ?? MessagePrimitive.Content, { components: { Text, tools: { Fallback: Tool } } }))
// Each page has its own storage over that of the browser's tab.
const transport = () => new AssistantChatTransport({
  api: gateway + '/api/chat', headers,
  resumable: { storage: createResumableSessionStorage(), resumeApi: id => `${gateway}/api/chat/${id}/stream` },
})
const headers = { Authorization: 'Bearer ' + process.env.OWNER_TOKEN }
const first = transport()
const App = () => {
  runtime = useChatRuntime({ transport: first })
  return h(AssistantRuntimeProvider, { runtime }, h(ThreadPrimitive.Root, null, h(ThreadPrimitive.Messages, { components: { Message } })))
}
createRoot(document.getElementById('root')).render(h(App))
await until('the runtime', () => runtime?.thread)
const messages = () => [...document.querySelectorAll('.message')]
const last = () => [...(messages().at(-1)?.querySelectorAll('.text') ?? [])].map(n => n.textContent).join('|')

runtime.thread.append('tell me')
for (const want of ['One', 'One two', 'One two three']) {
  await until(want, () => last().trim() === want)
  await release()
}
await until('the end', () => last() === 'One two three four.')
equal(messages().length, 2, 'messages')
cell('assistant-ui', 'send'), cell('assistant-ui', 'stream')

await until('idle', () => !runtime.thread.getState().isRunning)
runtime.thread.append('search tea')
await until('the tool', () => messages().at(-1)?.querySelector('.tool')?.textContent === 'SEARCH: null')
await release()
await release()
await until('its result', () => messages().at(-1).querySelector('.tool')?.textContent === 'SEARCH: {"text":"green tea"}')
await until('the answer', () => last() === 'I look it up.|Read 3 pages.\n\nIt is: green tea')
cell('assistant-ui', 'tools')
// The stop of the component ends only the connection; that of the API ends the answer.
const idle = () => until('idle', () => !runtime.thread.getState().isRunning)
await idle()
const id = await until('the id of the chat', async () => requests.at(-1)?.id)
runtime.thread.append('tell me')
await until('One', () => last().trim() === 'One')
equal((await fetch(`${gateway}/api/chat/${id}/stop`, { method: 'POST', headers })).status, 200, 'stop')
await idle()
equal(last().startsWith('One') && last().includes('Stopped'), true, 'stopped')
cell('assistant-ui', 'stop')

// A question, and the choice as a message.
const before = requests.length
runtime.thread.append('ask me')
await until('asked', () => requests.length > before && messages().length === 8)
await idle()
runtime.thread.append('Blue')
await until('chosen', () => last() === 'Chosen.\n\nIt is: Blue')
cell('assistant-ui', 'choices')

// An approval, as data, and the decision as a message.
await idle()
runtime.thread.append('pay now')
await until('an approval', () => last().endsWith('Waiting for an approval.'))
await idle()
runtime.thread.append('Once')
await until('approved', () => last().endsWith('It is: paid'))
cell('assistant-ui', 'approvals')

// Files.
await idle()
const pixel = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
runtime.thread.append({ role: 'user', content: [{ type: 'text', text: 'Look' }], attachments: [{ id: 'a', type: 'image', name: 'a.png', contentType: 'image/png', status: { type: 'complete' }, content: [{ type: 'image', image: pixel }] }] })
await until('a file', () => last() === 'You sent image/png.')
cell('assistant-ui', 'files')

// Another page: the history, and the running answer from its beginning.
await idle()
runtime.thread.append('tell me')
await until('One', () => last().trim() === 'One')
const stored = (await (await fetch(`${gateway}/api/chat/${id}`, { headers })).json()).messages
const second = document.createElement('div')
document.body.append(second)
const reloaded = transport()
const Late = () => {
  const other = useChatRuntime({ id, messages: stored, transport: reloaded })
  return h(AssistantRuntimeProvider, { runtime: other }, h(ThreadPrimitive.Root, null, h(ThreadPrimitive.Messages, { components: { Message } })))
}
createRoot(second).render(h(Late))
await until('the history', () => second.querySelectorAll('.message').length >= stored.length && second.textContent.includes('You sent image/png.'))
cell('assistant-ui', 'history')
await until('the beginning', () => second.querySelectorAll('.message').length === stored.length + 1 && second.textContent.trim().endsWith('One'))
for (let n = 0; n < 3; n++) await release()
await until('the end', () => second.textContent.endsWith('One two three four.'))
cell('assistant-ui', 'resume')
console.log('ok')
process.exit(0)
