// A gateway that requires an identity, with clients that sign in with a token of their site, and without.
import { createHmac } from 'node:crypto'
import { HttpAgent } from '@ag-ui/client'
import { DefaultChatTransport } from 'ai7'
import OpenAI from 'openai'
import { chatOf, textOf } from './chat.mjs'
import { check, equal, gateway, until } from './lib.mjs'

const encoded = v => Buffer.from(JSON.stringify(v)).toString('base64url')
const token = sub => {
  const now = Math.floor(Date.now() / 1000)
  const head = encoded({ alg: 'HS256', typ: 'JWT' }) + '.' + encoded({ sub, aud: 'parley', iat: now, exp: now + 600 })
  return head + '.' + createHmac('sha256', process.env.SITE_SECRET).update(head).digest('base64url')
}
const ada = { Authorization: 'Bearer ' + token('ada') }

// openai: the token is the key.
const openai = apiKey => new OpenAI({ baseURL: gateway + '/v1', apiKey, maxRetries: 0 })
const ask = { model: 'parley', messages: [{ role: 'user', content: 'Hello' }] }
equal((await openai(token('ada')).chat.completions.create(ask)).choices[0].message.content, 'You said: Hello', 'openai with a token')
for (const key of ['any', token('ada') + 'x']) {
  const error = await openai(key).chat.completions.create(ask).catch(e => e)
  equal([error instanceof OpenAI.AuthenticationError, error.status], [true, 401], 'openai without one')
}

// The AI SDK: headers of the transport.
const Chat = await chatOf('ai7')
const chat = (headers, errors = []) => Object.assign(new Chat({ id: 'i', transport: new DefaultChatTransport({ api: gateway + '/api/chat', headers }), onError: e => errors.push(e) }), { errors })
const mine = chat(ada)
await mine.sendMessage({ text: 'Hello' })
equal(textOf(mine.messages.at(-1)), 'You said: Hello', 'the AI SDK with a token')
const stranger = chat({})
await stranger.sendMessage({ text: 'Hello' })
equal([stranger.status, stranger.errors[0]?.message], ['error', 'Please sign in first.'], 'the AI SDK without one')
equal((await fetch(gateway + '/api/chat/i', { headers: { Authorization: 'Bearer ' + token('eve') } })).status, 404, 'another account')

// AG-UI.
const agent = headers => new HttpAgent({ url: gateway + '/agui', threadId: 'i', headers })
const known = agent(ada)
known.addMessage({ id: '1', role: 'user', content: 'Hello' })
await known.runAgent()
equal(known.messages.at(-1).content, 'You said: Hello', 'AG-UI with a token')
const unknown = agent({})
unknown.addMessage({ id: '1', role: 'user', content: 'Hello' })
const refused = await unknown.runAgent().catch(e => e)
check(refused instanceof Error && unknown.messages.length === 1, 'AG-UI without one', String(refused))

// CopilotKit.
globalThis.window = globalThis
const { CopilotKitCore } = await import('@copilotkit/core')
const core = new CopilotKitCore({ runtimeUrl: gateway + '/copilotkit', runtimeTransport: 'rest', headers: ada })
core.connect?.()
await until('connected', () => core.runtimeConnectionStatus === 'connected')
const kit = core.getAgent('default')
kit.threadId = 'kit'
kit.addMessage({ id: '1', role: 'user', content: 'Hello' })
await core.runAgent({ agent: kit })
equal(kit.messages.findLast(m => m.role === 'assistant')?.content, 'You said: Hello', 'CopilotKit with a token')
equal((await fetch(gateway + '/copilotkit/info')).status, 401, 'CopilotKit without one')
console.log('ok')
process.exit(0)
