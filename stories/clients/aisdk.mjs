// The AI SDK's chat, as useChat has it, against /api/chat. The argument is the name of the package: ai5, ai6 or ai7.
import { chatOf, textOf } from './chat.mjs'
import { cell, check, equal, gateway, prompts, release, until } from './lib.mjs'

const name = process.argv[2]
const ai = await import(name)
const { DefaultChatTransport } = ai

const Chat = await chatOf(name)
const errors = []
const chat = (id, more = {}, body) => new Chat({ id, transport: new DefaultChatTransport({ api: gateway + '/api/chat', body }), onError: e => errors.push(e), ...more })

const last = c => c.messages.at(-1)
const asked = async () => (await prompts()).at(-1)
const id = part => name + part

// Three states before the last token.
const a = chat(id('a'))
const sending = a.sendMessage({ text: 'tell me' })
for (const want of ['One', 'One two', 'One two three']) {
  await until(want, () => textOf(last(a)).trim() === want)
  await release()
}
await sending
equal([textOf(last(a)), a.status], ['One two three four.', 'ready'], 'the whole answer')
const states = new Set(a.rendered.filter(m => m.role === 'assistant').map(textOf))
check(states.size >= 4, 'states', [...states])
cell(name, 'stream')

await a.sendMessage({ text: 'Hello' })
equal(textOf(last(a)), 'You said: Hello', 'the second answer')
check((await asked()).includes('three four.') && (await asked()).split('tell me').length === 2, 'known once', await asked())
cell(name, 'send')

// Regenerate and edit, never a second message.
const before = last(a).id
await a.regenerate()
equal([a.messages.length, textOf(last(a)), last(a).id], [4, 'You said: Hello', before], 'regenerated')
equal((await asked()).split('Hello').length, 2, 'one Hello')
await a.sendMessage({ text: 'Good evening', messageId: a.messages[2].id })
equal([a.messages.length, textOf(last(a))], [4, 'You said: Good evening'], 'edited')
check(!(await asked()).includes('Hello'), 'the old question is gone', await asked())

// History for another page.
const stored = async chatID => (await (await fetch(`${gateway}/api/chat/${chatID}`)).json()).messages
const history = await stored(id('a'))
equal(history.map(m => [m.role, textOf(m)]), a.messages.map(m => [m.role, textOf(m)]), 'history')
equal(history.map(m => m.id), a.messages.map(m => m.id), 'ids in the history')
if (ai.validateUIMessages) equal((await ai.validateUIMessages({ messages: history })).length, 4, 'valid history')
cell(name, 'history')

// Stop: the answer ends, and the tab's disconnection alone would not end it.
const b = chat(id('b'))
const stopped = b.sendMessage({ text: 'tell me' })
await until('One', () => textOf(last(b)).trim() === 'One')
await fetch(`${gateway}/api/chat/${id('b')}/stop`, { method: 'POST' })
await stopped
equal(b.status, 'ready', 'stopped')
equal(await fetch(`${gateway}/api/chat/${id('b')}/stream`).then(r => r.status), 204, 'nothing runs')
equal(await fetch(`${gateway}/api/chat/${id('unknown')}/stream`).then(r => r.status), 204, 'nothing runs in an unknown chat')
cell(name, 'stop')

// Resume: another page joins in the middle, with the history, and the first page has gone.
const c = chat(id('c'))
c.sendMessage({ text: 'tell me' })
await until('One', () => textOf(last(c)).trim() === 'One')
await release()
await until('two', () => textOf(last(c)).trim() === 'One two')
await c.stop()
const partial = last(c)
for (const messages of [await stored(id('c')), c.messages]) {
  const d = chat(id('c'), { messages })
  const resuming = d.resumeStream()
  await until('replayed', () => textOf(last(d)).trim() === 'One two' && d.status === 'streaming')
  equal([d.messages.length, last(d).id], [2, partial.id], 'the same message')
  if (messages === c.messages) {
    await release()
    await until('three', () => textOf(last(d)).trim() === 'One two three')
    await release()
    await resuming
    equal(textOf(last(d)), 'One two three four.', 'resumed')
  } else {
    d.stop()
  }
}
cell(name, 'resume')

// Tools, and a status that is replaced in place.
const t = chat(id('t'))
const statuses = new Set()
const searching = t.sendMessage({ text: 'search tea' })
for (const want of ['Searching the web…', 'Reading 3 pages…']) {
  await until(want, () => last(t)?.parts.some(p => p.type === 'data-status' && p.data.text === want))
  equal(last(t).parts.filter(p => p.type === 'data-status').length, 1, 'one status')
  statuses.add(want)
  await release()
}
await searching
const tool = last(t).parts.find(p => p.type === 'dynamic-tool')
equal([tool.toolName, tool.state, tool.input, tool.output], ['SEARCH', 'output-available', { q: 'tea' }, { text: 'green tea' }], 'the tool')
equal(last(t).parts.find(p => p.type === 'data-status').data.text, '', 'no status at the end')
equal(textOf(last(t)), 'I look it up.\n\nRead 3 pages.\n\nIt is: green tea', 'after the tool')
const past = (await stored(id('t')))[1]
equal(past.parts.filter(p => p.type === 'dynamic-tool').map(p => [p.toolName, p.state]), [['SEARCH', 'output-available']], 'the stored tool')
cell(name, 'tools')

// Choices: as data, and the choice as a message.
const q = chat(id('q'))
await q.sendMessage({ text: 'ask me' })
const choices = last(q).parts.find(p => p.type === 'data-choices')
equal(choices.data.options, ['Red', 'Blue'], 'choices')
await q.sendMessage({ text: 'Blue' })
equal(textOf(last(q)), 'Chosen.\n\nIt is: Blue', 'chosen')
cell(name, 'choices')

// Approvals: as data, with the decision as a message, and as parts of the tool where the version has them and the client asks for that.
const owner = more => ({ transport: new DefaultChatTransport({ api: gateway + '/api/chat', headers: { Authorization: 'Bearer ' + process.env.OWNER_TOKEN }, ...more }) })
for (const [word, end] of [['Once', 'It is: paid'], ['Deny', 'The call was not approved.']]) {
  const p = chat(id('pay' + word), owner())
  await p.sendMessage({ text: 'pay now' })
  equal(last(p).parts.find(p => p.type === 'data-choices').data.options, ['Once', 'Deny'], 'an approval as data')
  check(textOf(last(p)).includes('Pay 5 euros.'), 'what is approved', textOf(last(p)))
  await p.sendMessage({ text: word })
  check(textOf(last(p)).endsWith(end), 'decided', textOf(last(p)))
}
if (name !== 'ai5') {
  for (const [approved, end] of [[true, 'It is: paid'], [false, 'The call was not approved.']]) {
    const p = chat(id('part' + approved), { ...owner({ body: { approvals: true } }), sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithApprovalResponses })
    await p.sendMessage({ text: 'pay now' })
    const part = last(p).parts.find(p => p.type === 'dynamic-tool')
    equal([part.state, part.toolName, part.input], ['approval-requested', 'PAY', { euro: 5 }], 'an approval is requested')
    await p.addToolApprovalResponse({ id: part.approval.id, approved })
    await until('decided', () => p.status === 'ready' && textOf(last(p)).includes(end))
    const state = last(p).parts.find(p => p.type === 'dynamic-tool').state
    equal([p.messages.length, state], [2, approved ? 'output-available' : 'output-error'], 'one message')
  }
}
cell(name, 'approvals')

// Files.
const pixel = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const f = chat(id('f'))
await f.sendMessage({ text: 'Look', files: [{ type: 'file', mediaType: 'image/png', filename: 'a.png', url: pixel }] })
equal(textOf(last(f)), 'You sent image/png.', 'a file')
const sent = (await stored(id('f')))[0].parts.find(p => p.type === 'file')
equal([sent.mediaType, sent.filename, (await fetch(gateway + sent.url)).status], ['image/png', 'a.png', 200], 'the stored file')
await f.sendMessage({ text: 'Read this', files: [{ type: 'file', mediaType: 'text/plain', filename: 'word.txt', url: 'data:text/plain;base64,' + btoa('The word is marzipan.') }] })
check((await asked()).includes('The word is marzipan.'), 'a document is read', await asked())
cell(name, 'files')

// Apps that send only the newest message.
const only = new Chat({ id: id('o'), transport: new DefaultChatTransport({ api: gateway + '/api/chat', prepareSendMessagesRequest: ({ id, messages }) => ({ body: { id, message: messages.at(-1) } }) }) })
await only.sendMessage({ text: 'First' })
await only.sendMessage({ text: 'Second' })
equal(textOf(last(only)), 'You said: Second', 'only the last message')
check((await asked()).includes('First'), 'both are known', await asked())

equal(errors.filter(e => e.name !== 'AbortError').map(String), [], 'errors')
// An error is a sentence, which users see.
const bad = chat(id('bad'))
await bad.sendMessage({ text: ' ' })
equal(errors.at(-1)?.message, 'The last message must be one of the user, with text or a file.', 'an error')
console.log('ok')
process.exit(0)
