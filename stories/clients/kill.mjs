// The gateway is killed while a client of the AI SDK shows the progress of a tool. The argument is the name of the package.
import { chatOf, textOf } from './chat.mjs'
import { check, equal, gateway, kill, release, until } from './lib.mjs'

const name = process.argv[2]
const { DefaultChatTransport } = await import(name)
const Chat = await chatOf(name)
const chat = new Chat({ id: 'k', transport: new DefaultChatTransport({ api: gateway + '/api/chat' }) })
const status = () => chat.messages.at(-1)?.parts.find(p => p.type === 'data-status')?.data.text

chat.sendMessage({ text: 'search tea' })
await until('the first status', () => status() === 'Searching the web…')
const id = chat.messages.at(-1).id
await kill()
await until('the client notices', () => chat.status === 'error')
chat.resumeStream()
await until('it is searched again', () => status() === 'Searching the web…' && chat.status === 'streaming')
await release()
await until('the status is replaced', () => status() === 'Reading 3 pages…')
equal(chat.messages.at(-1).parts.filter(p => p.type === 'data-status').length, 1, 'one status')
await release()
await until('the end', () => chat.status === 'ready')
equal([chat.messages.length, chat.messages.at(-1).id, chat.messages.at(-1).parts.filter(p => p.type === 'dynamic-tool').length], [2, id, 1], 'one answer')
equal(textOf(chat.messages.at(-1)), 'I look it up.\n\nRead 3 pages.\n\nIt is: green tea', 'the whole answer')
check(status() === '', 'no status at the end', status())
console.log('ok')
process.exit(0)
