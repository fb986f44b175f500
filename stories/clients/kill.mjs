// The gateway is killed while a client of the AI SDK, which has signed in with a token of its site, shows the progress of a tool. The argument is
// the name of the package.
import { createHmac } from 'node:crypto'
import { chatOf, textOf } from './chat.mjs'
import { check, equal, gateway, kill, release, until } from './lib.mjs'

const name = process.argv[2]
const { DefaultChatTransport } = await import(name)
const Chat = await chatOf(name)
const encoded = v => Buffer.from(JSON.stringify(v)).toString('base64url')
const token = sub => {
  const now = Math.floor(Date.now() / 1000)
  const head = encoded({ alg: 'HS256', typ: 'JWT' }) + '.' + encoded({ sub, aud: 'parley', iat: now, exp: now + 600 })
  return head + '.' + createHmac('sha256', process.env.SITE_SECRET).update(head).digest('base64url')
}
const as = sub => ({ Authorization: 'Bearer ' + token(sub) })
const chat = new Chat({ id: 'k', transport: new DefaultChatTransport({ api: gateway + '/api/chat', headers: as('ada') }) })
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

// The conversation is hers: another visitor has none with that id.
const read = headers => fetch(gateway + '/api/chat/k', { headers }).then(r => r.status)
equal([await read(as('ada')), await read(as('eve')), await read({}), await read({ Authorization: 'Bearer wrong' })], [200, 404, 404, 401], 'who reads it')
console.log('ok')
process.exit(0)
